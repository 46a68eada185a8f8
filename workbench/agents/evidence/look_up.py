"""What a synthesizer looked up for an inner node before it weighed the children: steps, sources, notes; checked like a leaf's steps.

An inner node has no grounding, so this stands beside its rule and not in the place of one: the notes are material for the weights,
and no probability is read from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from sandbox.record.verify import Difference, compare_cells
from workbench.agents.errors import MalformedReply
from workbench.agents.evidence.base import Evidence, plain
from workbench.agents.evidence.notebook import (
    inert,
    markdown,
    notebook_of,
    opening_cells,
    sources_cell,
    step_cells,
)
from workbench.agents.evidence.reply_records import calls_of_reply, hash_faults, rows_by_hash, step_faults
from workbench.agents.loop.loop_notes import HAND_IN, LoopNote, note_lines, read_notes
from workbench.prompts import TODAY, PromptSet
from workbench.propositions.errors import TreeFormatError
from workbench.propositions.strict_json import STRICT, read_strict
from workbench.store.errors import StoreCorrupt

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from workbench.agents.evidence.base import ProofContext, RecordedReply

#: Stage of its requests in the ledger.
STAGE = "lookup"


@dataclass(frozen=True, slots=True, kw_only=True)
class LookUp:
    """One look-up of one inner node."""

    __pydantic_config__ = STRICT

    #: Plan, steps, sources, and what became of every search result; it has no submission.
    trace: Evidence
    #: What was handed in.
    notes: tuple[LoopNote, ...] = ()
    #: Why there are no notes, "" where the loop came to its end.
    fault: str = ""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the look-up that ``to_json`` wrote; raises ``ValueError`` for anything else."""
        try:
            return read_strict(cls, data, what="the look-up")
        except TreeFormatError as error:
            raise ValueError(str(error)) from error

    def to_json(self) -> dict[str, Any]:
        """Return the look-up as JSON values."""
        return plain(self)

    def lines(self) -> list[str]:
        """Return the notes as lines, each with the ids and dates of what it rests on."""
        return note_lines(self.notes, {source.id: source for source in self.trace.sources})

    def for_prompt(self, prompts: PromptSet = TODAY) -> str:
        """Return what the synthesizer is shown of it; "" where nothing was noted."""
        return prompts.render("synthesize_found", notes="\n".join(self.lines())) if self.notes else ""

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

    def cells(self, proof: ProofContext) -> list[dict[str, Any]]:
        """Return the cells of its notebook: the proposition, each step with its answers, the sources and the notes."""
        noted = "\n".join(map(inert, self.lines())) or f"Nothing was noted. {inert(self.fault)}".rstrip()
        findings = "\n".join(f"- {inert(finding)}" for finding in self.trace.findings)
        return [
            *opening_cells(self.trace, proof, "\n\nLooked up before the propositions below it were weighed."),
            *step_cells(self.trace, proof),
            sources_cell(self.trace),
            markdown("trace-notes", f"## Notes\n\n{noted}" + (f"\n\n{findings}" if findings else "")),
        ]

    def render(self, proof: ProofContext) -> Any:
        """Return its notebook."""
        return notebook_of(self.cells(proof))

    def faults(self, proof: ProofContext) -> list[Difference]:
        """Return what differs from the ledgers, from the request that weighed the children, and from the notebook."""
        try:
            replies, calls = proof.replies(), proof.data_calls()
            rows = rows_by_hash(calls)
            faults = [
                *hash_faults(calls),
                *step_faults(self.trace, replies, rows),
                *self._note_faults(replies),
            ]
        except StoreCorrupt as error:
            return [Difference("ledger", None, str(error))]
        return faults or compare_cells(self.cells(proof), proof.notebook)

    def _note_faults(self, replies: Sequence[RecordedReply]) -> Iterator[Difference]:
        handed = [
            arguments
            for reply in replies
            if reply.stage == STAGE
            for name, arguments in calls_of_reply(reply, end=HAND_IN)
            if name == HAND_IN
        ]
        if not any(self._says(arguments) for arguments in handed) and (handed or self.notes):
            what = "the recorded notes are others" if handed else "the ledger holds no notes"
            yield Difference("ledger", None, what)
        shown = self.for_prompt()
        weighed = [reply for reply in replies if reply.stage not in (STAGE, "filter", "summary")]
        if shown and not any(shown in turn["content"] for reply in weighed for turn in reply.messages):
            yield Difference("ledger", None, "no request that weighs the children shows these notes")

    def _says(self, arguments: Mapping[str, Any]) -> bool:
        try:
            return read_notes(arguments) == self.notes
        except MalformedReply:  # it went back to the model with the reason
            return False
