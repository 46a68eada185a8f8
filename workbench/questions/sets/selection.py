"""Which of a venue's events become questions: filters one after another, each with its count and a reason per event.

The rules are those of paper A, App. C.2 (dates, volume, keywords, at most five markets, payoffs that can be told apart) and of
paper P, section 2 and B.1 (popularity, recurrence, diversity). Every event is looked at by each filter in order until one drops
it; the account names filter, figure and reason for every single one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from pydantic import BeforeValidator, ValidationInfo, field_validator

from workbench.questions.question import Question, QuestionError, check_day, crowd_of, events_of
from workbench.requests import Request, Says

#: Words of events that paper A leaves out: entertainment, sports, plain price ranges (examples of its C.2).
EXCLUDED_WORDS = ("who will win", "movie", "sports team vs.", "price range")
#: Prices closer than this leave the options of an event indistinguishable.
_SAME_PRICE = 0.01


class FilterVerdict(NamedTuple):
    """What became of one event: ``filter`` is "" if it was kept, else the filter that dropped it, and why."""

    event: str
    filter: str
    reason: str


class FilterCount(NamedTuple):
    """How many events came to a filter, and how many it dropped."""

    filter: str
    seen: int
    dropped: int


def _by_comma(value: object) -> object:
    if not isinstance(value, list | tuple):
        return value
    return tuple(word.strip() for text in value for word in str(text).split(",") if word.strip())


class SelectionRules(Request):
    """Bounds of the filters; None or empty leaves a filter out."""

    unresolved: bool = False
    """Only events that are open in every market."""
    resolved: bool = False
    """Only events that are settled in every market; for a back-test."""
    closes_from: Annotated[str | None, Says(text="First closing day, inclusive.", form="DAY")] = None
    closes_to: Annotated[str | None, Says(text="Last closing day, inclusive.", form="DAY")] = None
    min_volume: float | None = None
    """US dollars traded in an event, over all its markets; one without a stated volume is dropped."""
    min_liquidity: float | None = None
    """US dollars that stand in an event."""
    max_markets: int | None = None
    """Most markets of an event."""
    excluded_words: Annotated[
        tuple[str, ...],
        BeforeValidator(_by_comma),
        Says(
            word="exclude",
            text="Words of titles to leave out, by comma, whatever their case.",
            form="WORDS",
        ),
    ] = ()
    distinguishable: bool = False
    """Prices of the options must differ: a choice whose options all cost the same tells a market nothing."""
    per_series: int | None = None
    """Most events of one series (recurrence), the most traded first."""
    per_category: int | None = None
    """Most events of one category (diversity), the most traded first."""
    size: int | None = None
    """Most events in all, the most traded first (popularity); paper P takes 20 a day."""

    @field_validator("closes_from", "closes_to")
    @classmethod
    def _check_days(cls, value: str | None, info: ValidationInfo) -> str | None:
        return value and check_day(value, of=f"--{str(info.field_name).replace('_', '-')}")


#: Rules by name. Dates of paper A: after its models' knowledge cutoff of 2024-06-01, before 2025-05-01.
RULES: dict[str, SelectionRules] = {
    "none": SelectionRules(),
    "analytica-paper": SelectionRules(
        closes_from="2024-06-02",
        closes_to="2025-04-30",
        min_volume=500_000,
        max_markets=5,
        excluded_words=EXCLUDED_WORDS,
        distinguishable=True,
    ),
    "prophet-paper": SelectionRules(unresolved=True, per_series=1, per_category=3, size=20),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The events kept, in the order they came, and the account of all."""

    questions: tuple[Question, ...]
    verdicts: tuple[FilterVerdict, ...]
    counts: tuple[FilterCount, ...]


def select(questions: Sequence[Question], rules: SelectionRules) -> Selection:
    """Apply the filters in their order.

    Raises `QuestionError`: Rules that contradict themselves.

    >>> quiet = Question(id="a", title="A quiet one", volume=1000.0)
    >>> busy = Question(id="b", title="A busy one", volume=900000.0)
    >>> selection = select([quiet, busy], SelectionRules(min_volume=500_000))
    >>> [question.id for question in selection.questions], selection.verdicts[0]
    (['b'], FilterVerdict(event='a', filter='volume', reason='traded 1,000, at least 500,000 is asked'))
    """
    if rules.unresolved and rules.resolved:
        raise QuestionError("no event is both open and settled: ask for one of them")
    left = list(questions)
    fate: dict[str, FilterVerdict] = {}
    counts = []
    for name, look in _filters(rules):
        reasons = look(left)
        fate |= {event: FilterVerdict(event, name, reason) for event, reason in reasons.items()}
        counts.append(FilterCount(name, len(left), len(reasons)))
        left = [question for question in left if question.id not in reasons]
    verdicts = tuple(fate.get(question.id, FilterVerdict(question.id, "", "kept")) for question in questions)
    return Selection(questions=tuple(left), verdicts=verdicts, counts=tuple(counts))


#: What a filter drops of the events that came to it, with the reason.
Filter = Callable[[Sequence[Question]], dict[str, str]]


def _filters(rules: SelectionRules) -> list[tuple[str, Filter]]:
    def each(look: Callable[[Question], str]) -> Filter:
        return lambda left: {q.id: reason for q in left if (reason := look(q))}

    def most(group: Callable[[Question], str], count: int | None) -> Filter:
        return lambda left: _beyond(left, group, count or 0)

    def is_open(question: Question) -> str:
        every_one = len(question.outcomes) == len(events_of(question))
        return "" if every_one else "not settled in every market"

    first, last = rules.closes_from or "", rules.closes_to or "9999-12-31"
    filters: list[tuple[str, object, Filter]] = [
        ("unresolved", rules.unresolved or None, each(lambda q: "settled already" if q.outcomes else "")),
        ("resolved", rules.resolved or None, each(is_open)),
        ("dates", rules.closes_from or rules.closes_to or None, each(lambda q: _outside(q, first, last))),
        ("volume", rules.min_volume, each(lambda q: _too_little(q.volume, rules.min_volume, "traded"))),
        ("liquidity", rules.min_liquidity, each(lambda q: _too_little(_liquidity(q), rules.min_liquidity, "on offer"))),
        ("markets", rules.max_markets, each(lambda q: _too_many(len(events_of(q)), rules.max_markets or 0))),
        ("words", rules.excluded_words or None, each(lambda q: _worded(q, rules.excluded_words))),
        ("distinguishable", rules.distinguishable or None, each(_alike)),
        ("recurrence", rules.per_series, most(lambda q: q.extra.get("series") or q.id, rules.per_series)),
        ("diversity", rules.per_category, most(lambda q: q.category or "no category", rules.per_category)),
        ("popularity", rules.size, most(lambda q: "all events", rules.size)),
    ]  # fmt: skip
    return [(name, look) for name, wanted, look in filters if wanted is not None]


def _outside(question: Question, first: str, last: str) -> str:
    if not question.closes_on:
        return "it does not say when it closes"
    return (
        ""
        if first <= question.closes_on <= last
        else f"closes {question.closes_on}, {first} to {last} is asked"
    )


def _too_little(value: float | None, least: float | None, what: str) -> str:
    if value is None:
        return f"it does not say what is {what}"
    least = least or 0.0
    return "" if value >= least else f"{what} {value:,.0f}, at least {least:,.0f} is asked"


def _too_many(count: int, most: int) -> str:
    return "" if count <= most else f"{count} markets, at most {most} are asked"


def _worded(question: Question, words: Sequence[str]) -> str:
    title = question.title.casefold()
    hit = next((word for word in words if word.casefold() in title), None)
    return "" if hit is None else f"its title has {hit!r}"


def _liquidity(question: Question) -> float | None:
    text = question.extra.get("liquidity")
    return None if not text else float(text)


def _alike(question: Question) -> str:
    """Why the values of a question's options cannot be told apart: payoffs if they are known, else prices."""
    if question.payoffs:
        values = list(question.payoffs.values())
        what = "payoffs"
    else:
        known = [crowd_of(question, event.id) for event in events_of(question)]
        values = [p for p in known if p is not None]
        values = [values[0], 1 - values[0]] if len(values) == 1 else values
        what = "prices"
    if len(values) < 2:
        return f"it has no {what}"
    if max(values) - min(values) < _SAME_PRICE:
        return f"all its {what} are {values[0]:.3g}"
    return ""


def _beyond(questions: Sequence[Question], group: Callable[[Question], str], most: int) -> dict[str, str]:
    members: dict[str, list[Question]] = {}
    for question in questions:
        members.setdefault(group(question), []).append(question)
    dropped = {}
    for name, entries in members.items():
        # Equal volumes by id, so that the choice does not depend on the order of a venue's answer.
        ranked = sorted(entries, key=lambda question: (-(question.volume or 0.0), question.id))
        for place, question in enumerate(ranked[most:], most + 1):
            dropped[question.id] = f"number {place} of {len(ranked)} of {name}, {most} are taken"
    return dropped
