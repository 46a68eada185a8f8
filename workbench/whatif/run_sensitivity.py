"""The full sensitivity of a run: its tree's, and from its own ledgers the trials, the prices, the data read."""

from collections.abc import Mapping
from typing import Any

import orjson

from proxies.errors import ProxyError
from proxies.ledger import LedgerRow
from workbench.engine.record.state import RunState
from workbench.environment import catalogue_of
from workbench.propositions import ROOT, NodeId
from workbench.store import ApiLedger, ModelLedger, Store
from workbench.store import events as ev
from workbench.whatif.tree_documents import sensitivity_report

#: Newest runs whose trials are looked at: a home of thousands is not read whole for one table.
_RECORDED_RUNS = 200


def run_sensitivity(store: Store, state: RunState, *, seed: int = 0) -> dict[str, Any]:
    """Return the document of ``workbench sensitivity --report --json``.

    ``tornado`` holds the rows that ``--json`` alone prints; ``reachable`` is the root's least and greatest value;
    ``uncertainty`` its band from the spread of the trials, null where no leaf has two; ``ground_next`` the leaves by the
    variance one more trial would cut, per dollar where every price is known: by the spread of this run's trials, else of earlier runs by
    the same grounder and model, else without an order. ``sources`` names the data each leaf read.
    """
    trials, sources = leaf_trials(state), leaf_sources(store, state)
    record = () if any(len(values) > 1 for values in trials.values()) else recorded_trials(store, state)
    report = sensitivity_report(
        state.tree, trials, trial_costs(store, state), sources, seed=seed, record=record
    )
    return {
        **report,
        "trials": {leaf: list(values) for leaf, values in trials.items()},
        "sources": {leaf: sorted(read) for leaf, read in sources.items()},
    }


def leaf_trials(state: RunState) -> dict[NodeId, tuple[float, ...]]:
    """Return the p of every concluded trial per leaf."""
    trials: dict[NodeId, list[float]] = {}
    for (leaf, _), trial in sorted(state.trials.items(), key=lambda item: item[0][1]):
        if trial.belief is not None and leaf in state.tree and not state.tree[leaf].children:
            trials.setdefault(leaf, []).append(trial.belief.p)
    return {leaf: tuple(values) for leaf, values in trials.items()}


def recorded_trials(store: Store, state: RunState) -> list[tuple[float, ...]]:
    """Return the trials of leaves that were asked several times in the newest earlier runs by the same grounder and model."""
    trials: list[tuple[float, ...]] = []
    for run_id in store.run_ids()[-_RECORDED_RUNS:]:
        pooled = [record.event for record in store.events(run_id, kinds=("leaf.pooled",))]
        several = {
            event.node: event.trials
            for event in pooled
            if isinstance(event, ev.LeafPooled) and len(event.trials) > 1
        }
        if several and run_id != state.run_id:
            (opened,) = (record.event for record in store.events(run_id, kinds=("run.started",)))
            assert isinstance(opened, ev.RunStarted)
            same = (opened.settings.get("grounder"), opened.settings.get("model"))
            if opened.settings.get("direct"):  # those of the claim itself are no driver's
                several.pop(ROOT, None)
            if same == (state.settings.grounder, state.settings.model):
                trials += several.values()
    return trials


def trial_costs(store: Store, state: RunState) -> dict[NodeId, float]:
    """Return the US dollars of one trial per leaf, all its attempts counted; leaves whose price is unknown are left out."""
    costs = ModelLedger(store).trial_costs(state.run_id)
    return {node: cost for node, cost in costs.items() if node in state.tree}


def leaf_sources(store: Store, state: RunState) -> dict[NodeId, frozenset[str]]:
    """Return the data each leaf read: endpoints with their parameters, dates left out.

    Two leaves that read the same series over other spans read the same source: their errors go together.
    """
    catalogue = catalogue_of(store.home)
    dated: dict[str, frozenset[str]] = {}

    def dates_of(path: str) -> frozenset[str]:
        if path not in dated:
            try:
                params = catalogue.resolve(path).params
            except ProxyError:  # the catalogue of an older run may have known it
                params = {}
            dated[path] = frozenset(name for name, param in params.items() if param.type == "date")
        return dated[path]

    sources: dict[NodeId, set[str]] = {}
    for row in ApiLedger(store).rows(state.run_id):
        if row.answer is not None and row.address.node in state.tree:
            sources.setdefault(row.address.node, set()).add(_source(row, dates_of(row.path)))
    return {leaf: frozenset(read) for leaf, read in sources.items()}


def _source(row: LedgerRow, dates: frozenset[str]) -> str:
    params: Mapping[str, Any] = {name: value for name, value in row.asked.items() if name not in dates}
    named = orjson.dumps(params, option=orjson.OPT_SORT_KEYS, default=str).decode() if params else ""
    return f"{row.path} {named}".strip()
