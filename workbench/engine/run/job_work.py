"""One attempt at a leaf, done in this process: the grounder with its notebook and its way to data.

The owner of a run and its workers do a job by the same function, so that a leaf is the same wherever it was grounded.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Protocol

from proxies.broker import Broker, BrokerSession
from proxies.ledger import Address, Answer, Ledger
from sandbox import Sandbox, SessionSpec
from workbench.agents.base import Grounder, Grounding, GroundingFailure, LeafTask
from workbench.engine.run.catalogue_guide import CatalogueGuide
from workbench.engine.run.job import GroundJob
from workbench.engine.run.kernel_slots import KernelSlots
from workbench.engine.run.leaf_notebook import Gate, LazyNotebook, open_gate
from workbench.engine.run.proof_names import journal_name, notebook_name, session_name
from workbench.models.base import Asker
from workbench.search.leak_filter import Verdicts


def data_session(broker: Broker, job: GroundJob, ledger: Ledger) -> BrokerSession:
    """Return a job's way to data: as of its cutoff, with the residual risk that its run allows, recorded in ``ledger``."""
    settings = job.settings
    return broker.session(
        job.parsed_cutoff(), ledger, strict=settings.strict, max_residual=settings.max_residual
    )


class DataSource(Protocol):
    """What answers a job's data calls: a ``BrokerSession``, or on a worker one whose rows the owner records."""

    async def call(self, path: str, params: Mapping[str, Any] | None, address: Address) -> Answer:
        """Return the answer of the call at this address; raises ``ProxyError``."""
        ...


async def ground_job(
    job: GroundJob,
    *,
    grounder: Grounder,
    ask: Asker,
    data: DataSource,
    guide: CatalogueGuide,
    sandbox: Sandbox,
    level: Callable[[], Awaitable[str]],
    slots: KernelSlots,
    folder: Path,
    on_cell: Callable[[], Awaitable[None]] | None = None,
    gate: Gate | None = None,
    verdicts: Verdicts | None = None,
) -> Grounding | GroundingFailure:
    """Do a job in this process and return its outcome; its notebook is closed by then.

    Parameters
    ----------
    folder : Path
        Where ``sessions/`` and ``proofs/`` of the run lie.
    on_cell : callable, optional
        Awaited when the journal has grown, before the grounder goes on: a worker sends the new lines to the run's owner.
    gate : callable, optional
        Puts the notebook behind what its cells wait for.
    verdicts : Verdicts, optional
        Of the run; a worker's are a copy that grows with every answer of the owner.
    """
    caller = DataCalls(data, job, slots)
    async with AsyncExitStack() as stack:
        notebook = LazyNotebook(
            sandbox,
            lambda level: session_spec(job, folder, level),
            level,
            caller.from_cell,
            stack,
            slots,
            on_cell,
            gate or open_gate,
        )
        return await grounder.ground(
            LeafTask(
                node=job.ref,
                cutoff=job.parsed_cutoff(),
                ask=ask,
                open_notebook=notebook.open,
                call_api=caller.from_grounder,
                data=guide,
                settings=job.bounds,
                context=job.context(),
                resolves_by=job.resolves_by,
                reference_class=job.reference_class,
                gave_up=job.gave_up,
                verdicts=verdicts,
            )
        )


def session_spec(job: GroundJob, folder: Path, level: str) -> SessionSpec:
    """Return what a job's notebook is opened with; ``folder`` is the run's."""
    return SessionSpec(
        name=session_name(job.node, job.trial, job.attempt),
        journal=folder / "sessions" / journal_name(job.node, job.trial, job.attempt),
        notebook=folder / "proofs" / notebook_name(job.node, job.trial),
        isolation=level,
        limits=job.limits,
        title=f"{job.node}: {job.statement}",
        metadata={
            "run": job.run,
            "node": job.node,
            "trial": job.trial,
            "attempt": job.attempt,
            "cutoff": job.cutoff,
        },
    )


class DataCalls:
    """Data calls of one attempt: adds its address and passes them on to the broker."""

    def __init__(self, data: DataSource, job: GroundJob, slots: KernelSlots) -> None:
        self._data = data
        self._job = job
        self._slots = slots

    async def from_cell(self, path: str, params: Mapping[str, Any], *, cell: int, nth: int) -> Answer:
        """Answer ``CALL_API`` of a cell; called by the wire server."""
        with self._slots.away():  # the cell waits, so another may compute
            return await self._data.call(path, params, self._job.address("cell", cell, nth))

    async def from_grounder(
        self, path: str, params: Mapping[str, Any], *, step: int, retry: int = 0
    ) -> Answer:
        """Answer a grounder that calls data itself (``LeafTask.call_api``)."""
        return await self._data.call(path, params, self._job.address("tool", step, retry))
