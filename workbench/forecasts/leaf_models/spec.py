"""The question to the past of a series, and its answer."""

from dataclasses import dataclass, field
from datetime import date
from math import floor
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from workbench.forecasts.separate_windows import FEWEST_SEPARATE, separate_windows

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Method = Literal[
    "endpoint", "average", "path", "volatility", "relative", "reverting", "reverting-path", "monthly"
]

P_MIN, P_MAX = 0.02, 0.98


class TooLittleHistory(ValueError):
    """The visible history holds too few windows of this length."""


def refuse_too_few(separate: float, length: str) -> None:
    """Refuse fewer than two separate windows (`separate_windows`), of which no share means anything; raises ``TooLittleHistory``."""
    if separate < FEWEST_SEPARATE:
        raise TooLittleHistory(
            f"only {floor(10 * separate) / 10:.1f} separate windows of {length} lie in the visible history"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LeafSpec:
    """A claim's question to a series.

    ``low`` and ``high`` bound the statistic in the claim's own unit: growth factors relative to the value on
    ``start`` (endpoint, relative, drawdown along a path), levels of the series (``levels`` True), ratios to the
    200-day average (average), annualised volatility as a fraction (volatility); for monthly series in differences,
    changes in the unit of the series. ``start`` None is the last visible value. ``last_day`` is the last day of
    the visible calendar. ``extreme`` says which end of a path counts, ``never`` asks for the complement,
    ``strict`` leaves equality with a bound out.
    """

    method: Method
    end: date
    last_day: date
    low: float = -np.inf
    high: float = np.inf
    start: date | None = None
    levels: bool = False
    logs: bool = True
    extreme: Literal["max", "min"] = "max"
    never: bool = False
    strict: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimWindows:
    """The outcomes of a claim in past windows of its length.

    ``outcomes`` holds, for the weekly windows whose as-of days run from ``first`` to ``last`` in steps of seven days, 1
    (the claim came true), 0 or -1 (not known). ``horizon`` is in trading days; ``effective_windows`` counts windows as if
    they did not overlap.
    """

    base_rate: float
    horizon: int
    windows: int
    effective_windows: float
    first: date
    last: date
    outcomes: Ints = field(repr=False)

    @classmethod
    def of(
        cls,
        hits: npt.NDArray[np.bool_],
        valid: npt.NDArray[np.bool_],
        grid: pd.DatetimeIndex,
        *,
        weeks: float,
        horizon: int,
        length: str,
    ) -> "ClaimWindows":
        """Lay outcomes on the weeks of ``grid`` that are ``valid``; refuse fewer than two separate windows of so many weeks."""
        effective = separate_windows(hits, weeks)
        refuse_too_few(effective, length)
        outcomes = np.full(len(grid), -1, dtype=np.int64)
        outcomes[valid] = hits
        weeks_known = np.flatnonzero(valid)
        return cls(
            base_rate=float(hits.mean()),
            horizon=horizon,
            windows=len(hits),
            effective_windows=effective,
            first=grid[weeks_known[0]].date(),
            last=grid[weeks_known[-1]].date(),
            outcomes=outcomes[weeks_known[0] : weeks_known[-1] + 1],
        )

    def record(self) -> dict[str, Any]:
        """Return the numbers as JSON values; ``bits`` are the outcomes by week: 1 true, 0 false, x not known."""
        return {
            "base_rate": round(self.base_rate, 6),
            "horizon_days": self.horizon,
            "windows": self.windows,
            "effective_windows": round(self.effective_windows, 1),
            "weeks_from": self.first.isoformat(),
            "weeks_to": self.last.isoformat(),
            "bits": "".join({1: "1", 0: "0", -1: "x"}[int(bit)] for bit in self.outcomes),
        }
