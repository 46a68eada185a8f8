"""A relation in its window: the claims that the two can make together, the likeliest first."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from typing import Literal

from workbench.questions.claims import AVERAGE_DAYS, SIDES, Claim
from workbench.questions.readings.amounts import Amount
from workbench.questions.readings.calendar_days import last_session, later_month, months_of
from workbench.questions.readings.days import Window
from workbench.questions.readings.names import SeriesName
from workbench.questions.readings.relations import DOWNWARD, MIRRORED, OPPOSITE, Relation

#: Patterns whose strictness does not hang on the words of a comparison.
_STRICT = {"drawdown": False, "peak": False, "trough": False, "first": False, "relative": True, "record": True}  # fmt: skip
#: What is read on one day, and from no other.
_OF_ONE_DAY = ("level", "range", "average", "growth")
#: Growth by its name, and the period that it is over; None: annualised.
_OVER = {"yoy": "year", "mom": "month", "qoq": "quarter", "annualized": None}
_EVENTS: dict[str, Literal["release", "meeting"]] = {"next_release": "release", "next_meeting": "meeting"}


def base_claim(names: tuple[SeriesName, ...], end: date) -> Claim:
    """Return a claim about series that says nothing of them yet."""
    keys = [name.source or name.ref for name in names]
    unheld = tuple(name.unheld for name in names if not name.source)
    return Claim(pattern="level", series=keys[0], other=(*keys, None)[1], end=end, unheld=unheld)


def stated(claim: Claim, relation: str, comparison: str, series: SeriesName, *, percent: bool) -> Claim:
    """Return the claim that a relation and a comparison make of one that has its series, numbers and days.

    ``relation`` is a pattern, or "stay"; ``percent`` whether its level is in percent.
    """
    side, strict = SIDES.get(comparison, ("above", False))  # type: ignore[call-overload]
    level, between = claim.level or 0.0, comparison == "between"
    if relation == "stay" and not between:  # it is never on the other side
        away, strict = SIDES[OPPOSITE[comparison]]  # type: ignore[index]
        return replace(claim, pattern="touch", side=away, strict=strict, never=True)
    pattern = {"stay": "inside", "level": "range" if between else "level"}.get(relation, relation)
    claim = replace(claim, pattern=pattern, side=side, strict=_STRICT.get(pattern, strict))  # type: ignore[arg-type]
    if pattern in _OF_ONE_DAY:
        claim = replace(claim, start=None)
    match pattern:
        case "change" if between:
            return replace(claim, pattern="change" if percent else "points", side="below" if level < 0 else "above")  # fmt: skip
        case "change":
            # "Rises at least 5%" holds at 5%, "does not rise at least 5%" below it.
            rises = (side == "above") == (level > 0)
            return replace(claim, pattern="change" if percent else "points", strict=not rises)
        case "drawdown" | "peak" | "trough" | "step" | "move":
            claim = replace(claim, points=not percent)
            if pattern in ("peak", "trough"):
                down = pattern == "peak"
                return replace(claim, level=-abs(level) if down else abs(level), side="below" if down else "above")  # fmt: skip
            return replace(claim, side="above", strict=comparison == "above") if pattern == "move" else claim
        case "average" | "cross":
            return replace(claim, strict=not level, level=abs(level) or None)
        case "volatility":
            return replace(claim, strict=side == "above")
        case "first" if percent and series.kind == "price":
            return replace(claim, pattern="first_move")
        case "growth" if claim.every in ("year", "month") and series.monthly and level > 0:
            if not (claim.unheld or claim.other or claim.event or between):
                year, month = later_month(claim.end.year, claim.end.month, -12 if claim.every == "year" else -1)  # fmt: skip
                # It is the change since the month so long before; its rounding is finer than "more than".
                return replace(claim, pattern="change", start=months_of(year, month).last, every=None, strict=side == "below")  # fmt: skip
    return claim


def placed_claims(
    relation: Relation, window: Window, base: Window | None, names: tuple[SeriesName, ...], today: date
) -> Iterator[Claim]:
    """Yield the claims of a relation in its window, the likeliest first; what was supposed on the way is in their notes."""
    return _Placing(relation, window, base, names, today).claims()


class _Placing:
    def __init__(
        self,
        relation: Relation,
        window: Window,
        base: Window | None,
        names: tuple[SeriesName, ...],
        today: date,
    ) -> None:
        self.relation, self.window, self.names, self.today = relation, window, names, today
        self.series = series = names[0]
        level, self.unit, notes = _level_in_unit(relation.level, series)
        self.level = level
        self.signed = -(level or 0.0) if relation.way == "down" else level
        self.start = base.end if base else None
        #: What changes are measured from.
        self.since = self.start if self.start is not None or relation.now else window.start
        self.step = "" if relation.step == ("month" if series.monthly else "day") else relation.step
        # Of weeks and months those that begin after the last visible day are whole.
        self.whole = today - timedelta(days=1) if self.step in ("week", "month") else None
        self.ahead = _ahead(window.start, today)
        self.plain = replace(
            base_claim(names, window.end),
            level=level,
            upper=_level_in_unit(relation.upper, series)[0],
            times=relation.times if relation.lag in (None, AVERAGE_DAYS) else relation.lag,
            every=self.step or None,
            event=_EVENTS.get(window.kind, ""),
            notes=notes,
        )

    def claim(self, name: str = "", comparison: str = "", **fields: object) -> Claim:
        """The claim that a relation makes, with what it has beside the level."""
        claim = replace(self.plain, **fields)  # type: ignore[arg-type]
        return stated(claim, name or self.relation.name, comparison or self.relation.comparison, self.series, percent=self.unit == "%")  # fmt: skip

    def claims(self) -> Iterator[Claim]:
        relation, window, series = self.relation, self.window, self.series
        name, never, level, unit = relation.name, relation.never, self.level, self.unit
        of_value = name in ("level", "touch", "bare", "stay")
        growth = relation.growth or (series.growth if series.growth in _OVER else "")
        if series.embedded == "CORE_CPI" and unit == "%" and of_value:
            growth = growth or "yoy"  # an index is no percentage: its growth is meant
        if growth and name in ("highest", "lowest") and (unit == "%" or relation.growth):
            if never or (name == "highest") != (relation.comparison in ("above", "at_least")):
                return  # that all of them lie on this side is no relation here, and the highest of the level is another claim
            # The highest growth is above a level where one of them is.
            name, window, of_value = "touch", replace(window, kind="by"), True
        growing = (of_value or name == "change") and growth and (unit in ("%", "") or relation.growth)
        if growing and name == "change" and not relation.growth and series.growth in ("yoy", "annualized"):
            # "Prices rise 0.2 % in October" is over the window that is named.
            growing = series.growth == "annualized" or not window.period
        if series.growth == "change" and name == "change" and unit != "%" and self.start is None:
            # Payrolls are talked of by their change: "rise by 190k" is that figure.
            side = relation.comparison if relation.comparison in ("at_least", "at_most", "below") else "above"
            yield self.claim("level", side, level=self.signed, never=never)
        elif growing and not (series.embedded == "CORE_CPI" and (level or 0) > 50):
            yield from self._grown(growth, window)
        elif name == "compare":
            yield from self._compared()
        elif name == "change" and relation.comparison == "between":
            low, high = level or 0.0, self.plain.upper or 0.0
            bounds = (-high, -low) if relation.way == "down" else (low, high)
            yield self.claim(level=bounds[0], upper=bounds[1], never=never, start=self.since)
        elif name in ("change", "drawdown"):
            yield from self._changed()
        elif name == "step":
            down = relation.way == "down"
            side = DOWNWARD.get(relation.comparison, "at_most") if down else relation.comparison
            if side in (("below", "at_most") if down else ("above", "at_least")):
                yield self.claim("step", side, level=self.signed, start=self.ahead or self.whole, never=never)
        elif name == "move":
            yield self.claim(never=never, start=self.since)
        elif name in ("relative", "volatility"):
            yield self.claim(start=self.start or window.start, never=never)
        elif name == "first":
            # Which of two rates of growth comes first is no claim here.
            if level is not None and self.plain.upper is not None and not growth:
                yield self.claim(comparison="at_least" if level > (self.plain.upper or 0.0) else "at_most", start=self.ahead, never=never)  # fmt: skip
        elif name == "average":
            yield self.claim(never=never)
        elif unit == "%" and series.kind == "price" and (of_value or name in ("mean", "highest", "lowest")):
            return  # a percentage is no price, and of what it is one is not said
        elif of_value:
            yield from self._reached()
        else:
            ahead = self.ahead
            if name == "record" and relation.lag == 1:
                return  # the sentences of claims know no high of one week
            if name == "record" and window.kind == "on" and not window.supposed and not series.monthly:
                # A record "on 31 December" is one of that day, and not of any day until then.
                ahead = _ahead(last_session(window.end) - timedelta(days=1), self.today)
            yield self.claim(start=self.start or ahead or self.whole, never=never)

    def _grown(self, growth: str, window: Window) -> Iterator[Claim]:
        """A rate of growth, of the window's end and at some time in it."""
        relation, side, level, never = (
            self.relation,
            self.relation.comparison,
            self.level,
            self.relation.never,
        )
        if relation.name == "change" and relation.way == "down":
            level, side = self.signed, DOWNWARD.get(side, side)
        side = {"toward": "at_least"}.get(side, side)
        long = window.kind == "during" and window.start and (window.end - window.start).days > 100
        flipped = OPPOSITE.get(side, side) if never else side
        yield self.claim("growth", flipped, every=_OVER[growth], level=level, never=never and flipped == side)
        if window.kind == "by" or (long and self.series.monthly and growth in ("yoy", "mom")):
            yield self.claim("growth_within", side, every=_OVER[growth], level=level, never=never)

    def _compared(self) -> Iterator[Claim]:
        relation, window, today = self.relation, self.window, self.today
        side = OPPOSITE[relation.comparison] if relation.never else relation.comparison
        compared = self.claim("compare", side, level=None, start=self.since)
        if self.series.monthly and window.kind == "during":
            if window.from_month is not None or (self.start is None and self.ahead):
                compared = replace(compared, start=window.from_month or window.start)
        elif window.kind == "on" and self.since is None and not relation.now and not self.series.monthly:
            day_before = window.end - timedelta(days=3 if window.end.weekday() == 0 else 1)
            if (window.end - today).days < 8 and day_before >= today:
                yield replace(compared, start=day_before)
        yield compared

    def _changed(self) -> Iterator[Claim]:
        """A change since a day: at the end of the window, and once within it."""
        relation, window, level = self.relation, self.window, self.signed or 0.0
        since = window.from_month if self.series.monthly and window.from_month else self.since
        side = MIRRORED[relation.comparison] if relation.way == "down" else relation.comparison
        once = self.claim("drawdown", "at_most" if level < 0 else "at_least", level=level, start=_ahead(since, self.today))  # fmt: skip
        if relation.name == "drawdown":
            for size in (20.0, 10.0):
                note = f"a crash is read as a fall of {size:g}%"
                yield replace(once, level=-size, never=relation.never, notes=(*once.notes, note))
            return
        if relation.once and not relation.never:
            yield once
            return
        yield self.claim("change", OPPOSITE[side] if relation.never else side, level=level, start=since)
        # That a move stays small is no move that is reached on the way.
        large = not relation.never and relation.comparison not in ("below", "at_most")
        on_the_way = window.kind == "by" or (window.kind == "during" and not window.period)
        if on_the_way and large and not self.series.monthly and not relation.closing:
            yield once

    def _reached(self) -> Iterator[Claim]:
        """A level at the end of the window, or on the way."""
        relation, window, side = self.relation, self.window, self.relation.comparison
        touches = relation.name == "touch"
        short = window.start is None or (window.end - window.start).days < 100
        of_the_month = self.series.monthly and window.kind == "during" and window.period and short
        at_a_time = of_the_month or window.kind in ("on", "next_release", "next_meeting")
        if relation.name == "stay":
            stays = self.claim(start=self.start or self.ahead or self.whole)
            yield replace(stays, never=stays.never != relation.never)
            return
        if relation.never:
            if side == "toward" and touches:
                yield self.claim("touch", side, never=True, start=self.ahead)
            elif side in OPPOSITE:
                if not at_a_time:
                    yield self.claim("stay", OPPOSITE[side], start=self.ahead)
                if at_a_time or not touches:
                    yield self.claim("level", OPPOSITE[side])
            return
        points = [self.claim("level", each) for each in ([side] if side != "toward" else ["at_least", "at_most"])]  # fmt: skip
        # A range is touched from within: that it holds on every day is the other thing that is meant.
        touch = self.claim("stay" if side == "between" else "touch", side, start=self.ahead)
        plainly = relation.name == "level"
        if side == "between" and window.kind == "by":
            yield points[0]
        elif at_a_time:
            yield from points
        elif plainly and relation.closing and window.kind == "during" and not window.period:
            yield from (*points, touch)
        elif touches:
            yield touch
        elif plainly and relation.way:
            yield from (touch, points[0])
        else:
            yield from (points[0], touch, *points[1:])


def _ahead(start: date | None, today: date) -> date | None:
    """A start that lies after the last known value; None where no weekday lies between."""
    if start is None or start < today:
        return None
    between = (today + timedelta(days=i) for i in range((start - today).days + 1))
    return start if any(day.weekday() < 5 for day in between) else None


def _level_in_unit(amount: Amount | None, series: SeriesName) -> tuple[float | None, str, tuple[str, ...]]:
    """The level in the unit of its series, whether that is percent, and what was supposed."""
    if amount is None:
        return None, "", ()
    value, unit, of_rate = amount.value, amount.unit, series.kind == "rate"
    if unit == "bp" or (of_rate and unit == "" and value >= 25):
        notes = () if unit else (f"{value:g} is read as basis points",)
        return round(value / 100, 6), "points" if of_rate else "%", notes
    return value, {"%": "%", "pp": "points", "points": "points"}.get(unit, ""), ()
