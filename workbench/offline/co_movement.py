"""How two series have moved together, and how often two claims came true together, by what was known at a cutoff."""

from dataclasses import dataclass

import numpy as np

from workbench.forecasts.series.series_history import History
from workbench.offline.report_records import OutcomeRecord, common_windows
from workbench.science.arrays import FloatArray

#: A link is beyond so many standard errors of none, and each half of the past has at least this share of it.
LINKED, STABLE = 2.6, 0.33


@dataclass(frozen=True, slots=True, kw_only=True)
class CoMovement:
    """Of a claim with a driver.

    Parameters
    ----------
    correlation : float
        Of their outcomes; 0 where one of them never changed.
    halves : (float, float)
        The same in the earlier and in the later half of the windows.
    with_driver, without_driver : float
        How often the claim came true where the driver did, and where it did not.
    independent : float
        Common windows, as if neither they nor their outcomes went together: Bartlett's count.
    """

    correlation: float
    halves: tuple[float, float]
    with_driver: float
    without_driver: float
    independent: float

    @property
    def strength(self) -> float:
        """The correlation in standard errors of none, which about one is by chance."""
        return self.correlation * float(np.sqrt(self.independent))

    def linked(self, least: float = LINKED) -> bool:
        """Whether the driver speaks for the claim beyond chance, in both halves of the past."""
        return self.strength >= least and min(self.halves) >= STABLE * self.correlation


def co_movement(claim: OutcomeRecord, driver: OutcomeRecord) -> CoMovement:
    """Return how a claim and a driver have moved together; without a common window, not at all."""
    table = common_windows([claim, driver]).astype(np.float64)
    half = len(table) // 2
    correlation, *halves = (_correlation(part) for part in (table, table[:half], table[half:]))
    parent, child = table[:, 0], table[:, 1]
    if not correlation:
        rate = float(parent.mean()) if len(table) else claim.base_rate
        return CoMovement(
            correlation=0.0, halves=(0.0, 0.0), with_driver=rate, without_driver=rate, independent=0.0
        )
    return CoMovement(
        correlation=correlation,
        halves=(halves[0], halves[1]),
        with_driver=float(parent[child == 1].mean()),
        without_driver=float(parent[child == 0].mean()),
        independent=_independent(table),
    )


def _correlation(table: FloatArray) -> float:
    varies = len(table) > 2 and (table.std(axis=0) > 0).all()
    return float(np.corrcoef(table.T)[0, 1]) if varies else 0.0


def _independent(table: FloatArray) -> float:
    """How many independent pairs have a correlation as unsure as these: n / (1 + 2 sum of r1(k) r2(k)) (Bartlett 1935)."""
    count = len(table)
    centred = table - table.mean(axis=0)
    # by the Fourier transform: some thousand windows, for every candidate
    power = np.abs(np.fft.rfft(centred, n=2 * count, axis=0)) ** 2
    lags = np.fft.irfft(power, axis=0)[: count // 4]
    shared = np.prod(lags[1:] / lags[0], axis=1)
    return count / max(1.0, 1.0 + 2.0 * float(shared.sum()))


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
    steps = np.column_stack([_changes(last[0][1][mine]), _changes(last[1][1][theirs])])
    return _correlation(steps), len(common) - 1


def _last_of_period(history: History, unit: str) -> tuple[np.ndarray, FloatArray]:
    """The weeks or months of a history, and the last value of each."""
    periods = history.days.astype(f"datetime64[{unit}]")
    ends = np.append(periods[1:] != periods[:-1], True)
    return periods[ends], history.values[ends]


def _changes(values: FloatArray) -> FloatArray:
    return np.asarray(np.diff(np.log(values) if (values > 0).all() else values))
