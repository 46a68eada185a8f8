"""What a claim needs to know of its series: how it is called in a sentence, what kind it is, how often it has values, how far it reaches."""

from calendar import monthrange
from dataclasses import dataclass
from datetime import date
from typing import Literal

Kind = Literal["price", "volatility", "yield", "index"]
#: How often a series has a value; "" where only its rows tell.
Frequency = Literal["daily", "weekly", "monthly", "quarterly", "yearly", ""]
#: The days that a daily series has: sessions of an exchange, or all.
Days = Literal["weekdays", "every day"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One series as claims see it."""

    #: What a claim names it by: a key of the embedded series (``WTI``), or a reference (``yahoo:AAPL``).
    id: str
    #: The name as it stands inside a sentence.
    article: str
    #: kind, unit, frequency, days: As its source documents them.
    kind: Kind
    unit: str
    frequency: Frequency
    #: What its rows are asked for by; of two, the value is the first minus the second.
    sources: tuple[str, ...]
    days: Days = "weekdays"
    #: Days after its period until a value is published, where the source has no vintages that tell.
    lag: int = 0
    #: Whether the source keeps what was published first: an outcome may go by that or by the latest state.
    revised: bool = False
    #: first, last: Days (of a monthly series: first days of months) of the first and last value of a series that has ended; None: it goes
    #: on.
    first: date | None = None
    last: date | None = None
    #: For people: ``Apple``; "" for that of its article.
    name: str = ""
    #: How people write it, where no reference is needed.
    pattern: str = ""
    #: Whether it is wider and narrower instead of higher and lower.
    wide: bool = False
    #: Whether its source documents values at or below zero (a spread, a real rate, a balance): then no claim about it is in percent.
    signed: bool = False
    #: The reference under which a series that has ended goes on.
    goes_on: str = ""

    @property
    def monthly(self) -> bool:
        """Whether a value stands for a month or longer, which has to be over before it is known."""
        return self.frequency in ("monthly", "quarterly", "yearly")

    @property
    def embedded(self) -> bool:
        """Whether it lies in the installed package, and no network is needed."""
        return ":" not in self.id

    @property
    def verb(self) -> str:
        """What it does on a day: prices close, other values are."""
        return "closes" if self.kind in ("price", "volatility") and not self.monthly else "is"


def month_end(day: date) -> date:
    """Return the last day of the month that a day falls in."""
    return day.replace(day=monthrange(day.year, day.month)[1])


def data_end(series: Series) -> date | None:
    """Return the last day on which a series still has a value: for a monthly one, the end of its last month; None where it goes on."""
    if series.last is None:
        return None
    return month_end(series.last) if series.monthly else series.last
