"""What is done with forecasts of a set: bets that keep their rules, submissions that are whole or refused."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import run_cli
from tests.questions.test_question_files import FORECASTBENCH, TASKS
from workbench.questions.formats.format_registry import FORMATS
from workbench.questions.question import Question, QuestionError, Quote
from workbench.questions.sets.bets import BetRules, bets_document
from workbench.questions.sets.question_sets import set_of
from workbench.questions.sets.submission_files import check_submission, submission

CHOICE = Question(
    id="who",
    title="Who?",
    kind="options",
    options=("Ann", "Bo"),
    closes_on="2026-02-01",
    quotes={"who#Ann": Quote(yes_ask=0.5), "who#Bo": Quote(yes_ask=0.52)},
)
MARKET = Question(
    id="rain", title="Rain?", closes_on="2026-03-01", quotes={"rain": Quote(yes_ask=0.4, no_ask=0.62)}
)


def bets(p: dict[str, float], **rules: Any) -> dict[str, Any]:
    questions = [
        CHOICE,
        MARKET,
        Question(id="bare", title="?"),
        Question(id="old", title="?", outcomes={"old": 1.0}),
    ]
    return bets_document(set_of(questions), p, BetRules(today="2026-01-20", **rules))


def test_bets_are_sized_capped_and_explained() -> None:
    document = bets({"who#Ann": 0.8, "who#Bo": 0.2, "rain": 0.41, "bare": 0.5, "old": 0.5}, fee=0.02, cap=0.2)
    (bet,) = document["bets"]
    assert (bet["event"], bet["side"]) == ("who#Ann", "yes") and bet["price"] == pytest.approx(0.52)
    assert bet["stake"] == pytest.approx(0.2) and document["worst"] == pytest.approx(-200)
    assert {row["question"]: row["reason"] for row in document["passed"]} == {
        "rain": "no edge after spread and costs",
        "bare": "not every event has an ask",
        "old": "resolved",
    }


def test_a_forecast_set_has_every_date_and_is_refused_when_it_lacks_one() -> None:
    questions = set_of(FORMATS["forecastbench"](json.dumps(FORECASTBENCH)).questions)
    p = {"metaculus/abc": 0.3, "fred/DGS10@2025-11-02": 0.6, "fred/DGS10@2025-11-25": 0.55}
    text, left_out = submission(questions, p, "forecastbench", organization="We", model="ours")
    document = json.loads(text)
    assert document["forecast_due_date"] == "2025-10-26" and left_out == []
    assert [(row["id"], row["resolution_date"], row["forecast"]) for row in document["forecasts"]] == [
        ("abc", None, 0.3),
        ("DGS10", "2025-11-02", 0.6),
        ("DGS10", "2025-11-25", 0.55),
    ]
    del p["fred/DGS10@2025-11-25"]
    with pytest.raises(QuestionError, match="1 questions have no forecast"):
        submission(questions, p, "forecastbench", organization="We", model="ours")
    part, left_out = submission(questions, p, "forecastbench", organization="We", model="ours", partial=True)
    assert len(json.loads(part)["forecasts"]) == 1 and len(left_out) == 1
    with pytest.raises(QuestionError, match="organization and model"):
        submission(questions, p, "forecastbench", partial=True)
    with pytest.raises(QuestionError, match="no probability"):
        submission(questions, {**p, "metaculus/abc": 1.2}, "forecastbench", partial=True)


def test_prophet_answers_have_the_exact_outcomes() -> None:
    questions = set_of(FORMATS["prophet"]("\n".join(json.dumps(task) for task in TASKS[:1])).questions)
    text, _ = submission(questions, {"T1#Ann": 0.25, "T1#Bo": 0.75}, "prophet", rationales={"T1": "Because."})
    assert json.loads(text) == {
        "task_id": "T1",
        "rationale": "Because.",
        "probabilities": [{"market": "Ann", "probability": 0.25}, {"market": "Bo", "probability": 0.75}],
    }


def test_events_of_prophets_client_become_the_submission_that_it_takes() -> None:
    event = {
        "event_ticker": "KX", "market_ticker": "KX-1", "title": "Will it rain?", "subtitle": None, "description": "By the gauge.", "category": "Climate",
        "rules": "By the gauge.", "close_time": "2026-12-20T20:00:00Z", "outcomes": ["Yes", "No"], "resolved_outcome": None,
    }  # fmt: skip
    other = {**event, "market_ticker": "KX-2", "outcomes": None, "description": "Rain in May."}
    reading = FORMATS["prophet"](json.dumps([event, other]))
    questions = set_of(reading.questions)
    assert not reading.left_out and [(each.kind, each.criteria, each.background) for each in reading.questions] == [
        ("binary", "By the gauge.", ""), ("binary", "By the gauge.", "Rain in May.")
    ]  # fmt: skip
    text, _ = submission(questions, {"KX-1": 0.3, "KX-2": 0.0}, "prophet", rationales={"KX-1": "Dry."})
    document = json.loads(text)
    assert document["predictions"] == [
        {"market_ticker": "KX-1", "p_yes": 0.3, "rationale": "Dry."},
        {"market_ticker": "KX-2", "p_yes": 0.01, "rationale": None},
    ]
    assert datetime.fromisoformat(document["timestamp"]).tzinfo is not None
    assert check_submission(text, "prophet", questions) == []
    bad = check_submission(text.replace("0.3", "0.999").replace("KX-2", "KX-1"), "prophet", questions)
    assert any("p_yes of prediction 1 must be less than or equal to 0.99" in each for each in bad)
    assert any(
        "not in the set" in each
        for each in check_submission(text.replace("KX-2", "KX-9"), "prophet", questions)
    )
    resolved = {**event, "resolved_outcome": {"value": ["Yes"], "resolved_at": "2026-12-21T00:00:00Z"}}
    assert FORMATS["prophet"](json.dumps([resolved])).questions[0].outcomes == {"KX-1": 1.0}


def test_a_submission_is_checked_field_by_field_whoever_wrote_it() -> None:
    questions = set_of(FORMATS["forecastbench"](json.dumps(FORECASTBENCH)).questions)
    p = {"metaculus/abc": 0.3, "fred/DGS10@2025-11-02": 0.6, "fred/DGS10@2025-11-25": 0.55}
    text, _ = submission(questions, p, "forecastbench", organization="We", model="ours")
    assert check_submission(text, "forecastbench", questions) == []
    document = json.loads(text)
    document["question_set"] = "other.json"
    document["team"] = "us"
    market, first, _ = document["forecasts"]
    market["resolution_date"] = "2025-11-02"
    bad = {**first, "forecast": "0.6"}
    document["forecasts"] = [market, bad, first, first, {**first, "id": "UNKNOWN"}, {"id": "x"}]
    problems = check_submission(json.dumps(document), "forecastbench", questions)
    for said in (
        "the submission has unknown keys: team",
        "question_set must be '2025-10-26-llm.json'",
        "abc: a market question has no resolution date",
        "forecast of forecast 2 must be a valid number, not '0.6'",
        "DGS10 at 2025-11-02 is there twice",
        "fred/UNKNOWN at 2025-11-02 is not in the question set",
        "forecast 6 lacks source",
        "0 of 1 market forecasts are there, at least 95% are wanted",
        "1 of 2 dataset forecasts are there",
    ):
        assert any(said in problem for problem in problems), (said, problems)
    with pytest.raises(QuestionError, match="no JSON"):
        check_submission("[", "forecastbench", questions)


def test_answers_and_comments_are_checked_too() -> None:
    tasks = set_of(FORMATS["prophet"]("\n".join(json.dumps(task) for task in TASKS[:1])).questions)
    p = {"T1#Ann": 0.25, "T1#Bo": 0.75}
    text, _ = submission(tasks, p, "prophet")
    assert check_submission(text, "prophet", tasks) == []
    bad = text.replace("0.25", "1.25") + text.replace('"Bo"', '"bo"')
    problems = check_submission(bad + text, "prophet", tasks)
    assert any("exactly Ann, Bo" in each for each in problems) and any(
        "not 1.25" in each for each in problems
    )
    assert any("is there twice" in each for each in problems)
    hostile = "# Title\n---\n![x](http://x) [y](javascript:1)"
    comment, _ = submission(tasks, p, "metaculus", rationales={"T1": hostile})
    assert check_submission(comment, "metaculus", tasks) == [] and "\\!\\[x\\](" in comment
    assert check_submission("## A\n\nno number", "metaculus", tasks) == ["comment 1 states no forecast"]


def test_a_resolved_question_is_named_as_such() -> None:
    both = set_of([
        Question(id="q1", title="Rain?", outcomes={"q1": 1.0}),
        Question(id="q2", title="Snow?"),
    ])  # fmt: skip
    with pytest.raises(QuestionError, match="q1: resolved already, so it is forecast no more"):
        submission(both, {"q2": 0.2}, "metaculus")
    text, left_out = submission(both, {"q2": 0.2}, "metaculus", partial=True)
    assert "Snow?" in text and len(left_out) == 1


def test_a_title_is_no_markdown_of_its_own() -> None:
    hostile = set_of([Question(id="q", title="Rain? ![x](http://x) <b>")])
    text, _ = submission(hostile, {"q": 0.5}, "metaculus")
    assert "![x]" not in text and "<b>" not in text.replace("\\<b\\>", "") and "Yes: 50.0%" in text


def test_the_commands(tmp_path: Path) -> None:
    (tmp_path / "round.json").write_text(json.dumps(FORECASTBENCH))
    (tmp_path / "f.csv").write_text(
        "method,event_id,trial,p\nm,metaculus/abc,1,0.2\nm,metaculus/abc,2,0.4\nm,fred/DGS10@2025-11-02,1,0.6\nm,fred/DGS10@2025-11-25,1,0.5\n"
    )
    assert run_cli(tmp_path, "questions", "import", "round.json").returncode == 0
    words = ("submit", "forecastbench", "round", "--forecasts", "f.csv", "-o", "out.json")
    done = run_cli(tmp_path, *words, "--set", "organization=We", "--set", "model=ours", "--set", "model_organization=Them", "--set", "pool=mean")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "out.json").read_text())["model_organization"] == "Them"
    assert json.loads((tmp_path / "out.json").read_text())["forecasts"][0]["forecast"] == pytest.approx(0.3)
    checked = run_cli(tmp_path, "submit", "forecastbench", "round", "-o", "out.json", "--check")
    assert checked.returncode == 0, checked.stderr
    (tmp_path / "out.json").write_text((tmp_path / "out.json").read_text().replace('"ours"', '""'))
    wanting = run_cli(tmp_path, "submit", "forecastbench", "round", "-o", "out.json", "--check")
    assert (
        wanting.returncode == 6 and "model of the submission must have at least 1 character" in wanting.stdout
    )
    none = run_cli(tmp_path, "questions", "bet", "round", "--forecasts", "f.csv", "--json")
    assert none.returncode == 0 and json.loads(none.stdout)["bets"] == []
    assert run_cli(tmp_path, *words[:2], "nothing", *words[3:]).returncode == 2
