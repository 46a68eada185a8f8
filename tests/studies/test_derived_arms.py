"""Arms made of another arm's forecasts: trials pooled as `score` pools them, and finished trees under noise at the leaves."""

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.fakes.small_run import RUN, make_small_run
from workbench.engine.record.fold import load_state
from workbench.science.recipe import Recipe, prepare
from workbench.science.tables import Events
from workbench.store import Store
from workbench.store.events import ForecastMade
from workbench.studies.arms.arm_registry import make_arm
from workbench.studies.arms.base import ArmContext
from workbench.studies.arms.derived_arms import FinishedForecasts
from workbench.studies.leak_audit import audit_study
from workbench.studies.runner import StudyRunner
from workbench.studies.study_exam import StudyExam
from workbench.studies.study_file import ArmSpec, StudyCell, StudyError, study_of
from workbench.studies.study_plan import plan_study
from workbench.studies.study_report import write_study
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
    plan = plan_study(store, study_of(document))
    state = asyncio.run(StudyRunner(store, plan, environ={}).work())
    trials = trials_of(tidy_table(plan.spec, plan.exam, state), plan.exam)
    audited = audit_study(store, plan, state)
    results = write_study(store, plan, audited, tmp_path / "out")
    paid = tidy_table(plan.spec, plan.exam, state)
    paid.loc[paid["arm"] == "raw", "cost_usd"] = 0.01
    bills = {
        name: row["cost_usd"]
        for name, row in study_results(plan.spec, plan.exam, audited, paid)["arms"].items()
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


@pytest.mark.parametrize(
    ("arms", "words"),
    [
        ([{"arm": "pooled"}], "of which arm"),
        ([{"arm": "pooled", "of": "nobody"}], "there is no arm 'nobody'"),
        ([{"arm": "pooled", "of": "half"}, {"arm": "always-half", "name": "half"}], "does not draw"),
        ([{"arm": "noisy", "of": "raw"}], "no drivers to disturb"),
        ([{"arm": "noisy", "of": "raw", "noise": "loud"}], "noise is one of"),
        ([{"arm": "noisy", "of": "raw", "level": 2.0}], "lies in [0, 1]"),
        ([{"arm": "noisy", "name": "n", "of": "V"}, {"arm": "search", "name": "V", "analytica": "V"}], "without asking again"),
        ([{"arm": "pooled", "name": "a", "of": "b"}, {"arm": "pooled", "name": "b", "of": "raw"}], "there is no arm 'b'"),
        ([{"arm": "base-rate", "by": []}], "by is a list of columns"),
    ],
)  # fmt: skip
def test_what_cannot_be_derived_is_found_before_anything_is_paid_for(
    arms: list[Any], words: str, tmp_path: Path, store: Store
) -> None:
    raw = {"arm": "simulated", "name": "raw", "sd": 0.2}
    with pytest.raises(StudyError) as refused:
        plan_study(store, study_of({**SIMULATED, "name": "s", "arms": [*arms, raw]}))
    assert any(words in line for line in refused.value.problems), refused.value.problems


def test_a_build_up_names_arms_of_the_study() -> None:
    with pytest.raises(StudyError, match="build_up: a list of two or more arms"):
        study_of({**SIMULATED, "name": "s", "arms": ["random"], "build_up": ["random", "other"]})
