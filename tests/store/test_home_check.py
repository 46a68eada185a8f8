"""A check of a home reads again every run of which anything changed since it was found whole, and no other."""

import os
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.small_run import RUN, make_small_run
from workbench.audit import home_check
from workbench.audit.home_check import HomeFault, check_home
from workbench.store import Store

OTHER = "20190101-000000-0001"


@pytest.fixture(scope="module")
def whole_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home of two runs that was checked and found whole."""
    home = tmp_path_factory.mktemp("whole") / "home"
    make_small_run(home)
    make_small_run(home, OTHER, source="print('another cell')")
    assert faults(home) == [] and remembered(home) == {RUN, OTHER}
    return home


def faults(home: Path) -> list[HomeFault]:
    with closing(Store(home)) as store:
        return check_home(store)


def remembered(home: Path) -> set[str]:
    with closing(Store(home)) as store:
        return set(store.whole())


def forget(home: Path) -> None:
    with closing(sqlite3.connect(home / "workbench.db", isolation_level=None)) as db:
        db.execute("DELETE FROM whole")


def change_file(home: Path, place: int, byte: int) -> None:
    """Change one byte of a file of a run, and put its times back; its size stays."""
    files = sorted(
        path for path in (home / "runs" / RUN).rglob("*") if path.parent.name in ("proofs", "sessions")
    )
    path = files[place % len(files)]
    content, before = bytearray(path.read_bytes()), path.stat()
    at = byte % len(content)
    content[at] = ord("7") if content[at] != ord("7") else ord("8")
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def change_row(home: Path, place: int, byte: int) -> None:
    """Change, or delete, a row of a run or a body, by hand, the guards put back."""
    with closing(sqlite3.connect(home / "workbench.db", isolation_level=None)) as db:
        guards = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in guards:
            db.execute(f"DROP TRIGGER {name}")
        columns = [
            ("events", "data"), ("model_calls", "reply"), ("api_calls", "asked"), ("api_calls", "meta"), ("bodies", "data")
        ]  # fmt: skip
        table, column = columns[place % len(columns)]
        rows = db.execute(f"SELECT rowid, {column} FROM {table}").fetchall()
        rowid, value = rows[byte % len(rows)]
        if (place + byte) % 3:
            db.execute(
                f"UPDATE {table} SET {column} = substr(?, 1, length(?) - 1) WHERE rowid = ?",
                (value, value, rowid),
            )
        else:
            db.execute(f"DELETE FROM {table} WHERE rowid = ?", (rowid,))
        for _, sql in guards:
            db.execute(sql)


changes = st.tuples(st.sampled_from((change_file, change_row)), st.integers(0, 40), st.integers(0, 10**6))


@given(changes)
def test_a_home_that_was_whole_is_checked_as_one_that_was_never_looked_at(whole_home: Path, change) -> None:  # type: ignore[no-untyped-def]
    how, place, byte = change
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder, "home")
        shutil.copytree(whole_home, home)
        how(home, place, byte)
        found = faults(home)
        assert faults(home) == found, "what is not whole is not remembered"
        forget(home)
        assert faults(home) == found


@pytest.mark.parametrize("name", ["proofs/P1.ipynb", "sessions/P2.1.1.jsonl"])
def test_a_file_changed_with_its_size_and_times_put_back_is_found(
    whole_home: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    shutil.copytree(whole_home, home)
    path = home / "runs" / RUN / name
    before, content = path.stat(), path.read_text()
    assert "print(len" in content
    path.write_text(content.replace("print(len", "print(max"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    (fault,) = {(fault.run, fault.check) for fault in faults(home)} & {(RUN, "notebook"), (RUN, "chain")}
    assert fault[0] == RUN
    # and with the look at it taken away it passes
    path.write_text(content)
    assert faults(home) == []
    monkeypatch.setattr(home_check, "looked_at", lambda *_: "the same")
    forget(home)
    assert faults(home) == []
    path.write_text(content.replace("print(len", "print(max"))
    assert faults(home) == []


def test_only_a_run_that_changed_is_read_again_and_all_are_by_other_code(
    whole_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    shutil.copytree(whole_home, home)
    read: list[str] = []
    load = home_check.load_state
    monkeypatch.setattr(home_check, "load_state", lambda store, run: read.append(run) or load(store, run))
    assert faults(home) == [] and read == []
    make_small_run(home, "20190101-000000-0002")
    assert faults(home) == [] and read == ["20190101-000000-0002"]
    read.clear()
    monkeypatch.setattr(home_check, "code_hash", lambda: "another check")
    assert faults(home) == [] and len(read) == 3
