"""The process of ``workbench lab`` ends although requests were under way when it was told to, and sends small messages at once."""

import subprocess
import sys
from typing import Any

import pytest
from jupyter_client.manager import AsyncKernelManager
from jupyter_server.services.kernels.websocket import KernelWebsocketHandler
from traitlets.config import Configurable

from sandbox.jupyter.lab import FilteredConnection

pytestmark = pytest.mark.long

#: A server whose request asked a thread for a file and waits for something else when the loop is stopped.
SERVER = """
import asyncio, sys
import anyio.to_thread
from sandbox.jupyter.lab_process import run_to_the_end

def serve():
    loop = asyncio.get_event_loop()

    async def request():
        await anyio.to_thread.run_sync(lambda: None)
        loop.stop()
        await asyncio.Event().wait()

    loop.create_task(request())
    loop.run_forever()
    sys.exit(3)

"""


def test_a_request_under_way_does_not_keep_the_process_alive() -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"{SERVER}sys.exit(run_to_the_end(serve))"], timeout=120, capture_output=True
    )
    assert (done.returncode, done.stderr) == (3, b"")


class Connected(Exception):
    """Raised where the stock connection would begin to talk to a kernel."""


class Handler(KernelWebsocketHandler):
    """A websocket that writes down whether small messages are to be held back."""

    ws_connection: Any = object()

    def __init__(self) -> None:
        self.asked: list[bool] = []

    def set_nodelay(self, value: bool) -> None:
        self.asked.append(value)


def test_no_small_message_to_a_browser_is_held_back() -> None:
    # Without it an edit in a row waits 40 ms for the browser's system to confirm the message before.
    class Kernels(Configurable):
        def notify_connect(self, kernel_id: str) -> None:
            raise Connected

    handler = Handler()
    connection = FilteredConnection(parent=AsyncKernelManager(parent=Kernels()), websocket_handler=handler)
    with pytest.raises(Connected):
        connection.connect()
    assert handler.asked == [True]
    handler.ws_connection = None  # the browser has left already
    with pytest.raises(Connected):
        connection.connect()
    assert handler.asked == [True]
