"""Evidence of a leaf that a review took over: the run it stands in, and its data calls asked again with the content that they had."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import TypeAdapter, ValidationError

from workbench.agents.evidence.answer_content import answer_content
from workbench.agents.evidence.trace import ReadAgain, TraceEvidence, TraceStep
from workbench.agents.loop.tool_box import ToolSource
from workbench.quoting import one_line

if TYPE_CHECKING:
    from workbench.agents.evidence.base import ProofContext


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedCall:
    """A data call that was asked again: its path, the hash of its answer in the ledger, and what that says (`answer_content`)."""

    path: str
    hash: str
    content: str


_CALLS = TypeAdapter(tuple[CarriedCall, ...])


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedEvidence(ReadAgain):
    """A leaf as an earlier run left it; fields as of `CarriedLeaf`, ``p`` as it counts now."""

    run: str
    reason: str
    p: float
    calls: tuple[CarriedCall, ...] = ()
    settled_from: str = ""

    kind: ClassVar[str] = "carried"

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the evidence that ``to_json`` wrote; raises ``ValueError`` for anything else."""
        try:
            texts = {name: data[name] for name in ("run", "reason", "settled_from")}
            if set(data) != {*texts, "p", "calls"} or not all(
                isinstance(each, str) for each in texts.values()
            ):
                raise ValueError("other fields than its own")
            p = float(data["p"])
            if not 0 <= p <= 1:
                raise ValueError("p is no probability")
            return cls(**texts, p=p, calls=_CALLS.validate_python(data["calls"]))
        except (KeyError, TypeError, ValidationError, ValueError) as error:
            raise ValueError(f"not the evidence of a driver that was carried over: {error!r:.200}") from error

    def to_json(self) -> dict[str, Any]:
        """Return the evidence as JSON values."""
        return asdict(self)

    @property
    def trace(self) -> TraceEvidence:
        """The same as steps, for the proof notebook."""
        origin = f"Run `{one_line(self.run, 80)}` holds the evidence."
        return TraceEvidence(
            plan="Ask again, as of the new cutoff, for the data that this rests on; no model is asked.",
            sources=tuple(
                ToolSource(id=f"D{number}", title=call.path, origin=call.hash)
                for number, call in enumerate(self.calls, 1)
            ),
            steps=(
                TraceStep(
                    title="Carried over",
                    text=f"{one_line(self.reason, 500)}\n\n{origin}",
                    p=self.p,
                    answers=tuple(call.hash for call in self.calls),
                ),
            ),
        )

    def render(self, proof: ProofContext) -> Any:
        """Return a notebook with the claim, why it carries over, the data calls and the conclusion."""
        return self.trace.render(proof)

    def unlike(self, proof: ProofContext) -> str | None:
        """Say which answer in the ledger differs, or what outcome its rows give instead; None where nothing does."""
        said = proof.tool_answers()
        for call in self.calls:
            if answer_content(said[call.hash]) != call.content:
                return f"{call.path} says something else"
        if not self.settled_from:
            return None
        # pandas loads for a driver that came out, and for no screen
        from workbench.questions.series.recorded_rows import recorded_outcome

        calls = [(row.path, row.asked, row.answer.data) for row in proof.data_calls("tool") if row.answer]
        came = float(recorded_outcome(proof.node.statement, calls, self.settled_from))
        return None if came == self.p else f"its rows say {came:g}"
