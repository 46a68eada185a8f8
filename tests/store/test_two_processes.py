"""Every pair of commands on one home, begun or killed between two steps of each other, leaves a home that is whole."""

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.command_line import run_cli, run_json
from tests.fakes.small_run import RUN, make_small_run
from workbench.audit.home_check import check_home
from workbench.store import Store

ROOT = Path(__file__).resolve().parents[2]


def play_all(folder: Path, which: str) -> tuple[list[str], int]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.fakes.two_processes", str(folder), which],
        cwd=ROOT, capture_output=True, text=True, timeout=3000, check=True,
    )  # fmt: skip
    *wrong, number = done.stdout.splitlines()
    return wrong, int(number)


def played(folder: Path, first: int, count: int) -> list[str]:
    wrong, number = play_all(folder, f"{first},{count}")
    assert number == count
    return wrong


def test_some_pairs_leave_the_home_whole(tmp_path: Path) -> None:
    assert played(tmp_path, int(os.environ.get("PAIRS_SEED", "7")), 4) == []


@pytest.mark.long
def test_a_product_without_its_guard_is_caught(tmp_path: Path) -> None:
    wrong, _ = play_all(tmp_path, "unguarded")
    assert any("no record names the folder" in line for line in wrong), wrong


@pytest.mark.long
def test_an_import_that_goes_by_the_clock_is_caught(tmp_path: Path) -> None:
    """The second import's clock is 400 days ahead: it must not take the folder of the first for one that was left behind."""
    wrong, _ = play_all(tmp_path, "by the clock")
    assert any('"review import"' in line for line in wrong), wrong


@pytest.mark.long
def test_more_pairs_leave_the_home_whole(tmp_path: Path) -> None:
    assert played(tmp_path, 1_000, 36) == []


@pytest.mark.soak
def test_every_pair_seven_times_leaves_the_home_whole(tmp_path: Path) -> None:
    assert played(tmp_path, 0, 1_008) == []


@pytest.fixture
def home(tmp_path: Path) -> Path:
    make_small_run(tmp_path / "home")
    return tmp_path / "home"


def test_a_home_is_whole_and_says_so(home: Path) -> None:
    done = run_cli(home.parent, "doctor", "--check")
    assert done.returncode == 0 and done.stdout.strip().endswith("1 run, whole")
    document = run_json(home.parent, "doctor", "--check")
    assert document == {"home": str(home), "runs": 1, "whole": True, "findings": []}


def _unguarded(home: Path, *statements: str) -> None:
    with closing(sqlite3.connect(home / "workbench.db", isolation_level=None)) as db:
        for statement in statements:
            db.execute(statement)


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda home: shutil.rmtree(home / "runs" / RUN), "cannot be read"),
        (lambda home: (home / "runs" / "20180101-000000-bbbb" / "proofs").mkdir(parents=True), "no record names the folder"),
        (lambda home: _unguarded(home, "DROP TRIGGER events_stay"), "guard events_stay"),
        (lambda home: _unguarded(home, "UPDATE bodies SET data = CAST('x' AS BLOB) WHERE hash = (SELECT reply FROM model_calls LIMIT 1)"), "was altered"),
        (lambda home: _unguarded(home, "DELETE FROM bodies WHERE hash = (SELECT answer FROM api_calls LIMIT 1)"), "is gone"),
        (lambda home: next((home / "runs" / RUN / "sessions").glob("P1*.jsonl")).write_bytes(b"{}\n"), "P1 trial 1"),
        (lambda home: (home / "runs" / RUN / "proofs" / "P1.ipynb").unlink(), "P1 trial 1"),
        (lambda home: _unguarded(home, "DROP TRIGGER events_keep", "UPDATE events SET data = '{' WHERE kind = 'leaf.started'"), "was altered"),
    ],
)  # fmt: skip
def test_what_is_not_whole_is_named_and_exit_6(home: Path, damage: object, says: str) -> None:
    damage(home)  # type: ignore[operator]
    done = run_cli(home.parent, "doctor", "--check")
    assert done.returncode == 6 and says in done.stdout and "not whole" in done.stdout, (
        done.stdout + done.stderr
    )


def test_a_removal_that_was_cut_off_is_finished_by_the_check(home: Path) -> None:
    (home / "runs" / RUN).rename(home / "runs" / f".removed-{RUN}-00000000")
    with closing(Store(home)) as store:
        assert check_home(store) == []
    assert (home / "runs" / RUN).is_dir()
