"""``workbench serve``: Voila on loopback, with a token, for the dashboards of one data folder.

Voila runs in this process, so that the token never stands on a command line where every user of the machine could read it.
"""

import json
import logging
import os
import re
import secrets
import shutil
import signal
import socket
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlencode

from jinja2 import ChoiceLoader, FileSystemLoader
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager, NoSuchKernel
from jupyter_server.utils import url_path_join
from tornado.httputil import HTTPServerRequest
from tornado.ioloop import IOLoop
from tornado.platform.asyncio import BaseAsyncIOLoop
from tornado.routing import Matcher, Rule
from tornado.web import RequestHandler
from traitlets.config import Config

from proxies.atomic import READ_ONLY
from sandbox.jupyter.door import (
    COOKIE_OPTIONS,
    CULL_SECONDS,
    HOST,
    IDLE_SECONDS,
    SERVER_SETTINGS,
    is_own_request,
)
from workbench.cli.servers.warm_kernels import PageKernels, WarmKernels
from workbench.cli.signals import stop_signals
from workbench.errors import UsageError

DEFAULT_PORT = 8866
#: Pages of the server itself, for ``lab`` too: the one for a wrong token.
SERVER_PAGES = Path(__file__).resolve().parent / "voila" / "server"
#: The parts of JupyterLab that a page of widgets needs.
WIDGET_EXTENSIONS = ["anywidget", "@jupyter-widgets/jupyterlab-manager", "@voila-dashboards/widgets-manager8"]
SOCKET_PATH_LIMIT = 90  # a unix socket's path may have about 107 bytes; the kernel appends to ours


#: What the kernels of pages that are served to be read have of the environment: no key, whatever its name is.
_WITHOUT_KEYS = re.compile(
    r"(PATH|HOME|USER|LOGNAME|LANG|LANGUAGE|TZ|TMPDIR|SHELL|VIRTUAL_ENV|(LC|XDG|PYTHON|COVERAGE)[A-Z_]*)"
)
#: What a page says to its kernel: that its fields and buttons were used. Everything else runs code.
_OF_A_PAGE = {"comm_open", "comm_msg", "comm_close", "comm_info_request", "kernel_info_request"}


def serve(
    home: Path,
    run_id: str | None,
    *,
    port: int | None,
    announce: Callable[[str], None],
    read_only: bool = False,
) -> None:
    """Serve the dashboards of ``home`` until interrupted; ``announce`` gets the full URL once the server answers.

    Parameters
    ----------
    home : Path
        Data folder.
    run_id : str or None
        The run to open; None for the list of runs. ``?run=`` in the address opens any other.
    port : int or None
        None takes the first free one from 8866 on.
    read_only : bool
        Nothing that a page sends changes anything, and no kernel has a key; this process forgets its environment for it.

    Raises
    ------
    UsageError
        The port is taken, or the dashboard notebook is not installed.
    """
    app = make_app(home, run_id, port=port, token=secrets.token_urlsafe(24), read_only=read_only)
    # start() returns only at the end, so a thread watches for the first answer.
    threading.Thread(target=_announce_when_answering, args=(app, announce), daemon=True).start()
    app.start()


def make_app(home: Path, run_id: str | None, *, port: int | None, token: str, read_only: bool = False) -> Any:
    """Return the Voila application, configured but not started."""
    notebook = shipped_notebook("dashboard.ipynb")
    config = Config()
    config.Voila.ip = HOST
    config.Voila.port = _free_port(port) if port is not None else DEFAULT_PORT
    # A port that was asked for is taken or refused; moving on to the next would leave the person with a dead address.
    config.Voila.port_retries = 0 if port is not None else 100
    config.Voila.token = token
    config.Voila.open_browser = False
    config.Voila.log_level = "ERROR"  # Voila warns that our own notebook carries no signature
    config.Voila.tornado_settings = SERVER_SETTINGS
    config.IdentityProvider.cookie_options = COOKIE_OPTIONS
    config.Voila.notebook_path = str(notebook)
    # Neither the notebook's metadata nor the address may choose another template than ours.
    config.VoilaConfiguration.allow_template_override = "NO"
    config.VoilaConfiguration.file_allowlist = []  # the page is complete in itself; nothing beside it is served
    config.VoilaConfiguration.http_keep_alive_timeout = 30
    config.MappingKernelManager.cull_idle_timeout = IDLE_SECONDS
    config.MappingKernelManager.cull_interval = CULL_SECONDS
    config.VoilaConfiguration.multi_kernel_manager_class = PageKernels
    config.MappingKernelManager.default_kernel_name = "python3"
    # A kernel begun anew knows nothing of its page: without one the page says at once that it has to be reloaded.
    config.KernelRestarter.restart_limit = 0
    # Nobody's extension of JupyterLab runs in our page: only what shows widgets.
    config.VoilaConfiguration.extension_allowlist = WIDGET_EXTENSIONS
    environment = {"WORKBENCH_HOME": str(home), "WORKBENCH_RUN": run_id or ""}
    if read_only:
        for name in [name for name in os.environ if not _WITHOUT_KEYS.fullmatch(name)]:
            del os.environ[name]
        environment[READ_ONLY] = "1"
    app = _application_class(environment, _code_of(notebook), read_only=read_only)(config=config)
    app.initialize([])
    return app


def shipped_notebook(name: str) -> Path:
    """Return a notebook that ships with the workbench: the checkout's, else the installed one; ``serve`` and ``lab`` use it."""
    checkout = Path(__file__).resolve().parents[3] / "notebooks" / name
    for path in (checkout, Path(sys.prefix) / "share" / "analyst-workbench" / "notebooks" / name):
        if path.is_file():
            return path
    raise UsageError(f"{name} is not installed under {sys.prefix}/share: install analyst-workbench again")


def _free_port(port: int) -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # Without it a port counts as taken for about a minute after the last server on it has ended.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        # OverflowError: what bind raises for a number above 65535.
        except (OSError, OverflowError) as error:
            raise UsageError(f"port {port} cannot be used ({error}): choose another with --port") from None
        return int(probe.getsockname()[1])


def _announce_when_answering(app: Any, announce: Callable[[str], None]) -> None:
    pause = threading.Event()
    while not pause.wait(0.1):
        if _answers(app.port):
            announce(f"http://{HOST}:{app.port}/?{urlencode({'token': app.token})}")
            return


def _answers(port: int) -> bool:
    # Voila itself: a stranger that holds the port does not know this path. Not through a proxy that the environment
    # names: that cannot reach our loopback.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"http://{HOST}:{port}/voila/static/voila.js", timeout=2) as response:
            return bool(response.status == 200)
    except (urllib.error.URLError, TimeoutError, ConnectionError):
        return False


def _code_of(notebook: Path) -> str:
    cells = json.loads(notebook.read_bytes())["cells"]
    return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")


#: What is no news for whoever started the server: a page was closed while its kernel still answered (pyzmq), and a page that asked
#: whether its kernel is there, and says itself that it is not (Jupyter).
_NO_NEWS = re.compile(r"closed stream|Kernel does not exist|404 GET /api/kernels/")


def _mask_token(record: logging.LogRecord) -> bool:
    message = record.getMessage()
    if "restarted failed" in message:  # Jupyter's words for a kernel that ended by itself
        message = "The process behind a page has ended; the page asks for a reload."
    record.msg, record.args = re.sub(r"(token=)[^\s&'\"]+", r"\1...", message), ()
    return _NO_NEWS.search(message) is None


def is_of_a_page(message: str | bytes) -> bool:
    """Whether a message to a kernel is one that a page of ours sends; what cannot be read is none."""
    from voila.tornado.kernel_websocket_handler import read_header_from_binary_message

    # Its first eight bytes say how many places follow, eight bytes each; a list of 2^62 would be made of a lie.
    if isinstance(message, bytes) and int.from_bytes(message[:8], "little") > len(message) // 8:
        return False
    try:
        header = (
            json.loads(message)["header"]
            if isinstance(message, str)
            else read_header_from_binary_message(message)
        )
        return header["msg_type"] in _OF_A_PAGE
    except (ValueError, TypeError, KeyError, RecursionError):
        return False


def _application_class(environment: dict[str, str], code: str, *, read_only: bool) -> Any:
    from voila.app import Voila
    from voila.shutdown_kernel_handler import VoilaShutdownKernelHandler
    from voila.tornado.handler import TornadoVoilaHandler
    from voila.tornado.kernel_websocket_handler import VoilaKernelWebsocketHandler

    from workbench.cli.servers.dashboard_page import DashboardPage, PageLeft, WhyNotDrawn

    class OwnKernel(KernelSpecManager):
        """Offers one kernel: the Python of this process, whatever else is installed as ``python3``."""

        def find_kernel_specs(self) -> dict[str, str]:
            from ipykernel.kernelspec import RESOURCES

            return {"python3": RESOURCES}

        def get_kernel_spec(self, kernel_name: str) -> Any:
            from ipykernel.kernelspec import RESOURCES, get_kernel_dict

            if kernel_name != "python3":
                raise NoSuchKernel(kernel_name)
            spec = get_kernel_dict()
            spec["env"] = environment
            return KernelSpec(resource_dir=RESOURCES, **spec)

    class Channels(VoilaKernelWebsocketHandler):  # type: ignore[misc]
        """A page's connection to its kernel, which holds no small message back.

        An edit is answered by three of them; without this the third waits until the browser confirms the second, 40 ms.
        """

        async def open(self, *args: Any, **kwargs: Any) -> None:
            self.set_nodelay(True)
            await super().open(*args, **kwargs)

        def on_message(self, message: str | bytes) -> Any:
            """Pass a message on; to a kernel that only shows, none that would run code in it."""
            if not read_only or is_of_a_page(message):
                return super().on_message(message)
            return None

        def get_websocket_protocol(self) -> Any:
            """Leave pings to Jupyter: Tornado would take its milliseconds for seconds, and warn of them at every start."""
            protocol = super().get_websocket_protocol()
            if protocol is not None:
                protocol.params.ping_interval = None
            return protocol

    class Strange(Matcher):
        """Matches every request that `is_own_request` refuses.

        It holds the application, not the port: the port is known only once the server listens.
        """

        def __init__(self, app: Voila) -> None:
            self._app = app

        def match(self, request: HTTPServerRequest) -> dict[str, Any] | None:
            return None if is_own_request(request.headers, self._app.port) else {}

    class RequestRefused(RequestHandler):
        """Answers 403 and looks at nothing else of the request."""

        def prepare(self) -> None:
            self.set_status(403)
            self.finish("403: this server answers its own pages only\n")

    class Dashboards(Voila):  # type: ignore[misc]
        """Voila with a page template of ours, and kernels that need no port."""

        _leaving = False

        def initialize(self, argv: Any = None) -> None:
            super().initialize(argv)
            self.voila_configuration.kernel_spec_manager_class = OwnKernel
            for logger in (self.log, *map(logging.getLogger, ("tornado.access", "tornado.application", "tornado.general"))):  # fmt: skip
                logger.addFilter(_mask_token)

        def load_config_file(self, *args: Any, **kwargs: Any) -> None:
            """Read no configuration from the user's folders: nobody's setting may open the server or change its kernel."""

        def setup_template_dirs(self) -> None:
            super().setup_template_dirs()
            self.template_paths.insert(0, str(files("workbench.cli.servers") / "voila"))

        def listen(self) -> None:
            # As handlers of the loop, not as exceptions, which would come up in the middle of whatever the server does. SIGINT
            # whatever was inherited: a shell that starts us in the background has it ignored.
            loop = cast(BaseAsyncIOLoop, IOLoop.current())
            for number in {signal.SIGINT, *stop_signals()}:
                loop.asyncio_loop.add_signal_handler(number, self._leave)
            self._close_to_strangers()
            loop.add_callback(self._kernels.fill)
            super().listen()

        def _leave(self) -> None:
            if not self._leaving:  # a second Ctrl-C would break off the end of the kernels
                self._leaving = True
                IOLoop.current().stop()

        def stop(self) -> None:
            # In the server's own loop, where its kernels began; Jupyter's `run_sync` has another.
            IOLoop.current().run_sync(self._kernels.end)
            # After the kernels, which are asked to end through sockets in it.
            shutil.rmtree(self.connection_dir, ignore_errors=True)

        def _close_to_strangers(self) -> None:
            """Refuse foreign requests before any route, static files and websockets too: Voila checks no Host."""
            router = self.app.default_router
            # First in the router itself: a check in one handler would leave out those that Voila and Jupyter add.
            router.rules.insert(0, router.process_rule(Rule(Strange(self), RequestRefused)))

        def init_handlers(self) -> Any:
            ours = {
                TornadoVoilaHandler: DashboardPage,
                VoilaKernelWebsocketHandler: Channels,
                VoilaShutdownKernelHandler: PageLeft,
            }
            DashboardPage.code, DashboardPage.kernels = code, self._kernels
            return [
                (url_path_join(self.server_url, r"/voila/drawing/([0-9a-f-]+)"), WhyNotDrawn),
                *(
                    (route, ours.get(handler, handler), *options)
                    for route, handler, *options in super().init_handlers()
                ),
            ]

        def init_settings(self) -> Any:
            # A unix socket instead of TCP: other users of the machine cannot connect, and ipykernel warns about unencrypted
            # TCP. The 36 are the kernel's id (a UUID) in the socket's name.
            if (
                os.name == "posix"
                and len(self.connection_dir) < SOCKET_PATH_LIMIT - len("/kernel-.json-ipc-1") - 36
            ):
                self.config.ConnectionFileMixin.transport = "ipc"
            settings = super().init_settings()
            self._kernels = WarmKernels(self.kernel_manager)
            pages = settings["jinja2_env"]
            # Before Jupyter's own, whose page for a wrong token names a command that lists no server of ours.
            pages.loader = ChoiceLoader([FileSystemLoader(str(SERVER_PAGES)), pages.loader])
            return settings

    return Dashboards
