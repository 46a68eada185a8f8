"""List claims that could explain a claim: its series' level, trend and volatility, related series, releases in the window."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import date, timedelta
from functools import partial
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np

from proxies.vendors.embedded import SERIES as SOURCES
from proxies.vendors.embedded import known
from workbench.questions.claims import BY_READING, Claim, Side, amount
from workbench.questions.decision import Rows, value_series
from workbench.questions.errors import ClaimRefused
from workbench.questions.readings.calendar_days import last_session
from workbench.questions.series.embedded_series import SERIES
from workbench.questions.series.known_series import month_end
from workbench.science.arrays import FloatArray

Role = Literal["state", "trend", "volatility", "related series", "release"]

_PERCENTS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30)
# In per cent, tried in this order: a fall of 5 first, then outwards from it.
_FALLS = (5, 4, 6, 3, 7, 8, 2, 10, 12, 15, 20, 1)
#: Closes of the 252 daily moves of a trading year.
_A_YEAR = 253
#: Series that another claim's drivers may be about. Two share indices are one market: either would say the other's claim again.
_DAILY, _MONTHLY = ("SP500", "WTI", "VIX"), ("SPREAD", "CORE_CPI")
_SHARES = ("SP500", "NASDAQ")


class DriverKind(NamedTuple):
    """A kind of driver."""

    role: Role
    #: That the candidates are about.
    series: str
    #: Claims that differ in their threshold, given the direction: up, calm or wide, or the opposite.
    candidates: Callable[[bool], list[Claim]]


class DriverCandidates:
    """Lists drivers of one claim at one cutoff; the planner picks among their candidates by their past outcomes."""

    def __init__(self, claim: Claim, rows: Mapping[str, Rows], last_day: date) -> None:
        self.claim = claim
        self.rows = rows
        self.last_day = last_day
        # Markets have no close on every day: drivers begin and end on sessions.
        today = last_session(last_day)
        start = claim.start if claim.start is not None and claim.start > today else today
        self.start, self.end = start, claim.end
        self.middle = last_session(start + (claim.end - start) / 2)

    def own(self) -> list[DriverKind]:
        """Return state, volatility and trend of the claim's own series."""
        claim, name = self.claim, self.claim.series
        # Prices in general move by tenths of a percent, those of a market by whole ones.
        by = 0.1 if claim.about.kind == "index" else 1.0
        trend = partial(self._moves, name, self.start, self.middle, by=by)
        # Fear and yields rise with the volatility of shares; a monthly series has none of its own.
        price = claim.about.kind == "price"
        moving = name if price else "SP500"
        volatility = partial(self._calm, moving, self.end)
        if claim.pattern in ("touch", "drawdown", "relative"):
            trend = partial(self._moves, name, self.start, self.end)
        elif price or claim.pattern == "volatility":
            volatility = partial(self._holds, name)
        return [
            DriverKind("state", name, self._state),
            DriverKind("volatility", moving, volatility),
            DriverKind("trend", name, trend),
        ]

    def related(self) -> list[DriverKind]:
        """Return other series over the claim's window; their past co-movement decides among them."""
        return [
            self._fear("related series")
            if name == "VIX"
            else DriverKind("related series", name, partial(self._moves, name, self.start, self.end))
            for name in _DAILY
            if self._is_other(name)
        ]

    def releases(self) -> list[DriverKind]:
        """Return monthly series with a value published within the window, by its last one."""
        kinds = []
        for name in _MONTHLY:
            end = last_release(name, self.last_day, self.end)
            if end is not None and self._is_other(name):
                spread = name == "SPREAD"
                moves = partial(self._moves, name, self.start, end, by=0.1)
                kinds.append(DriverKind("release", name, partial(self._spreads, end) if spread else moves))
        return kinds

    def below(self) -> list[DriverKind]:
        """Return drivers of a driver: the way so far and the volatility behind a deep fall, and the two halves of a move."""
        name = self.claim.series
        if self.claim.pattern == "drawdown":
            return [
                DriverKind("state", name, self._state),
                DriverKind("volatility", name, partial(self._calm, name, self.end)),
                # Of share prices alone the VIX is the volatility that options imply.
                *([self._fear("volatility")] if name in _SHARES else []),
            ]
        if self.claim.pattern in ("compare", "change") and not self.claim.about.monthly:
            days = (self.start, self.middle, self.end)
            return [DriverKind("trend", name, partial(self._moves, name, *span)) for span in pairwise(days)]
        return []

    def _is_other(self, name: str) -> bool:
        mine = {self.claim.series, self.claim.other}
        if name in _SHARES and mine & set(_SHARES):
            return False
        return not mine & {name} and not set(SERIES[name].sources) & set(self.claim.sources)

    def _fear(self, role: Role) -> DriverKind:
        levels = [float(level) for level in _outwards(range(10, 41), 20)]
        return DriverKind(
            role, "VIX", lambda above: _at_levels(levels, above, pattern="level", series="VIX", end=self.end)
        )

    # --- candidates ------------------------------------------------------------------------------------------

    def _state(self, up: bool) -> list[Claim]:
        claim = self.claim
        if claim.pattern in ("touch", "drawdown"):
            return self._same_earlier()
        if claim.pattern == "range":
            return self._ranges()
        if claim.pattern in BY_READING:
            return [self._by_middle(claim.start)]
        if claim.pattern == "volatility":
            return self._volatilities(claim.series, above=up, end=self.middle)
        if claim.pattern == "relative":
            return [self._by_middle(self.start)]
        if claim.pattern == "average":
            return [self._by_middle(None)]
        if claim.about.kind == "price":
            side: Side = "above" if up else "below"
            return [
                Claim(
                    pattern="average",
                    series=claim.series,
                    end=self.end,
                    side=side,
                    level=level,
                    strict=level is None,
                )
                for level in (None, *map(float, (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20)))
            ]
        if claim.pattern == "level" or claim.about.kind == "index":
            return self._half_way()
        return self._levels(up)

    def _by_middle(self, start: date | None, **changes: Any) -> Claim:
        """Move the claim to a window that ends half way."""
        return replace(self.claim, start=start, end=self.middle, reference=False, notes=(), **changes)

    def _values(self, name: str) -> FloatArray:
        try:
            return value_series(name, self.rows).to_numpy()
        except ClaimRefused:
            return np.empty(0)

    @property
    def _unit(self) -> float:
        return 1.0 if self.claim.about.kind == "volatility" else 0.05

    def _calm(self, name: str, end: date, calm: bool) -> list[Claim]:
        return self._volatilities(name, above=not calm, end=end)

    def _levels(self, up: bool) -> list[Claim]:
        values = self._values(self.claim.series)
        if not len(values):
            return []
        centre = round(float(np.median(values)) / self._unit)
        levels = [round(self._unit * step, 2) for step in _outwards(range(1, max(2 * centre, 2)), centre)]
        return _at_levels(levels, up, pattern="level", series=self.claim.series, end=self.middle)

    def _ranges(self) -> list[Claim]:
        low, high = amount(self.claim), self.claim.upper or 0.0
        width = high - low
        # The claim's own range first, then wider ones, up to three times as wide.
        bounds = [
            (round(max(low - part * width, min(low, 0.01)), 2), round(high + part * width, 2))
            for part in (0, 0.1, 0.2, 0.35, 0.5, 1.0)
        ]
        return [
            Claim(
                pattern="range",
                series=self.claim.series,
                end=self.middle,
                strict=False,
                level=level,
                upper=upper,
            )
            for level, upper in bounds
            if level < upper
        ]

    def _moves(self, name: str, start: date, end: date, up: bool, *, by: float = 1.0) -> list[Claim]:
        """List moves up (down), then with a margin either way, small ones first; ``by`` scales the margins."""
        if end <= start:
            return []
        sign, percents = 1 if up else -1, _PERCENTS if (self._values(name)[-_A_YEAR:] > 0).all() else ()
        side: Side = "above" if up else "below"
        move = Claim(pattern="compare", series=name, start=start, end=end, side=side)
        # a stricter claim: moves at least n % this way; a weaker one: does not move n % the other way
        # of a value at or below zero nothing is a percentage
        return [replace(move, strict=strict) for strict in (True, False)] + [
            replace(move, pattern="change", level=round(way * n * by, 1), strict=way != sign)
            for n in percents
            for way in (sign, -sign)
        ]

    def _holds(self, name: str, holds: bool) -> list[Claim]:
        """List "no deep fall on the way"; or one."""
        fall = Claim(
            pattern="drawdown",
            series=name,
            start=self.start,
            end=self.end,
            side="below",
            strict=False,
            never=holds,
        )
        return [replace(fall, level=-float(n)) for n in _FALLS]

    def _volatilities(self, name: str, *, above: bool, end: date) -> list[Claim]:
        # From fewer than 60 closes no level is guessed.
        recent = self._values(name)[-_A_YEAR:]
        if end <= self.start or len(recent) < 60 or not (recent > 0).all():
            return []
        steps = [(b / a - 1) ** 2 for a, b in pairwise(recent)]
        # In half points per cent a year, as the grid below, which starts at 4.
        centre = max(4.0, round(200 * (252 * sum(steps) / len(steps)) ** 0.5) / 2)
        levels = _outwards([n / 2 for n in range(8, 121)], centre)
        return _at_levels(levels, above, pattern="volatility", series=name, start=self.start, end=end)

    def _spreads(self, end: date, wider: bool) -> list[Claim]:
        """List "not wider (wider) than at the start", then levels around the last value known."""
        spread: dict[str, Any] = {"series": "SPREAD", "end": end}
        values = self._values("SPREAD")
        # The grid has steps of 0.05 points, so the centre is put on it.
        levels = (
            _outwards([round(0.05 * n, 2) for n in range(1, 101)], round(20 * values[-1]) / 20)
            if len(values)
            else []
        )
        return [
            *_at_levels([None], wider, pattern="compare", start=self.start, **spread),
            *_at_levels(levels, wider, pattern="level", **spread),
        ]

    def _half_way(self) -> list[Claim]:
        claim = self.claim
        if claim.pattern == "change" and claim.level is not None:
            half = claim.level / 2
            parts = [half, *(half + sign * step for step in (0.25, 0.5, 1, 2) for sign in (1, -1))]
            return [self._by_middle(claim.start, level=round(part, 2)) for part in parts if part]
        if claim.pattern not in ("level", "touch"):
            return [self._by_middle(claim.start)]
        steps = [0.0, *(sign * n * self._unit for n in range(1, 9) for sign in (1, -1))]
        levels = [round(amount(claim) + step, 2) for step in steps if amount(claim) + step > 0]
        return [self._by_middle(None, level=level) for level in levels]

    def _same_earlier(self) -> list[Claim]:
        claim, base = self.claim, 0.0
        if claim.pattern == "touch":
            values = self._values(claim.series)
            if not len(values):
                return []
            base = float(values[-1])
        if self.middle <= self.start:
            return []
        levels = [base + (amount(claim) - base) * part for part in (1, 0.8, 0.7, 0.6, 0.5, 0.4, 1.2, 1.5)]
        return [self._by_middle(claim.start, level=round(level, 2)) for level in levels]


def _outwards(grid: Iterable[float], centre: float) -> list[float]:
    return sorted(grid, key=lambda level: (abs(level - centre), level))


def _at_levels(levels: Iterable[float | None], up: bool, **claim: Any) -> list[Claim]:
    """List claims that differ in their level: above each of them, or else at or below it."""
    return [Claim(side="above" if up else "below", strict=up, level=level, **claim) for level in levels]


def last_release(name: str, last_day: date, through: date) -> date | None:
    """Return the end of a monthly series' last month published after ``last_day`` and by ``through``; None for none.

    >>> last_release("SPREAD", date(2018, 6, 29), date(2018, 12, 31)), last_release("SPREAD", date(2018, 6, 29), date(2018, 7, 2))
    (datetime.date(2018, 11, 30), None)
    """
    first = through.replace(day=1)
    while (end := month_end(first)) > last_day:
        published = max(known(first, SOURCES[source].rule) for source in SERIES[name].sources)
        if published <= through.isoformat():
            return end
        first = (first - timedelta(days=1)).replace(day=1)
    return None
