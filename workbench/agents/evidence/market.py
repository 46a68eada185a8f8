"""Evidence of the market grounder: the market, two data calls, and the price; ``verify`` reads the price again from the ledger."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Self

from workbench.agents.evidence.trace import TraceEvidence, TraceStep
from workbench.questions.errors import ClaimRefused
from workbench.questions.market_price import MarketRef, find_markets, read_price
from workbench.store.errors import StoreCorrupt

if TYPE_CHECKING:
    from sandbox.record.verify import Verification
    from workbench.agents.evidence.base import ProofContext, Replay


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketEvidence:
    """A market's price before the cutoff.

    Parameters
    ----------
    market : str
        ``kalshi/TICKER`` or ``polymarket/ID``.
    question : str
        In the market's own words.
    p : float
        Its price, in (0, 1).
    quoted : str
        Instant of the price, ISO 8601.
    cutoff : str
        Instant of the cutoff, ISO 8601.
    hashes : tuple of str
        Content hashes of the two answers: the market (step 0), its prices (step 1).
    """

    market: str
    question: str
    p: float
    quoted: str
    cutoff: str
    hashes: tuple[str, str]

    kind: ClassVar[str] = "market"

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the evidence that ``to_json`` wrote; raises ``ValueError`` for anything else."""
        try:
            first, second = data["hashes"]
            evidence = cls(**{**data, "p": float(data["p"]), "hashes": (str(first), str(second))})
            datetime.fromisoformat(evidence.cutoff)
            _ = evidence.ref
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"not the evidence of a market: {error!r:.200}") from error
        return evidence

    def to_json(self) -> dict[str, Any]:
        """Return the evidence as JSON values."""
        return asdict(self)

    @property
    def ref(self) -> MarketRef:
        """The market; raises ``ValueError`` if none is named."""
        refs = find_markets(self.market)
        if len(refs) != 1:
            raise ValueError(f"{self.market!r:.60} names no market")
        return refs[0]

    @property
    def trace(self) -> TraceEvidence:
        """The same as steps, for the proof notebook."""
        return TraceEvidence(
            steps=(
                TraceStep(
                    title="The market", text=f"`{self.market}`: {self.question}", answers=self.hashes[:1]
                ),
                TraceStep(
                    title="Its price before the cutoff",
                    text=f"{self.p:.4f} at {self.quoted}.",
                    p=self.p,
                    answers=self.hashes[1:],
                ),
            )
        )

    def render(self, proof: ProofContext) -> Any:
        """Return a notebook with the claim, the market, its price and the data calls."""
        return self.trace.render(proof)

    def compare(self, proof: ProofContext) -> Verification:
        """Compare with log, ledger and notebook."""
        return self.trace.compare(proof)

    async def verify(self, proof: ProofContext, replay: Replay) -> Verification:
        """Compare, and read the price again from the answers in the ledger."""
        return await asyncio.to_thread(self._read_again, proof)

    def _read_again(self, proof: ProofContext) -> Verification:
        from sandbox.record.verify import Difference

        outcome = self.compare(proof)
        if outcome.differing:
            return outcome
        try:
            by_hash = {
                row.answer.meta.get("content_hash"): row.answer.data
                for row in proof.data_calls("tool")
                if row.answer
            }
            market, prices = (by_hash[name] for name in self.hashes)
            price = read_price(self.ref, market, prices, datetime.fromisoformat(self.cutoff))
            same = (price.p, price.quoted.isoformat(), price.question) == (self.p, self.quoted, self.question)
            what = None if same else f"the answers give {price.p!r} at {price.quoted.isoformat()}"
        except (ClaimRefused, StoreCorrupt, KeyError) as error:
            what = f"the price cannot be read again: {error}"
        if what is None:
            return outcome
        return replace(outcome, differing=(Difference(check="rerun", cell=None, what=what),))
