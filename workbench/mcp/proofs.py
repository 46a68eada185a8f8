"""A leaf's proof as a client reads it: the cells that the log vouches for, their outputs as text, cut where they are long."""

from typing import Any

from sandbox.errors import JournalBroken
from sandbox.record.journal import ends_at, read_journal
from sandbox.record.session_notebook import render_notebook
from workbench.agents.evidence.notebook import proof_notebook
from workbench.engine.proof_check import proof_context, stored_evidence
from workbench.engine.record.state import RunState
from workbench.errors import UsageError, command
from workbench.propositions import NodeId
from workbench.store import Store
from workbench.terminal import printable

_LONGEST_CELL = 8_000  # characters of one source or output


def proof_document(store: Store, state: RunState, node: NodeId, trial: int = 1) -> dict[str, Any]:
    """Return a concluded trial's belief, report and cells.

    Read from the journal whose head is in the log, not from the ``.ipynb``, which anybody may have edited since.

    Raises
    ------
    UsageError
        No such node, no concluded proof, or a journal that is not the one on record.
    """
    proposition, concluded = state.tree[node], state.trial(node, trial)
    if concluded.belief is None:
        leaves = ", ".join(sorted({leaf for (leaf, _), each in state.trials.items() if each.belief}))
        raise UsageError(f"{node} has no concluded proof of trial {trial}; proofs are there for {leaves}")
    proof = proof_context(store, state, node, trial)
    book = proof_notebook(stored_evidence(store, state, node, trial), proof)
    if book is None:
        head = concluded.journal_head
        try:
            if head is not None and not ends_at(proof.journal, head):
                raise UsageError(
                    f"the journal of {node} is not the one on record: ",
                    command("verify", "RUN"),
                    " says more",
                )
            book = render_notebook(read_journal(proof.journal))
        except (JournalBroken, OSError) as error:
            raise UsageError(f"the journal of {node} cannot be read: {error}") from None
    belief = concluded.belief
    return {
        "run_id": state.run_id,
        "node": node,
        "trial": trial,
        "statement": proposition.statement,
        "p": belief.p,
        "key_factor": belief.key_factor,
        "report": _cut(belief.report),
        "verified": concluded.verified,
        "cells": [_proof_cell(cell) for cell in book.cells],
    }


def _proof_cell(cell: Any) -> dict[str, Any]:
    shown: dict[str, Any] = {"kind": cell.cell_type, "source": _cut(cell.source)}
    if cell.cell_type == "code":
        shown["output"] = _cut("".join(map(_output_text, cell.get("outputs", []))))
        tags = cell.metadata.get("tags", [])
        shown["failed"], shown["superseded"] = "raises-exception" in tags, "superseded" in tags
    return shown


def _output_text(output: Any) -> str:
    if output["output_type"] == "stream":
        return str(output["text"])
    if output["output_type"] == "error":
        return f"{output['ename']}: {output['evalue']}\n"
    data = output.get("data", {})
    if any(kind.startswith("image/") for kind in data):
        return "(a picture)\n"
    return f"{data.get('text/plain', '')}\n"


def _cut(text: str) -> str:
    plain = printable(text)
    if len(plain) <= _LONGEST_CELL:
        return plain
    return f"{plain[:_LONGEST_CELL]}\n(cut here: {len(plain) - _LONGEST_CELL:,} more characters)"
