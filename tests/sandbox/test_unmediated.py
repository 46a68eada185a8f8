"""What Landlock does not mediate is closed all the same, at each level, for root and for ordinary users."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox import Session
from tests.sandbox.conftest import LEVELS, Opener, printed
from tests.sandbox.unmediated import ATTACKS, ATTACKS_OF_OTHERS, ATTACKS_OF_ROOT, HEADER, Unmediated, host

pytestmark = pytest.mark.long

ALL = (*ATTACKS, *(ATTACKS_OF_ROOT if os.geteuid() == 0 else ATTACKS_OF_OTHERS))


async def _had_effect(attack: Unmediated, session: Session, folder: Path) -> bool:
    with host(folder, session.spec.journal) as targets:
        result = await session.execute(HEADER + attack.source(targets))
        assert result.status in ("ok", "error"), f"{attack.name}: {result.text()}"
        return attack.done(targets) if attack.done is not None else targets.token in printed(result)


@pytest.fixture
def folders(open_folder: Path) -> Iterator[Path]:
    """A fresh name at each step."""
    return (open_folder / f"host-{number}" for number in range(100))


async def test_every_attack_works_where_nothing_stops_it(open_session: Opener, folders: Iterator[Path]):
    session = await open_session("control", level="none")
    without_effect = [
        f"{attack.name}: {session.cells[-1].result.text(400)}"
        for attack in ALL
        if not await _had_effect(attack, session, next(folders)) and not attack.optional
    ]
    assert without_effect == []


@pytest.mark.parametrize("level", LEVELS)
async def test_no_attack_has_an_effect(level: str, open_session: Opener, folders: Iterator[Path]):
    session = await open_session(level=level)
    with_effect = [
        f"{attack.name}: {session.cells[-1].result.text(400)}"
        for attack in ALL
        if await _had_effect(attack, session, next(folders))
    ]
    assert with_effect == []
    assert (await session.execute("6 * 7")).text() == "42"


@pytest.mark.parametrize("level", LEVELS)
async def test_a_kernel_is_never_root_and_no_two_are_the_same_user(level: str, open_session: Opener):
    sessions = [await open_session(f"P{n}.1.1", level=level) for n in (1, 2)]
    users = [(await session.execute("import os; print(os.getresuid())")).text() for session in sessions]
    assert all("0" not in user.strip("()").split(", ") for user in users)
    if os.geteuid() == 0:
        assert users[0] != users[1]
        folder = Path("/proc") / str(sessions[0].kernel.process.pid)
        assert f"Uid:\t{users[0].strip('()').split(',')[0]}\t" in (folder / "status").read_text()


NEIGHBOURS = """
import multiprocessing, os, pathlib, resource, shutil, sqlite3, subprocess, sys, tempfile, threading
pathlib.Path('a').write_text('text'); os.makedirs('folder/below'); pathlib.Path('folder/below/b').touch()
shutil.copy('a', 'b'); shutil.copy2('a', 'c'); shutil.copystat('a', 'b'); shutil.copytree('folder', 'copied')
shutil.move('copied', 'moved'); shutil.rmtree('moved'); pathlib.Path('fresh').touch(); assert os.path.exists('fresh')
shutil.make_archive('archive', 'gztar', 'folder'); shutil.unpack_archive('archive.tar.gz', 'unpacked')
assert os.path.exists('unpacked/below/b') and pathlib.Path('c').read_text() == 'text'
with tempfile.NamedTemporaryFile() as file, tempfile.TemporaryDirectory() as folder:
    file.write(b'x'); open(folder + '/x', 'w').close()
program = 'cp -p a d && cp -a a e && mv d f && touch g && tar cf t.tar a && gzip -k a && nice -n 1 true'
subprocess.run(program, shell=True, check=True)
ours, theirs = multiprocessing.Pipe()
child = multiprocessing.get_context('fork').Process(target=lambda: theirs.send('from below'))
child.start(); assert ours.recv() == 'from below'; child.join(); assert child.exitcode == 0
child = multiprocessing.get_context('spawn').Process(target=print)
child.start(); child.join(); assert child.exitcode == 0
threads = [threading.Thread(target=lambda: None) for _ in range(4)]
[thread.start() for thread in threads]; [thread.join() for thread in threads]
with sqlite3.connect('data.db') as base:
    base.execute('create table t (a)'); base.execute('insert into t values (1)')
assert resource.prlimit(0, resource.RLIMIT_NOFILE) == resource.prlimit(os.getpid(), resource.RLIMIT_NOFILE)
os.setpriority(os.PRIO_PROCESS, 0, min(19, os.getpriority(os.PRIO_PROCESS, 0) + 1)); os.sched_setaffinity(0, os.sched_getaffinity(os.getpid()))

import matplotlib.font_manager, matplotlib.pyplot as plt, numpy as np, pandas as pd
pd.DataFrame({'a': [1]}).to_csv('x.csv'); assert pd.read_csv('x.csv').shape == (1, 2)
pd.DataFrame({'a': [1]}).to_pickle('x.pickle'); assert pd.read_pickle('x.pickle').shape == (1, 1)
np.save('x.npy', np.ones(3)); assert np.load('x.npy', mmap_mode='r').sum() == 3
fig, ax = plt.subplots(); ax.plot([1, 2]); fig.savefig('f.png'); fig.savefig('f.pdf'); plt.close(fig)
assert matplotlib.font_manager._load_fontmanager(try_read_cache=False).ttflist
code = 'import matplotlib.pyplot as p; p.plot([1]); p.savefig("g.png"); print("drawn")'
drawn = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, env={**os.environ, 'MPLBACKEND': 'agg'})
assert drawn.stdout == 'drawn\\n', drawn.stderr
import arch, joblib, scipy.optimize
from sklearn.linear_model import LinearRegression
assert LinearRegression().fit([[0], [1]], [0, 1]).coef_[0] > 0.99 and joblib.dump([1], 'x.joblib')
assert abs(scipy.optimize.minimize(lambda x: (x - 1) ** 2, [0.0]).x[0] - 1) < 1e-4
arch.arch_model(np.random.default_rng(0).normal(size=300)).fit(disp='off')
print('all work')
"""
OF_A_PRIVATE_ROOT = """
import multiprocessing, os
with multiprocessing.get_context('fork').Pool(2) as pool: assert pool.map(abs, [-1, -2]) == [1, 2]
os.chmod('a', 0o640); assert os.stat('a').st_mode & 0o777 == 0o640
os.utime('a', (5, 5)); assert os.stat('a').st_mtime == 5
print('all work')
"""


@pytest.mark.parametrize("level", LEVELS)
async def test_what_analyses_need_goes_on_working(level: str, open_session: Opener):
    session = await open_session(level=level)
    result = await session.execute(NEIGHBOURS)
    assert result.status == "ok" and "all work" in result.text(), result.text()
    if level == "namespaces":
        assert (await session.execute(OF_A_PRIVATE_ROOT)).text() == "all work"


CLOSED_HOME = """
import asyncio, os, sys
from sandbox import IsolationUnavailable, Sandbox
from sandbox.kernels.forkserver import fork_server
from sandbox.kernels.kernel import start_kernel
from sandbox.kernels.probe import probe_machine
from sandbox import KernelStartFailed, Limits

async def main():
    report = probe_machine()
    try:
        report.require("landlock")
    except IsolationUnavailable as error:
        print(error)
    try:  # past the report, by whoever does not ask
        await start_kernel(await fork_server("landlock"), Limits())
    except KernelStartFailed as error:
        print("refused:", error)

asyncio.run(main())
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root could be root")
def test_root_whose_python_others_cannot_read_gets_no_kernel_and_the_reason(tmp_path: Path):
    """In a mount namespace where the standard library's folder is closed."""
    library = Path(os.__file__).parent
    script = f'mount --bind {tmp_path} {tmp_path} && mount -t overlay overlay -o lowerdir={library},upperdir={tmp_path}/u,workdir={tmp_path}/w {library} && chmod 700 {library} && exec "$@"'
    (tmp_path / "u").mkdir()
    (tmp_path / "w").mkdir()
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, "sh", sys.executable, "-c", CLOSED_HOME],
        cwd=Path(__file__).resolve().parents[2],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert f"{library} is closed to other users" in done.stdout and "never root" in done.stdout, done
    assert "--isolation none" in done.stdout and "namespaces" in done.stdout
    assert "refused: the kernel did not come up" in done.stdout, done
