"""Two processes take runs out of one home, and write into it: each step of one meets the other whole."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.small_run import RUN, make_small_run
from workbench.packages.export import export_run
from workbench.packages.package import import_package
from workbench.store import Store, UnknownRun
from workbench.store import events as ev
from workbench.store.removal import MOVING, collect_garbage, remove_run, settle

_SETTLE = """
import sys
from pathlib import Path
from workbench.store import Store
from workbench.store.removal import settle
settle(Store(Path(sys.argv[1])))
"""


@pytest.fixture
def store(tmp_path: Path) -> Any:
    make_small_run(tmp_path / "home")
    opened = Store(tmp_path / "home")
    yield opened
    opened.close()


def rows_left(home: Path) -> int:
    with closing(sqlite3.connect(home / "workbench.db")) as db:
        return int(db.execute("SELECT count(*) FROM events").fetchone()[0])


def test_a_second_process_between_rename_and_commit_does_not_put_the_folder_back(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    others: list[subprocess.Popen[bytes]] = []
    rename = Path.rename

    def and_settle_elsewhere(self: Path, target: Path) -> Path:
        moved = rename(self, target)
        if ".removed-" in str(target) and not others:
            other = subprocess.Popen([sys.executable, "-c", _SETTLE, str(store.home)])
            others.append(other)
            with pytest.raises(subprocess.TimeoutExpired):
                other.wait(1.5)  # it waits for the removal to be written down
        return moved

    monkeypatch.setattr(Path, "rename", and_settle_elsewhere)
    remove_run(store, RUN)
    assert others[0].wait(60) == 0
    assert rows_left(store.home) == 0 and list((store.home / "runs").iterdir()) == []


def test_no_event_is_added_to_a_run_that_was_removed(store: Store) -> None:
    remove_run(store, RUN)
    with pytest.raises(UnknownRun):
        store.append(RUN, ev.CommentAdded(node="P1", text="late", author="A"))
    assert rows_left(store.home) == 0


def test_an_import_that_was_killed_before_its_commit_is_made_again(store: Store, tmp_path: Path) -> None:
    package = tmp_path / "x.zip"
    package.write_bytes(export_run(store, RUN, "zip")[0])
    with closing(Store(tmp_path / "other")) as other:
        folder = other.home / "runs" / RUN
        folder.mkdir(parents=True)
        (folder / "proofs").mkdir()
        (folder / MOVING).touch()  # what a kill between the rename and the commit leaves
        assert import_package(other, package) == RUN
        assert not (folder / MOVING).exists() and list((folder / "proofs").iterdir())
        (folder / MOVING).touch()  # killed after the commit
        assert settle(other) == 0 and not (folder / MOVING).exists() and (folder / "proofs").is_dir()


def test_husks_go_and_the_files_of_a_lost_database_stay(store: Store) -> None:
    runs = store.home / "runs"
    husk, somebodys = runs / "20180101-000000-aaaa", runs / "20180101-000000-bbbb"
    for folder in (husk, somebodys):
        folder.mkdir()
        (folder / "owner.lock").touch()
        (folder / "manifest.json").write_text("{}")
    (somebodys / "proofs").mkdir()
    (somebodys / "proofs" / "P1-1.ipynb").write_text("{}")
    collect_garbage(store)
    assert not husk.exists() and (somebodys / "proofs" / "P1-1.ipynb").is_file()
    assert (runs / RUN / "proofs").is_dir()
