"""Every arm that runs the engine, on a scripted server: its calls are those of its definition, and all read the same context."""

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.loop_run import ExaOnLoopback
from tests.fakes.model_policy import Policy
from tests.fakes.openai_server import OpenAIServer
from workbench.engine.proof_check import verify_run
from workbench.store import ApiLedger, ModelLedger, Store
from workbench.studies.arms.run_arms import RUN_KINDS
from workbench.studies.leak_audit import audit_study
from workbench.studies.runner import StudyRunner
from workbench.studies.study_file import study_of
from workbench.studies.study_plan import plan_study

pytestmark = pytest.mark.long

PLAN = {"P0": {"P1": ("The first part holds", "Positive"), "P2": ("The second part holds", "Positive")}}
ENGINES = ("EXA", "BRAVE", "WIKIPEDIA", "GDELT", "SEC", "WAYBACK", "SERPER", "TAVILY", "SEARXNG")
CLAIM = "The S&P 500 closes higher on 2018-12-31 than on 2018-06-29"
CONTEXT = "1. Minutes – 3 May (2018-05-03): “no hurry”, 2 of 9 dissent."

#: Model calls of one forecast of each kind, by what the server was asked. A search has one more for the filter of layer 2, which
#: reads what it found; a clairvoyant one has no cutoff to filter by.
CALLS: dict[str, dict[str, int]] = {
    "zero-shot": {"conclude": 1},
    "halawi": {"conclude": 1},
    "prophet": {"outcomes": 1},
    "recall": {"conclude": 1},
    "prompt-ensemble": {"conclude": 4},
    "both-directions": {"conclude": 2},
    "self-consistency": {"vote": 10},
    "weighted-self-consistency": {"vote": 10},
    "llm-aggregation": {"conclude": 6},
    "scaffold": {"conclude": 1},
    "tot": {"thoughts": 3, "value": 9, "conclude": 1},
    "got": {"thoughts": 5, "value": 3, "conclude": 1},
    "fot": {"thoughts": 6, "value": 18, "conclude": 2},  # the first two trees agree
    "search": {"act": 2, "leak-filter": 1},
    "deep_research": {"plan": 2, "act": 2, "leak-filter": 1, "conclude": 1},
    "belief": {"act": 2, "leak-filter": 1},
    "belief-nobel": {"act": 2, "leak-filter": 1},
    "belief-batch": {"act": 2, "leak-filter": 1},
    "belief-no-search": {"act": 1},
    "belief-no-tools": {"act": 1},
    "belief-clairvoyant": {"act": 2},
    "statistical": {},
    "notebook": {"step": 3, "conclude": 1},
}


def test_no_arm_is_forgotten_here() -> None:
    assert set(CALLS) == set(RUN_KINDS)


def exam_file(folder: Path) -> None:
    head = "event_id,question_key,source,question_type,outcome,crowd,prior_temporal,forecast_due_date,resolution_date,question\n"
    (folder / "e.csv").write_text(head + f"a,a,embedded,market,0,0.43,0.58,2018-06-30,2018-12-31,{CLAIM}\n")
    (folder / "c.json").write_text(json.dumps({"contexts": {"a": CONTEXT}}))


def run_study(store: Store, folder: Path, server: OpenAIServer, arms: list[Any]) -> tuple[Any, Any]:
    exam_file(folder)
    model = {"model": "openai/x", "api_base": server.url, "prices": {"openai/x": [1.0, 2.0]}}
    document = {"name": "s", "exam": {"events": "e.csv"}, "contexts": "c.json", "concurrency": 1}
    plan = plan_study(
        store,
        study_of(
            {**document, "arms": [each if "of" in each else {**model, **each} for each in arms]}, folder
        ),
    )
    with ExaOnLoopback() as web:
        environ = {"OPENAI_API_KEY": "sk-none", "EXA_API_KEY": "k"}
        environ |= {f"WORKBENCH_UPSTREAM_{name}": web.url for name in ENGINES}
        state = asyncio.run(StudyRunner(store, plan, environ=environ).work())
    return plan, state


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.soak] * (kind == "notebook")) for kind in CALLS]
)
def test_an_arm_asks_what_its_definition_says(kind: str, store: Store, tmp_path: Path) -> None:
    with OpenAIServer(Policy(plan=PLAN)) as server:
        plan, state = run_study(store, tmp_path, server, [{"arm": kind}])
    assert not state.missing, (list(state.missing.values()), server.unread)
    (made,) = state.forecasts.values()
    assert Counter(asked.stage for asked in server.asked) == CALLS[kind] and not server.unread
    usd, tokens, count = ModelLedger(store).spent(made.run)
    assert made.calls == count == len(server.asked) and made.tokens == tokens
    assert made.cost_usd == pytest.approx(usd) and (usd > 0) == bool(count)
    assert (
        not server.asked or CONTEXT in server.asked[0].everything
    )  # byte for byte, whatever the arm does with it
    findings = audit_study(store, plan, state).audited
    assert findings is not None
    assert any("clairvoyant" in line for line in findings.findings) == (kind == "belief-clairvoyant")
    # The runs of a clairvoyant arm are live, and hold what they claim as any others.
    assert not any(line.startswith("bad") for line in findings.findings), findings.findings
    unread = not any(answer for *_, answer, _ in ApiLedger(store).answers(made.run))
    assert any("data read" in line for line in findings.findings) == unread


@pytest.mark.parametrize(
    ("kind", "queries"), [("got", 3), *(pytest.param(kind, n, marks=pytest.mark.soak) for kind, n in (("tot", 3), ("fot", 6)))]
)  # fmt: skip
def test_thoughts_that_search_do_so_before_each_proposal(
    kind: str, queries: int, store: Store, tmp_path: Path
) -> None:
    """Paper A, section 5.2: the same search as every other arm, under the same cutoff and the same filter."""
    with OpenAIServer(Policy(plan=PLAN)) as server:
        plan, state = run_study(store, tmp_path, server, [{"arm": kind, "options": {"search": True}}])
    assert not state.missing, (list(state.missing.values()), server.unread)
    stages = Counter(each.stage for each in server.asked)
    filtered = stages.pop("leak-filter")
    assert stages == Counter(CALLS[kind]) + Counter({"query": queries}) and 1 <= filtered <= queries
    assert sum(stages.values()) + filtered <= plan.arms[kind].price().calls
    proposals = [each.last for each in server.by_stage("thoughts") if "Propose" in each.last]
    assert all("A search of the web as of the cutoff" in text for text in proposals)
    assert not any("A search of the web" in each.last for each in server.by_stage("conclude"))
    (made,) = state.forecasts.values()
    checked = asyncio.run(verify_run(store, made.run))
    assert not checked.differing and checked.proofs, checked


@pytest.mark.parametrize(("kind", "letter"), [("got", "L"), ("belief", "L")])
def test_an_arm_below_a_tree_asks_for_every_leaf(
    kind: str, letter: str, store: Store, tmp_path: Path
) -> None:
    arm = {"arm": kind, "analytica": letter, "critic": False}
    with OpenAIServer(Policy(plan=PLAN)) as server:
        _, state = run_study(store, tmp_path, server, [arm])
    assert not state.missing
    asked = Counter(each.stage for each in server.asked)
    rule = {"V": "vanilla", "S": "logic", "L": "linear"}[letter]
    assert asked == Counter({"analyze": 2, rule: 1}) + Counter({k: 2 * n for k, n in CALLS[kind].items()})


def test_the_crowd_and_a_prior_are_shown_where_the_arm_says_so(store: Store, tmp_path: Path) -> None:
    """Paper B, C.7: crowd x prior, one belief agent each."""
    arms = [
        {"arm": "belief-no-tools", "name": f"{crowd} {prior}", "crowd": crowd, **({"prior": "prior_temporal"} if prior else {})}
        for crowd in (False, True)
        for prior in (False, True)
    ]  # fmt: skip
    with OpenAIServer(Policy(plan=PLAN)) as server:
        run_study(store, tmp_path, server, arms)
    shown = [("0.43" in asked.everything, "0.58" in asked.everything) for asked in server.asked]
    assert shown == [(False, False), (False, True), (True, False), (True, True)]
