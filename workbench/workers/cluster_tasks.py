"""What a worker is asked to do, by functions that cost nothing to import: the process that submits them knows no more of us."""

from typing import Any


async def perform(document: bytes) -> str:
    """Do one job; see `leaf_worker.perform`."""
    from workbench.workers import leaf_worker  # on the worker alone: it loads the whole engine

    return await leaf_worker.perform(document)


async def describe(settings: dict[str, Any], *, seal: bool, neighbours: int) -> dict[str, Any]:
    """Return the facts of this worker; see `leaf_worker.describe`."""
    from workbench.workers import leaf_worker  # as above

    return await leaf_worker.describe(settings, seal=seal, neighbours=neighbours)


def clock() -> str:
    """Return this worker's time."""
    from workbench.workers.worker_facts import utc_now  # as above

    return utc_now()
