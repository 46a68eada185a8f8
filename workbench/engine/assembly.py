"""Putting a workbench together: store, broker, sandbox and model around one engine, or a model alone for questions about a stored run."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from proxies.broker import Broker, open_broker
from sandbox import Sandbox
from workbench.engine.access.model_gateway import ModelGateway, run_gateway
from workbench.engine.flow import Engine
from workbench.engine.leaves.grounding import Workers
from workbench.engine.record.state import RunState
from workbench.engine.run_settings import RunSettings
from workbench.environment import proxy_settings
from workbench.models.base import Model
from workbench.models.roles import open_models
from workbench.prompts import PromptSet
from workbench.store import Store


def open_gateway(store: Store, state: RunState, *, judge: str | None = None) -> ModelGateway:
    """Return the gateway to the run's own model; with ``judge`` requests of the role judge go to that one.

    Raises ``UsageError`` for a run made of a tree file, which has none, and if an imported run names a server of its
    sender's.
    """
    state.require_model()
    state.require_own_server()
    settings = state.settings
    options = settings.model_options(os.environ)
    if judge is not None:
        options["roles"] = {**options["roles"], "judge": judge}
    model = open_models(settings.model, **options)
    # Today's prompts: what is asked about a run that is done is no part of it. Its marks, which its texts' authors cannot know.
    gateway = run_gateway(store, state, model, prompts=PromptSet(marks=state.marks))
    gateway.require_price()
    return gateway


_log = logging.getLogger(__name__)


class OpenWorkers(Protocol):
    """Opens the workers of a sitting, checked, and closes them at its end."""

    def __call__(
        self,
        settings: RunSettings,
        *,
        broker: Broker,
        sandbox: Sandbox,
        say: Callable[[str], None],
    ) -> AbstractAsyncContextManager[Workers]:
        """Return what yields the workers; raises ``UsageError`` or ``IsolationUnavailable`` when it is entered."""
        ...


@asynccontextmanager
async def open_engine(
    store: Store,
    settings: RunSettings,
    *,
    environ: Mapping[str, str],
    isolation: str | None = None,
    embedded_root: Path | None = None,
    began: datetime | None = None,
    model: Model | None = None,
    workers: OpenWorkers | None = None,
    say: Callable[[str], None] = _log.warning,
    **parts: Any,
) -> AsyncIterator[Engine]:
    """Yield an engine for runs with these settings; kernels, connections and caches are closed at the end.

    ``parts`` are those of `Engine` that a caller chooses: ``listener``, ``answered``, ``note``.

    `isolation`: The level the person at this machine asked for; None takes the best sealed one that works here. What ``settings`` say of
    it is not looked at: they may come out of a stranger's run.

    Raises `UsageError`: A part of the run or Dask is not installed, or no worker may work.
    """
    # Before anything is opened: a part that is missing leaves no broker and no kernels to close.
    settings.require_installed()
    settings_of_broker = replace(
        proxy_settings(
            environ,
            store.home,
            reader="person" if settings.stays_here else "model",
            services_at=began,
        ),
        embedded_root=embedded_root,
        own_at=began,
    )
    broker = open_broker(settings_of_broker)
    sandbox = Sandbox(isolation=isolation)
    try:
        async with AsyncExitStack() as stack:
            pool = None
            if workers is not None:
                pool = await stack.enter_async_context(
                    workers(settings, broker=broker, sandbox=sandbox, say=say)
                )
            yield Engine(
                store,
                broker=broker,
                catalogue=broker.catalogue,
                sandbox=sandbox,
                model=model or open_models(settings.model, broker=broker, **settings.model_options(environ)),
                workers=pool,
                **parts,
            )
    finally:
        # Shielded: a second Ctrl-C must not leave kernels behind.
        await asyncio.shield(sandbox.aclose())
        await broker.aclose()
