"""What this home's own leaves came to: resolved before a cutoff, they tell how to pool the next ones and which grounder does well.

A leaf counts for a claim only if `counts_for` says so: its run knew no more than the claim may, and its outcome was decided after
what the run knew and before what the claim may know. Runs of other homes do not count, since nobody here knows how they were chosen.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from proxies.asof.clock import Cutoff
from workbench.agents.evidence.base import logged_evidence
from workbench.engine.leaves.aggregation import IMPUTED
from workbench.engine.record.resolved_runs import counts_for, resolved_runs, topic_of
from workbench.engine.record.state import RunState
from workbench.engine.run_settings import RunSettings
from workbench.science.arrays import logit
from workbench.science.comparing.clusters import clusters_of
from workbench.science.comparing.own_correction import learn_correction
from workbench.science.pooling.shrinkage import TrialLogits, trial_logits
from workbench.store import ModelLedger, Store
from workbench.store import events as ev
from workbench.synthesis.sensitivity.paths import path_weights


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedLeaf:
    """A leaf of an earlier run with its outcome."""

    run_id: str
    node: str
    #: Beliefs of its concluded trials.
    trials: tuple[float, ...]
    #: Its trials without one.
    dead: int
    #: Who said what, one entry per trial and grounder.
    parts: tuple[tuple[str, float], ...]
    #: In [0, 1].
    outcome: float
    #: Day on which the outcome was decided, as YYYY-MM-DD.
    day: str
    #: Of one trial; None where a price is unknown.
    cost_usd: float | None
    #: Of its run; leaves of one claim count as one question, those of a run when not given.
    claim: str = ""
    #: Last day that its run knew, as YYYY-MM-DD.
    known: str = ""
    #: Of its path to the root of its run; None where a rule on the path is no function.
    weight: float | None = None


def resolved_leaves(store: Store, before: Cutoff | None = None) -> Iterator[ResolvedLeaf]:
    """Yield the resolved leaves of this home's own runs that count, in the order of runs; with a cutoff those that may teach it."""
    for state in resolved_runs(store):
        # One that this version cannot read teaches nothing, and ends no other.
        if isinstance(state, RunState) and state.imported is None:
            known = state.parsed_cutoff()
            yield from (leaf for leaf in _of_run(store, state) if counts_for(known, leaf.day, before))


def _of_run(store: Store, state: RunState) -> Iterator[ResolvedLeaf]:
    outcomes = state.leaf_outcomes()
    if not outcomes:
        return
    grounded: dict[tuple[str, int], ev.LeafGrounded] = {}
    pooled: dict[str, ev.LeafPooled] = {}
    for stored in store.events(state.run_id, kinds=("leaf.grounded", "leaf.pooled")):
        if isinstance(stored.event, ev.LeafGrounded):
            grounded[stored.event.node, stored.event.trial or 1] = stored.event
        elif isinstance(stored.event, ev.LeafPooled):
            pooled[stored.event.node] = stored.event
    costs = ModelLedger(store).trial_costs(state.run_id)
    weights = path_weights(state.tree)
    for node, outcome in outcomes.items():
        if node not in pooled:
            continue
        events = [event for (leaf, _), event in sorted(grounded.items()) if leaf == node]
        yield ResolvedLeaf(
            run_id=state.run_id,
            node=node,
            trials=pooled[node].trials,
            dead=pooled[node].dead,
            parts=tuple(part for event in events for part in grounders_of(store, state, event)),
            outcome=outcome.p,
            day=outcome.day,
            # A leaf without a call in the ledger cost nothing.
            cost_usd=costs.get(node, 0.0 if ModelLedger(store).spent(state.run_id, node)[2] == 0 else None),
            claim=state.statement,
            known=state.parsed_cutoff().last_visible_day.isoformat(),
            weight=weights.get(node),
        )


def grounders_of(store: Store, state: RunState, event: ev.LeafGrounded) -> list[tuple[str, float]]:
    """Return which grounders a concluded trial rests on, with the p of each."""
    parts = logged_evidence(store, event.evidence).parts if event.evidence.kind == "routed" else ()
    return [(part.grounder, part.belief.p) for part in parts] or [(state.settings.grounder, event.p)]


def records_of(leaves: list[ResolvedLeaf]) -> dict[str, dict[str, Any]]:
    """Return by grounder how many resolved leaves it has, its mean Brier score there, and its mean cost; the router takes them.

    Several trials of a leaf count as one: its grounder's mean squared error.
    """
    scores: dict[str, list[float]] = {}
    costs: dict[str, list[float | None]] = {}
    for leaf in leaves:
        by_name: dict[str, list[float]] = {}
        for name, p in leaf.parts:
            by_name.setdefault(name, []).append((p - leaf.outcome) ** 2)
        for name, errors in by_name.items():
            scores.setdefault(name, []).append(float(np.mean(errors)))
            costs.setdefault(name, []).append(leaf.cost_usd)
    return {
        name: {
            "n": len(values),
            "brier": float(np.mean(values)),
            "cost_usd": None
            if any(cost is None for cost in costs[name])
            else float(np.mean([cost for cost in costs[name] if cost is not None])),
        }
        for name, values in sorted(scores.items())
    }


def leaf_clusters(leaves: Sequence[ResolvedLeaf]) -> list[str]:
    """Return the cluster of each leaf: a question is a claim, and claims about one series in one stretch of time are one."""
    labels: list[str] = clusters_of(
        [leaf.claim or leaf.run_id for leaf in leaves],
        series=[topic_of(leaf.claim) if leaf.claim else "" for leaf in leaves],
        start=[leaf.known for leaf in leaves],
        end=[leaf.day for leaf in leaves],
    ).tolist()
    return labels


def learn(settings: RunSettings, leaves: list[ResolvedLeaf]) -> RunSettings:
    """Return settings whose prior, shrinkage and calibration are those that fit the own record (BLF, App. C.9 and C.11).

    Outcomes that are shares count as the side they lie on. Nothing changes where too few questions are resolved, or where the fit is not
    shown to help those left out (`learn_correction`), question by question (`leaf_clusters`).
    """
    aggregation = replace(
        settings.aggregation,
        floor=1.0,
        slope=0.0,
        calibration_slope=1.0,
        calibration_offset=0.0,
        learned_from=0,
    )
    if leaves:
        trials = trial_logits_of(leaves, aggregation.dead)
        raw = [aggregation.combine(leaf.trials, dead=leaf.dead) for leaf in leaves]
        correction = learn_correction(
            TrialLogits(mean=logit(np.array(raw)), spread=trials.spread, count=trials.count),
            np.full(len(leaves), np.nan),
            np.array([float(leaf.outcome > 0.5) for leaf in leaves]),
            leaf_clusters(leaves),
            shrinks=aggregation.pool == "logit-mean",
        )
        if not correction.reason:
            aggregation = replace(
                aggregation,
                prior=correction.base_rate,
                floor=correction.floor,
                slope=correction.slope,
                calibration_slope=correction.calibration_slope,
                calibration_offset=correction.calibration_offset,
                learned_from=len(leaves),
            )
    return replace(settings, aggregation=aggregation)


def trial_logits_of(leaves: list[ResolvedLeaf], dead: str) -> TrialLogits:
    """Return the logits of leaves with unequal numbers of trials; dead ones count as 0.5 under ``impute``."""
    rows = [[*leaf.trials, *([IMPUTED] * leaf.dead if dead == "impute" else [])] for leaf in leaves]
    width = max(map(len, rows))
    return trial_logits([row + [float("nan")] * (width - len(row)) for row in rows])


def with_record(store: Store, cutoff: Cutoff, settings: RunSettings) -> RunSettings:
    """Return the settings of a new run with what the own record teaches; only where the run is to learn, or routes its leaves."""
    routed = settings.grounder == "auto"
    if not (settings.aggregation.learn or routed):
        return settings
    leaves = list(resolved_leaves(store, cutoff))
    if settings.aggregation.learn:
        settings = learn(settings, leaves)
    own = settings.options.get("grounder", {})
    if routed and "record" not in own and (records := records_of(leaves)):
        settings = replace(settings, options={**settings.options, "grounder": {**own, "record": records}})
    return settings
