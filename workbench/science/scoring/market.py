"""Forecasts against market prices: edge, bets under constant relative risk aversion, returns split into edge and luck."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from workbench.science.arrays import (
    BoolArray,
    FloatArray,
    as_outcomes,
    as_probabilities,
    checked,
    sigmoid,
    ways,
)
from workbench.science.errors import DomainError


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeAndLuck:
    """Gains of settled bets and their two parts, each of shape (n,).

    ``swing`` is the payoff on Yes less that on No, ``deviation`` that of the luck under the belief, below 0 where No pays more.
    """

    gain: FloatArray
    edge: FloatArray
    luck: FloatArray
    deviation: FloatArray
    swing: FloatArray

    def luck_z(self, clusters: ArrayLike | None = None) -> float | None:
        """All luck in its standard deviations, that of a cluster falling together; None if nothing was at stake.

        Beyond 2 either way the results hardly came by luck alone: the belief behind the edge was off.
        """
        total = sum_deviation(self.deviation, np.arange(len(self.luck)) if clusters is None else clusters)
        return float(self.luck.sum()) / total if total > 0 else None


def sum_deviation(deviations: ArrayLike, clusters: ArrayLike) -> float:
    """Standard deviation of a sum of bets, from those of single ones, below 0 where they win on No.

    Bets of one cluster are taken to fall together, or as independent where that varies more, as it does of hedges.

    >>> sum_deviation([1.0, 1.0], ["a", "b"]).__round__(6), sum_deviation([1.0, 1.0], ["a", "a"])
    (1.414214, 2.0)
    """
    values = np.asarray(deviations, dtype=np.float64)
    together = [float((np.bincount(codes, weights=values) ** 2).sum()) for codes in ways(clusters)]
    return float(np.sqrt(max(*together, float((values**2).sum()))))


def edge_and_luck(
    pays_yes: ArrayLike, pays_no: ArrayLike, outcome: ArrayLike, belief: ArrayLike
) -> EdgeAndLuck:
    """Split the gains of settled bets, by the formula above.

    Parameters
    ----------
    pays_yes, pays_no : array_like, shape (n,)
        What a dollar comes back as; what was not staked is kept and counts. Equal for no bet: no edge, no luck.
    outcome : array_like, shape (n,)
        1 or 0.
    belief : array_like, shape (n,)
        Probability of Yes by which the edge is measured.

    Raises
    ------
    DomainError
        Empty input, unequal shapes, or a value out of range.

    Examples
    --------
    >>> split = edge_and_luck([1.4], [0.6], [1], [0.7])
    >>> split.gain.round(9).tolist(), split.edge.round(9).tolist(), split.luck.round(9).tolist()
    ([0.4], [0.16], [0.24])
    """
    o = as_outcomes(outcome)
    r = as_probabilities(belief, name="belief")
    yes, no = np.asarray(pays_yes, dtype=np.float64), np.asarray(pays_no, dtype=np.float64)
    if not yes.shape == no.shape == o.shape == r.shape:
        raise DomainError(
            f"payoffs of shapes {yes.shape} and {no.shape}, {o.size} outcomes and {r.size} beliefs do not fit"
        )
    swing = yes - no
    return EdgeAndLuck(
        gain=np.where(o == 1.0, yes, no) - 1.0,
        edge=r * yes + (1.0 - r) * no - 1.0,
        luck=(o - r) * swing,
        deviation=np.sqrt(r * (1.0 - r)) * swing,
        swing=swing,
    )


Tie = Literal["no", "yes", "half", "abstain"]

TIES: tuple[str, ...] = ("no", "yes", "half", "abstain")

#: Forecast and price within this are a tie: decimals such as 0.365 reach us as 0.36500000000000005.
TIE_WIDTH = 1e-9
_ROUNDING = 1e-12


def _prices(forecast: ArrayLike, price: ArrayLike) -> tuple[FloatArray, FloatArray]:
    p, q = as_probabilities(forecast), np.asarray(price, dtype=np.float64)
    if p.ndim != 1 or p.shape != q.shape:
        raise DomainError(f"forecasts of shape {p.shape} need prices of the same shape, not {q.shape}")
    if not ((q > 0) & (q < 1)).all():
        where = int(np.argmin((q > 0) & (q < 1)))
        raise DomainError(f"price {q[where]:g} at position {where} is not strictly between 0 and 1")
    return p, q


def ties(forecast: ArrayLike, price: ArrayLike) -> BoolArray:
    """Return True where the forecast equals the price to within 1e-9."""
    return np.asarray(np.abs(np.subtract(forecast, price)) <= TIE_WIDTH, dtype=bool)


def crra_allocation(
    forecast: ArrayLike, price: ArrayLike, risk_aversion: float, *, tie: Tie = "no"
) -> FloatArray:
    """Share of a one-dollar budget put on Yes by the expected-utility optimum; the rest goes on No.

    ``sigmoid((1 - 1/g) logit(q) + (1/g) logit(p))``, without any clip. Source: Prophet Arena, App. C.3, eq. 6.

    Risk aversion 0 bets everything on the favoured side, 1 (log utility) bets the forecast. ``tie`` is for risk aversion 0
    where forecast and price are equal: all on No (the limit formula), all on Yes (the paper's text), half on each side, or
    ``abstain``, which gives ``nan``.
    """
    p, q = _prices(forecast, price)
    if tie not in TIES:
        raise DomainError(f"tie must be one of {', '.join(TIES)}, not {tie!r}")
    if not risk_aversion >= 0.0:
        raise DomainError(f"risk aversion must be at least 0, not {risk_aversion:g}")
    if risk_aversion == 0.0:
        on_tie = {"no": 0.0, "yes": 1.0, "half": 0.5, "abstain": np.nan}[tie]
        return np.where(ties(p, q), on_tie, (p > q).astype(np.float64))
    inverse = 1.0 / risk_aversion
    with np.errstate(divide="ignore"):
        # Not the clipped `logit`: a forecast of 0 or 1 is a belief to be bet on in full, and prices are never 0 or 1 here.
        log_p = np.log(p) - np.log1p(-p)
    log_q = np.log(q) - np.log1p(-q)
    return sigmoid((1.0 - inverse) * log_q + inverse * log_p)


def payoffs(on_yes: ArrayLike, price: ArrayLike, outcome: ArrayLike) -> FloatArray:
    """Return the value of each staked dollar: 1 breaks even, 0 is lost.

    Source: Prophet Arena, App. C.3.

    ``nan`` in ``on_yes`` means no bet and pays 1; no fees. One long shot can dominate: at a price of 0.0005 a right dollar
    pays 2000.
    """
    share = np.asarray(on_yes, dtype=np.float64)
    q, o = checked(price, outcome)
    if share.shape != q.shape:
        raise DomainError(f"bets of shape {share.shape} need prices of the same shape, not {q.shape}")
    paid = np.where(o == 1.0, share / q, (1.0 - share) / (1.0 - q))
    return np.where(np.isnan(share), 1.0, paid)


def sharpe(payoff: ArrayLike, *, ddof: int = 1) -> float | None:
    """Mean payoff above break-even (1) per unit of its standard deviation, not annualised; higher is better.

    None for fewer than ``ddof + 1`` bets or payoffs that are all equal. Source: Prophet Arena, App. D.2, with a
    risk-free payoff of 1.
    """
    r = np.asarray(payoff, dtype=np.float64)
    if len(r) <= ddof or np.ptp(r) == 0.0:
        return None
    excess, deviation = float(r.mean()) - 1.0, float(r.std(ddof=ddof))
    if abs(excess) < _ROUNDING and deviation < _ROUNDING:
        return 0.0  # betting the price itself: both are rounding errors, their ratio would be noise
    return excess / deviation


class Returns(NamedTuple):
    """The returns of a dollar on every market."""

    average_return: float
    """Mean payoff per dollar; 1 breaks even, higher is better."""
    sharpe: float | None
    sharpe_ddof0: float | None
    total_payoff: float
    max_payoff: float
    zero_payoffs: int
    """Bets that paid nothing at all."""
    payoff_sd: float


def market_returns(
    forecast: ArrayLike, price: ArrayLike, outcome: ArrayLike, risk_aversion: float, *, tie: Tie = "no"
) -> Returns:
    """Average return and Sharpe ratio of a unit budget on every market.

    Source: Prophet Arena, sections 3.1 and App. C.3, D.2.

    Parameters
    ----------
    forecast, price, risk_aversion, tie
        As for `crra_allocation`.

    Examples
    --------
    >>> market_returns([0.7, 0.2], [0.5, 0.5], [1, 0], 0.0).average_return
    2.0
    """
    paid = payoffs(crra_allocation(forecast, price, risk_aversion, tie=tie), price, outcome)
    return returns_of(paid)


def returns_of(payoff: ArrayLike) -> Returns:
    """Average, Sharpe ratio and extremes of what dollars came back as.

    >>> returns_of([2.0, 0.0]).zero_payoffs
    1
    """
    r = np.asarray(payoff, dtype=np.float64)
    return Returns(
        average_return=float(r.mean()),
        sharpe=sharpe(r),
        sharpe_ddof0=sharpe(r, ddof=0),
        total_payoff=float(r.sum()),
        max_payoff=float(r.max()),
        zero_payoffs=int((r == 0.0).sum()),
        payoff_sd=float(r.std(ddof=1)) if len(r) > 1 else float("nan"),
    )
