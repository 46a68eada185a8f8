"""The disk of a kernel that has no private root: watched while a cell runs, and clean at the end."""

import asyncio
import contextlib
import errno
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sandbox import Limits, read_journal
from sandbox.kernels.folders import remove_tree
from sandbox.limits.disk import DiskWatch, walk
from tests.sandbox.conftest import Opener

pytestmark = pytest.mark.long

_SMALL = Limits(disk_mb=8, files=200, grace_seconds=1)

MANY_BYTES = """
import os
for number in range(14):
    with open(f'fill-{number}', 'wb') as file:
        file.write(b'x' * (1 << 20))
CALL_API('looked', {})  # answered when the watch has looked twice
print('reached', len(os.listdir()))
"""
MANY_FILES = """
import os
os.mkdir('below')
for number in range(400):
    open(f'below/{number}', 'w').close()
CALL_API('looked', {})  # answered when the watch has looked twice
print('reached', len(os.listdir('below')))
"""
DEEP = """
import os
home = os.getcwd()
for number in range(1500):
    os.mkdir('folder')
    os.chdir('folder')
open('deepest', 'w').close()
os.chdir(home)
CALL_API('looked', {})  # answered when the watch has looked twice
print('reached')
"""
CLOSED_TO_READERS = """
import os
os.mkdir('closed', 0o300)  # to be entered, not to be listed
for number in range(14):
    with open(f'closed/{number}', 'wb') as file:
        file.write(b'x' * (1 << 20))
CALL_API('looked', {})  # answered when the watch has looked twice
print('reached')
"""
# its name is gone, the space is not: by a descriptor, and by a mapping alone
REMOVED = """
import mmap, os
kept = []
for number in range(14):
    descriptor = os.open('x', os.O_RDWR | os.O_CREAT)
    os.unlink('x')
    os.write(descriptor, b'x' * (1 << 20))
    kept.append(mmap.mmap(descriptor, 1 << 20) if number % 2 else descriptor)
    if number % 2:
        os.close(descriptor)
CALL_API('looked', {})  # answered when the watch has looked twice
print('reached', len(kept))
"""
ATTACKS = {"many bytes": MANY_BYTES, "many files": MANY_FILES, "deep folders": DEEP}
#: As an ordinary user we may not look into a sealed process: docs/trust/sandbox.md names it among what is open.
ATTACKS |= {"removed files": REMOVED} if os.geteuid() == 0 else {"closed folder": CLOSED_TO_READERS}


@pytest.mark.parametrize("attack", ATTACKS)
async def test_a_full_disk_is_a_limit_and_nothing_stays(
    attack: str, open_session: Opener, two_looks: Any, monkeypatch: pytest.MonkeyPatch
):
    session = await open_session(level="landlock", limits=_SMALL, api=two_looks)
    await session.execute("kept = 5")
    home = session.kernel.endpoints.home
    stopped = await session.execute(ATTACKS[attack])
    assert stopped.limit == "disk" and stopped.status in ("error", "died"), stopped.text()
    assert "reached" not in "".join(output.get("text", "") for output in stopped.outputs)
    assert not home.exists()
    again = await session.execute("import os; kept, [name for name in os.listdir() if name[0] != '.']")
    assert again.text() == "(5, [])"
    monkeypatch.setattr("sandbox.limits.disk.DiskWatch.wait_exceeded", lambda self: asyncio.sleep(3600))
    control = await open_session("P2.1.1", level="landlock", limits=_SMALL)
    home = control.kernel.endpoints.home
    result = await control.execute(ATTACKS[attack])
    assert (result.status, result.text().split()[0]) == ("ok", "reached"), result.text()
    await control.close()
    assert not home.exists()


async def test_what_a_session_may_write_it_can_write(open_session: Opener):
    session = await open_session(level="landlock", limits=_SMALL)
    cell = """
import os, tempfile, time
for number in range(100):
    with tempfile.NamedTemporaryFile(delete=number % 2 == 0) as file:
        file.write(b'x' * (100 << 10))
time.sleep(1)
print(len([name for name in os.listdir(tempfile.gettempdir()) if name.startswith('tmp')]))
"""
    result = await session.execute(cell)
    assert (result.status, result.limit, result.text()) == ("ok", None, "50")


LEFT_WRITING = """
import threading, time
def fill():
    time.sleep(0.5)
    for number in range(200):
        with open(f'f{number}', 'wb') as file:
            file.write(bytes(1 << 20))
        time.sleep(0.1)
threading.Thread(target=fill, daemon=True).start()
"""


async def test_what_a_cell_leaves_writing_is_stopped_while_no_cell_runs(
    open_session: Opener, monkeypatch: pytest.MonkeyPatch
):
    session = await open_session(level="landlock", limits=_SMALL)
    assert (await session.execute("kept = 5")).status == "ok"
    assert (await session.execute(LEFT_WRITING)).status == "ok"
    home = session.kernel.endpoints.home
    most = 0
    for _ in range(160):
        await asyncio.sleep(0.1)
        if not home.exists():
            break
        with contextlib.suppress(FileNotFoundError):
            most = max(most, sum(status.st_blocks * 512 for status in walk(home) if status is not None))
    assert not home.exists() and most < 60 << 20
    first, blamed = read_journal(session.spec.journal)
    assert (blamed.result.status, blamed.result.limit) == ("died", "disk")
    assert first.result.status == "ok"
    after = await session.execute("kept + 37")
    assert (after.status, after.limit, after.text()) == ("ok", None, "42")
    await session.close()
    monkeypatch.setattr("sandbox.session.GUARD_INTERVAL", 3600)
    control = await open_session("P2.1.1", level="landlock", limits=_SMALL)
    await control.execute(LEFT_WRITING)
    home = control.kernel.endpoints.home
    await asyncio.sleep(4)
    assert sum(status.st_blocks * 512 for status in walk(home) if status is not None) > 8 << 20


@pytest.mark.parametrize("level", ["namespaces", "landlock"])
async def test_one_file_too_large_names_the_limit(level: str, open_session: Opener):
    session = await open_session(level=level, limits=Limits(disk_mb=4))
    cell = """
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with open('big', 'wb', buffering=0) as file:
    for _ in range(6):
        file.write(bytes(1 << 20))
"""
    result = await session.execute(cell)
    assert (result.status, result.error.ename, result.limit) == ("error", "OSError", "disk"), result.text()
    assert not result.stopped


def test_a_tree_is_counted_and_removed_without_following_links(tmp_path: Path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "keep").write_text("kept")
    top = tmp_path / "top"
    (top / "a" / "b").mkdir(parents=True)
    (top / "a" / "b" / "file").write_text("x" * 10_000)
    (top / "link").symlink_to(outside)
    (top / "a" / "b" / "up").symlink_to("..")
    found = list(walk(top))
    assert None not in found and len(found) == 5
    assert sum(one.st_size for one in found if one is not None and one.st_size == 10_000) == 10_000
    before = os.getcwd()
    os.chdir(top)
    try:
        for _ in range(1100):
            os.mkdir("deep")
            os.chdir("deep")
    finally:
        os.chdir(before)
    (top / "a" / "b").chmod(0)
    remove_tree(top)
    assert not top.exists() and (outside / "keep").read_text() == "kept"
    remove_tree(top)  # that there is none is no error


def test_a_tree_too_deep_for_a_path_counts_as_too_much(tmp_path: Path):
    before = os.getcwd()
    os.chdir(tmp_path)
    try:
        for _ in range(40):
            os.mkdir("f" * 120)
            os.chdir("f" * 120)
        with pytest.raises(OSError, match="File name too long") as refused:
            os.scandir(f"{tmp_path}/" + "/".join(["f" * 120] * 40))
        assert refused.value.errno == errno.ENAMETOOLONG
    finally:
        os.chdir(before)
    assert list(walk(tmp_path))[-1] is None
    ours: Any = SimpleNamespace(process=SimpleNamespace(pid=os.getpid()), group=None)
    assert DiskWatch(ours, tmp_path, limit_mb=1 << 20, entries=1 << 20).look()
    assert not DiskWatch(ours, Path("/proc/self/attr"), limit_mb=1 << 20, entries=1 << 20).look()
    remove_tree(tmp_path)
