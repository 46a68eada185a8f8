"""The studies that come with the workbench: each can be read, those without a model can be run as they are."""

import json
from pathlib import Path

import pandas as pd
import pytest
import yaml

from tests.command_line import run_cli
from tests.fakes.loop_run import ExaOnLoopback
from tests.fakes.model_policy import Policy
from tests.fakes.openai_server import OpenAIServer
from tests.studies.finished import finish
from tests.studies.test_every_arm import ENGINES, PLAN
from workbench.errors import UsageError
from workbench.questions.formats.price_questions import read_price_history
from workbench.questions.sets.question_sets import add_questions
from workbench.store import Store
from workbench.studies.ready_studies import needs_of, ready_studies, write_ready
from workbench.studies.study_file import StudyError, StudySpec, read_study, study_of
from workbench.studies.study_plan import plan_study


@pytest.mark.parametrize("name", list(ready_studies()))
def test_each_is_a_study_and_lacks_only_what_it_says(name: str, tmp_path: Path, store: Store) -> None:
    write_ready(name, tmp_path / "s.yaml")
    spec = read_study(tmp_path / "s.yaml")
    if not needs_of(name):
        assert len(plan_study(store, spec).exam) > 10 or name == "offline"
        return
    with pytest.raises(StudyError) as refusal:
        plan_study(store, spec)
    allowed = (
        "no set of questions 'SET'",
        "price of MODEL",
        "EVENTS.csv: cannot be read",
        "there is no file",
        "contexts: ",
    )
    assert all(any(word in line for word in allowed) for line in refusal.value.problems), (
        refusal.value.problems
    )


def environ_of(web: ExaOnLoopback) -> dict[str, str]:
    """Keys, and the web in place of every search engine."""
    engines = {f"WORKBENCH_UPSTREAM_{engine}": web.url for engine in ENGINES}
    return {"OPENAI_API_KEY": "sk-none", "EXA_API_KEY": "k", **engines}


def fill_in(name: str, folder: Path, server: OpenAIServer) -> StudySpec:
    """A ready study with its holes filled: a scripted model, two questions, and what a simulated study wrote."""
    write_ready(name, folder / "s.yaml")
    document = yaml.safe_load((folder / "s.yaml").read_text())
    models = {hole: f"openai/{hole.lower()}" for hole in ("MODEL", "MODEL_A", "MODEL_B", "MODEL_C")}
    for arm in document["arms"]:
        if isinstance(arm, dict) and arm.get("model") in models:
            arm["model"] = models[arm["model"]]
            arm["models"] = {role: models[model] for role, model in arm.get("models", {}).items()}
            arm |= {"api_base": server.url, "prices": {each: [1.0, 2.0] for each in models.values()}}
            if "analytica" in arm or "analyzer" in arm:
                arm["critic"] = False
    if "SET" in needs_of(name) or name in ("crowd", "build-up"):
        events = [
            "event_id,question_key,source,question_type,outcome,crowd,prior_temporal,forecast_due_date,question"
        ]
        count = 12 if name == "build-up" else 2  # fewer than ten are not calibrated
        events += [f"a{n},a{n},fred,market,{n % 2},0.4,0.3,2025-01-01,Will {n} happen?" for n in range(count)]
        (folder / "EVENTS.csv").write_text("\n".join(events) + "\n")
        document["exam"] = {"events": "EVENTS.csv"}
    if "contexts" in document:
        (folder / "CONTEXTS.json").write_text(json.dumps({"contexts": {"a0": "One.", "a1": "Two."}}))
    return study_of(document, folder)


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", [name for name in ready_studies() if "METHOD" not in needs_of(name)])
def test_each_runs_to_its_report(name: str, tmp_path: Path, store: Store) -> None:
    """On simulators, embedded series and the offline analyst as it is; on a scripted server where it needs a model."""
    with OpenAIServer(Policy(plan=PLAN)) as server, ExaOnLoopback() as web:
        plan, state, results = finish(store, fill_in(name, tmp_path, server), tmp_path, environ_of(web))
        assert not state.missing and not server.unread
        assert bool(server.asked) == ("MODEL" in str(needs_of(name)))
    assert set(results["arms"]) == set(plan.arms) and (tmp_path / "out" / "report.html").is_file()
    assert bool(results["rebalanced"]) == (name == "rebalancing")
    if name == "correctness":
        assert {row["column"] for row in results["correctness"]} == {"volatility", "horizon_days"}
    if name in ("steps", "crowd", "build-up"):
        assert results["steps"]
    assert len(results["build_up"]) == (3 if name == "build-up" else 0)


@pytest.mark.soak
def test_the_calibration_study_runs_on_what_another_study_wrote(tmp_path: Path) -> None:
    write_ready("trials", tmp_path / "trials.yaml")
    assert run_cli(tmp_path, "experiment", "run", "trials.yaml").returncode == 0
    written = tmp_path / "home" / "studies" / "trials"
    events = pd.read_csv(written / "events.csv", dtype=str).assign(prior_temporal="0.5")
    events.to_csv(tmp_path / "EVENTS.csv", index=False)
    (tmp_path / "TRIALS.csv").write_text((written / "forecasts.csv").read_text())
    write_ready("calibration", tmp_path / "s.yaml")
    (tmp_path / "s.yaml").write_text((tmp_path / "s.yaml").read_text().replace("METHOD", "biased"))
    done = run_cli(tmp_path, "experiment", "run", "s.yaml", "--json")
    assert done.returncode == 0, done.stderr
    arms = json.loads(done.stdout)["arms"]
    # calibration takes a constant bias off, the logit mean of biased trials keeps it
    assert arms["calibrated"]["brier"] < arms["logit mean"]["brier"]


def test_the_models_study_has_all_27_combinations(tmp_path: Path) -> None:
    write_ready("models", tmp_path / "m.yaml")
    assert (
        len({tuple(sorted(arm.settings["models"].items())) for arm in read_study(tmp_path / "m.yaml").arms})
        == 27
    )


def test_the_command_lists_and_writes_them(tmp_path: Path) -> None:
    assert "paper A, Table 13" in run_cli(tmp_path, "experiment", "ready").stdout
    done = run_cli(tmp_path, "experiment", "ready", "offline", "-o", "mine.yaml")
    assert done.returncode == 0 and (tmp_path / "offline.csv").is_file()
    planned = run_cli(tmp_path, "experiment", "run", "mine.yaml", "--plan-only")
    assert planned.returncode == 0 and "84 forecasts of 12 events by 7 arms" in planned.stdout
    with pytest.raises(UsageError, match="no ready study 'luck'"):
        write_ready("luck", tmp_path / "x.yaml")


#: Trials by ready study of paper A's tables. Notebooks, each with a kernel, and deep research below a tree are left to the soak.
OF_PAPER_A = {"rules": 2}


@pytest.mark.long
@pytest.mark.parametrize("name", list(OF_PAPER_A))
def test_tables_2_3_and_6_of_paper_a_come_out_on_a_long_short_set(
    name: str, tmp_path: Path, store: Store
) -> None:
    """Accuracy, hard, soft, variance, Brier score, cost and the frontier, by values worked out by hand."""
    rows = [
        {"symbol": symbol, "date": day, "close": close}
        for symbol, last in (("AAA", "110"), ("BBB", "80"))
        for day, close in (("2024-01-01", "100"), ("2025-01-01", last))
    ]
    add_questions(store, "SET", read_price_history(rows, "2024-01-02"), form="prices", origin="by hand")
    with OpenAIServer(Policy(plan=PLAN)) as server, ExaOnLoopback() as web:
        filled = fill_in(name, tmp_path, server)
        arms = tuple(arm for arm in filled.arms if arm.kind != "notebook" and arm.name != "deep_research L")
        spec = filled.with_changes(arms=arms, exam=({"set": "SET"},), trials=OF_PAPER_A[name])
        plan, state, results = finish(store, spec, tmp_path, environ_of(web))
        assert not state.missing and not server.unread
    assert results["tasks"] == 2 and (tmp_path / "out" / "frontier.png").is_file()
    worth = [task.payoffs for task in plan.exam.tasks]
    spans = [max(each) - min(each) for each in worth]
    for arm, row in results["arms"].items():
        if arm == "random":
            continue
        # Each run says the same of both: long at p, so the one is right and the other wrong.
        long = [
            made.p for cell, made in state.forecasts.items() if (cell.arm, cell.event[-5:]) == (arm, "#long")
        ]
        (p,) = {round(p, 12) for p in long}
        right, wrong = spans if p > 0.5 else spans[::-1]
        assert p != 0.5 and row["tasks"]["accuracy"] == 0.5, arm
        assert row["hard"] == pytest.approx(right / (right + wrong)) != row["tasks"]["accuracy"]
        assert row["soft"] == pytest.approx((p * spans[0] + (1 - p) * spans[1]) / sum(spans))
        assert row["tasks"]["brier"] == pytest.approx(((1 - p) ** 2 + p**2) / 2)
        assert row["tasks"]["confidence"] == pytest.approx(max(p, 1 - p))
        assert row["run_variance"] == (pytest.approx(0) if OF_PAPER_A[name] > 1 else None)
    priced = {row["arm"]: row for row in results["costs"]}
    assert set(priced) == set(results["arms"]) - {"random"}
    assert all(row["questions"] == 2 and row["per_1000"] > 0 for row in priced.values())
    trees = [row for row in priced.values() if row["gain"] is not None]
    assert len(trees) == 3
    page = (tmp_path / "out" / "report.html").read_text()
    assert "By task" in page and "dollars per 1,000" in page
