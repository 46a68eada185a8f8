"""Putting a workbench together: store, broker, sandbox and model around one engine, and taking it down again."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from proxies.broker import open_broker
from sandbox import Sandbox
from workbench.engine.run.engine import Engine
from workbench.engine.run.recorder import Listener
from workbench.engine.run.settings import RunSettings
from workbench.models.base import Model
from workbench.models.registry import open_model
from workbench.settings import proxy_settings
from workbench.store import Store


@asynccontextmanager
async def open_engine(
    store: Store,
    settings: RunSettings,
    *,
    environ: Mapping[str, str],
    isolation: str | None = None,
    embedded_root: Path | None = None,
    model: Model | None = None,
    listener: Listener | None = None,
) -> AsyncIterator[Engine]:
    """Yield an engine for runs with these settings; kernels, connections and caches are closed at the end.

    Parameters
    ----------
    environ : mapping
        Where keys and upstreams are read from; keys go to the broker and the model's client and nowhere else.
    isolation : str, optional
        The level the person at this machine asked for; None takes the best sealed one that works here. What ``settings``
        say of it is not looked at: they may come out of a stranger's run.
    embedded_root : Path, optional
        Folder of the embedded series instead of the installed package's.
    model : Model, optional
        Instead of the one ``settings`` name.
    """
    # Before anything is opened: a part that is missing leaves no broker and no kernels to close.
    settings.require_installed()
    settings_of_broker = replace(
        proxy_settings(environ, store.home),
        embedded_root=embedded_root,
    )
    broker = open_broker(settings_of_broker)
    sandbox = Sandbox(isolation=isolation)
    try:
        yield Engine(
            store,
            broker=broker,
            catalogue=broker.catalogue,
            sandbox=sandbox,
            model=model or open_model(settings.model, api_base=settings.api_base, broker=broker),
            listener=listener,
        )
    finally:
        # Shielded: a second Ctrl-C must not leave kernels behind.
        await asyncio.shield(sandbox.aclose())
        await broker.aclose()
