"""Intervals of returns: of averages the paper's bootstrap, of luck that of these very bets, of ratios what sign flips do not reject."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import stdtrit

from workbench.science.arrays import LEVEL, FloatArray
from workbench.science.comparing.bootstrap import resampled_means, symmetric_interval
from workbench.science.comparing.clusters import MIN_CLUSTERS, cluster_count, fewest
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

    Averages and totals have the symmetric bootstrap over events of Prophet Arena (App. C.7), its low end no lower than the worst payoff
    there can be: 0. It takes events as independent, and a sample in which no long shot came in does not show what one would have brought
    (of 20 bets a nominal 95 % covers 89 %). Luck holds the bets fixed and lets outcomes fall at the prices' odds.

    The others have None for fewer than `MIN_CLUSTERS` clusters, and where they have no value (a Sharpe ratio of payoffs that are all equal).
    """
    intervals: dict[str, Any] = {name: dict.fromkeys(splits) for name in BY_LEVEL}
    intervals |= {"brier": None, "ece": None, "ece_right_closed": None}
    n = len(p)
    if n < 2:
        return intervals
    payoffs = np.column_stack([split.gain + 1.0 for split in splits.values()])
    drawn = resampled_means(payoffs, resamples=resampling.resamples, seed=resampling.seed)
    for key, means in zip(splits, drawn.T, strict=True):
        value = figures["average_return"][key]
        ends = symmetric_interval(value, means)
        intervals["average_return"][key] = [max(0.0, ends.low), ends.high]
        intervals["total_payoff"][key] = [n * max(0.0, ends.low), n * ends.high]
    if cluster_count(clusters) < MIN_CLUSTERS:
        return intervals
    intervals["brier"] = loss_interval((p - o) ** 2, clusters, resampling=resampling)
    codes = fewest(clusters)
    freedom = 1.0 / float(((np.bincount(codes) / n) ** 2).sum()) - 1.0
    width = float(stdtrit(freedom, 0.5 + LEVEL / 2))
    for key, split in splits.items():
        half = width * sum_deviation(split.swing * np.sqrt(price * (1.0 - price)), clusters) / n
        luck = figures["luck"][key]
        intervals["luck"][key] = [luck - half, luck + half]
        intervals["edge"][key] = mean_intervals([split.edge], clusters, resampling=resampling)[0]
        ratios = {name: figures[name][key] for name in ("sharpe", "sharpe_ddof0")}
        if all(ratio is not None for ratio in ratios.values()) and np.ptp(split.gain) > 1e-12:
            bounds = _ratio_interval(split.gain, clusters, resampling)
            # The two differ by the divisor alone.
            scale = {"sharpe": 1.0, "sharpe_ddof0": np.sqrt(n / (n - 1.0))}
            for name in ratios:
                intervals[name][key] = None if bounds is None else [scale[name] * bound for bound in bounds]
    return intervals


def _ratio_interval(gain: FloatArray, clusters: Any, resampling: Resampling) -> Bounds:
    mean, deviation = float(gain.mean()), float(gain.std(ddof=1))
    off = gain - mean
    # The mean square of `off` and not the sample variance: the corrections then sum to 0.
    skew = mean * (off**2 - float((off**2).mean())) / (2.0 * deviation**3)
    return mean_intervals([(mean + off) / deviation - skew], clusters, resampling=resampling)[0]
