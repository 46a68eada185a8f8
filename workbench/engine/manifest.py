"""``manifest.json``: what ran, so that a figure can be traced."""

import platform
from functools import cache
from importlib import metadata
from typing import Any

import orjson

from workbench.engine.record.state import RunState
from workbench.prompts import TODAY
from workbench.source_hash import source_hash
from workbench.store import ApiLedger, ModelLedger, Store
from workbench.version import __version__

#: The packages whose behaviour reaches a number; all others follow from the lock.
PACKAGES = (
    "jupyter_client", "nbformat", "ipykernel", "ipython", "ipywidgets", "voila", "litellm", "pandas", "numpy", "scipy",
    "matplotlib", "arch", "fredapi", "yfinance", "httpx", "pydantic", "anywidget",
)  # fmt: skip


@cache
def packages() -> dict[str, str]:
    """Return the installed version of each package that matters, ``"missing"`` where it is not installed.

    Read once per process (40 ms): that is what it imports.
    """
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = "missing"
    return versions


@cache
def installed() -> dict[str, str]:
    """Return the version of every installed package by its name, sorted; what `packages` leaves out may matter one day."""
    versions = {str(item.metadata["Name"] or ""): item.version for item in metadata.distributions()}
    return {name: versions[name] for name in sorted(versions, key=str.lower) if name}


def code_hash() -> str:
    """Return one hash over the source of the three packages, so that a local change shows."""
    return "sha256:" + source_hash("workbench", "sandbox", "proxies")


def manifest(**facts: Any) -> dict[str, Any]:
    """Return the manifest: the given facts of the run, and what it ran on."""
    return {
        **facts,
        "workbench": __version__,
        "code": code_hash(),
        "python": platform.python_version(),
        "platform": platform.platform(terse=True),
        "packages": packages(),
        "installed": installed(),
        "prompts": TODAY.fingerprints(),
    }


def run_manifest(store: Store, state: RunState) -> dict[str, Any]:
    """Return the manifest of a run: its settings, cutoff, status, calls, cost and the hashes of the data it read."""
    models, data = ModelLedger(store), ApiLedger(store)
    document = manifest(
        run_id=state.run_id,
        statement=state.statement,
        cutoff={
            "asked": state.cutoff,
            "instant": state.cutoff_instant,
            "rule": "known before the instant, exclusive",
        },
        settings=state.settings.to_json(),
        isolation=state.isolation,
        status=state.status,
        started_utc=state.started_utc,
        model_calls=models.count(state.run_id),
        api_calls=data.count(state.run_id),
        cost_usd=models.cost(state.run_id),
        data=sorted(data.content_hashes(state.run_id)),
    )
    document["prompts"] |= recorded_prompts(store, state.run_id)  # those that it began with
    return document


def recorded_prompts(store: Store, run_id: str) -> dict[str, dict[str, Any]]:
    """Return version and hash of the prompts that a run's manifest names; none where it has no manifest, or one nobody can read."""
    try:
        return {
            str(name): {"version": each.get("version"), "sha256": each["sha256"]}
            for name, each in recorded_manifest(store, run_id)["prompts"].items()
            if isinstance(each["sha256"], str)
        }
    except (KeyError, TypeError, AttributeError):
        return {}


def recorded_manifest(store: Store, run_id: str) -> dict[str, Any]:
    """Return a run's manifest as it lies beside it; empty where there is none, or one nobody can read."""
    try:
        document = orjson.loads((store.folder(run_id) / "manifest.json").read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return {}
    return document if isinstance(document, dict) else {}
