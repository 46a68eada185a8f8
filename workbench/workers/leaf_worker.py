"""Do one job on a worker: every step is recorded by the owner before the next begins.

A worker keeps nothing: journal and notebook of an attempt lie in a temporary folder until the owner has them, and rows of the
ledger are handed over before the answer is used. So a worker that dies costs what was in flight.
"""

import asyncio
import os
import shutil
import tempfile
import time
import traceback
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from distributed import Queue, get_client, get_worker

from proxies.atomic import private_folder
from proxies.broker import Broker, BrokerSession, open_broker
from proxies.errors import ProxyError
from proxies.ledger import Address, Answer, LedgerRow
from sandbox import Sandbox
from sandbox.cell_library import CellLibrary
from sandbox.errors import SandboxError
from sandbox.kernels.folders import run_folder
from workbench.agents.base import Grounding, GroundingFailure
from workbench.agents.relayed import Relayed
from workbench.engine.access.catalogue_guide import CatalogueGuide
from workbench.engine.access.model_gateway import ReportsLimits
from workbench.engine.leaves.grounding import data_session, ground_job, session_spec
from workbench.engine.leaves.leaf_notebook import KernelSlots, open_notebooks
from workbench.engine.new_run import grounder_of
from workbench.engine.run_settings import RunSettings
from workbench.environment import home_from, proxy_settings
from workbench.errors import WorkbenchError
from workbench.models.base import Model, ModelReply, ModelRequest
from workbench.models.roles import open_models
from workbench.prompts import PromptSet
from workbench.quoting import Marks
from workbench.resources import cores
from workbench.search.leak_filter import Verdicts
from workbench.workers.calls import CallLine, Parcel, pack, unpack
from workbench.workers.job_service import Begun, FreshVerdicts
from workbench.workers.worker_facts import Facts, own_facts

#: Seconds without a word after which the owner is asked whether it is there, and after which the job is given up.
_QUIET, _GONE = 20.0, 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """The order that Dask gives a worker: the job's name, the owner's queue, and the workers that share the machine."""

    job: str
    owner: str
    neighbours: int


class Workplace:
    """The parts of a worker process that all its jobs share: broker, sandbox, models, and one queue for parcels."""

    def __init__(self, neighbours: int) -> None:
        environ = os.environ
        home = home_from(environ)
        private_folder(home)
        self.broker: Broker = open_broker(proxy_settings(environ, home))
        self.sandbox = Sandbox()
        # Workers on one machine share its cores and its memory.
        self.slots = KernelSlots(
            running=max(1, cores() // neighbours) + 1, notebooks=max(1, open_notebooks() // neighbours)
        )
        self.queue_name = f"workbench-worker-{uuid.uuid4().hex}"
        self.lines: dict[str, CallLine] = {}
        #: What a provider said last of its limits; the owner paces all workers together.
        self.limits: dict[str, str] = {}
        self._models: dict[bytes, Model] = {}
        self._reader: asyncio.Task[None] | None = None

    def listen(self, client: Any) -> None:
        """Start to read the queue, at the first job."""
        # Before the first await: two jobs may come at once, and there is one reader for all.
        if self._reader is None or self._reader.done():
            self._reader = asyncio.ensure_future(self._read(client))

    async def _read(self, client: Any) -> None:
        queue = await Queue(self.queue_name, client=client)
        while True:
            try:
                parcel: Parcel = unpack(await queue.get())
            except (OSError, TimeoutError):  # the scheduler is gone; each job gives up by itself
                return
            if parcel.lease in self.lines:  # else the job has ended meanwhile
                self.lines[parcel.lease].receive(parcel)

    def model(self, settings: RunSettings) -> Model:
        """Open the model that settings name with the keys of this process; raises ``UsageError``."""
        options = settings.model_options(os.environ)
        key = orjson.dumps([settings.model, options], default=repr, option=orjson.OPT_SORT_KEYS)
        if key not in self._models:
            model = self._models[key] = open_models(settings.model, broker=self.broker, **options)
            if isinstance(model, ReportsLimits):
                model.report_limits(self.limits.update)
        return self._models[key]


_workplaces: list[Workplace] = []


def workplace(neighbours: int = 1) -> Workplace:
    """Return this process's workplace, created at the first call."""
    if not _workplaces:
        _workplaces.append(Workplace(neighbours))
    return _workplaces[0]


async def describe(settings: dict[str, Any], *, seal: bool, neighbours: int) -> Facts:
    """Return the facts of this worker; the owner calls it on every worker before giving it a job."""
    place = workplace(neighbours)
    return await own_facts(place.broker, place.sandbox, RunSettings.from_json(settings), seal=seal)


class OwnerGone(WorkbenchError):
    """The process that owns the run does not answer."""


class Lease:
    """A hold on one job; ``over`` is set when the owner has given the job to another, or ended it."""

    #: What the owner may call.
    OFFERS = frozenset({"send", "end"})

    def __init__(self, place: Workplace, send: Callable[[Parcel], Awaitable[None]]) -> None:
        self.line = CallLine(uuid.uuid4().hex, send, self, self.OFFERS)
        self.model: Model | None = None
        self.over = asyncio.Event()
        self._place = place

    async def send(self, request: ModelRequest) -> tuple[ModelReply | Exception, dict[str, str]]:
        """Send the owner's request to the model; return reply or error, and the provider's limits."""
        assert self.model is not None, "the owner sends what the job asked"
        try:
            return await self.model.complete(request), self._place.limits
        except Exception as error:  # the owner charges it, then raises it as a model here would
            return error, self._place.limits

    async def end(self) -> None:
        """Give up the job."""
        self.over.set()

    async def watch(self) -> None:
        """Raise ``OwnerGone`` after a long silence; a request may rightly wait for hours."""
        while True:
            await asyncio.sleep(_QUIET)
            silent = time.monotonic() - self.line.heard
            if silent > _GONE:
                raise OwnerGone(f"the run's owner has not answered for {silent:.0f} s")
            if silent > _QUIET:
                await self.line.call("ping")


class RowsWithOwner:
    """A job's data calls: recorded rows are answered from the owner's, new ones are recorded there before use."""

    def __init__(
        self, line: CallLine, recorded: tuple[LedgerRow, ...], open_session: Callable[[Any], BrokerSession]
    ):
        self._line = line
        self._recorded = {(row.address, row.request_hash): row for row in recorded}
        self._new: dict[Address, LedgerRow] = {}
        self._session = open_session(self)

    def recall(self, address: Address, request_hash: str) -> LedgerRow | None:
        """Return the owner's row of when the job began, or None; called by the broker."""
        return self._recorded.get((address, request_hash))

    def record(self, row: LedgerRow) -> None:
        """Keep a row until `call` sends it."""
        self._new[row.address] = row

    async def call(self, path: str, params: Mapping[str, Any] | None, address: Address) -> Answer:
        """Return the broker's answer after the owner has recorded it; raises ``ProxyError``."""
        try:
            return await self._session.call(path, params, address)
        finally:  # a refusal is a row too
            row = self._new.pop(address, None)
            if row is not None:
                await self._line.call("record", row)


class JournalWithOwner:
    """Sends the lines of an attempt's journal to the owner as they are written."""

    def __init__(self, line: CallLine, path: Path, begun: str) -> None:
        self._line = line
        self._path = path
        self._sent = len(begun.encode())
        if begun:
            private_folder(path.parent)
            path.write_text(begun, encoding="utf-8")

    async def send_new_lines(self) -> None:
        """Send new whole lines; returns when they are on the owner's disk."""
        if not self._path.exists():
            return
        with open(self._path, "rb") as file:
            file.seek(self._sent)
            whole, newline, _ = file.read().rpartition(b"\n")
        if newline:
            lines = whole + newline
            await self._line.call("journal", self._sent, lines)
            self._sent += len(lines)


async def perform(order: bytes) -> bytes | None:
    """Do one job; return its packed outcome or error, None if the owner cancelled it.

    Raises ``OwnerGone`` where nobody is there to want it. Dask runs this on a worker.
    """
    job: Order = unpack(order)
    place = workplace(job.neighbours)
    client = get_client()
    await client
    place.listen(client)
    queue = await Queue(job.owner, client=client)

    async def send(parcel: Parcel) -> None:
        await queue.put(pack(parcel))

    lease = Lease(place, send)
    place.lines[lease.line.lease] = lease.line
    # Where the next process looks for what a kill left behind.
    folder = Path(tempfile.mkdtemp(prefix="job-", dir=run_folder()))
    begun = lease.line.call("begin", job.job, place.queue_name, get_worker().address)
    work = asyncio.ensure_future(_work_on_leaf(place, lease, begun, folder))
    watch, over = asyncio.ensure_future(lease.watch()), asyncio.ensure_future(lease.over.wait())
    try:
        await asyncio.wait({work, watch, over}, return_when=asyncio.FIRST_COMPLETED)
        if watch.done():
            watch.result()
        return None if over.done() else work.result()
    finally:
        for task in (work, watch, over):
            task.cancel()
        await asyncio.gather(work, watch, over, return_exceptions=True)
        del place.lines[lease.line.lease]
        lease.line.close()
        shutil.rmtree(folder, ignore_errors=True)


async def _work_on_leaf(place: Workplace, lease: Lease, begin: Awaitable[Begun], folder: Path) -> bytes:
    begun = await begin
    spec = session_spec(begun.job, folder, "none")  # the paths only
    journal = JournalWithOwner(lease.line, spec.journal, begun.journal)
    if begun.library:  # its journal was begun with another text than ours
        CellLibrary(begun.library.encode()).file_in(spec.journal.parent)
    outcome: Grounding | GroundingFailure | Exception
    try:
        outcome = await _ground(place, lease, begun, folder, journal.send_new_lines)
    except (WorkbenchError, ProxyError, SandboxError) as error:
        outcome = error
    except Exception as error:  # a stranger's grounder, or a bug: the owner knows which, and says so
        error.add_note("".join(traceback.format_exception(error))[-4000:])
        outcome = error
    await journal.send_new_lines()
    if spec.notebook.exists():
        await lease.line.call("notebook", spec.notebook.read_text(encoding="utf-8"))
    return pack(outcome)


async def _ground(
    place: Workplace, lease: Lease, begun: Begun, folder: Path, on_cell: Callable[[], Awaitable[None]]
) -> Grounding | GroundingFailure:
    job, settings = begun.job, begun.job.settings
    lease.model = place.model(settings)
    prompts = PromptSet(job.prompts, marks=Marks(job.quote_key))
    verdicts = Verdicts(prompts=prompts)
    _take_verdicts(verdicts, begun.verdicts)

    async def ask(request: ModelRequest, *, stage: str, step: int, retry: int) -> ModelReply:
        reply, fresh = await lease.line.call("ask", request, stage, step, retry)
        _take_verdicts(verdicts, fresh)
        return reply  # type: ignore[no-any-return]

    async def level() -> str:
        return str(await lease.line.call("level"))

    return await ground_job(
        job,
        grounder=grounder_of(settings),
        ask=Relayed(prompts, ask),
        data=RowsWithOwner(lease.line, begun.rows, lambda ledger: data_session(place.broker, job, ledger)),
        guide=CatalogueGuide.for_run(
            place.broker.catalogue, settings, job.cutoff, job.keyed, network=job.network
        ),
        sandbox=place.sandbox,
        level=level,
        slots=place.slots,
        folder=folder,
        on_cell=on_cell,
        verdicts=verdicts,
    )


def _take_verdicts(verdicts: Verdicts, fresh: FreshVerdicts) -> None:
    for key, verdict in fresh:
        verdicts.keep(key, verdict)
