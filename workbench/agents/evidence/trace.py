"""Evidence of a grounder that has no notebook of its own: its steps with what each rests on, and the data answers it used."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from sandbox.record.session_notebook import KERNELSPEC
from workbench.agents.evidence.trace_notebook import agent_cells
from workbench.agents.evidence.trace_records import cell_faults, ledger_faults, rerun_cells
from workbench.agents.evidence.trace_steps import Trace, TraceCall, TraceStep
from workbench.questions.errors import ClaimRefused
from workbench.store.errors import StoreCorrupt

if TYPE_CHECKING:
    from sandbox.record.verify import Verification
    from workbench.agents.evidence.base import ProofContext, Replay

__all__ = ["ReadAgain", "TraceCall", "TraceEvidence", "TraceStep", "notebook_faults", "notebook_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceEvidence(Trace):
    """The steps of a grounding, in order, as evidence: rendered as a notebook, and compared with the records."""

    kind: ClassVar[str] = "trace"

    def render(self, proof: ProofContext) -> Any:
        """Return a notebook with the claim, a cell per step, the data calls, and the conclusion."""
        import nbformat

        node: Any = nbformat.NotebookNode
        if self.submission is not None:
            return notebook_of(agent_cells(self, proof))
        return notebook_of(
            [
                node(id=name, cell_type="markdown", metadata=node(), source=text)
                for name, text in self._texts(proof).items()
            ]
        )

    def _texts(self, proof: ProofContext) -> dict[str, str]:
        """The cells' texts by their ids, which are not drawn at random: the same trace is the same file."""
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
        return {f"trace-{number:03d}": text for number, text in enumerate(texts)}

    async def verify(self, proof: ProofContext, replay: Replay) -> Verification:
        """Compare, and run the cells again where there are any; in a thread, since the notebook is rendered and read again."""
        compared = await asyncio.to_thread(self.compare, proof)
        if compared.differing or not any(call.cell for step in self.steps for call in step.calls):
            return compared
        return await rerun_cells(proof, replay, compared)

    def compare(self, proof: ProofContext, *, book: Any | None = None) -> Verification:
        """Compare the trace with the log, the ledgers, the journal of its cells, and the notebook that was written from it.

        ``book`` is that notebook made again, where evidence that holds this trace renders more than it.
        """
        from sandbox.record.verify import Difference, Verification
        from workbench.agents.evidence.thought_records import thought_faults

        faults: list[tuple[str, str | None, str]] = []
        stated = next((step.p for step in reversed(self.steps) if step.p is not None), None)
        if stated != proof.belief.p:
            faults.append(("conclusion", None, f"the trace says {stated!r}, the log {proof.belief.p!r}"))
        try:
            rows = proof.data_calls()
            known = {row.answer.meta.get("content_hash") for row in rows if row.answer}
            if self.submission is not None:
                faults.extend(ledger_faults(self, proof, rows))
            if self.combined is not None:
                faults.extend(thought_faults(self, proof))
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
            faults.extend(cell_faults(self, proof))
            if not any(check == "chain" for check, _, _ in faults):
                faults.extend(notebook_faults(self.render(proof) if book is None else book, proof.notebook))
        return Verification(
            cells=len(self.steps),
            differing=tuple(Difference(check=check, cell=cell, what=what) for check, cell, what in faults),
        )


class ReadAgain:
    """Evidence whose numbers are read again from the answers in the ledger; its own ``unlike`` says what differs."""

    __slots__ = ()

    def compare(self, proof: ProofContext) -> Verification:
        """Compare with log, ledger and notebook."""
        compared: Verification = self.trace.compare(proof, book=self.render(proof))  # type: ignore[attr-defined]
        return compared

    async def verify(self, proof: ProofContext, replay: Replay) -> Verification:
        """Compare, and read again; in a thread, since a notebook is rendered."""
        return await asyncio.to_thread(self._read_again, proof)

    def _read_again(self, proof: ProofContext) -> Verification:
        from sandbox.record.verify import Difference

        outcome = self.compare(proof)
        if outcome.differing:
            return outcome
        try:
            what = self.unlike(proof)  # type: ignore[attr-defined]
        except (ClaimRefused, StoreCorrupt, KeyError) as error:
            what = f"its data cannot be read again: {error}"
        return (
            outcome
            if what is None
            else replace(outcome, differing=(Difference(check="rerun", cell=None, what=what),))
        )


def notebook_of(cells: list[Any]) -> Any:
    """Return a notebook of these cells."""
    import nbformat

    # Plain nodes: nbformat's own makers validate each cell against the whole schema, and the caller validates the book.
    node: Any = nbformat.NotebookNode
    return node(nbformat=4, nbformat_minor=5, metadata=node(kernelspec=node(KERNELSPEC)), cells=cells)


def notebook_faults(expected: Any, path: Path) -> list[tuple[str, str | None, str]]:
    """Return the cells in which a proof notebook on disk differs from what its evidence renders."""
    import nbformat
    from nbformat.v4 import rwbase

    read: Any = nbformat.from_dict
    join: Any = rwbase.rejoin_lines
    if not path.is_file():
        return [("notebook", None, "the proof notebook is gone")]
    # Compared as the file holds them, lines joined; validating both against the whole schema would take longer than all else.
    try:
        book, expected = (
            join(read(json.loads(text))) for text in (path.read_text(encoding="utf-8"), json.dumps(expected))
        )
        forms = [(each.nbformat, [cell.id for cell in each.cells]) for each in (expected, book)]
        wanted, present = ({cell.id: _reader_sees(cell) for cell in each.cells} for each in (expected, book))
    except (ValueError, AttributeError, TypeError, KeyError) as error:
        return [("notebook", None, f"the proof notebook cannot be read: {error}")]
    faults: list[tuple[str, str | None, str]] = [
        ("notebook", cell, "is not what the trace says")
        for cell in dict.fromkeys((*wanted, *present))
        if wanted.get(cell) != present.get(cell)
    ]
    if faults or forms[0] == forms[1]:
        return faults
    # a second cell of an id would hide behind the true one
    return [("notebook", None, "its cells are not those of the trace, one by one")]


def _reader_sees(cell: Any) -> tuple[str, str, list[Any]]:
    outputs = [
        {key: value for key, value in output.items() if key not in ("metadata", "execution_count")}
        for output in cell.get("outputs", [])
    ]
    return cell.cell_type, cell.source, outputs
