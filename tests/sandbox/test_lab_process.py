"""The process of ``workbench lab`` ends although requests were under way when it was told to."""

import subprocess
import sys

import pytest

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
        [sys.executable, "-c", f"{SERVER}sys.exit(run_to_the_end(serve))"], timeout=30, capture_output=True
    )
    assert (done.returncode, done.stderr) == (3, b"")


@pytest.mark.soak
def test_without_it_the_process_stays() -> None:
    """The reason for the module: when this fails, JupyterLab can be started as it is."""
    with pytest.raises(subprocess.TimeoutExpired):
        subprocess.run(
            [sys.executable, "-c", f"{SERVER}asyncio.set_event_loop(asyncio.new_event_loop()); serve()"],
            timeout=10,
            capture_output=True,
        )
