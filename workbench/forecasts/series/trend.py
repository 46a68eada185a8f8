"""Straight-line models of paper B: linear, safe-linear, and the hybrid with prior years."""

from dataclasses import dataclass, field

import numpy as np
from scipy.special import ndtr

from workbench.forecasts.series.seasonal import PriorYear
from workbench.forecasts.series.series_history import Days, History
from workbench.science.arrays import FloatArray
from workbench.science.errors import DomainError


def normal_exceedance(levels: FloatArray, mean: FloatArray, deviation: FloatArray) -> FloatArray:
    """Return the chance of a normal variable above each level (m,), for each mean and deviation (h,): shape (h, m).

    A deviation of 0 gives 0 or 1 (0.5 at the mean itself).

    Examples
    --------
    >>> normal_exceedance(np.array([0.0, 1.0]), np.array([0.0]), np.array([0.0])).tolist()
    [[0.5, 0.0]]
    """
    gap = mean[:, None] - levels[None, :]
    spread = deviation[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(spread > 0, gap / spread, np.where(gap == 0, 0.0, np.sign(gap) * np.inf))
    return np.asarray(ndtr(z))


@dataclass(frozen=True, slots=True, kw_only=True)
class Linear:
    """Least-squares line through the last observations; normal errors of the residuals' size at any horizon.

    Source: BLF, App. I.2, eq. 21 (30 observations for FRED, 60 for Yahoo). That the error does not grow with the
    horizon is the paper's.

    Examples
    --------
    >>> days = np.arange("2020-01-01", "2020-01-11", dtype="datetime64[D]")
    >>> history = History.of(days, np.arange(10.0))
    >>> Linear().chances(history, days[-1:] + 2, np.array([10.0, 12.0])).tolist()
    [[1.0, 0.0]]
    """

    window: int = 30
    name: str = "linear"

    def chances(self, history: History, targets: Days, levels: FloatArray) -> FloatArray:
        """Return probabilities, shape (targets, levels)."""
        if self.window < 3:
            raise DomainError(f"a line needs a window of at least 3 observations, not {self.window}")
        history.need(3, "a line")
        part = history.last(self.window)
        origin = part.days[-1]
        x = (part.days - origin).astype(np.float64)
        middle = x.mean()
        slope = float(((x - middle) * part.values).sum() / ((x - middle) ** 2).sum())
        level = float(part.values.mean())
        residual = part.values - level - slope * (x - middle)
        deviation = float(residual.std())
        if deviation < 1e-12 * max(1.0, float(np.abs(part.values).max())):
            deviation = 0.0  # an exact line: what is left is rounding
        mean = level + slope * ((targets - origin).astype(np.float64) - middle)
        return normal_exceedance(levels, mean, np.full(len(targets), deviation))


@dataclass(frozen=True, slots=True, kw_only=True)
class SafeLinear:
    """``trust * linear + (1 - trust) * 0.5``.

    Source: BLF, App. I.2, eq. 20 (trust 0.5 for FRED, 0.1 for Yahoo).

    Examples
    --------
    >>> days = np.arange("2020-01-01", "2020-01-11", dtype="datetime64[D]")
    >>> SafeLinear(trust=0.1).chances(History.of(days, np.arange(10.0)), days[-1:] + 2, np.array([5.0])).tolist()
    [[0.55]]
    """

    trust: float = 0.5
    window: int = 30
    name: str = "safe-linear"

    def chances(self, history: History, targets: Days, levels: FloatArray) -> FloatArray:
        """Return probabilities, shape (targets, levels)."""
        if not 0.0 <= self.trust <= 1.0:
            raise DomainError(f"trust must be in [0, 1], not {self.trust:g}")
        line = Linear(window=self.window).chances(history, targets, levels)
        return self.trust * line + (1.0 - self.trust) * 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Hybrid:
    """``weight * safe-linear + (1 - weight) * prior-year``; safe-linear alone if there is no prior year.

    Source: BLF, App. I.3, eq. 22 and 23 (weight 0.5).

    Examples
    --------
    >>> days = np.arange("2020-01-01", "2020-01-11", dtype="datetime64[D]")
    >>> Hybrid().chances(History.of(days, np.arange(10.0)), days[-1:] + 2, np.array([5.0])).tolist()
    [[0.75]]
    """

    safe: SafeLinear = field(default_factory=SafeLinear)
    prior: PriorYear = field(default_factory=PriorYear)
    weight: float = 0.5
    name: str = "hybrid"

    def chances(self, history: History, targets: Days, levels: FloatArray) -> FloatArray:
        """Return probabilities, shape (targets, levels)."""
        if not 0.0 <= self.weight <= 1.0:
            raise DomainError(f"weight must be in [0, 1], not {self.weight:g}")
        line = self.safe.chances(history, targets, levels)
        season = self.prior.chances(history, targets, levels)
        weight = np.where(self.prior.has_data(history, targets) > 0, self.weight, 1.0)[:, None]
        return np.asarray(weight * line + (1.0 - weight) * season)


def for_source(source: str) -> Hybrid:
    """Return the hybrid with paper B's settings: ``yfinance`` (trust 0.1, 60 observations), any other source as FRED (0.5, 30).

    Source: BLF, App. I.2. DBnomics uses `workbench.forecasts.series.seasonal.Knn` instead.

    Examples
    --------
    >>> for_source("yfinance").safe.trust
    0.1
    """
    safe = SafeLinear(trust=0.1, window=60) if source == "yfinance" else SafeLinear(trust=0.5, window=30)
    return Hybrid(safe=safe)
