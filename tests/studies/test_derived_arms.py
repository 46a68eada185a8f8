"""Arms made of another arm's forecasts: trials pooled as `score` pools them, and finished trees under noise at the leaves."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.fakes.small_run import RUN, make_small_run
from tests.studies.finished import finish
from workbench.engine.record.fold import load_state
from workbench.science.recipe import Recipe, prepare
from workbench.science.tables import Events
from workbench.store import Store
from workbench.store.events import ForecastMade
from workbench.studies.arms.arm_registry import make_arm
from workbench.studies.arms.base import ArmContext
from workbench.studies.arms.derived_arms import FinishedForecasts
from workbench.studies.study_exam import StudyExam
from workbench.studies.study_file import ArmSpec, StudyCell
from workbench.studies.study_results import study_results
from workbench.studies.study_state import StudyState
from workbench.studies.study_table import tidy_table, trials_of

pytestmark = pytest.mark.usefixtures("no_pictures")

SIMULATED = {"exam": {"simulator": {"kind": "logic", "questions": 40, "seed": 3}}, "trials": 4}


def test_a_build_up_is_one_study_and_each_step_stands_above_the_one_before(
    tmp_path: Path, store: Store
) -> None:
    """Paper B, Fig. 3, in a simulated exam: the derived arms stand before those they are made of, and are made after them."""
    document = {
        **SIMULATED,
        "name": "build",
        "reference": "mean",
        "build_up": ["mean", "logit mean", "calibrated"],
        "arms": [
            {"arm": "pooled", "name": "mean", "of": "raw", "pool": "mean"},
            {"arm": "pooled", "name": "logit mean", "of": "raw"},
            {"arm": "pooled", "name": "calibrated", "of": "raw", "calibrate": "platt"},
            {"arm": "simulated", "name": "raw", "sd": 0.2, "bias": 0.1},
        ],
    }
    plan, state, results = finish(store, document, tmp_path)
    paid = tidy_table(plan.spec, plan.exam, state)
    trials = trials_of(paid, plan.exam)
    paid.loc[paid["arm"] == "raw", "cost_usd"] = 0.01
    bills = {
        name: row["cost_usd"]
        for name, row in study_results(plan.spec, plan.exam, state, paid)["arms"].items()
    }
    assert bills == dict.fromkeys(bills, pytest.approx(1.6))  # nothing made of paid forecasts is free
    assert not state.missing and trials["raw"].shape == (40, 4)
    for name, recipe in (
        ("mean", Recipe(pool="mean")),
        ("logit mean", Recipe()),
        ("calibrated", Recipe(calibrate="platt", loo="question")),
    ):
        assert trials[name][:, 0] == pytest.approx(prepare(trials["raw"], plan.exam.events, recipe).p)
    steps = results["build_up"]
    assert [(row["before"], row["arm"]) for row in steps] == [
        ("mean", "logit mean"),
        ("logit mean", "calibrated"),
    ]
    index = {arm: row["brier_index"] for arm, row in results["arms"].items()}
    for row in steps:
        assert row["difference"] == pytest.approx(index[row["arm"]] - index[row["before"]])
        assert row["looked_at"] == 2 and row["p_holm"] >= row["p"]
    assert "Build-up" in (tmp_path / "out" / "report.html").read_text()


def noisy(**settings: Any) -> Any:
    spec = ArmSpec(name="n", kind="noisy", settings={"of": "tree", **settings})
    return make_arm(spec, ArmContext(folder=Path()))


def test_noise_reaches_the_root_through_the_rules_and_is_the_same_each_time(
    tmp_path: Path, store: Store
) -> None:
    make_small_run(tmp_path / "home")
    tree = load_state(store, RUN).tree
    exam = StudyExam(events=Events.of([1.0, 0.0], kind="market"), statements={}, cutoffs={}, contexts={})
    made = ForecastMade(node="e0", trial=1, arm="tree", seed=0, p=tree.root.p or 0.0, run=RUN)
    state = StudyState(name="s", forecasts={StudyCell("tree", "e0", 0, 1): made})
    source = FinishedForecasts(store=store, exam=exam, state=state, trials={})

    def root(trial: int = 1, **settings: Any) -> float:
        p, reasons = noisy(**settings).derive(source, seed=0, trial=trial)
        assert np.isnan(p[1]) and "no finished run" in reasons[1]
        return float(p[0])

    assert root(level=0.0) == pytest.approx(tree.root.p)
    assert root(level=0.3) == root(level=0.3) != root(level=0.3, trial=2)
    turned = {leaf: 1 - (tree[leaf].p or 0.0) for leaf in tree.leaves()}
    rule = tree.root.rule
    wanted = rule.intercept + sum(rule.weights[leaf] * p for leaf, p in turned.items())  # type: ignore[union-attr]
    assert root(noise="reverse", level=1.0) == pytest.approx(min(max(wanted, 0.0), 1.0))
