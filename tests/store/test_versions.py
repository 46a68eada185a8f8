"""What an older, a newer, another or a broken program wrote is one clear line, and stays as it is."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import run_cli
from tests.fakes.small_run import make_small_run
from workbench.store import (
    EventUnreadable,
    HomeUnusable,
    OtherVersion,
    Store,
    StoreCorrupt,
)
from workbench.store import (
    database_schema as schema,
)
from workbench.store import events as ev


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a run, as today's workbench writes it."""
    make_small_run(tmp_path / "home", "20180101-000000-feed")
    return tmp_path / "home"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(tmp_path / "new")
    yield opened
    opened.close()


def execute(home: Path, *statements: str) -> None:
    with closing(sqlite3.connect(home / "workbench.db", isolation_level=None)) as db:
        for statement in statements:
            db.execute(statement)


def started() -> ev.RunStarted:
    return ev.RunStarted(
        statement="It rains", cutoff="2018-06-30", cutoff_instant="2018-06-30T04:00:00Z", settings={}
    )


def test_opening_a_database_of_today_waits_for_no_writer(store: Store) -> None:
    store.append("r", started())
    with store.transaction():
        store.append("r", ev.RunResumed())
        Store(store.home).close()


def insert_event(home: Path, v: int, kind: str = "run.resumed", data: str = "{}") -> None:
    with closing(sqlite3.connect(home / "workbench.db", isolation_level=None)) as db:
        values = ("r", "2026-01-01T00:00:00Z", kind, v, data)
        db.execute("INSERT INTO events (run_id, at_utc, kind, v, data) VALUES (?, ?, ?, ?, ?)", values)


@pytest.mark.parametrize(
    ("v", "kind", "data", "error"),
    [
        (ev.VERSION + 1, "run.resumed", "{}", OtherVersion),
        (ev.VERSION - 1, "run.resumed", "{}", OtherVersion),
        (0, "run.resumed", "{}", OtherVersion),
        (ev.VERSION, "run.exploded", "{}", EventUnreadable),
        (ev.VERSION, "run.resumed", '{"mood": 1}', EventUnreadable),
        (ev.VERSION, "run.resumed", "[]", EventUnreadable),
        (ev.VERSION, "run.resumed", "{", EventUnreadable),
    ],
)
def test_an_event_that_we_cannot_have_written_is_one_line_that_names_it(
    store: Store, v: int, kind: str, data: str, error: type[Exception]
) -> None:
    store.append("r", started())
    insert_event(store.home, ev.VERSION)
    assert [item.event.kind for item in store.events("r")] == ["run.started", "run.resumed"]
    insert_event(store.home, v, kind, data)
    with pytest.raises(error, match=r"^event 3 of run r ") as refused:
        store.events("r")
    assert "\n" not in str(refused.value)
    assert getattr(refused.value, "exit_code", None) == 6


def newer(home: Path) -> None:
    execute(home, f"PRAGMA user_version = {schema.SCHEMA_VERSION + 1}")


def older(home: Path) -> None:
    execute(home, f"PRAGMA user_version = {schema.SCHEMA_VERSION - 1}")


def another_programs(home: Path) -> None:
    (home / "workbench.db").unlink()
    execute(home, "CREATE TABLE contacts (name TEXT)", "INSERT INTO contacts VALUES ('Ada')")


def no_database(home: Path) -> None:
    (home / "workbench.db").write_bytes(b"not a database, " * 1000)


def cut_short(home: Path) -> None:
    with open(home / "workbench.db", "r+b") as file:
        file.truncate(20_000)


def without_a_table(home: Path) -> None:
    execute(home, "DROP TABLE events")


def emptied(home: Path) -> None:
    (home / "workbench.db").write_bytes(b"")


def a_folder(home: Path) -> None:
    (home / "workbench.db").unlink()
    (home / "workbench.db").mkdir()


def a_file_for_the_home(home: Path) -> None:
    shutil.rmtree(home)
    home.write_text("a file")


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (newer, 6), (older, 6), (another_programs, 6), (no_database, 6), (cut_short, 6), (without_a_table, 6), (emptied, 6),
        (a_folder, 2), (a_file_for_the_home, 2),
    ],
)  # fmt: skip
def test_a_home_that_cannot_be_read_is_one_line_and_stays_as_it_is(
    home: Path, damage: Any, code: int
) -> None:
    damage(home)
    path = home / "workbench.db" if home.is_dir() else home
    before = path.read_bytes() if path.is_file() else None
    done = run_cli(home.parent, "runs")
    assert (done.returncode, done.stdout) == (code, "")
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith("workbench: ") and "Traceback" not in line
    assert (path.read_bytes() if path.is_file() else None) == before


def test_a_read_only_home_is_one_line(home: Path) -> None:
    """Root writes everywhere, so the home here is in a place where nobody can."""
    with pytest.raises(HomeUnusable, match="cannot be the data folder"):
        Store(Path("/proc/workbench-home"))


def test_damage_that_only_a_read_meets_is_told_as_damage(home: Path) -> None:
    size = (home / "workbench.db").stat().st_size
    with open(home / "workbench.db", "r+b") as file:
        file.seek(8192)
        file.write(b"\xff" * (size - 8192))
    with pytest.raises(StoreCorrupt, match="damaged"):
        store = Store(home)
        try:
            for run_id in store.run_ids():
                store.events(run_id)
                store.run_bodies(run_id)
        finally:
            store.close()
