"""The own record: resolved runs of this home, scored together and month by month; revised outcomes count as they stand."""

from pathlib import Path
from typing import Any

import pytest

from tests.command_line import run_json, run_ok
from tests.fakes.small_run import make_small_run


def planted(home: Path, statement: str, p: float, cutoff: str = "2018-06-30") -> str:
    """A run of this home whose claim has this probability."""
    number = len(list((home / "home" / "runs").glob("*"))) if (home / "home").exists() else 0
    leaf = (p - 0.1) / 0.9
    run_id = f"20180630-1200{number:02d}-aced"
    return make_small_run(
        home / "home", run_id, statement=statement, cutoff=cutoff, p={"P1": leaf, "P2": leaf}
    )


def own(home: Path, *words: str) -> Any:
    done = run_json(home, "score", "--own", *words)
    return done


def test_scores_by_month_and_a_revised_outcome(tmp_path: Path) -> None:
    runs = [planted(tmp_path, text, p) for text, p in (("A", 0.8), ("B", 0.6), ("C", 0.3))]
    for run, answer, day in zip(
        runs, ("yes", "yes", "no"), ("2018-08-01", "2018-07-05", "2018-08-09"), strict=True
    ):
        run_ok(tmp_path, "resolve", run, answer, "--on", day)
    document = own(tmp_path)
    assert [row["statement"] for row in document["runs"]] == ["B", "A", "C"]
    # 0.4 squared; 0.2 and 0.3 squared; by hand
    assert [(row["month"], row["n"]) for row in document["over_time"]] == [("2018-07", 1), ("2018-08", 2)]
    assert [row["brier"] for row in document["over_time"]] == pytest.approx([0.16, 0.065])
    assert [row["brier_so_far"] for row in document["over_time"]] == pytest.approx([0.16, 0.29 / 3])
    entry = document["methods"]["own"]
    assert (
        entry["brier"]["overall"] == pytest.approx(0.29 / 3)
        and document["methods"]["0.5"]["brier"]["overall"] == 0.25
    )
    assert (
        entry["intervals"]["brier"]["overall"] is None and entry["n"]["clusters"] == 1
    )  # their windows overlap
    assert {row["made"] for row in document["runs"]} == {"back-test"}  # made long after the outcome
    run_ok(tmp_path, "resolve", runs[0], "no", "--on", "2018-08-01")
    assert own(tmp_path)["over_time"][-1]["brier_so_far"] == pytest.approx((0.16 + 0.64 + 0.09) / 3)
    assert set(own(tmp_path, "--by", "month")["methods"]["own"]["by"]) == {"2018-07", "2018-08"}


def test_what_does_not_count_says_why(tmp_path: Path) -> None:
    share, early, good = (planted(tmp_path, text, 0.7) for text in ("A", "B", "C"))
    for run, answer, day in (
        (share, "0.4", "2018-08-01"),
        (early, "yes", "2018-06-29"),
        (good, "yes", "2018-06-30"),
    ):
        run_ok(tmp_path, "resolve", run, answer, "--on", day)
    document = own(tmp_path)
    assert [row["run_id"] for row in document["runs"]] == [good]  # the cutoff's own day is not visible at it
    reasons = {row["run_id"]: row["reason"] for row in document["left_out"]}
    assert "share" in reasons[share] and "before its cutoff" in reasons[early]
