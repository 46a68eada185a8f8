"""Tables of the report beside scores and differences: mixes, caution beside the market, distances, costs, steps of agents."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.model_policy import Policy
from tests.fakes.openai_server import OpenAIServer
from tests.studies.finished import finish
from tests.studies.test_every_arm import PLAN, run_study
from workbench.science.pooling.pool import pool
from workbench.science.scoring.scores import brier_index, metaculus_baseline
from workbench.science.tables import Events
from workbench.store import ModelLedger, Store
from workbench.studies.leak_audit import audit_study
from workbench.studies.study_exam import StudyExam
from workbench.studies.study_file import Rebalance, StudyError, study_of
from workbench.studies.study_plan import plan_study
from workbench.studies.study_report import page, write_study
from workbench.studies.study_results import study_results
from workbench.studies.study_scores import (
    caution_rows,
    cost_rows,
    curve_points,
    distance_matrix,
    ensemble_rows,
    mix_scores,
    rank_correlation,
    role_rows,
)
from workbench.studies.study_table import tidy_table

#: A name that is a broken formula, HTML and a spreadsheet's command, as far as one name can be.
HOSTILE = "=1 $x to \\frac{$2 <b>other</b>"
PROBABILITIES = st.lists(st.floats(0, 1), min_size=12, max_size=12).map(np.array)


def exam(outcome: Any, **columns: Any) -> StudyExam:
    events = Events.of(np.array(outcome, dtype=float), kind="market", source="test", **columns)
    return StudyExam(events=events, statements={}, cutoffs={}, contexts={})


@given(p=PROBABILITIES, q=PROBABILITIES)
def test_a_distance_is_a_metric_of_its_pair(p: Any, q: Any) -> None:
    matrix = distance_matrix({"p": p, "q": q})
    assert matrix[0, 0] == matrix[1, 1] == 0 and matrix[0, 1] == matrix[1, 0] >= 0
    half = p.copy()
    half[::2] = np.nan
    assert distance_matrix({"p": half, "q": q})[0, 1] == pytest.approx(np.sqrt(((p - q)[1::2] ** 2).mean()))


@given(price=PROBABILITIES, shrink=st.floats(0.05, 0.9))
def test_an_arm_that_shrinks_the_price_is_cautious_by_that_much(price: Any, shrink: float) -> None:
    said = 0.5 + shrink * (price - 0.5)
    rows = caution_rows(exam(np.ones(12), crowd=price), {"market": price, "shrunk": said})
    assert [row["arm"] for row in rows] == (
        [] if np.ptp(price) < 1e-6 or np.allclose(price, said) else ["shrunk"]
    )
    for row in rows:
        assert row["n"] == 12 and row["slope"] == pytest.approx(shrink, abs=1e-3)
        assert row["cautious"] in (None, 1.0)


def test_a_mix_weighs_the_categories_by_its_shares() -> None:
    """Eight of a, right; two of b, wrong: 0.2 as it is, the share of b in any mix that leaves no choice among equal scores."""
    labels = np.array(["a"] * 8 + ["b"] * 2)
    own = exam(np.ones(10), category=labels)
    pooled = {"sure": np.where(labels == "a", 1.0, 0.0), "half": np.full(10, 0.4)}
    settings = {"mixes": [{"a": 0.5, "b": 0.5}, {"a": 0.75, "other": 0.25}], "draws": 3}
    rows = mix_scores(Rebalance.model_validate(settings), own, pooled)["mixes"]
    assert [(row["mix"], row["events"]) for row in rows] == [
        ("as it is: a 80%, b 20%", 10),
        ("a 50%, b 50%", 4),
        ("a 75%, other 25%", 8),
    ]
    assert [row["arms"]["sure"]["brier"] for row in rows] == pytest.approx([0.2, 0.5, 0.25])
    assert [row["order"] for row in rows] == [1.0, -1.0, 1.0]  # 0.36 lies between them
    assert mix_scores(None, own, pooled) == {}
    assert rank_correlation(np.array([1.0, 1.0]), np.array([1.0, 2.0])) is None


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ("half", "a mapping with mixes"),
        ({"mixes": [{"a": 0.5}]}, "mix 1: shares of categories sum to 1"),
        ({"mixes": [{"a": 1.5, "b": -0.5}]}, "mix 1"),
        ({"mixes": [{"a": "all"}]}, "a mapping of categories to shares that sum to 1"),
        ({"mixes": [{"a": 1}], "draws": 0}, "draws: a whole number"),
        ({"mixes": [{"a": 1}], "times": 5}, "times"),
    ],
)
def test_a_mix_that_is_none_is_one_line(settings: Any, says: str) -> None:
    with pytest.raises(StudyError) as refusal:
        study_of({"name": "s", "exam": {"set": "q"}, "arms": ["market"], "rebalance": settings})
    (line,) = refusal.value.problems
    assert says in line and "\n" not in line


def test_a_mix_that_the_exam_cannot_give_is_found_before_the_first_forecast(
    tmp_path: Path, store: Store
) -> None:
    study = {"name": "s", "exam": {"simulator": {"questions": 20}}, "arms": ["market"]}
    for rebalance, says in (
        ({"mixes": [{"sports": 0.5, "linear": 0.5}]}, "needs more events of 'sports': there are 0"),
        ({"column": "mood", "mixes": [{"a": 1}]}, "the exam has no column 'mood'"),
    ):
        with pytest.raises(StudyError) as refusal:
            plan_study(store, study_of({**study, "rebalance": rebalance}))
        (line,) = refusal.value.problems
        assert says in line


def test_the_report_counts_the_steps_of_agents(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Paper B, Table 19: a belief agent that searches once and submits, one that only submits, and an arm without a loop."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    with OpenAIServer(Policy(plan=PLAN, p={"P0": 0.8})) as server:
        arms = [{"arm": "belief"}, {"arm": "belief-no-tools"}, {"arm": "zero-shot"}]
        plan, state = run_study(store, tmp_path, server, arms)
        state = audit_study(store, plan, state)
    results = write_study(store, plan, state, tmp_path / "out")
    assert set(results["steps"]) == {"belief", "belief-no-tools"}
    belief, plain = results["steps"]["belief"], results["steps"]["belief-no-tools"]
    assert (belief["leaves"], belief["steps"], belief["tool calls"]) == (1, 2.0, 1.0)
    assert belief["tools"] == {"embedded": {"search": 1.0}} and plain["tools"] == {"embedded": {}}
    assert (plain["steps"], plain["tool calls"], plain["submitted"], plain["gap"]) == (1.0, 0.0, 1.0, 0.0)
    assert belief["brier_by_step"] == pytest.approx([0.64, 0.64])  # the outcome is no
    page = (tmp_path / "out" / "report.html").read_text()
    assert "How the agents worked" in page and (tmp_path / "out" / "steps.png").is_file()
    assert json.loads((tmp_path / "out" / "results.json").read_text())["steps"] == results["steps"]


def test_the_report_shows_what_the_exam_has_columns_for(tmp_path: Path, store: Store) -> None:
    """Correctness against volatility, horizon and volume; lead time; build-up, caution, divergence, consensus and distance."""
    rng = np.random.default_rng(4)
    head = "event_id,question_key,source,question_type,outcome,crowd,other,horizon_days,volume,volatility,category,question\n"
    rows = [
        f"e{n},e{n},x,market,{n % 2},{0.3 + 0.4 * (n % 2):.2f},{rng.random():.3f},{n * 3},{1000 * n},{rng.random():.3f},"
        f"{'ab'[n % 2]},<b>Will {n}?</b>\n"
        for n in range(40)
    ]
    (tmp_path / "e.csv").write_text(head + "".join(rows))
    arms = ["market", "random", {"arm": "column", "name": HOSTILE, "column": "other"}]
    document = {"exam": {"events": "e.csv"}, "arms": arms, "trials": 3, "resamples": 200}
    results = finish(store, document, tmp_path).results
    pictures = {path.stem for path in (tmp_path / "out").glob("*.png")}
    wanted = {
        "scores",
        "differences",
        "reliability",
        "conservatism",
        "lead-time",
        "divergence",
        "distance",
        "consensus",
        "trials",
        "spread",
        "correctness",
        "questions",
        "questions-below-chance",
    }
    assert (
        pictures == wanted
    )  # without costs there is no frontier, without trees no weights, without agents no steps
    for row in results["by_category"]["arms"]["market"]:
        # of category a nothing came true, of b everything
        assert (row["accuracy_true"], row["accuracy_false"]) == (
            (None, 1.0) if row["category"] == "a" else (1.0, None)
        )
    assert {row["column"] for row in results["correctness"]} == {"volatility", "horizon_days", "volume"}
    assert {row["arm"] for row in results["caution"]} == {"random", HOSTILE}
    assert [len(rows) for rows in results["questions"].values()] == [10, 10]
    assert results["arms"]["random"]["p_variance"] > 0 and results["arms"]["market"]["p_variance"] is None
    # No choice among options: soft, hard and its variance are of none, and no other number stands under their names.
    assert all(results["arms"]["random"][name] is None for name in ("soft", "hard", "run_variance"))
    page = (tmp_path / "out" / "report.html").read_text()
    assert "&lt;b&gt;Will 1?" in page and "<b>Will" not in page and "<b>other" not in page


def scored(accuracy: float, **own: Any) -> dict[str, Any]:
    return {"accuracy": accuracy, "brier_index": 100 * accuracy, "cost_usd": 1.0, "tasks": None, **own}


def tree_arm(model: str = "m", **settings: Any) -> dict[str, Any]:
    return {"model": model, "models": {}, "analyzer": "rounds", "grounder": "search", "options": {}, "depth": 1, "leaf_target": None, **settings}  # fmt: skip


def test_a_curve_is_of_arms_that_differ_in_size_or_in_noise_alone() -> None:
    """Paper A, Fig. 5: trees of two rules in three sizes; noise at two levels below one of them, which stands at 0 itself."""
    settings = {
        f"{rule} {size}": tree_arm(rule=rule, **each)
        for rule in ("linear", "logic")
        for size, each in (("small", {}), ("deep", {"depth": 2}), ("many", {"leaf_target": 50}))
    }
    settings["alone"] = tree_arm(analyzer="single", rule="linear")
    sizes = {"small": 12.0, "deep": 70.5, "many": 61.0, "alone": 1.0}
    arms = {arm: scored(0.6 + n / 100, nodes=sizes[arm.split()[-1]]) for n, arm in enumerate(settings)}
    noisy = [
        {"arm": "noisy", "name": f"n{level}", "of": "linear small", "level": level} for level in (0.4, 0.2)
    ]
    arms |= {each["name"]: scored(0.5, nodes=12.0) for each in noisy}
    spec = study_of(
        {
            "name": "s",
            "exam": {"set": "x"},
            "arms": [*(({"arm": "search", "name": arm}) for arm in settings), *noisy],
        }
    )
    curves = curve_points(spec, {"arms": settings}, arms)
    assert [[(point["x"], point["arm"]) for point in points] for points in curves["nodes"].values()] == [
        [(12.0, f"{rule} small"), (61.0, f"{rule} many"), (70.5, f"{rule} deep")]
        for rule in ("linear", "logic")
    ]
    ((name, points),) = curves["noise"].items()
    assert "linear small" in name and "normal" in name
    assert [(point["x"], point["accuracy"]) for point in points] == [(0.0, 0.6), (0.2, 0.5), (0.4, 0.5)]


@given(st.dictionaries(st.tuples(*[st.sampled_from("ABC")] * 3), st.floats(0, 1), min_size=1))
def test_the_mean_of_a_role_is_over_the_arms_in_which_a_model_has_it(
    share: dict[tuple[str, ...], float],
) -> None:
    roles = ("grounder", "analyzer", "synthesizer")
    names = {models: " ".join(models) for models in share}
    settings = {
        name: tree_arm(models[0], models=dict(zip(roles[1:], models[1:], strict=True)))
        for models, name in names.items()
    }
    settings["plain"] = tree_arm(analyzer="single")
    arms = {names[models]: scored(p) for models, p in share.items()} | {"plain": scored(0.0)}
    rows = role_rows({"arms": settings}, arms)
    assert {row["role"] for row in rows} == {
        role for place, role in enumerate(roles) if len({models[place] for models in share}) > 1
    }
    for row in rows:
        of_model = [p for models, p in share.items() if models[roles.index(row["role"])] == row["model"]]
        assert row["arms"] == len(of_model) and row["accuracy"] == pytest.approx(np.mean(of_model))


@given(
    first=PROBABILITIES,
    second=PROBABILITIES,
    outcome=st.lists(st.sampled_from([0.0, 1.0]), min_size=12, max_size=12),
)
def test_an_ensemble_begins_with_its_best_member_and_ends_with_all(
    first: Any, second: Any, outcome: list[float]
) -> None:
    o = np.array(outcome)
    seer = tree_arm(options={"grounder": {"clairvoyant": True}})
    settings = {"a": tree_arm(), "b": tree_arm(), "seer": seer, "table": {"kind": "ColumnArm"}}
    pooled = {"a": first, "b": second, "seer": o, "table": o}
    rows = ensemble_rows({"arms": settings}, pooled, o)
    assert [row["members"] for row in rows] == [1, 2] and {row["added"] for row in rows} == {"a", "b"}
    # a pool in log odds holds its members 0.0001 away from certainty
    assert rows[0]["brier_index"] == pytest.approx(
        max(brier_index(first, o), brier_index(second, o)), abs=0.02
    )
    assert rows[1]["metaculus_baseline"] == pytest.approx(
        metaculus_baseline(pool(np.column_stack([first, second]), "logit-mean"), o)
    )
    assert ensemble_rows({"arms": settings}, {"a": first, "table": o}, o) == []


def test_a_study_says_what_size_its_trees_had_and_which_leaves_stayed_as_they_were(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every further analysis of the deep arm repeats its leaf: paid for, and the trees are those of the flat arm."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    tree = {"arm": "zero-shot", "analytica": "L", "critic": False}
    arms = [{**tree, "name": "flat"}, {**tree, "name": "deep", "depth": 2}, {"arm": "noisy", "name": "noisy", "of": "deep", "level": 0.2}, {"arm": "zero-shot"}]  # fmt: skip
    with OpenAIServer(Policy(plan=PLAN, p={"P0": 0.4})) as server:
        plan, state = run_study(store, tmp_path, server, arms)
    results = write_study(store, plan, audit_study(store, plan, state), tmp_path / "out")
    sizes = {arm: (row["nodes"], row["leaves"], row["kept"]) for arm, row in results["arms"].items()}
    assert sizes == {
        "flat": (3.0, 2.0, 0),
        "deep": (3.0, 2.0, 2),
        "noisy": (3.0, 2.0, 2),
        "zero-shot": (1.0, 1.0, 0),
    }
    assert any("deep 2" in line for line in results["summary"])
    assert any("depth" in line for line in results["audit"]["findings"])
    assert {(row["arm"], row["nodes"]) for row in results["costs"]} >= {("flat", 3.0), ("zero-shot", 1.0)}
    table = pd.read_csv(tmp_path / "out" / "table.csv").set_index("arm")
    assert table.loc["deep", ["nodes", "leaves", "kept"]].tolist() == [3.0, 2.0, 2.0]
    pictures = {path.stem for path in (tmp_path / "out").glob("frontier*.png")}
    assert pictures == {"frontier", "frontier-accuracy", "frontier-time"}


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
