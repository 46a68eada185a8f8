"""The offline check of evidence: against log, ledgers, journal and notebook, then computed and run again; no model is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import fields, replace

from sandbox.errors import JournalBroken
from sandbox.record.journal import read_journal
from sandbox.record.verify import Difference, Verification, compare_cells, compare_proof
from workbench.agents.errors import MalformedReply
from workbench.agents.evidence.base import Evidence, EvidencePart, ProofContext
from workbench.agents.evidence.notebook import proof_cells
from workbench.agents.evidence.reply_records import (
    hash_faults,
    loop_faults,
    rows_by_hash,
    step_id,
    thought_faults,
)
from workbench.agents.replies.reply_prose import after_earlier
from workbench.agents.replies.stage_replies import parse_conclusion
from workbench.agents.routing import Route
from workbench.formatting import percent, points_apart
from workbench.plug_points import EVIDENCE, load_plugin, package_of
from workbench.propositions import Belief
from workbench.science.pooling.pool import pool_logit_mean
from workbench.store.errors import StoreCorrupt

#: Runs the cells of a proof's journal again in a sealed kernel, answered from the ledger.
Replay = Callable[[ProofContext], Awaitable[Verification]]


def compare(evidence: Evidence, proof: ProofContext) -> Verification:
    """Compare evidence with the records and execute nothing; raises ``StoreCorrupt`` for an altered body.

    Called before anything of a run is re-run, and when a package is imported: a difference here means that the run was
    altered, and nothing of it is trusted then.
    """
    outcomes = [_records(share, context) for share, context in evidence.shares(proof)]
    outcome = _joined(outcomes, [part.grounder for part in evidence.parts])
    faults = [*outcome.differing, *_pooled_faults(evidence, proof)]
    if not any(fault.check == "chain" for fault in faults):
        cells = proof_cells(evidence, proof)
        faults += [] if cells is None else compare_cells(cells, proof.notebook)
    return replace(outcome, differing=tuple(faults))


async def verify(evidence: Evidence, proof: ProofContext, replay: Replay) -> Verification:
    """Do what ``compare`` does, compute again what can be computed, and run cells again; numerics in threads."""
    outcomes = [await asyncio.to_thread(compare, evidence, proof)]
    if outcomes[0].differing:
        return outcomes[0]
    for share, context in evidence.shares(proof):
        if share.recompute:
            outcomes.append(await asyncio.to_thread(_recomputed, share, context))
        elif not share.steps:
            outcomes.append(replace(await replay(context), cells=0))  # they are counted already
        elif any(call.cell for step in share.steps for call in step.calls):
            outcomes.append(await replay(context))
    printed = outcomes[-1].printed if evidence.kind == "notebook" else ()
    return replace(_joined(outcomes, ()), printed=printed)


def unlike(evidence: Evidence, again: Evidence) -> Verification:
    """Compare evidence with the same computed again."""
    stored, computed = evidence.to_json(), again.to_json()
    names = [field.name for field in fields(Evidence) if stored.get(field.name) != computed.get(field.name)]
    if not names:
        return Verification()
    what = f"computed again from the ledger, {' and '.join(names)} come out otherwise"
    return Verification(differing=(Difference("rerun", None, what),))


def pooled_belief(parts: Sequence[EvidencePart], route: Route) -> Belief:
    """Return what a leaf counts as: the one grounder's belief as it is, of several the logit mean with their disagreement in words."""
    if len(parts) == 1:
        return parts[0].belief
    values = {part.grounder: part.belief.p for part in parts}
    p = float(pool_logit_mean([list(values.values())])[0])
    listed = ", ".join(f"{name} {percent(value)}" for name, value in values.items())
    gap = points_apart(min(values.values()), max(values.values()))
    reports = "\n\n".join(
        f"## {part.grounder}: {percent(part.belief.p)}\n\n{part.belief.report}" for part in parts
    )
    return Belief(
        p=p,
        key_factor=f"{listed}: {gap} apart, pooled to {percent(p)}.",
        report=f"Grounded by {' and '.join(values)} ({route.by}: {route.reason}). Their logit mean counts: {percent(p)}; they lie "
        f"{gap} apart ({listed}).\n\n{reports}",
    )


def _joined(outcomes: Sequence[Verification], names: Sequence[str]) -> Verification:
    """Several outcomes as one; of several grounders each difference names its own."""
    differing = [
        replace(fault, what=f"{names[place]}: {fault.what}") if len(names) > 1 else fault
        for place, outcome in enumerate(outcomes)
        for fault in outcome.differing
    ]
    return Verification(
        cells=sum(outcome.cells for outcome in outcomes),
        differing=tuple(differing),
        advisory=tuple(fault for outcome in outcomes for fault in outcome.advisory),
        unrepeatable=tuple(fault for outcome in outcomes for fault in outcome.unrepeatable),
    )


def _pooled_faults(evidence: Evidence, proof: ProofContext) -> Iterator[Difference]:
    if evidence.route is None:
        return
    belief = pooled_belief(evidence.parts, evidence.route)
    if abs(belief.p - proof.belief.p) > 1e-12 or belief.key_factor != proof.belief.key_factor:
        yield Difference("conclusion", None, f"the parts give {belief.p!r}, the log {proof.belief.p!r}")


def _records(evidence: Evidence, proof: ProofContext) -> Verification:
    if evidence.steps:
        return Verification(cells=len(evidence.steps), differing=tuple(_step_faults(evidence, proof)))
    return compare_proof(
        journal=proof.journal,
        notebook=proof.notebook,
        rows=proof.data_calls("cell"),
        conclusion=lambda: _conclusion_fault(proof),
    )


def _step_faults(evidence: Evidence, proof: ProofContext) -> Iterator[Difference]:
    stated = next((step.p for step in reversed(evidence.steps) if step.p is not None), None)
    if stated != proof.belief.p:
        yield Difference("conclusion", None, f"the trace says {stated!r}, the log {proof.belief.p!r}")
    calls = proof.data_calls()
    rows = rows_by_hash(calls)
    yield from hash_faults(calls)
    for number, step in enumerate(evidence.steps, 1):
        for answer in step.answers:
            if answer not in rows:
                yield Difference("ledger", step_id(number), f"no data call gave the answer {answer}")
    if evidence.submission is not None:
        yield from loop_faults(evidence, proof, rows)
    if evidence.combined is not None:
        yield from thought_faults(evidence, proof)
    ran = [call for step in evidence.steps for call in step.calls if call.cell is not None]
    try:
        sources = {cell.id: cell.source for cell in read_journal(proof.journal)} if ran else {}
    except (JournalBroken, OSError) as error:
        yield Difference("chain", None, f"the journal of the cells cannot be read: {error}")
        return
    for call in ran:
        if sources.get(str(call.cell)) != call.arguments.get("source", ...):
            yield Difference("chain", call.cell, "the journal holds another cell than the trace ran")


def _conclusion_fault(proof: ProofContext) -> str | None:
    """What is wrong with the conclusion of a session's notebook."""
    reply = proof.last_reply("conclude")
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


def _reply_fault(text: str, belief: Belief) -> str | None:
    try:
        conclusion = parse_conclusion(text)
    except MalformedReply as error:
        return f"the recorded conclusion cannot be read: {error.reason}"
    # Equal to the last digit: the log's number was read from this very reply.
    if conclusion.p != belief.p:
        return f"the conclusion says {conclusion.p!r}, the log {belief.p!r}"
    # The report may lack what a later reader of replies adds at its end.
    if conclusion.key_factor != belief.key_factor or not conclusion.report.startswith(belief.report):
        return "the log's key factor or report is not what the conclusion says"
    return None


def _recomputed(evidence: Evidence, proof: ProofContext) -> Verification:
    name = evidence.recompute
    try:
        outcome = load_plugin(EVIDENCE, name)(evidence, proof)
        if not isinstance(outcome, Verification):
            raise TypeError(f"{type(outcome).__name__} in place of a Verification")
        return outcome
    except (StoreCorrupt, OSError, MemoryError):
        raise
    except (
        Exception
    ) as error:  # what it starts from may be of anybody's package, and the function a stranger's
        package = package_of(EVIDENCE, name)
        by = (
            f"the evidence {name} of the package {package} raised"
            if package
            else "it cannot be computed again:"
        )
        words = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        return Verification(differing=(Difference("rerun", None, f"{by} {words}"),))
