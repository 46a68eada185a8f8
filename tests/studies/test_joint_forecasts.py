"""Paper P's task: all outcomes of an event in one call, whatever the question's form; each recorded, the run's price once."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.model_policy import Policy
from tests.fakes.openai_server import OpenAIServer
from workbench.agents.errors import MalformedReply
from workbench.agents.grounders.thought_replies import parse_outcomes, read_outcomes
from workbench.engine.proof_check import verify_run
from workbench.errors import UsageError
from workbench.questions.question import Question, events_of
from workbench.store import ModelLedger, Store
from workbench.studies.runner import StudyRunner
from workbench.studies.study_exam import cells_by_run, joint_questions
from workbench.studies.study_file import StudyCell, study_of
from workbench.studies.study_plan import StudyPlan, plan_study

NAMES = st.lists(
    st.text(min_size=1, max_size=12).map(str.strip).filter(bool),
    min_size=1,
    max_size=6,
    unique_by=lambda name: " ".join(name.split()).casefold(),
)
RACE = Question(
    id="race",
    title='Who wins the "race"?',
    kind="options",
    options=("Ann", "Bo {{x}}", "No one"),
    asked_on="2025-01-01",
    closes_on="2025-02-01",
    crowd={"race#Ann": 0.45, "race#Bo {{x}}": 0.35},
    outcomes={"race#Ann": 1.0, "race#Bo {{x}}": 0.0, "race#No one": 0.0},
)
OIL = Question(
    id="oil",
    title="Where does WTI close?",
    kind="threshold",
    levels=(60.0, 70.0),
    unit="dollars",
    asked_on="2025-01-01",
    closes_on="2025-02-01",
    outcomes={"oil#60": 1.0, "oil#70": 0.0},
)
RAIN = Question(id="rain", title="Does it rain?", asked_on="2025-01-01", outcomes={"rain": 1.0})


def reply(stated: Any) -> str:
    return f"```json\n{json.dumps({'rationale': 'One. Two. Three.', 'probabilities': stated})}\n```"


@given(names=NAMES, data=st.data())
def test_what_was_stated_of_each_outcome_is_read_by_its_name(names: list[str], data: Any) -> None:
    stated = {name: data.draw(st.integers(0, 100)) / 100 for name in names}
    shuffled = dict(data.draw(st.permutations(list(stated.items()))))
    forecast = parse_outcomes(reply(shuffled), names)
    assert list(forecast.probabilities.items()) == [(name, stated[name]) for name in names]


@pytest.mark.parametrize(
    ("stated", "says"),
    [
        ({"Ann": 0.5}, "no probability of 'Bo'"),
        ({"Ann": 0.5, "Bo": 0.5, "Cy": 0.1}, "'Cy' is none of the outcomes"),
        ({"Ann": 0.5, "Bo": 1.5}, "less than or equal to 1"),
        ({"Ann": 0.5, "ANN": 0.5, "Bo": 0.1}, "'Ann' stands twice"),
        ([0.5, 0.5], "probabilities"),
    ],
)
def test_an_invented_or_missing_outcome_is_sent_back(stated: Any, says: str) -> None:
    with pytest.raises(MalformedReply, match=says):
        parse_outcomes(reply(stated), ["Ann", "Bo"])


def test_names_in_other_case_are_read_where_they_leave_no_doubt() -> None:
    assert parse_outcomes(reply({"ann": 0.5, "BO": "25%"}), ["Ann", "Bo"]).probabilities == {"Ann": 0.5, "Bo": 0.25}  # fmt: skip
    assert parse_outcomes(reply({"yes": 0.7, "No": 0.3}), ["Yes"]).probabilities == {"Yes": 0.7}


@pytest.mark.parametrize(
    "options",
    [
        {"outcomes": []},
        {"outcomes": ["a", "A"]},
        {"outcomes": ["a", 1]},
        {"event": "only a title"},
        {"outcomes": ["a"], "leaf": "b"},
        {"outcomes": ["a"], "prices": {"a": 2}},
    ],
)
def test_an_event_that_is_none_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        read_outcomes(options)


def test_every_form_of_question_is_asked_by_its_own_names() -> None:
    days = Question(id="d", title="When?", kind="date", days=("2026-01-01", "2026-02-01"))
    twice = Question(
        id="t", title="Who?", kind="options", options=("a", "b"), horizons=("2026-01-01", "2026-02-01")
    )
    joint = joint_questions([RACE, OIL, RAIN, days, twice])
    assert "rain" not in joint
    assert list(joint["oil#60"].names.values()) == ["above 60 dollars", "above 70 dollars"]
    assert list(joint["d#2026-01-01"].names.values()) == ["by 2026-01-01", "by 2026-02-01"]
    assert joint["t#a@2026-01-01"].id != joint["t#a@2026-02-01"].id
    assert joint["t#a@2026-01-01"].title == "Who? (by 2026-01-01)"
    cells = [
        StudyCell("p", event.id, 0, trial) for q in (RACE, RAIN, twice) for event in events_of(q) for trial in (1, 2)
    ]  # fmt: skip
    runs = cells_by_run(cells, joint)
    assert sorted(cell for run in runs for cell in run) == sorted(cells)
    assert [len(run) for run in runs] == [3, 3, 1, 1, 2, 2, 2, 2]


def plan_of(store: Store, folder: Path, server: OpenAIServer) -> StudyPlan:
    questions = {"format": "analyst-workbench/questions/1"}
    (folder / "q.json").write_text(
        json.dumps({**questions, "questions": [q.to_json() for q in (RACE, OIL, RAIN)]})
    )
    model = {"model": "openai/x", "api_base": server.url, "prices": {"openai/x": [1.0, 2.0]}}
    arms = [{"arm": "prophet", "crowd": True, **model}]
    document = {"name": "s", "exam": {"questions": "q.json"}, "cutoffs": "per-question", "arms": arms}
    return plan_study(store, study_of(document, folder))


def test_a_study_asks_once_per_question_and_records_every_outcome(tmp_path: Path, store: Store) -> None:
    # the first reply leaves an outcome out: it is asked again, and nothing is made up
    with OpenAIServer(Policy(p={"P0": 0.8}, malformed={"outcomes"})) as server:
        plan = plan_of(store, tmp_path, server)
        assert "prophet: 3 runs, about 3 calls" in plan.cost_lines()[0]
        state = asyncio.run(StudyRunner(store, plan, environ={"OPENAI_API_KEY": "sk-none"}).work())
        again = asyncio.run(StudyRunner(store, plan, environ={"OPENAI_API_KEY": "sk-none"}).work())
    assert not state.missing and again.forecasts == state.forecasts
    assert len(server.asked) == 6 and {one.stage for one in server.asked} == {"outcomes"}
    made = {cell.event: each for cell, each in state.forecasts.items()}
    assert {event: each.p for event, each in made.items()} == {
        "race#Ann": 0.8, "race#Bo {{x}}": 0.4, "race#No one": 0.2, "oil#60": 0.8, "oil#70": 0.4, "rain": 0.8,
    }  # fmt: skip
    assert len({each.run for each in made.values()}) == 3
    usd = sum(ModelLedger(store).spent(run)[0] for run in {each.run for each in made.values()})
    assert sum(each.cost_usd or 0 for each in made.values()) == pytest.approx(usd) and usd > 0
    assert sum(each.calls for each in made.values()) == 6 and made["race#No one"].calls == 0
    checked = asyncio.run(verify_run(store, made["race#Ann"].run))
    assert not checked.differing and checked.proofs, checked
    race = next(one.last for one in server.asked if "race" in one.last)
    assert "- Ann: 0.45\n- Bo {{x}}: 0.35\n\n" in race + "\n\n" and "- No one:" not in race
    assert '"Bo {{x}}": q' in race and "P0: Who wins" in race


@pytest.mark.long
def test_arms_of_a_study_take_numbers_and_dates_that_name_no_levels(tmp_path: Path, store: Store) -> None:
    when = {"asked_on": "2025-01-01", "closes_on": "2025-12-31"}
    asked = [
        Question(id="oil", title="Oil?", kind="numeric", low=30, high=150, values={"oil": 84.0}, **when),
        Question(id="day", title="Day?", kind="date", earliest="2025-01-10", latest="2025-05-20", values={"day": 739310.0}, **when),
    ]  # fmt: skip
    document = {"format": "analyst-workbench/questions/1", "questions": [each.to_json() for each in asked]}
    (tmp_path / "q.json").write_text(json.dumps(document))
    with OpenAIServer(Policy(p={"P0": 0.8})) as server:
        model = {"model": "openai/x", "api_base": server.url, "prices": {"openai/x": [1.0, 2.0]}}
        arms = [{"arm": kind, **model} for kind in ("zero-shot", "belief")]
        spec = {"name": "s", "exam": {"questions": "q.json"}, "cutoffs": "per-question", "arms": arms}
        plan = plan_study(store, study_of(spec, tmp_path))
        state = asyncio.run(StudyRunner(store, plan, environ={"OPENAI_API_KEY": "sk-none"}).work())
    assert not state.missing and len(state.forecasts) == 2 * 18
    stated = {cell.event: each.p for cell, each in state.forecasts.items() if cell.arm == "zero-shot"}
    whole = [stated[event] for event in plan.exam.events.event_id.tolist()]
    assert [one.stage for one in server.asked].count("percentiles") == 2
    assert whole[:9] == sorted(whole[:9], reverse=True) and whole[9:] == sorted(whole[9:])
    # 84 lies above four of nine levels; the day is 2025-03-02, the 51st of 130
    outcomes = dict(zip(plan.exam.events.event_id.tolist(), plan.exam.events.outcome.tolist(), strict=True))
    assert sum(y for event, y in outcomes.items() if event.startswith("oil")) == 4
    assert sum(y for event, y in outcomes.items() if event.startswith("day")) == 6
    run = next(each.run for cell, each in state.forecasts.items() if cell.event.startswith("day#") and cell.arm == "zero-shot")  # fmt: skip
    checked = asyncio.run(verify_run(store, run))
    assert not checked.differing and checked.proofs, checked
