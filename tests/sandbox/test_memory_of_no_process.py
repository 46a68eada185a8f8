"""Memory that belongs to no process: counted where a control group does, closed where none can be made."""

import pytest

from sandbox import Limits
from sandbox.limits import cgroups
from tests.sandbox.conftest import LEVELS, Opener

pytestmark = pytest.mark.long

_SMALL = Limits(memory_mb=64, disk_mb=8, grace_seconds=1)
_CALLS = "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\nlibc.shmat.restype = ctypes.c_void_p\nheld = 0\n"

#: What a cell takes where nothing stops it; it says how many MiB it kept.
KEPT = {
    "System V segments": _CALLS
    + """
for _ in range(10):
    segment = libc.shmget(0, 20 << 20, 0o1600)
    if segment >= 0:
        place = libc.shmat(segment, None, 0)
        ctypes.memset(place, 120, 20 << 20)
        libc.shmdt(ctypes.c_void_p(place))
        held += 20
""",
    "files without a name": _CALLS
    + """
files = []
for _ in range(50):
    try:
        files.append(os.memfd_create("x"))
    except OSError:
        continue
    held += os.write(files[-1], bytes(4 << 20)) >> 20
""",
    "semaphores": _CALLS
    + """
for _ in range(100):
    held += 2 * (libc.semget(0, 32000, 0o1600) >= 0)
""",
    "queues": _CALLS
    + """
for _ in range(4000):
    queue = libc.msgget(0, 0o1600)
    if queue >= 0:
        libc.msgsnd(queue, b"12345678" + b"x" * 8000, 8000, 0o4000)
        held += 1 / 64
""",
    "shared pages": _CALLS
    + """
import mmap, time
maps = []
for _ in range(10):
    maps.append(mmap.mmap(-1, 20 << 20))
    maps[-1].write(bytes(20 << 20))
    held += 20
    time.sleep(0.3)
""",
}


@pytest.fixture(params=["as here", "without a group"])
def bound(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """What bounds the memory of kernels: version 1 or 2 where this machine has it, and the watch with the filter alone.

    Version 2 on a machine of version 1 is tried on an emulated tree (test_cgroup_tree), which kills nobody.
    """
    if request.param == "as here":
        if cgroups.available() is None:
            pytest.skip(f"no control groups here: {cgroups.memory_bound()}")
    else:
        monkeypatch.setattr("sandbox.kernels.kernel.groups_here", lambda: None)
        monkeypatch.setattr("sandbox.kernels.kernel.put_into_group", lambda pid, exited: None)
    return str(request.param)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("what", KEPT)
async def test_no_cell_keeps_more_than_its_limit(level: str, what: str, bound: str, open_session: Opener):
    session = await open_session(level=level, limits=_SMALL)
    result = await session.execute(KEPT[what] + "\nimport time; time.sleep(0.7)\nprint('kept', round(held))")
    kept = int(result.text().rpartition("kept ")[2] or 0) if "kept " in result.text() else 0
    assert result.limit == "memory" or result.status != "ok" or kept <= 64, (what, result)
    if bound == "without a group" and what != "shared pages":
        assert kept == 0, (what, result.text())
    assert (await session.execute("print(6 * 7)")).text() == "42"
    await session.close()


async def test_what_is_shared_within_the_limit_gets_through(bound: str, open_session: Opener):
    session = await open_session(level=LEVELS[0], limits=_SMALL)
    cell = (
        "import mmap, multiprocessing.shared_memory as m, time\nheld = mmap.mmap(-1, 20 << 20)\nheld.write(bytes(20 << 20))\n"
        "block = m.SharedMemory(create=True, size=4 << 20)\nblock.buf[:4] = b'abcd'\ntime.sleep(0.7)\n"
        "print(bytes(block.buf[:4])); block.close(); block.unlink()"
    )
    result = await session.execute(cell)
    assert (result.status, result.limit, result.text()) == ("ok", None, "b'abcd'"), result
    await session.close()
