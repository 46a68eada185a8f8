"""The kernel itself: an IPython kernel on sockets that were bound before the fork, with `CALL_API` in its namespace."""

# ipykernel declares half of its functions
# mypy: disable-error-code="no-untyped-call"

import os
import sys
from typing import Any, ClassVar

import call_api
import clients
import zmq
from ipykernel import ipkernel
from ipykernel.compiler import XCachingCompiler
from ipykernel.heartbeat import Heartbeat
from ipykernel.iostream import IOPubThread
from ipykernel.ipkernel import IPythonKernel
from ipykernel.kernelapp import IPKernelApp
from ipykernel.zmqshell import ZMQInteractiveShell
from IPython.core.profiledir import ProfileDir
from traitlets import Type
from traitlets.config import Config

CHANNELS = ("shell", "iopub", "stdin", "hb", "control")


class _BoundHeartbeat(Heartbeat):
    fd = -1

    def _try_bind_socket(self) -> Any:
        self.socket.setsockopt(zmq.USE_FD, self.fd)
        return self.socket.bind(f"ipc://{self.ip}-{self.port}")


class AnalystShell(ZMQInteractiveShell):
    """A shell that may be built before the fork and is then taken over by the kernel."""

    @classmethod
    def instance(cls, *args: Any, **kwargs: Any) -> Any:
        """Return the shell; the one that exists already gets the kernel that asks."""
        if not cls.initialized():
            return super().instance(*args, **kwargs)
        shell = super().instance()
        if "kernel" in kwargs:
            shell.kernel = shell.parent = kwargs["kernel"]
        return shell


class _NoModules:
    """`sys`, with nothing imported."""

    modules: ClassVar[dict[str, Any]] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(sys, name)


class AnalystKernel(IPythonKernel):
    """An IPython kernel with that shell."""

    shell_class = Type(AnalystShell)

    def __init__(self, **kwargs: Any) -> None:
        """Build it without the list of every module's file, which is for a debugger that there is not.

        To look at some thousand modules takes a third of a kernel's start, and writes to the pages it shares with others.
        """
        names: dict[str, Any] = vars(ipkernel)
        names["sys"] = _NoModules()
        try:
            super().__init__(**kwargs)
        finally:
            names["sys"] = sys


class AnalystApp(IPKernelApp):
    """An IPKernelApp that neither reads nor writes files to come up."""

    def initialize_from(self, connection: Any, descriptors: dict[str, int]) -> None:
        """Initialise with a connection dict and the listening sockets ``{channel: fd}``."""
        self._connection, self._descriptors = connection, descriptors
        self.initialize([])

    def parse_command_line(self, argv: Any = None) -> None:
        """There is none."""

    def init_extensions(self) -> None:
        """Load none: ``%store`` would keep values from one session to the next."""

    def load_config_file(self, *args: Any, **kwargs: Any) -> None:
        """There is none: the file view holds no configuration."""

    def init_crash_handler(self) -> None:
        """Leave the interpreter's own."""

    def init_connection_file(self) -> None:
        """Take the connection from the request instead of a file."""
        self.load_connection_info(self._connection)

    def write_connection_file(self, **kwargs: Any) -> None:
        """Write none."""

    def log_connection_info(self) -> None:
        """Tell nobody how to connect."""
        self._ports = {channel: getattr(self, f"{channel}_port") for channel in CHANNELS}

    def _bind_socket(self, s: Any, port: int) -> int:
        for channel in CHANNELS:
            if port == getattr(self, f"{channel}_port") and channel in self._descriptors:
                s.setsockopt(zmq.USE_FD, self._descriptors[channel])
        s.bind(f"ipc://{self.ip}-{port}")
        return port

    def init_control(self, context: Any) -> None:
        """Make the control channel; the debugger's extra connection to the shell channel is left out."""
        endpoint = self.shell_socket.getsockopt(zmq.LAST_ENDPOINT)
        del endpoint
        shell, self.shell_socket = self.shell_socket, _NoEndpoint()
        try:
            super().init_control(context)
        finally:
            self.shell_socket = shell

    def init_iopub(self, context: Any) -> None:
        """Make the output channel without the TCP pipe for forked children, which needs a network."""
        self.iopub_socket = context.socket(zmq.XPUB)
        self.iopub_socket.linger = 1000
        self.iopub_port = self._bind_socket(self.iopub_socket, self.iopub_port)
        self.configure_tornado_logger()
        self.iopub_thread = IOPubThread(self.iopub_socket, pipe=False, session=self.session)
        self.iopub_thread.start()
        self.iopub_socket = self.iopub_thread.background_socket

    def init_heartbeat(self) -> None:
        """Start the heartbeat on its bound socket."""
        self.heartbeat = _BoundHeartbeat(zmq.Context(), (self.transport, self.ip, self.hb_port))
        self.heartbeat.fd = self._descriptors["hb"]
        self.heartbeat.start()

    def init_gui_pylab(self) -> None:
        """Nothing: the inline backend is switched on by `enable_plots`."""


class _NoEndpoint:
    def getsockopt(self, option: int) -> bytes:
        return b""


def configuration() -> Any:
    """Traitlets configuration of every analyst kernel."""
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    config.InteractiveShell.xmode = "Plain"
    config.InteractiveShell.separate_in = ""
    config.IPKernelApp.parent_handle = 0
    config.IPKernelApp.connection_file = "none"
    config.InlineBackend.figure_formats = {"png"}
    return config


def prepare() -> None:
    """Before any fork: build the shell, the costly half of a kernel, and switch inline plots on."""
    AnalystShell.instance(
        config=configuration(),
        profile_dir=ProfileDir(location="/tmp/home/.ipython/profile_default"),
        user_ns={},
        compiler_class=XCachingCompiler,
    )
    enable_plots()


def build(connection: dict[str, Any], descriptors: dict[str, int], api_fd: int | None) -> Any:
    """Return the initialised app, ready to `start`."""
    api = call_api.CallApi(api_fd)
    names = {"CALL_API": api, "ApiRefused": call_api.ApiRefused, "ApiUnavailable": call_api.ApiUnavailable}
    app = AnalystApp.instance(config=configuration(), kernel_class=AnalystKernel)
    app.initialize_from(connection, descriptors)
    shell: Any = app.shell
    shell.user_ns.update(names)
    shell.user_ns_hidden.update(names)
    app.kernel.user_ns = shell.user_ns
    shell.register_magic_function(call_api.cutoff_magic(api), "line", "cutoff")
    clients.install(api, shell.events)
    return app


def enable_plots() -> None:
    """Show figures inline as PNG, also those nobody asked to show."""
    from matplotlib_inline import backend_inline

    if "matplotlib" in sys.modules:
        backend_inline._enable_matplotlib_integration()


def silence() -> None:
    """Point the standard descriptors nowhere; what a cell prints goes over the output channel."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    if null > 2:
        os.close(null)
