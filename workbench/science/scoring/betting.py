"""Sizing bets under constant relative risk aversion, with costs and caps: one market, or a choice among exclusive options.

Wealth is 1 before the bet; what is not staked is kept. With a price of No that is one minus that of Yes and no costs this is paper
P's allocation (App. C.3, eq. 6): a share on Yes and the rest on No is the same position as a smaller stake and cash.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from workbench.science.arrays import FloatArray
from workbench.science.errors import DomainError

Side = Literal["yes", "no", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SizedBet:
    """What to stake of a wealth of 1.

    Parameters
    ----------
    side : {"yes", "no", "none"}
    stake : float
        In [0, cap].
    price : float
        Of one share of this side, costs included.
    edge : float
        Own probability of the side minus its price; not above 0 for no bet.
    expected : float
        Expected gain of the stake by the own belief.
    worst : float
        What is lost if it goes wrong, as a share of wealth: the stake.
    """

    side: Side
    stake: float
    price: float
    edge: float
    expected: float
    worst: float


def size_bet(
    p: float,
    yes_ask: float,
    no_ask: float | None = None,
    *,
    risk_aversion: float,
    fee: float = 0.0,
    cap: float = 1.0,
) -> SizedBet:
    """Stake that maximises expected utility.

    With price q, probability p and g the risk aversion, the stake is (r - 1) / (r - 1 + 1/q), where r is
    (p (1 - q) / ((1 - p) q)) ** (1/g); at g = 0 it is all that the cap allows.

    Parameters
    ----------
    p : float
        Own probability of Yes, in [0, 1].
    yes_ask, no_ask : float
        What a share of either side costs, in (0, 1); No costs one minus Yes if not given. Their sum above 1 is the spread.
    risk_aversion : float
        At least 0; 1 is log utility (Kelly).
    fee : float
        Dollars a share on top of the ask.
    cap : float
        Most that may be staked, as a share of wealth.

    Raises
    ------
    DomainError
        A value out of range.

    Examples
    --------
    >>> bet = size_bet(0.7, 0.5, risk_aversion=1.0)
    >>> bet.side, round(bet.stake, 6), round(bet.expected, 6)
    ('yes', 0.4, 0.16)
    """
    other = 1.0 - yes_ask if no_ask is None else no_ask
    if not 0 <= p <= 1 or not 0 < yes_ask < 1 or not 0 < other < 1:
        raise DomainError("a bet needs a probability in [0, 1] and asks strictly between 0 and 1")
    if risk_aversion < 0 or fee < 0 or not 0 <= cap <= 1:
        raise DomainError("risk aversion and fee are at least 0, a cap lies in [0, 1]")
    sides: list[tuple[float, float, float, Side]] = [
        (p - (yes_ask + fee), p, yes_ask + fee, "yes"),
        ((1 - p) - (other + fee), 1 - p, other + fee, "no"),
    ]
    edge, chance, price, side = max(sides, key=lambda each: each[0])
    if edge <= 0 or price >= 1:
        return SizedBet(side="none", stake=0.0, price=price, edge=edge, expected=0.0, worst=0.0)
    stake = min(cap, _stake(chance, price, risk_aversion))
    return SizedBet(
        side=side, stake=stake, price=price, edge=edge, expected=stake * (chance / price - 1), worst=stake
    )


def _stake(p: float, q: float, g: float) -> float:
    if g == 0 or p == 1:
        return 1.0
    # In logs: at a small risk aversion the ratio itself overflows.
    log_ratio = (np.log(p) + np.log1p(-q) - np.log1p(-p) - np.log(q)) / g
    if log_ratio > 700:
        return 1.0
    gain = float(np.expm1(log_ratio))
    return gain / (gain + 1 / q)


def equivalent_allocation(bet: SizedBet) -> float:
    """The share on Yes that, with the rest on No at one minus the price, is this bet: paper P's a_Y.

    Only without spread and costs are the two the same.

    >>> round(equivalent_allocation(size_bet(0.7, 0.5, risk_aversion=1.0)), 6)
    0.7
    """
    price = bet.price
    on_side = bet.stake + price * (1 - bet.stake)
    return on_side if bet.side in ("yes", "none") else 1 - on_side


def size_options(
    p: ArrayLike, ask: ArrayLike, *, risk_aversion: float, fee: float = 0.0, cap: float = 1.0
) -> FloatArray:
    """Stakes on exclusive options of which exactly one comes true, as shares of a wealth of 1; the rest is kept.

    The options with the best p / price are bet on as long as that lies above the value of a kept dollar; for them wealth after the
    outcome is proportional to (p / price) ** (1 / risk aversion).

    Parameters
    ----------
    p : array_like, shape (k,)
        Own probabilities, summing to 1.
    ask : array_like, shape (k,)
        Price of a share of each, in (0, 1).
    risk_aversion : float
        Above 0.
    fee, cap : float
        As in `size_bet`; the cap bounds the sum of all stakes, which are scaled down alike.

    Raises
    ------
    DomainError
        Unequal shapes, probabilities that do not sum to 1, a price out of range, or options whose prices sum to less than 1
        (everything would be bet on all of them for a certain gain).

    Examples
    --------
    >>> size_options([0.7, 0.3], [0.5, 0.5], risk_aversion=1.0).round(6).tolist()
    [0.4, 0.0]
    """
    chances, prices = np.asarray(p, dtype=np.float64), np.asarray(ask, dtype=np.float64) + fee
    if chances.ndim != 1 or chances.shape != prices.shape or len(chances) < 2:
        raise DomainError("options need one probability and one price each, at least two of them")
    if not ((chances >= 0) & (chances <= 1)).all() or abs(chances.sum() - 1) > 1e-9:
        raise DomainError(f"the probabilities of exclusive options sum to 1, not {chances.sum():.6g}")
    if not (prices > 0).all() or risk_aversion <= 0 or not 0 <= cap <= 1:
        raise DomainError("prices and risk aversion are above 0, a cap lies in [0, 1]")
    if prices.sum() < 1 - 1e-12:
        raise DomainError(
            f"the prices sum to {prices.sum():.4g}, below 1: buying all of them is a certain gain"
        )
    order = np.argsort(-chances / prices, kind="stable")
    chosen: list[int] = []
    reserve = 1.0
    for place in order:
        if chances[place] / prices[place] <= reserve or prices[chosen].sum() + prices[place] >= 1:
            break
        chosen.append(int(place))
        reserve = (1 - chances[chosen].sum()) / (1 - prices[chosen].sum())
    stakes = np.zeros(len(chances))
    if chosen and reserve > 0:
        growth = (chances[chosen] / (prices[chosen] * reserve)) ** (1 / risk_aversion) - 1
        cash = 1 / (1 + (prices[chosen] * growth).sum())
        stakes[chosen] = prices[chosen] * growth * cash
    elif chosen:  # certain that one of the chosen comes true: nothing is worth keeping
        shares = prices[chosen] * (chances[chosen] / prices[chosen]) ** (1 / risk_aversion)
        stakes[chosen] = shares / shares.sum()
    total = stakes.sum()
    return np.asarray(stakes if total <= cap else stakes * (cap / total))


def pays(bet: SizedBet) -> tuple[float, float]:
    """What a dollar of wealth comes back as if Yes and if No: what is not staked is kept, a share pays 1.

    >>> yes, no = pays(size_bet(0.7, 0.5, risk_aversion=1.0))
    >>> round(yes, 6), round(no, 6)
    (1.4, 0.6)
    """
    if bet.side == "none":
        return 1.0, 1.0
    won, lost = 1.0 - bet.stake + bet.stake / bet.price, 1.0 - bet.stake
    return (won, lost) if bet.side == "yes" else (lost, won)
