"""Scores by lead time, and subsets with another mix of categories."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from workbench.science.arrays import FloatArray, IntArray, checked, codes_of
from workbench.science.errors import DomainError


@dataclass(frozen=True, slots=True, kw_only=True)
class LeadTimeCurve:
    """Mean Brier score per class of lead time; only classes that hold forecasts."""

    low: FloatArray
    high: FloatArray
    n: IntArray
    brier: FloatArray
    intervals: tuple[list[float] | None, ...]
    """Of the mean; None of too few, and where `lead_time_curve` was given no ``interval``."""


def lead_time_curve(
    forecast: ArrayLike,
    outcome: ArrayLike,
    lead: ArrayLike,
    edges: ArrayLike,
    event: ArrayLike | None = None,
    *,
    interval: Callable[[FloatArray, IntArray], list[float] | None] = lambda scores, rows: None,
) -> LeadTimeCurve:
    """Brier score against the time left until resolution.

    Source: Prophet Arena, Figure 6.

    Parameters
    ----------
    forecast, outcome : array_like, shape (n,)
        Probability of Yes; 1 Yes, 0 No.
    lead : array_like, shape (n,)
        Time left (hours or days), at least 0.
    edges : array_like, shape (k,)
        Rising class bounds; a class is [low, high), the last one open.
    event : array_like, shape (n,), optional
        Label of each forecast's event: inside a class, each event then counts once.
    interval : callable
        Interval of the mean of a class from its scores and a row of each.

    Returns
    -------
    LeadTimeCurve
        Lower is better; a forecaster that learns falls toward lead 0.

    Raises
    ------
    DomainError
        Unequal shapes, a negative lead, or edges that do not rise.

    Examples
    --------
    >>> curve = lead_time_curve([0.9, 0.5], [1, 1], [1, 40], [0, 7, 30])
    >>> curve.low.tolist(), curve.brier.round(2).tolist()
    ([0.0, 30.0], [0.01, 0.25])
    """
    p, o = checked(forecast, outcome)
    time = np.asarray(lead, dtype=np.float64)
    bounds = np.asarray(edges, dtype=np.float64)
    if time.shape != p.shape or not (time >= 0).all():
        raise DomainError("every forecast needs a lead time of at least 0")
    if bounds.ndim != 1 or len(bounds) < 1 or (np.diff(bounds) <= 0).any():
        raise DomainError("edges must rise")
    code = np.searchsorted(bounds, time, side="right") - 1
    score = (p - o) ** 2
    tops = np.append(bounds[1:], np.inf)
    classes, sizes, means, intervals = list[int](), list[int](), list[float](), list[list[float] | None]()
    for index in range(len(bounds)):
        inside = np.flatnonzero(code == index)
        values = score[inside]
        if not len(values):
            continue
        if event is not None:
            groups = codes_of(np.asarray(event)[inside])[0]
            values = np.bincount(groups, weights=values) / np.bincount(groups)
            inside = inside[np.unique(groups, return_index=True)[1]]
        classes.append(index)
        sizes.append(len(values))
        means.append(float(values.mean()))
        intervals.append(interval(values, inside))
    return LeadTimeCurve(
        low=bounds[classes],
        high=tops[classes],
        n=np.array(sizes, dtype=np.int64),
        brier=np.array(means),
        intervals=tuple(intervals),
    )


def rebalance(category: ArrayLike, shares: Mapping[str, float], *, seed: int) -> IntArray:
    """Rows of the largest subset in which the categories have the asked shares, drawn without replacement.

    Source: Prophet Arena, App. C.8 (81 % sports to 50 % and 25 %).

    Parameters
    ----------
    category : array_like, shape (n,)
        Label of each event. Labels not in ``shares`` count as ``other`` when ``shares`` has that key, else they are
        left out.
    shares : mapping of str to float
        At least 0, summing to 1.
    seed : int
        The same seed gives the same rows.

    Returns
    -------
    ndarray of int
        Rising row numbers; counts differ from ``share`` of all by less than 1.

    Raises
    ------
    DomainError
        Shares that do not sum to 1, or a category with too few events.

    Examples
    --------
    >>> rows = rebalance(["s"] * 8 + ["p"] * 2, {"s": 0.5, "p": 0.5}, seed=1)
    >>> len(rows), (rows >= 8).sum().item()
    (4, 2)
    """
    labels = np.asarray(category).astype(str)
    wanted = {name: share for name, share in shares.items() if share > 0}
    if any(share < 0 for share in shares.values()) or abs(sum(shares.values()) - 1.0) > 1e-9:
        raise DomainError("shares must be at least 0 and sum to 1")
    if "other" in wanted:
        labels = np.where(np.isin(labels, [name for name in wanted if name != "other"]), labels, "other")
    have = {name: int((labels == name).sum()) for name in wanted}
    # The 1e-9 undoes rounding: 7 / 0.07 is a hair below 100 and must count as 100.
    total = int(min(have[name] / share for name, share in wanted.items()) + 1e-9)
    if total < 1:
        scarce = min(wanted, key=lambda name: have[name] / wanted[name])
        raise DomainError(f"a subset needs more events of {scarce!r}: there are {have[scarce]}")
    exact = {name: total * share for name, share in wanted.items()}
    counts = {name: int(value + 1e-9) for name, value in exact.items()}
    for name in sorted(
        wanted, key=lambda name: (counts[name] - exact[name], name)
    ):  # largest remainders first
        if sum(counts.values()) == total:
            break
        counts[name] += 1
    rng = np.random.default_rng(seed)
    rows = [
        rng.choice(np.flatnonzero(labels == name), counts[name], replace=False) for name in sorted(wanted)
    ]
    return np.sort(np.concatenate(rows)).astype(np.int64)
