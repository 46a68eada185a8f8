"""Where the leaves of runs went, and what came of it: the tables of ``workbench grounders``."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import orjson

from workbench.engine.leaves.own_record import ResolvedLeaf, grounders_of, records_of
from workbench.engine.record.state import RunState
from workbench.science.comparing.paired import paired_test
from workbench.store import ModelLedger, Store
from workbench.store import events as ev


def routes_of(store: Store, state: RunState) -> list[dict[str, Any]]:
    """Return a row per concluded trial: which grounders it rests on, who chose them and why, their p, and what the leaf cost."""
    costs = ModelLedger(store).trial_costs(state.run_id)
    rows = []
    for stored in store.events(state.run_id, kinds=("leaf.grounded",)):
        event = stored.event
        assert isinstance(event, ev.LeafGrounded), "only these were asked for"
        route: dict[str, Any] = {}
        if event.evidence.kind == "routed" and event.evidence.body is not None:
            route = orjson.loads(store.body(event.evidence.body))
        said = dict(grounders_of(store, state, event))
        rows.append(
            {
                "node": event.node,
                "trial": event.trial,
                "p": event.p,
                "grounders": said,
                "spread": max(said.values()) - min(said.values()),
                "by": route["route"]["by"] if route else "run",
                "reason": route["route"]["reason"] if route else "the run's grounder",
                "failed": route.get("failed", {}),
                "cost_usd": costs.get(event.node),
                "model_calls": ModelLedger(store).spent(state.run_id, event.node)[2],
            }
        )
    return rows


def by_grounder(state: RunState, rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return by grounder what its leaves in a run took, and their Brier score where they are resolved, from the rows of `routes_of`.

    A leaf that went to several counts with each of them, at its whole cost: what one of several took is not on record apart.
    """
    outcomes = {node: outcome.p for node, outcome in state.annotations.leaf_outcomes.items()}
    if state.annotations.outcome is not None and not state.tree.root.children:
        outcomes.setdefault("P0", state.annotations.outcome.p)
    table: dict[str, dict[str, Any]] = {}
    for name in sorted({name for row in rows for name in row["grounders"]}):
        own = [row for row in rows if name in row["grounders"]]
        by_leaf = {
            row["node"]: row for row in own
        }  # calls and cost are those of the leaf, the same for all its trials
        costs = [row["cost_usd"] for row in by_leaf.values()]
        errors: dict[str, list[float]] = {}
        for row in own:
            if row["node"] in outcomes:
                errors.setdefault(row["node"], []).append(
                    (row["grounders"][name] - outcomes[row["node"]]) ** 2
                )
        table[name] = {
            "leaves": len(by_leaf),
            "mean_p": float(np.mean([row["grounders"][name] for row in own])),
            "model_calls": sum(row["model_calls"] for row in by_leaf.values()),
            "cost_usd": None if None in costs else float(np.mean(costs)),
            "n": len(errors),
            "brier": float(np.mean([np.mean(values) for values in errors.values()])) if errors else None,
        }
    return table


def record_table(leaves: list[ResolvedLeaf]) -> dict[str, dict[str, Any]]:
    """Return what `records_of` says of each grounder, with the runs behind it and an interval from flipping whole runs; None for too few."""
    table: dict[str, dict[str, Any]] = {}
    for name, record in records_of(leaves).items():
        own = [leaf for leaf in leaves if any(part == name for part, _ in leaf.parts)]
        errors = [
            float(np.mean([(p - leaf.outcome) ** 2 for part, p in leaf.parts if part == name]))
            for leaf in own
        ]
        runs = [leaf.run_id for leaf in own]
        test = paired_test(errors, runs)
        table[name] = {**record, "runs": len(set(runs)), "interval": test.interval}
    return table


def together(leaves: Sequence[ResolvedLeaf]) -> list[dict[str, Any]]:
    """Return for each set of grounders that leaves went to together whether pooling paid: Brier of the pool, of its parts, how far apart.

    Only leaves of one trial: of several it is not kept which parts were pooled with each other.
    """
    groups: dict[str, list[ResolvedLeaf]] = {}
    for leaf in leaves:
        if len(leaf.parts) > 1 and len(leaf.trials) == 1:
            groups.setdefault(" + ".join(name for name, _ in leaf.parts), []).append(leaf)
    return [
        {
            "grounders": names,
            "n": len(group),
            "brier": float(np.mean([(leaf.trials[0] - leaf.outcome) ** 2 for leaf in group])),
            "parts": float(
                np.mean([np.mean([(p - leaf.outcome) ** 2 for _, p in leaf.parts]) for leaf in group])
            ),
            "spread": float(np.mean([np.ptp([p for _, p in leaf.parts]) for leaf in group])),
        }
        for names, group in sorted(groups.items())
    ]
