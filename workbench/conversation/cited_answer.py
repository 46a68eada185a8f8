"""Define an answer about a run: its words, its cites, and at most one what-if; refused without a cite."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from workbench.conversation.run_look_ups import Cite, RunLookUps
from workbench.errors import UsageError
from workbench.propositions import NodeId


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedAnswer:
    """An answer about a run with its cites."""

    text: str
    cites: tuple[Cite, ...]
    #: A what-if that it proposes; a person tries it, nothing is applied.
    proposal: Mapping[NodeId, float] = field(default_factory=dict)
    #: None where a price is unknown.
    cost_usd: float | None = 0.0
    #: Who answered; "" for rules.
    model: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the document of ``workbench ask --json``."""
        return {
            "answer": self.text,
            "cites": [asdict(cite) for cite in self.cites],
            "proposal": {"set": dict(self.proposal)} if self.proposal else None,
            "cost_usd": self.cost_usd,
            "model": self.model or None,
        }


def answer_faults(look_ups: RunLookUps, answer: CitedAnswer) -> list[str]:
    """List the faults of an answer: no cite, a cite that leads nowhere, a what-if that cannot be tried."""
    faults = [] if answer.cites else ["cite what the answer rests on: a driver with a cell or a row"]
    faults += [fault for cite in answer.cites if (fault := look_ups.fault(cite)) is not None]
    for node, p in answer.proposal.items():
        if node not in look_ups.run.tree:
            faults.append(f"the proposal names {node!r:.40}, which is no driver")
        elif not 0 <= p <= 1:
            faults.append(f"the proposal sets {node} to {p}, no probability")
    return faults


def checked(look_ups: RunLookUps, answer: CitedAnswer) -> CitedAnswer:
    """Return an answer whose cites exist; raises ``UsageError`` for any other."""
    if faults := answer_faults(look_ups, answer):
        raise UsageError(f"the answer is refused: {'; '.join(faults)[:400]}")
    return answer
