"""The owner's pool of workers: who may work, which jobs are out, and what happens when a worker or all of them are gone.

Dask's scheduler decides where a job goes and gives it to another worker when one dies. All talk between worker and owner goes
through two queues of the scheduler, so the owner's machine need not be reachable from the workers.
"""

import asyncio
import logging
import math
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from workbench.agents.base import Grounding, GroundingFailure
from workbench.engine.leaves.job import GroundJob, JobOwner
from workbench.engine.run_settings import RunSettings
from workbench.engine.worker_place import WorkerPlace
from workbench.errors import ProviderError, UsageError
from workbench.workers import leaf_worker as worker_side
from workbench.workers.certificates import client_security
from workbench.workers.lease import JobService, WorkersLost
from workbench.workers.messages import WorkerBug, decode, encode
from workbench.workers.worker_facts import Facts, clock_misfit, misfit

#: Seconds for the scheduler to answer, for the first worker to come, and between two looks at who is there.
CONNECT, FIRST_WORKER, LOOK = 20.0, 60.0, 2.0
#: Seconds without any worker after which the run stops, resumable.
NO_WORKER = 120.0
#: Jobs that are out for each that can be worked on: a worker that is done has the next one at once.
_BACKLOG = 1.25
#: Run by each of our own processes as it starts: Ctrl-C in a terminal reaches them too, and ending them is ours to do.
_DEAF = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"


class WorkersGone(ProviderError):
    """No worker is left; what is done is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirements:
    """What workers of one sitting must have: the owner's facts, the level of its kernels (None: none is started), keys."""

    settings: RunSettings
    facts: Facts
    level: str | None
    keyed: tuple[str, ...]


@dataclass(slots=True)
class _Membership:
    """Who is there: threads by address of those that may work; refused ones are not asked again."""

    fit: dict[str, int] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)


class WorkerPool:
    """The workers of one sitting; implements ``Workers``. Made by ``open_pool``."""

    def __init__(
        self, client: Any, requirements: Requirements, say: Callable[[str], None], *, no_worker: float
    ) -> None:
        self._client = client
        self._requirements = requirements
        self._say = say
        self._no_worker = no_worker
        self._members = _Membership()
        self._name = f"workbench-owner-{secrets.token_hex(8)}"
        self._jobs: dict[str, JobService] = {}
        self._leases: dict[str, tuple[JobService, str]] = {}  # service and the worker's inbox, by lease
        self._outboxes: dict[str, Any] = {}
        self._changed = asyncio.Condition()  # who is there
        self._free = (
            asyncio.Condition()
        )  # by itself: a thousand leaves that wait are not woken by each that ends
        self._out = 0
        self._gone: BaseException | None = None
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Check the workers that are there and begin to serve.

        Raises ``UsageError`` if none may work: with the reasons, or that none came.
        """
        from distributed import Queue

        deadline = asyncio.get_running_loop().time() + FIRST_WORKER
        while not self._members.fit:
            await self._look()
            if self._members.refused and not self._members.fit:
                first, *others = self._members.refused.values()
                more = f"; {len(others)} more are refused, each with a line above" if others else ""
                raise UsageError(f"no worker may work: {first}{more}")
            if not self._members.fit:
                if asyncio.get_running_loop().time() > deadline:
                    raise UsageError(
                        f"the scheduler has no worker after {FIRST_WORKER:g} s: start one with `dask worker`"
                    )
                await asyncio.sleep(0.2)
        self._inbox = await Queue(self._name, client=self._client)
        self._tasks = [asyncio.ensure_future(self._read()), asyncio.ensure_future(self._watch())]

    async def aclose(self) -> None:
        """End all leases; workers that still hold one drop their work."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for service in list(self._jobs.values()):
            service.end()
        for queue in (*self._outboxes.values(), *([self._inbox] if self._tasks else [])):
            queue.close()

    async def ground(self, job: GroundJob, owner: JobOwner) -> Grounding | GroundingFailure:
        """Have a worker do the job and return its outcome; raises what a grounding in this process would raise."""
        async with self._free:
            await self._free.wait_for(lambda: self._gone is not None or self._out < self._room())
            self._out += 1
        service = JobService(job, owner)
        name = f"ground-{job.run}-{job.node}-{job.trial}-{job.attempt}-{secrets.token_hex(4)}"
        self._jobs[name] = service
        try:
            return await self._until_done(name, service)
        finally:
            service.end()
            del self._jobs[name]
            await self._release(service)
            async with self._free:
                self._out -= 1
                self._free.notify()

    def holders(self) -> dict[str, str]:
        """Return the address of the worker that holds each leaf which is in work, by the leaf's id."""
        return {
            service.job.node: service.worker
            for service in self._jobs.values()
            if service.lease is not None and service.worker is not None
        }

    def _room(self) -> int:
        return math.ceil(_BACKLOG * sum(self._members.fit.values()))

    async def _until_done(self, name: str, service: JobService) -> Grounding | GroundingFailure:
        while True:
            if self._gone is not None:
                raise self._gone
            places = list(self._members.fit)
            if not places:
                await self._next_change()
                continue
            future = self._client.submit(
                worker_side.perform,
                encode({"job": name, "owner": self._name, "neighbours": _neighbours(self._members.fit)}),
                key=f"{name}-{secrets.token_hex(4)}",  # a job that is submitted again is another task to Dask
                workers=places,
                pure=False,
            )
            try:
                if await self._follow(future, service, places):
                    return await service.outcome
            finally:
                future.release()

    async def _follow(self, future: Any, service: JobService, places: list[str]) -> bool:
        """Wait for a job's outcome; False if nobody is left of the workers that could have taken it."""
        task = asyncio.ensure_future(_result(future))
        try:
            while True:
                change = asyncio.ensure_future(self._next_change())
                waiting: set[asyncio.Future[Any]] = {service.outcome, task, change}
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                change.cancel()
                if service.outcome.done():
                    return True
                if task.done():
                    word = task.result()  # raises what Dask or a worker says went wrong
                    # The worker gave the job up: it took us for dead, or was late with an old lease.
                    self._say(f"a worker gave up {service.job.node} ({word}); it is done again")
                    return False
                if self._gone is not None or not set(places) & set(self._members.fit):
                    return False
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _next_change(self) -> None:
        async with self._changed:
            await self._changed.wait()

    # -- messages

    async def _read(self) -> None:
        """Take every message of every worker to the service of its job."""
        try:
            while True:
                message = decode(await self._inbox.get())
                lease, what = message["lease"], message["what"]
                if what == "begin" and message["job"] in self._jobs:
                    self._leases[lease] = (self._jobs[message["job"]], message["inbox"])
                elif what == "begin":  # a job that ended while it was on its way to a worker
                    await self._send(message["inbox"], lease, what="over")
                if lease not in self._leases:
                    continue
                service, inbox = self._leases[lease]
                if what != "begin" and service.lease != lease:
                    await self._send(inbox, lease, what="over")
                    continue
                service.receive(lease, message, _Reply(self, inbox, lease))
        except Exception as error:
            await self._stop(_scheduler_gone(error))

    async def _send(self, inbox: str, lease: str, **message: Any) -> None:
        from distributed import Queue

        if inbox not in self._outboxes:
            self._outboxes[inbox] = await Queue(inbox, client=self._client)
        await self._outboxes[inbox].put(encode({"lease": lease, **message}))

    async def _release(self, service: JobService) -> None:
        """Tell workers that still hold a lease on a job that it is over."""
        for lease, (other, inbox) in list(self._leases.items()):
            if other is service:
                del self._leases[lease]
                with suppress(Exception):  # a scheduler that is gone: its workers notice by themselves
                    await self._send(inbox, lease, what="over")

    # -- who is there

    async def _watch(self) -> None:
        """Look every few seconds who is there, and stop the run when nobody has been for too long."""
        loop = asyncio.get_running_loop()
        seen = loop.time()
        try:
            while True:
                await asyncio.sleep(LOOK)
                await self._look()
                if self._members.fit:
                    seen = loop.time()
                elif loop.time() - seen > self._no_worker:
                    raise WorkersGone(f"no worker has been there for {self._no_worker:g} s")
        except Exception as error:
            await self._stop(error if isinstance(error, WorkersGone) else _scheduler_gone(error))

    async def _stop(self, error: BaseException) -> None:
        self._gone = error
        await self._tell_all()

    async def _tell_all(self) -> None:
        for condition in (self._changed, self._free):
            async with condition:
                condition.notify_all()

    async def _look(self) -> None:
        """Read who is there from the scheduler, and check who is new."""
        workers = await self._workers()
        members = self._members
        fresh = [name for name in workers if name not in members.fit and name not in members.refused]
        problems = await self._check(fresh, workers) if fresh else {}
        fit = {
            name: int(worker["nthreads"])
            for name, worker in workers.items()
            if name in members.fit or (name in problems and problems[name] is None)
        }
        for name, problem in problems.items():
            if problem is not None:
                members.refused[name] = f"{name} {problem}"
                self._say(f"worker {members.refused[name]}; it gets no work")
        changed = fit != members.fit
        members.fit = fit
        if changed:
            await self._tell_all()

    async def _workers(self) -> dict[str, Any]:
        identity = await self._client.scheduler.identity(n_workers=-1)
        workers: dict[str, Any] = identity["workers"]
        return workers

    async def _check(self, names: list[str], workers: dict[str, Any]) -> dict[str, str | None]:
        """Return what speaks against each of these workers, None where nothing does."""
        needs = self._requirements
        described = await self._client.run(
            worker_side.describe,
            needs.settings.to_json(),
            seal=needs.level is not None,
            neighbours=_neighbours(workers),
            workers=names,
            on_error="return",
        )
        # By itself, after the imports and probes: the shorter the call, the narrower the bounds that it gives.
        before = datetime.now(UTC)
        clocks = await self._client.run(worker_side.clock, workers=names, on_error="return")
        after = datetime.now(UTC)
        problems: dict[str, str | None] = {}
        for name in names:
            facts, time = described.get(name), clocks.get(name)
            if not isinstance(facts, dict) or not isinstance(time, str):
                fault = facts if isinstance(facts, BaseException) else time
                problems[name] = f"cannot say what it is ({type(fault).__name__}: {fault!s:.200})"
                continue
            problems[name] = misfit(
                needs.facts, Facts.from_json(facts), level=needs.level, keyed=needs.keyed
            ) or clock_misfit(before, datetime.fromisoformat(time), after)
        return problems


@dataclass(frozen=True, slots=True)
class _Reply:
    """Sends a message to the worker that holds a lease."""

    pool: WorkerPool
    inbox: str
    lease: str

    async def __call__(self, **message: Any) -> None:
        await self.pool._send(self.inbox, self.lease, **message)


def _neighbours(workers: Iterable[str]) -> int:
    """Return how many workers the fullest machine has: they share its cores."""
    hosts = Counter(name.rpartition(":")[0] for name in workers)
    return max(hosts.values(), default=1)


async def _result(future: Any) -> Any:
    try:
        return await future
    except Exception as error:
        if type(error).__name__ == "KilledWorker":
            raise WorkersLost(f"its workers died one after another: {error!s:.300}") from error
        raise WorkerBug(f"{type(error).__name__}: {error}") from error


def _scheduler_gone(error: BaseException) -> ProviderError:
    return WorkersGone(f"the scheduler of the workers cannot be reached any more ({type(error).__name__})")


@asynccontextmanager
async def open_pool(
    where: WorkerPlace,
    requirements: Requirements,
    *,
    certificates: Path,
    say: Callable[[str], None],
    no_worker: float = NO_WORKER,
) -> AsyncIterator[WorkerPool]:
    """Yield the pool of a place for workers.

    Raises
    ------
    UsageError
        No certificates, no scheduler that speaks TLS with them, or no worker that may work.
    """
    async with _client(where, requirements.settings, certificates) as client:
        pool = WorkerPool(client, requirements, say, no_worker=no_worker)
        try:
            await pool.start()
            yield pool
        finally:
            await asyncio.shield(pool.aclose())


@asynccontextmanager
async def _client(where: WorkerPlace, settings: RunSettings, certificates: Path) -> AsyncIterator[Any]:
    from distributed import Client

    if where.count is not None:
        async with (
            _own_cluster(where.count, settings) as cluster,
            Client(cluster, asynchronous=True, set_as_default=False) as client,
        ):
            yield client
        return
    address = f"tls://{where.text.removeprefix('dask://')}"
    security = client_security(certificates)
    try:
        client = await Client(
            address,
            asynchronous=True,
            security=security,
            timeout=CONNECT,
            set_as_default=False,
            direct_to_workers=False,
        )
    except (OSError, TimeoutError) as error:
        raise UsageError(
            f"no scheduler speaks TLS with these certificates at {where.text} ({_first_line(error)}): start it with"
            " `dask scheduler --protocol tls` and the same set; without certificates none is used"
        ) from None
    try:
        yield client
    finally:
        await client.close()


@asynccontextmanager
async def _own_cluster(count: int, settings: RunSettings) -> AsyncIterator[Any]:
    """Yield a cluster of throw-away processes of this machine, with certificates that live as long as it."""
    import dask
    from distributed import LocalCluster, Security

    # Dask opens a web server with its logs whether or not a dashboard is asked for; without routes it shows nothing.
    with dask.config.set({"distributed.scheduler.http.routes": [], "distributed.worker.http.routes": []}):
        cluster = await LocalCluster(
            n_workers=count,
            # A job mostly waits for its model, so threads are no measure of work; the worker's kernel slots are.
            threads_per_worker=max(4, math.ceil(settings.concurrency / count)),
            processes=True,
            protocol="tls",
            host="127.0.0.1",
            security=Security.temporary(),
            scheduler_kwargs={"dashboard_address": "127.0.0.1:0", "dashboard": False},
            worker_dashboard_address="127.0.0.1:0",
            asynchronous=True,
            silence_logs=logging.ERROR,
            preload=[_DEAF],
        )
    try:
        yield cluster
    finally:
        await cluster.close()


def _first_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0][:160]
