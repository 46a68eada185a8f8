"""What trials count as: laws, the preset of paper B on its own trials, early stops, and what is learned from resolved leaves only."""

import csv
import gzip
import json
from collections import defaultdict
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxies.asof.clock import Cutoff
from tests.fakes.asking_run import AskingGrounder, belief_of, open_run, sit
from tests.fakes.small_run import make_small_run
from workbench.agents.base import GroundingFailure
from workbench.engine.leaves.aggregation import Aggregation
from workbench.engine.leaves.own_record import (
    ResolvedLeaf,
    learn,
    records_of,
    resolved_leaves,
)
from workbench.engine.new_run import new_run
from workbench.engine.proof_check import combined_faults
from workbench.engine.record.fold import load_state
from workbench.engine.record.resolved_runs import counts_for, topic_of
from workbench.engine.run_settings import RunSettings, with_preset
from workbench.errors import UsageError
from workbench.science.scoring.scores import brier_index
from workbench.store import Store
from workbench.store import events as ev

chances = st.floats(0.001, 0.999)


@given(
    p=chances, k=st.integers(1, 6), floor=st.floats(0, 1), slope=st.floats(0, 2), prior=st.floats(0.01, 0.99)
)
def test_trials_that_agree_count_as_what_they_say(
    p: float, k: int, floor: float, slope: float, prior: float
) -> None:
    aggregation = Aggregation(floor=floor, slope=slope, prior=prior)
    assert aggregation.combine([p] * k) == pytest.approx(p, abs=1e-9)


@given(values=st.lists(chances, min_size=2, max_size=6), prior=st.floats(0.01, 0.99), slope=st.floats(0.1, 2))
def test_shrinkage_lies_between_the_logit_mean_and_the_prior(
    values: list[float], prior: float, slope: float
) -> None:
    plain = Aggregation().combine(values)
    shrunk = Aggregation(floor=0.0, slope=slope, prior=prior).combine(values)
    assert min(plain, prior) - 1e-9 <= shrunk <= max(plain, prior) + 1e-9


@given(values=st.lists(chances, min_size=1, max_size=5), dead=st.integers(0, 4))
def test_a_dead_trial_counts_as_one_half_or_not_at_all(values: list[float], dead: int) -> None:
    assert Aggregation().combine(values, dead=dead) == Aggregation().combine(values)
    imputed = Aggregation(dead="impute").combine(values, dead=dead)
    assert imputed == pytest.approx(Aggregation().combine([*values, *[0.5] * dead]))


def test_worked_numbers() -> None:
    # logits 0 and 2 ln 9 = 4.394: sd (ddof 1) 3.107, weight max(0.3, 1 - 0.2 * 3.107) = 0.3786, mean 2.197, prior 0.5
    two = [0.5, 81 / 82]
    assert Aggregation(floor=0.3, slope=0.2).combine(two) == pytest.approx(
        1 / (1 + np.exp(-0.37862 * 2.19722)), abs=1e-4
    )
    # Platt: sigmoid(2 * logit(0.75)) = 0.9
    assert Aggregation(calibration_slope=2.0).combine([0.75]) == pytest.approx(0.9)


@pytest.mark.parametrize(
    "bad",
    [
        {"pool": "best"},
        {"dead": "ignore"},
        {"floor": 1.5},
        {"prior": 0.0},
        {"calibration_slope": float("nan")},
        {"pool": "mean", "floor": 0.3, "slope": 0.7},
    ],
)
def test_settings_that_make_no_sense_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Aggregation(**bad)


# --- the preset on the trials of the paper -----------------------------------------------------------------------------------


def blf(test_data: Path, method: str) -> tuple[list[dict[str, str]], dict[str, list[float]], dict[str, Any]]:
    folder = test_data / "forecastbench"
    trials: dict[str, list[float]] = defaultdict(list)
    with gzip.open(folder / "trials_dev.csv.gz", "rt", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            if row["method"] == method:
                trials[row["event_id"]].append(float(row["p"]))
    with gzip.open(folder / "events.csv.gz", "rt", encoding="utf-8") as lines:
        events = [row for row in csv.DictReader(lines) if row["event_id"] in trials]
    return events, trials, json.loads((folder / "expected.json").read_text())["methods"][method]


@pytest.mark.realdata
def test_the_preset_gives_the_published_values_on_the_papers_trials(test_data: Path) -> None:
    method = "pro-high-brave-c1-p1-t1"
    events, trials, expected = blf(test_data, method)
    settings = with_preset("blf-paper")
    assert settings.trials == 5
    p = np.array([settings.aggregation.combine(trials[row["event_id"]]) for row in events])
    outcome = np.array([float(row["outcome"]) for row in events])
    kind = np.array([row["question_type"] for row in events])
    published = expected["aggregation"]["logit_mean_all"]
    for name in ("market", "dataset"):
        index = brier_index(p[kind == name], outcome[kind == name])
        assert index == pytest.approx(published[f"BI_{name}"], abs=1e-4)
    # the same calibration, from the same forecasts as leaves of one trial each
    leaves = [
        ResolvedLeaf(run_id=row["question_key"], node="P0", trials=(float(value),), dead=0, parts=(), outcome=float(row["outcome"]),
                     day=row["resolution_date"], cost_usd=None)
        for row, value in zip(events, p, strict=True)
    ]  # fmt: skip
    fitted = learn(settings, leaves).aggregation
    calibration = expected["calibration"]["logit_mean_all"]["global"]
    assert fitted.calibration_slope == pytest.approx(calibration["a"], abs=1e-4)
    assert fitted.calibration_offset == pytest.approx(calibration["b"], abs=1e-4)
    # and with all trials, shrinkage is learned before the calibration, and does not make the record worse
    whole = [
        replace(leaf, trials=tuple(trials[row["event_id"]])) for leaf, row in zip(leaves, events, strict=True)
    ]
    fitted = learn(settings, whole).aggregation
    assert fitted.learned_from == len(whole)

    def error(aggregation: Aggregation) -> float:
        return float(np.mean([(aggregation.combine(leaf.trials) - leaf.outcome) ** 2 for leaf in whole]))

    assert error(fitted) < error(settings.aggregation)


# --- in a run ------------------------------------------------------------------------------------------------------------------


class Drifting(AskingGrounder):
    """A grounder whose trials differ: the first is far off, the others agree."""

    def __init__(self) -> None:
        super().__init__(1)
        self.count: dict[str, int] = {}

    async def ground(self, task: Any) -> Any:
        self.count[task.node.id] = self.count.get(task.node.id, 0) + 1
        return await super().ground(task)


@pytest.mark.parametrize(("dead", "other", "counted"), [("impute", "drop", [0.5]), ("drop", "impute", [])])
def test_a_dead_trial_counts_as_the_settings_say_and_the_log_can_be_recomputed(
    store: Store, dead: Any, other: Any, counted: list[float]
) -> None:
    class OneDead(Drifting):
        async def ground(self, task: Any) -> Any:
            second = self.count.get(task.node.id, 0) == 1
            outcome = await super().ground(task)
            return GroundingFailure(reason="no reply could be read", retryable=False) if second else outcome

    run_id = open_run(store, trials=3, aggregation=Aggregation(dead=dead))
    state = sit(store, run_id, leaves=2, grounder=OneDead())
    for leaf in ("P1", "P2"):
        p = belief_of(state.tree[leaf].statement)
        assert state.tree[leaf].p == pytest.approx(Aggregation().combine([p, p, *counted]))
    assert not combined_faults(store, state)
    # with the settings of another aggregation the same log does not follow
    state.settings = replace(state.settings, aggregation=Aggregation(dead=other))
    assert {fault.check for fault in combined_faults(store, state)} == {"pooled"}


def resolved_home(home: Path, day: str, *, runs: int = 12) -> Store:
    """Runs of two leaves each (p 0.6 and 0.4), their leaves resolved on a day: the first one true in two thirds of them."""
    for number in range(runs):
        run_id = f"20180630-1200{number:02d}-aced"
        make_small_run(home, run_id)
        with closing(Store(home)) as store:
            for node, p in (("P1", float(number % 3 > 0)), ("P2", float(number % 3 == 0))):
                store.append(run_id, ev.OutcomeRecorded(node=node, p=p, day=day))
    return Store(home)


def overconfident_home(home: Path, day: str) -> Store:
    """Runs of 24 claims, each with a leaf of 95 or 5 % that is resolved on a day, and right in three of five."""
    for number in range(24):
        run_id, claim = f"20180630-1200{number:02d}-aced", f"Treaty {chr(97 + number) * 3} is signed"
        make_small_run(home, run_id, statement=claim, p={"P1": 0.95 if number % 2 else 0.05, "P2": 0.4})
        with closing(Store(home)) as store:
            store.append(
                run_id, ev.OutcomeRecorded(node="P1", p=float((number % 2 == 1) == (number % 5 < 3)), day=day)
            )
    return Store(home)


def opened(store: Store, cutoff: str, settings: RunSettings) -> RunSettings:
    """The settings of a run that is opened in a home at a cutoff."""
    run_id = new_run(store, "VIX above 20 on 2019-06-30", Cutoff.parse(cutoff), settings)
    return load_state(store, run_id).settings


def test_only_leaves_resolved_before_the_cutoff_teach(tmp_path: Path) -> None:
    paper = with_preset("blf-paper")
    with closing(overconfident_home(tmp_path / "claims", "2018-12-31")) as store:
        before, after = (opened(store, day, paper).aggregation for day in ("2018-12-31", "2019-01-01"))
    assert (before.learned_from, before.calibrates) == (0, False)
    assert after.learned_from == 24 and after.calibrates and after.prior == pytest.approx(12 / 26)
    with closing(resolved_home(tmp_path, "2018-12-31")) as store:
        assert len(list(resolved_leaves(store))) == 24
        assert not list(resolved_leaves(store, Cutoff.parse("2018-12-31")))  # that day is not visible yet
        assert len(list(resolved_leaves(store, Cutoff.parse("2019-01-01")))) == 24
        # 24 leaves of one claim are one question, and teach nothing
        one_claim = opened(store, "2019-01-01", paper).aggregation
        assert one_claim == opened(store, "2018-12-31", paper).aggregation
        assert (one_claim.learned_from, one_claim.calibrates) == (0, False)
        # a run that is not to learn keeps its hands off the record
        assert opened(store, "2019-01-01", with_preset("product")).aggregation == Aggregation()
        # the router gets the record of each grounder, and of no later day either
        routed = with_preset("product", grounder="auto")
        record = opened(store, "2019-01-01", routed).options["grounder"]["record"]["notebook"]
        assert record["n"] == 24 and record["brier"] == pytest.approx((2 * 0.4**2 + 0.6**2) / 3)
        assert "record" not in opened(store, "2018-12-31", routed).options.get("grounder", {})


def test_a_forecast_counts_where_it_knew_no_more_and_could_not_have_read_the_outcome() -> None:
    at = Cutoff.parse("2018-06-30")
    assert not counts_for(at, "2018-06-29") and counts_for(
        at, "2018-06-30"
    )  # the cutoff's own day is not visible
    for new, counts in (("2018-12-31", False), ("2019-01-01", True), ("2018-06-30", False)):
        assert counts_for(at, "2018-12-31", Cutoff.parse(new)) == counts
    # decided long before the new cutoff, by a run that knew more than the new one may
    assert not counts_for(Cutoff.parse("2019-06-01"), "2019-07-01", Cutoff.parse("2019-01-01"))
    # a live forecast is scored by what came after its day, however long ago that is today
    live = Cutoff.parse("now", now=datetime(2024, 3, 4, 15, tzinfo=UTC))
    assert counts_for(live, "2024-03-05") and not counts_for(live, "2024-03-04")
    assert counts_for(live, "2024-03-05", Cutoff.parse("2024-03-06"))


def test_what_later_runs_knew_changes_nothing_of_what_a_cutoff_learns(tmp_path: Path) -> None:
    """Two homes, equal but for a run of a later cutoff over an earlier outcome, and one of what was decided before it began."""
    first, second = tmp_path / "a", tmp_path / "b"
    for home in (first, second):
        resolved_home(home, "2018-12-31", runs=2).close()
    for number, cutoff in enumerate(("2019-06-01", "2019-03-01")):
        make_small_run(second, f"20190601-12000{number}-aced", cutoff=cutoff)
    store = Store(second)
    for number in range(2):
        store.append(f"20190601-12000{number}-aced", ev.OutcomeRecorded(node="P1", p=1.0, day="2018-08-01"))
    store.append("20190601-120000-aced", ev.OutcomeRecorded(node="P2", p=1.0, day="2019-06-15"))
    other = Store(first)
    for day, more in (("2019-01-01", 0), ("2019-06-10", 0), ("2019-07-01", 1)):
        at = Cutoff.parse(day)
        leaves = [list(resolved_leaves(each, at)) for each in (other, store)]
        assert len(leaves[1]) == len(leaves[0]) + more and leaves[1][: len(leaves[0])] == leaves[0]
        # the router is shown the same record
        assert (records_of(leaves[0]) == records_of(leaves[1])) == (more == 0)
    store.close(), other.close()


def test_claims_that_differ_in_days_and_figures_are_one_topic() -> None:
    assert topic_of("VIX above 20 on 2019-06-30") == topic_of("The VIX closes above 25.5 on 2020-01-31")
    assert topic_of("Will Foo sell 1,200 cars by March 2026?") == topic_of(
        "Will Foo sell 900 cars by June 2027?"
    )
    assert topic_of("Will Foo sell 900 cars?") != topic_of("Will Bar sell 900 cars?")
