"""How two series have moved together, and how often two claims came true together, by what was known at a cutoff."""

from dataclasses import dataclass

import numpy as np

from workbench.forecasts.series.series_history import History
from workbench.offline.report_records import OutcomeRecord, common_windows
from workbench.science.arrays import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class CoMovement:
    """Of a claim with a driver.

    Parameters
    ----------
    correlation : float
        Of their outcomes; 0 where one of them never changed.
    with_driver, without_driver : float
        How often the claim came true where the driver did, and where it did not.
    separate : float
        Common windows, as if they did not overlap.
    """

    correlation: float
    with_driver: float
    without_driver: float
    separate: float

    @property
    def strength(self) -> float:
        """The correlation in standard errors of none, which about one is by chance."""
        return self.correlation * float(np.sqrt(self.separate))


def co_movement(claim: OutcomeRecord, driver: OutcomeRecord) -> CoMovement:
    """Return how a claim and a driver have moved together; without a common window, not at all."""
    table = common_windows([claim, driver])
    parent, child = table[:, 0], table[:, 1]
    separate = 5.0 * len(table) / max(claim.horizon_days, 5)
    if not len(table) or child.min() == child.max() or parent.min() == parent.max():
        rate = float(parent.mean()) if len(table) else claim.base_rate
        return CoMovement(correlation=0.0, with_driver=rate, without_driver=rate, separate=separate)
    return CoMovement(
        correlation=float(np.corrcoef(parent, child)[0, 1]),
        with_driver=float(parent[child == 1].mean()),
        without_driver=float(parent[child == 0].mean()),
        separate=separate,
    )


def weekly_correlation(first: History, second: History) -> tuple[float, int]:
    """Return the correlation of two series' changes and how many changes it is of: from week to week, of slower series from month to month.

    Changes say more than outcomes of claims: a window of half a year has few outcomes, and hundreds of changes.

    Examples
    --------
    >>> days = np.arange("2010-01-01", "2014-01-01", dtype="datetime64[D]")
    >>> walk = 50 + np.cumsum(np.random.default_rng(0).normal(size=len(days)))
    >>> r, changes = weekly_correlation(History.of(days, walk), History.of(days, 200 - walk))
    >>> r < -0.9, changes
    (True, 208)
    """
    unit = (
        "W"
        if all(len(each) > 1 and np.median(np.diff(each.days).astype(int)) < 7 for each in (first, second))
        else "M"
    )
    last = [_last_of_period(each, unit) for each in (first, second)]
    common, mine, theirs = np.intersect1d(last[0][0], last[1][0], return_indices=True)
    if len(common) < 3:
        return 0.0, 0
    steps = [_changes(last[0][1][mine]), _changes(last[1][1][theirs])]
    if not all(each.std() > 0 for each in steps):
        return 0.0, 0
    return float(np.corrcoef(steps[0], steps[1])[0, 1]), len(common) - 1


def _last_of_period(history: History, unit: str) -> tuple[np.ndarray, FloatArray]:
    """The weeks or months of a history, and the last value of each."""
    periods = history.days.astype(f"datetime64[{unit}]")
    ends = np.append(periods[1:] != periods[:-1], True)
    return periods[ends], history.values[ends]


def _changes(values: FloatArray) -> FloatArray:
    return np.asarray(np.diff(np.log(values) if (values > 0).all() else values))
