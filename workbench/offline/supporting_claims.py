"""The supporting claims that a claim's kind suggests, each as a list of candidates, the most natural first.

A candidate list varies one threshold, so that the planner can pick the one whose base rate fits the parent.
"Up" and "down" below are the directions that make the parent more likely: higher share prices, calmer markets,
narrower spreads and firmer oil go together; fear, volatility and wide spreads do.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from itertools import pairwise

from workbench.questions.claims import Claim, Side, amount
from workbench.questions.decision import Rows, value_series
from workbench.questions.errors import ClaimRefused

_PERCENTS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30)
# In per cent, tried in this order: a fall of 5 first, then outwards from it.
_FALLS = (5, 4, 6, 3, 7, 8, 2, 10, 12, 15, 20, 1)
_EQUITIES = ("SP500", "NASDAQ")


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportingClaim:
    """A suggested child: why it supports the parent, its candidates, and the children it may have itself."""

    why: str
    candidates: list[Claim]
    below: list[tuple[str, list[Claim]]] = field(default_factory=list)


class SupportingClaims:
    """Suggests children for one claim at one cutoff; the planner picks among their candidates by base rate."""

    def __init__(self, claim: Claim, rows: Mapping[str, Rows], last_day: date) -> None:
        self.claim = claim
        self.rows = rows
        # Markets have no close on a weekend: Saturday and Sunday go back to their Friday, here and for the middle.
        today = last_day - timedelta(days=max(0, last_day.weekday() - 4))
        start = claim.start if claim.start is not None and claim.start > today else today
        self.start, self.end = start, claim.end
        middle = start + (claim.end - start) / 2
        self.middle = middle - timedelta(days=max(0, middle.weekday() - 4))

    def children(self) -> list[SupportingClaim]:
        """Supporting claims for the claim, by its kind."""
        kind = self.claim.about.kind
        pattern = self.claim.pattern
        if kind == "volatility":
            return self._fear(self._up())
        if self.claim.series == "SPREAD":
            return self._spread_parent(self._up())
        if kind in ("yield", "index"):
            return self._slow(self._up())
        by_pattern: dict[str, Callable[[bool], list[SupportingClaim]]] = {
            "touch": self._path,
            "drawdown": self._path,
            "volatility": self._volatile,
            "relative": self._relative,
            "range": self._range,
            "average": self._average,
        }
        return by_pattern.get(pattern, self._price)(self._up())

    def _up(self) -> bool:
        return (self.claim.side == "above") != self.claim.never

    # --- families of parents ---------------------------------------------------------------------------------

    def _price(self, up: bool) -> list[SupportingClaim]:
        name = self.claim.series
        word = "above" if up else "below"
        return [
            SupportingClaim(
                why=f"a market {word} its long average is one that has moved this way",
                candidates=self._averages(name, up),
                below=self._halves(name, up),
            ),
            *self._market(name, up),
        ]

    def _average(self, up: bool) -> list[SupportingClaim]:
        first, second = self._halves(self.claim.series, up)
        return [
            SupportingClaim(why=first[0], candidates=first[1]),
            SupportingClaim(why=second[0], candidates=second[1]),
            *self._market(self.claim.series, up),
        ]

    def _market(self, name: str, up: bool) -> list[SupportingClaim]:
        """The fall along the way with volatility and fear below it, then credit and another market."""
        fall = (
            "no deep fall along the way leaves the market higher"
            if up
            else "a deep fall along the way drags the end"
        )
        return [
            SupportingClaim(
                why=fall, candidates=self._falls(name, happens=not up), below=self._nerves(name, up)
            ),
            SupportingClaim(
                why=f"credit spreads that {'do not widen' if up else 'widen'} go with {'rising' if up else 'falling'} prices",
                candidates=self._spreads(wider=not up),
            ),
            self._other_market(name, up),
        ]

    def _path(self, up: bool) -> list[SupportingClaim]:
        name = self.claim.series
        direction = up
        rungs = [
            SupportingClaim(
                why=f"where the series ends {'higher' if direction else 'lower'}, its path has gone that way",
                candidates=self._moves(name, self.start, self.end, direction),
                below=self._halves(name, direction),
            ),
            SupportingClaim(why="the same event within the first half", candidates=self._same_earlier()),
        ]
        rungs += [
            SupportingClaim(why=why, candidates=candidates)
            for why, candidates in self._nerves(name, direction)
        ]
        return [
            *rungs,
            SupportingClaim(
                why=f"credit spreads {'do not widen' if direction else 'widen'} in such markets",
                candidates=self._spreads(wider=not direction),
            ),
        ]

    def _volatile(self, up: bool) -> list[SupportingClaim]:
        name = self.claim.series
        halves = self._volatilities(name, above=up, end=self.middle)
        return [
            SupportingClaim(
                why="volatility clusters: the first half tells about the whole", candidates=halves
            ),
            SupportingClaim(
                why=f"volatile windows {'hold' if up else 'calm ones do not hold'} a deep fall",
                candidates=self._falls(name, happens=up),
                below=[
                    (
                        "a fall leaves the end lower" if up else "no fall leaves the end higher",
                        self._moves(name, self.start, self.end, not up),
                    ),
                    ("fear prices it" if up else "calm prices it", self._fears(name, above=up, end=self.end)),
                ],
            ),
            SupportingClaim(
                why="option prices carry expected volatility",
                candidates=self._fears(name, above=up, end=self.middle),
            ),
            SupportingClaim(
                why=f"credit spreads {'widen' if up else 'do not widen'} when markets are {'nervous' if up else 'calm'}",
                candidates=self._spreads(wider=up),
            ),
        ]

    def _relative(self, up: bool) -> list[SupportingClaim]:
        name = self.claim.series
        return [
            *(
                SupportingClaim(
                    why=f"{half} half of the race", candidates=[replace_span(self.claim, first, last)]
                )
                for half, first, last in (
                    ("the first", self.start, self.middle),
                    ("the second", self.middle, self.end),
                )
            ),
            SupportingClaim(
                why=f"a series that {'leads' if up else 'lags'} has usually {'risen' if up else 'fallen'}",
                candidates=self._moves(name, self.start, self.end, up),
                below=self._halves(name, up),
            ),
        ]

    def _range(self, up: bool) -> list[SupportingClaim]:
        name = self.claim.series
        low, high = amount(self.claim), self.claim.upper or 0.0
        width = high - low
        # The claim's own range first, then wider ones, up to three times as wide.
        halfway = [
            Claim(
                pattern="range",
                series=name,
                end=self.middle,
                strict=False,
                level=round(max(low - part * width, 0.01), 2),
                upper=round(high + part * width, 2),
            )
            for part in (0, 0.1, 0.2, 0.35, 0.5, 1.0)
        ]
        return [
            SupportingClaim(why="half-way within a like range", candidates=halfway),
            SupportingClaim(
                why="no deep fall out of the range",
                candidates=self._falls(name, happens=False),
                below=self._nerves(name, True),
            ),
            SupportingClaim(
                why="no strong rise out of the range",
                candidates=[
                    Claim(
                        pattern="drawdown",
                        series=name,
                        start=self.start,
                        end=self.end,
                        level=float(n),
                        strict=False,
                        never=True,
                    )
                    for n in _FALLS
                ],
            ),
        ]

    def _fear(self, up: bool) -> list[SupportingClaim]:
        return [
            SupportingClaim(
                why="fear lasts: the level half-way tells about the end", candidates=self._half_way()
            ),
            SupportingClaim(
                why=f"fear {'rises when shares fall' if up else 'fades when shares rise'}",
                candidates=self._moves("SP500", self.start, self.end, not up),
                below=[
                    self._halves("SP500", not up)[0],
                    (
                        f"credit spreads {'widen' if up else 'do not widen'} with {'falling' if up else 'rising'} shares",
                        self._spreads(wider=up),
                    ),
                ],
            ),
            SupportingClaim(
                why=f"{'high' if up else 'low'} realised volatility keeps implied volatility {'up' if up else 'down'}",
                candidates=self._volatilities("SP500", above=up, end=self.end),
            ),
            SupportingClaim(
                why=f"a deep fall {'would raise' if up else 'would have kept up'} fear{'' if up else '; none happens'}",
                candidates=self._falls("SP500", happens=up),
            ),
        ]

    def _spread_parent(self, up: bool) -> list[SupportingClaim]:
        return [
            SupportingClaim(why="half-way on the same side", candidates=self._half_way()),
            SupportingClaim(
                why=f"spreads {'widen' if up else 'narrow'} when shares {'fall' if up else 'rise'}",
                candidates=self._moves("SP500", self.start, self.end, not up),
                below=[*self._halves("SP500", not up)],
            ),
            SupportingClaim(
                why=f"{'nervous' if up else 'calm'} share prices go with {'wide' if up else 'narrow'} spreads",
                candidates=self._volatilities("SP500", above=up, end=self.end),
            ),
            SupportingClaim(
                why=f"fear stays {'high' if up else 'low'}",
                candidates=self._fears("SP500", above=up, end=self.end),
            ),
        ]

    def _slow(self, up: bool) -> list[SupportingClaim]:
        return [
            SupportingClaim(why="half-way on pace", candidates=self._half_way()),
            SupportingClaim(
                why=f"{'firm' if up else 'weak'} oil goes with {'rising' if up else 'falling'} prices and yields",
                candidates=self._moves("WTI", self.start, self.end, up),
                below=self._halves("WTI", up),
            ),
            SupportingClaim(
                why=f"{'rising' if up else 'falling'} shares go with {'more' if up else 'less'} growth",
                candidates=self._moves("SP500", self.start, self.end, up),
            ),
        ]

    # --- candidates ------------------------------------------------------------------------------------------

    def _moves(self, name: str, start: date, end: date, up: bool) -> list[Claim]:
        """Higher (lower) at the end, then with a margin either way, small ones first."""
        if end <= start:
            return []
        sign = 1 if up else -1
        side: Side = "above" if up else "below"
        claims = [
            Claim(pattern="compare", series=name, start=start, end=end, side=side),
            Claim(pattern="compare", series=name, start=start, end=end, side=side, strict=False),
        ]
        for n in _PERCENTS:
            # a stricter claim: moves at least n % this way; a weaker one: does not move n % the other way
            claims.append(
                Claim(
                    pattern="change",
                    series=name,
                    start=start,
                    end=end,
                    level=float(sign * n),
                    side=side,
                    strict=False,
                )
            )
            claims.append(
                Claim(
                    pattern="change",
                    series=name,
                    start=start,
                    end=end,
                    level=float(-sign * n),
                    side=side,
                    strict=True,
                )
            )
        return claims

    def _halves(self, name: str, up: bool) -> list[tuple[str, list[Claim]]]:
        return [
            ("the first half of the way", self._moves(name, self.start, self.middle, up)),
            ("the second half of the way", self._moves(name, self.middle, self.end, up)),
        ]

    def _averages(self, name: str, up: bool) -> list[Claim]:
        side: Side = "above" if up else "below"
        return [
            Claim(pattern="average", series=name, end=self.end, side=side, level=level, strict=level is None)
            for level in (None, *(float(n) for n in (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20)))
        ]

    def _falls(self, name: str, *, happens: bool) -> list[Claim]:
        return [
            Claim(
                pattern="drawdown",
                series=name,
                start=self.start,
                end=self.end,
                side="below",
                strict=False,
                level=-float(n),
                never=not happens,
            )
            for n in _FALLS
        ]

    def _nerves(self, name: str, up: bool) -> list[tuple[str, list[Claim]]]:
        """Volatility, and for shares fear, on the side that helps."""
        branches = [
            (
                f"{'calm' if up else 'nervous'} markets {'seldom ' if up else ''}fall far",
                self._volatilities(name, above=not up, end=self.end),
            ),
            (
                f"{'low' if up else 'high'} fear at the end says that {'no' if up else 'a'} fall came",
                self._fears(name, above=not up, end=self.end),
            ),
        ]
        if name in _EQUITIES:
            return branches
        return [branches[0], ("credit spreads move with the cycle", self._spreads(wider=not up))]

    def _volatilities(self, name: str, *, above: bool, end: date) -> list[Claim]:
        """Realised volatility against that of the past year first, then half points away from it."""
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

    def _fears(self, name: str, *, above: bool, end: date) -> list[Claim]:
        if name not in _EQUITIES or end <= self.start:
            return []
        grid = sorted(range(10, 41), key=lambda level: (abs(level - 20), level))
        side: Side = "above" if above else "below"
        return [
            Claim(pattern="level", series="VIX", end=end, side=side, strict=above, level=float(level))
            for level in grid
        ]

    def _spreads(self, *, wider: bool) -> list[Claim]:
        """Not wider (wider) than at the start, then levels around the last value known."""
        side: Side = "above" if wider else "below"
        claims = [
            Claim(pattern="compare", series="SPREAD", start=self.start, end=self.end, side=side, strict=wider)
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
            Claim(pattern="level", series="SPREAD", end=self.end, side=side, strict=wider, level=level)
            for level in grid
        ]

    def _other_market(self, name: str, up: bool) -> SupportingClaim:
        other = "SP500" if name == "WTI" else "WTI"
        candidates = self._moves(other, self.start, self.end, up)
        # Upwards "no lower" is asked before "higher": it is the weaker claim.
        first = candidates[1:2] + candidates[:1] + candidates[2:] if up else candidates
        words = ("shares", "demand for oil") if name == "WTI" else ("oil", "shares")
        return SupportingClaim(
            why=f"{'firm' if up else 'weak'} {words[0]} and {'firm' if up else 'weak'} {words[1]} share their growth news",
            candidates=first,
        )

    def _half_way(self) -> list[Claim]:
        """Return the claim itself, half-way, with levels around its own if it has one."""
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
        """A touch or a drawdown within the first half, at the same or a nearer threshold."""
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
    """Return the claim over another window."""
    return replace(claim, start=start, end=end, reference=False, notes=())


def replace_level(claim: Claim, level: float) -> Claim:
    """Return the claim at another level."""
    return replace(claim, level=level)
