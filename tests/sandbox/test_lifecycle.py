"""What is left when things end badly: nothing but the journal."""

import asyncio
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from sandbox import read_journal
from sandbox.kernels.folders import make_held_folder, remove_orphaned_folders
from sandbox.limits import cgroups
from sandbox.limits.cgroup_tree import CgroupTree, identity
from tests.sandbox.conftest import LEVELS, Opener

pytestmark = pytest.mark.long

MANAGER = textwrap.dedent(
    """
    import asyncio, sys
    from pathlib import Path
    from sandbox import Limits, Sandbox, SessionSpec

    async def api(path, params, *, cell, nth):
        raise AssertionError

    async def main(folder, level):
        spec = SessionSpec(
            name="P1.1.1", journal=folder / "j.jsonl", notebook=folder / "p.ipynb", isolation=level,
            limits=Limits(cell_seconds=900),
        )
        session = await Sandbox().open(spec, api)
        await session.execute("done = 1")
        await session.execute("import subprocess; subprocess.Popen(['sleep', '4321'], start_new_session=True)")
        print(session.kernel.process.pid, flush=True)
        await session.execute("import time; time.sleep(600)")

    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
    """
)


def _born(pid: str) -> str:
    """When a process started, or an empty string when it is gone; tells a process from a later one of its number."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""


def _descendants(pid: int | str) -> dict[str, str]:
    found: dict[str, str] = {}
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in path.read_text().split():
            found |= {child: _born(child), **_descendants(child)}
    return found


def _left(processes: dict[str, str]) -> set[str]:
    return {pid for pid, born in processes.items() if born and _born(pid) == born}


def _mounts() -> str:
    return Path("/proc/self/mountinfo").read_text()


@dataclass
class Manager:
    process: subprocess.Popen[str]
    folder: Path

    @property
    def temporary(self) -> Path:
        return self.folder / "tmp"


@pytest.fixture(scope="module")
def managers() -> Iterator[dict[str, Manager]]:
    """One manager per level, which come up side by side; each test kills its own.

    In a folder of their own below /tmp: at landlock a kernel of root is another user, which must reach its files, and
    pytest's own folder is closed anew whenever another pytest starts.
    """
    made = {}
    top = Path(tempfile.mkdtemp(prefix="aw-", dir="/tmp"))
    top.chmod(0o755)
    for level in (*LEVELS, "none"):
        folder = top / level
        (folder / "tmp").mkdir(parents=True)
        process = subprocess.Popen(
            [sys.executable, "-c", MANAGER, str(folder), level],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "TMPDIR": str(folder / "tmp"), "PYTHONPATH": os.getcwd()},
        )
        made[level] = Manager(process, folder)
    yield made
    for one in made.values():
        one.process.kill()
        one.process.wait()
    shutil.rmtree(top)


@pytest.mark.parametrize("level", [*LEVELS, "none"])
def test_a_manager_killed_at_once_leaves_nothing_but_its_journal(managers: dict[str, Manager], level: str):
    mounts = _mounts()
    manager, folder = managers[level].process, managers[level].temporary
    assert manager.stdout is not None
    kernel = manager.stdout.readline().strip()
    assert kernel and Path(f"/proc/{kernel}").exists()
    time.sleep(0.3)
    name = f"analyst-{identity(manager.pid)}"
    groups = cgroups.available()
    parents = () if groups is None else tuple(folder.parent for folder in groups.folders)
    assert all((parent / name).is_dir() for parent in parents)
    ours = _descendants(manager.pid)
    assert kernel in ours and len(_left(ours)) >= 4  # guard, fork server, kernel, the kernel's daemon
    manager.kill()
    manager.wait()
    manager.stdout.close()
    deadline = time.monotonic() + 60
    while _left(ours) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert _left(ours) == set()
    assert not Path(f"/proc/{kernel}").exists()
    assert _mounts() == mounts
    for parent in parents:
        cgroups.remove_orphaned_groups(parent, CgroupTree())  # what every start does
        assert not (parent / name).exists()
    cells = read_journal(managers[level].folder / "j.jsonl")
    assert [cell.result is not None for cell in cells] == [True, True, False]
    base = folder if len(str(folder)) <= 60 else Path("/tmp")
    remove_orphaned_folders(base)
    if base == folder:
        assert [path for path in folder.iterdir() if path.name.startswith("analyst-")] == []


def test_a_folder_that_another_process_takes_for_left_over_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Two processes that start at once: one looks for what was left behind between the other's new file and its lock on it."""
    removed: list[int] = []
    real = fcntl.flock

    def flock(lock: int, how: int) -> None:
        if how == fcntl.LOCK_EX and not removed:
            removed.append(remove_orphaned_folders(tmp_path))
        real(lock, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    folder, lock = make_held_folder(tmp_path)
    try:
        assert removed == [1] and (folder / "lock").is_file() and remove_orphaned_folders(tmp_path) == 0
    finally:
        os.close(lock)
    assert remove_orphaned_folders(tmp_path) == 1 and not folder.exists()


async def test_many_kernels_at_once_all_come_up(open_session: Opener):
    sessions = await asyncio.gather(*(open_session(f"P{n}.1.1") for n in range(10)))
    results = await asyncio.gather(
        *(session.execute(f"import pandas\n{n} * 2") for n, session in enumerate(sessions))
    )
    assert [result.text() for result in results] == [str(n * 2) for n in range(10)]
    pids = {session.kernel.process.pid for session in sessions}
    assert len(pids) == 10


async def test_two_kernels_have_different_users_and_processes(open_session: Opener):
    first, second = [await open_session(f"P{n}.1.1", level="namespaces") for n in (1, 2)]
    source = "import os; print(os.getpid(), len([p for p in os.listdir('/proc') if p.isdigit()]))"
    assert (await first.execute(source)).text() == "1 1"
    assert (await second.execute(source)).text() == "1 1"
    if os.geteuid() == 0:
        uid = "import os; os.getuid()"
        mine, other = (await first.execute(uid)).text(), (await second.execute(uid)).text()
        assert mine != other and int(mine) >= 1_900_000_000


async def test_a_kernel_killed_from_outside_is_reported(open_session: Opener):
    session = await open_session()
    running = asyncio.create_task(session.execute("import time; time.sleep(60)"))
    await asyncio.sleep(0.3)
    session.kernel.process.signal(signal.SIGKILL)
    result = await asyncio.wait_for(running, 60)
    assert result.status == "died" and "SIGKILL" in result.error.evalue
