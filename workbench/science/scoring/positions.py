"""Positions behind `returns`: what a dollar on every market pays either way, as paper P bets it or sized with costs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from workbench.science.arrays import FloatArray
from workbench.science.errors import DomainError
from workbench.science.scoring.betting import pays, size_bet
from workbench.science.scoring.market import EdgeAndLuck, Tie, crra_allocation, edge_and_luck


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
