"""The own record: resolved runs of this home, scored together and month by month; revised outcomes count as they stand."""

import csv
from contextlib import closing
from math import log
from pathlib import Path
from typing import Any

import pytest

from tests.agents.grounder_cases import CASES
from tests.command_line import run_cli, run_json, run_ok
from tests.fakes.loop_run import LEAF, ExaOnLoopback, ScriptedModel, open_run, work
from tests.fakes.small_run import make_small_run
from workbench.annotations.outcomes import record_outcome
from workbench.audit.step_scores import steps_document
from workbench.errors import UsageError
from workbench.store import Store
from workbench.store import events as ev
from workbench.synthesis.whatif.edits import SetValue
from workbench.whatif.saved_scenarios import save_scenario


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


async def belief_runs(home: Path, count: int) -> tuple[Store, list[str]]:
    case, run_ids = CASES["belief"], []
    store = Store(home, durable=False)
    with ExaOnLoopback() as web:
        for _ in range(count):
            run_ids.append(open_run(store, grounder="belief"))
            await work(store, run_ids[-1], ScriptedModel(case.script), case.make(), web)
    return store, run_ids


def resolve(store: Store, run_id: str, p: float, day: str = "2018-09-01") -> None:
    store.append(run_id, ev.OutcomeRecorded(node=LEAF, p=p, day=day))


async def test_beliefs_by_step_and_medians(tmp_path: Path) -> None:
    store, run_ids = await belief_runs(tmp_path / "home", 3)
    resolve(store, run_ids[0], 1.0)
    resolve(store, run_ids[1], 0.0)
    resolve(store, run_ids[2], 1.0, day="2018-06-29")  # known at the cutoff
    document = steps_document(store)
    (name,) = document["arms"]
    assert name == "belief / openai/x"
    arm = document["arms"][name]
    assert arm["n"] == 3 and arm["statistics"]["steps"] == 4 and arm["statistics"]["pieces of evidence"] == 1
    assert arm["consistent"] == {"n": 3, "same": 3}
    by_step = arm["by_step"]
    assert (by_step["n"], by_step["runs"]) == (2, 2)
    # 0.5, then the script's 0.5, 0.55, 0.6, 0.62; one came true and one did not
    expected = [((1 - p) ** 2 + p**2) / 2 for p in (0.5, 0.5, 0.55, 0.6, 0.62)]
    assert [row["brier"] for row in by_step["steps"]] == pytest.approx(expected)
    assert by_step["steps"][-1]["interval"] is None  # two runs are too few for one
    assert document["left_out"] == [
        {"run_id": run_ids[2], "reason": "P1 was decided on 2018-06-29, before the cutoff"}
    ]
    store.close()
    shown = run_cli(tmp_path, "score", "--own", "--steps")
    assert shown.returncode == 0 and "2 drivers of 2 runs" in shown.stdout and "3 of 3" in shown.stdout
    again: Any = run_json(tmp_path, "score", "--own", "--steps")
    assert again["arms"] == document["arms"]


def test_a_home_without_loops_says_so(tmp_path: Path) -> None:
    store = Store(tmp_path / "home")
    with pytest.raises(UsageError, match="no run here has a driver that an agent's loop"):
        steps_document(store)
    store.close()
    done = run_cli(tmp_path, "score", "--steps")
    assert done.returncode == 2 and "--steps needs --own" in done.stderr


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
