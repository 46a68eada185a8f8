"""A leaf that a review took over as evidence: the run it stands in, and its data calls asked again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from workbench.agents.evidence.base import Evidence, ProofContext, TraceStep
from workbench.agents.evidence.check import unlike
from workbench.agents.loop.tool_box import ToolSource
from workbench.quoting import one_line

if TYPE_CHECKING:
    from sandbox.record.verify import Verification


def carried_evidence(
    run: str, reason: str, p: float, calls: Sequence[tuple[str, str]], settled_from: str = ""
) -> Evidence:
    """Return the evidence of a leaf taken over; ``calls`` are path and content hash of each, the other fields those of `CarriedLeaf`."""
    hashes = tuple(content_hash for _, content_hash in calls)
    return Evidence(
        plan="Ask again, as of the new cutoff, for the data that this rests on; no model is asked.",
        sources=tuple(
            ToolSource(id=f"D{number}", title=path, origin=content_hash)
            for number, (path, content_hash) in enumerate(calls, 1)
        ),
        steps=(
            TraceStep(
                title="Carried over",
                text=f"{one_line(reason, 500)}\n\nRun `{one_line(run, 80)}` holds the evidence.",
                p=p,
                answers=hashes,
            ),
        ),
        recompute="carried",
        basis={"run": run, "reason": reason, "settled_from": settled_from},
    )


def recompute_carried(evidence: Evidence, proof: ProofContext) -> Verification:
    """Put the same together from the ledger, and read the outcome from its rows where the leaf's day is over."""
    basis = {name: str(evidence.basis.get(name, "")) for name in ("run", "reason", "settled_from")}
    answers = list(proof.answered())
    p = proof.belief.p
    if basis["settled_from"]:
        # pandas loads for a driver that came out, and for no screen
        from workbench.questions.series.recorded_rows import recorded_outcome

        rows: list[tuple[str, Any, Any]] = [(row.path, row.asked, data) for row, _, data in answers]
        p = float(recorded_outcome(proof.node.statement, rows, basis["settled_from"]))
    calls = [(row.path, content_hash) for row, content_hash, _ in answers]
    return unlike(evidence, carried_evidence(p=p, calls=calls, **basis))
