"""The grounders that leaves of runs went to, and their results: the tables of ``workbench grounders``."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from workbench.agents.evidence.base import Evidence, logged_evidence
from workbench.engine.leaves.own_record import ResolvedLeaf, grounders_of, leaf_clusters, records_of
from workbench.engine.record.state import RunState
from workbench.science.comparing.clusters import cluster_count
from workbench.science.comparing.mean_intervals import loss_interval, mean_intervals
from workbench.store import ModelLedger, Store
from workbench.store import events as ev


def routes_of(store: Store, state: RunState) -> list[dict[str, Any]]:
    """Return a row per concluded trial: its grounders, who chose them and why, their p, and the leaf's cost."""
    costs = ModelLedger(store).trial_costs(state.run_id)
    rows = []
    for stored in store.events(state.run_id, kinds=("leaf.grounded",)):
        event = stored.event
        assert isinstance(event, ev.LeafGrounded), "only these were asked for"
        routed = event.evidence.kind == "routed"
        evidence = logged_evidence(store, event.evidence) if routed else Evidence()
        route = evidence.route
        p_of = dict(grounders_of(store, state, event))
        rows.append(
            {
                "node": event.node,
                "trial": event.trial,
                "p": event.p,
                "grounders": p_of,
                "spread": max(p_of.values()) - min(p_of.values()),
                "by": route.by if route else "run",
                "reason": route.reason if route else "the run's grounder",
                "failed": dict(evidence.failed),
                "cost_usd": costs.get(event.node),
                "model_calls": ModelLedger(store).spent(state.run_id, event.node)[2],
            }
        )
    return rows


def by_grounder(state: RunState, rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return each grounder's leaves in a run, their cost, and their Brier score where resolved, from the rows of `routes_of`.

    A leaf that went to several counts with each of them, at its whole cost: what one of several took is not on record apart.
    """
    outcomes = {node: outcome.p for node, outcome in state.leaf_outcomes().items()}
    table: dict[str, dict[str, Any]] = {}
    for name in sorted({name for row in rows for name in row["grounders"]}):
        routed = [row for row in rows if name in row["grounders"]]
        # calls and cost are those of the leaf, the same for all its trials
        leaves = {row["node"]: row for row in routed}
        costs = [row["cost_usd"] for row in leaves.values()]
        p = pd.Series([row["grounders"][name] for row in routed], [row["node"] for row in routed])
        losses = ((p - p.index.map(outcomes).astype(float)) ** 2).groupby(level=0).mean().dropna()
        table[name] = {
            "leaves": len(leaves),
            "mean_p": float(p.mean()),
            "model_calls": sum(row["model_calls"] for row in leaves.values()),
            "cost_usd": None if None in costs else float(np.mean(costs)),
            "n": len(losses),
            "brier": float(losses.mean()) if len(losses) else None,
        }
    return table


def _parts(leaves: Sequence[ResolvedLeaf]) -> pd.DataFrame:
    """A row for each grounder of each leaf, with the leaf's place and its mean error and loss over the leaf's trials."""
    rows = [(place, name, p - leaf.outcome) for place, leaf in enumerate(leaves) for name, p in leaf.parts]
    frame = pd.DataFrame(rows, columns=["leaf", "grounder", "error"])
    return frame.assign(loss=frame["error"] ** 2).groupby(["grounder", "leaf"], as_index=False).mean()


def record_table(leaves: list[ResolvedLeaf]) -> dict[str, dict[str, Any]]:
    """Return the record of each grounder (`records_of`), with its runs and clusters and an interval over these; None for too few."""
    table: dict[str, dict[str, Any]] = {}
    parts = _parts(leaves)
    for name, record in records_of(leaves).items():
        rows = parts[parts["grounder"] == name]
        grounded = [leaves[place] for place in rows["leaf"]]
        labels = leaf_clusters(grounded)
        table[name] = {
            **record,
            "runs": len({leaf.run_id for leaf in grounded}),
            "clusters": cluster_count(labels),
            "interval": loss_interval(rows["loss"].tolist(), labels),
        }
    return table


def bias_table(leaves: Sequence[ResolvedLeaf]) -> dict[str, dict[str, Any]]:
    """Return the bias half of the root's error by grounder, from resolved leaves: path weight times leaf bias (paper A, section 3).

    Per run the sum of ``path weight x (p - outcome)`` over a grounder's leaves, averaged over all runs: by how much it moved roots too
    high (above 0) or too low. The rows sum to the row ``all``, the roots' whole bias from resolved leaves. ``leaf_bias`` is the mean of p
    less outcome. A leaf of several grounders counts for each with its equal share. Intervals are over clusters, None for too few.
    """
    weighted = [leaf for leaf in leaves if leaf.weight is not None and leaf.parts]
    if not weighted:
        return {}
    clusters = dict(zip([leaf.run_id for leaf in weighted], leaf_clusters(weighted), strict=True))
    parts, of_leaf = _parts(weighted), pd.DataFrame([(leaf.run_id, leaf.weight) for leaf in weighted])
    parts[["run", "weight"]] = of_leaf.loc[parts["leaf"]].to_numpy()
    sharing = parts.groupby("leaf")["grounder"].transform("size")
    parts["bias"] = (parts["weight"] * parts["error"] / sharing).astype(float)
    table = {}
    for name, rows in [*parts.groupby("grounder"), ("all", parts)]:
        of_run = rows.groupby("run")["bias"].sum().reindex(list(clusters), fill_value=0.0)
        (interval,) = mean_intervals([of_run.to_numpy()], list(clusters.values()))
        table[str(name)] = {
            "leaves": len(rows),
            "leaf_bias": float(rows["error"].mean()),
            "runs": len(of_run),
            "clusters": cluster_count(list(clusters.values())),
            "claim_bias": float(of_run.mean()),
            "interval": interval,
        }
    return table


def together(leaves: Sequence[ResolvedLeaf]) -> list[dict[str, Any]]:
    """Compare pooled leaves with their parts, by set of grounders: Brier score of the pool, of its parts, how far apart.

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
