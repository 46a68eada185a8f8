"""Bets: sized under constant relative risk aversion, with costs and a cap, and the positions on many events behind `returns`.

Wealth is 1 before the bet; what is not staked is kept. With a price of No that is one minus that of Yes and no costs this is paper
P's allocation (App. C.3, eq. 6): a share on Yes and the rest on No is the same position as a smaller stake and cash.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from workbench.science.arrays import FloatArray
from workbench.science.errors import DomainError
from workbench.science.scoring.market import EdgeAndLuck, Tie, crra_allocation, edge_and_luck

Side = Literal["yes", "no", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SizedBet:
    """A stake of a wealth of 1."""

    side: Side
    #: In [0, cap].
    stake: float
    #: Of one share of this side, costs included.
    price: float
    #: Own probability of the side minus its price; not above 0 for no bet.
    edge: float
    #: Expected gain of the stake by the own belief.
    expected: float
    #: What is lost if it goes wrong, as a share of wealth: the stake.
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

    `yes_ask`, `no_ask`: What a share of either side costs, in (0, 1); No costs one minus Yes if not given. Their sum above 1 is the
    spread.

    Raises `DomainError`: A value out of range.

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
    edge, chance, price, side = max(sides, key=lambda side: side[0])
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


def pays(bet: SizedBet) -> tuple[float, float]:
    """Return the value of a dollar of wealth if Yes and if No: the part not staked is kept, a share pays 1.

    >>> yes, no = pays(size_bet(0.7, 0.5, risk_aversion=1.0))
    >>> round(yes, 6), round(no, 6)
    (1.4, 0.6)
    """
    if bet.side == "none":
        return 1.0, 1.0
    won, lost = 1.0 - bet.stake + bet.stake / bet.price, 1.0 - bet.stake
    return (won, lost) if bet.side == "yes" else (lost, won)


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """The costs between a price and a bet."""

    #: Dollars a share on top of the price.
    fee: float = 0.0
    #: Most of the dollar that is staked on one market.
    cap: float = 1.0

    def __post_init__(self) -> None:
        if self.fee < 0 or not 0 <= self.cap <= 1:
            raise DomainError(f"a fee is at least 0 and a cap in [0, 1], not {self.fee:g} and {self.cap:g}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Positions:
    """One bet per market, arrays of shape (n,)."""

    pays_yes: FloatArray
    pays_no: FloatArray
    on_yes: FloatArray
    """Share of the dollar on Yes; ``nan`` for no bet."""
    stake: FloatArray
    """Share of the dollar that is at risk on either side."""
    side: tuple[str, ...]
    """yes, no, both or none."""

    def split(self, outcome: FloatArray, belief: FloatArray) -> EdgeAndLuck:
        """Split the returns of the bets into edge by a belief and luck."""
        return edge_and_luck(self.pays_yes, self.pays_no, outcome, belief)


def whole_dollar(p: FloatArray, price: FloatArray, risk_aversion: float, *, tie: Tie = "no") -> Positions:
    """Paper P's bets (App. C.3): the whole dollar, part on Yes, the rest on No at one minus the price."""
    share = crra_allocation(p, price, risk_aversion, tie=tie)
    none = np.isnan(share)
    side = np.select([none, share == 1.0, share == 0.0], ["none", "yes", "no"], "both")
    return Positions(
        pays_yes=np.where(none, 1.0, share / price),
        pays_no=np.where(none, 1.0, (1.0 - share) / (1.0 - price)),
        on_yes=share,
        stake=np.where(none, 0.0, 1.0),
        side=tuple(side.tolist()),
    )


def with_costs(
    p: FloatArray,
    yes_ask: FloatArray,
    no_ask: FloatArray | None,
    risk_aversion: float,
    costs: Costs,
) -> Positions:
    """Bets of one side each, sized after spread and fee, and kept in cash where neither side is worth its price."""
    others: Sequence[float | None] = [None] * len(p) if no_ask is None else no_ask.tolist()
    bets = [
        size_bet(chance, yes, no, risk_aversion=risk_aversion, fee=costs.fee, cap=costs.cap)
        for chance, yes, no in zip(p.tolist(), yes_ask.tolist(), others, strict=True)
    ]
    paid = np.array([pays(bet) for bet in bets])
    return Positions(
        pays_yes=paid[:, 0],
        pays_no=paid[:, 1],
        on_yes=np.array([{"yes": bet.stake, "no": 0.0, "none": np.nan}[bet.side] for bet in bets]),
        stake=np.array([bet.stake for bet in bets]),
        side=tuple(bet.side for bet in bets),
    )
