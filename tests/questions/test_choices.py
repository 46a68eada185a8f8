"""Decisions by what choices pay: states of every form of question, nested markets together, and nothing from afterwards."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.command_line import run_cli
from workbench.questions.formats.format_registry import write_json
from workbench.questions.question import Question, QuestionError, Quote
from workbench.questions.sets.bets import BetRules, bets_document
from workbench.questions.sets.choice_rules import ChoiceRules
from workbench.questions.sets.choices import KEEP, choice_document, states_of
from workbench.questions.sets.question_sets import QuestionSet

P = st.floats(0, 1)
PLAIN = ChoiceRules(payoffs={})


def threshold(side: Any = "above", **more: Any) -> Question:
    return Question(id="q", title="Rate?", kind="threshold", levels=(4.0, 3.0), side=side, **more)


@given(P, P)
def test_states_of_levels_give_the_forecasts_back_where_they_agree(a: float, b: float) -> None:
    for side, low, high in (("above", max(a, b), min(a, b)), ("at most", min(a, b), max(a, b))):
        states = states_of(threshold(side), {"q#3": low, "q#4": high})
        assert states.p.sum() == pytest.approx(1) and states.mended < 1e-9
        # rows in the order of the question's levels, 4 first
        assert (states.wins @ states.p).tolist() == pytest.approx([high, low], abs=1e-9)


@given(P, P, P)
def test_days_only_add_chances(a: float, b: float, c: float) -> None:
    days = ("2026-03-01", "2026-01-01", "2026-02-01")
    question = Question(id="q", title="When?", kind="date", days=days)
    states = states_of(question, dict(zip(("q#" + day for day in days), (a, b, c), strict=True)))
    march, january, february = (states.wins @ states.p).tolist()
    assert january <= february + 1e-9 <= march + 2e-9
    assert states.names[0] == "by 2026-01-01" and states.names[-1] == "not by 2026-03-01"


def test_options_are_divided_by_their_sum_and_must_exclude_each_other() -> None:
    question = Question(id="q", title="Who?", kind="options", options=("Ann", "Bo"))
    states = states_of(question, {"q#Ann": 0.6, "q#Bo": 0.6})
    assert states.p.tolist() == [0.5, 0.5] and states.mended == pytest.approx(0.1)
    free = Question(id="q", title="Who?", kind="options", options=("Ann", "Bo"), exclusive=False)
    with pytest.raises(QuestionError, match="exclude each other"):
        states_of(free, {"q#Ann": 0.6, "q#Bo": 0.6})
    with pytest.raises(QuestionError, match="no forecast of Bo"):
        states_of(question, {"q#Ann": 0.6})


def test_the_choice_is_the_best_paying_one_not_the_likeliest() -> None:
    """0.7 x 1.2 = 0.84 and 0.3 x 4 = 1.2: the less likely option is worth more than the dollar."""
    question = Question(id="q", title="Who?", kind="options", options=("Ann", "Bo"))
    p = {"q#Ann": 0.7, "q#Bo": 0.3}
    found = choice_document(question, p, ChoiceRules(payoffs={"Ann": 1.2, "Bo": 4.0}))
    assert found["decision"] == "Bo" and found["likeliest"] == "Ann"
    assert [row["expected"] for row in found["choices"]] == pytest.approx([0.84, 1.2])
    # Kelly on Bo alone: (0.3 x 4 - 1) / (4 - 1)
    assert found["choices"][1]["stake"] == pytest.approx(0.2 / 3, abs=1e-3)
    even = choice_document(question, p, ChoiceRules(payoffs={"Ann": 1.2, "Bo": 1 / 0.3}))
    assert even["decision"] == KEEP  # an expected dollar for a dollar is no reason to bet
    assert choice_document(question, p, PLAIN)["decision"] == "Ann"  # nothing is known of payoffs


def test_payoffs_from_afterwards_do_not_decide() -> None:
    options = {"id": "q", "title": "Who?", "kind": "options", "options": ("Ann", "Bo")}
    p = {"q#Ann": 0.7, "q#Bo": 0.3}
    before = choice_document(Question(**options), p, PLAIN)  # type: ignore[arg-type]
    for payoffs in ({"Ann": 0.5, "Bo": 1.5}, {"Ann": 1.5, "Bo": 0.5}):
        known = Question(**options, payoffs=payoffs, outcomes={"q#Ann": 0.0, "q#Bo": 1.0})  # type: ignore[arg-type]
        after = choice_document(known, p, PLAIN)
        assert {**after, "worth": None} == before
        assert after["worth"]["payoff"] == payoffs["Ann"]
        # paper A, section 5.1: soft is 0.7 on Ann's end of the range, hard all of it
        assert after["worth"]["soft"] == pytest.approx(0.7 if payoffs["Ann"] == 1.5 else 0.3)
        assert after["worth"]["hard"] == (payoffs["Ann"] == 1.5)


def test_nested_markets_hedge_each_other() -> None:
    """Above 3 and not above 4, at 0.5 each, both believed 0.6: market by market 0.2 each, together half each."""
    quotes = {"q#3": Quote(yes_ask=0.5, no_ask=0.55), "q#4": Quote(yes_ask=0.55, no_ask=0.5)}
    question = threshold(quotes=quotes)
    p = {"q#3": 0.6, "q#4": 0.4}
    found = choice_document(question, p, ChoiceRules(payoffs={}, cap=1.0))
    stakes = {row["choice"]: row["stake"] for row in found["choices"]}
    assert stakes["3"] == pytest.approx(0.5, abs=2e-3) and stakes["no on 4"] == pytest.approx(0.5, abs=2e-3)
    assert found["portfolio"]["worst"] > -5e-3
    bets = bets_document(QuestionSet(name="s", questions={"q": question}), p, BetRules(cap=0.1, bankroll=100))
    assert {(bet["event"], bet["side"]) for bet in bets["bets"]} == {("q#3", "yes"), ("q#4", "no")}
    assert bets["staked"] == pytest.approx(10, abs=0.1)


def test_a_horizon_is_named_where_there_are_several() -> None:
    question = Question(id="q", title="Up?", horizons=("2026-01-31", "2026-02-28"))
    p = {"q@2026-01-31": 0.2, "q@2026-02-28": 0.9}
    with pytest.raises(QuestionError, match="several horizons"):
        choice_document(question, p, PLAIN)
    assert choice_document(question, p, ChoiceRules(payoffs={}, horizon="2026-02-28"))["decision"] == "yes"


def test_decide_on_the_command_line(tmp_path: Path) -> None:
    question = {
        "id": "rate", "title": "Rate at year end?", "kind": "threshold", "levels": [3, 4],
        "quotes": {"rate#3": {"yes_ask": 0.6, "no_ask": 0.45}, "rate#4": {"yes_ask": 0.3, "no_ask": 0.75}},
    }  # fmt: skip
    file = tmp_path / "set.json"
    file.write_text(write_json([Question.from_json(question)]))
    done = run_cli(tmp_path, "questions", "import", str(file), "--as", "desk")
    assert done.returncode == 0, done.stderr
    own = tmp_path / "f.csv"
    own.write_text("method,event_id,trial,p\nm,rate#3,1,0.8\nm,rate#4,1,0.3\n")
    words = ("decide", "--question", "desk/rate", "--forecasts", str(own))
    document = json.loads(run_cli(tmp_path, *words, "--json").stdout)
    assert document["decision"] == "3" and [row["p"] for row in document["states"]] == pytest.approx(
        [0.2, 0.5, 0.3]
    )
    text = run_cli(tmp_path, *words).stdout
    assert "above 3, not above 4" in text and "decision: 3" in text
    for bad, said in (
        (("decide",), "name the runs"),
        (("decide", "--question", "desk/rate"), "one run for each event"),
        ((*words, "--payoff", "5=2"), "has no '5'"),
        ((*words, "--payoff", "3"), "OPTION=VALUE"),
        ((*words, "--payoff", "3=-1"), "at least 0"),
        ((*words, "--set", "cap=2"), "cap"),
    ):
        refused = run_cli(tmp_path, *bad)
        assert (
            refused.returncode == 2
            and said in refused.stderr
            and len(refused.stderr.strip().splitlines()) == 1
        ), bad
