"""The worker's side: a job comes in by its plain value, everything it does is with the owner before the next step.

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
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson

from proxies.atomic import private_folder
from proxies.broker import Broker, BrokerSession, open_broker
from proxies.errors import ProxyError
from proxies.ledger import Address, Answer, LedgerRow
from sandbox import Sandbox
from sandbox.cell_library import CellLibrary
from sandbox.errors import SandboxError
from sandbox.kernels.folders import run_folder
from workbench.agents.base import Grounding, GroundingFailure
from workbench.agents.registry import open_grounder
from workbench.agents.relayed import Relayed
from workbench.engine.access.catalogue_guide import CatalogueGuide
from workbench.engine.access.model_gateway import ReportsLimits
from workbench.engine.leaves.grounding import data_session, ground_job, session_spec
from workbench.engine.leaves.job import GroundJob
from workbench.engine.leaves.leaf_notebook import KernelSlots, open_notebooks
from workbench.engine.run_settings import RunSettings
from workbench.environment import home_from, proxy_settings
from workbench.errors import WorkbenchError
from workbench.models.base import Model, ModelReply, ModelRequest, reply_from_json, reply_to_json
from workbench.models.roles import open_models
from workbench.prompts import PromptSet
from workbench.quoting import Marks
from workbench.resources import cores
from workbench.search.leak_filter import Verdict, Verdicts
from workbench.workers.messages import (
    decode,
    encode,
    error_from_json,
    error_to_json,
    request_from_json,
    request_to_json,
    row_from_json,
    row_to_json,
)
from workbench.workers.outbox import Outbox
from workbench.workers.worker_facts import own_facts

#: Seconds without a word after which the owner is asked whether it is there, and after which the job is given up.
_QUIET, _GONE = 20.0, 120.0


class OwnerGone(WorkbenchError):
    """The process that owns the run does not answer, or has given the job to another worker."""


class Workplace:
    """What one worker process has for all its jobs: broker, sandbox, models, and the one inbox for the owners' answers."""

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
        self.inbox_name = f"workbench-worker-{uuid.uuid4().hex}"
        self.address = ""
        self.leases: dict[str, Lease] = {}
        self._outboxes: dict[str, tuple[Outbox, int]] = {}  # by owner, with how many jobs use it
        self.limits: dict[
            str, str
        ] = {}  # what a provider said last of its limits; the owner paces all workers together
        self._models: dict[bytes, Model] = {}
        self._reader: asyncio.Task[None] | None = None

    async def connect(self) -> Any:
        """Open the inbox at the first job, and return Dask's client of this worker."""
        from distributed import Queue, get_client, get_worker

        client = get_client()
        await client
        self.address = get_worker().address
        if self._reader is None:
            # Before the first await: two jobs may come at once, and there is one reader for all.
            self._reader = asyncio.ensure_future(self._open_inbox(Queue, client))
        return client

    async def _open_inbox(self, queue: Any, client: Any) -> None:
        try:
            inbox = await queue(self.inbox_name, client=client)
            while True:
                for _, data in await inbox.get():
                    message = decode(data)
                    lease = self.leases.get(message["lease"])
                    if lease is not None:  # else the job has ended meanwhile
                        lease.receive(message)
        except Exception as error:  # of Dask: the scheduler is gone, and with it every owner
            self._reader = None  # the next job, of another scheduler, opens another
            for lease in self.leases.values():
                lease.lose(OwnerGone(f"the scheduler cannot be reached any more ({type(error).__name__})"))

    async def outbox(self, owner: str, client: Any) -> Outbox:
        """Return the way to an owner, the same for all its jobs here; each calls `release` at its end."""
        from distributed import Queue

        if owner not in self._outboxes:
            queue = await Queue(owner, client=client)
            self._outboxes.setdefault(owner, (Outbox(queue), 0))
        outbox, users = self._outboxes[owner]
        self._outboxes[owner] = outbox, users + 1
        return outbox

    def release(self, owner: str) -> None:
        """Close the way to an owner that no job uses any more."""
        outbox, users = self._outboxes[owner]
        if users > 1:
            self._outboxes[owner] = outbox, users - 1
        else:
            del self._outboxes[owner]
            outbox.close()

    def model(self, settings: RunSettings) -> Model:
        """Return the model that settings name, opened with the keys of this process; raises ``UsageError``."""
        options = settings.model_options(os.environ)
        key = orjson.dumps([settings.model, options], default=repr, option=orjson.OPT_SORT_KEYS)
        if key not in self._models:
            model = self._models[key] = open_models(settings.model, broker=self.broker, **options)
            if isinstance(model, ReportsLimits):
                model.report_limits(self.limits.update)
        return self._models[key]


_workplaces: list[Workplace] = []


def workplace(neighbours: int = 1) -> Workplace:
    """Return this process's workplace, made at the first call."""
    if not _workplaces:
        _workplaces.append(Workplace(neighbours))
    return _workplaces[0]


async def describe(settings: dict[str, Any], *, seal: bool, neighbours: int) -> dict[str, Any]:
    """Return the facts of this worker; the owner calls it on every worker before it gives any work."""
    place = workplace(neighbours)
    facts = await own_facts(place.broker, place.sandbox, RunSettings.from_json(settings), seal=seal)
    return facts.to_json()


class Lease:
    """One worker's hold on one job: numbered messages to the owner, who ends it by giving the job to another."""

    def __init__(self, name: str, outbox: Outbox, place: Workplace) -> None:
        self.name = name
        self._place = place
        self.model: Model | None = None
        self._outbox = outbox
        self._number = 0
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._sending: set[asyncio.Task[None]] = set()
        self._heard = time.monotonic()
        #: The job's work; ended when the owner says that it is over.
        self.work: asyncio.Task[None] | None = None
        self.over = False

    def receive(self, message: dict[str, Any]) -> None:
        """Take a message of the owner; called by the reader of the inbox."""
        self._heard = time.monotonic()
        if message["what"] == "over":
            self.over = True
            if self.work is not None:
                self.work.cancel()
            return
        number = message["n"]
        if message["what"] == "send":
            task = asyncio.ensure_future(self._send(number, request_from_json(message["request"])))
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)
            return
        waiting = self._waiting.get(number)
        if waiting is None or waiting.done():
            return
        if message["what"] == "error":
            waiting.set_exception(error_from_json(message["error"]))
        else:
            waiting.set_result(message)

    def lose(self, error: OwnerGone) -> None:
        """End everything that waits for an answer; none will come."""
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(error)

    async def call(self, what: str, **fields: Any) -> dict[str, Any]:
        """Send a message and return the owner's answer.

        Raises
        ------
        OwnerGone
            There is none for so long that nobody can be there, or the job is another worker's by now.
        """
        self._number += 1
        number = self._number
        waiting: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = waiting
        if "request" in fields:
            fields["request"] = request_to_json(fields["request"])
        try:
            await self._put(number, what, **fields)
            while not waiting.done():
                await asyncio.wait([waiting], timeout=_QUIET)
                silent = time.monotonic() - self._heard
                if not waiting.done() and silent > _GONE:
                    raise OwnerGone(f"the run's owner has not answered for {silent:.0f} s")
                if not waiting.done() and silent > _QUIET:
                    await self._put(0, "ping")
            return waiting.result()
        finally:
            del self._waiting[number]

    async def close(self) -> None:
        """End what is still being sent for this job."""
        for task in list(self._sending):
            task.cancel()
        await asyncio.gather(*self._sending, return_exceptions=True)

    async def _put(self, number: int, what: str, **fields: Any) -> None:
        await self._outbox.put(self.name, encode({"lease": self.name, "n": number, "what": what, **fields}))

    async def _send(self, number: int, request: ModelRequest) -> None:
        """Send what the owner made of an ``ask`` to the model, and report what came of it."""
        if self.model is None or number not in self._waiting:
            return
        try:
            reply = await self.model.complete(request)
        except WorkbenchError as error:
            await self._put(number, "sent", error=error_to_json(error), limits=self._place.limits)
        except Exception as error:
            await self._put(number, "sent", error=_bug(error), limits=self._place.limits)
        else:
            await self._put(number, "sent", reply=reply_to_json(reply), limits=self._place.limits)


def _bug(error: BaseException) -> dict[str, Any]:
    return {
        "kind": type(error).__name__,
        "message": "".join(traceback.format_exception(error))[-4000:],
        "facts": {},
        "line": f"{type(error).__name__}: {error}"[:500],
    }


class RowsWithOwner:
    """A job's data calls: rows that the owner has are answered from them, new ones go to the owner before they are used."""

    def __init__(self, lease: Lease, recorded: list[LedgerRow], open_session: Callable[[Any], BrokerSession]):
        self._lease = lease
        self._recorded = {(row.address, row.request_hash): row for row in recorded}
        self._new: dict[Address, LedgerRow] = {}
        self._session = open_session(self)

    def recall(self, address: Address, request_hash: str) -> LedgerRow | None:
        """Return the row that the owner had when the job began, or None; the broker asks."""
        return self._recorded.get((address, request_hash))

    def record(self, row: LedgerRow) -> None:
        """Lay a row aside; `call` hands it over before its answer is used."""
        self._new[row.address] = row

    async def call(self, path: str, params: Mapping[str, Any] | None, address: Address) -> Answer:
        """Return the broker's answer, recorded by the owner; raises ``ProxyError``."""
        try:
            return await self._session.call(path, params, address)
        finally:  # a refusal is a row too
            row = self._new.pop(address, None)
            if row is not None:
                await self._lease.call("row", row=row_to_json(row))


class JournalWithOwner:
    """Hands the lines of an attempt's journal to the owner as they come."""

    def __init__(self, lease: Lease, path: Path, begun: str) -> None:
        self._lease = lease
        self._path = path
        self._sent = len(begun.encode())
        if begun:
            private_folder(path.parent)
            path.write_text(begun, encoding="utf-8")

    async def send_new_lines(self) -> None:
        """Send what is new, whole lines only, and return when it is on the owner's disk."""
        if not self._path.exists():
            return
        with open(self._path, "rb") as file:
            file.seek(self._sent)
            whole, newline, _ = file.read().rpartition(b"\n")
        if newline:
            lines = whole + newline
            await self._lease.call("journal", offset=self._sent, lines=lines.decode())
            self._sent += len(lines)


async def perform(document: bytes) -> str:
    """Do one job; the function that Dask runs.

    It returns a word when the owner has the outcome, and when the owner is gone: then there is nobody to say anything to.
    """
    order = decode(document)
    place = workplace(order["neighbours"])
    client = await place.connect()
    outbox = await place.outbox(order["owner"], client)
    lease = Lease(uuid.uuid4().hex, outbox, place)
    place.leases[lease.name] = lease
    # Where the next process looks for what a kill left behind.
    folder = Path(tempfile.mkdtemp(prefix="job-", dir=run_folder()))
    try:
        lease.work = asyncio.ensure_future(_work_on_leaf(place, lease, order["job"], folder))
        await lease.work
    except OwnerGone as gone:
        return str(gone)
    except asyncio.CancelledError:
        if not lease.over:
            raise
        return "over"
    finally:
        del place.leases[lease.name]
        await lease.close()
        place.release(order["owner"])
        shutil.rmtree(folder, ignore_errors=True)
    return "done"


async def _work_on_leaf(place: Workplace, lease: Lease, name: str, folder: Path) -> None:
    begun = await lease.call("begin", job=name, inbox=place.inbox_name, worker=place.address)
    job = GroundJob.from_json(begun["content"])
    spec = session_spec(job, folder, "none")  # the paths only
    journal = JournalWithOwner(lease, spec.journal, begun["journal"])
    if begun.get("library"):  # its journal was begun with another text than ours
        CellLibrary(begun["library"].encode()).file_in(spec.journal.parent)
    end: dict[str, Any]
    try:
        outcome = await _ground(place, lease, job, begun, folder, journal.send_new_lines)
    except OwnerGone:
        raise
    except (WorkbenchError, ProxyError, SandboxError) as error:
        end = {"error": error_to_json(error)}
    except Exception as error:  # a stranger's grounder, or a bug: the owner knows which, and says so
        end = {"bug": _bug(error)}
    else:
        end = _outcome_to_json(outcome)
    await journal.send_new_lines()
    if spec.notebook.exists():
        end["notebook"] = spec.notebook.read_text(encoding="utf-8")
    await lease.call("end", **end)


async def _ground(
    place: Workplace,
    lease: Lease,
    job: GroundJob,
    begun: dict[str, Any],
    folder: Path,
    on_cell: Callable[[], Awaitable[None]],
) -> Grounding | GroundingFailure:
    settings = job.settings
    lease.model = place.model(settings)
    nowhere = job.address("", 0, 0)
    recorded = [row_from_json(row, nowhere) for row in begun["rows"]]
    prompts = PromptSet(job.prompts, marks=Marks(job.quote_key))
    verdicts = Verdicts(prompts=prompts)
    take_verdicts(verdicts, begun)

    async def ask(request: ModelRequest, *, stage: str, step: int, retry: int) -> ModelReply:
        answer = await lease.call("ask", request=request, place=[stage, step, retry])
        take_verdicts(verdicts, answer)
        return reply_from_json(answer["reply"])

    async def level() -> str:
        return str((await lease.call("level"))["level"])

    return await ground_job(
        job,
        grounder=open_grounder(
            settings.grounder,
            settings.agent,
            options=settings.options.get("grounder"),
            package=settings.packages.get("grounder"),
        ),
        ask=Relayed(prompts, ask),
        data=RowsWithOwner(lease, recorded, lambda ledger: data_session(place.broker, job, ledger)),
        guide=CatalogueGuide.for_run(
            place.broker.catalogue, settings, job.parsed_cutoff(), job.keyed, network=job.network
        ),
        sandbox=place.sandbox,
        level=level,
        slots=place.slots,
        folder=folder,
        on_cell=on_cell,
        verdicts=verdicts,
    )


def take_verdicts(verdicts: Verdicts, message: Mapping[str, Any]) -> None:
    """Remember what other leaves and trials of the run had judged, as the owner's message brings it."""
    for key, keep, reason, model in message.get("verdicts", ()):
        verdicts.keep(key, Verdict(keep=keep, reason=reason, model=model))


def _outcome_to_json(outcome: Grounding | GroundingFailure) -> dict[str, Any]:
    if isinstance(outcome, GroundingFailure):
        return {"failure": asdict(outcome)}
    belief, evidence = outcome.belief, outcome.evidence
    return {
        "grounding": {
            "p": belief.p,
            "key_factor": belief.key_factor,
            "report": belief.report,
            "kind": evidence.kind,
            "evidence": evidence.to_json(),
            "trace": dict(outcome.trace),
            "findings": [finding.to_json() for finding in outcome.findings],
        }
    }
