"""How far arms stand from each other and from the market: distance matrix, and whether they are more cautious than the price (paper P, section 4)."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.science.arrays import FloatArray, pair_matrix
from workbench.science.comparing.clusters import cluster_count, event_clusters
from workbench.science.comparing.mean_intervals import share_interval
from workbench.studies.study_exam import StudyExam

#: Events below which a slope says nothing, and a spread of prices below which it would be rounding.
_FEW, _SPREAD = 10, 1e-6


def caution_rows(exam: StudyExam, pooled: Mapping[str, FloatArray]) -> list[dict[str, Any]]:
    """A row per arm that forecasts priced events: the slope of forecast on price, and the share nearer to 0.5 than the price.

    A slope below 1 and a share above 0.5 mean more cautious than the market. Events on which both are as far from 0.5 decide
    nothing and are left out of the share; its interval is over clusters. An arm that is the price itself has no row.
    """
    if "crowd" not in exam.events.frame.columns:
        return []
    price, clusters = exam.events.probability("crowd"), event_clusters(exam.events)
    rows = []
    for arm, p in pooled.items():
        known = np.isfinite(p) & np.isfinite(price)
        q, said = price[known], p[known]
        if known.sum() < _FEW or np.ptp(q) < _SPREAD or np.allclose(q, said):
            continue
        nearer = np.abs(said - 0.5) - np.abs(q - 0.5)
        decided = np.abs(nearer) > 1e-12
        nearer_half = (nearer < 0)[decided]
        ends = share_interval(nearer_half, clusters[known][decided]) if decided.any() else None
        rows.append(
            {
                "arm": arm,
                "n": int(known.sum()),
                "slope": float(np.polyfit(q, said, 1)[0]),
                "clusters": cluster_count(clusters[known]),
                "cautious": float(nearer_half.mean()) if decided.any() else None,
                "cautious_low": None if ends is None else ends[0],
                "cautious_high": None if ends is None else ends[1],
            }
        )
    return rows


def distance_matrix(pooled: Mapping[str, FloatArray]) -> FloatArray:
    """Root mean squared difference of the forecasts of each pair of arms, on the events both answered (paper P, Fig. 5: L2).

    ``nan`` for a pair without a common event.

    >>> distance_matrix({"a": np.array([0.2, 0.4]), "b": np.array([0.5, 0.8])}).round(4).tolist()
    [[0.0, 0.3536], [0.3536, 0.0]]
    """
    return pair_matrix(pooled, lambda a, b, _: float(np.sqrt(((a - b) ** 2).mean())))[1]
