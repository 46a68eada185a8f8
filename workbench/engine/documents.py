"""The JSON documents of the screens, each built in one place: ``--json`` of the command line and the Python API print them.

Every function returns plain JSON values. What a tree alone can answer is in ``tree_documents``, which the what-ifs below use
too; documents about forecasts are in ``workbench.science``.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from workbench.engine.run.state import RunState, load_state
from workbench.engine.view import view
from workbench.engine.whatif.edits import require_grounded
from workbench.store import ApiLedger, Store, utc_now

if TYPE_CHECKING:
    from workbench.engine.run.asking import ModelGateway
    from workbench.propositions import NodeId


def runs(store: Store) -> list[dict[str, Any]]:
    """Return the runs of a home, the newest last: ``workbench runs``."""
    return [_run_row(load_state(store, run_id)) for run_id in store.run_ids()]


def _run_row(state: RunState) -> dict[str, Any]:
    belief = state.tree.root.belief
    return {
        "run_id": state.run_id,
        "statement": state.statement,
        "cutoff": state.cutoff,
        "p": belief.p if belief else None,
        "status": state.status,
        "model": state.settings.model,
        "started_utc": state.started_utc,
        "imported": state.imported.to_json() if state.imported else None,
        **({"not_installed": absent} if (absent := state.not_installed()) else {}),
    }


def show(store: Store, run_id: str) -> dict[str, Any]:
    """Return a run with all its nodes: ``workbench show``, ``analyze``, ``resume`` and ``import``."""
    return view(store, run_id).document()


def sensitivity(state: RunState) -> list[dict[str, Any]]:
    """Return the effect of each leaf on the root, the widest swing first: ``workbench sensitivity``."""
    from workbench.engine.tree_documents import sensitivity_rows

    require_grounded(state)
    return sensitivity_rows(state.tree)


def sensitivity_report(store: Store, state: RunState, *, seed: int = 0) -> dict[str, Any]:
    """Return the rows of ``sensitivity``, the reachable range, the band, what to ground next: ``sensitivity --report``."""
    from workbench.engine.whatif.sensitivity import run_sensitivity

    require_grounded(state)
    return run_sensitivity(store, state, seed=seed)


def scenarios(state: RunState, names: Sequence[str] = ()) -> dict[str, Any]:
    """Return the saved what-ifs side by side, all or those named, and their mix: ``workbench scenarios``."""
    from workbench.engine.tree_documents import scenario_table

    return scenario_table(state.tree, state.scenarios, names, now=utc_now())


def coherence(store: Store, runs: Sequence[str], exclusive: Sequence[Sequence[str]] = ()) -> dict[str, Any]:
    """Return where the root probabilities of several runs contradict each other: ``workbench coherence``."""
    from workbench.engine.whatif.coherence import check_runs

    return check_runs(store, runs, exclusive)


def decision(states: Sequence[RunState], threshold: float | None = None) -> dict[str, Any]:
    """Return probabilities of exclusive options that sum to 1, and the one to take: ``workbench decide``.

    One run stands against its negation. Of two options the first is taken when it is above the threshold (that of the first
    run's preset unless given); of more, the likeliest. Raises ``UsageError`` for a run whose root has no probability.
    """
    # Imported inside the functions of this file, so that a command loads only what its own document needs.
    from workbench.synthesis.coherence.options import analyzed_options, decide, option_probabilities

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
    """Return the root's distribution when the leaves are disturbed: ``workbench noise``."""
    from workbench.synthesis.sensitivity.noise import noise_study

    require_grounded(state)
    study = noise_study(state.tree, kind, level, draws=draws, seed=seed)  # type: ignore[arg-type]
    return {"kind": kind, "level": level, "seed": seed, "draws": draws, **study.to_json()}


async def refits(
    store: Store, state: RunState, nodes: Sequence[NodeId], k: int, gateway: ModelGateway
) -> dict[str, Any]:
    """Ask the synthesizer ``k`` times per node and return how far its weights spread: ``workbench refit``."""
    from workbench.engine.whatif.refits import refit_run

    rows = await refit_run(store, state, tuple(nodes), k, gateway)
    return {
        "run_id": state.run_id,
        "k": k,
        "nodes": [row.to_json() for row in rows],
        "model_calls": gateway.calls,
    }


def audit(store: Store, run_id: str) -> dict[str, Any]:
    """Return the checks of a run against its own records, each ``ok``, ``warn`` or ``bad``: ``workbench audit``."""
    from workbench.engine.evidence.audit import audit_run

    return audit_run(store, run_id)


async def verification(
    store: Store, run_id: str, node: NodeId | None = None, *, isolation: str | None = None
) -> dict[str, Any]:
    """Compare proofs with their records and a re-run, and return what differs: ``workbench verify``.

    ``isolation`` is the level of the re-run's kernels, null if nothing was re-run because the records differ already.
    ``not_anchored`` lists leaf and trial of proofs whose journal's head is not in the log, ``signed`` says who signed the
    package that the run came in.
    """
    from workbench.engine.evidence.verification import verify_run
    from workbench.engine.keys import signer_json
    from workbench.engine.run.settings import check_level

    if isolation is not None:
        check_level(isolation)
    result = await verify_run(store, run_id, node, isolation=isolation)
    differing = result.differing
    return {
        "verified": not differing,
        "proofs": len(result.proofs),
        "cells": sum(check.outcome.cells for check in result.proofs),
        "differing": differing,
        "advisory": [row for check in result.proofs for row in check.rows(check.outcome.advisory)],
        "isolation": result.isolation,
        "not_anchored": [[check.node, check.trial] for check in result.proofs if check.anchored is False],
        "signed": signer_json(result.signer),
    }


def apis(pattern: str | None = None, *, environ: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the endpoints of the catalogue, all or those that match some words: ``workbench apis``."""
    from workbench.settings import catalogue_of, home_from

    catalogue = catalogue_of(home_from(environ))
    entries = catalogue.search(pattern) if pattern else map(catalogue.resolve, catalogue.paths())
    return [
        {"path": entry.path, "description": entry.description, "policy": entry.as_of.policy}
        for entry in entries
    ]


async def call(
    store: Store,
    path: str,
    params: Mapping[str, Any],
    cutoff: str = "now",
    *,
    strict: bool = False,
    environ: Mapping[str, str],
) -> dict[str, Any]:
    """Make one call through the broker and return its data and meta: ``workbench call``.

    A person's calls are kept in the ledger too, under a run of their own that no event log belongs to.
    """
    from proxies.asof.clock import Cutoff
    from proxies.broker import open_broker
    from proxies.ledger import Address
    from workbench.settings import proxy_settings

    instant = Cutoff.parse(cutoff)
    broker = open_broker(proxy_settings(environ, store.home))
    ledger = ApiLedger(store)
    # A new step for each call, so a person always gets a fresh answer and never one from the ledger.
    address = Address(
        run="call", node="-", trial=0, attempt=0, stage="call", step=ledger.count("call"), retry=0
    )
    try:
        answer = await broker.session(instant, ledger, strict=strict).call(path, dict(params), address)
    finally:
        await broker.aclose()
    return {"data": answer.data, "meta": answer.meta}


async def doctor(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return what works on this machine, what does not, and why: ``workbench doctor``. No key, only names of keys."""
    from jupyter_client.kernelspec import KernelSpecManager

    from sandbox import Sandbox
    from workbench.engine.run.manifest import packages
    from workbench.settings import catalogue_of, home_from
    from workbench.version import __version__

    sandbox = Sandbox()
    try:
        probe = await sandbox.probe()
    finally:
        await sandbox.aclose()
    key_names = {source.key.variable for source in catalogue_of(home_from(environ)).sources() if source.key}
    home = home_from(environ)
    cache = home / "cache.db"
    return {
        "workbench": __version__,
        "python": sys.version.split()[0],
        "home": str(home),
        "isolation": probe.level,
        "isolation_refused": list(probe.refused),
        "memory": probe.memory,
        "keys_set": sorted(name for name in key_names if environ.get(name)),
        "kernelspec": KernelSpecManager()
        .find_kernel_specs()
        .get("analyst", "not installed: reinstall the package"),
        "cache_bytes": cache.stat().st_size if cache.is_file() else 0,
        "packages": packages(),
    }
