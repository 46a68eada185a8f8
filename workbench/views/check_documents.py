"""Documents on whether a run can be believed: evidence, second readings, leaks, grounders, audit and verification."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from workbench.annotations.second_opinions import (
    both_late,
    compare_to_people,
    judge_run,
    leak_rates,
    leak_table,
    recall_run,
    stored_findings,
)
from workbench.audit.data_read import leaves_without_data
from workbench.audit.memory_scan import memory_document
from workbench.audit.run_findings import run_findings
from workbench.engine.record.fold import load_state
from workbench.engine.record.run_files import manifest_id
from workbench.engine.record.state import RunState
from workbench.errors import UsageError, command
from workbench.store import Store
from workbench.views.trail import evidence_trail
from workbench.whatif.band import past_windows
from workbench.whatif.run_edits import require_grounded

if TYPE_CHECKING:
    from workbench.engine.access.model_gateway import ModelGateway
    from workbench.propositions import NodeId


def evidence(store: Store, run_id: str, node: NodeId, trial: int = 1) -> dict[str, Any]:
    """Return the evidence of a leaf: ``workbench evidence``.

    ``numbers`` are those of the report that a cell printed, each with that cell; ``accounting`` are the base rate and the other
    figures that a notebook's conclusion states, with the cell that printed each, null for one from no cell; ``cells`` name their
    data calls, and in ``findings`` what a reader should know of them; ``calls`` say what was asked and sent, what the cutoff did
    to it, and the hash of the answer, which ``--call`` prints. ``by_chance`` says between what chance alone may move a leaf that
    rests on past windows; null for others. ``findings`` of the leaf itself says that it read no
    data, and what of its conclusion does not hold to its notebook or to itself.
    """
    state = load_state(store, run_id)
    trail = evidence_trail(store, state, node, trial)
    proposition = state.tree[node]
    windows = past_windows(state.tree, [node]).get(node)
    without_data = leaves_without_data(store, state)
    return {
        "run_id": run_id,
        "manifest_id": manifest_id(store, run_id),
        "statement": proposition.statement,
        "p": state.trial(node, trial).belief.p,  # type: ignore[union-attr]  # a trail is of a concluded trial
        **trail.to_json(),
        "findings": [row for row in run_findings(state, without_data) if row["node"] == node],
        "by_chance": None if windows is None else windows.to_json(proposition.p or 0.0),
        "earlier": [row.to_json() for row in state.earlier.get(node, [])],
    }


async def judge(
    store: Store,
    state: RunState,
    gateway: ModelGateway,
    *,
    model: str,
    nodes: Sequence[NodeId] = (),
    people: Mapping[NodeId, Mapping[str, float]] | None = None,
) -> dict[str, Any]:
    """Return the judge's scores of a run's reports, and with ``people`` how far they lie from theirs: ``workbench judge``."""
    rows = await judge_run(store, state, gateway, nodes)
    return {
        "run_id": state.run_id,
        "model": model,
        "reports": rows,
        "against": None if people is None else compare_to_people(rows, people),
        "model_calls": gateway.calls,
    }


async def recall(store: Store, state: RunState, gateway: ModelGateway) -> dict[str, Any]:
    """Return what the run's own model remembers of the claim and its leaves: ``workbench judge --recall``."""
    return {
        "run_id": state.run_id,
        "model": state.settings.model,
        **await recall_run(store, state, gateway),
        "model_calls": gateway.calls,
    }


def leaks(store: Store, run_ids: Sequence[str]) -> dict[str, Any]:
    """Return the leaks that models of another family found in the texts of runs: counts, rates, intervals: ``workbench leaks``.

    Raises ``UsageError`` for a run without such an audit on record.
    """
    by_run: dict[str, list[dict[str, Any]]] = {}
    models: dict[str, str] = {}
    for run_id in dict.fromkeys(run_ids):
        stored = stored_findings(store, load_state(store, run_id))
        if stored is None:
            raise UsageError(
                f"no model has read run {run_id} for leaks: ", command("leaks", run_id, model="M")
            )
        models[run_id], by_run[run_id] = stored
    findings = [{**row, "run_id": run_id} for run_id, rows in by_run.items() for row in rows]
    return {
        "runs": models,
        "table": leak_table(findings),
        "results": leak_rates(by_run, "result"),
        "reasoning": leak_rates(by_run, "reasoning"),
        "suspects": [row for row in findings if row["model"] != "no leak"],
        "late_by_both": [row["id"] for row in both_late(findings)],
    }


def memory(store: Store, run_ids: Sequence[str]) -> dict[str, Any]:
    """Return the later facts that a run's models wrote without having been shown them, by rule: ``workbench leaks --memory``."""
    states = [load_state(store, run_id) for run_id in dict.fromkeys(run_ids)]
    for state in states:
        require_grounded(state)
    return memory_document(store, states)


def grounders(store: Store, run_id: str | None = None) -> dict[str, Any]:
    """Return where the leaves of a run went and why; without a run each grounder's resolved leaves: ``workbench grounders``."""
    # pandas and scipy, which no other of these documents needs
    from workbench.audit.routes import bias_table, by_grounder, record_table, routes_of, together
    from workbench.engine.leaves.own_record import resolved_leaves

    if run_id is None:
        leaves = list(resolved_leaves(store))
        return {"record": record_table(leaves), "bias": bias_table(leaves), "together": together(leaves)}
    state = load_state(store, run_id)
    rows = routes_of(store, state)
    return {"run_id": run_id, "leaves": rows, "by_grounder": by_grounder(state, rows)}
