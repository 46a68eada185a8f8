"""The one page of ``workbench serve``: its frame at once, so that the browser begins to load, then what the page's kernel drew."""

import asyncio
import json
from typing import Any

import tornado.web
from voila.tornado.handler import TornadoVoilaHandler
from voila.utils import get_page_config

from workbench.cli.servers.warm_kernels import Connected, WarmKernels

_FRAME = "dashboard.html.j2"
#: Stands in the frame where the drawing goes.
_DRAWING_PLACE = "<!-- drawing -->"
#: Seconds between two looks whether a kernel that has not answered yet is there at all.
_LOOK_SECONDS = 5.0


class DashboardPage(TornadoVoilaHandler):  # type: ignore[misc]
    """Answers every address that asks for the page, each time with a kernel of its own.

    Voila's handler would build an nbconvert exporter for each request (0.3 s) and send nothing before it is done.
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
        ready = await self.kernels.take()
        try:
            before, after = self._frame(ready.kernel_id).split(_DRAWING_PLACE)
            self.set_header("Content-Type", "text/html; charset=UTF-8")
            self.set_header("Cache-Control", "no-cache, no-store, must-revalidate")
            self.write(before)
            await self.flush()
            address = f"import os; os.environ['QUERY_STRING'] = {self.request.query!r}\n"
            self.write(as_output(await drawn(ready, address + self.code)))
            self.write(after)
        finally:
            self.kernels.release(ready)

    def _frame(self, kernel_id: str) -> str:
        settings = get_page_config(
            base_url=self.base_url,
            settings=self.settings,
            log=self.log,
            voila_configuration=self.voila_configuration,
        )
        theme = "dark" if self.get_argument("theme", "light") in ("dark", "JupyterLab Dark") else "light"
        settings.update(kernelId=kernel_id, baseUrl=self.base_url, jupyterLabTheme=theme)
        return str(self.render_template(_FRAME, page_config=settings, theme=theme))


async def drawn(ready: Connected, code: str) -> dict[str, Any]:
    """Return the output of code in a kernel: of its last expression, or words on why there is none."""
    shown: dict[str, Any] = {"text/plain": "The page shows nothing."}

    def keep(message: Any) -> None:
        if message["msg_type"] in ("execute_result", "display_data"):
            shown.clear()
            shown.update(message["content"]["data"])

    drawing = asyncio.ensure_future(
        ready.client.execute_interactive(
            code, store_history=False, allow_stdin=False, output_hook=keep, stop_on_error=False
        )
    )
    while not (await asyncio.wait({drawing}, timeout=_LOOK_SECONDS))[0]:
        if not await ready.client.is_alive():
            drawing.cancel()
            return {
                "text/plain": "The page's kernel has ended. Reload the page; see the disk and the memory."
            }
    reply = drawing.result()["content"]
    if reply["status"] != "ok":
        return {"text/plain": f"The page could not be drawn: {reply.get('ename')}: {reply.get('evalue')}"}
    return shown


def as_output(data: dict[str, Any]) -> str:
    """Return an output as Voila's scripts look for it; nothing in it can end the element it stands in."""
    output = {"output_type": "execute_result", "data": data, "metadata": {}, "trusted": True}
    text = json.dumps(output).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return f'<script type="application/vnd.voila.cell-output+json">{text}</script>'
