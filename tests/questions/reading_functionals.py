"""A reading as a functional of the series' values, written apart from the product: what it forecasts is held to this."""

from dataclasses import replace

from workbench.forecasts.reading import Comparison, Reading, Statistic, Transformation
from workbench.questions.readings.sentences import OPPOSITE, WORDS
from workbench.questions.readings.slots import SlotReading
from workbench.questions.series.readings_of_claims import claim_reading
from workbench.science.errors import DomainError

_STATISTICS: dict[str, Statistic] = {
    "mean": "mean", "maximum": "highest", "minimum": "lowest", "volatility": "volatility", "count": "steps",
}  # fmt: skip
_LAGGED = {"growth_yoy": 12, "growth_mom": 1}


def functional_of(reading: SlotReading) -> Reading | None:
    """Return the reading as the forecaster takes it; None for what it has no functional for yet.

    Examples
    --------
    >>> from datetime import date
    >>> from workbench.questions.readings.read import read
    >>> functional_of(read("WTI averages more than 65 in Q4 2018", date(2018, 6, 30)).best).statistic
    'mean'
    """
    try:
        return _functional(reading)
    except DomainError:  # fields that do not go together: the reading stands, and is not treated
        return None


def assert_forecast_as_read(reading: SlotReading) -> None:
    """What the analyst forecasts and resolves of a claim is the functional of its reading."""
    assert reading.claim is not None
    functional, own = functional_of(reading), claim_reading(reading.claim)
    assert functional is not None
    # Of a change the sentence of a claim knows "at least" alone.
    weak = {"above": "at_least", "below": "at_most"} if reading.claim.pattern == "points" else {}
    same = replace(functional, comparison=weak.get(functional.comparison, functional.comparison))
    assert replace(own, series=same.series) == same, reading.statement


def _functional(reading: SlotReading) -> Reading | None:
    end, comparison, level = reading.end, reading.comparison, reading.level or 0.0
    if end is None or comparison not in (*WORDS, "between"):
        return None
    if reading.start is not None and reading.start >= end:
        return None
    relation = reading.relation
    compared: Comparison = comparison  # type: ignore[assignment]
    plain = Reading(
        series=reading.series,
        combination=("ratio" if relation == "beats" else "difference") if len(reading.series) == 2 else None,
        comparison=compared,
        level=level,
        upper=reading.upper if relation != "first" else None,
        start=reading.start,
        end=end,
        never=reading.never,
    )  # fmt: skip
    if relation == "first":
        moved: Transformation = "growth" if reading.unit == "%" else "value"
        return replace(plain, statistic="first", rival=reading.upper, transformation=moved)
    if relation == "level":
        return replace(plain, start=None)
    if relation in ("mean", "maximum", "minimum", "volatility"):
        return replace(plain, statistic=_STATISTICS[relation])
    every = reading.every
    counted = every is not None or not reading.step
    if relation == "count" and counted:
        change = reading.level is None
        return replace(plain, statistic="steps", times=reading.times, every=every, transformation="change" if change else "value", lag=1 if change else None)  # fmt: skip
    if relation == "compare":
        return replace(plain, transformation="change", level=0.0)
    if relation == "change":
        return replace(plain, transformation="growth" if reading.unit == "%" else "change")
    if relation == "move_by" and level > 0:
        changed = replace(plain, comparison="between", level=-level, upper=level, never=not reading.never)
        return replace(changed, transformation="growth" if reading.unit == "%" else "change")
    if relation == "beats" and not reading.level:
        return replace(plain, transformation="growth", level=0.0)
    if relation in _LAGGED and reading.lag:
        return replace(plain, transformation="growth", lag=reading.lag, start=None)
    if relation == "average_gap" and reading.lag:
        return replace(plain, transformation="average_gap", lag=reading.lag, start=None)
    rising = comparison in ("above", "at_least")
    reached: Statistic = "highest" if rising else "lowest"
    if relation == "touch":
        return replace(plain, statistic=reached)
    if relation == "stay" and comparison in OPPOSITE:
        away: Comparison = OPPOSITE[comparison]  # type: ignore[assignment]
        return replace(plain, comparison=away, statistic="lowest" if rising else "highest", never=not reading.never)  # fmt: skip
    if relation == "any_step" and reading.unit == "%" and level and counted:
        way: Statistic = "highest" if level > 0 else "lowest"
        return replace(plain, statistic=way, transformation="growth", lag=1, every=every)
    if relation == "from_peak" and reading.unit == "%" and level:
        return replace(plain, statistic="lowest", comparison="at_most", transformation="from_peak", level=-abs(level))  # fmt: skip
    if relation == "streak" and counted and reading.level is None:
        return replace(plain, statistic="streak", times=reading.times, every=every, transformation="change", lag=1)  # fmt: skip
    if relation in ("new_high", "new_low") and reading.lag != 1:
        high = relation == "new_high"
        return replace(plain, comparison="above" if high else "below", level=0.0, statistic="highest" if high else "lowest", transformation="over_high" if high else "over_low", weeks=reading.lag)  # fmt: skip
    if relation in ("drawdown", "rise_once"):
        return replace(plain, statistic=reached, transformation="growth" if reading.unit == "%" else "change")
    return None
