"""What an older workbench wrote opens and stays as it is; what a newer, another or a broken program wrote is one clear line."""

import shutil
import sqlite3
import stat
import tarfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.command_line import run_cli
from tests.conftest import made_once
from workbench.store import (
    ApiLedger,
    EventUnreadable,
    HomeUnusable,
    Store,
    StoreCorrupt,
    StoreTooNew,
    database,
    migrations,
)
from workbench.store import (
    database_schema as schema,
)
from workbench.store import events as ev

FIXTURE = Path(__file__).parents[1] / "fixtures" / "home-2026-11.tar.xz"
Rows = list[tuple[Any, ...]]


@pytest.fixture(scope="session")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of November 2026, written before versions were counted; for reading only."""

    def unpack(folder: Path) -> None:
        with tarfile.open(FIXTURE) as archive:
            archive.extractall(folder, filter="data")

    return made_once(tmp_path_factory, "migrations", unpack) / "home"


@pytest.fixture
def home(old: Path, tmp_path: Path) -> Path:
    shutil.copytree(old, tmp_path / "home")
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


def version(home: Path) -> int:
    with closing(sqlite3.connect(home / "workbench.db")) as db:
        return int(db.execute("PRAGMA user_version").fetchone()[0])


def content(home: Path) -> dict[str, Rows]:
    with closing(sqlite3.connect(home / "workbench.db")) as db:
        return {
            table: db.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall()
            for table in ("events", "bodies", "model_calls", "api_calls")
        }


def started() -> ev.RunStarted:
    return ev.RunStarted(
        statement="It rains", cutoff="2018-06-30", cutoff_instant="2018-06-30T04:00:00Z", settings={}
    )


def test_a_new_database_has_todays_version(store: Store) -> None:
    assert version(store.home) == schema.SCHEMA_VERSION


def test_every_version_but_todays_has_its_step_forward() -> None:
    assert set(migrations.MIGRATIONS) == set(range(schema.SCHEMA_VERSION))
    assert set(migrations.UPCASTS) == set(range(1, ev.VERSION))


def test_an_old_database_is_brought_up_and_not_a_row_is_rewritten(home: Path) -> None:
    before = content(home)
    assert version(home) == 0 and before["events"]
    Store(home).close()
    assert version(home) == schema.SCHEMA_VERSION
    assert content(home) == before
    with closing(sqlite3.connect(home / "workbench.db")) as db:
        assert {
            each for each in schema.schema_objects(db) if each[2] not in schema.DERIVED
        } in schema.own_schemas()


def test_a_database_of_the_oldest_shape_gets_the_column_it_lacks(home: Path) -> None:
    execute(home, "ALTER TABLE model_calls DROP COLUMN cached_tokens")
    Store(home).close()
    with closing(sqlite3.connect(home / "workbench.db")) as db:
        assert db.execute("SELECT count(*), count(cached_tokens) FROM model_calls").fetchone()[1] == 0


def test_a_step_that_fails_leaves_the_database_as_it_was(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def half(db: sqlite3.Connection) -> None:
        db.execute("ALTER TABLE model_calls ADD COLUMN more TEXT")
        raise ZeroDivisionError

    before = content(home)
    monkeypatch.setitem(migrations.MIGRATIONS, 0, half)
    with pytest.raises(ZeroDivisionError):
        Store(home)
    assert (version(home), content(home)) == (0, before)


def test_opening_a_database_of_today_waits_for_no_writer(store: Store) -> None:
    store.append("r", started())
    with store.transaction():
        store.append("r", ev.RunResumed())
        Store(store.home).close()


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_reading_a_stored_event_is_bringing_it_up(home: Path, data: st.DataObject) -> None:
    events = content(home)["events"]
    seq, run_id, at_utc, kind, node, trial, v, text = data.draw(st.sampled_from(events))
    assert v == 1
    whole = orjson.loads(text) | {"kind": kind, "node": node, "trial": trial}
    by_hand = dict(whole)
    if kind == "leaf.grounded":  # all that changed between the two versions
        by_hand["evidence"] = {"kind": "notebook", "package": None, "body": None}
    assert migrations.upcast(whole, v, name="it") == by_hand
    store = Store(home)
    try:
        (read,) = [item for item in store.events(run_id, after=seq - 1) if item.seq == seq]
    finally:
        store.close()
    assert (read.event, read.at_utc) == (ev.parse_event(by_hand), at_utc)


def insert_event(home: Path, v: int, kind: str = "run.resumed", data: str = "{}") -> None:
    with closing(sqlite3.connect(home / "workbench.db", isolation_level=None)) as db:
        values = ("r", "2026-01-01T00:00:00Z", kind, v, data)
        db.execute("INSERT INTO events (run_id, at_utc, kind, v, data) VALUES (?, ?, ?, ?, ?)", values)


@pytest.mark.parametrize(
    ("v", "kind", "data", "error"),
    [
        (ev.VERSION + 1, "run.resumed", "{}", StoreTooNew),
        (0, "run.resumed", "{}", EventUnreadable),
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


def test_events_come_in_the_order_of_the_log_also_where_the_clock_went_back(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter(["2026-01-01T00:00:02Z", "2026-01-01T00:00:01Z", "2026-01-01T00:00:00Z"])
    monkeypatch.setattr(database, "utc_now", lambda: next(times))
    store.append("r", started())
    store.append("r", ev.NodeFailed(node="P9", reason="first"))
    store.append("r", ev.NodeFailed(node="P1", reason="second"))
    assert [item.event.node for item in store.events("r")] == [None, "P9", "P1"]


def newer(home: Path) -> None:
    execute(home, f"PRAGMA user_version = {schema.SCHEMA_VERSION + 1}")


def another_programs(home: Path) -> None:
    (home / "workbench.db").unlink()
    execute(home, "CREATE TABLE contacts (name TEXT)", "INSERT INTO contacts VALUES ('Ada')")


def no_database(home: Path) -> None:
    (home / "workbench.db").write_bytes(b"not a database, " * 1000)


def cut_short(home: Path) -> None:
    with open(home / "workbench.db", "r+b") as file:
        file.truncate(20_000)


def without_a_table(home: Path) -> None:
    execute(home, "PRAGMA user_version = 1", "DROP TABLE events")


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
        (newer, 6), (another_programs, 6), (no_database, 6), (cut_short, 6), (without_a_table, 6), (emptied, 6),
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


def test_the_hashes_of_the_data_are_listed_without_reading_an_answer(home: Path) -> None:
    store = Store(home)
    try:
        ledger = ApiLedger(store)
        by_rows = {
            run_id: {row.answer.meta["content_hash"] for row in ledger.rows(run_id) if row.answer}
            for run_id in store.run_ids()
        }
        assert any(by_rows.values())
        execute(home, "DELETE FROM bodies")
        assert {run_id: ledger.content_hashes(run_id) for run_id in by_rows} == by_rows
    finally:
        store.close()


def test_an_older_home_is_copied_before_anything_in_it_changes(home: Path) -> None:
    before = rows_of(home / "workbench.db")
    said = database.database_state(home)
    assert said.startswith(
        "version 0; opening it copies it to workbench-before-1.db first, then brings it up: 0 to 1"
    )
    assert not (home / database.BACKUP).exists(), "to ask changes nothing"
    Store(home).close()
    backup = home / database.BACKUP
    assert rows_of(backup) == before and stat.S_IMODE(backup.stat().st_mode) == 0o600
    with closing(sqlite3.connect(backup)) as db:
        assert migrations.database_version(db) == 0
    assert database.database_state(home) == f"version {schema.SCHEMA_VERSION}"
    # put back in place of the newer one, it opens like the home did
    for name in ("workbench.db", "workbench.db-wal", "workbench.db-shm"):
        (home / name).unlink(missing_ok=True)
    shutil.copy(backup, home / "workbench.db")
    Store(home).close()
    assert rows_of(home / "workbench.db") == before


def test_a_copy_that_is_there_is_never_written_over(home: Path) -> None:
    (home / database.BACKUP).write_text("mine")
    Store(home).close()
    assert (home / database.BACKUP).read_text() == "mine"


def test_a_new_home_and_one_of_today_need_no_copy(tmp_path: Path) -> None:
    assert database.database_state(tmp_path / "new") == "none yet"
    for _ in range(2):
        Store(tmp_path / "new").close()
    assert not (tmp_path / "new" / database.BACKUP).exists()


def rows_of(path: Path) -> Rows:
    """The events and bodies of a database."""
    with closing(sqlite3.connect(path)) as db:
        return [
            *db.execute("SELECT * FROM events ORDER BY seq"),
            *db.execute("SELECT * FROM bodies ORDER BY 1"),
        ]
