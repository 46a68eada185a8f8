"""Answers about a run's tree, as JSON: sensitivity, scenarios, coherence, decisions, noise and refits.

What a tree alone can answer is in ``workbench.whatif.tree_documents``, which the what-ifs below use too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from workbench.engine.record.state import RunState
from workbench.store import Store, utc_now
from workbench.synthesis.coherence.option_sets import analyzed_options, decide, option_probabilities
from workbench.synthesis.sensitivity.leaf_noise import noise_study
from workbench.whatif.band import leaf_correlations, no_band_reason, run_band
from workbench.whatif.run_coherence import check_runs
from workbench.whatif.run_edits import require_grounded
from workbench.whatif.run_refits import refit_run
from workbench.whatif.run_sensitivity import run_sensitivity
from workbench.whatif.tree_documents import scenario_table, sensitivity_rows
from workbench.whatif.typed_values import reference_of

if TYPE_CHECKING:
    from workbench.engine.access.model_gateway import ModelGateway
    from workbench.propositions import NodeId


def sensitivity(state: RunState, reference: str = "zero") -> list[dict[str, Any]]:
    """Return the effect of each leaf on the root, the widest swing first: ``workbench sensitivity``.

    ``low`` and ``high`` are the root's least and greatest p over all values of the leaf; ``contribution`` is counted from
    the ``reference``: zero, half, base-rate, market, or a probability.
    """
    require_grounded(state)
    return sensitivity_rows(state.tree, reference_of(state, reference))


def sensitivity_report(store: Store, state: RunState, *, seed: int = 0) -> dict[str, Any]:
    """Return the rows of ``sensitivity``, the reachable range, the band, what to ground next: ``sensitivity --report``.

    ``band`` is the one of the first screen and the note, with its sentence, ``no_band`` why there is none; ``correlations`` how errors of leaves go together
    in it, the strongest pair first. ``uncertainty`` is that of the trials alone.
    """
    require_grounded(state)
    band = run_band(store, state)
    return {
        **run_sensitivity(store, state, seed=seed),
        "band": None if band is None else band.to_json(),
        "no_band": no_band_reason(state) if band is None else None,
        "correlations": leaf_correlations(store, state),
    }


def scenarios(state: RunState, names: Sequence[str] = ()) -> dict[str, Any]:
    """Return the saved scenarios side by side, all or those named, and their mix: ``workbench scenarios``."""
    return scenario_table(state.tree, state.scenarios, names, now=utc_now())


def coherence(store: Store, runs: Sequence[str], exclusive: Sequence[Sequence[str]] = ()) -> dict[str, Any]:
    """Return where the root probabilities of several runs contradict each other: ``workbench coherence``."""
    return check_runs(store, runs, exclusive)


def decision(states: Sequence[RunState], threshold: float | None = None) -> dict[str, Any]:
    """Return probabilities of exclusive options that sum to 1, and the one to take: ``workbench decide``.

    One run stands against its negation. Of two options the first is taken when it is above the threshold (that of the first
    run's preset unless given); of more, the likeliest. Raises ``UsageError`` for a run whose root has no probability.
    """
    for state in states:
        require_grounded(state)
    names = [state.statement for state in states]
    if len(states) == 1:
        names.append(f"not: {names[0]}")
    analyzed = analyzed_options(names) if len(states) == 1 else tuple(names)
    roots = {name: state.tree.root.p or 0.0 for name, state in zip(names, states, strict=False)}
    shares = option_probabilities(names, {name: roots[name] for name in analyzed})
    limit = states[0].settings.threshold if threshold is None else threshold
    if len(names) == 2:
        choice = names[0] if decide(shares[names[0]], limit) else names[1]
    else:
        choice = max(names, key=lambda name: shares[name])
    return {
        "options": [{"option": name, "p": roots.get(name), "probability": shares[name]} for name in names],
        "threshold": limit,
        "decision": choice,
    }


def noise(
    state: RunState, kind: str = "normal", level: float = 0.1, *, seed: int = 0, draws: int = 200
) -> dict[str, Any]:
    """Return the root's distribution when the leaves are disturbed: ``workbench noise`` (paper A, section 5.3).

    ``kind`` is normal, uncertain or reverse, ``level`` in [0, 1], ``values`` the root's p of each draw, ``sd`` with ddof 1.
    """
    require_grounded(state)
    study = noise_study(state.tree, kind, level, draws=draws, seed=seed)  # type: ignore[arg-type]
    return {"kind": kind, "level": level, "seed": seed, "draws": draws, **study.to_json()}


async def refits(
    store: Store, state: RunState, nodes: Sequence[NodeId], k: int, gateway: ModelGateway
) -> dict[str, Any]:
    """Ask the synthesizer ``k`` times per node, at least 2, and return how far its weights spread: ``workbench refit``."""
    rows = await refit_run(store, state, tuple(nodes), k, gateway)
    return {
        "run_id": state.run_id,
        "k": k,
        "nodes": [row.to_json() for row in rows],
        "model_calls": gateway.calls,
    }
