"""What this home's own leaves came to: resolved before a cutoff, they tell how to pool the next ones and which grounder does well.

A leaf counts for a claim only if its outcome was decided on a day that is visible at the claim's cutoff: what came later would be
hindsight. Runs of other homes do not count, since nobody here knows how they were chosen.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import orjson

from proxies.asof.clock import Cutoff
from workbench.engine.run.settings import RunSettings
from workbench.engine.run.state import RunState, load_state
from workbench.errors import WorkbenchError
from workbench.science.errors import TooFewError
from workbench.store import ModelLedger, Store
from workbench.store import events as ev

#: Fewer resolved leaves than this teach nothing (BLF's code calibrates from 10 on; two numbers and a grid want more).
ENOUGH = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedLeaf:
    """A leaf of an earlier run with its outcome.

    Parameters
    ----------
    trials : tuple of float
        Beliefs of its concluded trials.
    dead : int
        Its trials without one.
    parts : tuple of (grounder, p)
        Who said what, one entry per trial and grounder.
    outcome : float
        In [0, 1].
    day : str
        Day on which the outcome was decided, as YYYY-MM-DD.
    cost_usd : float or None
        Of one trial; None where a price is unknown.
    """

    run_id: str
    node: str
    trials: tuple[float, ...]
    dead: int
    parts: tuple[tuple[str, float], ...]
    outcome: float
    day: str
    cost_usd: float | None


def resolved_leaves(store: Store, before: Cutoff | None = None) -> Iterator[ResolvedLeaf]:
    """Yield the resolved leaves of this home's own runs, in the order of runs; with a cutoff those decided by its last visible day."""
    last_day = None if before is None else before.last_visible_day.isoformat()
    for run_id in store.run_ids():
        if not store.events(run_id, kinds=("outcome.recorded",)):
            continue
        try:
            state = load_state(store, run_id)
        except WorkbenchError:
            continue  # a run that this version cannot read teaches nothing, and ends no other
        if state.imported is None:
            yield from (leaf for leaf in _of_run(store, state) if last_day is None or leaf.day <= last_day)


def _of_run(store: Store, state: RunState) -> Iterator[ResolvedLeaf]:
    notes = state.annotations
    outcomes = dict(notes.leaf_outcomes)
    if notes.outcome is not None and not state.tree.root.children:
        outcomes.setdefault("P0", notes.outcome)
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
        )


def grounders_of(store: Store, state: RunState, event: ev.LeafGrounded) -> list[tuple[str, float]]:
    """Return which grounders a concluded trial rests on, with the p of each."""
    if event.evidence.kind != "routed" or event.evidence.body is None:
        return [(state.settings.grounder, event.p)]
    body = orjson.loads(store.body(event.evidence.body))
    return [(str(part["grounder"]), float(part["belief"]["p"])) for part in body["parts"]]


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


def learn(settings: RunSettings, leaves: list[ResolvedLeaf]) -> RunSettings:
    """Return settings whose prior, shrinkage and calibration are those that fit the own record (BLF, App. C.9 and C.11).

    Prior: the mean outcome. Floor and slope: the cell of the paper's grid with the least Brier score, for leaves of several trials.
    Calibration: global Platt scaling of what that gives. Outcomes that are shares count as the side they lie on. Fewer than `ENOUGH` leaves,
    or all of one outcome, change nothing.
    """
    from workbench.science.calibrating.platt import fit_platt
    from workbench.science.pooling.tuning import tune_leave_out

    plain = replace(settings.aggregation, floor=1.0, slope=0.0, calibration_slope=1.0, calibration_offset=0.0)
    outcome = np.array([float(leaf.outcome > 0.5) for leaf in leaves])
    if len(leaves) < ENOUGH or min(outcome.sum(), len(outcome) - outcome.sum()) < 2:
        return replace(settings, aggregation=replace(plain, learned_from=0))
    # As many pseudo-leaves as two, so that a run of one outcome does not make a prior of 0 or 1.
    prior = float((outcome.sum() + 1) / (len(outcome) + 2))
    fitted = replace(plain, prior=prior, learned_from=len(leaves))
    several = [n for n, leaf in enumerate(leaves) if len(leaf.trials) + leaf.dead > 1]
    if len(several) >= ENOUGH and fitted.pool == "logit-mean":
        fit = tune_leave_out(
            trial_logits_of([leaves[n] for n in several], fitted.dead),
            prior,
            outcome[several],
            [leaves[n].run_id for n in several],
        )
        fitted = replace(fitted, floor=fit.floor, slope=fit.slope)
    try:
        platt = fit_platt(
            [fitted.combine(leaf.trials, dead=leaf.dead) for leaf in leaves], outcome, minimum=ENOUGH
        )
    except TooFewError:
        return replace(settings, aggregation=fitted)
    return replace(
        settings,
        aggregation=replace(
            fitted, calibration_slope=float(platt.slope), calibration_offset=float(platt.offset)
        ),
    )


def trial_logits_of(leaves: list[ResolvedLeaf], dead: str) -> Any:
    """Return the ``TrialLogits`` of leaves with unequal numbers of trials; dead ones count as 0.5 under ``impute``."""
    from workbench.engine.run.aggregation import IMPUTED
    from workbench.science.pooling.shrinkage import trial_logits

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
