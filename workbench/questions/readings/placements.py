"""A relation in its window: the readings that the two can have together, the likeliest first."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta

from workbench.questions.readings.amounts import Amount
from workbench.questions.readings.calendar_days import last_session
from workbench.questions.readings.days import Window
from workbench.questions.readings.names import SeriesName
from workbench.questions.readings.relations import MIRRORED, OPPOSITE, Relation
from workbench.questions.readings.slots import SlotReading

_DOWNWARD = {"above": "below", "at_least": "at_most"}


def placed_readings(
    relation: Relation,
    window: Window,
    base: Window | None,
    names: tuple[SeriesName, ...],
    today: date,
) -> Iterator[SlotReading]:
    """Yield the readings of a relation in its window, the likeliest first."""
    series, name, negated = names[0], relation.name, relation.never
    monthly = series.monthly
    level, unit, notes = _level_in_unit(relation.level, series)
    upper = _level_in_unit(relation.upper, series)[0] if relation.upper is not None else None
    start = base.end if base else None
    since = start if start is not None or relation.now else window.start
    period_start = window.start
    if name not in ("compare", "change", "beats", "volatility"):
        period_start = _ahead(period_start, today)
    at_end = "on" if window.kind in ("by", "during") else window.kind
    plain = SlotReading(
        statement="",
        series=tuple(each.ref for each in names),
        relation=name,
        comparison=relation.comparison,
        level=level,
        upper=upper,
        unit=unit,
        window=window.kind,
        end=window.end,
        lag=relation.lag,
        times=relation.times,
        step="" if relation.step == ("month" if monthly else "day") else relation.step,
        notes=notes,
    )
    # Of weeks and months those that begin after the last visible day are whole.
    whole = today - timedelta(days=1) if plain.step in ("week", "month") else None
    growth = relation.growth or (
        series.growth if series.growth in ("yoy", "mom", "qoq", "annualized") else ""
    )
    if series.embedded == "CORE_CPI" and unit == "%" and name in ("level", "touch", "bare", "stay"):
        growth = growth or "yoy"  # an index is no percentage: its growth is meant
    if growth and name in ("maximum", "minimum") and (unit == "%" or relation.growth):
        if negated or (name == "maximum") != (relation.comparison in ("above", "at_least")):
            return  # that all of them lie on this side is no relation here, and the highest of the level is another claim
        # The highest growth is above a level where one of them is.
        name, window, relation = "touch", replace(window, kind="by"), replace(relation, name="touch")
    growing = name in ("level", "touch", "bare", "stay", "change") and growth and (unit in ("%", "") or relation.growth)  # fmt: skip
    if growing and name == "change" and not relation.growth and series.growth in ("yoy", "annualized"):
        # "Prices rise 0.2 % in October" is over the window that is named.
        growing = series.growth == "annualized" or not window.period
    signed = -(level or 0.0) if relation.way == "down" else level
    if series.growth == "change" and name == "change" and unit != "%" and start is None:
        # Payrolls are talked of by their change: "rise by 190k" is that figure.
        side = relation.comparison if relation.comparison in ("at_least", "at_most", "below") else "above"
        yield replace(plain, relation="level", level=signed, comparison=side, window=at_end, never=negated)
    elif growing and not (series.ref.startswith("embedded:CORE_CPI") and (level or 0) > 50):
        grown = replace(plain, relation=f"growth_{growth}", unit="%", lag={"yoy": 12, "mom": 1}.get(growth), never=negated)  # fmt: skip
        if name == "change" and relation.way == "down":
            grown = replace(grown, level=signed, comparison=_DOWNWARD.get(grown.comparison, grown.comparison))
        if grown.comparison == "toward":
            grown = replace(grown, comparison="at_least")
        if window.kind == "during" and window.start and (window.end - window.start).days > 100 and monthly and growth in ("yoy", "mom"):  # fmt: skip
            yield replace(grown, window="on")
            yield grown
        else:
            yield replace(grown, window=at_end)
            if window.kind == "by":
                yield grown
    elif name == "compare":
        side = OPPOSITE[relation.comparison] if negated else relation.comparison
        compared = replace(plain, comparison=side, level=None, unit="", start=since, window=at_end)
        if window.kind == "on" and start is None and window.start is None and not relation.now and not monthly:  # fmt: skip
            day_before = window.end - timedelta(days=3 if window.end.weekday() == 0 else 1)
            if (window.end - today).days < 8 and day_before >= today:
                yield replace(compared, start=day_before)
        if monthly and window.kind == "during":
            if window.from_month is not None:
                compared = replace(compared, start=window.from_month)
            elif start is None and _ahead(window.start, today):
                compared = replace(compared, start=window.start)
        yield compared
    elif name == "change" and relation.comparison == "between":
        low, high = level or 0.0, upper or 0.0
        if relation.way == "down":
            low, high = -high, -low
        yield replace(plain, level=low, upper=high, never=negated, start=since, window=at_end)
    elif name == "move_by":
        yield replace(plain, never=negated, start=since, window=at_end)
    elif name in ("change", "drawdown"):
        if monthly and window.from_month is not None:
            since = window.from_month
        plain = replace(plain, level=0.0 if signed is None else signed, start=since)
        yield from _changed(plain, relation, window, today, monthly=monthly)
    elif name == "any_step":
        down = relation.way == "down"
        side = _DOWNWARD.get(relation.comparison, "at_most") if down else relation.comparison
        yield replace(plain, level=signed, comparison=side, start=period_start or whole, never=negated)
    elif name in ("beats", "volatility"):
        yield replace(plain, start=start if start is not None else window.start, window="during" if name == "volatility" else at_end, never=negated)  # fmt: skip
    elif name == "first":
        # Which of two rates of growth comes first is no claim here.
        if level is not None and upper is not None and level != upper and not growth:
            side = "at_least" if level > upper else "at_most"
            yield replace(plain, comparison=side, start=period_start, never=negated)
    elif name == "average_gap":
        yield replace(plain, window=at_end, never=negated)
    elif (
        unit == "%"
        and series.kind == "price"
        and name in ("touch", "bare", "level", "stay", "mean", "maximum", "minimum")
    ):
        return  # a percentage is no price, and of what it is one is not said
    elif name in ("touch", "bare", "level"):
        yield from _reached(replace(plain, start=period_start), relation, window, monthly, at_end)
    else:
        if name in ("new_high", "new_low") and window.kind == "on" and not window.supposed and not monthly:
            # A record "on 31 December" is one of that day, and not of any day until then.
            period_start = _ahead(last_session(window.end) - timedelta(days=1), today)
        yield replace(plain, start=start if start is not None else period_start or whole, never=negated)


def _changed(
    plain: SlotReading, relation: Relation, window: Window, today: date, *, monthly: bool
) -> Iterator[SlotReading]:
    """The readings of a change since ``plain.start``: at the end of the window, and once within it."""
    side = MIRRORED[plain.comparison] if relation.way == "down" else plain.comparison
    side = OPPOSITE[side] if relation.never else side
    at_end = "on" if window.kind in ("by", "during") else window.kind
    once = replace(
        plain,
        relation="drawdown",
        comparison="at_most" if (plain.level or 0.0) < 0 else "at_least",
        start=_ahead(plain.start, today),
    )
    if relation.name == "drawdown":
        yield replace(once, notes=(*plain.notes, "a crash is read as a fall of 20%"))
        yield replace(once, level=-10.0, notes=(*plain.notes, "a crash is read as a fall of 10%"))
        return
    if relation.once and not relation.never:
        yield once
        return
    yield replace(plain, relation="change", comparison=side, window=at_end)
    # That a move stays small is no move that is reached on the way.
    large = not relation.never and relation.comparison not in ("below", "at_most")
    on_the_way = window.kind == "by" or (window.kind == "during" and not window.period)
    if on_the_way and large and not monthly and not relation.closing:
        yield once


def _reached(
    plain: SlotReading, relation: Relation, window: Window, monthly: bool, at_end: str
) -> Iterator[SlotReading]:
    side, touches = plain.comparison, relation.name == "touch"
    at_a_time = window.kind in ("on", "next_release", "next_meeting")
    of_the_month = monthly and window.kind == "during" and window.period
    if relation.never and side == "toward" and touches:
        yield replace(plain, relation="touch", never=True)
        return
    if relation.never:
        if side in OPPOSITE:
            if not at_a_time and not of_the_month:
                yield replace(plain, relation="stay", comparison=OPPOSITE[side])
            if at_a_time or of_the_month or not touches:
                yield replace(plain, relation="level", comparison=OPPOSITE[side], window=at_end, start=None)
        return
    points = [
        replace(plain, relation="level", comparison=each, window=at_end, start=None)
        for each in ([side] if side != "toward" else ["at_least", "at_most"])
    ]
    # A range is touched from within: that it holds on every day is the other thing that is meant.
    touch = replace(plain, relation="stay" if side == "between" else "touch")
    short = window.start is None or (window.end - window.start).days < 100
    if side == "between" and window.kind == "by":
        yield points[0]
    elif at_a_time or (of_the_month and short):
        yield from points
    elif relation.closing and relation.name == "level" and window.kind == "during" and not window.period:
        yield from points
        yield touch
    elif touches:
        yield touch
    elif relation.way and relation.name == "level":
        yield touch
        yield points[0]
    else:
        yield points[0]
        yield touch
        yield from points[1:]


def _ahead(start: date | None, today: date) -> date | None:
    """A start that lies after the last known value; None where no weekday lies between."""
    if start is None or start < today:
        return None
    between = (today + timedelta(days=i) for i in range((start - today).days + 1))
    return start if any(day.weekday() < 5 for day in between) else None


def _level_in_unit(amount: Amount | None, series: SeriesName) -> tuple[float | None, str, tuple[str, ...]]:
    if amount is None:
        return None, "", ()
    value, unit = amount.value, amount.unit
    if unit == "bp":
        return round(value / 100, 6), "percentage points" if series.kind == "rate" else "%", ()
    if unit == "pp":
        return value, "percentage points", ()
    if series.kind == "rate":
        if unit == "" and value >= 25:
            return round(value / 100, 6), "percentage points", (f"{value:g} is read as basis points",)
        return value, "%" if unit == "%" else "percentage points" if unit == "points" else "", ()
    return value, {"%": "%", "points": "points"}.get(unit, ""), ()
