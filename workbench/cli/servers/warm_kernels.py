"""Kernels for the pages of ``workbench serve``, one of them always made ahead, so that a page waits for no start and no import.

Voila's own pre-heating draws the page itself ahead, before anybody knows the address that says which run, scenario and
proposition to show. Here only the kernel is made ahead; it draws when a page asks, while the browser loads its scripts.
"""

import asyncio
import logging
from datetime import UTC, datetime, timedelta
from typing import Any

from jupyter_server.services.kernels.kernelmanager import AsyncMappingKernelManager
from tornado.web import HTTPError

#: What a kernel does ahead: import everything and draw a page that nobody sees.
REHEARSAL = "from workbench.widgets.home_page import rehearse; rehearse()"
#: Seconds in which a page that took a kernel has the machine for itself; then the next kernel is made.
REFILL_SECONDS = 3.0
#: Seconds that a browser has for the scripts of a page, some megabytes, until it connects to the page's kernel.
CONNECT_SECONDS = 300.0
_START_SECONDS = 60.0

_log = logging.getLogger(__name__)


class Connected:
    """A kernel and an open connection to it.

    Attributes
    ----------
    kernel_id : str
    client : jupyter_client.asynchronous.AsyncKernelClient
    """

    def __init__(self, kernel_id: str, client: Any) -> None:
        self.kernel_id, self.client = kernel_id, client


class PageKernels(AsyncMappingKernelManager):
    """Jupyter's kernel manager, for kernels that are never silent: idle is one that nobody has been connected to for a while.

    A run's page is told every few seconds that its process lives, which Jupyter counts as activity.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[no-untyped-call]
        self._left: dict[str, datetime] = {}

    def notify_disconnect(self, kernel_id: str) -> None:
        """Note when a connection ended."""
        super().notify_disconnect(kernel_id)  # type: ignore[no-untyped-call]
        self._left[kernel_id] = datetime.now(UTC)

    def await_page(self, kernel_id: str) -> None:
        """Keep a drawn kernel for a page that still loads its scripts, as if its connection had yet to end."""
        self.notify_disconnect(kernel_id)
        self._left[kernel_id] += timedelta(seconds=CONNECT_SECONDS)

    async def cull_kernel_if_idle(self, kernel_id: str) -> None:
        """Cull a kernel by the time since its last connection ended."""
        if kernel_id in self._left:
            self._kernels[kernel_id].last_activity = self._left[kernel_id]
        await super().cull_kernel_if_idle(kernel_id)  # type: ignore[no-untyped-call]

    def remove_kernel(self, kernel_id: str) -> Any:
        """Forget a kernel."""
        self._left.pop(kernel_id, None)
        return super().remove_kernel(kernel_id)


class WarmKernels:
    """Hands a kernel to every page: the one made ahead, else one that starts now. No two pages share one.

    Parameters
    ----------
    manager : jupyter_server.services.kernels.kernelmanager.AsyncMappingKernelManager
        Starts the kernels, and ends those that their page left.
    """

    def __init__(self, manager: Any) -> None:
        self._manager = manager
        self._spare: asyncio.Task[Connected] | None = None
        self._starting: set[asyncio.Future[str]] = set()
        self._closed = False

    def fill(self) -> None:
        """Begin to make a kernel ahead, unless one is there or in the making."""
        if self._spare is None and not self._closed:
            self._spare = asyncio.get_running_loop().create_task(self._rehearsed())

    async def take(self) -> Connected:
        """Return a kernel for a new page; it counts as in use until it is released, however long it has been idle."""
        spare, self._spare = self._spare, None
        asyncio.get_running_loop().call_later(REFILL_SECONDS, self.fill)
        if spare is not None:
            try:
                ready = await spare
            # Whatever kept it from being ready, the page gets a kernel as it would without one made ahead.
            except Exception as error:
                _log.error("no kernel was made ahead: %s", error)
            else:
                if ready.kernel_id in self._manager and await ready.client.is_alive():
                    return ready
        return await self._started()

    def release(self, connected: Connected) -> None:
        """Let go of a kernel that has drawn its page: unless the page connects to it in time, it counts as left."""
        connected.client.stop_channels()
        self._manager.await_page(connected.kernel_id)

    async def end(self) -> None:
        """End every kernel and make no more; return once none runs.

        Jupyter's own way to end them all answers 404 while one of them starts or ends, and leaves that one behind.
        """
        self._closed = True
        if self._spare is not None:
            self._spare.cancel()
        await asyncio.gather(*self._starting, return_exceptions=True)  # only one that stands can be ended
        await asyncio.gather(*(self._ended(kernel_id) for kernel_id in self._manager.list_kernel_ids()))

    async def _ended(self, kernel_id: str) -> None:
        try:
            # One that is at work is killed: asked to end, it would print a traceback on the terminal.
            busy = self._manager.get_kernel(kernel_id).execution_state != "idle"
            await self._manager.shutdown_kernel(kernel_id, now=busy)
        except (HTTPError, KeyError):
            if kernel_id in self._manager:  # otherwise its page was left a moment ago, and it ended by itself
                raise

    async def _started(self) -> Connected:
        start = asyncio.ensure_future(
            self._manager.start_kernel(kernel_name=self._manager.default_kernel_name)
        )
        self._starting.add(start)
        start.add_done_callback(self._starting.discard)
        # Shielded: a process whose start is broken off would be in nobody's list.
        kernel_id = await asyncio.shield(start)
        # As if a page were connected: an idle kernel without one is taken for left and ended.
        self._manager.notify_connect(kernel_id)
        client = self._manager.get_kernel(kernel_id).client()
        client.start_channels()
        await client.wait_for_ready(timeout=_START_SECONDS)
        return Connected(kernel_id, client)

    async def _rehearsed(self) -> Connected:
        ready = await self._started()
        reply = await ready.client.execute(REHEARSAL, silent=True, reply=True, timeout=_START_SECONDS)
        if reply["content"]["status"] != "ok":
            # It is slower than it could be, and a page will say what is wrong.
            _log.error("a kernel made ahead could not draw a page: %s", reply["content"].get("evalue"))
        return ready
