"""A relation in its window: the readings that the two can have together, the likeliest first."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta

from workbench.questions.readings.amounts import Amount
from workbench.questions.readings.calendar_days import last_session
from workbench.questions.readings.days import Window
from workbench.questions.readings.names import SeriesName
from workbench.questions.readings.relations import Relation
from workbench.questions.readings.slots import SlotReading


def placed_readings(
    relation: Relation,
    window: Window,
    base: Window | None,
    names: tuple[SeriesName, ...],
    today: date,
) -> Iterator[SlotReading]:
    """Yield the readings of a relation in its window, the likeliest first."""
    refs = tuple(each.ref for each in names)
    series = names[0]
    monthly = series.monthly
    level, unit, notes = _level_in_unit(relation.level, series)
    upper = _level_in_unit(relation.upper, series)[0] if relation.upper is not None else None
    start = base.end if base else None
    period_start = window.start
    if period_start is not None and relation.name not in ("compare", "change", "beats", "volatility"):
        period_start = _ahead(period_start, today)
    at_end = "on" if window.kind in ("by", "during") else window.kind
    plain = SlotReading(
        statement="",
        series=refs,
        relation=relation.name,
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
    if series.embedded == "CORE_CPI" and unit == "%" and relation.name in ("level", "touch", "bare", "stay"):
        growth = growth or "yoy"  # an index is no percentage: its growth is meant
    if growth and relation.name in ("maximum", "minimum") and (unit == "%" or relation.growth):
        if relation.never or (relation.name == "maximum") != (relation.comparison in ("above", "at_least")):
            return  # that all of them lie on this side is no relation here, and the highest of the level is another claim
        # The highest growth is above a level where one of them is.
        relation = replace(relation, name="touch")
        window = replace(window, kind="by")
    growing = relation.name in ("level", "touch", "bare", "stay", "change") and growth and (unit in ("%", "") or relation.growth)  # fmt: skip
    if (
        growing
        and relation.name == "change"
        and not relation.growth
        and series.growth in ("yoy", "annualized")
    ):
        # "Prices rise 0.2 % in October" is over the window that is named.
        growing = series.growth == "annualized" or not window.period
    if series.growth == "change" and relation.name == "change" and unit != "%" and start is None:
        # Payrolls are talked of by their change: "rise by 190k" is that figure.
        side = {"at_least": "at_least", "at_most": "at_most", "below": "below"}.get(
            relation.comparison, "above"
        )
        signed = -(level or 0.0) if relation.way == "down" else level
        yield replace(
            plain, relation="level", level=signed, comparison=side, window=at_end, never=relation.never
        )
        return
    if growing and not (series.ref.startswith("embedded:CORE_CPI") and (level or 0) > 50):
        lag = {"yoy": 12, "mom": 1}.get(growth)
        side = relation.comparison
        value = level
        if relation.name == "change" and relation.way == "down":
            value = -(level or 0.0)
            side = {"above": "below", "at_least": "at_most"}.get(side, side)
        if side == "toward":
            side = "at_least"
        grown = replace(plain, relation=f"growth_{growth}", comparison=side, level=value, unit="%", lag=lag, never=relation.never)  # fmt: skip
        if window.kind == "during" and window.start and (window.end - window.start).days > 100 and monthly and growth in ("yoy", "mom"):  # fmt: skip
            yield replace(grown, window="on")
            yield replace(grown, window="during")
            return
        yield replace(grown, window=at_end)
        if window.kind == "by":
            yield grown
        return

    negated = relation.never
    name = relation.name
    if name == "compare":
        side = relation.comparison
        if negated:
            side = {"above": "at_most", "at_least": "below", "below": "at_least", "at_most": "above"}[side]
        since = start if start is not None else window.start if not relation.now else None
        compared = replace(plain, comparison=side, level=None, unit="", start=since, window=at_end)
        if (
            window.kind == "on"
            and start is None
            and window.start is None
            and not relation.now
            and not monthly
        ):
            day_before = window.end - timedelta(days=3 if window.end.weekday() == 0 else 1)
            if (window.end - today).days < 8 and day_before >= today:
                yield replace(compared, start=day_before)
        if monthly and window.kind == "during" and window.from_month is not None:
            yield replace(compared, start=window.from_month)
            return
        if monthly and window.kind == "during" and start is None:
            yield replace(
                compared, start=window.start if _ahead(window.start, today) or relation.now is False else None
            )
            return
        yield compared
        return
    if name == "change" and relation.comparison == "between":
        low, high = level or 0.0, upper or 0.0
        if relation.way == "down":
            low, high = -high, -low
        yield replace(plain, level=low, upper=high, never=negated, start=start if start is not None else None if relation.now else window.start, window=at_end)  # fmt: skip
        return
    if name == "move_by":
        yield replace(plain, never=negated, start=start if start is not None else None if relation.now else window.start, window=at_end)  # fmt: skip
        return
    if name in ("change", "drawdown"):
        signed = (level or 0.0) * (-1 if relation.way == "down" else 1)
        side = relation.comparison
        if relation.way == "down":
            side = {"above": "below", "at_least": "at_most", "below": "above", "at_most": "at_least"}[side]
        if negated:
            side = {"above": "at_most", "at_least": "below", "below": "at_least", "at_most": "above"}[side]
        since = start if start is not None else None if relation.now else window.start
        since = window.from_month if monthly and window.from_month is not None else since
        changed = replace(plain, relation="change", comparison=side, level=signed, start=since, window=at_end)
        once = replace(
            changed, relation="drawdown", comparison="at_most" if signed < 0 else "at_least", window=window.kind,
            start=_ahead(since, today) if since else None,
        )  # fmt: skip
        if name == "drawdown":
            yield replace(once, notes=(*notes, "a crash is read as a fall of 20%"))
            yield replace(once, level=-10.0, notes=(*notes, "a crash is read as a fall of 10%"))
            return
        if relation.once and not negated:
            yield once
            return
        yield changed
        # That a move stays small is no move that is reached on the way.
        large = not negated and relation.comparison not in ("below", "at_most")
        on_the_way = window.kind == "by" or (window.kind == "during" and not window.period)
        if on_the_way and large and not monthly and not relation.closing:
            yield once
        return
    if name == "any_step":
        down = relation.way == "down"
        side = (
            {"above": "below", "at_least": "at_most"}.get(relation.comparison, "at_most")
            if down
            else relation.comparison
        )
        yield replace(plain, level=-(level or 0.0) if down else level, comparison=side, start=period_start or whole, never=negated)  # fmt: skip
        return
    if name in ("beats", "volatility"):
        yield replace(plain, start=start if start is not None else window.start, window="during" if name == "volatility" else at_end, never=negated)  # fmt: skip
        return
    if name == "first":
        if level is None or upper is None or level == upper or growth:
            return  # which of two rates of growth comes first is no claim here
        side = "at_least" if level > upper else "at_most"
        yield replace(plain, comparison=side, start=period_start, never=negated)
        return
    if name in ("average_gap",):
        yield replace(plain, window=at_end, never=negated)
        return
    if (
        unit == "%"
        and series.kind == "price"
        and name in ("touch", "bare", "level", "stay", "mean", "maximum", "minimum")
    ):
        return  # a percentage is no price, and of what it is one is not said
    if name in ("touch", "bare", "level"):
        yield from _reached(replace(plain, start=period_start), relation, window, monthly, at_end)
        return
    if name in ("new_high", "new_low") and window.kind == "on" and not window.supposed and not monthly:
        # A record "on 31 December" is one of that day, and not of any day until then.
        period_start = _ahead(last_session(window.end) - timedelta(days=1), today)
    yield replace(plain, start=start if start is not None else period_start or whole, never=negated, window="by" if window.kind == "by" else window.kind)  # fmt: skip


def _reached(
    plain: SlotReading, relation: Relation, window: Window, monthly: bool, at_end: str
) -> Iterator[SlotReading]:
    side = plain.comparison
    sides = [side] if side != "toward" else ["at_least", "at_most"]
    if relation.never and side == "toward" and relation.name == "touch":
        yield replace(plain, relation="touch", never=True)
        return
    if relation.never:
        opposite = {"above": "at_most", "at_least": "below", "below": "at_least", "at_most": "above"}
        if side not in opposite:
            return
        at_close = replace(plain, relation="level", comparison=opposite[side], window=at_end, start=None)
        never = replace(plain, relation="stay", comparison=opposite[side])
        if window.kind in ("on", "next_release", "next_meeting") or (
            monthly and window.period and window.kind == "during"
        ):
            yield at_close
        elif relation.name == "touch":
            yield never
        else:
            yield never
            yield at_close
        return
    points = [replace(plain, relation="level", comparison=each, window=at_end, start=None) for each in sides]
    # A range is touched from within: that it holds on every day is the other thing that is meant.
    touch = replace(plain, relation="stay" if side == "between" else "touch")
    if side == "between" and window.kind == "by":
        yield points[0]
        return
    short = window.start is None or (window.end - window.start).days < 100
    if window.kind in ("on", "next_release", "next_meeting") or (monthly and window.kind == "during" and window.period and short):  # fmt: skip
        yield from points
        return
    if relation.closing and relation.name == "level" and window.kind == "during" and not window.period:
        yield from points
        yield touch
        return
    if relation.name == "touch":
        yield touch
        return
    if relation.way and relation.name == "level":
        yield touch
        yield points[0]
        return
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
