"""The data behind the broker as JSON: endpoints, calls, searches, pages, and what of it works here."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from jupyter_client.kernelspec import KernelSpecManager

from proxies.asof.clock import Cutoff
from proxies.broker import open_broker
from proxies.catalogue import Availability, api_matches
from proxies.catalogue.schema import RESIDUALS
from proxies.errors import CutoffRefused
from proxies.ledger import Address
from proxies.live_check import check_sources
from proxies.secret_registry import SECRETS
from workbench.engine.access.own_web import open_own_web
from workbench.engine.manifest import packages
from workbench.environment import catalogue_of, home_from, proxy_settings
from workbench.errors import UsageError
from workbench.models.model_list import KEYS
from workbench.questions.series.series_reference import SeriesRef
from workbench.store import ApiLedger, Store
from workbench.store.database import database_state
from workbench.version import __version__

if TYPE_CHECKING:
    from pathlib import Path

    from proxies.broker import Broker


def apis(pattern: str | None = None, *, environ: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the endpoints of the broker, all or those that match some words, best first: ``workbench apis``.

    ``params`` name a series or entity, {} for an endpoint as such; ``obstacle`` says why it cannot be used with the keys at hand
    and a cutoff in the past, "" if it can.
    """
    settings = proxy_settings(environ, home_from(environ), reader="person")
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
    instant = Cutoff.parse(cutoff)
    broker = open_broker(proxy_settings(environ, store.home, reader="person"))
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
    """Return the web's results for some words as of a cutoff: ``workbench search``.

    ``audit`` adds ``records``: every result with what became of it and why, which is for a person, never for an agent.
    ``web`` is passed on to ``engine.access.own_web.open_own_web``; its ``question`` is the words where there is none.
    """
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
    """Raised to a person who audits a refused page; ``records`` say why."""

    def __init__(self, reason: str, records: list[dict[str, Any]]) -> None:
        super().__init__(reason)
        self.records = records


async def page(store: Store, url: str, cutoff: str, *, audit: bool = False, **web: Any) -> dict[str, Any]:
    """Return a page as it stood before a cutoff: ``workbench page``; parameters as for ``search``.

    Raises ``ProxyError`` where there is no dated copy, or the page is blocked: the same words for both. With ``audit`` that is a
    `PageRefused`, whose records tell them apart.
    """
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
    """Return each part that works or fails on this machine, and why: ``workbench doctor``. No key, only names of keys.

    With ``live`` every source is asked for one example: ``sources`` holds the path, and whether it ``answers``, has
    ``no rows``, ``no key``, or ``fails`` and with which line.
    """
    # a quick command like `show` does without it
    from sandbox import Sandbox

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
        "database": database_state(home),
        "isolation": probe.level,
        "isolation_refused": list(probe.refused),
        "memory": f"{probe.memory}: {_memory_words(probe.memory, probe.level)}",
        "keys_set": sorted(name for name in key_names if environ.get(name)),
        "keys": _key_origins(key_names),
        "kernelspec": KernelSpecManager()
        .find_kernel_specs()
        .get("analyst", "not installed: reinstall the package"),
        "cache_bytes": cache.stat().st_size if cache.is_file() else 0,
        "packages": packages(),
        **({"sources": await _live_sources(environ, home)} if live else {}),
    }


def _memory_words(bound: str, level: str) -> str:
    """Say what enforces the limit on memory that no process holds, and what does on the rest."""
    if level == "none":
        return "each process by its address space, nothing else"
    if bound.startswith("cgroup"):
        return "Linux counts processes, shared memory, semaphores, queues and files in memory, and kills"
    return (
        "the manager looks at processes five times a second and kills;"
        " the filter closes System V memory, semaphores and queues, POSIX queues and memfd"
    )


def _key_origins(names: Iterable[str]) -> dict[str, dict[str, str]]:
    models = {name for variables in KEYS.values() for name in variables}
    origins = {name: SECRETS.origin(name) for name in sorted({*names, *models})}
    return {name: asdict(origin) for name, origin in origins.items() if origin is not None}


async def _live_sources(environ: Mapping[str, str], home: Path) -> dict[str, dict[str, Any]]:
    broker = open_broker(replace(proxy_settings(environ, home), cache_path=None))
    try:
        checks = await check_sources(broker)
    finally:
        await broker.aclose()
    return {
        check.source: {name: v for name, v in asdict(check).items() if name != "source"} for check in checks
    }


def share_line(share: str) -> str:
    """Say who sees a source, for a person who adds it."""
    shared = {
        "none": "nobody but you sees it; no language model",
        "models": "the language model of your own runs sees it; it goes into no package",
        "packages": "the language model of your runs sees it, and packages hold what was read of it",
    }
    return f"share {share}: {shared[share]}"


def preview_lines(preview: dict[str, Any]) -> list[str]:
    """Return the preview that a person confirms: the first rows, the policy, and what three cutoffs see."""
    lines = ["  ".join(f"{name}={value}" for name, value in row.items()) for row in preview["head"]]
    lines.append(
        f"{preview['rows']} {preview['counted']}, {preview['first']} to {preview['last']}, {preview['frequency']}; {preview['policy']}"
    )
    for view in preview["cutoffs"]:
        last = f"the newest is {view['last']}" + ("" if view["value"] is None else f" ({view['value']})")
        lines.append(
            f"cutoff {view['cutoff']}: {view['rows']} {preview['counted']}{', ' + last if view['last'] else ''}"
        )
    lines += [
        share_line(preview["share"]),
        f"risk of later knowledge {preview['residual']}",
        *preview["notes"],
    ]
    if preview["value"]:
        from workbench.questions.series.value_states import untold

        lines.append(
            f"no track record with its claims: {untold(SeriesRef(source='own', id=preview['name']))}"
        )
    return lines
