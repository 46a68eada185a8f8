"""List claims that could explain a claim: its series' level, trend and volatility, related series, releases in the window."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import partial
from itertools import pairwise
from typing import Literal

from proxies.vendors.embedded import SERIES as SOURCES
from proxies.vendors.embedded import known
from workbench.questions.claims import BY_READING, Claim, Side, amount
from workbench.questions.decision import Rows, value_series
from workbench.questions.errors import ClaimRefused
from workbench.questions.readings.calendar_days import last_session
from workbench.questions.series.embedded_series import SERIES
from workbench.questions.series.known_series import month_end

Role = Literal["state", "trend", "volatility", "related series", "release"]

_PERCENTS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30)
# In per cent, tried in this order: a fall of 5 first, then outwards from it.
_FALLS = (5, 4, 6, 3, 7, 8, 2, 10, 12, 15, 20, 1)
#: Series that another claim's drivers may be about. Two share indices are one market: either would say the other's claim again.
_DAILY, _MONTHLY = ("SP500", "WTI", "VIX"), ("SPREAD", "CORE_CPI")
_SHARES = ("SP500", "NASDAQ")


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverKind:
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
        whole = partial(self._moves, name, self.start, self.end)
        # Prices in general move by tenths of a percent, those of a market by whole ones.
        by = 0.1 if claim.about.kind == "index" else 1.0
        first_half = partial(self._moves, name, self.start, self.middle, by=by)
        # Fear and yields rise with the volatility of shares; a monthly series has none of its own.
        price = claim.about.kind == "price"
        calm = partial(self._calm, name if price else "SP500", self.end)
        by_pattern = {
            "touch": (whole, calm),
            "drawdown": (whole, calm),
            "relative": (whole, calm),
            "volatility": (first_half, partial(self._holds, name)),
        }
        trend, volatility = by_pattern.get(
            claim.pattern, (first_half, partial(self._holds, name) if price else calm)
        )
        return [
            DriverKind(role="state", series=name, candidates=self._state),
            DriverKind(role="volatility", series=name if price else "SP500", candidates=volatility),
            DriverKind(role="trend", series=name, candidates=trend),
        ]

    def related(self) -> list[DriverKind]:
        """Return other series over the claim's window; their past co-movement decides among them."""
        candidates = {
            name: self._levels_of_fear if name == "VIX" else partial(self._moves, name, self.start, self.end)
            for name in _DAILY
            if self._is_other(name)
        }
        return [
            DriverKind(role="related series", series=name, candidates=listed)
            for name, listed in candidates.items()
        ]

    def releases(self) -> list[DriverKind]:
        """Return monthly series with a value published within the window, by its last one."""
        kinds = []
        for name in _MONTHLY:
            end = last_release(name, self.last_day, self.end)
            if end is not None and self._is_other(name):
                candidates = (
                    partial(self._spreads, end)
                    if name == "SPREAD"
                    else partial(self._moves, name, self.start, end, by=0.1)
                )
                kinds.append(DriverKind(role="release", series=name, candidates=candidates))
        return kinds

    def below(self) -> list[DriverKind]:
        """Return drivers of a driver: the way so far and the volatility behind a deep fall, and the two halves of a move."""
        name = self.claim.series
        if self.claim.pattern == "drawdown":
            calm = partial(self._calm, name, self.end)
            fear = DriverKind(role="volatility", series="VIX", candidates=self._levels_of_fear)
            return [
                DriverKind(role="state", series=name, candidates=self._state),
                DriverKind(role="volatility", series=name, candidates=calm),
                # Of share prices alone the VIX is the volatility that options imply.
                *([fear] if name in _SHARES else []),
            ]
        if self.claim.pattern in ("compare", "change") and not self.claim.about.monthly:
            spans = ((self.start, self.middle), (self.middle, self.end))
            return [
                DriverKind(role="trend", series=name, candidates=partial(self._moves, name, *span))
                for span in spans
            ]
        return []

    def _is_other(self, name: str) -> bool:
        mine = {self.claim.series, self.claim.other}
        if name in _SHARES and mine & set(_SHARES):
            return False
        return not mine & {name} and not set(SERIES[name].sources) & set(self.claim.sources)

    # --- candidates ------------------------------------------------------------------------------------------

    def _state(self, up: bool) -> list[Claim]:
        claim = self.claim
        if claim.pattern in ("touch", "drawdown"):
            return self._same_earlier()
        if claim.pattern == "range":
            return self._ranges()
        if claim.pattern in BY_READING:
            return [replace_span(claim, claim.start, self.middle)]
        if claim.pattern == "volatility":
            return self._volatilities(claim.series, above=up, end=self.middle)
        if claim.pattern == "relative":
            return [replace_span(claim, self.start, self.middle)]
        if claim.pattern == "average":
            return [replace_span(claim, None, self.middle)]
        if claim.about.kind == "price":
            return self._averages(claim.series, up)
        if claim.pattern == "level" or claim.about.kind == "index":
            return self._half_way()
        return self._levels(up)

    def _calm(self, name: str, end: date, calm: bool) -> list[Claim]:
        return self._volatilities(name, above=not calm, end=end)

    def _levels(self, up: bool) -> list[Claim]:
        try:
            values = value_series(self.claim.series, self.rows)
        except ClaimRefused:
            return []
        unit = 1.0 if self.claim.about.kind == "volatility" else 0.05
        centre = round(float(values.median()) / unit)
        steps = sorted(range(1, max(2 * centre, 2)), key=lambda step: (abs(step - centre), step))
        return [
            Claim(
                pattern="level",
                series=self.claim.series,
                end=self.middle,
                side="above" if up else "below",
                strict=up,
                level=round(unit * step, 2),
            )
            for step in steps
        ]

    def _ranges(self) -> list[Claim]:
        low, high = amount(self.claim), self.claim.upper or 0.0
        width = high - low
        # The claim's own range first, then wider ones, up to three times as wide.
        return [
            Claim(
                pattern="range",
                series=self.claim.series,
                end=self.middle,
                strict=False,
                level=round(max(low - part * width, 0.01), 2),
                upper=round(high + part * width, 2),
            )
            for part in (0, 0.1, 0.2, 0.35, 0.5, 1.0)
        ]

    def _moves(self, name: str, start: date, end: date, up: bool, *, by: float = 1.0) -> list[Claim]:
        """List moves up (down), then with a margin either way, small ones first; ``by`` scales the margins."""
        if end <= start:
            return []
        sign = 1 if up else -1
        side: Side = "above" if up else "below"
        claims = [
            Claim(pattern="compare", series=name, start=start, end=end, side=side, strict=strict)
            for strict in (True, False)
        ]
        for n in _PERCENTS:
            # a stricter claim: moves at least n % this way; a weaker one: does not move n % the other way
            claims += [
                Claim(
                    pattern="change",
                    series=name,
                    start=start,
                    end=end,
                    level=round(way * n * by, 1),
                    side=side,
                    strict=way != sign,
                )
                for way in (sign, -sign)
            ]
        return claims

    def _averages(self, name: str, up: bool) -> list[Claim]:
        side: Side = "above" if up else "below"
        return [
            Claim(pattern="average", series=name, end=self.end, side=side, level=level, strict=level is None)
            for level in (None, *(float(n) for n in (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20)))
        ]

    def _holds(self, name: str, holds: bool) -> list[Claim]:
        """List "no deep fall on the way"; or one."""
        return [
            Claim(
                pattern="drawdown",
                series=name,
                start=self.start,
                end=self.end,
                side="below",
                strict=False,
                level=-float(n),
                never=holds,
            )
            for n in _FALLS
        ]

    def _volatilities(self, name: str, *, above: bool, end: date) -> list[Claim]:
        if end <= self.start:
            return []
        try:
            closes = value_series(name, self.rows)
        except ClaimRefused:
            return []
        # 253 closes are the 252 daily moves of a trading year; from fewer than 60 no level is guessed.
        recent = closes.iloc[-253:].to_numpy()
        if len(recent) < 60:
            return []
        steps = [(b / a - 1) ** 2 for a, b in pairwise(recent)]
        # In half points per cent a year, as the grid below, which starts at 4.
        centre = max(4.0, round(200 * (252 * sum(steps) / len(steps)) ** 0.5) / 2)
        grid = sorted((n / 2 for n in range(8, 121)), key=lambda level: (abs(level - centre), level))
        side: Side = "above" if above else "below"
        return [
            Claim(
                pattern="volatility",
                series=name,
                start=self.start,
                end=end,
                side=side,
                strict=above,
                level=level,
            )
            for level in grid
        ]

    def _levels_of_fear(self, above: bool) -> list[Claim]:
        grid = sorted(range(10, 41), key=lambda level: (abs(level - 20), level))
        return [
            Claim(
                pattern="level",
                series="VIX",
                end=self.end,
                side="above" if above else "below",
                strict=above,
                level=float(level),
            )
            for level in grid
        ]

    def _spreads(self, end: date, wider: bool) -> list[Claim]:
        """List "not wider (wider) than at the start", then levels around the last value known."""
        side: Side = "above" if wider else "below"
        claims = [
            Claim(pattern="compare", series="SPREAD", start=self.start, end=end, side=side, strict=wider)
        ]
        try:
            last = float(value_series("SPREAD", self.rows).iloc[-1])
        except (ClaimRefused, KeyError):
            return claims
        # The grid has steps of 0.05 points, so the centre is put on it.
        centre = round(20 * last) / 20
        grid = sorted(
            (round(0.05 * n, 2) for n in range(1, 101)), key=lambda level: (abs(level - centre), level)
        )
        return claims + [
            Claim(pattern="level", series="SPREAD", end=end, side=side, strict=wider, level=level)
            for level in grid
        ]

    def _half_way(self) -> list[Claim]:
        claim = self.claim
        if claim.pattern == "change" and claim.level is not None:
            parts = [
                claim.level / 2,
                *(claim.level / 2 + sign * step for step in (0.25, 0.5, 1, 2) for sign in (1, -1)),
            ]
            return [
                replace_level(replace_span(claim, claim.start, self.middle), round(part, 2))
                for part in parts
                if part
            ]
        if claim.pattern not in ("level", "touch"):
            return [replace_span(claim, claim.start, self.middle)]
        level = amount(claim)
        unit = 1.0 if claim.about.kind == "volatility" else 0.05
        steps = [0.0, *(sign * n * unit for n in range(1, 9) for sign in (1, -1))]
        levels = [round(level + step, 2) for step in steps if level + step > 0]
        return [replace_level(replace_span(claim, None, self.middle), value) for value in levels]

    def _same_earlier(self) -> list[Claim]:
        claim = self.claim
        level = amount(claim)
        if claim.pattern == "drawdown":
            levels = [level * part for part in (1, 0.8, 0.7, 0.6, 0.5, 0.4, 1.2, 1.5)]
        else:
            try:
                last = float(value_series(claim.series, self.rows).iloc[-1])
            except ClaimRefused:
                return []
            levels = [last + (level - last) * part for part in (1, 0.8, 0.7, 0.6, 0.5, 0.4, 1.2, 1.5)]
        if self.middle <= self.start:
            return []
        return [
            replace_level(replace_span(claim, claim.start, self.middle), round(value, 2)) for value in levels
        ]


def replace_span(claim: Claim, start: date | None, end: date) -> Claim:
    """Move the claim to another window."""
    return replace(claim, start=start, end=end, reference=False, notes=())


def replace_level(claim: Claim, level: float) -> Claim:
    """Move the claim to another level."""
    return replace(claim, level=level)


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
