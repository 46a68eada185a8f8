"""A claim of the grammar as a reading of its series' paths: the forecaster and the resolver look at one and the same thing."""

from dataclasses import replace

from workbench.forecasts.leaf_forecast import State
from workbench.forecasts.reading import Reading, Statistic
from workbench.questions.claims import AVERAGE_DAYS, Claim, amount


def claim_reading(claim: Claim) -> Reading:
    """Return the reading of a claim whose side and level are settled (`workbench.questions.decision.settle`).

    >>> from datetime import date
    >>> touch = Claim(pattern="touch", series="WTI", level=80.0, side="above", end=date(2018, 12, 31))
    >>> reading = claim_reading(touch)
    >>> reading.statistic, reading.comparison, reading.level
    ('highest', 'above', 80.0)
    """
    names = (claim.series, claim.other) if claim.other else (claim.series,)
    value = Reading(
        series=names,
        comparison=claim.comparison,  # type: ignore[arg-type]
        level=0.0,
        start=claim.start,
        end=claim.end,
        combination="ratio" if claim.other else None,
    )
    match claim.pattern:
        case "compare":
            return replace(value, transformation="change")
        case "relative":
            return replace(value, transformation="growth")
        case "level":
            return replace(value, level=amount(claim), start=None)
        case "change":
            return replace(value, transformation="growth", level=amount(claim))
        case "average":
            beyond = (claim.level or 0.0) * (1 if claim.side == "above" else -1)
            return replace(value, transformation="average_gap", lag=AVERAGE_DAYS, level=beyond, start=None)
        case "range":
            return replace(value, comparison="between", level=amount(claim), upper=claim.upper, start=None)
        case "mean" | "highest" | "lowest":
            of_window: Statistic = claim.pattern
            return replace(value, statistic=of_window, level=amount(claim))
        case "count":
            steps = replace(value, statistic="steps", times=claim.times, every=claim.period)
            # Without a level a value is held against the one before it.
            return replace(steps, transformation="change", lag=1) if claim.level is None else replace(steps, level=claim.level)  # fmt: skip
        case "points":
            return replace(value, transformation="change", level=amount(claim))
        case "move":
            within = replace(value, comparison="between", level=-amount(claim), upper=amount(claim))
            return replace(within, transformation="growth", never=not claim.never)
        case "step":
            size = amount(claim)
            way: Statistic = "highest" if size > 0 else "lowest"
            return replace(value, statistic=way, transformation="growth", lag=1, level=size, every=claim.period, never=claim.never)  # fmt: skip
        case "peak":
            return replace(value, statistic="lowest", comparison="at_most", transformation="from_peak", level=amount(claim), never=claim.never)  # fmt: skip
        case "streak":
            return replace(value, statistic="streak", times=claim.times, every=claim.period, transformation="change", lag=1)  # fmt: skip
        case "first" | "first_move":
            of = replace(value, transformation="value" if claim.pattern == "first" else "growth", level=amount(claim), never=claim.never)  # fmt: skip
            return replace(of, statistic="first", rival=claim.upper)
        case "record":
            up = claim.side == "above"
            return replace(value, statistic="highest" if up else "lowest", transformation="over_high" if up else "over_low", weeks=claim.times if claim.times > 1 else None, never=claim.never)  # fmt: skip
        case "volatility":
            return replace(value, statistic="volatility", level=amount(claim))
    extreme: Statistic = "highest" if claim.side == "above" else "lowest"
    on_the_way = replace(value, statistic=extreme, level=amount(claim), never=claim.never)
    return on_the_way if claim.pattern == "touch" else replace(on_the_way, transformation="growth")


def state_of(claim: Claim) -> State:
    """Return by what a past window's beginning is likened to now, for the rate beside a claim's chance."""
    if claim.pattern == "average":
        return "average"
    if claim.about.kind in ("volatility", "yield"):
        return "level"
    return (
        "volatility"
        if claim.pattern
        in ("volatility", "touch", "drawdown", "step", "peak", "record", "first", "first_move")
        else "move"
    )
