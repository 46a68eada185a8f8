"""Check whether a set of forecasts hangs together, whatever comes true."""

import numpy as np

from workbench.science.arrays import FloatArray
from workbench.science.table_cells import StrArray

#: The paper does not say how far from 1 a sum is still consistent.
_TOLERANCE = 0.01


def consistency_scores(
    p: FloatArray, outcome_set: StrArray, set_size: FloatArray, set_step: FloatArray
) -> dict[str, float | int | None]:
    """Both consistency scores of a method over all its events.

    ``exclusive`` is the share of exclusive sets, each with all its outcomes forecast, that sum to 1 within 0.01, ``gap`` their mean
    distance from 1 (App. D.4, eq. 10). ``chain`` is the mean over chains of the share of steps whose probability does not fall (eq. 9).
    None without such a set; ``exclusive_sets`` and ``chains`` count them. Of each event ``outcome_set`` is "" where it is in none,
    ``set_size`` how many outcomes its set has, and ``set_step`` its place in a chain in which each outcome implies the next ("above
    220" before "above 200"), ``nan`` for exclusive ones. Source: Prophet Arena, App. D.4 (Table 9).

    >>> nan = float("nan")
    >>> scores = consistency_scores(np.array([0.6, 0.5, 0.2, 0.3]), np.array(["a", "a", "b", "b"]), np.full(4, 2.0),
    ...                             np.array([nan, nan, 1.0, 2.0]))
    >>> scores["exclusive"], round(scores["gap"], 6), scores["chain"]
    (0.0, 0.1, 1.0)
    """
    gaps, chains = list[float](), list[float]()
    for name in np.unique(outcome_set[outcome_set != ""]):
        rows = np.flatnonzero(outcome_set == name)
        steps = set_step[rows]
        if np.isfinite(steps).all():
            if len(rows) > 1:
                chain = p[rows[np.argsort(steps, kind="stable")]]
                chains.append(float((np.diff(chain) >= -1e-9).mean()))
        elif len(rows) == set_size[rows[0]] and len(rows) > 1:
            gaps.append(abs(float(p[rows].sum() - 1.0)))
    return {
        "exclusive": float(np.mean(np.array(gaps) <= _TOLERANCE + 1e-12)) if gaps else None,
        "gap": float(np.mean(gaps)) if gaps else None,
        "exclusive_sets": len(gaps),
        "chain": float(np.mean(chains)) if chains else None,
        "chains": len(chains),
    }
