"""The parts of a kernel that are ours and not ipykernel's: its streams, its heartbeat, its clean start, its greeting."""

import asyncio
import time

import pytest
import zmq
import zmq.asyncio
from jupyter_client.session import Session as Messages

from sandbox import Limits
from sandbox.kernels.client import KernelClient
from sandbox.kernels.forkserver import fork_server
from sandbox.kernels.kernel import start_kernel
from tests.sandbox.conftest import LEVELS, Opener


async def test_what_programs_print_belongs_to_the_cell_that_started_them(open_session: Opener):
    session = await open_session()
    for number in range(10):
        result = await session.execute(
            f"import os\n_ = os.system('echo from below {number}')\nprint('above')"
        )
        # A program may write between a word of print and its line end; nothing is lost, and nothing is a later cell's.
        below, printed = f"from below {number}", result.text()
        assert below in printed and "".join(printed.replace(below, "", 1).split()) == "above"


@pytest.mark.parametrize("level", LEVELS)
async def test_temporary_files_lie_in_the_kernels_own_folder(open_session: Opener, level: str):
    session = await open_session(level=level)
    result = await session.execute(
        "import os, tempfile\nwith tempfile.TemporaryFile() as file: file.write(b'x')\n"
        "print(tempfile.gettempdir() == os.environ.get('TMPDIR', '/tmp'))"
    )
    assert result.text() == "True"


async def test_the_heartbeat_answers_whoever_comes_late():
    kernel = await start_kernel(await fork_server("namespaces"), Limits())
    client = KernelClient(kernel.endpoints.info)
    beat = zmq.asyncio.Context.instance().socket(zmq.REQ)
    try:
        await client.connect(30)
        beat.linger = 0
        beat.connect(f"ipc://{kernel.endpoints.info['ip']}-{kernel.endpoints.info['hb_port']}")
        busy = client.start("while True: pass", max_shown=1000)
        for word in (b"ping", b"pong"):
            await beat.send(word)
            assert await asyncio.wait_for(beat.recv(), 20) == word
        assert not busy.replied.is_set()
    finally:
        beat.close()
        await client.close()
        await kernel.kill()


@pytest.mark.parametrize("lost", [0, 1, 3])
async def test_a_kernel_whose_greeting_is_lost_is_asked_again_at_once(tmp_path, lost: int):
    context = zmq.asyncio.Context.instance()
    outputs = context.socket(zmq.XPUB)
    outputs.setsockopt(zmq.XPUB_VERBOSE, 1)
    outputs.linger = 0
    info = {"ip": str(tmp_path / "s"), "key": "k", "signature_scheme": "hmac-sha256"}
    info |= {"shell_port": 1, "iopub_port": 2}
    outputs.bind(f"ipc://{info['ip']}-2")
    shell = context.socket(zmq.ROUTER)
    shell.linger = 0
    shell.bind(f"ipc://{info['ip']}-1")
    client = KernelClient(info)

    async def greet() -> None:
        session = Messages(key=b"k")
        subscriptions = 0
        while subscriptions <= lost:
            subscriptions += (await outputs.recv())[0]
        await outputs.send_multipart(session.serialize(session.msg("iopub_welcome", {"subscription": ""})))

    greeting = asyncio.create_task(greet())
    try:
        started = time.monotonic()
        await client.connect(30)
        assert (
            time.monotonic() - started < 10 + lost
        )  # a third of a second each on a quiet machine; 30 is when it gives up
    finally:
        greeting.cancel()
        await client.close()
        outputs.close()
        shell.close()
