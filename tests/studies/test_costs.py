"""What 1,000 questions cost, by model, beside how often it was right (paper A, Table 6)."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.model_policy import Policy
from tests.fakes.openai_server import OpenAIServer
from tests.studies.test_every_arm import PLAN, run_study
from workbench.store import ModelLedger, Store
from workbench.studies.leak_audit import audit_study
from workbench.studies.study_report import page
from workbench.studies.study_results import study_results
from workbench.studies.study_scores import cost_rows
from workbench.studies.study_table import tidy_table

SCORES = {"accuracy": 0.5, "soft": 0.5, "hard": 0.5, "brier": 0.25, "calls": 4, "tokens": 100}


def arm(model: str, analyzer: str = "single", **settings: Any) -> dict[str, Any]:
    return {"model": model, "analyzer": analyzer, "grounder": "search", "trials": 1, "models": {}, **settings}


@given(cost=st.floats(0, 1e4), questions=st.integers(1, 50), trials=st.integers(1, 4))
def test_a_thousand_questions_cost_what_the_asked_ones_did_in_proportion(
    cost: float, questions: int, trials: int
) -> None:
    frame = pd.DataFrame({"arm": "a", "event_id": [f"e{n}" for n in range(questions)] * trials})
    (row,) = cost_rows({"a": {**SCORES, "cost_usd": cost}}, {"arms": {"a": arm("m")}}, frame)
    assert row["per_1000"] * questions == pytest.approx(cost * 1000)
    assert (row["questions"], row["calls"]) == (questions, 4 / questions)


def test_a_gain_is_above_the_same_models_without_a_tree() -> None:
    scores = {name: {**SCORES, "cost_usd": None} for name in ("plain", "tree", "other tree", "table")}
    scores["tree"]["accuracy"] = 0.6
    scores["table"]["calls"] = 0
    manifest = {
        "arms": {
            "plain": arm("m"),
            "tree": arm("m", "rounds"),
            "other tree": arm("m", "rounds", models={"grounder": "n"}),
            "table": {"kind": "ColumnArm"},
        }
    }
    rows = {row["arm"]: row for row in cost_rows(scores, manifest, pd.DataFrame({"arm": ["plain", "tree", "other tree"], "event_id": "e"}))}  # fmt: skip
    assert {name: row["gain"] for name, row in rows.items()} == {
        "plain": None,
        "tree": pytest.approx(0.2),
        "other tree": None,
    }
    assert rows["other tree"]["models"] == "m, n (grounder)"
    assert all(row["per_1000"] is None for row in rows.values())  # a price that is not known is no price of 0


def test_the_report_prices_models_as_configured(tmp_path: Path, store: Store) -> None:
    """Two models on one server, the second ten times as dear, the first below a tree too."""
    prices = {"openai/small": [0.1, 0.4], "openai/large": [1.0, 4.0]}
    arms = [
        {"arm": "zero-shot", "name": f"{name}{letter}", "model": f"openai/{name}", "prices": prices, "critic": False}
        | ({"analytica": letter} if letter else {})
        for name, letter in (("small", ""), ("small", "L"), ("large", ""))
    ]  # fmt: skip
    with OpenAIServer(Policy(plan=PLAN, p={"P0": 0.4})) as server:
        plan, state = run_study(store, tmp_path, server, arms)
    frame = tidy_table(plan.spec, plan.exam, state)
    results = study_results(plan.spec, plan.exam, audit_study(store, plan, state), frame)
    spent = {cell.arm: ModelLedger(store).spent(made.run)[0] for cell, made in state.forecasts.items()}
    rows = {row["arm"]: row for row in results["costs"]}
    assert {name: row["per_1000"] for name, row in rows.items()} == {
        name: pytest.approx(1000 * usd) for name, usd in spent.items()
    }
    assert rows["large"]["per_1000"] == pytest.approx(10 * rows["small"]["per_1000"])
    assert (rows["smallL"]["calls"], rows["smallL"]["gain"]) == (
        5.0,
        -1.0,
    )  # right alone, wrong below the tree
    shown = page({**results, "steps": {}, "manifest_id": "0" * 64}, {})
    assert "Models and what they cost" in shown and "openai/large" in shown
