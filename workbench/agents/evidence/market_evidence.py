"""Evidence of the market grounder: the market, two data calls, and the price; ``verify`` reads the price again from the ledger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, ClassVar, Self

from workbench.agents.evidence.drawings import Drawing
from workbench.agents.evidence.trace import ReadAgain, TraceEvidence, TraceStep, notebook_of
from workbench.agents.evidence.trace_notebook import computed_cells
from workbench.agents.loop.tool_box import ToolSource
from workbench.questions.market_price import MarketRef, find_markets, read_price
from workbench.quoting import one_line

#: Prices that are kept for the figure.
MOST_POINTS = 240
_LATEST = 1 << 33  # a second of the year 2242
_EPOCH = date(1970, 1, 1).toordinal()

if TYPE_CHECKING:
    from workbench.agents.evidence.base import ProofContext


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketEvidence(ReadAgain):
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
    history : tuple of (second, p)
        Its prices up to that one, oldest first, for the figure.
    """

    market: str
    question: str
    p: float
    quoted: str
    cutoff: str
    hashes: tuple[str, str]
    history: tuple[tuple[int, float], ...]

    kind: ClassVar[str] = "market"

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the evidence that ``to_json`` wrote; raises ``ValueError`` for anything else."""
        try:
            first, second = data["hashes"]
            history = tuple((int(moment), float(p)) for moment, p in data["history"])
            evidence = cls(
                **{**data, "p": float(data["p"]), "hashes": (str(first), str(second)), "history": history}
            )
            datetime.fromisoformat(evidence.cutoff)
            if not all(0 <= moment < _LATEST and 0 < p < 1 for moment, p in evidence.history):
                raise ValueError("a price of its history is none")
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
        day = self.quoted[:10]
        return TraceEvidence(
            plan="Take the price that the market itself had before the cutoff; no model is asked.",
            sources=(
                ToolSource(id="D1", title=f"{self.market}: what it asks", origin=self.hashes[0]),
                ToolSource(id="D2", title=f"{self.market}: its prices", origin=self.hashes[1], published=day),
            ),
            steps=(
                TraceStep(
                    title="The market",
                    text=f"`{self.market}`: {one_line(self.question, 500)}",
                    answers=self.hashes[:1],
                ),
                TraceStep(
                    title="Its price before the cutoff",
                    text=f"{self.p:.4f} at {self.quoted}.",
                    p=self.p,
                    answers=self.hashes[1:],
                ),
            ),
        )

    def render(self, proof: ProofContext) -> Any:
        """Return a notebook with the claim, the market, its prices as a figure, the data calls and the conclusion."""
        return notebook_of(computed_cells(self.trace, proof, self._drawing()))

    def _drawing(self) -> Drawing:
        lowest, highest = min(p for _, p in self.history), max(p for _, p in self.history)
        return Drawing(
            title=f"Price of {self.market} up to the cutoff",
            words=f"Price of {self.market} from {_day_of_second(self.history[0][0])} to {self.quoted[:10]}: {len(self.history)} prices between "
            f"{lowest:.2f} and {highest:.2f}, the last {self.p:.4f}, which counts.",
            points=[(_EPOCH + second / 86400, p) for second, p in self.history],
            marks=((self.p, f"last price {self.p:.4f}"),),
            low=0.0,
            high=1.0,
        )

    def unlike(self, proof: ProofContext) -> str | None:
        """Say what price the answers in the ledger give, where it differs; None where it does not."""
        by_hash = proof.tool_answers()
        market, prices = (by_hash[name] for name in self.hashes)
        price = read_price(self.ref, market, prices, datetime.fromisoformat(self.cutoff))
        same = (price.p, price.quoted.isoformat(), price.question) == (self.p, self.quoted, self.question)
        if same and self.history == price.history[-MOST_POINTS:]:
            return None
        return f"the answers give {price.p!r} at {price.quoted.isoformat()}"


def _day_of_second(second: int) -> str:
    return datetime.fromtimestamp(second, tz=UTC).date().isoformat()
