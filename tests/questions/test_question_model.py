"""Every kind of question as binary events, its answer in its own words, and what cannot be scored."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.questions.question import (
    Link,
    Question,
    QuestionError,
    Quote,
    check_links,
    events_of,
    reasons_unscored,
)
from workbench.questions.worded_answers import outcomes_of

texts = st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=8)
days = st.dates().map(lambda day: day.isoformat())
probabilities = st.floats(0, 1)


@st.composite
def questions(draw: st.DrawFn) -> Question:
    kind = draw(st.sampled_from(["binary", "options", "threshold", "numeric", "date"]))
    shape = {
        "options": {"options": tuple(draw(st.lists(texts, min_size=2, max_size=4, unique=True)))},
        "threshold": {
            "levels": tuple(draw(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=3, unique=True)))
        },
        "numeric": {"levels": tuple(draw(st.lists(st.floats(-1e6, 1e6), max_size=3, unique=True)))},
        "date": {"days": tuple(draw(st.lists(days, max_size=3, unique=True)))},
    }.get(kind, {})
    return Question(
        id=draw(texts),
        title=draw(texts),
        kind=kind,
        horizons=tuple(draw(st.lists(days, max_size=3, unique=True))),
        asked_on=draw(st.one_of(st.just(""), days)),
        criteria=draw(st.text(max_size=20)),
        exclusive=draw(st.booleans()),
        side=draw(st.sampled_from(["above", "at least", "below", "at most"])),
        volume=draw(st.one_of(st.none(), st.floats(0, 1e9))),
        crowd=draw(st.dictionaries(texts, probabilities, max_size=2)),
        extra=draw(st.dictionaries(texts, texts, max_size=2)),
        **shape,
    )


@settings(max_examples=40)
@given(questions())
def test_a_question_comes_back_from_its_json(question: Question) -> None:
    assert Question.from_json(question.to_json()) == question


@settings(max_examples=40)
@given(questions())
def test_events_have_ids_of_their_own_and_all_horizons(question: Question) -> None:
    events = events_of(question)
    assert len({event.id for event in events}) == len(events)
    if len(question.horizons) > 1 and events:
        assert {event.horizon for event in events} == set(question.horizons)


@given(st.floats(-10, 10), st.lists(st.floats(-10, 10), min_size=1, max_size=5, unique=True))
def test_levels_above_an_answer_are_false_and_those_below_true(value: float, levels: list[float]) -> None:
    question = Question(id="q", title="?", kind="numeric", levels=tuple(levels), side="at least")
    outcomes = list(outcomes_of(question, repr(value)).values())
    assert outcomes == [float(value >= level) for level in levels]


def test_each_kind_of_answer() -> None:
    who = Question(id="w", title="Who?", kind="options", options=("Ann", "Bo", "Cy"))
    assert outcomes_of(who, "Bo") == {"w#Ann": 0.0, "w#Bo": 1.0, "w#Cy": 0.0}
    when = Question(id="d", title="When?", kind="date", days=("2026-01-01", "2026-06-01"))
    assert outcomes_of(when, "2026-03-01") == {"d#2026-01-01": 0.0, "d#2026-06-01": 1.0}
    assert set(outcomes_of(when, "never").values()) == {0.0}
    twice = Question(id="t", title="?", horizons=("2026-01-01", "2026-02-01"))
    assert outcomes_of(twice, "yes", "2026-02-01") == {"t@2026-02-01": 1.0}
    many = Question(id="m", title="Which?", kind="options", options=("a", "b", "c"), exclusive=False)
    assert outcomes_of(many, "a|c") == {"m#a": 1.0, "m#b": 0.0, "m#c": 1.0}


@pytest.mark.parametrize(
    ("answer", "kind", "says"),
    [
        ("maybe", {}, "an outcome is yes, no or a share"),
        ("Dee", {"kind": "options", "options": ("Ann", "Bo")}, "'Dee' is no option of question q: Ann, Bo"),
        ("high", {"kind": "threshold", "levels": (1.0,)}, "needs a number"),
        ("soon", {"kind": "date", "days": ("2026-01-01",)}, "must be a day"),
        ("yes", {"horizons": ("2026-01-01", "2026-02-01")}, "name one of 2026-01-01, 2026-02-01"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused(answer: str, kind: dict[str, object], says: str) -> None:
    with pytest.raises(QuestionError, match=says):
        outcomes_of(Question(id="q", title="?", **kind), answer)  # type: ignore[arg-type]


def test_what_cannot_be_scored_says_why() -> None:
    (reason,) = reasons_unscored(Question(id="n", title="How much?", kind="numeric"))
    assert "without levels" in reason and "quantiles" in reason
    assert reasons_unscored(Question(id="q", title="?")) == ["not resolved yet"]
    partly = Question(id="q", title="?", outcomes={"q": 0.4})
    assert "resolved in part" in reasons_unscored(partly)[0]
    who = Question(id="w", title="Who?", kind="options", options=("Ann", "Bo"))
    two = who.answered({"w#Ann": 1.0, "w#Bo": 1.0})
    assert reasons_unscored(two) == ["exclusive, but 2 of 2 options came true"]
    assert reasons_unscored(who.answered({"w#Ann": 1.0, "w#Bo": 0.0})) == []


def test_both_asks_are_normalised() -> None:
    assert Quote(yes_ask=0.63, no_ask=0.42).implied == pytest.approx(0.6)  # paper P, App. B.2
    assert Quote(last=0.2).implied == 0.2 and Quote().implied is None
    with pytest.raises(QuestionError):
        Quote(yes_ask=63)


def test_a_link_to_nowhere_is_refused() -> None:
    a = Question(id="a", title="?", links=(Link(kind="given-yes", to="b"),))
    b = Question(id="b", title="?")
    check_links({"a": a, "b": b})
    with pytest.raises(QuestionError, match="which is not in the set"):
        check_links({"a": a})
