"""The rival that every forecast of a series has to beat: a walk without drift, as volatile as the series was in the last year."""

from collections.abc import Mapping
from datetime import date

import numpy as np

from workbench.forecasts.leaf_models.daily_claims import AVERAGE_DAYS
from workbench.forecasts.reading import Comparison, Reading, Statistic, Transformation, chance
from workbench.forecasts.series.series_history import History
from workbench.forecasts.series_paths import Calendar, Paths
from workbench.questions.claims import Claim, Pattern
from workbench.questions.decision import Rows, series_of, settle
from workbench.science.errors import DomainError

_PATHS = 2000
_SEED = 20261123

# Pattern -> transformation and statistic of its reading; what is reached on the way has its own extreme.
_READ: Mapping[Pattern, tuple[Transformation, Statistic]] = {
    "compare": ("change", "last"),
    "level": ("value", "last"),
    "range": ("value", "last"),
    "change": ("growth", "last"),
    "average": ("average_gap", "last"),
    "touch": ("value", "highest"),
    "drawdown": ("growth", "highest"),
    "volatility": ("value", "volatility"),
    "relative": ("growth", "last"),
}


class DriftlessWalk:
    """Paths of independent normal steps without drift, of the logarithm where all values are above 0; half mirror the other half.

    Parameters
    ----------
    logs : bool
        Whether steps are of the logarithm; differences otherwise (a spread may be below 0).
    window : int
        Steps that the deviation is measured on: a year of a daily series.
    """

    name = "driftless walk"

    def __init__(self, *, logs: bool = True, window: int = 252) -> None:
        self.logs = logs
        self.window = window

    def paths(self, history: History, horizon: date, calendar: Calendar) -> Paths:
        """Return the paths; see `SeriesForecaster`."""
        history.need(3, "a random walk")
        x = history.values
        if self.logs:
            if (x <= 0).any():
                raise DomainError("a walk of logarithms needs values above 0")
            x = np.log(x)
        days = calendar.stamps(history.days[-1].item(), horizon)
        if not len(days):
            raise DomainError(f"no step lies between {history.days[-1]} and {horizon}")
        deviation = float(np.sqrt(np.mean(np.diff(x[-self.window - 1 :]) ** 2)))
        half = np.random.default_rng(_SEED).standard_normal((_PATHS // 2, len(days)))
        ends = x[-1] + deviation * np.cumsum(np.concatenate([half, -half]), axis=1)
        return Paths.of(
            np.exp(ends) if self.logs else ends, days, known=history, calendar=calendar, member=self.name
        )


def driftless_chance(claim: Claim, rows: Mapping[str, Rows]) -> float:
    """Return the probability of a claim under the driftless walk, from the rows known at its cutoff.

    Raises
    ------
    ScienceError
        Too few values are known.
    """
    claim = settle(claim, rows)
    first, second = series_of(claim, rows)
    if second is not None:
        first = (first / second).dropna()
    history = History.of(first.index.to_numpy(), first.to_numpy())
    walk = DriftlessWalk(logs=not (claim.about.monthly and claim.about.kind == "yield"))
    paths = walk.paths(history, claim.end, Calendar.of(history))
    return chance(_reading(claim), paths).p


def _reading(claim: Claim) -> Reading:
    transformation, statistic = _READ[claim.pattern]
    if statistic == "highest" and claim.side == "below":
        statistic = "lowest"
    comparisons: dict[tuple[str, bool], Comparison] = {
        ("above", True): "above",
        ("above", False): "at_least",
        ("below", True): "below",
        ("below", False): "at_most",
    }
    level = 0.0 if claim.pattern in ("compare", "relative") else claim.level or 0.0
    if claim.pattern == "average" and claim.side == "below":
        level = -level
    return Reading(
        series=(claim.series,),
        transformation=transformation,
        statistic=statistic,
        comparison="between" if claim.pattern == "range" else comparisons[claim.side, claim.strict],
        level=level,
        upper=claim.upper if claim.pattern == "range" else None,
        lag=AVERAGE_DAYS if claim.pattern == "average" else None,
        start=None if claim.pattern in ("level", "range", "average", "touch") else claim.start,
        end=claim.end,
        never=claim.never,
    )
