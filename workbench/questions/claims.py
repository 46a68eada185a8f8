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
touch        some value after the cutoff, through ``end``, reaches ``level`` units of the series
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

Of ``count``, ``step`` and ``streak`` the values are the last of whole weeks or months where ``every`` says so.
``side`` is the side of the threshold that makes the event ("toward", for a touch, is settled by the last visible
value: :func:`settled`); ``strict`` leaves equality out; ``never`` turns a
touch or a drawdown into "it does not happen". A ``reference`` claim is the same event judged by its reference
class alone; it is how a tree keeps its own base rate as a leaf.
"""

from dataclasses import dataclass, field, replace
from datetime import date
from typing import Literal, get_args

from workbench.forecasts.periods import Period
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
]
Side = Literal["above", "below", "toward"]

REFERENCE = "Reference class:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A decidable claim; see the module for the meaning of the fields per pattern.

    ``series`` and ``other`` are names of `series_named`: ``SP500``, ``yahoo:AAPL``. ``observed`` is the series with what its rows alone tell
    (how often it has a value), once they have been seen (`workbench.questions.decision.settle`); it makes no other claim.
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
    every: Period | None = None
    never: bool = False
    reference: bool = False
    notes: tuple[str, ...] = ()
    observed: Series | None = field(default=None, compare=False, repr=False)

    @property
    def about(self) -> Series:
        """The series the claim is about."""
        return self.observed or series_named(self.series)

    @property
    def last_close(self) -> date:
        """The day whose value counts at the end: of a market of New York, the session before an end without trading."""
        return last_session(self.end) if self._by_session else self.end

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a person has to know of the reading: the notes, and days without trading."""
        on_a_day = self.pattern in ("compare", "level", "average", "range", "change", "relative")
        days = [day for day in (self.start, self.end) if day and on_a_day and self._by_session]
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
        return series_named(self.other) if self.other else None

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
        of = "the realised volatility of " if self.pattern == "volatility" else ""
        sentence = f"{of}{self.about.article} {_SENTENCES[self.pattern](self)}"
        if self.reference:
            return f"{REFERENCE} {sentence}"
        # A reference is written as it is.
        return sentence[0].upper() + sentence[1:] if series_named(self.series).embedded else sentence

    def going_on(self) -> "Claim":
        """The claim about the sources that have its last day: embedded series have ended, and go on elsewhere (`going_on`)."""
        other = self.other and going_on(self.other, self.end)
        return replace(self, series=going_on(self.series, self.end), other=other)


def settled(claim: Claim, last_value: float) -> Claim:
    """The claim with a touch's side settled: a level over the last visible value is reached from below."""
    if claim.side != "toward":
        return claim
    return replace(claim, side="above" if amount(claim) > last_value else "below")


def number(value: float) -> str:
    """A number as short as it can be written without loss: ``20``, ``12.5``, ``1.05``."""
    return f"{value:.10g}"


def amount(claim: Claim) -> float:
    """The claim's level, which its pattern has to have."""
    if claim.level is None:
        raise ValueError(f"a claim of the pattern {claim.pattern!r} needs a level")
    return claim.level


def _verb(claim: Claim) -> str:
    # Not of what was observed: the sentence is the same before and after.
    series = series_named(claim.series)
    if series.embedded:
        return "is" if series.monthly else "closes"
    return series.verb


def _compare(claim: Claim) -> str:
    up, down = ("wider", "narrower") if claim.about.wide else ("higher", "lower")
    word = up if (claim.side == "above") == claim.strict else down
    than = f"on {claim.start}" if claim.start else "the last value known"
    return f"{_verb(claim)} {'' if claim.strict else 'no '}{word} on {claim.end} than {than}"


def _above_or_below(claim: Claim) -> str:
    return f"{'' if claim.strict else 'at or '}{claim.side} {number(amount(claim))}"


def _level(claim: Claim) -> str:
    return f"{_verb(claim)} {_above_or_below(claim)} on {claim.end}"


def _average(claim: Claim) -> str:
    beyond = f"at least {number(abs(claim.level))} % " if claim.level else ""
    return f"closes {beyond}{claim.side} its 200-day average on {claim.end}"


def _range(claim: Claim) -> str:
    return f"{_verb(claim)} between {number(amount(claim))} and {_upper(claim)} on {claim.end}"


def _upper(claim: Claim) -> str:
    return number(claim.upper or 0.0)


def _moves(up: bool, holds: bool = True) -> str:
    verb = "rise" if up else "fall"
    return f"{verb}s" if holds else f"does not {verb}"


def _closes(claim: Claim) -> str:
    return "never closes" if claim.never else "closes"


def _size(claim: Claim) -> str:
    return f"by {'more than' if claim.strict else 'at least'} {number(abs(amount(claim)))} %"


def _change(claim: Claim) -> str:
    level = amount(claim)
    rises = level > 0 or (level == 0 and claim.side == "above")
    word = _moves(rises, (claim.side == "above") == rises)
    return f"{word} at least {number(abs(level))} % {_span(claim, 'by')}"


def _span(claim: Claim, alone: str = "through") -> str:
    return f"from {claim.start} to {claim.end}" if claim.start else f"{alone} {claim.end}"


def _touch(claim: Claim) -> str:
    level = number(amount(claim))
    if claim.side == "toward":
        return f"{'never touches' if claim.never else 'touches'} {level} {_span(claim)}"
    return (
        f"{_closes(claim)} at or {claim.side} {level}{'' if claim.never else ' at least once'} {_span(claim)}"
    )


def _drawdown(claim: Claim) -> str:
    once = "" if claim.never else " at least once"
    base = f"its {claim.start} close" if claim.start else "its last known close"
    level = number(abs(amount(claim)))
    return f"{_closes(claim)} {level} % or more {claim.side} {base}{once} through {claim.end}"


def _volatility(claim: Claim) -> str:
    word = "above" if claim.side == "above" else "at most"
    return f"{_span(claim)} is {word} {number(amount(claim))} %"


def _relative(claim: Claim) -> str:
    assert claim.against is not None, "it has two series"
    word = "outperforms" if claim.side == "above" else "underperforms"
    return f"{word} {claim.against.article} {_span(claim, 'by')}"


def _statistic(claim: Claim) -> str:
    name = {"mean": "average", "highest": "highest value", "lowest": "lowest value"}[claim.pattern]
    return f"has its {name} {_above_or_below(claim)} {_span(claim)}"


def _count_sentence(claim: Claim) -> str:
    what = _higher_or_lower(claim) if claim.level is None else _above_or_below(claim)
    return f"{_verb(claim)} {what} {_on_steps(claim, claim.times)}s {_span(claim)}"


def _higher_or_lower(claim: Claim) -> str:
    return "higher" if claim.side == "above" else "lower"


def _on_steps(claim: Claim, times: int | str) -> str:
    unit = claim.every or ("month" if claim.about.monthly else "day")
    return f"{'on' if unit == 'day' else 'in'} at least {times} {unit}"


def _points_sentence(claim: Claim) -> str:
    level = amount(claim)
    word = _moves(level > 0, (claim.side == "above") == (level > 0))
    return f"{word} by at least {number(abs(level))} points {_span(claim, 'by')}"


def _move_sentence(claim: Claim) -> str:
    verb = "does not move" if claim.never else "moves"
    return f"{verb} {_size(claim)} either way {_span(claim, 'by')}"


def _step_sentence(claim: Claim) -> str:
    word = _moves(amount(claim) > 0, not claim.never)
    return f"{word} {_size(claim)} {_on_steps(claim, 'one')} {_span(claim)}"


def _peak_sentence(claim: Claim) -> str:
    level = number(-amount(claim))
    return f"{_closes(claim)} {level} % or more below its highest close of the window {_span(claim)}"


def _streak_sentence(claim: Claim) -> str:
    steps = _on_steps(claim, f"{claim.times} consecutive")
    return f"{_verb(claim)} {_higher_or_lower(claim)} {steps}s {_span(claim)}"


def _record_sentence(claim: Claim) -> str:
    weeks = f"{claim.times}-week " if claim.times > 1 else ""
    way = "high" if claim.side == "above" else "low"
    return f"{_closes(claim)} at a new {weeks}{way} at least once {_span(claim)}"


def _first_sentence(claim: Claim) -> str:
    verb = "does not reach" if claim.never else "reaches"
    return f"{verb} {number(amount(claim))} before {_upper(claim)} {_span(claim)}"


def _first_move_sentence(claim: Claim) -> str:
    up = amount(claim) > 0
    other = f"it {_moves(not up)} {number(abs(claim.upper or 0.0))} %"
    return f"{_moves(up, not claim.never)} {number(abs(amount(claim)))} % before {other} {_span(claim)}"


_SENTENCES = {
    "compare": _compare,
    "level": _level,
    "average": _average,
    "range": _range,
    "change": _change,
    "touch": _touch,
    "drawdown": _drawdown,
    "volatility": _volatility,
    "relative": _relative,
    "mean": _statistic,
    "highest": _statistic,
    "lowest": _statistic,
    "count": _count_sentence,
    "points": _points_sentence,
    "move": _move_sentence,
    "step": _step_sentence,
    "peak": _peak_sentence,
    "streak": _streak_sentence,
    "record": _record_sentence,
    "first": _first_sentence,
    "first_move": _first_move_sentence,
}
