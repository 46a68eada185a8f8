"""A limit is held against the cell that broke it: its children end with it, and the next cell is not stopped for them."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sandbox import Limits, Session, read_journal
from sandbox.limits import cgroup, cgroups, memory
from sandbox.limits.memory import MemoryWatch
from tests.sandbox.conftest import LEVELS, Opener
from tests.sandbox.destructive import EXHAUSTIONS
from tests.sandbox.test_exhaustion import (
    test_it_is_stopped_and_the_neighbour_goes_on as stopped_with_neighbour,
)

pytestmark = pytest.mark.long

_LIMITS = Limits(memory_mb=128, grace_seconds=1)

#: Two children that ignore the interrupt hold 200 MiB until somebody kills them.
STUBBORN = """
import os, signal, time
pids = []
for _ in range(2):
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        held = bytearray(b'x') * (100 << 20)
        time.sleep(60)
        os._exit(0)
    pids.append(pid)
time.sleep(60)
"""
#: What the cell left behind takes 200 MiB after it has ended.
LATER_IN_A_CHILD = """
import os, signal, time
if os.fork() == 0:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    time.sleep(0.5)
    held = bytearray(b'x') * (200 << 20)
    time.sleep(60)
    os._exit(0)
"""
LATER_IN_A_THREAD = """
import threading, time
def later():
    global held
    time.sleep(0.5)
    held = bytearray(b'x') * (200 << 20)
threading.Thread(target=later, daemon=True).start()
"""


@pytest.fixture
def ungrouped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels without a control group: all is the watch's."""
    monkeypatch.setattr("sandbox.kernels.kernel.make_group", lambda: None)


async def _until_over(session: Session, watch: MemoryWatch) -> None:
    """Wait until what the last cell left behind holds too much, or the group has acted on it."""
    kernel = session.kernel
    assert kernel is not None
    before = (0, 0) if kernel.group is None else kernel.group.limit_events()
    for _ in range(400):
        if await watch.exceeded() or not kernel.process.alive:
            return
        if kernel.group is not None and kernel.group.limit_events() != before:
            return
        await asyncio.sleep(0.05)
    raise AssertionError("it never took the memory")


@pytest.mark.parametrize("level", LEVELS)
async def test_children_that_ignore_the_interrupt_end_with_their_cell(
    level: str, open_session: Opener, ungrouped: None
) -> None:
    session = await open_session(level=level, limits=_LIMITS)
    await session.execute("mine = 5")
    assert session.kernel is not None
    pid = session.kernel.process.pid
    first = await session.execute(STUBBORN)
    assert (first.status, first.limit) == ("error", "memory"), first.text()
    second = await session.execute("mine")
    assert (second.status, second.limit, second.text()) == ("ok", None, "5")
    assert session.kernel.process.pid == pid
    assert [child for child in memory.process_tree(pid) if memory.private_bytes(child)] == [
        pid
    ]  # the rest are zombies


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("bound", ["group", "watch"])
@pytest.mark.parametrize("source", [LATER_IN_A_CHILD, LATER_IN_A_THREAD], ids=["child", "thread"])
async def test_what_a_cell_leaves_running_is_held_against_it_and_not_against_the_next(
    source: str, bound: str, level: str, open_session: Opener, request: pytest.FixtureRequest
) -> None:
    if bound == "watch":
        request.getfixturevalue("ungrouped")
    elif cgroups.available() is None:
        pytest.skip("no control groups here")
    session = await open_session(level=level, limits=_LIMITS)
    await session.execute("mine = 5")
    assert session.kernel is not None
    watch = MemoryWatch(session.kernel, _LIMITS.memory_mb)
    left = await session.execute(source)
    assert (left.status, left.limit) == ("ok", None)
    await _until_over(session, watch)
    after = await session.execute("mine")
    assert (after.status, after.limit, after.text()) == ("ok", None, "5")
    blamed = session.cells[1].result
    assert blamed is not None and blamed.limit == "memory" and after.cell_id == "cell-003"
    if source is LATER_IN_A_THREAD:  # the kernel itself held it
        assert (blamed.status, blamed.stopped) == ("died", True)
        assert "after the cell had ended" in blamed.text()
    assert [cell.result for cell in read_journal(session.spec.journal)] == [c.result for c in session.cells]


@pytest.mark.parametrize("level", LEVELS)
async def test_a_child_within_the_limits_outlives_its_cell(level: str, open_session: Opener) -> None:
    session = await open_session(level=level, limits=_LIMITS)
    await session.execute("import subprocess\nchild = subprocess.Popen(['sleep', '60'])")
    result = await session.execute("child.poll()\nprint(child.poll())")
    assert (result.text(), result.limit, session.cells[0].result.limit) == ("None", None, None)


def test_a_number_that_became_another_processs_is_not_killed() -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    listings = iter([[child.pid, 2**22 - 1], []])  # it left the list between the two looks
    try:
        assert cgroup.kill_listed(lambda: next(listings))
        time.sleep(0.2)
        assert child.poll() is None
        assert cgroup.kill_listed(lambda: [child.pid])
        assert child.wait(60) == -9
    finally:
        child.kill()
        child.wait()


@pytest.fixture
def busy() -> Iterator[None]:
    """A loop on every processor."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    yield
    for loop in loops:
        loop.kill()
        loop.wait()


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("level", LEVELS)
async def test_forty_memory_bombs_in_children_beside_a_busy_loop(
    level: str, box: Any, spec_for: Callable[..., Any], open_session: Opener, busy: None
) -> None:
    attack = next(attack for attack in EXHAUSTIONS if attack.name == "memory bomb in children")
    for turn in range(40):

        async def fresh(name: str = "P1.1.1", turn: int = turn, **options: Any) -> Session:
            return await open_session(f"{name}.{turn}", **options)

        await stopped_with_neighbour(attack, level, fresh)
