"""What a synthesizer looked up for an inner node before it weighed the children: steps, sources, notes; checked like a leaf's trace.

An inner node has no grounding, so this stands beside its rule and not in the place of one: the notes are material for the weights,
and no probability is read from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

from pydantic import TypeAdapter, ValidationError

from workbench.agents.errors import MalformedReply
from workbench.agents.evidence.trace import TraceEvidence, notebook_faults, notebook_of
from workbench.agents.evidence.trace_notebook import look_up_cells
from workbench.agents.evidence.trace_records import Fault, calls_of_reply, step_faults
from workbench.agents.loop.loop_notes import HAND_IN, LoopNote, note_lines, read_notes
from workbench.prompts import TODAY, PromptSet
from workbench.store.errors import StoreCorrupt

if TYPE_CHECKING:
    from workbench.agents.evidence.base import ProofContext

#: Stage of its requests in the ledger.
STAGE = "lookup"


@dataclass(frozen=True, slots=True, kw_only=True)
class LookUp:
    """One look-up of one inner node."""

    #: Plan, steps, sources, and what became of every search result; it has no submission.
    trace: TraceEvidence
    #: What was handed in.
    notes: tuple[LoopNote, ...]
    #: Why there are no notes, "" where the loop came to its end.
    fault: str = ""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the look-up that ``to_json`` wrote; raises ``ValueError`` for anything else."""
        try:
            notes = _NOTES.validate_python(data["notes"])
            fault = str(data["fault"])
            trace = TraceEvidence.from_json(data["trace"])
        except (KeyError, TypeError, ValidationError) as error:
            raise ValueError(f"not a look-up: {error!r:.200}") from error
        return cls(trace=trace, notes=notes, fault=fault)

    def to_json(self) -> dict[str, Any]:
        """Return the look-up as JSON values."""
        return {
            "trace": self.trace.to_json(),
            "notes": [asdict(note) for note in self.notes],
            "fault": self.fault,
        }

    def lines(self) -> list[str]:
        """Return the notes as lines, each with the ids and dates of what it rests on."""
        return note_lines(self.notes, {source.id: source for source in self.trace.sources})

    def for_prompt(self, prompts: PromptSet = TODAY) -> str:
        """Return what the synthesizer is shown of it; "" where nothing was noted."""
        return prompts.render("synthesize_found", notes="\n".join(self.lines())).text if self.notes else ""

    def for_report(self) -> str:
        """Return the section of the node's report on it."""
        if not self.notes:
            return f"**Looked up before the children were weighed:** nothing was noted{f' ({self.fault})' if self.fault else ''}."
        where = {source.id: source for source in self.trace.sources}
        named = dict.fromkeys(
            identity for note in self.notes for identity in note.sources if identity in where
        )
        origins = "\n".join(f"- {identity}: {where[identity].origin}" for identity in named)
        noted = "\n".join((*self.lines(), *self.trace.findings))
        return (
            f"**Looked up before the children were weighed:**\n\n{noted}\n\n{origins and 'From:'}\n\n{origins}"
        ).rstrip()

    def render(self, proof: ProofContext) -> Any:
        """Return a notebook with the proposition, each step with its answers, the sources and the notes."""
        return notebook_of(look_up_cells(self.trace, proof, self.lines(), self.fault))

    def faults(self, proof: ProofContext) -> list[Fault]:
        """Return what differs from the ledgers, from the request that weighed the children, and from the notebook."""
        faults: list[Fault] = []
        try:
            rows = proof.data_calls()
            replies = proof.replies()
            faults.extend(step_faults(self.trace, proof, rows))
        except StoreCorrupt as error:
            return [("ledger", None, str(error))]
        faults.extend(self._note_faults(proof))
        shown = self.for_prompt()
        weighed = [reply for reply in replies if reply.stage not in (STAGE, "filter", "summary")]
        if shown and not any(shown in turn["content"] for reply in weighed for turn in reply.messages):
            faults.append(("ledger", None, "no request that weighs the children shows these notes"))
        if not faults:
            faults.extend(notebook_faults(self.render(proof), proof.notebook))
        return faults

    def _note_faults(self, proof: ProofContext) -> list[Fault]:
        handed = [
            arguments
            for reply in proof.replies()
            if reply.stage == STAGE
            for name, arguments in calls_of_reply(reply, end=HAND_IN)
            if name == HAND_IN
        ]
        if not handed:
            return [] if not self.notes else [("ledger", None, "the ledger holds no notes")]
        for arguments in reversed(handed):
            try:
                if read_notes(arguments) == self.notes:
                    return []
            except MalformedReply:  # it went back to the model with the reason
                continue
        return [("ledger", None, "the recorded notes are others")]


_NOTES: TypeAdapter[tuple[LoopNote, ...]] = TypeAdapter(tuple[LoopNote, ...])
