"""Stakes on bets that hang together, such as nested markets: what maximises expected utility over the states of the world.

Any bet may pay in any states, so levels of one number ("above 3",
"above 4") and both sides of a market are sized together, and what one loses another may win.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import LinearConstraint, isotonic_regression, minimize

from workbench.science.arrays import FloatArray
from workbench.science.errors import DomainError

_LEAST_WEALTH = 1e-9  # below it utility is taken as at it, so that a ruinous trial step has a value
_NOTHING = 1e-6  # smaller stakes are the optimiser's rounding


@dataclass(frozen=True, slots=True, kw_only=True)
class Portfolio:
    """Stakes of a wealth of 1; what is not staked is kept.

    Parameters
    ----------
    stakes : ndarray, shape (bets,)
    wealth : ndarray, shape (states,)
        Afterwards, by state.
    expected : float
        Expected gain by the own probabilities.
    worst : float
        Gain in the worst state that is possible at all.
    certain : float
        Certainty equivalent minus 1: the sure gain that is worth as much.
    """

    stakes: FloatArray
    wealth: FloatArray
    expected: float
    worst: float
    certain: float


def _utility(wealth: FloatArray, g: float) -> FloatArray:
    w = np.maximum(wealth, _LEAST_WEALTH)
    return np.asarray(np.log(w) if abs(g - 1) < 1e-12 else (w ** (1 - g) - 1) / (1 - g))


def _certain(utility: float, g: float) -> float:
    return float(np.exp(utility) if abs(g - 1) < 1e-12 else max(1 + (1 - g) * utility, 0.0) ** (1 / (1 - g)))


def size_portfolio(
    p: ArrayLike,
    pays: ArrayLike,
    *,
    risk_aversion: float,
    cap: float = 1.0,
    groups: Sequence[str] | None = None,
) -> Portfolio:
    """Stakes that maximise expected utility under constant relative risk aversion, found numerically (the problem is concave).

    Parameters
    ----------
    p : array_like, shape (states,)
        Own probabilities of the states, summing to 1.
    pays : array_like, shape (bets, states)
        What a dollar on each bet comes back as in each state, costs included: 1 / (ask + fee) where it wins, 0 where it loses.
    risk_aversion : float
        At least 0; 0 puts the cap on the bet of the highest expected payoff.
    cap : float
        Most that may be staked in all, in [0, 1]; with ``groups`` on each of them, and 1 in all.
    groups : sequence of str, optional
        What each bet is on.

    Raises
    ------
    DomainError
        Shapes that do not fit, probabilities that do not sum to 1, or a value out of range.

    Examples
    --------
    >>> size_portfolio([0.7, 0.3], [[2.0, 0.0], [0.0, 1.9]], risk_aversion=1.0).stakes.round(4).tolist()
    [0.4, 0.0]
    """
    chances, table = np.asarray(p, dtype=np.float64), np.asarray(pays, dtype=np.float64)
    if chances.ndim != 1 or table.ndim != 2 or table.shape[1] != len(chances) or not table.size:
        raise DomainError(f"bets of shape {table.shape} do not pay in {chances.size} states")
    if not ((chances >= 0) & (chances <= 1)).all() or abs(chances.sum() - 1) > 1e-9:
        raise DomainError(f"the probabilities of states sum to 1, not {chances.sum():.6g}")
    if not (np.isfinite(table) & (table >= 0)).all() or not risk_aversion >= 0 or not 0 <= cap <= 1:
        raise DomainError("payoffs and risk aversion are at least 0, a cap lies in [0, 1]")
    expected = table @ chances
    names = np.array(["" for _ in table] if groups is None else groups)
    if len(names) != len(table):
        raise DomainError(f"there are {len(names)} groups for {len(table)} bets")
    members = np.array([names == name for name in np.unique(names)])
    if risk_aversion == 0:
        stakes = np.zeros(len(table))
        left = 1.0
        # The best bet of each group, the best group first.
        for inside in sorted(members, key=lambda inside: -expected[inside].max()):
            best = int(np.argmax(np.where(inside, expected, -np.inf)))
            stakes[best] = min(cap, left) if expected[best] > 1 else 0.0
            left -= stakes[best]
    else:
        stakes = _optimum(chances, table, risk_aversion, cap, members.astype(np.float64))
    wealth = 1 - stakes.sum() + stakes @ table
    possible = chances > 0
    return Portfolio(
        stakes=stakes,
        wealth=np.asarray(wealth),
        expected=float(chances @ wealth - 1),
        worst=float(wealth[possible].min() - 1),
        certain=_certain(float(chances @ _utility(wealth, risk_aversion)), risk_aversion) - 1,
    )


def _optimum(p: FloatArray, pays: FloatArray, g: float, cap: float, members: FloatArray) -> FloatArray:
    gains = pays - 1.0

    def loss(stakes: FloatArray) -> float:
        return -float(p @ _utility(1 + stakes @ gains, g))

    def slope(stakes: FloatArray) -> FloatArray:
        wealth = np.maximum(1 + stakes @ gains, _LEAST_WEALTH)
        return np.asarray(-(gains @ (p * wealth**-g)))

    limits = np.vstack([members, np.ones(len(pays))])
    most = np.array([cap] * len(members) + [min(1.0, cap * len(members))])
    start = np.full(len(pays), min(cap, 1.0) / (2 * len(pays)))
    optimum = minimize(
        loss,
        start,
        jac=slope,
        method="SLSQP",
        bounds=[(0.0, cap)] * len(pays),
        constraints=LinearConstraint(limits, -np.inf, most),
        options={"maxiter": 500, "ftol": 1e-14},
    )
    stakes = np.clip(optimum.x, 0.0, cap)
    stakes[stakes < _NOTHING] = 0.0
    # A step that did not end well must not be worse than keeping the dollar.
    if loss(stakes) > 0:
        return np.zeros(len(pays))
    over = max(float(np.divide(limits @ stakes, most, out=np.zeros(len(most)), where=most > 0).max()), 1.0)
    return np.asarray(stakes / over)


def bucket_probabilities(above: ArrayLike) -> tuple[FloatArray, float]:
    """Chances of the ranges between levels, from the chances of lying above each, lowest level first; and what had to be mended.

    Chances that rise with the level contradict each other; the nearest ones that do not (least squares, by pooling adjacent
    violators) take their place, and the largest change is returned beside them: 0 for a forecast that hangs together.

    >>> bucket_probabilities([0.8, 0.3])[0].round(9).tolist()
    [0.2, 0.5, 0.3]
    >>> shares, mended = bucket_probabilities([0.3, 0.5])
    >>> shares.round(9).tolist(), round(mended, 9)
    ([0.6, 0.0, 0.4], 0.1)
    """
    p = np.asarray(above, dtype=np.float64)
    if p.ndim != 1 or not p.size or not ((p >= 0) & (p <= 1)).all():
        raise DomainError("chances of lying above levels are probabilities, at least one")
    falling = isotonic_regression(p, increasing=False).x
    shares = -np.diff(falling, prepend=1.0, append=0.0)
    return np.maximum(shares, 0.0), float(np.abs(falling - p).max())
