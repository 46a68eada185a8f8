"""Calibration error and the numbers of the reliability diagram.

In every function of this file ``forecast`` is the probability of Yes, in [0, 1], and ``outcome`` is 1 for Yes and 0 for
No, both of shape (n,). Empty input, unequal shapes or a value out of range raise `DomainError`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.science.arrays import FloatArray, IntArray, checked, wilson
from workbench.science.errors import DomainError

Bins = Literal["width", "quantile"]
Closed = Literal["left", "right"]

# A mean of forecasts such as (0.7 + 0.1) reaches us as 0.7999999999999999; on an edge the decimal decides, not the float.
_NUDGE = 1e-9


def bin_of(forecast: ArrayLike, *, bins: int = 10, how: Bins = "width", closed: Closed = "left") -> IntArray:
    """Bin of each forecast.

    ``closed`` is for equal width: ``left`` is [0, .1) ... [.9, 1], ``right`` (0, .1] ... (.9, 1] with 0 in the first. They
    differ because many forecasts sit on .1, .2, ... Equal numbers are sorted by p (ties keep their order) and cut like
    `numpy.array_split`.
    """
    p = np.asarray(forecast, dtype=np.float64)
    if bins < 1:
        raise DomainError(f"at least 1 bin is needed, not {bins}")
    if how == "quantile":
        codes = np.empty(len(p), dtype=np.int64)
        for code, part in enumerate(np.array_split(np.argsort(p, kind="stable"), bins)):
            codes[part] = code
        return codes
    if how != "width" or closed not in ("left", "right"):
        raise DomainError(
            f"bins are 'width' or 'quantile', closed 'left' or 'right', not {how!r} and {closed!r}"
        )
    raw = np.floor(bins * p + _NUDGE) if closed == "left" else np.ceil(bins * p - _NUDGE) - 1.0
    return np.clip(raw, 0, bins - 1).astype(np.int64)


def calibration_error(
    forecast: ArrayLike, outcome: ArrayLike, *, bins: int = 10, how: Bins = "width", closed: Closed = "left"
) -> float:
    """Expected calibration error: the mean gap between forecast and frequency over bins, weighted by their size.

    Source: Prophet Arena, App. C.2, eq. 3 (10 equal-width bins); quantile bins as in BLF's Figure 10.

    Parameters
    ----------
    bins, how, closed
        See `bin_of`.

    Returns
    -------
    float
        In [0, 1]; lower is better. Biased upward, so read it beside `calibrated_error`: of 50 forecasts a perfect forecaster gets 0.15.

    Examples
    --------
    >>> round(calibration_error([0.8, 0.8, 0.2], [1, 0, 0]), 4)
    0.2667
    """
    p, o = checked(forecast, outcome)
    codes = bin_of(p, bins=bins, how=how, closed=closed)
    # Summed, not averaged: weighting by the size of a bin would multiply by the number just divided by.
    gap = np.bincount(codes, weights=o - p, minlength=bins)
    return float(np.abs(gap).sum() / len(p))


def _bin_sums(codes: IntArray, *columns: FloatArray) -> list[FloatArray]:
    """Number of forecasts and sums of the columns, for every bin that holds a forecast."""
    count = np.bincount(codes)
    sums = (np.bincount(codes, weights=column) for column in (np.ones(len(codes)), *columns))
    return [np.asarray(column[count > 0], dtype=np.float64) for column in sums]


def debiased_calibration_error(forecast: ArrayLike, outcome: ArrayLike) -> float:
    """Calibration error with the outcomes' own spread taken out of each bin's gap; 0 where a bin shows no more than that.

    The square of a gap is too large by its sampling variance (Ferro and Fricker 2012); less of the bias is left than in the plain one,
    not none. Lower is better.

    >>> debiased_calibration_error([0.5] * 4, [1, 0, 1, 0]), round(debiased_calibration_error([0.9] * 10, [0] * 10), 9)
    (0.0, 0.9)
    """
    p, o = checked(forecast, outcome)
    count, yes, forecast_sums, variance = _bin_sums(bin_of(p), o, p, p * (1.0 - p))
    spread = np.where(count > 1, yes * (1.0 - yes / count) * count / np.maximum(count - 1.0, 1.0), variance)
    return float(np.sqrt(np.maximum((yes - forecast_sums) ** 2 - spread, 0.0)).sum() / len(p))


class BrierParts(NamedTuple):
    """The Brier score of forecasts that are set to the mean of their bin: ``reliability - resolution + uncertainty``."""

    reliability: float
    resolution: float
    uncertainty: float


def brier_parts(forecast: ArrayLike, outcome: ArrayLike, *, bins: int = 10) -> BrierParts:
    """Brier score split by bins: distance from what came true (lower is better), telling cases apart (higher), the outcomes' own variance.

    Source: Murphy (1973), A new vector partition of the probability score; named in Prophet Arena, footnote 4.

    Bins are of equal width (`bin_of`); the sum is the Brier score itself where every bin holds one value of forecast.

    Examples
    --------
    >>> [round(part, 4) for part in brier_parts([0.8, 0.8, 0.2], [1, 0, 0])]
    [0.0733, 0.0556, 0.2222]
    """
    p, o = checked(forecast, outcome)
    count, yes, forecast_sums = _bin_sums(bin_of(p, bins=bins), o, p)
    share, mean, weight = yes / count, forecast_sums / count, count / len(p)
    base = float(o.mean())
    return BrierParts(
        float(weight @ (mean - share) ** 2), float(weight @ (share - base) ** 2), base * (1.0 - base)
    )


class CalibratedError(NamedTuple):
    """Calibration error of a forecaster whose probabilities are right: its mean, and what 95 % of its samples stay below."""

    expected: float
    high: float


def calibrated_error(
    forecast: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    how: Bins = "width",
    bins: int = 10,
    draws: int = 400,
) -> CalibratedError:
    """Estimate the `calibration_error` of these forecasts if they were right, one piece of luck drawn for each cluster.

    The dates of a question come out together: an event is Yes where its cluster's draw lies below its forecast. Each event is its own
    cluster when none are given.

    >>> [round(value, 2) for value in calibrated_error([0.5] * 100)]
    [0.04, 0.1]
    """
    p, _ = checked(forecast, np.zeros(len(np.asarray(forecast))))
    order = np.argsort(codes := bin_of(p, bins=bins, how=how), kind="stable")
    ends = np.flatnonzero(np.diff(codes[order], prepend=-1))
    labels = np.arange(len(p)) if clusters is None else np.asarray(clusters)
    # Numbered as they come, so that clusters of one event each draw what events without clusters do.
    _, first, codes_in_order = np.unique(labels[order], return_index=True, return_inverse=True)
    luck = np.argsort(np.argsort(first))[codes_in_order]
    rng = np.random.default_rng(20261124)
    errors = []
    for _ in range(draws):
        gaps = np.add.reduceat((rng.random(len(first))[luck] < p[order]) - p[order], ends)
        errors.append(float(np.abs(gaps).sum()) / len(p))
    return CalibratedError(float(np.mean(errors)), float(np.quantile(errors, 0.95)))


#: From the outcomes of a class and the events that are in it to the ends of its share of Yes; None where nothing can be said.
ClassInterval = Callable[[FloatArray, NDArray[np.bool_]], list[float] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliability:
    """The points of a reliability diagram; only bins that hold forecasts."""

    count: IntArray
    forecast: FloatArray
    """Mean forecast per bin."""
    observed: FloatArray
    """Share of Yes per bin."""
    low: FloatArray
    high: FloatArray
    """Wilson interval of that share, for as many events as its clusters are worth; ``nan`` for a bin of too few clusters."""


def reliability(
    forecast: ArrayLike,
    outcome: ArrayLike,
    *,
    bins: int = 10,
    how: Bins = "width",
    interval: ClassInterval | None = None,
) -> Reliability:
    """Points and intervals of a reliability diagram; ``interval`` gives that of a class whose events are not independent.

    Source: BLF, Figure 10; Prophet Arena, App. C.2.
    """
    p, o = checked(forecast, outcome)
    codes = bin_of(p, bins=bins, how=how)
    count, yes, forecast_sums = _bin_sums(codes, o, p)
    low, high = wilson(yes / count, count)
    if interval is not None:
        ends = [interval(o[codes == code], codes == code) or [np.nan] * 2 for code in np.unique(codes)]
        low, high = np.array(ends).T
    return Reliability(
        count=count.astype(np.int64),
        forecast=forecast_sums / count,
        observed=yes / count,
        low=low,
        high=high,
    )
