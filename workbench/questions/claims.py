"""A claim that a rule can decide, as plain data, and its one canonical sentence.

The patterns share the fields below. ``start`` None means the last value visible at the cutoff.

===========  ==============================================================  =======================
pattern      true when                                                       ``level`` means
===========  ==============================================================  =======================
compare      value on ``end`` above (below) the value on ``start``           unused
level        value on ``end`` above (below) ``level``                        units of the series
average      close on ``end`` above (below) its 200-day average              percent beyond the average
range        value on ``end`` from ``level`` to ``upper``, both included     units of the series
change       growth from ``start`` to ``end`` above (below) ``level``        percent, signed
touch        some value through ``end`` above (below) ``level``              units of the series
drawdown     some close after ``start``, through ``end``, is ``level`` off   percent, signed
volatility   annualised volatility of daily log returns above (below)        percent a year
relative     growth of ``series`` above (below) growth of ``other``          unused
mean         average of the window's values above (below) ``level``          units of the series
highest      highest value of the window above (below) ``level``             units of the series
lowest       lowest value of the window above (below) ``level``              units of the series
count        at least ``times`` values of the window above (below) ``level`` units; None: the one before
points       change from ``start`` to ``end`` above (below) ``level``        units of the series, signed
move         growth from ``start`` to ``end`` is at least ``level`` in size  percent
step         some value of the window is ``level`` off the one before it     percent, signed
peak         some value is ``level`` below the highest of the window so far  percent, negative
streak       ``times`` values in a row each above (below) the one before     unused
first        a value of the window reaches ``level`` before one ``upper``    units of the series
first_move   the value moves by ``level`` before it moves by ``upper``       percent, signed
record       a value is above (below) all before, or of ``times`` weeks       unused
===========  ==============================================================  =======================

What people say beyond these is a claim too, which no rule decides yet (`canonical.decidable`): about a series that no source holds, about the
difference of two, of an ``event`` (the next release or meeting, on ``end``), in ``points`` where the pattern has percent, and the patterns

=============  ============================================================  =======================
inside         every value of the window from ``level`` to ``upper``         units of the series
growth         growth over the ``every`` that ends on ``end``                percent
growth_within  the same at some time through ``end``                         percent
cross          the value crosses its average of ``times`` days               unused
trough         some value is ``level`` above the lowest of the window        percent
unchanged      value on ``end`` is the value on ``start``                    unused
=============  ============================================================  =======================

Of ``count``, ``step`` and ``streak`` the values are the last of whole weeks or months where ``every`` says so.
``side`` is the side of the threshold that makes the event ("toward", for a touch, is settled by the last visible
value: :func:`settled`); ``strict`` leaves equality out; ``never`` turns a
touch or a drawdown into "it does not happen". A ``reference`` claim is the same event judged by its reference
class alone; it is how a tree keeps its own base rate as a leaf.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache
from importlib.resources import files
from math import isfinite
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict

from proxies.yaml_text import parse_yaml
from workbench.forecasts.periods import Period
from workbench.formatting import number, number_percent
from workbench.questions.errors import ClaimRefused
from workbench.questions.readings.calendar_days import last_session
from workbench.questions.series.embedded_series import SERIES
from workbench.questions.series.known_series import Series
from workbench.questions.series.series_registry import going_on, series_named

#: Patterns without a model of their own: past windows and outcomes are read off the values, as the forecast is off its paths.
_ByReading = Literal[
    "mean",
    "highest",
    "lowest",
    "count",
    "points",
    "move",
    "step",
    "peak",
    "streak",
    "record",
    "first",
    "first_move",
]
BY_READING = get_args(_ByReading)
#: Patterns that no rule decides yet.
_Undecided = Literal["inside", "growth", "growth_within", "cross", "trough", "unchanged"]
UNDECIDED = get_args(_Undecided)
Pattern = Literal[
    "compare",
    "level",
    "average",
    "range",
    "change",
    "touch",
    "drawdown",
    "volatility",
    "relative",
    _ByReading,
    _Undecided,
]
Side = Literal["above", "below", "toward"]

Comparison = Literal["above", "at_least", "below", "at_most", "toward"]
#: How a value stands to a threshold, as readings say it, and the side and strictness of a claim that says the same.
SIDES: dict[Comparison, tuple[Side, bool]] = {
    "above": ("above", True),
    "at_least": ("above", False),
    "below": ("below", True),
    "at_most": ("below", False),
    "toward": ("toward", False),
}
#: Closes of a moving average.
AVERAGE_DAYS = 200

#: Patterns that a single day decides, and not any on the way.
ON_A_DAY = ("compare", "level", "average", "range", "change", "points", "move", "relative", "growth", "unchanged")  # fmt: skip

REFERENCE = "Reference class:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A decidable claim; see the module for the meaning of the fields per pattern.

    ``series`` and ``other`` are names of `series_named`: ``SP500``, ``yahoo:AAPL``. ``observed`` is the series with what its rows alone tell
    (how often it has a value), once they have been seen (`workbench.questions.decision.settle`); it makes no other claim. ``unheld`` are those
    of its series that no source here holds, called as a text calls them.
    """

    pattern: Pattern
    series: str
    end: date
    side: Side = "above"
    strict: bool = True
    start: date | None = None
    level: float | None = None
    upper: float | None = None
    other: str | None = None
    times: int = 1
    every: str | None = None
    never: bool = False
    reference: bool = False
    points: bool = False
    event: Literal["", "release", "meeting"] = ""
    notes: tuple[str, ...] = ()
    observed: Series | None = field(default=None, compare=False, repr=False)
    unheld: tuple[Series, ...] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        if not all(isfinite(level) for level in (self.level or 0.0, self.upper or 0.0)):
            raise ClaimRefused("a level is a finite number; state another one")
        # Of a claim that is still being read both may stand in one slot.
        if self.pattern != "level" and self.level is not None and self.level == self.upper:
            raise ClaimRefused("both levels are the same; state two different ones")

    @property
    def about(self) -> Series:
        """The series the claim is about."""
        return self.observed or self._named(self.series)

    def _named(self, name: str) -> Series:
        return next((series for series in self.unheld if series.id == name), None) or series_named(name)

    @property
    def period(self) -> Period | None:
        """The weeks or months that are its steps; None for the series' own steps."""
        return self.every if self.every in ("week", "month") else None  # type: ignore[return-value]

    @property
    def comparison(self) -> Comparison:
        """How the value stands to the threshold, in the words of a reading."""
        said = (self.side, self.strict and self.side != "toward")
        return next(comparison for comparison, sides in SIDES.items() if sides == said)

    @property
    def last_close(self) -> date:
        """The day whose value counts at the end: of a market of New York, the session before an end without trading."""
        return last_session(self.end) if self._by_session else self.end

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a person has to know of the reading: the notes, and days without trading."""
        days = [
            day for day in (self.start, self.end) if day and self.pattern in ON_A_DAY and self._by_session
        ]
        closed = [(day, session) for day in days if (session := last_session(day)) != day]
        return self.notes + tuple(
            f"no session on {day.day} {day:%B %Y}: read as the close of {session.day} {session:%B %Y}"
            for day, session in closed
        )

    @property
    def _by_session(self) -> bool:
        mine = {self.series, series_named(self.series).goes_on}
        return any(mine & {each.id, each.goes_on} - {""} for each in SERIES.values() if not each.monthly)

    @property
    def against(self) -> Series | None:
        """The series that it is compared with, of a relative claim."""
        return self._named(self.other) if self.other else None

    @property
    def by_reading(self) -> bool:
        """Whether past windows and the outcome are read off the values by the claim's reading: no model of its pattern covers it."""
        on_the_way = self.pattern in ("touch", "drawdown")
        return self.pattern in BY_READING or (on_the_way and self.about.monthly) or (self.pattern == "touch" and self.start is not None)  # fmt: skip

    @property
    def sources(self) -> tuple[str, ...]:
        """What the rows of every series that the claim needs are asked for by: embedded identifiers and references."""
        names = self.about.sources
        return names + self.against.sources if self.against else names

    @property
    def statement(self) -> str:
        """The canonical sentence; the grammar reads it back into this claim."""
        text = sentence(self)
        if self.reference:
            return f"{REFERENCE} {text}"
        # A reference is written as it is.
        return text if ":" in self.series else text[0].upper() + text[1:]

    @property
    def verb(self) -> str:
        """What its series does on a day; not of what was observed, so that the sentence is the same before and after."""
        series = self._named(self.series)
        if self.series in SERIES:
            return "is" if series.monthly else "closes"
        return series.verb

    def going_on(self) -> "Claim":
        """The claim about the sources that have its last day: embedded series have ended, and go on elsewhere (`going_on`)."""
        other = self.other and going_on(self.other, self.end)
        return replace(self, series=going_on(self.series, self.end), other=other)


def settled(claim: Claim, last_value: float) -> Claim:
    """The claim with a touch's side settled: a level over the last visible value is reached from below."""
    if claim.side != "toward":
        return claim
    return replace(claim, side="above" if amount(claim) > last_value else "below")


def amount(claim: Claim) -> float:
    """The claim's level, which its pattern has to have."""
    if claim.level is None:
        raise ValueError(f"a claim of the pattern {claim.pattern!r} needs a level")
    return claim.level


def _level(claim: Claim) -> str | None:
    return None if claim.level is None else number(claim.level)


def _size(claim: Claim) -> str | None:
    return number(abs(claim.level)) if claim.level is not None else None


def _percent(claim: Claim) -> str | None:
    if claim.level is None:
        return None
    return f"{_size(claim)} points" if claim.points else number_percent(abs(claim.level))


def _bound(claim: Claim) -> str:
    if claim.upper is not None:
        return _range(claim) or ""
    return f"{'at or ' * (not claim.strict)}{claim.side} {_level(claim)}"


def _range(claim: Claim) -> str | None:
    if claim.upper is None:
        return None
    low, high = sorted((amount(claim), claim.upper), key=abs)
    by_how_much = claim.pattern in ("change", "points")
    return (
        f"between {number(abs(low) if by_how_much else low)} and {number(abs(high) if by_how_much else high)}"
    )


def _from(claim: Claim, alone: str) -> str:
    return f"from {claim.start} to {claim.end}" if claim.start else f"{alone} {claim.end}"


def _unit(claim: Claim) -> str:
    return claim.every or ("month" if claim.about.monthly else "day")


_SPAN = r"(?:from [DP](?P<start>\d+) to [DP](?P<end>\d+)|(?:by|through) [DP](?P<end2>\d+))"
#: What other slots write, None where the claim has no such thing, and how they are read, in the letters of `canonical.Sentence`.
SLOTS: Mapping[str, tuple[Callable[[Claim], str | None], str]] = {
    "verb": (lambda claim: f"{claim.verb} ", "(?:(?:closes?|ends?|finish(?:es)?|settles?|is|be|stands?|trades?|remains?|stays?) )?"),
    "level": (_level, r"[A%](?P<level>\d+)"),
    "upper": (lambda claim: number(claim.upper or 0.0), r"[A%](?P<upper>\d+)"),
    "percent": (_percent, r"%(?P<level>\d+)"),
    "further": (lambda claim: _percent(claim) if claim.level else None, r"%(?P<level>\d+)"),
    "back": (lambda claim: number_percent(abs(claim.upper or 0.0)), r"%(?P<upper>\d+)"),
    "points": (lambda claim: f"{_size(claim)} points", r"A(?P<level>\d+)(?: points)?"),
    "end": (lambda claim: f"{claim.end}", r"[DP](?P<end>\d+)"),
    "at": (lambda claim: "on ", "(?:on|in|at|as of) "),
    "until": (lambda claim: None, r"(?:(?P<before>before)|by|through|until|up to) [DP](?P<end>\d+)"),
    "since": (lambda claim: f"on {claim.start}" if claim.start else "the last value known", r"(?:on [DP](?P<start>\d+)|the last value known)"),
    "base": (lambda claim: f"{claim.start or 'last known'} close", r"(?:[DP](?P<start>\d+)|last known) close"),
    "by": (lambda claim: _from(claim, "by"), _SPAN),
    "through": (lambda claim: _from(claim, "through"), _SPAN),
    "least": (lambda claim: "at least ", "(?:by )?(?:at least |more than )?"),
    "once": (lambda claim: "" if claim.never else " at least once", "(?: at least once)?"),
    "other": (lambda claim: claim.against.article if claim.against else None, r"S(?P<other>\d+)"),
    "on": (lambda claim: "on" if _unit(claim) == "day" else "in", "(?:on|in)"),
    "times": (lambda claim: f"{claim.times}", r"A(?P<times>\d+)"),
    "step": (_unit, "(?P<every>day|week|month)"),
    "days": (lambda claim: f"{claim.times if claim.times > 1 else AVERAGE_DAYS}-day average", r"V\d+"),
    "range": (_range, ""),
    "bound": (_bound, ""),
    "over": (lambda claim: f"on the {claim.every}" if claim.every else "at an annual rate", ""),
    "weeks": (lambda claim: f"{claim.times}-week " if claim.times > 1 else "", r"(?:A(?P<times>\d+)[- ]week )?"),
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceForm:
    """A sentence of a pattern; ``fixed`` are fields that it has whatever its words are."""

    pattern: str
    text: str
    fixed: Mapping[str, Any] = field(default_factory=dict)

    def written(self, claim: Claim) -> str | None:
        """The sentence of a claim without its series; None where a slot has nothing to write."""
        if self.fixed.get("side", claim.side) != claim.side:
            return None
        parts = {name: _written(name, claim) for name in self.slots}
        if any(part is None for part in parts.values()):
            return None
        return self.text.format_map(parts)

    @property
    def slots(self) -> list[str]:
        """The names of its slots."""
        return re.findall(r"\{(\w+)\}", self.text)

    @property
    def expression(self) -> re.Pattern[str]:
        """How it is read, in the letters of `canonical.Sentence`."""
        subject = "" if "{series}" in self.text else r"{series} "
        text = re.sub(r"\{(\w+)\}", lambda match: _read(match[1]), subject + self.text)
        return re.compile(text)

    def fields(self, groups: Mapping[str, str], amounts: dict[str, Any]) -> dict[str, Any]:
        """The fields of a claim that a match stands for; ``amounts`` are those of its numbers. Raises ``ClaimRefused``: They are at odds."""
        found: dict[str, Any] = {"pattern": self.pattern, **self.fixed}
        words = _sentences().words
        said = [words[slot][groups[slot]] for slot in words.keys() & groups.keys()]
        if len({fields["sign"] for fields in said if "sign" in fields}) > 1:
            raise ClaimRefused("state one rise and one fall: both moves have the same direction")
        for fields in said:
            found |= fields
        for manner in ("wide", "verb"):
            found.pop(manner, None)
        sign = found.pop("sign", 0)
        if sign and amounts.get("level") is not None:
            amounts["level"] *= sign
        if self.pattern == "range":
            amounts["level"], amounts["upper"] = sorted((amounts["level"], amounts["upper"]))
        if self.pattern == "first_move":
            amounts["upper"] *= -sign
        if self.pattern in ("first", "first_move"):
            found["side"] = "above" if amounts["level"] > amounts["upper"] else "below"
        return {**amounts, **found}


def _read(slot: str) -> str:
    if slot == "series":
        return r"S(?P<series>\d+)(?:'s)?"
    words = _sentences().words.get(slot)
    return SLOTS[slot][1] if words is None else f"(?P<{slot}>{'|'.join(words)})"


def _written(slot: str, claim: Claim) -> str | None:
    if slot == "series":
        return claim.about.article
    words = _sentences().words.get(slot)
    if words is None:
        return SLOTS[slot][0](claim)
    level = claim.level or 0.0
    traits = {
        "sign": -1 if level < 0 or (level == 0 and claim.side == "below") else 1,
        "wide": claim.about.wide,
    }

    def holds(fields: Mapping[str, Any]) -> Iterator[bool]:
        for name, value in fields.items():
            yield traits.get(name, getattr(claim, name, None)) == value

    # A claim may be stricter than its sentence can say.
    exact = (word for word, fields in words.items() if all(holds(fields)))
    near = (
        word
        for word, fields in words.items()
        if all(holds({name: value for name, value in fields.items() if name != "strict"}))
    )
    return next(exact, None) or next(near, None)


class _Sentences(BaseModel):
    """What `claim_sentences.yaml` holds."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    words: dict[str, dict[str, dict[str, bool | int | str]]]
    said: list[SentenceForm]
    written: list[SentenceForm]
    read: list[SentenceForm]


@cache
def _sentences() -> _Sentences:
    text = (files(__package__ or "") / "claim_sentences.yaml").read_text(encoding="utf-8")
    return _Sentences.model_validate(parse_yaml(text, "claim_sentences.yaml"))


@cache
def expressions() -> tuple[tuple[re.Pattern[str], SentenceForm], ...]:
    """Every template with the expression that reads it."""
    return tuple((template.expression, template) for template in (*_sentences().written, *_sentences().read))


_EVENTS = {"": "", "release": ", in the release for its month", "meeting": ", at the meeting that ends then"}


def sentence(claim: Claim) -> str:
    """The sentence of a claim, which begins with its series; raises ``ValueError`` where its pattern has none for its fields."""
    pattern = "mean" if claim.pattern in ("highest", "lowest") else claim.pattern
    article, table = claim.about.article, _sentences()
    for template in (*table.said, *table.written):
        if template.pattern == pattern and (text := template.written(claim)) is not None:
            if claim.against and "other" not in template.slots:
                article = f"{article} less {claim.against.article}"
            says_never = any("never" in fields for slot in template.slots for fields in table.words.get(slot, {}).values())  # fmt: skip
            negation = "It is not so that " if claim.never and not says_never else ""
            text = text if "series" in template.slots else f"{article} {text}"
            return negation + text + _EVENTS[claim.event]
    raise ValueError(
        f"a claim of the pattern {claim.pattern!r} lacks a level, or has a side that it cannot have"
    )
