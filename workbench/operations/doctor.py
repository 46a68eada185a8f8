"""What works on this machine, what does not, and why; and whether the data folder is whole."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Any

from jupyter_client.kernelspec import KernelSpecManager

from proxies.live_check import check_sources
from proxies.secret_registry import SECRETS
from proxies.vendors.metaculus import TOKEN
from workbench.environment import catalogue_of, proxy_settings
from workbench.errors import WANTING
from workbench.operations.base import Home, Operation
from workbench.operations.blocks import Block, blocks_of
from workbench.version import __version__


class Doctor(Operation):
    """Print the isolation level that works and what prevents a better one, the API keys that are set, versions and files."""

    short = ("check",)
    unlisted = ("live",)

    live: bool = False
    """Also ask every source for one example, with your keys: one call of each plan."""
    check: bool = False
    """Look instead whether the data folder is whole: database, hashes, logs, folders, proofs. Exit 6 if not."""

    async def answer(self, home: Home) -> dict[str, Any]:
        """Return each part that works or fails, and why; of keys only the names.

        With ``live`` ``sources`` holds the path of an example of each source, and whether it ``answers``, has ``no rows``, ``no key``,
        or ``fails`` and with which line. With ``check`` the faults of the data folder instead.
        """
        if self.check:
            # reads every log; half a second of imports
            from workbench.audit.home_check import home_document

            return home_document(home.store)
        return await _machine(home, live=self.live)

    def show(self, document: dict[str, Any]) -> Iterable[Block]:
        """Return what works and what does not; of the data folder its faults, and whether it is whole."""
        if not self.check:
            yield from blocks_of(document)
            return
        yield from (f"{row['run'] or 'home'}  {row['check']}: {row['what']}" for row in document["findings"])
        count = f"{document['runs']} run{'' if document['runs'] == 1 else 's'}"
        yield f"{document['home']}: {count}, {'whole' if document['whole'] else 'not whole'}"

    def exit_code(self, document: dict[str, Any]) -> int:
        """Return 6 where the data folder is not whole."""
        return 0 if document.get("whole", True) else WANTING


async def _machine(home: Home, *, live: bool) -> dict[str, Any]:
    # a quick command like `show` does without it
    from sandbox import Sandbox
    from workbench.engine.manifest import packages
    from workbench.store.database import database_state

    sandbox = Sandbox()
    try:
        probe = await sandbox.probe()
    finally:
        await sandbox.aclose()
    key_names = {source.key.variable for source in catalogue_of(home.folder).sources() if source.key} | {
        TOKEN
    }
    cache = home.folder / "cache.db"
    return {
        "workbench": __version__,
        "python": sys.version.split()[0],
        "home": str(home.folder),
        "database": database_state(home.folder),
        "isolation": probe.level,
        "isolation_refused": list(probe.refused),
        "memory": f"{probe.memory}: {_memory_words(probe.memory, probe.level)}",
        "keys_set": sorted(name for name in key_names if home.environ.get(name)),
        "keys": _key_origins(key_names),
        "kernelspec": KernelSpecManager()
        .find_kernel_specs()
        .get("analyst", "not installed: reinstall the package"),
        "cache_bytes": cache.stat().st_size if cache.is_file() else 0,
        "packages": packages(),
        **({"sources": await _live_sources(home)} if live else {}),
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
    from workbench.models.model_list import KEYS

    models = {name for variables in KEYS.values() for name in variables}
    origins = {name: SECRETS.origin(name) for name in sorted({*names, *models})}
    return {name: asdict(origin) for name, origin in origins.items() if origin is not None}


async def _live_sources(home: Home) -> dict[str, dict[str, Any]]:
    from proxies.broker import open_broker

    broker = open_broker(replace(proxy_settings(home.environ, home.folder), cache_path=None))
    try:
        checks = await check_sources(broker)
    finally:
        await broker.aclose()
    return {
        check.source: {name: v for name, v in asdict(check).items() if name != "source"} for check in checks
    }
