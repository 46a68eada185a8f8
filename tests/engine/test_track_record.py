"""The track record: live and back-test apart, reliability by hand, the driver that was wrong, histories of other places."""

import csv
from contextlib import closing
from math import log
from pathlib import Path

import pytest

from tests.command_line import run_cli, run_json
from tests.fakes.small_run import make_small_run
from workbench.annotations.outcomes import record_outcome
from workbench.store import Store
from workbench.synthesis.whatif.edits import SetValue
from workbench.whatif.saved_scenarios import save_scenario


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Eight resolved claims, each 0.1 + 0.5 P1 + 0.4 P2."""
    for number in range(8):
        run, claim = f"20180630-12000{number}-aced", f"Treaty {'ABCDEFGH'[number]} is signed"
        make_small_run(
            tmp_path / "home", run, statement=claim, p={"P1": 0.9 if number % 2 else 0.3, "P2": 0.5}
        )
        with closing(Store(tmp_path / "home")) as store:
            record_outcome(store, run, "yes" if number % 2 else "no", on="2018-09-01")
            if number == 0:
                record_outcome(store, run, "yes", on="2018-09-01", node="P1")
                save_scenario(store, run, "mine", [SetValue(node="P1", p=0.1)], author="Ann")
    return tmp_path


def test_the_record_equals_the_sums_by_hand(home: Path) -> None:
    table = home / "own.csv"
    document = run_json(home, "score", "--own", "--set", f"out={table}")
    record = document["record"]
    assert record["live"] is None, "made long after its outcomes"
    mine = record["back-test"]
    low, high = 0.1 + 0.5 * 0.3 + 0.2, 0.1 + 0.5 * 0.9 + 0.2
    assert mine["n"] == 8 and mine["brier"] == pytest.approx((low**2 + (1 - high) ** 2) / 2)
    assert mine["sharpness"]["from_half"] == pytest.approx((0.5 - low + high - 0.5) / 2)
    assert [(each["n"], each["said"], each["true"]) for each in mine["reliability"]] == [
        (4, pytest.approx(low), 0.0),
        (4, pytest.approx(high), 1.0),
    ]
    assert mine["calibration"]["verdict"].startswith("too few to use")
    (override,) = mine["overrides"]
    assert (override["author"], override["p"]) == ("Ann", pytest.approx(0.1 + 0.05 + 0.2))
    assert override["gain"] == pytest.approx(low**2 - 0.35**2)
    (surprise,) = mine["surprises"]
    assert surprise["moved"] == pytest.approx(0.5 * 0.7) and not surprise["towards_outcome"]
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert len(rows) == 8 and {row["horizon"] for row in rows} == {"up to 90 d"}
    for column in ("tag", "horizon", "data", "author"):
        assert run_cli(home, "score", "--own", "--by", column).returncode == 0, column
    assert "came true" in run_cli(home, "score", "--own").stdout


def test_a_history_of_another_place_is_scored_beside_the_own_record(home: Path) -> None:
    path = home / "history.csv"
    path.write_text(
        "question,p,outcome,day,crowd\nq1,0.5,yes,2024-01-01,0.4\nq1,0.8,yes,2024-02-01,0.4\nq2,0.3,no,2024-01-01,0.3\nq3,0.3,,2024-01-01,0.3\n"
    )
    document = run_json(home, "score", "--own", "--set", f"history={path}")
    (history,) = document["histories"]
    assert (history["n"], history["unresolved"]) == (2, 1)
    assert history["brier"] == pytest.approx((0.04 + 0.09) / 2)
    assert history["peer"] == pytest.approx(100 * log(2) / 2)
