"""Memory that belongs to no process: counted where a control group does, closed where none can be made."""

import errno
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox import Limits
from sandbox.errors import KernelStartFailed
from sandbox.limits import cgroups
from sandbox.limits.cgroup import Group
from sandbox.limits.cgroup_tree import Place
from sandbox.limits.cgroups import try_limits
from tests.fakes.cgroup2 import OverVersionOne
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
    "POSIX shared memory": _CALLS
    + """
for number in range(10):
    try:
        file = os.open(f"/dev/shm/held{number}", os.O_CREAT | os.O_RDWR)
        for _ in range(20):
            held += os.write(file, bytes(1 << 20)) / (1 << 20)
    except OSError:
        continue
""",
    "POSIX semaphores": _CALLS
    + """
import multiprocessing
many = []
try:
    for _ in range(20000):
        many.append(multiprocessing.Semaphore(1))
        held += 1 / 256
except OSError:
    pass
""",
    "POSIX queues": _CALLS
    + """
class Attributes(ctypes.Structure):
    _fields_ = [(name, ctypes.c_long) for name in ("flags", "messages", "bytes", "now")] + [("rest", ctypes.c_long * 4)]
for number in range(200):
    wanted = Attributes(0, 10, 8192, 0)
    queue = libc.mq_open(f"/held{number}".encode(), 0o302 | 0o4000, 0o600, ctypes.byref(wanted))
    while queue >= 0 and libc.mq_send(queue, b"x" * 8192, 8192, 0) == 0:
        held += 1 / 128
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

#: What the filter closes where no group counts it.
CLOSED = {"System V segments", "files without a name", "semaphores", "queues"}


def remove_groups(tree: OverVersionOne, folder: Path) -> None:
    """Remove a group and those below it; a killed process may be ending in one for seconds."""
    for inner in tree.groups(folder):
        remove_groups(tree, inner)
    for _ in range(600):
        try:
            return tree.remove(folder)
        except OSError:
            time.sleep(0.05)
    tree.remove(folder)


@pytest.fixture(params=["cgroup v1", "cgroup v2", "watched"])
def bound(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """What bounds the memory of kernels: groups of either version, or the watch with the narrower filter alone.

    A machine of version 1 runs the code of version 2 too, on groups of version 1 under the names of version 2: Linux bounds and
    kills there as here. Version 1 is skipped on a machine of version 2.
    """
    groups = cgroups.available()
    if request.param == "watched":
        monkeypatch.setattr("sandbox.kernels.kernel.make_group", lambda: None)
        yield request.param
        return
    if groups is None:
        pytest.skip(f"no control groups here: {cgroups.memory_bound()}")
    if request.param == cgroups.memory_bound():
        yield request.param
        return
    if groups.version == 2:
        pytest.skip("this machine has version 2 alone")
    memory, pids = (folder.parent for folder in groups.folders)
    place = memory / f"version-2-{os.getpid()}"
    tree = OverVersionOne(memory, pids)
    tree.make(place)
    emulated = cgroups.Groups(Place(2, place, place), tree, try_limits)
    monkeypatch.setitem(cgroups.by_process, os.getpid(), emulated)
    assert cgroups.memory_bound() == "cgroup v2"
    yield request.param
    emulated.close()
    remove_groups(tree, place)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("what", KEPT)
async def test_no_cell_keeps_more_than_its_limit(level: str, what: str, bound: str, open_session: Opener):
    session = await open_session(level=level, limits=_SMALL)
    result = await session.execute(KEPT[what] + "\nimport time; time.sleep(0.7)\nprint('kept', round(held))")
    kept = int(result.text().rpartition("kept ")[2] or 0) if "kept " in result.text() else 0
    assert result.limit == "memory" or result.status != "ok" or kept <= 64, (what, result)
    if what == "POSIX queues" or (bound == "watched" and what in CLOSED):
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


async def test_a_kernel_that_cannot_be_moved_into_its_group_does_not_start(
    open_session: Opener, monkeypatch: pytest.MonkeyPatch
):
    """Its filter is the wider one, so it may not run without the group."""
    if cgroups.available() is None:
        pytest.skip(f"no control groups here: {cgroups.memory_bound()}")

    def refuse(self: Group, pid: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(Group, "join", refuse)
        with pytest.raises(KernelStartFailed, match="control group"):
            await open_session()
    session = await open_session("P2.1.1")
    assert (await session.execute("print(6 * 7)")).text() == "42"
    await session.close()
