"""The rival of every forecast of a series: a walk without drift, as volatile as the series was in the last year."""

from datetime import date

import numpy as np

from workbench.forecasts.series.series_history import History
from workbench.forecasts.series_paths import Calendar, Paths
from workbench.science.errors import DomainError

_PATHS = 2000
_SEED = 20261123


class DriftlessWalk:
    """Paths of independent normal steps without drift, of the logarithm where all values are above 0; half mirror the other half."""

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
