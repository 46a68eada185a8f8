"""The one page of ``workbench serve``: a whole frame at once, so that the browser starts while the page's kernel draws."""

import asyncio
import logging
from uuid import uuid4

import tornado.web
from jupyter_server.base.handlers import JupyterHandler
from voila.shutdown_kernel_handler import VoilaShutdownKernelHandler
from voila.tornado.handler import TornadoVoilaHandler
from voila.utils import get_page_config

from workbench.cli.servers.warm_kernels import Connected, WarmKernels

_log = logging.getLogger(__name__)

_FRAME = "dashboard.html.j2"
#: Seconds between two looks whether a kernel that has not answered yet is there at all.
_LOOK_SECONDS = 5.0

#: By kernel: drawings in work, and those that came to nothing, until their page has asked why.
_drawings: dict[str, asyncio.Task[str]] = {}


class DashboardPage(TornadoVoilaHandler):  # type: ignore[misc]
    """Answers every address that asks for the page, each time with a kernel of its own.

    Voila's handler would build an nbconvert exporter for each request (0.3 s) and send nothing before it is done. Its scripts
    begin once the document has ended, so the document does not wait for the drawing either: it names the widget that the
    kernel is about to make. What the page asks the kernel is answered after that, since a kernel answers in turn.
    """

    #: What the notebook that ships runs; the address of the page stands in ``QUERY_STRING`` by then.
    code: str
    kernels: WarmKernels

    async def prepare(self) -> None:
        """Let in whoever knows the token, and set the XSRF cookie.

        A page that is closed asks the server to shut its kernel down; without the cookie that request is refused and the
        kernel outlives the page.
        """
        await super().prepare()
        assert self.xsrf_token  # asking for it sets the cookie

    @tornado.web.authenticated
    async def get(self, path: str = "") -> None:
        """Send the page."""
        if path:
            raise tornado.web.HTTPError(404)
        ready, widget = await self.kernels.take(), uuid4().hex
        address = {"QUERY_STRING": self.request.query, "WORKBENCH_WIDGET": widget}
        self._draw(ready, f"import os; os.environ.update({address!r})\n{self.code}")
        self.set_header("Content-Type", "text/html; charset=UTF-8")
        self.set_header("Cache-Control", "no-cache, no-store, must-revalidate")
        self.write(self._frame(ready.kernel_id, widget))

    def _draw(self, ready: Connected, code: str) -> None:
        """Begin to draw; the kernel counts as in use until it is done."""

        def end(drawing: asyncio.Task[str]) -> None:
            self.kernels.release(ready)
            if not drawing.cancelled() and drawing.exception() is None and not drawing.result():
                _drawings.pop(ready.kernel_id, None)

        _drawings[ready.kernel_id] = asyncio.get_running_loop().create_task(drawn(ready, code))
        _drawings[ready.kernel_id].add_done_callback(end)

    def _frame(self, kernel_id: str, widget: str) -> str:
        settings = get_page_config(
            base_url=self.base_url,
            settings=self.settings,
            log=self.log,
            voila_configuration=self.voila_configuration,
        )
        theme = "dark" if self.get_argument("theme", "light") in ("dark", "JupyterLab Dark") else "light"
        settings.update(kernelId=kernel_id, baseUrl=self.base_url, jupyterLabTheme=theme)
        return str(self.render_template(_FRAME, page_config=settings, theme=theme, widget=widget))


class WhyNotDrawn(JupyterHandler):
    """Answers a page once its kernel has drawn: with nothing, or with why there is nothing to show."""

    @tornado.web.authenticated
    async def get(self, kernel_id: str) -> None:
        """Wait for the end of the drawing; of a kernel that is not drawing the answer is empty at once."""
        drawing = _drawings.get(kernel_id)
        self.set_header("Content-Type", "text/plain; charset=UTF-8")
        # Shielded: a page that is left must not break off what its kernel is at.
        self.write("" if drawing is None else await asyncio.shield(drawing))
        _drawings.pop(kernel_id, None)


class PageLeft(VoilaShutdownKernelHandler):  # type: ignore[misc]
    """Ends the kernel of a page that is left, as Voila does; a page of ours asks for it, with cookie and XSRF token.

    A page may outlive its kernel: the server was started again on the same port, for which the page's cookie counts no more,
    or the machine slept. Then there is nothing to end, and nothing to tell whoever looks at the terminal.
    """

    async def prepare(self) -> None:
        """Ask for no leave where there is no kernel; the door before every route has refused other origins already."""
        if self.path_args[0] in self.kernel_manager:
            await super().prepare()
            return
        self.set_status(204)
        await self.finish()


async def drawn(ready: Connected, code: str) -> str:
    """Return once code has run in a kernel: nothing where it ran to its end, else words on why it did not."""
    drawing = asyncio.ensure_future(
        ready.client.execute_interactive(
            code,
            store_history=False,
            allow_stdin=False,
            output_hook=lambda _message: None,
            stop_on_error=False,
        )
    )
    while not (await asyncio.wait({drawing}, timeout=_LOOK_SECONDS))[0]:
        if not await ready.client.is_alive():
            drawing.cancel()
            return "The process behind this page has ended. Reload the page; if that does not help, check disk space and memory."
    reply = drawing.result()["content"]
    if reply["status"] != "ok":
        why = f"The page could not be drawn: {reply.get('ename')}: {reply.get('evalue')}"
        _log.error("%s", "\n".join([why, *reply.get("traceback", [])]))
        return why
    return ""
