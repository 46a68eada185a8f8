"""The JSON documents of the screens, each built in one place: ``--json`` of the command line and the Python API print them.

Every function returns plain JSON values. What a tree alone can answer is in ``tree_documents``, which the what-ifs below use
too; documents about forecasts are in ``workbench.science``.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from proxies.asof.clock import Cutoff
from proxies.errors import CutoffRefused
from proxies.ledger import Address
from workbench.audit.data_read import findings, leaves_without_data
from workbench.engine.record.fold import load_state
from workbench.engine.record.run_files import manifest_id
from workbench.engine.record.state import RunState
from workbench.engine.run_settings import check_level
from workbench.environment import catalogue_of, home_from, proxy_settings
from workbench.errors import UsageError, command
from workbench.signing_keys import signer_json
from workbench.store import ApiLedger, Store, utc_now
from workbench.synthesis.sensitivity.leaf_noise import noise_study
from workbench.version import __version__
from workbench.views.run_overview import listed_runs
from workbench.views.run_view import view
from workbench.whatif.run_edits import require_grounded
from workbench.whatif.tree_documents import scenario_table, sensitivity_rows, two_way_grid

if TYPE_CHECKING:
    from pathlib import Path

    from proxies.broker import Broker
    from workbench.engine.access.model_gateway import ModelGateway
    from workbench.propositions import NodeId, Tree


def runs(
    store: Store, *, tags: Sequence[str] = (), search: str = "", limit: int | None = None
) -> list[dict[str, Any]]:
    """Return the runs of a home, the newest last: ``workbench runs``.

    With ``tags`` those that have all of them, with ``search`` those in which every word occurs (claim, propositions, model,
    notes, comments, tags), with ``limit`` the newest so many of them. Raises ``StoreCorrupt`` if the database itself cannot
    be read.

    Returns
    -------
    list of dict
        The fields that docs/screens.md lists under "The list of runs"; the first page shows the same rows. A run whose
        records cannot be read has null for its facts, status ``unreadable``, and says why under ``unreadable``; the others
        are listed all the same.
    """
    rows = listed_runs(store, datetime.now(UTC), tags=tags, search=search, limit=limit)
    return [
        {**row, "next_review": None if (review := row["next_review"]) is None else review.isoformat()}
        for row in rows
    ]


def show(store: Store, run_id: str) -> dict[str, Any]:
    """Return a run with all its nodes: ``workbench show``, ``analyze``, ``resume`` and ``import``."""
    return view(store, run_id).document()


def sensitivity(state: RunState, reference: str = "zero") -> list[dict[str, Any]]:
    """Return the effect of each leaf on the root, the widest swing first: ``workbench sensitivity``.

    ``low`` and ``high`` are the root's least and greatest p over all values of the leaf; ``contribution`` is counted from
    the ``reference``: zero, half, base-rate, market, or a probability.
    """
    # a quick command like `show` does without it
    from workbench.whatif.typed_values import reference_of

    require_grounded(state)
    return sensitivity_rows(state.tree, reference_of(state, reference))


def two_way_sensitivity(state: RunState, leaves: str) -> dict[str, Any]:
    """Return the root over a grid of two leaves, ``"P1,P2.1"``: ``workbench sensitivity --two``."""
    require_grounded(state)
    return two_way_grid(state.tree, leaves)


def ways_to_reach(tree: Tree, target: str) -> dict[str, Any]:
    """Return what it would take for the root of a tree to be at a probability: ``workbench whatif --reach``."""
    # a quick command like `show` does without it
    from workbench.synthesis.sensitivity.required_changes import ways_to_reach
    from workbench.whatif.typed_values import parse_probability

    return ways_to_reach(tree, parse_probability(target)).to_json()


def sensitivity_report(store: Store, state: RunState, *, seed: int = 0) -> dict[str, Any]:
    """Return the rows of ``sensitivity``, the reachable range, the band, what to ground next: ``sensitivity --report``.

    ``band`` is the one of the first screen and the note, with its sentence; ``correlations`` how errors of leaves go together
    in it, the strongest pair first. ``uncertainty`` is that of the trials alone.
    """
    # a quick command like `show` does without it
    from workbench.whatif.band import leaf_correlations, run_band
    from workbench.whatif.run_sensitivity import run_sensitivity

    require_grounded(state)
    band = run_band(store, state)
    return {
        **run_sensitivity(store, state, seed=seed),
        "band": None if band is None else band.to_json(),
        "correlations": leaf_correlations(store, state),
    }


def scenarios(state: RunState, names: Sequence[str] = ()) -> dict[str, Any]:
    """Return the saved what-ifs side by side, all or those named, and their mix: ``workbench scenarios``."""
    return scenario_table(state.tree, state.scenarios, names, now=utc_now())


def coherence(store: Store, runs: Sequence[str], exclusive: Sequence[Sequence[str]] = ()) -> dict[str, Any]:
    """Return where the root probabilities of several runs contradict each other: ``workbench coherence``."""
    # a quick command like `show` does without it
    from workbench.whatif.run_coherence import check_runs

    return check_runs(store, runs, exclusive)


def decision(states: Sequence[RunState], threshold: float | None = None) -> dict[str, Any]:
    """Return probabilities of exclusive options that sum to 1, and the one to take: ``workbench decide``.

    One run stands against its negation. Of two options the first is taken when it is above the threshold (that of the first
    run's preset unless given); of more, the likeliest. Raises ``UsageError`` for a run whose root has no probability.
    """
    # Imported inside the functions of this file, so that a command loads only what its own document needs.
    from workbench.synthesis.coherence.option_sets import analyzed_options, decide, option_probabilities

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
    from workbench.whatif.run_refits import refit_run

    rows = await refit_run(store, state, tuple(nodes), k, gateway)
    return {
        "run_id": state.run_id,
        "k": k,
        "nodes": [row.to_json() for row in rows],
        "model_calls": gateway.calls,
    }


def evidence(store: Store, run_id: str, node: NodeId, trial: int = 1) -> dict[str, Any]:
    """Return what a leaf rests on: ``workbench evidence``.

    ``numbers`` are those of the report that a cell printed, each with that cell; ``accounting`` are the base rate and the other
    figures that a notebook's conclusion states, with the cell that printed each, null for one from no cell; ``cells`` name their
    data calls, and in ``findings`` what a reader should know of them; ``calls`` say what was asked and sent, what the cutoff did
    to it, and the hash of the answer, which ``--call`` prints. ``by_chance`` says between what chance alone may move a leaf that
    rests on past windows; null for others. ``findings`` of the leaf itself says that it read no data.
    """
    # a quick command like `show` does without it
    from workbench.views.trail import evidence_trail
    from workbench.whatif.band import past_windows

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
        "findings": findings({leaf: words for leaf, words in without_data.items() if leaf == node}),
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
    from workbench.annotations.second_opinions import compare_to_people, judge_run

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
    from workbench.annotations.second_opinions import recall_run

    return {
        "run_id": state.run_id,
        "model": state.settings.model,
        **await recall_run(store, state, gateway),
        "model_calls": gateway.calls,
    }


def leaks(store: Store, run_ids: Sequence[str]) -> dict[str, Any]:
    """Return what models of another family found in the kept texts of runs: counts, rates, intervals: ``workbench leaks``.

    Raises ``UsageError`` for a run without such an audit on record.
    """
    from workbench.annotations.second_opinions import both_late, leak_rates, leak_table, stored_findings

    by_run: dict[str, list[dict[str, Any]]] = {}
    models: dict[str, str] = {}
    for run_id in dict.fromkeys(run_ids):
        stored = stored_findings(store, load_state(store, run_id))
        if stored is None:
            raise UsageError(
                f"no model has read run {run_id} for leaks: ", command("leaks", run_id, model="M")
            )
        models[run_id], by_run[run_id] = stored
    every = [{**row, "run_id": run_id} for run_id, rows in by_run.items() for row in rows]
    return {
        "runs": models,
        "table": leak_table(every),
        "results": leak_rates(by_run, "result"),
        "reasoning": leak_rates(by_run, "reasoning"),
        "suspects": [row for row in every if row["model"] != "no leak"],
        "late_by_both": [row["id"] for row in both_late(every)],
    }


def memory(store: Store, run_ids: Sequence[str]) -> dict[str, Any]:
    """Return the later facts that the models of runs wrote and were not shown, by rule: ``workbench leaks --memory``."""
    from workbench.audit.memory_scan import memory_document

    states = [load_state(store, run_id) for run_id in dict.fromkeys(run_ids)]
    for state in states:
        require_grounded(state)
    return memory_document(store, states)


def grounders(store: Store, run_id: str | None = None) -> dict[str, Any]:
    """Return where the leaves of a run went and why; without a run what each grounder's resolved leaves came to: ``workbench grounders``."""
    from workbench.audit.routes import by_grounder, record_table, routes_of, together
    from workbench.engine.leaves.own_record import resolved_leaves

    if run_id is None:
        leaves = list(resolved_leaves(store))
        return {"record": record_table(leaves), "together": together(leaves)}
    state = load_state(store, run_id)
    rows = routes_of(store, state)
    return {"run_id": run_id, "leaves": rows, "by_grounder": by_grounder(state, rows)}


def audit(store: Store, run_id: str) -> dict[str, Any]:
    """Return the checks of a run against its own records, each ``ok``, ``warn`` or ``bad``: ``workbench audit``."""
    from workbench.audit.run_audit import audit_run

    return audit_run(store, run_id)


async def verification(
    store: Store,
    run_id: str,
    node: NodeId | None = None,
    *,
    isolation: str | None = None,
    state: RunState | None = None,
) -> dict[str, Any]:
    """Compare proofs with their records and a re-run, and return what differs: ``workbench verify``.

    ``isolation`` is the level of the re-run's kernels, null if nothing was re-run: the records
    differ already, or no proof has a notebook.
    ``p`` is what the proofs conclude as they were checked now, by the stored rules, ``drift`` its distance to ``recorded_p``
    (both of ``node``, the claim unless a leaf was named), ``drifting`` the leaves that conclude otherwise.
    ``not_anchored`` lists leaf and trial of proofs whose journal's head is not in the log, ``signed`` says who signed the
    package that the run came in. ``state`` where the caller has folded the run's log, as far as it may be seen.
    """
    from workbench.audit.drift import drift
    from workbench.engine.proof_check import verify_run

    if isolation is not None:
        check_level(isolation)
    state = state or load_state(store, run_id)
    result = await verify_run(store, run_id, node, isolation=isolation, state=state)
    differing = result.differing
    # Where records differ nothing was re-run; evidence without a notebook is verified by itself.
    rerun = result.isolation is not None or not differing
    return {
        "verified": not differing,
        "proofs": len(result.proofs),
        "cells": sum(check.outcome.cells for check in result.proofs),
        "differing": differing,
        "advisory": [row for check in result.proofs for row in check.rows(check.outcome.advisory)],
        "isolation": result.isolation,
        "not_anchored": [[check.node, check.trial] for check in result.proofs if check.anchored is False],
        "signed": signer_json(result.signer),
        **drift(state, result.proofs, rerun=rerun),
    }


def apis(pattern: str | None = None, *, environ: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return what the broker can be asked, all of it or what answers some words, best first: ``workbench apis``.

    ``params`` name a series or entity, {} for an endpoint as such; ``obstacle`` says why it cannot be used with the keys at hand
    and a cutoff in the past, "" if it can.
    """
    from proxies.catalogue import Availability, api_matches

    settings = proxy_settings(environ, home_from(environ))
    return [
        {
            "path": match.endpoint.path,
            "description": match.about,
            "policy": match.endpoint.as_of.policy,
            "params": dict(match.params),
            "obstacle": match.obstacle,
        }
        for match in api_matches(settings.catalogue(), pattern or "", Availability.of(settings.keys, None))
    ]


async def call(
    store: Store,
    path: str,
    params: Mapping[str, Any],
    cutoff: str = "now",
    *,
    strict: bool = False,
    max_residual: Any = None,
    environ: Mapping[str, str],
) -> dict[str, Any]:
    """Make one call through the broker and return its data and meta: ``workbench call``.

    A person's calls are kept in the ledger too, under a run of their own that no event log belongs to.
    """
    from proxies.broker import open_broker

    instant = Cutoff.parse(cutoff)
    broker = open_broker(proxy_settings(environ, store.home))
    try:
        return await call_through(
            broker, store, path, params, instant, strict=strict, max_residual=max_residual
        )
    finally:
        await broker.aclose()


async def call_through(
    broker: Broker,
    store: Store,
    path: str,
    params: Mapping[str, Any],
    cutoff: Cutoff,
    *,
    strict: bool = False,
    max_residual: Any = None,
) -> dict[str, Any]:
    """Make a person's call through a broker that is open already, and return its data and meta."""
    from proxies.catalogue.schema import RESIDUALS

    if max_residual not in (None, *RESIDUALS):
        raise UsageError(f"max-residual is one of {', '.join(RESIDUALS)}, not {max_residual!r}")
    ledger = ApiLedger(store)
    # A new step for each call, so a person always gets a fresh answer and never one from the ledger.
    address = Address(
        run="call", node="-", trial=0, attempt=0, stage="call", step=ledger.count("call"), retry=0
    )
    session = broker.session(cutoff, ledger, strict=strict, max_residual=max_residual)
    answer = await session.call(path, dict(params), address)
    return {"data": answer.data, "meta": answer.meta}


async def search(
    store: Store,
    words: str,
    cutoff: str,
    *,
    k: int = 10,
    audit: bool = False,
    **web: Any,
) -> dict[str, Any]:
    """Return what the web has on some words as of a cutoff: ``workbench search``.

    ``audit`` adds ``records``: every result with what became of it and why, which is for a person, never for an agent.
    ``web`` is passed on to ``engine.access.own_web.open_own_web``; its ``question`` is the words where there is none.
    """
    from workbench.engine.access.own_web import open_own_web

    instant = Cutoff.parse(cutoff)
    if k < 1:
        raise UsageError(f"-k is 1 or more, not {k}")
    web["question"] = web.get("question") or words
    async with open_own_web(store, instant, **web) as pages:
        answer = await pages.search(words, step=0, k=k)
    return {
        "words": answer.words,
        "cutoff": instant.text,
        "results": [asdict(result) | {"engines": list(result.engines)} for result in answer.results],
        "asked": len(pages.engines),
        "failed": [{"engine": name, "reason": reason} for name, reason in answer.failed],
        "read_by": web.get("model") or "rules",
        **({"records": [record.to_json() for record in pages.records]} if audit else {}),
    }


class PageRefused(CutoffRefused):
    """A page is refused to a person who audits; ``records`` say why."""

    def __init__(self, reason: str, records: list[dict[str, Any]]) -> None:
        super().__init__(reason)
        self.records = records


async def page(store: Store, url: str, cutoff: str, *, audit: bool = False, **web: Any) -> dict[str, Any]:
    """Return a page as it stood before a cutoff: ``workbench page``; parameters as for ``search``.

    Raises ``ProxyError`` where there is no dated copy, or the page is blocked: the same words for both. With ``audit`` that is a
    `PageRefused`, whose records tell them apart.
    """
    from workbench.engine.access.own_web import open_own_web

    instant = Cutoff.parse(cutoff)
    # not the address: those in a question are blocked
    web["question"] = web.get("question") or "What does the page say?"
    async with open_own_web(store, instant, **web) as pages:
        try:
            copy = await pages.open_page(url, step=0)
        except CutoffRefused as refusal:
            if not audit:
                raise
            raise PageRefused(refusal.reason, [record.to_json() for record in pages.records]) from None
    return {
        **asdict(copy),
        "answers": list(copy.answers),
        "cutoff": instant.text,
        **({"records": [record.to_json() for record in pages.records]} if audit else {}),
    }


async def doctor(environ: Mapping[str, str], *, live: bool = False) -> dict[str, Any]:
    """Return what works on this machine, what does not, and why: ``workbench doctor``. No key, only names of keys.

    With ``live`` every source is asked for one example: ``sources`` holds the path, and whether it ``answers``, has
    ``no rows``, ``no key``, or ``fails`` and with which line.
    """
    # asyncio, ssl and the kernels; the list of runs and the tree come from this file too
    from jupyter_client.kernelspec import KernelSpecManager

    # a quick command like `show` does without it
    from sandbox import Sandbox
    from workbench.engine.manifest import packages

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
        **({"sources": await _live_sources(environ, home)} if live else {}),
    }


async def _live_sources(environ: Mapping[str, str], home: Path) -> dict[str, dict[str, Any]]:
    from proxies.broker import open_broker
    from proxies.live_check import check_sources

    broker = open_broker(replace(proxy_settings(environ, home), cache_path=None))
    try:
        checks = await check_sources(broker)
    finally:
        await broker.aclose()
    return {
        check.source: {name: v for name, v in asdict(check).items() if name != "source"} for check in checks
    }
