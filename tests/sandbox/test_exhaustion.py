"""Attacks that would take the machine down: stopped at every level, each alive in a bounded throw-away process."""

import asyncio
import ctypes
import os
import re
import resource
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from sandbox import Limits, read_journal
from sandbox.kernels.forkserver import fork_server
from tests.sandbox.conftest import LEVELS, Opener
from tests.sandbox.destructive import EXHAUSTIONS, OUTPUT, Destructive

pytestmark = pytest.mark.long

_AT_LEVELS = [(attack, level) for attack in EXHAUSTIONS for level in LEVELS]


def _reached(text: str) -> int | None:
    found = re.search(r"reached (\d+)", text)
    return int(found[1]) if found else None


def _bounded(folder: Path) -> None:
    """In the throw-away child: no more than the control needs, whatever goes wrong."""
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.unshare(0x00020000) == 0
        assert libc.mount(b"none", b"/", None, 16384 | (1 << 18), None) == 0
        assert libc.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", 0, b"size=16m") == 0
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
    resource.setrlimit(resource.RLIMIT_NOFILE, (2100, 2100))
    resource.setrlimit(resource.RLIMIT_FSIZE, (16 << 20, 16 << 20))
    resource.setrlimit(resource.RLIMIT_CPU, (60, 60))


def _unsealed(source: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", source],
        env={"TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        start_new_session=True,
        preexec_fn=lambda: _bounded(folder),
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize("attack", EXHAUSTIONS, ids=lambda attack: attack.name)
def test_the_attack_works_where_nothing_stops_it(attack: Destructive, tmp_path: Path):
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 2100:
        pytest.skip("this machine gives fewer descriptors than the control needs")
    told = _unsealed(attack.source, tmp_path)
    assert _reached(told) == attack.bound, told


@pytest.mark.parametrize(("attack", "level"), _AT_LEVELS, ids=lambda value: getattr(value, "name", value))
async def test_it_is_stopped_and_the_neighbour_goes_on(attack: Destructive, level: str, open_session: Opener):
    neighbour = await open_session("P2.1.1", level=level)
    await neighbour.execute("mine = 5")
    session = await open_session(level=level, limits=attack.limits)
    result = await session.execute(attack.source)
    reached = _reached(result.text())
    assert reached is None or reached < attack.bound, result.text()
    assert reached is not None or result.limit is not None or result.status != "ok"
    assert (await neighbour.execute("mine")).text() == "5"
    assert (await session.execute("6 * 7")).text() == "42"


@pytest.mark.parametrize("level", LEVELS)
async def test_a_flood_of_output_is_cut_and_kept_up_to_a_bound(
    level: str, open_session: Opener, tmp_path: Path
):
    assert len(_unsealed(OUTPUT, tmp_path)) == 8 << 20
    session = await open_session(level=level, limits=Limits(output_bytes=100_000, journal_bytes=1_000_000))
    result = await session.execute(OUTPUT)
    assert result.limit == "output_bytes" and "output cut" in result.text(10_000)
    assert session.spec.journal.stat().st_size < 2_000_000
    assert (await session.execute("6 * 7")).text() == "42"


@pytest.mark.parametrize("level", LEVELS)
async def test_a_cell_cannot_end_the_fork_server_or_a_sibling(level: str, open_session: Opener):
    sibling = await open_session("P2.1.1", level=level)
    await sibling.execute("mine = 5")
    server = await fork_server(level)
    session = await open_session(level=level)
    targets = (server.pid, sibling.kernel.process.pid)
    cell = textwrap.dedent(
        f"""
        import os, signal
        for pid in {targets}:
            try:
                os.kill(pid, signal.SIGKILL)
                print('reached', pid)
            except OSError:
                pass
        """
    )
    result = await session.execute(cell)
    assert "reached" not in result.text()
    assert not server.dead and sibling.kernel.process.alive
    assert (await sibling.execute("mine")).text() == "5"


async def test_many_requests_at_once_do_not_exhaust_the_fork_server(open_session: Opener):
    """Twenty kernels asked for in one go while a cell of a first one forks all it may."""
    session = await open_session(limits=Limits(processes=60))
    bomb = "import os, signal, time\ntry:\n    while True:\n        os.fork() or signal.pause()\nexcept OSError: time.sleep(3)"
    running = asyncio.create_task(session.execute(bomb))
    others = await asyncio.gather(*(open_session(f"P{n}.1.1") for n in range(2, 22)))
    results = await asyncio.gather(*(other.execute("6 * 7") for other in others))
    assert [result.text() for result in results] == ["42"] * 20
    await asyncio.wait_for(running, 60)
    assert len(read_journal(session.spec.journal)) == 1
