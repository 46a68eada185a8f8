"""A run goes with everything that is its own and nothing that is another's, whole or not at all."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.command_line import run_cli, run_ok
from tests.fakes.small_run import make_small_run
from workbench.engine.ownership import own_run
from workbench.store import Store, StoreCorrupt
from workbench.store import database_schema as schema
from workbench.store.removal import collect_garbage, remove_run, settle, sweep

FIRST, SECOND = "20180630-120000-aced", "20180701-120000-beef"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    make_small_run(tmp_path / "home", FIRST)
    make_small_run(tmp_path / "home", SECOND, source="print('another cell')")
    return tmp_path / "home"


def bodies(home: Path) -> set[str]:
    with closing(sqlite3.connect(home / "workbench.db")) as db:
        return {digest for (digest,) in db.execute("SELECT hash FROM bodies")}


def rows(home: Path, run_id: str) -> int:
    with closing(sqlite3.connect(home / "workbench.db")) as db:
        counts = [
            db.execute(f"SELECT count(*) FROM {table} WHERE run_id = ?", (run_id,)).fetchone()[0]
            for table in schema.COLUMNS
        ]
    return sum(counts)


def test_the_other_run_keeps_all_it_needs(home: Path) -> None:
    whole = run_cli(home.parent, "show", SECOND, "--json").stdout
    run_ok(home.parent, "rm", FIRST, "--yes")
    assert rows(home, FIRST) == 0 and not (home / "runs" / FIRST).exists()
    assert run_cli(home.parent, "show", SECOND, "--json").stdout == whole
    audit = run_cli(home.parent, "audit", SECOND)
    assert audit.returncode == 0, audit.stdout
    # What is left is what a home with the second run alone holds.
    make_small_run(home.parent / "alone", SECOND, source="print('another cell')")
    assert bodies(home) == bodies(home.parent / "alone")
    # The log is guarded again, and its tables are ours to the letter: packages go on being compared with them.
    with closing(sqlite3.connect(home / "workbench.db")) as db:
        assert {
            each for each in schema.schema_objects(db) if each[2] not in schema.DERIVED
        } == schema.own_schema()
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            db.execute("DELETE FROM events")


def test_a_run_in_work_stays_and_its_owner_is_named(home: Path) -> None:
    with own_run(home / "runs" / FIRST):
        for command in (("rm", FIRST, "--yes"), ("gc",)):
            done = run_cli(home.parent, *command)
            assert done.returncode == 2 and "is running" in done.stderr
    assert rows(home, FIRST) > 0


def test_nobody_answers_and_nothing_is_removed(home: Path) -> None:
    done = run_cli(home.parent, "rm", FIRST)
    assert done.returncode == 3 and rows(home, FIRST) > 0 and (home / "runs" / FIRST).is_dir()


def test_a_removal_that_was_cut_off_is_finished_or_undone(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(home)
    folder, aside = home / "runs" / FIRST, home / "runs" / f".removed-{FIRST}"
    folder.rename(aside)  # killed before the commit
    assert settle(store) == 0 and folder.is_dir()
    remove_run(store, FIRST)
    folder.mkdir()
    folder.rename(aside)  # killed after it
    assert settle(store) == 1 and not aside.exists() and not folder.exists()
    # the run is there, and so is its folder: what an earlier removal left aside must not take its place
    whole, again = home / "runs" / SECOND, home / "runs" / f".removed-{SECOND}"
    files = sorted(path.name for path in whole.iterdir())
    again.mkdir()
    (again / "tree.json").write_text("{}")
    assert settle(store) == 1 and not again.exists()
    assert sorted(path.name for path in whole.iterdir()) == files
    for path in whole.iterdir():
        path.rename(home / path.name)
    again.mkdir()
    (again / "tree.json").write_text("{}")
    assert settle(store) == 1 and not list(whole.iterdir())
    store.close()


def test_a_removal_that_fails_takes_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = bodies(home), rows(home, FIRST)
    store = Store(home)

    def refuse(self: Path, target: Path) -> Path:
        raise PermissionError("only its user")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", refuse)
        with pytest.raises(PermissionError):
            remove_run(store, FIRST)
    store.close()
    assert (bodies(home), rows(home, FIRST)) == before
    with closing(sqlite3.connect(home / "workbench.db")) as db:
        assert {
            each for each in schema.schema_objects(db) if each[2] not in schema.DERIVED
        } == schema.own_schema()


def test_garbage_is_what_nothing_names(home: Path) -> None:
    store = Store(home)
    lost = store.put_body("nobody names this")
    (home / "runs" / FIRST / ".tree.json.0a1b2c3d").write_text("{")
    (home / "runs" / FIRST / "proofs" / ".P1.ipynb.ffffffff").write_text("{")
    (home / "runs" / FIRST / ".notes").write_text("mine")
    before = bodies(home)
    removed = collect_garbage(store)
    assert (removed.bodies, removed.files) == (1, 2)
    with pytest.raises(StoreCorrupt):
        store.body(lost)
    store.close()
    assert bodies(home) == before - {lost}
    assert (home / "runs" / FIRST / ".notes").is_file()
    assert sweep(home / "runs") == 0
