"""Intervals of returns: of averages the luck of these very bets, of ratios and scores what sign flips of the clusters do not reject."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import stdtrit

from workbench.science.arrays import FloatArray, codes_of
from workbench.science.comparing.clusters import MIN_CLUSTERS
from workbench.science.comparing.mean_intervals import Bounds, Resampling, loss_interval, mean_intervals
from workbench.science.scoring.market import EdgeAndLuck, sum_deviation

#: Figures with an interval by level of risk aversion; the Brier score has one too. ``payoff_sd`` and calibration errors have none.
BY_LEVEL = ("average_return", "sharpe", "sharpe_ddof0", "total_payoff", "payoff_sd", "edge", "luck")


def return_intervals(
    figures: Mapping[str, Any],
    splits: Mapping[str, EdgeAndLuck],
    p: FloatArray,
    price: FloatArray,
    o: FloatArray,
    clusters: Any,
    resampling: Resampling,
) -> dict[str, Any]:
    """Interval of every figure of `returns` that is no count.

    Averages, totals and luck hold the bets fixed and let outcomes fall at the prices' odds: a sample in which no long shot came in does
    not show how much one would have brought, and its own spread is too small (of 20 bets a nominal 95 % covers 89 %).

    A figure has None for fewer than `MIN_CLUSTERS` clusters, and where it has no value (a Sharpe ratio of payoffs that are all equal).
    """
    intervals: dict[str, Any] = {name: dict.fromkeys(splits) for name in BY_LEVEL}
    intervals |= {"brier": None, "ece": None, "ece_right_closed": None}
    codes, names = codes_of(clusters)
    n = len(p)
    if len(names) < MIN_CLUSTERS:
        return intervals
    intervals["brier"] = loss_interval((p - o) ** 2, codes, resampling=resampling)
    freedom = 1.0 / float(((np.bincount(codes) / n) ** 2).sum()) - 1.0
    width = float(stdtrit(freedom, 0.5 + resampling.level / 2))
    for key, split in splits.items():
        half = width * sum_deviation(split.swing * np.sqrt(price * (1.0 - price)), codes) / n
        for name, times in (("average_return", 1.0), ("luck", 1.0), ("total_payoff", n)):
            value = figures[name][key]
            intervals[name][key] = [value - times * half, value + times * half]
        intervals["edge"][key] = mean_intervals([split.edge], codes, resampling=resampling)[0]
        ratios = {name: figures[name][key] for name in ("sharpe", "sharpe_ddof0")}
        if all(ratio is not None for ratio in ratios.values()) and np.ptp(split.gain) > 1e-12:
            ends = _ratio_interval(split.gain, codes, resampling)
            # The two differ by the divisor alone.
            scale = {"sharpe": 1.0, "sharpe_ddof0": np.sqrt(n / (n - 1.0))}
            for name in ratios:
                intervals[name][key] = None if ends is None else [scale[name] * end for end in ends]
    return intervals


def _ratio_interval(gain: FloatArray, codes: Any, resampling: Resampling) -> Bounds:
    """Of mean over deviation, by its first-order dependence on each payoff."""
    mean, deviation = float(gain.mean()), float(gain.std(ddof=1))
    off = gain - mean
    # The mean square of `off` and not the sample variance: the corrections then sum to 0.
    skew = mean * (off**2 - float((off**2).mean())) / (2.0 * deviation**3)
    return mean_intervals([(mean + off) / deviation - skew], codes, resampling=resampling)[0]
