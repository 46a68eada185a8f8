"""Intervals of returns: averages, Sharpe ratios, edge and luck on resamples of the clusters."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.science.arrays import FloatArray
from workbench.science.comparing.bootstrap import symmetric_interval
from workbench.science.comparing.clusters import MIN_CLUSTERS
from workbench.science.comparing.score_intervals import Resampling, resampled_sums
from workbench.science.scoring.calibration_error import bin_of
from workbench.science.scoring.market import EdgeAndLuck

#: Figures with an interval by level of risk aversion; Brier score and calibration error have one each.
BY_LEVEL = ("average_return", "sharpe", "sharpe_ddof0", "total_payoff", "payoff_sd", "edge", "luck")

_BINS = 10


def return_intervals(
    figures: Mapping[str, Any],
    splits: Mapping[str, EdgeAndLuck],
    p: FloatArray,
    o: FloatArray,
    clusters: Any,
    resampling: Resampling,
) -> dict[str, Any]:
    """Interval of every figure of `returns` that is no count, symmetric about the figure (Prophet Arena, App. C.7).

    One long shot can carry an average, and no resample that misses it shows how
    rarely such a one comes: read an interval of returns as the least uncertainty there is.

    A figure has None for fewer than `MIN_CLUSTERS` clusters, or where a resample has no value (a Sharpe ratio of payoffs
    that are all equal).
    """
    columns = [(p - o) ** 2]
    for closed in ("left", "right"):
        gaps = np.zeros((len(p), _BINS))
        gaps[np.arange(len(p)), bin_of(p, closed=closed)] = o - p
        columns.append(gaps)
    for split in splits.values():
        # Of gains, not of payoffs: the sum of squares then loses no digits to the 1 that all of them hold.
        columns += [split.gain, split.gain**2, split.edge, split.luck]
    table = np.column_stack(columns)
    rng = np.random.default_rng(resampling.seed)
    total = resampled_sums(table, clusters, resamples=resampling.resamples, rng=rng)
    n, sums = total.events, total.sums
    few = total.clusters < MIN_CLUSTERS

    def interval(figure: float | None, drawn: FloatArray) -> list[float] | None:
        if few or figure is None or not np.isfinite(figure) or not np.isfinite(drawn).all():
            return None
        bounds = symmetric_interval(figure, drawn, level=resampling.level)
        return [bounds.low, bounds.high]

    intervals: dict[str, Any] = {name: {} for name in BY_LEVEL}
    intervals["brier"] = interval(figures["brier"], sums[:, 0] / n)
    intervals["ece"] = interval(figures["ece"], np.abs(sums[:, 1 : 1 + _BINS]).sum(axis=1) / n)
    right = sums[:, 1 + _BINS : 1 + 2 * _BINS]
    intervals["ece_right_closed"] = interval(figures["ece_right_closed"], np.abs(right).sum(axis=1) / n)
    for place, key in enumerate(splits):
        start = 1 + 2 * _BINS + 4 * place
        gain, square, edge, luck = sums[:, start : start + 4].T
        # With rounding the sum of squares may end a hair below; nan where a resample of equal payoffs has no ratio.
        spread = np.maximum(square - gain**2 / n, 0.0)
        spread[spread <= 1e-12 * np.maximum(square, 1e-300)] = np.nan
        with np.errstate(divide="ignore", invalid="ignore"):
            deviation = {ddof: np.sqrt(spread / (n - ddof)) for ddof in (0, 1)}
        drawn = {
            "average_return": 1.0 + gain / n,
            "sharpe": gain / n / deviation[1],
            "sharpe_ddof0": gain / n / deviation[0],
            # The number of bets is that of the data, not of the resample.
            "total_payoff": (1.0 + gain / n) * len(p),
            "payoff_sd": np.nan_to_num(deviation[1]),
            "edge": edge / n,
            "luck": luck / n,
        }
        for name, values in drawn.items():
            intervals[name][key] = interval(figures[name][key], values)
    return intervals
