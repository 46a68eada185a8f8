"""Evidence of the notebook grounder: the cells of a sealed session, re-run from the ledger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from sandbox.record.verify import Verification, compare_proof
from workbench.agents.errors import MalformedReply
from workbench.agents.replies.reply_prose import after_earlier
from workbench.agents.replies.stage_replies import parse_conclusion
from workbench.store.errors import StoreCorrupt

if TYPE_CHECKING:
    from workbench.agents.evidence.base import ProofContext, Replay
    from workbench.propositions import Belief


@dataclass(frozen=True, slots=True)
class NotebookEvidence:
    """A notebook that ran in a sealed kernel; the session wrote journal and ``.ipynb``, so nothing more is stored."""

    kind: ClassVar[str] = "notebook"

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the evidence; raises ``ValueError`` if anything is stored with it."""
        if data:
            raise ValueError(f"unknown keys {', '.join(sorted(data))}")
        return cls()

    def to_json(self) -> dict[str, Any]:
        """Return an empty object."""
        return {}

    def render(self, proof: ProofContext) -> None:
        """Return None: the session has written the notebook."""
        return

    def compare(self, proof: ProofContext) -> Verification:
        """Compare journal, notebook and ledger, and read the conclusion again from its recorded reply."""
        return compare_proof(
            journal=proof.journal,
            notebook=proof.notebook,
            rows=proof.data_calls("cell"),
            conclusion=lambda: _conclusion_fault(proof),
        )

    async def verify(self, proof: ProofContext, replay: Replay) -> Verification:
        """Compare, and run the cells again."""
        return await replay(proof, lambda: _conclusion_fault(proof))


def _conclusion_fault(proof: ProofContext) -> str | None:
    try:
        reply = proof.last_reply("conclude")
    except StoreCorrupt as error:
        return str(error)
    if reply is None:
        return "the ledger holds no conclusion"
    fault = _reply_fault(reply.text, proof.belief)
    if fault is None:
        return None
    # A second reply may have been the block alone, behind the prose of the first.
    texts = [
        each.reply.text
        for each in proof.replies()
        if each.stage == "conclude" and each.reply.finish == "complete" and not each.reply.tool_calls
    ]
    return fault if len(texts) < 2 else _reply_fault(after_earlier(texts), proof.belief) and fault


def _reply_fault(text: str, held: Belief) -> str | None:
    try:
        said = parse_conclusion(text)
    except MalformedReply as error:
        return f"the recorded conclusion cannot be read: {error.reason}"
    # Equal to the last digit: the log's number was read from this very reply.
    if said.p != held.p:
        return f"the conclusion says {said.p!r}, the log {held.p!r}"
    # The report may lack what a later reader of replies adds at its end.
    if said.key_factor != held.key_factor or not said.report.startswith(held.report):
        return "the log's key factor or report is not what the conclusion says"
    return None
