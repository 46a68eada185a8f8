"""Evidence of a grounder that has no notebook: its steps with what each rests on, and the data answers it used."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import ConfigDict, TypeAdapter, ValidationError

from workbench.store.errors import StoreCorrupt

if TYPE_CHECKING:
    from sandbox.record.verify import Verification
    from workbench.agents.evidence.base import ProofContext, Replay


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceStep:
    """One step towards a belief.

    Parameters
    ----------
    title : str
        What was done, in a few words.
    text : str
        What came of it, as Markdown.
    p : float, optional
        Belief after the step, in [0, 1].
    answers : tuple of str
        Content hashes of the data answers that the step used (``Answer.meta["content_hash"]``).
    """

    title: str
    text: str
    p: float | None = None
    answers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceEvidence:
    """The steps of a grounding, in order; the last one that states a belief is the conclusion."""

    steps: tuple[TraceStep, ...]

    kind: ClassVar[str] = "trace"

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the trace that ``to_json`` wrote; raises ``ValueError`` for anything else."""
        try:
            return cls(steps=_STEPS.validate_python(data["steps"]))
        except (KeyError, ValidationError) as error:
            raise ValueError(f"not a trace: {error}") from error

    def to_json(self) -> dict[str, Any]:
        """Return the steps as JSON values."""
        return {"steps": [asdict(step) for step in self.steps]}

    def render(self, proof: ProofContext) -> Any:
        """Return a notebook with the claim, a cell per step, the data calls, and the conclusion."""
        import nbformat

        texts = [f"# {proof.node.id}: {proof.node.statement}\n\nKnowledge cutoff: {proof.cutoff}"]
        for number, step in enumerate(self.steps, 1):
            belief = "" if step.p is None else f"\n\nBelief after this step: p = {step.p:.4f}"
            texts.append(f"## {number}. {step.title}\n\n{step.text}{belief}")
        rows = [
            f"- `{row.path}` {dict(row.asked)}: {row.refused or (row.answer and row.answer.meta.get('content_hash'))}"
            for row in proof.data_calls()
        ]
        if rows:
            texts.append("## Data calls\n\n" + "\n".join(rows))
        texts.append(f"## Conclusion\n\np = {proof.belief.p:.4f}. {proof.belief.key_factor}")
        book = nbformat.v4.new_notebook()  # type: ignore[no-untyped-call]
        for number, text in enumerate(texts):
            cell = nbformat.v4.new_markdown_cell(text)  # type: ignore[no-untyped-call]
            cell.id = f"trace-{number:03d}"  # not drawn at random: the same trace is the same file
            book.cells.append(cell)
        return book

    async def verify(self, proof: ProofContext, replay: Replay) -> Verification:
        """Compare; there is nothing to re-run. In a thread, since the notebook is rendered and read again."""
        return await asyncio.to_thread(self.compare, proof)

    def compare(self, proof: ProofContext) -> Verification:
        """Compare the trace with the log, the ledger, and the notebook that was written from it."""
        from sandbox.record.verify import Difference, Verification

        faults: list[tuple[str, str | None, str]] = []
        stated = next((step.p for step in reversed(self.steps) if step.p is not None), None)
        if stated != proof.belief.p:
            faults.append(("conclusion", None, f"the trace says {stated!r}, the log {proof.belief.p!r}"))
        try:
            known = {row.answer.meta.get("content_hash") for row in proof.data_calls() if row.answer}
        except StoreCorrupt as error:
            faults.append(("ledger", None, str(error)))
        else:
            for number, step in enumerate(self.steps):
                for answer in step.answers:
                    if answer not in known:
                        faults.append(
                            ("ledger", f"trace-{number + 1:03d}", f"no data call gave the answer {answer}")
                        )
            # Only with a sound ledger: rendering the notebook to compare with reads the data calls again.
            faults.extend(self._notebook_faults(proof))
        return Verification(
            cells=len(self.steps),
            differing=tuple(Difference(check=check, cell=cell, what=what) for check, cell, what in faults),
        )

    def _notebook_faults(self, proof: ProofContext) -> list[tuple[str, str | None, str]]:
        import nbformat

        if not proof.notebook.is_file():
            return [("notebook", None, "the proof notebook is gone")]
        expected = {cell.id: cell.source for cell in self.render(proof).cells}
        try:
            book = nbformat.read(proof.notebook, as_version=4)  # type: ignore[no-untyped-call]
        except (ValueError, nbformat.ValidationError) as error:
            return [("notebook", None, f"the proof notebook cannot be read: {error}")]
        present = {cell.get("id"): cell.source for cell in book.cells}
        return [
            ("notebook", cell, "is not what the trace says")
            for cell in dict.fromkeys((*expected, *present))
            if expected.get(cell) != present.get(cell)
        ]


# Not strict, because stored JSON has lists for tuples.
_STEPS = TypeAdapter(tuple[TraceStep, ...], config=ConfigDict(extra="forbid", allow_inf_nan=False))
