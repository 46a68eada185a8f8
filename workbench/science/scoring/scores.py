"""Scores of binary forecasts, and whether a set of them hangs together, whatever comes true.

In every score of this file ``forecast`` is the probability of Yes, in [0, 1], and ``outcome`` is 1 for Yes and 0 for
No, both of shape (n,). Empty input, unequal shapes or a value out of range raise `DomainError`.
"""

import numpy as np
from numpy.typing import ArrayLike

from workbench.science.arrays import FloatArray, checked, codes_of
from workbench.science.errors import DomainError
from workbench.science.table_cells import StrArray

_MACHINE = float(np.finfo(np.float64).eps)


def brier_scores(forecast: ArrayLike, outcome: ArrayLike) -> FloatArray:
    """Squared error of each forecast, shape (n,), in [0, 1]; lower is better. Source: BLF, App. A.2.

    >>> brier_scores([0.5, 1.0], [1, 1]).tolist()
    [0.25, 0.0]
    """
    p, o = checked(forecast, outcome)
    return np.asarray((p - o) ** 2)


def brier(forecast: ArrayLike, outcome: ArrayLike) -> float:
    """Mean squared error of the forecasts, in [0, 1]: lower is better, always-0.5 gives 0.25.

    Source: BLF, App. A.2; Prophet Arena, App. C.1.

    >>> brier([0.5, 1.0], [1, 1])
    0.125
    """
    return float(brier_scores(forecast, outcome).mean())


def event_weights(event: ArrayLike) -> FloatArray:
    """Weight 1/m for each of the m markets of an event, shape (n,), so that every event counts once.

    ``event`` labels the event each market belongs to; the weights sum to the number of events. Source: Prophet Arena,
    App. C.1.
    """
    codes, names = codes_of(event)
    return np.asarray(1.0 / np.bincount(codes, minlength=len(names))[codes])


def brier_index(forecast: ArrayLike, outcome: ArrayLike) -> float:
    """Brier Index of binary forecasts, in points: 100 perfect, 50 for always 0.5; higher is better.

    The root is taken once, after the mean. Source: BLF, App. A.2.

    Examples
    --------
    >>> brier_index([0.5, 0.5], [1, 0])
    50.0
    """
    return index_of(brier(forecast, outcome))


def index_of(score: float) -> float:
    """Brier Index ``100 (1 - sqrt(max(0, score)))`` of a mean Brier score; higher is better.

    Adjusted scores can be below 0; they count as 0.

    >>> index_of(0.25)
    50.0
    """
    return float(100.0 * (1.0 - np.sqrt(max(0.0, score))))


def metaculus_scores(forecast: ArrayLike, outcome: ArrayLike) -> FloatArray:
    """Metaculus baseline score of each forecast, in points: ``100 (1 + log2 p_outcome)``, 0 for 0.5; higher is better.

    The probability of what happened is clipped to [0.001, 0.999], Metaculus' own limits. Source: BLF, App. A.2.
    """
    p, o = checked(forecast, outcome)
    happened = np.clip(np.where(o == 1.0, p, 1.0 - p), 1e-3, 1.0 - 1e-3)
    return np.asarray(100.0 * (1.0 + np.log2(happened)))


def metaculus_baseline(forecast: ArrayLike, outcome: ArrayLike) -> float:
    """Mean Metaculus baseline score, in points: 0 for always 0.5, at most 100, higher is better; see `metaculus_scores`."""
    return float(metaculus_scores(forecast, outcome).mean())


def log_losses(forecast: ArrayLike, outcome: ArrayLike, *, clip: float = _MACHINE) -> FloatArray:
    """Negative log likelihood of each forecast, in nats; lower is better, always-0.5 gives 0.693.

    Forecasts are clipped to [clip, 1 - clip]: a certain miss costs 36 nats, not infinity (as scikit-learn).
    """
    p, o = checked(forecast, outcome)
    q = np.clip(p, clip, 1.0 - clip)
    # A clip of 0 asks for infinities, and gets them without a warning.
    with np.errstate(divide="ignore"):
        return np.where(o == 1.0, -np.log(q), -np.log1p(-q))


def log_loss(forecast: ArrayLike, outcome: ArrayLike) -> float:
    """Mean negative log likelihood, in nats; lower is better, always-0.5 gives 0.693. Clipped as in `log_losses`."""
    return float(log_losses(forecast, outcome).mean())


def hits(forecast: ArrayLike, outcome: ArrayLike) -> FloatArray:
    """1 where "Yes when above 0.5" is right, 0 where wrong, shape (n,).

    Exactly 0.5 counts as half: such a forecast decides nothing, so always-0.5 is right half the time.
    """
    p, o = checked(forecast, outcome)
    return np.where(p == 0.5, 0.5, ((p > 0.5) == (o == 1.0)).astype(np.float64))


def accuracy(forecast: ArrayLike, outcome: ArrayLike) -> float:
    """Share of events called right (`hits`), in [0, 1]; higher is better.

    >>> accuracy([0.9, 0.5], [1, 0])
    0.75
    """
    return float(hits(forecast, outcome).mean())


def confidence(forecast: ArrayLike) -> float:
    """Mean probability of the side each forecast favours: how sure, not how right.

    Takes Yes/No forecasts, shape (n,), or one row of option probabilities per task. Source: Analytica, section 5.1
    (Conf.).

    Examples
    --------
    >>> confidence([0.9, 0.3])
    0.8
    """
    p = np.asarray(forecast, dtype=np.float64)
    if p.size == 0 or not ((p >= 0) & (p <= 1)).all():
        raise DomainError("forecasts must be a non-empty array of probabilities in [0, 1]")
    return float(np.maximum(p, 1.0 - p).mean() if p.ndim == 1 else p.max(axis=1).mean())


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
