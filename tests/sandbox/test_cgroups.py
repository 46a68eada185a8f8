"""Control groups on this machine: each attack gets through without them, within bounds, and is stopped with them."""

import asyncio
import functools
import re
import signal
from pathlib import Path

import pytest

from sandbox import Limits
from sandbox.limits import cgroups
from sandbox.limits.memory import private_bytes
from tests.sandbox.conftest import LEVELS, Opener

pytestmark = pytest.mark.long

BOUND = 200  # MiB that an attack takes where nothing stops it
_SMALL = Limits(memory_mb=64, disk_mb=8, grace_seconds=1)

BURST = f"held = bytearray(b'x') * ({BOUND} << 20)\nreached = len(held) >> 20\ndel held\nprint('reached', reached)"
SEGMENTS = f"""
import mmap
held = [mmap.mmap(-1, 1 << 20) for _ in range({BOUND})]
for one in held:
    one.write(b'x' * (1 << 20))
import time
time.sleep(0.7)
print('reached', len(held))
"""
ORPHANS = f"""
import os, select, time
reader, writer = os.pipe()
if os.fork() == 0:
    parent = os.getpid()
    for _ in range(4):
        if os.fork() == 0:
            os.setsid()
            while os.getppid() == parent:  # until then the watch finds us below the kernel
                time.sleep(0.01)
            held = bytearray(b'x') * ({BOUND // 4} << 20)
            os.write(writer, b'%d ' % os.getpid())
            time.sleep(60)
    os._exit(0)
os.wait()
os.close(writer)
said = b''
while said.count(b' ') < 4 and select.select([reader], [], [], 5)[0]:
    said += os.read(reader, 100)
time.sleep(0.7)
print('reached', said.decode())
"""


@pytest.fixture(autouse=True)
def groups() -> cgroups.Groups:
    found = cgroups.available()
    if found is None:
        pytest.skip(f"no control groups here: {cgroups.memory_bound()}")
    return found


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch):
    """Start kernels without a group from here on."""
    return lambda: monkeypatch.setattr("sandbox.kernels.kernel.make_group", lambda: None)


@pytest.fixture
def seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    """A watch that looks too seldom to see anything: what stops a cell then is the group."""
    monkeypatch.setattr("sandbox.limits.memory.MemoryWatch.wait_exceeded", lambda self: asyncio.sleep(3600))


def _folders() -> set[Path]:
    return {path for top in cgroups.available().folders for path in top.glob("kernel-*")}


async def _none_left(before: set[Path]) -> bool:
    for _ in range(200):
        if not _folders() - before:
            return True
        await asyncio.sleep(0.05)
    return False


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("attack", "name"), [(BURST, "burst"), (SEGMENTS, "segments")], ids=["burst", "shared segments"]
)
async def test_memory_that_the_watch_does_not_see_is_bounded(
    level: str, attack: str, name: str, open_session: Opener, without, seldom
):
    session = await open_session(level=level, limits=_SMALL)
    await session.execute("kept = 5")
    stopped = await session.execute(attack)
    assert (stopped.status, stopped.limit) == ("died", "memory"), stopped.text()
    assert "more memory than the session may have" in stopped.error.evalue
    assert (await session.execute("kept")).text() == "5"
    without()
    control = await open_session("P2.1.1", level=level, limits=Limits(memory_mb=65, disk_mb=8))
    assert control.memory == "watched"
    assert (await control.execute(attack)).text() == f"reached {BOUND}"


async def test_memory_of_orphans_is_bounded_without_a_process_namespace(open_session: Opener, without):
    session = await open_session(level="landlock", limits=_SMALL)
    await session.execute("kept = 5")
    stopped = await session.execute(ORPHANS)
    # the cell is stopped, or as many orphans are killed as are too many
    assert stopped.limit == "memory", stopped.text()
    assert _alive(stopped.text()) <= 2
    assert (await session.execute("kept")).text() == "5"
    without()
    control = await open_session("P2.1.1", level="landlock", limits=Limits(memory_mb=65, disk_mb=8))
    result = await control.execute(ORPHANS)
    assert result.status == "ok" and _alive(result.text()) == 4, result.text()
    await control.close()
    assert _alive(result.text()) == 0


def _alive(text: str) -> int:
    """How many of the processes that a cell named are there still, each with its 50 MiB."""
    return sum(private_bytes(int(pid)) > 0 for pid in re.findall(r"\d+", text.partition("reached")[2]))


@pytest.mark.parametrize("level", LEVELS)
async def test_what_a_session_may_have_it_can_use(level: str, open_session: Opener):
    session = await open_session(level=level, limits=Limits(memory_mb=160, disk_mb=48))
    cell = """
import os, tempfile
for folder in {tempfile.gettempdir(), '/dev/shm'}:
    try:
        with open(f'{folder}/mine', 'wb') as file:
            file.write(bytes(44 << 20))
    except PermissionError:
        pass
held = bytearray(b'x') * (140 << 20)
pids = [os.fork() or os._exit(0) for _ in range(20)]
print(len(held) >> 20, {os.waitpid(pid, 0)[1] for pid in pids})
"""
    result = await session.execute(cell)
    assert (result.status, result.limit, result.text()) == ("ok", None, "140 {0}")


@pytest.mark.parametrize("level", LEVELS)
async def test_a_slow_growth_is_interrupted_and_the_kernel_stays(level: str, open_session: Opener):
    session = await open_session(level=level, limits=Limits(memory_mb=64, disk_mb=64))
    cell = """
import time
held = []
try:
    while len(held) < 200:
        held.append(bytearray(b'x') * (1 << 20))
        time.sleep(0.02)
except KeyboardInterrupt:
    held.clear()
    raise
"""
    pid = session.kernel.process.pid
    result = await session.execute(cell)
    assert result.limit == "memory"
    if level == "namespaces":  # there the files' share is room that the watch has to act in
        assert (result.status, result.error.ename) == ("error", "KeyboardInterrupt"), result.text()
        assert session.kernel.process.pid == pid


@pytest.mark.parametrize("level", LEVELS)
async def test_no_group_outlives_its_kernel(level: str, box, open_session: Opener):
    before = _folders()
    session = await open_session(level=level)
    other = await open_session("P2.1.1", level=level)
    assert len(_folders() - before) >= 4 or cgroups.available().version == 2
    other.kernel.process.signal(signal.SIGKILL)
    await other.kernel.wait(20)
    assert (await other.execute("6 * 7")).text() == "42"
    await session.execute("import subprocess; subprocess.Popen(['sleep', '987'], start_new_session=True)")
    await box.aclose()
    assert await _none_left(before)


async def test_a_kernel_of_a_jupyter_program_is_bounded_too(monkeypatch: pytest.MonkeyPatch, without):
    from jupyter_client.manager import AsyncKernelManager

    children = """
import os, time
pids = []
for _ in range(4):
    pid = os.fork()
    if pid == 0:
        try:
            held = bytearray(b'x') * (50 << 20)
            time.sleep(60)
        finally:
            os._exit(0)
    pids.append(pid)
time.sleep(60)
"""
    monkeypatch.setattr(
        "sandbox.jupyter.provisioner.Limits", functools.partial(Limits, memory_mb=64, disk_mb=8)
    )
    for bounded in ("group", "watch"):
        if bounded == "watch":
            without()
        manager = AsyncKernelManager(kernel_name="analyst")
        await manager.start_kernel()
        try:
            kernel = manager.provisioner.kernel
            assert (kernel.group is None) is (bounded == "watch")
            client = manager.client()
            client.start_channels()
            await client.wait_for_ready(timeout=30)
            client.execute(children)
            for _ in range(1200):
                if not await manager.is_alive() or await _interrupted(client):
                    break
                if kernel.group is not None and kernel.group.limit_events()[0]:
                    break  # Linux killed as many children as were too many before the watch looked
                await asyncio.sleep(0.05)
            else:
                raise AssertionError(f"nobody stopped it: {bounded}")
            client.stop_channels()
        finally:
            await manager.shutdown_kernel(now=True)


async def _interrupted(client) -> bool:
    while await client.iopub_channel.msg_ready():
        message = await client.iopub_channel.get_msg(timeout=1)
        if message["msg_type"] == "error":
            return bool(message["content"]["ename"] == "KeyboardInterrupt")
    return False
