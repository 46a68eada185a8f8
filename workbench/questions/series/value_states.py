"""Every state in which the values of a series stood, and from which day: what a revised series looked like on any past day."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from workbench.forecasts.series.series_history import History
from workbench.questions.errors import ClaimRefused
from workbench.questions.series.series_reference import SeriesRef

#: Sources that tell of every value when it stood; sources whose values are known at the end of their own day, and never revised.
_TELLS: tuple[str, ...] = ("fred",)
_KNOWN_AT_ONCE = ("embedded", "yfinance", "fmp", "kalshi", "polymarket")
#: FRED's first day: from it on, one call gives all states.
_FIRST_DAY = "1776-07-04"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownRow:
    """One value, the day it belongs to, and the day on which it became known; None where it was taken back on that day."""

    date: str
    value: float | None
    known: str


def last_states(rows: Iterable[KnownRow]) -> list[dict[str, Any]]:
    """Return the last state of each day; states of one day stand in the order in which they became known."""
    values = {row.date: row.value for row in rows}
    return [{"date": day, "value": value} for day, value in values.items() if value is not None]


@dataclass(frozen=True, slots=True)
class SeriesStates:
    """The states of one series, by the day they belong to and then as they became known."""

    rows: tuple[KnownRow, ...]

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> "SeriesStates":
        """Return the states in FRED's answer to a call with `params_of_states`.

        A value that stops standing with no other in its place was taken back, as when a weekly series moves to another weekday.
        """
        by_day: dict[str, list[Mapping[str, Any]]] = {}
        for row in sorted(data["observations"], key=lambda row: (row["date"], row["realtime_start"])):
            by_day.setdefault(row["date"], []).append(row)
        rows = []
        for day, states in by_day.items():
            begins = [state["realtime_start"] for state in states[1:]] + [None]
            for state, begin in zip(states, begins, strict=True):
                value = None if state["value"] in (".", "") else float(state["value"])
                rows.append(KnownRow(date=day, value=value, known=state["realtime_start"]))
                if state["realtime_end"] < data["realtime_end"]:
                    over = (date.fromisoformat(state["realtime_end"]) + timedelta(days=1)).isoformat()
                    if begin != over:
                        rows.append(KnownRow(date=day, value=None, known=over))
        return cls(tuple(rows))

    def as_of(self, day: str) -> History:
        """Return the series as it stood at the end of a day; raises ``DomainError`` where none of it was known."""
        return _history_of(row for row in self.rows if row.known <= day)

    def newest(self) -> History:
        """Return the series in its last state; raises ``DomainError`` where no value stands."""
        return _history_of(self.rows)

    def first_known(self) -> dict[str, str]:
        """Return the day on which each value first became known."""
        first: dict[str, str] = {}
        for row in self.rows:
            if row.value is not None:
                first.setdefault(row.date, row.known)
        return first

    def releases(self) -> list[str]:
        """Return the days whose value was the latest of the series when it came out, oldest first.

        An archive that begins long after its series has all the values before in one state: of these the last alone is among them.
        """
        first = sorted(self.first_known().items())
        days, earliest = [], "9999-12-31"
        for day, known in reversed(first):
            if known < earliest:
                days.append(day)
                earliest = known
        return days[::-1]

    def settled(self, day: date) -> History:
        """Return the series as it stood when its last value through a day first came out: what a question about that day goes by."""
        first = self.first_known()
        through = [each for each in first if each <= day.isoformat()]
        return self.newest() if not through else self.as_of(first[max(through)])


def _history_of(rows: Iterable[KnownRow]) -> History:
    states = last_states(rows)
    return History.of([row["date"] for row in states], [row["value"] for row in states])


def params_of_states(ref: SeriesRef, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that make a call for a series one for all its states, where its source keeps them."""
    return {**params, **({"realtime_start": _FIRST_DAY} if ref.source in _TELLS else {})}


def untold(ref: SeriesRef) -> str:
    """Return why no past forecast of a series can be made again: its values are revised, and nobody says when; "" where one can."""
    if ref.source in (*_TELLS, *_KNOWN_AT_ONCE):
        return ""
    return f"no earlier versions of the values of {ref.reference} can be read, so past forecasts cannot be repeated"


def states_of(ref: SeriesRef, data: Any) -> SeriesStates | None:
    """Return the states in a source's answer to such a call; None of a source that tells of none. Raises ``ClaimRefused`` for another shape."""
    if ref.source not in _TELLS:
        return None
    try:
        return SeriesStates.of(data)
    except (KeyError, TypeError, ValueError) as error:
        raise ClaimRefused(
            f"the answer for {ref} is not built as its source builds series: {error!r:.80}"
        ) from None
