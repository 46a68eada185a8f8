"""A market's price before the cutoff as evidence: two data calls, and the price read from them, then and in ``verify``."""

from __future__ import annotations

from datetime import UTC, date, datetime

from sandbox.record.verify import Verification
from workbench.agents.evidence.base import Drawing, Evidence, ProofContext, TraceStep
from workbench.agents.evidence.check import unlike
from workbench.agents.loop.tool_box import ToolSource
from workbench.questions.errors import ClaimRefused
from workbench.questions.market_price import MarketPrice, MarketRef, find_markets, read_price
from workbench.quoting import one_line

#: Prices that the figure shows.
_MOST_POINTS = 240
_EPOCH = date(1970, 1, 1).toordinal()


def market_evidence(
    ref: MarketRef, price: MarketPrice, hashes: tuple[str, str], cutoff: datetime
) -> Evidence:
    """Return the evidence of a price; ``hashes`` are those of the answers: the market (step 0), its prices (step 1)."""
    quoted, history = price.quoted.isoformat(), price.history[-_MOST_POINTS:]
    values = [p for _, p in history]
    first = datetime.fromtimestamp(history[0][0], tz=UTC).date()
    return Evidence(
        plan="Take the price that the market itself had before the cutoff; no model is asked.",
        sources=(
            ToolSource(id="D1", title=f"{ref}: what it asks", origin=hashes[0]),
            ToolSource(id="D2", title=f"{ref}: its prices", origin=hashes[1], published=quoted[:10]),
        ),
        steps=(
            TraceStep(
                title="The market", text=f"`{ref}`: {one_line(price.question, 500)}", answers=hashes[:1]
            ),
            TraceStep(
                title="Its price before the cutoff",
                text=f"{price.p:.4f} at {quoted}.",
                p=price.p,
                answers=hashes[1:],
            ),
        ),
        drawing=Drawing(
            title=f"Price of {ref} up to the cutoff",
            words=f"Price of {ref} from {first} to {quoted[:10]}: {len(history)} prices between "
            f"{min(values):.2f} and {max(values):.2f}, the last {price.p:.4f}, which counts.",
            points=tuple((_EPOCH + second / 86400, p) for second, p in history),
            marks=((price.p, f"last price {price.p:.4f}"),),
            low=0.0,
            high=1.0,
        ),
        recompute="market",
        basis={"market": str(ref), "cutoff": cutoff.isoformat()},
    )


def recompute_market(evidence: Evidence, proof: ProofContext) -> Verification:
    """Read the price again from the answers in the ledger."""
    try:
        (ref,) = find_markets(str(evidence.basis["market"]))
        cutoff = datetime.fromisoformat(str(evidence.basis["cutoff"]))
        (_, rules, market), (_, quotes, prices) = proof.answered()
    except (KeyError, ValueError):
        raise ClaimRefused(
            "the claim names no market, or the recorded calls are not the two that its market needs"
        ) from None
    return unlike(
        evidence, market_evidence(ref, read_price(ref, market, prices, cutoff), (rules, quotes), cutoff)
    )
