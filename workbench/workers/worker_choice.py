"""Open the workers that ``--workers`` names; imports Dask only if it is installed and asked for."""

import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from importlib.util import find_spec

from proxies.broker import Broker
from sandbox import Sandbox
from workbench.engine.assembly import OpenWorkers
from workbench.engine.leaves.grounding import Workers
from workbench.engine.new_run import grounder_of
from workbench.engine.run_settings import RunSettings
from workbench.engine.worker_place import WorkerPlace
from workbench.errors import Option, UsageError
from workbench.workers.cluster import open_client
from workbench.workers.worker_facts import own_facts


def workers_at(where: WorkerPlace | None) -> OpenWorkers | None:
    """Return the opener of workers for ``open_engine``; None for this process."""
    return None if where is None else partial(open_workers, where)


@asynccontextmanager
async def open_workers(
    where: WorkerPlace,
    settings: RunSettings,
    *,
    broker: Broker,
    sandbox: Sandbox,
    say: Callable[[str], None],
) -> AsyncIterator[Workers]:
    """Yield the checked workers of a sitting.

    Raises `UsageError`: Dask is not installed, no certificates, no scheduler, or no worker that may work. Raises `IsolationUnavailable`:
    The run needs kernels, and this machine, which verifies their proofs, cannot seal any.
    """
    if find_spec("distributed") is None:
        raise UsageError(
            Option("workers"), " needs Dask, which is not installed: pip install 'analyst-workbench[dask]'"
        )
    from workbench.workers.worker_pool import Requirements, WorkerPool  # the whole engine, for workers alone

    grounder = grounder_of(settings)
    level = await sandbox.level() if getattr(grounder, "opens_notebook", False) else None
    facts = await own_facts(broker, sandbox, settings, seal=False)
    keyed = settings.keyed if settings.keyed is not None else facts.keys
    requirements = Requirements(settings=settings, facts=facts, level=level, keyed=keyed)
    # A job mostly waits for its model, so threads are no measure of work; the worker's kernel slots are.
    threads = max(4, math.ceil(settings.concurrency / where.count)) if where.count is not None else 1
    async with open_client(where, threads=threads) as client:
        pool = WorkerPool(client, requirements, say)
        try:
            await pool.start(own=where.count or 0)
            yield pool
        finally:
            await pool.aclose()
