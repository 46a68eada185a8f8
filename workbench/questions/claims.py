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
from workbench.questions.claim_sentences import number, sentence
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
__all__ = ["BY_READING", "REFERENCE", "Claim", "Pattern", "Side", "amount", "number", "settled"]


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
        text = sentence(self)
        if self.reference:
            return f"{REFERENCE} {text}"
        # A reference is written as it is.
        return text[0].upper() + text[1:] if series_named(self.series).embedded else text

    @property
    def verb(self) -> str:
        """What its series does on a day; not of what was observed, so that the sentence is the same before and after."""
        series = series_named(self.series)
        if series.embedded:
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
