"""The market grounder: a leaf that a prediction market asks too counts as that market's price before the cutoff; no model is asked."""

from __future__ import annotations

from typing import Any

from proxies.errors import Refused
from workbench.agents.base import (
    AgentSettings,
    Grounding,
    GroundingFailure,
    LeafTask,
)
from workbench.agents.evidence.market import market_evidence
from workbench.agents.registry import no_options
from workbench.formatting import percent
from workbench.propositions import Belief
from workbench.questions.errors import ClaimRefused
from workbench.questions.market_price import MarketRef, find_markets, read_price
from workbench.quoting import one_line


class MarketGrounder:
    """Takes the price of the one Kalshi or Polymarket market that the leaf, or what settles it, names."""

    def __init__(self, settings: AgentSettings, options: dict[str, Any]) -> None:
        no_options("the market grounder", options)

    async def ground(self, task: LeafTask) -> Grounding | GroundingFailure:
        """Return the leaf's belief, or in one line why no market gives it."""
        try:
            ref = named_market(task.node.statement, task.resolves_by)
            path, params = ref.rules_call()
            market = await task.call_api(path, params, step=0)
            path, params = ref.price_call(task.cutoff.instant, market.data)
            prices = await task.call_api(path, params, step=1)
            price = read_price(ref, market.data, prices.data, task.cutoff.instant)
        except (ClaimRefused, Refused) as problem:
            return GroundingFailure(reason=f"the market grounder: {problem}"[:500], retryable=False)
        hashes = str(market.meta["content_hash"]), str(prices.meta["content_hash"])
        evidence = market_evidence(ref, price, hashes, task.cutoff.instant)
        report = (
            f"**{task.node.statement}**\n\nThe market `{ref}` asks: {one_line(price.question, 500)}\n\nIts price before the cutoff was {percent(price.p)} "
            f"({price.quoted:%Y-%m-%d %H:%M} UTC).\n\nWhat is weak: a price holds fees, the time value of money and a bias toward "
            "long shots, and the market's rules may differ from the proposition."
        )
        belief = Belief(
            p=price.p, key_factor=f"{ref} stood at {percent(price.p)} before the cutoff.", report=report
        )
        return Grounding(belief=belief, evidence=evidence, trace={"steps": len(evidence.steps)})


def named_market(statement: str, resolves_by: str) -> MarketRef:
    """Return the one market that a leaf names, in its statement or in what settles it; raises ``ClaimRefused``."""
    refs = find_markets(statement) or find_markets(resolves_by)
    if not refs:
        raise ClaimRefused(
            "no market matches the driver: name one by its id, for example kalshi/FED-24JAN-T5.25 or polymarket/253591"
        )
    if len(refs) > 1:
        raise ClaimRefused(f"the driver names several markets ({', '.join(map(str, refs))}): name one")
    return refs[0]
