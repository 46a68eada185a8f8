"""Build the IPython kernel before the fork and connect it, with `CALL_API`, after it to sockets that the manager bound."""

# ipykernel declares half of its functions
# mypy: disable-error-code="no-untyped-call"

import atexit
import json
import os
import sys
import uuid
from typing import Any

import call_api
import clients
import zmq
from ipykernel.compiler import XCachingCompiler
from ipykernel.control import ControlThread
from ipykernel.displayhook import ZMQDisplayHook
from ipykernel.iostream import IOPubThread
from ipykernel.ipkernel import IPythonKernel
from ipykernel.kernelapp import IPKernelApp
from ipykernel.kernelbase import Kernel
from ipykernel.zmqshell import ZMQInteractiveShell
from IPython.core.profiledir import ProfileDir
from jupyter_client.jsonutil import json_default
from jupyter_client.session import json_packer, new_id
from matplotlib_inline.backend_inline import configure_inline_support
from matplotlib_inline.config import InlineBackend
from streams import BoundHeartbeat, DisplayHook, DisplayPublisher, NoChannelThread, Stream
from supplied_names import SuppliedNames
from traitlets import Float, Type
from traitlets.config import Config
from zmq.eventloop.zmqstream import ZMQStream

CHANNELS = ("shell", "iopub", "stdin", "hb", "control")


def pack(message: Any) -> bytes:
    """Encode a part of a message as JSON; a lone surrogate, which no file can hold, becomes a question mark."""
    try:
        return bytes(json_packer(message))
    except UnicodeEncodeError:
        # of a text with such a character jupyter_client would send nothing at all, and show its own traceback instead
        text = json.dumps(message, default=json_default, ensure_ascii=False)
        return text.encode("utf-8", "replace")


class AnalystShell(ZMQInteractiveShell):
    """A shell that is built before the fork and taken over by the kernel."""

    displayhook_class = Type(DisplayHook)
    display_pub_class = Type(DisplayPublisher)

    @classmethod
    def instance(cls, *args: Any, **kwargs: Any) -> Any:
        """Return the shell; ipykernel asks for it when the kernel is built, and the prepared one gets that kernel."""
        if not cls.initialized():
            return super().instance(*args, **kwargs)
        shell = super().instance()
        if "kernel" in kwargs:
            shell.kernel = shell.parent = kwargs["kernel"]
        return shell

    def payloadpage_page(self, strg: Any, *args: Any, **kwargs: Any) -> None:
        """Show the content of a pager (`len?`) among the cell's outputs: a reply's payload reaches nobody."""
        self.display_pub.publish(strg if isinstance(strg, dict) else {"text/plain": strg})

    def set_next_input(self, s: str, replace: bool = False) -> None:
        """Show the text for the next cell (`%recall`) among the cell's outputs."""
        self.payloadpage_page(s)

    def ask_exit(self) -> None:
        """Ignore `exit()` in a session: it would take effect in whichever cell runs a tenth of a second later."""
        if self.kernel.supplied is None:
            super().ask_exit()


class AnalystKernel(IPythonKernel):
    """An IPython kernel with that shell, built before the fork and connected after it."""

    shell_class = Type(AnalystShell)
    # ipykernel sleeps before each reply, for output that a flush might not have sent: a fifth of a small cell. Our streams
    # flush what programs wrote too, and the manager waits for the cell's own `idle`, which follows all of its output.
    _execute_sleep = Float(0.0)
    #: of a session's kernel; in one that a person drives by a Jupyter program, the names are the person's
    supplied: SuppliedNames | None = None

    async def do_execute(self, *args: Any, **kwargs: Any) -> Any:
        """Run a cell and put back the names that it replaced; the reply lists them."""
        replaced: list[str] = []
        if self.supplied is not None:
            self.supplied.begin()
        try:
            reply = await super().do_execute(*args, **kwargs)
        finally:
            if self.supplied is not None:
                replaced = self.supplied.restore()
        return {**reply, "replaced": replaced} if replaced else reply

    def do_history(self, *args: Any, **kwargs: Any) -> Any:
        """Return history with the session's number at each line: IPython writes 0 for the present session."""
        reply = super().do_history(*args, **kwargs)
        assert self.shell is not None, "a kernel that answers has its shell"
        number = self.shell.history_manager.session_number
        return {**reply, "history": [(line[0] or number, *line[1:]) for line in reply["history"]]}

    @property
    def _supports_kernel_subshells(self) -> bool:
        """Refuse cells beside a running cell."""
        # so no thread for the shell channel either: 0.3 MB a kernel, and 2.5 ms less until it is ready
        return False

    def connect(self, app: "AnalystApp") -> None:
        """Take the sockets and threads of `app`."""
        self.ident = str(uuid.uuid4())
        self.shell_channel_thread = NoChannelThread()
        self.control_thread, self.iopub_thread = app.control_thread, app.iopub_thread
        self.iopub_socket, self.stdin_socket = app.iopub_socket, app.stdin_socket
        self.shell_stream = ZMQStream(app.shell_socket)
        self.control_stream = ZMQStream(app.control_socket, app.control_thread.io_loop)
        self._stdout, self._stderr = sys.stdout, sys.stderr
        shell: Any = self.shell
        hook, publisher = shell.displayhook, shell.display_pub
        hook.pub_socket = publisher.pub_socket = self.iopub_socket
        hook.topic = self._topic("execute_result")

    def start(self) -> None:
        """Start to answer messages, without the debugger's part."""
        shell: Any = self.shell
        shell.exit_now = False
        Kernel.start(self)


class AnalystApp(IPKernelApp):
    """An IPKernelApp in two halves, `prepare` before the fork and `connect` after it; neither reads files."""

    hook: Any = None

    def prepare(self, shell: Any) -> None:
        """Build everything that needs neither socket nor thread."""
        self.profile_dir = shell.profile_dir
        self.session.pack = pack
        self.kernel = AnalystKernel.instance(
            parent=self, session=self.session, log=self.log, profile_dir=self.profile_dir, user_ns={}
        )
        self.init_shell()
        self.kernel.user_ns = shell.user_ns

    def connect(self, connection: Any, descriptors: dict[str, int], *, lossless: bool) -> None:
        """Take a connection and its listening sockets ``{channel: fd}``; start the threads."""
        self._descriptors = descriptors
        self._lossless = lossless
        self.session.session, self.session.pid = new_id(), os.getpid()
        self.load_connection_info(connection)
        self.kernel.record_ports({port: connection[port] for port in connection if port.endswith("_port")})
        self.init_sockets()
        self.init_heartbeat()
        self.init_io()
        self.init_signal()
        self.control_thread.start()
        self.kernel.connect(self)
        self.init_path()

    def _bind_socket(self, s: Any, port: int) -> int:
        for channel in CHANNELS:
            if port == getattr(self, f"{channel}_port") and channel in self._descriptors:
                # libzmq takes the listening socket as it is, so the path need not exist where the kernel runs
                s.setsockopt(zmq.USE_FD, self._descriptors[channel])
        s.bind(f"ipc://{self.ip}-{port}")
        return port

    def init_control(self, context: Any) -> None:
        """Make the control channel, without the debugger's sockets."""
        self.control_socket = context.socket(zmq.ROUTER)
        self.control_socket.linger = 1000
        self.control_port = self._bind_socket(self.control_socket, self.control_port)
        self.control_socket.router_handover = 1
        self.control_thread = ControlThread(daemon=True)

    def init_iopub(self, context: Any) -> None:
        """Make the output channel without ipykernel's pipe for forked children.

        That pipe is a TCP socket even where all channels are unix sockets; without a network libzmq aborts the process.
        """
        self.iopub_socket = context.socket(zmq.XPUB)
        self.iopub_socket.linger = 1000
        if self._lossless:
            # A cell waits until its output is read. Else ZMQ drops what a full queue cannot take, and with it the cell's own
            # `idle`: of 20,000 displays on a busy machine the last were lost, and nobody knew whether the cell had ended.
            self.iopub_socket.xpub_nodrop = 1
        else:
            # with the default of 1000 a loop that shows 5000 outputs loses some
            self.iopub_socket.sndhwm = 20_000
        self.iopub_port = self._bind_socket(self.iopub_socket, self.iopub_port)
        self.iopub_thread = IOPubThread(self.iopub_socket, pipe=False, session=self.session)
        self.iopub_thread.start()
        self.iopub_socket = self.iopub_thread.background_socket

    def init_heartbeat(self) -> None:
        """Start the heartbeat on its inherited socket."""
        # a context of its own, as in ipykernel: it must answer while a cell holds the interpreter's lock
        self.heartbeat = BoundHeartbeat(zmq.Context(), (self.transport, self.ip, self.hb_port))
        self.heartbeat.descriptor = self._descriptors["hb"]
        self.heartbeat.start()

    def init_io(self) -> None:
        """Send printed and displayed output over the output channel."""
        for name in ("stdout", "stderr"):
            setattr(sys, name, Stream(self.session, self.iopub_thread, name))
        self.displayhook = sys.displayhook = ZMQDisplayHook(self.session, self.iopub_socket)
        self.displayhook.get_execution_count = lambda: self.kernel.execution_count


def configuration() -> Any:
    """Return the traitlets configuration of every analyst kernel."""
    config = Config()
    # in memory: a file would bring a thread of its own, and the fork server must have one thread; it ends with the kernel
    config.HistoryManager.hist_file = ":memory:"
    config.InteractiveShell.colors = "nocolor"
    # IPython's Context mode took 450 ms for the first KeyError out of pandas, 62 to 125 for the next
    config.InteractiveShell.xmode = "Plain"
    config.InteractiveShell.separate_in = ""
    config.IPKernelApp.parent_handle = 0
    config.IPKernelApp.connection_file = "none"
    config.InlineBackend.figure_formats = {"png"}
    return config


def adapt() -> None:
    """Patch libraries for life in a kernel, as ipykernel does at each start; called once, before any fork."""
    app = AnalystApp(config=configuration())
    app.configure_tornado_logger()
    app.init_pdb()
    app.patch_io()


def prepare() -> None:
    """Build the shell and the kernel before any fork, and switch inline plots on."""
    shell = AnalystShell.instance(
        config=configuration(),
        profile_dir=ProfileDir(location=f"{os.environ['HOME']}/.ipython/profile_default"),
        user_ns={},
        compiler_class=XCachingCompiler,
    )
    AnalystApp.instance(config=configuration(), kernel_class=AnalystKernel).prepare(shell)
    shell._sys_modules_keys = set(sys.modules)
    enable_plots()


def build(
    connection: dict[str, Any], descriptors: dict[str, int], api_fd: int | None, *, lossless: bool = False
) -> Any:
    """Return the connected app, ready to `start`; called after the fork.

    Parameters
    ----------
    lossless : for a session: no output is dropped, and a cell waits for whoever reads it; one reader that stops would stop
        the kernel. The names that its cells are given are put back after each.
    """
    app = AnalystApp.instance()
    app.connect(connection, descriptors, lossless=lossless)
    api = call_api.CallApi(api_fd)
    names = {"CALL_API": api, "ApiRefused": call_api.ApiRefused, "ApiUnavailable": call_api.ApiUnavailable}
    shell: Any = app.shell
    shell.user_ns.update(names)
    shell.user_ns_hidden.update(shell.user_ns)
    shell.register_magic_function(call_api.cutoff_magic(api), "line", "cutoff")
    app.hook = clients.install(api, shell.events)
    app.kernel.supplied = SuppliedNames(shell, names) if lossless else None
    return app


def dismantle(app: Any) -> None:
    """Take a built kernel apart, down to its last thread, so that `prepare` can build the next one.

    Called after the rehearsal: the fork server must have one thread at every fork.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, Stream):
            stream.restore()
    sys.meta_path.remove(app.hook)
    atexit.unregister(app.close)
    atexit.unregister(app.iopub_thread.stop)
    atexit.unregister(app.shell.atexit_operations)
    app.kernel.shell_stream.close(linger=0)
    app.control_thread.io_loop.add_callback(app.kernel.control_stream.close, linger=0)
    app.close()
    for kind in (AnalystApp, AnalystKernel, AnalystShell, InlineBackend):
        kind.clear_instance()
    # else the next shell gets no formatter for figures
    vars(configure_inline_support).pop("current_backend", None)
    for name in ("last_type", "last_value", "last_traceback"):  # of the last error, for post-mortem debuggers
        vars(sys).pop(name, None)


def enable_plots() -> None:
    """Show figures inline as PNG, also at the end of a cell that never called `show`."""
    from matplotlib_inline import backend_inline

    if "matplotlib" in sys.modules:
        backend_inline._enable_matplotlib_integration()


def silence() -> None:
    """Point the standard descriptors to /dev/null: the output of cells goes over the output channel."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    if null > 2:
        os.close(null)
