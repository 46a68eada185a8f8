"""A home on a disk that takes no writes can be read; what would write says so in one line."""

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.command_line import cli_environment, run_cli
from tests.fakes.small_run import RUN, make_small_run
from workbench.errors import UsageError
from workbench.store import HomeUnusable, Store, database, home_folder
from workbench.store import events as ev

pytestmark = pytest.mark.long


@pytest.fixture
def home(tmp_path: Path) -> Path:
    make_small_run(tmp_path / "home")
    return tmp_path / "home"


def test_what_stands_in_the_log_of_the_database_is_read_too(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run whose process was killed has its last events there and nowhere else."""
    store = Store(home)
    store.append(RUN, ev.RunResumed())
    other = tmp_path / "mounted"
    shutil.copytree(home, other)  # with the log, which closing the store would fold in
    store.close()
    assert (other / "workbench.db-wal").stat().st_size > 0
    monkeypatch.setattr(database, "can_only_be_read", lambda folder: True)
    before = {path: path.stat().st_mtime_ns for path in other.rglob("*")}
    reading = Store(other)
    assert isinstance(reading.events(RUN)[-1].event, ev.RunResumed)
    with pytest.raises(HomeUnusable, match="can only be read"):
        reading.append(RUN, ev.RunResumed())
    with pytest.raises(HomeUnusable, match="can only be read"):
        reading.put_body("new")
    reading.close()
    assert {path: path.stat().st_mtime_ns for path in other.rglob("*")} == before


COMMANDS = (("runs",), ("show", RUN), ("audit", RUN), ("sensitivity", RUN))


def test_on_a_read_only_mount_every_command_that_reads_works(home: Path, tmp_path: Path) -> None:
    script = "\n".join(
        [
            "set -e",
            f"mount --bind {home} {home}",
            f"mount -o remount,bind,ro {home}",
            *(f"{sys.executable} -m workbench.cli.main {' '.join(words)} >&2" for words in COMMANDS),
            f"if {sys.executable} -m workbench.cli.main rm {RUN} --yes; then exit 9; else exit $?; fi",
        ]
    )
    if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
        pytest.skip("no mount may be made here")
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script],
        env=cli_environment(tmp_path),
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode in (2, 3), done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    assert "56.0%" in run_cli(tmp_path, "show", RUN).stdout
    assert os.access(home, os.W_OK)
    with closing(sqlite3.connect(home / "workbench.db")) as db:
        assert db.execute("SELECT count(*) FROM events").fetchone()[0] > 0


def test_a_home_on_a_network_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = tmp_path / "mounts"
    # of the very function that a home is opened with: a doctest may have loaded its file a second time
    monkeypatch.setitem(vars(database)["refuse_network_folder"].__globals__, "_MOUNTS", mounts)
    mounts.write_text(f"/dev/sda / ext4 rw 0 0\nserver:/share {tmp_path}/share nfs4 rw 0 0\n")
    with pytest.raises(UsageError, match=r"network file system \(nfs4\).*WORKBENCH_HOME"):
        Store(tmp_path / "share" / "home")
    assert not (tmp_path / "share").exists(), "nothing is made there"
    with closing(Store(tmp_path / "home")):
        pass


def test_a_local_folder_below_a_network_one_is_local() -> None:
    mounts = "server:/d /data nfs rw 0 0\n/dev/sdb /data/local ext4 rw 0 0\n"
    assert home_folder.network_kind(Path("/data/local/home"), mounts) is None
    assert home_folder.network_kind(Path("/data/home"), mounts) == "nfs"
