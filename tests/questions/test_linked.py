"""Linked questions: the worlds their links allow, the nearest forecasts that hang together, and bets weighed over the worlds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.questions.question import Link, Question, QuestionError, Quote
from workbench.questions.sets.choice_rules import ChoiceRules
from workbench.questions.sets.choices import KEEP, linked_document
from workbench.questions.sets.linked import MOST_WORLDS, Mended, group_of, linked_questions, mend
from workbench.studies.rounds.round_coherence import coherent, set_findings

inside = st.floats(0.02, 0.98)


def question(name: str, *links: tuple[str, str], **fields: object) -> Question:
    own = tuple(Link(kind=kind, to=to) for kind, to in links)  # type: ignore[arg-type]
    return Question(id=name, title=f"Will {name} come?", links=own, **fields)  # type: ignore[arg-type]


NESTED = (
    question("first", ("implies", "second")),
    question("second", ("implies", "third")),
    question("third"),
)
RIVALS = (question("ann", ("excludes", "bo")), question("bo"))
PAIR = (
    question("war"),
    question("oil"),
    question("if-war", ("given-yes", "war"), ("part-of", "oil")),
    question("if-peace", ("given-no", "war"), ("part-of", "oil")),
)


def chances(mended: Mended, answers: np.ndarray) -> list[float]:
    """What the worlds' probabilities imply of each question."""
    holds = np.isfinite(answers)
    return list((np.nan_to_num(answers) @ mended.worlds) / (holds @ mended.worlds))


def test_worlds_are_those_that_the_links_allow() -> None:
    assert group_of(NESTED).answers.T.tolist() == [[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]]
    assert group_of(RIVALS).answers.T.tolist() == [[0, 0], [0, 1], [1, 0]]
    answers = group_of(PAIR).answers
    assert answers.shape == (4, 4)
    for war, oil, if_war, if_peace in answers.T.tolist():
        assert np.isnan(if_peace if war else if_war) and (if_war if war else if_peace) == oil
    alone = (
        question("x"),
        question("if-x", ("given-yes", "x")),
    )  # its whole is not asked: free where x holds
    assert group_of(alone).answers.shape == (2, 3)
    parts = [question("a", ("part-of", "whole")), question("whole"), *NESTED]
    assert linked_questions(parts) == [NESTED]  # one part of an event binds nothing by itself
    many = (question("hub"), *(question(f"q{n}", ("given-yes", "hub")) for n in range(14)))
    with pytest.raises(QuestionError, match=f"more than {MOST_WORLDS} worlds"):
        group_of(many)


@given(inside, inside, inside)
def test_nested_forecasts_are_mended_by_the_least_change(a: float, b: float, c: float) -> None:
    stated = {"first": a, "second": b, "third": c}
    mended = mend(group_of(NESTED), stated)
    values = [mended.p[name] for name in stated]
    assert values[0] <= values[1] + 1e-9 <= values[2] + 2e-9
    if a <= b <= c:
        assert mended.moved == pytest.approx(0, abs=1e-7)
    change = sum((value - own) ** 2 for value, own in zip(values, (a, b, c), strict=True))
    mean = (a + b + c) / 3
    for other in ((a, max(a, b), max(a, b, c)), (min(a, b, c), min(b, c), c), (mean, mean, mean)):
        assert change <= sum((value - own) ** 2 for value, own in zip(other, (a, b, c), strict=True)) + 1e-7
    assert mended.worlds.min() >= 0 and mended.worlds.sum() == pytest.approx(1)
    assert chances(mended, group_of(NESTED).answers) == pytest.approx(values, abs=1e-9)


@given(inside, inside)
def test_rivals_share_what_is_too_much(a: float, b: float) -> None:
    mended = mend(group_of(RIVALS), {"ann": a, "bo": b})
    excess = max(0.0, a + b - 1)
    # the nearest point of the triangle, which has corners
    if excess / 2 < min(a, b):
        assert [mended.p["ann"], mended.p["bo"]] == pytest.approx([a - excess / 2, b - excess / 2], abs=1e-6)
    assert mended.p["ann"] + mended.p["bo"] <= 1 + 1e-9


@given(inside, inside, inside)
def test_a_conditional_pair_gives_its_whole(war: float, yes: float, no: float) -> None:
    whole = war * yes + (1 - war) * no
    agreed = {"war": war, "if-war": yes, "if-peace": no, "oil": whole}
    kept = mend(group_of(PAIR), agreed)
    assert kept.moved == pytest.approx(0, abs=1e-5)
    free = mend(group_of(PAIR), {name: agreed[name] for name in ("war", "if-war", "if-peace")})
    assert free.p["oil"] == pytest.approx(whole, abs=1e-5)


def test_what_cannot_be_weighed_is_flagged_and_left_alone() -> None:
    many = [question("hub"), *(question(f"q{n}", ("given-yes", "hub")) for n in range(14))]
    p = {each.id: 0.5 for each in many}
    assert coherent(many, p) == p
    (finding,) = [each for each in set_findings(many, p) if each.kind == "linked"]
    assert "not put in order: 15 linked questions" in finding.message


def quoted(entry: Question, yes: float, no: float) -> Question:
    fields = {name: getattr(entry, name) for name in ("id", "title", "links")}
    return Question(**fields, quotes={entry.id: Quote(yes_ask=yes, no_ask=no)})


def test_bets_on_nested_questions_hedge_each_other() -> None:
    """Yes on the wider and No on the narrower event: at least one of the two wins in every world."""
    narrow, wide = (
        quoted(question("narrow", ("implies", "wide")), 0.5, 0.45),
        quoted(question("wide"), 0.45, 0.6),
    )
    entries = {each.id: each for each in (narrow, wide)}
    document = linked_document(
        entries, "narrow", {"narrow": 0.45, "wide": 0.55}, ChoiceRules(payoffs={}, cap=1.0)
    )
    stakes = {row["choice"]: row["stake"] for row in document["choices"]}
    assert stakes["no on narrow"] > 0.3 and stakes["wide"] > 0.3
    assert document["portfolio"]["worst"] > 0  # 0.45 + 0.45 buys a dollar at least: a certain gain
    assert document["decision"] in ("wide", "no on narrow")


def test_a_bet_on_a_condition_that_fails_comes_back() -> None:
    entries = {each.id: each for each in (*PAIR[:2], quoted(PAIR[2], 0.5, 0.6), PAIR[3])}
    p = {"war": 0.2, "oil": 0.52, "if-war": 0.8, "if-peace": 0.45}
    document = linked_document(entries, "oil", p, ChoiceRules(payoffs={}, cap=1.0))
    (yes, no) = document["choices"]
    assert (
        yes["expected"] == pytest.approx(0.8 + 0.2 * 0.8 / 0.5, abs=1e-3) and document["decision"] == "if-war"
    )
    assert no["expected"] < 1 and yes["stake"] == pytest.approx(
        0.6, abs=0.01
    )  # Kelly, as if the war were certain
    free = linked_document(entries, "oil", p, ChoiceRules(payoffs={"if-war": 1.1, "oil": 1.5}, cap=1.0))
    assert free["decision"] == KEEP
    with pytest.raises(QuestionError, match="has no linked questions"):
        linked_document({"x": question("x")}, "x", {"x": 0.5}, ChoiceRules(payoffs={}))
    with pytest.raises(QuestionError, match="linked to oil has no"):
        linked_document(entries, "oil", p, ChoiceRules(payoffs={"tea": 2.0}))
    with pytest.raises(QuestionError, match="has no forecast"):
        linked_document(entries, "oil", {"oil": 0.5}, ChoiceRules(payoffs={}))


RATES = Question(
    id="rates",
    title="Rates?",
    kind="options",
    options=("cut", "hold", "raise"),
    links=(Link(kind="implies", to="stocks", of="cut"), Link(kind="excludes", to="yield#4", of="cut")),
)
YIELD = Question(id="yield", title="The yield?", kind="threshold", levels=(3.0, 4.0))
MOVE = Question(
    id="move",
    title="When?",
    kind="date",
    days=("2026-01-31", "2026-02-28"),
    links=(Link(kind="implies", to="rates#cut", of="2026-01-31"),),
)
MIXED = (RATES, question("stocks"), YIELD, MOVE)


def test_options_levels_and_days_are_bound_by_their_events() -> None:
    (group,) = linked_questions((*MIXED, question("alone")))
    worlds = group_of(group)
    assert worlds.events == (
        "rates#cut", "rates#hold", "rates#raise", "stocks", "yield#3", "yield#4", "move#2026-01-31", "move#2026-02-28",
    )  # fmt: skip
    for world in worlds.answers.T:
        cut, hold, rise, stocks, three, four, first, second = world
        assert cut + hold + rise == 1 and three >= four and second >= first
        assert not (cut and not stocks) and not (cut and four) and not (first and not cut)
    # 18 of the 3 x 2 x 3 x 3 ways: 4 with a cut (stocks up, yield below 4, three ways of the day: 2 x 3) and 12 x 2 without
    assert worlds.answers.shape[1] == 2 * 3 + 2 * 2 * 3 * 2
    known = worlds.consistent_with({"stocks": 0.0})
    assert (known.answers[3] == 0).all() and (known.answers[0] == 0).all()
    with pytest.raises(QuestionError, match="contradict their links"):
        worlds.consistent_with({"rates#cut": 1.0, "stocks": 0.0})


@given(st.lists(inside, min_size=8, max_size=8))
def test_worlds_of_maximum_entropy_give_the_mended_forecasts_back(values: list[float]) -> None:
    group = group_of(MIXED)
    mended = mend(group, dict(zip(group.events, values, strict=True)))
    given_back = group.answers @ mended.worlds
    assert given_back == pytest.approx([mended.p[event] for event in group.events], abs=1e-9)
    assert mended.worlds.min() >= 0 and mended.worlds.sum() == pytest.approx(1, abs=1e-12)
    assert not [
        each for each in set_findings(MIXED, mended.p) if each.kind != "similar" and abs(each.gap) > 1e-6
    ]


def test_entropy_is_the_largest_where_the_chances_are_products_of_what_is_known() -> None:
    """What marks a maximum of entropy: the logarithms of the chances are a sum of one term for each forecast, and nothing besides."""
    group = group_of(MIXED)
    # 1 in 3 of a cut within a set that hangs together, and no chance of 0
    stated = (0.3, 0.4, 0.3, 0.6, 0.6, 0.2, 0.1, 0.4)
    mended = mend(group, dict(zip(group.events, stated, strict=True)))
    assert mended.moved == pytest.approx(0, abs=1e-9)
    terms = np.vstack([group.answers, np.ones(len(mended.worlds))]).T
    logs = np.log(mended.worlds)
    assert terms @ np.linalg.lstsq(terms, logs, rcond=None)[0] == pytest.approx(logs, abs=1e-6)
