"""One question in every form that is asked: binary, options, thresholds, numeric, date, each over one or more horizons.

A question is scored as binary *events* (`events_of`): one per option, level or day and horizon. Tables, scores, exams and
experiments know events alone, so that every form of question is scored by the same code. A numeric or date question has
events at its ``levels`` or ``days``, nine that cut its range in ten where it names none; without a range it is listed by
`reasons_unscored` and scored by no event.
A number or a date is a *target* beside that (`targets_of`): forecast by quantiles, scored by CRPS against the value that came, and
in a table of its own, since a CRPS is no Brier score. A day counts as its ordinal there (`day_number`).

=========  =========================  =========================================================
kind       what is asked              events
=========  =========================  =========================================================
binary     whether it happens         one: yes
options    which option               one per option; ``exclusive`` says whether one alone comes true
threshold  whether a value is above   one per level
numeric    a value in a range         one per level (the distribution function read there)
date       when it happens            one per day: whether it has happened by then
=========  =========================  =========================================================
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from operator import ge, gt, le, lt
from typing import Any, Literal

from workbench.errors import UsageError
from workbench.forecasts.source_rows import LARGEST
from workbench.propositions.strict_json import STRICT, read_strict

QuestionKind = Literal["binary", "options", "threshold", "numeric", "date"]
LinkKind = Literal["given-yes", "given-no", "implies", "excludes", "part-of"]
Side = Literal["above", "at least", "below", "at most"]

_LONGEST = 60_000  # characters of one text field: pages and rules of strangers are cut, not trusted


class QuestionError(UsageError):
    """A question that cannot be read, or a set that cannot be used as asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """How a question hangs on another of its set.

    ``given-yes`` and ``given-no``: asked on condition that the other comes out so; ``implies``: yes here means yes there;
    ``excludes``: not both; ``part-of``: one date, level or market of the other's event. A question with options, levels or days is bound
    through one of its events: ``of`` names the own part, and ``to`` may be the id of an event (``rates#cut``).
    """

    kind: LinkKind
    to: str
    of: str = ""

    __pydantic_config__ = STRICT


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """A market's prices of one event: asks in [0, 1] for a share that pays 1, and when they stood."""

    yes_ask: float | None = None
    no_ask: float | None = None
    last: float | None = None
    instant: str = ""

    __pydantic_config__ = STRICT

    def __post_init__(self) -> None:
        for name in ("yes_ask", "no_ask", "last"):
            price = getattr(self, name)
            if price is not None and not 0 <= price <= 1:
                raise QuestionError(f"the price {name} must be in [0, 1], not {price:g}")

    @property
    def implied(self) -> float | None:
        """Probability of Yes: both asks normalised to 1 (paper P, App. B.2), else the last price; None without any."""
        if self.yes_ask is not None and self.no_ask is not None and self.yes_ask + self.no_ask > 0:
            return self.yes_ask / (self.yes_ask + self.no_ask)
        return self.last


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question; texts are as its source wrote them.

    Parameters
    ----------
    id : str
        Unique in its set.
    title : str
        The question in one sentence.
    kind : str
        See the module.
    source, source_id, url, category : str
        Where it comes from; ``category`` is the source's own topic.
    question_type : str
        ``market`` or ``dataset``, the two halves of a score; any other word stands for itself.
    background, criteria, resolution_source : str
    criteria_parts : tuple of str
        The texts that ``criteria`` was joined from, where its source has several (fine print, rules of each market).
    asked_on : str
        Knowledge cutoff of a forecast, ISO date; "" if it is open.
    closes_on : str
        Last day on which it can be answered.
    horizons : tuple of str
        Resolution days, ISO; several make a multi-horizon question.
    options : tuple of str
    exclusive : bool
        Whether exactly one option comes true.
    propositions : tuple of str
        Each option as a statement that is true or false, in their order; "TITLE: OPTION" where there are none.
    levels : tuple of float
    side : {"above", "at least", "below", "at most"}
        Of a level, what makes the event.
    low, high : float or None
        Range of a numeric answer; ``unit`` names what it is measured in.
    open_low, open_high : bool
        Whether the answer may lie beyond that end of the range; a closed end, the default, holds all of it.
    zero_point : float or None
        Makes the range logarithmic, as Metaculus defines it; None for a linear one.
    days : tuple of str
        ISO days of a date question's events.
    earliest, latest : str
        Range of a date answer, ISO days, open as that of a number is.
    payoffs : mapping of str to float
        Value of one dollar put on an option, once it is known (paper A, section 5.1).
    crowd : mapping of event id to float
        Probability that a market or crowd gave at ``asked_on``.
    quotes : mapping of event id to Quote
    links : tuple of Link
    outcomes : mapping of event id to float
        1, 0, or a share for what resolved in part. One that was recorded (`question_sets.record_resolutions`) goes before it.
    values : mapping of target id to float
        The number that came, or the day's. One that was recorded goes before it.
    resolved_on : str
    volume : float or None
        Traded, in US dollars.
    extra : mapping of str to str
        Further columns of the source.
    """

    id: str
    title: str
    kind: QuestionKind = "binary"
    source: str = "own"
    source_id: str = ""
    url: str = ""
    category: str = ""
    question_type: str = "dataset"
    background: str = ""
    criteria: str = ""
    criteria_parts: tuple[str, ...] = ()
    resolution_source: str = ""
    asked_on: str = ""
    closes_on: str = ""
    horizons: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    exclusive: bool = True
    propositions: tuple[str, ...] = ()
    levels: tuple[float, ...] = ()
    side: Side = "above"
    low: float | None = None
    high: float | None = None
    open_low: bool = False
    open_high: bool = False
    zero_point: float | None = None
    unit: str = ""
    days: tuple[str, ...] = ()
    earliest: str = ""
    latest: str = ""
    payoffs: Mapping[str, float] = field(default_factory=dict)
    crowd: Mapping[str, float] = field(default_factory=dict)
    quotes: Mapping[str, Quote] = field(default_factory=dict)
    links: tuple[Link, ...] = ()
    outcomes: Mapping[str, float] = field(default_factory=dict)
    values: Mapping[str, float] = field(default_factory=dict)
    resolved_on: str = ""
    volume: float | None = None
    extra: Mapping[str, str] = field(default_factory=dict)

    __pydantic_config__ = STRICT

    def __post_init__(self) -> None:
        # Space around a text carries nothing, and a file of columns would lose it.
        for name in ("id", "title", "background", "criteria"):
            object.__setattr__(self, name, getattr(self, name).strip()[:_LONGEST])
        parts = tuple(part.strip()[:_LONGEST] for part in self.criteria_parts)
        object.__setattr__(self, "criteria_parts", parts)
        object.__setattr__(self, "options", tuple(option.strip() for option in self.options))
        if not self.id or any(letter in self.id for letter in "\r\n\t"):
            raise QuestionError(f"a question needs an id on one line, not {self.id!r:.60}")
        if not self.title:
            raise QuestionError(f"question {self.id}: the title is empty")
        for name in ("asked_on", "closes_on", "resolved_on", "earliest", "latest"):
            check_day(getattr(self, name), of=f"{name} of question {self.id}", blank=True)
        for name in ("horizons", "days"):
            values = getattr(self, name)
            for day in values:
                check_day(day, of=f"{name} of question {self.id}")
            if len(set(values)) != len(values):
                raise QuestionError(f"question {self.id}: a day is listed twice in {name}")
        options = self.options
        faults = {
            "a choice needs at least two options": self.kind == "options" and len(options) < 2,
            "give every option a claim, or none": self.propositions
            and len(self.propositions) != len(options),
            "an option is empty or listed twice": len({*options, ""}) != len(options) + 1,
        }
        for fault in (fault for fault, is_there in faults.items() if is_there):
            raise QuestionError(f"question {self.id}: {fault}")
        self._check_range()
        self._divide_range()
        for target, value in self.values.items():
            if not math.isfinite(value):
                raise QuestionError(
                    f"question {self.id}: the value of {target!r} must be a number, not {value}"
                )
        for name in ("crowd", "outcomes"):
            for event, p in getattr(self, name).items():
                if not 0 <= p <= 1:
                    raise QuestionError(
                        f"question {self.id}: {name} of {event!r} must be in [0, 1], not {p:g}"
                    )

    def _check_range(self) -> None:
        numbers = [(name, getattr(self, name)) for name in ("low", "high", "zero_point")]
        for name, number in [*numbers, *(("a level", level) for level in self.levels)]:
            if number is not None and not abs(number) <= LARGEST:
                raise QuestionError(
                    f"question {self.id}: {name} must lie within {LARGEST:g} of 0, not at {number:g}: mend it, or leave it out"
                )
        first, last = range_of(self)
        if first is not None and last is not None and not first < last:
            raise QuestionError(
                f"question {self.id}: the range from {shown_value(self, first)} to {shown_value(self, last)} is empty"
            )
        if self.low is None or self.high is None or self.zero_point is None:
            return
        inside = self.low <= self.zero_point <= self.high
        ratio = 1.0 if inside else (self.high - self.zero_point) / (self.low - self.zero_point)
        # seen from far away, the logarithms of all numbers of the range are one
        if not 1e-9 < abs(ratio - 1) < math.inf:
            raise QuestionError(
                f"question {self.id}: zero_point {self.zero_point:g} must lie outside the range from {self.low:g} to {self.high:g} and not "
                "far away from it: mend it, or leave it out for a linear range"
            )

    def _divide_range(self) -> None:
        low, high = range_of(self)
        if self.kind not in ("numeric", "date") or low is None or high is None or self.levels or self.days:
            return
        shares = [step / 10 for step in range(1, 10)]
        if self.zero_point is not None:
            ratio = (high - self.zero_point) / (low - self.zero_point)
            shares = [(ratio**share - 1) / (ratio - 1) for share in shares]
        inner = [shown_value(self, low + (high - low) * share) for share in shares]
        cuts = [value if isinstance(value, str) else float(f"{value:.6g}") for value in inner]
        object.__setattr__(self, "days" if self.kind == "date" else "levels", tuple(dict.fromkeys(cuts)))

    @property
    def horizon_labels(self) -> tuple[str, ...]:
        """Resolution days as ids of its events name them: one empty label where there is one day at most."""
        return self.horizons if len(self.horizons) > 1 else ("",)

    def horizon_label(self, horizon: str) -> str:
        """A resolution day as ids of its events name it."""
        return horizon if len(self.horizons) > 1 else ""

    def resolution_day(self, label: str) -> str:
        """The day that a label of a horizon stands for."""
        return label or (self.horizons or (self.closes_on,))[0]

    @classmethod
    def from_json(cls, data: object) -> "Question":
        """Read what `to_json` wrote; raises ``UsageError`` with the field that is wrong."""
        name = data.get("id") if isinstance(data, dict) else None
        return read_strict(cls, data, what=f"question {name!r:.80}" if name else "a question")

    def to_json(self) -> dict[str, Any]:
        """Plain JSON object without the fields that say nothing."""
        document = asdict(self)
        document["links"] = tuple(
            {name: text for name, text in link.items() if text} for link in document["links"]
        )
        return {
            name: value
            for name, value in document.items()
            if value not in ("", (), {}, None) and (name, value) not in _UNSAID
        }

    def answered(
        self, outcomes: Mapping[str, float], day: str = "", *, values: Mapping[str, float] | None = None
    ) -> "Question":
        """Return the question with outcomes of its events, and values of its targets, on top of those it has."""
        return replace(
            self,
            outcomes={**self.outcomes, **outcomes},
            values={**self.values, **(values or {})},
            resolved_on=day or self.resolved_on,
        )


#: Fields that say what every question is unless it says otherwise.
_UNSAID = (
    ("side", "above"),
    ("exclusive", True),
    ("kind", "binary"),
    ("open_low", False),
    ("open_high", False),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionEvent:
    """One binary event of a question: what a forecast is a probability of."""

    id: str
    question: str
    statement: str
    part: str
    """Option, level or day; "" for a plain question."""
    horizon: str
    outcome: float | None
    crowd: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NumericTarget:
    """One number or day that a question asks for: what quantiles are a forecast of."""

    id: str
    question: str
    horizon: str
    value: float | None


def check_day(text: str, *, of: str, blank: bool = False) -> str:
    """Return an ISO day as it is; raises `QuestionError` for anything else.

    >>> check_day("2026-01-31", of="a horizon")
    '2026-01-31'
    """
    if blank and not text:
        return text
    try:
        if date.fromisoformat(text).isoformat() == text:
            return text
    except ValueError:
        pass  # reported below, with the text
    raise QuestionError(f"{of} must be a day such as 2026-01-31, not {text!r:.40}")


def day_number(day: str) -> float:
    """Return an ISO day as a number, on whose axis dates are forecast and scored: its ordinal.

    >>> day_number("1970-01-02")
    719164.0
    """
    return float(date.fromisoformat(day).toordinal())


def shown_value(question: Question, value: float) -> float | str:
    """Return a value of a question as people read it: the ISO day of a date, a number itself."""
    if question.kind != "date":
        return value
    return date.fromordinal(min(max(round(value), 1), date.max.toordinal())).isoformat()


def range_of(question: Question) -> tuple[float, float] | tuple[float | None, float | None]:
    """Return both ends of a number's or a date's range on its axis, None for an end that is not named."""
    if question.kind != "date":
        return question.low, question.high
    low, high = (day_number(end) if end else None for end in (question.earliest, question.latest))
    return low, high


_SIDES: Mapping[Side, Callable[[float, float], bool]] = {
    "above": gt,
    "at least": ge,
    "below": lt,
    "at most": le,
}


def came_true(question: Question, part: str, value: float) -> bool:
    """Whether the event of a level or day came true where the number, or the day's, was ``value``."""
    if question.kind == "date":
        return value <= day_number(part)
    return _SIDES[question.side](value, float(part))


def parts_of(question: Question) -> tuple[str, ...]:
    """Labels of a question's events without their horizons; one empty label for a plain question, none without levels.

    >>> parts_of(Question(id="q", title="Who?", kind="options", options=("Ann", "Bo")))
    ('Ann', 'Bo')
    """
    match question.kind:
        case "binary":
            return ("",)
        case "options":
            return question.options
        case "threshold" | "numeric":
            return tuple(f"{level:.12g}" for level in question.levels)
        case "date":
            return question.days
    raise AssertionError(question.kind)


def event_id(question: str, part: str = "", horizon: str = "") -> str:
    """Id of an event: the question's, the part after ``#``, the horizon after ``@``.

    >>> event_id("q1"), event_id("q1", "Ann"), event_id("q1", horizon="2026-01-31")
    ('q1', 'q1#Ann', 'q1@2026-01-31')
    """
    return question + (f"#{part}" if part else "") + (f"@{horizon}" if horizon else "")


def events_of(question: Question) -> list[QuestionEvent]:
    """Binary events of a question, horizons inside parts; empty for a numeric or date question without levels or days."""
    events = []
    for part in parts_of(question):
        for label in question.horizon_labels:
            own = event_id(question.id, part, label)
            events.append(
                QuestionEvent(
                    id=own,
                    question=question.id,
                    statement=statement_of(question, part, label),
                    part=part,
                    horizon=question.resolution_day(label),
                    outcome=question.outcomes.get(own, _implied_outcome(question, part, label)),
                    crowd=crowd_of(question, own),
                )
            )
    return events


def _implied_outcome(question: Question, part: str, horizon: str) -> float | None:
    """What the value that came says of a level or day; None before it came, and for parts that no value decides."""
    value = question.values.get(event_id(question.id, horizon=horizon))
    return None if value is None or not targets_of(question) else float(came_true(question, part, value))


def asked_events(question: Question) -> list[QuestionEvent]:
    """What forecasters are asked: the events, or the number or date itself where nothing divides it into any."""
    return events_of(question) or [
        QuestionEvent(
            id=target.id,
            question=question.id,
            statement=statement_of(question, "", question.horizon_label(target.horizon)),
            part="",
            horizon=target.horizon,
            # Neither yes nor no: no table of events takes it.
            outcome=None if target.value is None else 0.5,
            crowd=None,
        )
        for target in targets_of(question)
    ]


def targets_of(question: Question) -> list[NumericTarget]:
    """The numbers or days that a question asks for, one per horizon; none where it asks for neither.

    >>> [target.id for target in targets_of(Question(id="q", title="How much?", kind="numeric"))]
    ['q']
    """
    if question.kind not in ("numeric", "date"):
        return []
    ids = {event_id(question.id, horizon=label): label for label in question.horizon_labels}
    return [
        NumericTarget(
            id=own,
            question=question.id,
            horizon=question.resolution_day(label),
            value=question.values.get(own),
        )
        for own, label in ids.items()
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeSet:
    """Events of a question at one horizon that hang together."""

    #: Of the question, with the horizon where it has several.
    id: str
    #: Of exclusive ones exactly one comes true; of the others each implies the next: levels from the hardest on, days from the first.
    events: tuple[QuestionEvent, ...]
    exclusive: bool


def outcome_sets(question: Question) -> list[OutcomeSet]:
    """The events of a question that exclude or imply each other, by horizon; none of a plain question, or of options that may all come.

    >>> question = Question(id="q", title="How high?", kind="threshold", levels=(200.0, 220.0))
    >>> [[event.part for event in each.events] for each in outcome_sets(question)]
    [['220', '200']]
    """
    events = events_of(question)
    match question.kind:
        case "options" if question.exclusive:
            ordered = events
        case "date":
            ordered = sorted(events, key=lambda event: event.part)
        case "threshold" | "numeric":
            highest_first = question.side in ("above", "at least")
            ordered = sorted(events, key=lambda event: float(event.part), reverse=highest_first)
        case _:
            return []
    by_horizon: dict[str, list[QuestionEvent]] = {}
    for event in ordered:
        by_horizon.setdefault(event.horizon, []).append(event)
    return [
        OutcomeSet(
            id=f"{question.id}@{horizon}" if len(by_horizon) > 1 else question.id,
            events=tuple(own),
            exclusive=question.kind == "options",
        )
        for horizon, own in by_horizon.items()
        if len(own) > 1
    ]


def outcome_columns(question: Question) -> dict[str, dict[str, str]]:
    """Columns of a table of events by event id: what set each belongs to, the set's size, and its step in a chain ("" if exclusive)."""
    return {
        event.id: {
            "outcome_set": each.id,
            "set_size": str(len(each.events)),
            "set_step": "" if each.exclusive else str(step),
        }
        for each in outcome_sets(question)
        for step, event in enumerate(each.events, 1)
    }


def crowd_of(question: Question, event: str) -> float | None:
    """The crowd's probability of an event: as stated, else what the quoted asks imply; None without either."""
    stated = question.crowd.get(event)
    if stated is not None:
        return stated
    quote = question.quotes.get(event)
    return None if quote is None else quote.implied


def statement_of(question: Question, part: str, horizon: str) -> str:
    """One event of a question as a sentence; ``horizon`` where the question has several."""
    by = f" (by {horizon})" if horizon else ""
    if not part:
        return question.title + by
    match question.kind:
        case "options":
            if question.propositions and part in question.options:
                return question.propositions[question.options.index(part)] + by
            return f"{question.title}{by}: {part}"
        case "threshold" | "numeric":
            unit = f" {question.unit}" if question.unit else ""
            return f"{question.title}{by}: {question.side} {part}{unit}"
        case "date":
            return f"{question.title}: by {part}"
    raise AssertionError(question.kind)


def reasons_unscored(question: Question) -> list[str]:
    """Why a question, or some of its events, cannot be scored, one line each; empty if all can."""
    events = events_of(question)
    if not events:
        what = "days" if question.kind == "date" else "levels"
        reason = f"a {question.kind} question without {what} has no event to score"
        asked = {"numeric": "; its number is, by quantiles", "date": "; its day is, by quantiles"}
        return [reason + asked.get(question.kind, "")]
    reasons = []
    unresolved = [event for event in events if event.outcome is None]
    partly = [event for event in events if event.outcome not in (None, 0.0, 1.0)]
    if len(unresolved) == len(events):
        reasons.append("not resolved yet")
    elif unresolved:
        reasons.append(f"{len(unresolved)} of {len(events)} events not resolved yet")
    if partly:
        reasons.append(
            f"resolved in part ({len(partly)} of {len(events)} events): only yes and no are scored"
        )
    if question.kind == "options" and question.exclusive and not unresolved and not partly:
        for horizon in question.horizon_labels:
            ids = [event_id(question.id, part, horizon) for part in question.options]
            winners = sum(question.outcomes.get(event) == 1.0 for event in ids)
            if winners != 1:
                reasons.append(f"exclusive, but {winners} of {len(ids)} options came true")
    return reasons


def check_links(questions: Mapping[str, Question]) -> None:
    """Refuse links that lead nowhere; raises `QuestionError` with the first of them."""
    events = {event.id: question.id for question in questions.values() for event in events_of(question)}
    for question in questions.values():
        for link in question.links:
            if link.to not in questions and link.to not in events:
                raise QuestionError(
                    f"question {question.id} is {link.kind} {link.to!r:.60}, which is not in the set"
                )
            if question.id in (link.to, events.get(link.to)):
                raise QuestionError(f"question {question.id} is linked to itself")
            if link.of and event_id(question.id, link.of) not in events:
                raise QuestionError(
                    f"question {question.id} is linked by {link.of!r:.60}, which is none of its parts"
                )
