"""The owner's pool of workers: who may work, which jobs are out, and what happens when a worker or all of them are gone.

Dask's scheduler decides where a job goes and gives it to another worker when one dies. All talk between worker and owner goes
through two queues of the scheduler, so the owner's machine need not be reachable from the workers. Nothing here is a Dask
client: a sealed process is, behind `ClusterLink`, and what it passes on is read by `worker_words`.
"""

import asyncio
import math
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from workbench.agents.base import Grounding, GroundingFailure
from workbench.engine.leaves.job import GroundJob, JobOwner
from workbench.engine.run_settings import RunSettings
from workbench.engine.worker_place import WorkerPlace
from workbench.errors import UsageError
from workbench.formatting import single_line
from workbench.workers.certificates import client_certificate
from workbench.workers.cluster_link import ClusterLink, OrderFailed, WorkersGone
from workbench.workers.lease import JobService, WorkersLost
from workbench.workers.messages import WorkerBug, encode
from workbench.workers.own_cluster import own_cluster
from workbench.workers.worker_facts import Facts, clock_misfit, misfit
from workbench.workers.worker_words import BadWord, worker_message

#: Seconds for the scheduler to answer, for the first worker to come, and between two looks at who is there.
CONNECT, FIRST_WORKER, LOOK = 20.0, 60.0, 2.0
#: Seconds for processes of our own to start: each takes some 6 s of processor, and the machine may have other work.
OWN_START = 300.0
#: Seconds without any worker after which the run stops, resumable.
NO_WORKER = 120.0
#: Jobs that are out for each that can be worked on: a worker that is done has the next one at once.
_BACKLOG = 1.25
#: Answers that one lease may wait for; a leaf of ours waits for a few.
_MOST_WAITING = 1000


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
        self, requirements: Requirements, say: Callable[[str], None], *, no_worker: float = NO_WORKER
    ) -> None:
        self._link: Any = None
        self._requirements = requirements
        self._say = say
        self._no_worker = no_worker
        self._members = _Membership()
        self.inbox_name = f"workbench-owner-{secrets.token_hex(8)}"
        self._jobs: dict[str, JobService] = {}
        self._leases: dict[str, tuple[JobService, str]] = {}  # service and the worker's inbox, by lease
        self._sending: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Condition()  # who is there
        self._free = (
            asyncio.Condition()
        )  # by itself: a thousand leaves that wait are not woken by each that ends
        self._out = 0
        self._gone: BaseException | None = None
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self, link: Any, *, own: int = 0) -> None:
        """Check the workers that are there and begin to serve; ``own`` of them are processes of ours that are starting.

        Raises ``UsageError`` if none may work: with the reasons, or that none came.
        """
        self._link = link
        patience = OWN_START if own else FIRST_WORKER
        deadline = asyncio.get_running_loop().time() + patience
        while not self._members.fit:
            await self._look()
            # One of ours that ended while it was asked says nothing about the others, which are on their way.
            if len(self._members.refused) >= max(own, 1) and not self._members.fit:
                first, *others = self._members.refused.values()
                more = f"; {len(others)} more are refused, each with a line above" if others else ""
                raise UsageError(f"no worker may work: {first}{more}")
            if not self._members.fit:
                if asyncio.get_running_loop().time() > deadline:
                    raise UsageError(
                        f"none of the {own} worker processes was ready after {patience:g} s: this machine has too much to do"
                        if own
                        else f"the scheduler has no worker after {patience:g} s: start one with `dask worker`"
                    )
                await asyncio.sleep(0.2)
        self._tasks = [asyncio.ensure_future(self._watch())]

    async def aclose(self) -> None:
        """End all leases; workers that still hold one drop their work."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for service in list(self._jobs.values()):
            service.end()
        await asyncio.gather(*self._sending, return_exceptions=True)

    async def ground(self, job: GroundJob, owner: JobOwner) -> Grounding | GroundingFailure:
        """Have a worker do the job and return its outcome; raises what a grounding in this process would raise."""
        async with self._free:
            await self._free.wait_for(lambda: self._gone is not None or self._out < self._room())
            self._out += 1
        service = JobService(job, owner)
        name = f"ground-{job.run}-{job.node}-{job.trial}-{job.attempt}-{secrets.token_hex(16)}"
        self._jobs[name] = service
        try:
            return await self._until_done(name, service)
        finally:
            service.end()
            del self._jobs[name]
            self._release(service)
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
            order = {"job": name, "owner": self.inbox_name, "neighbours": _neighbours(self._members.fit)}
            # a job that is submitted again is another task to Dask
            key = f"{name}-{secrets.token_hex(4)}"
            task = asyncio.ensure_future(self._link.perform(order, key=key, workers=places))
            if await self._follow(task, service, places):
                return await service.outcome
            service.count_loss()
            if service.outcome.done():
                return await service.outcome

    async def _follow(self, task: "asyncio.Future[str]", service: JobService, places: list[str]) -> bool:
        """Wait for a job's outcome; False if it must be done again."""
        again = asyncio.ensure_future(service.again.wait())
        try:
            while True:
                change = asyncio.ensure_future(self._next_change())
                waiting: set[asyncio.Future[Any]] = {service.outcome, task, change, again}
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                change.cancel()
                if service.outcome.done():
                    return True
                if self._gone is not None:
                    return False
                if task.done():
                    word = single_line(_word(task))[:160]
                    # The worker gave the job up: it took us for dead, or was late with an old lease.
                    self._say(f"a worker gave up {service.job.node} ({word!a}); it is done again")
                    return False
                if again.done() or not set(places) & set(self._members.fit):
                    return False
        finally:
            service.again.clear()
            for each in (task, again):
                each.cancel()
            await asyncio.gather(task, again, return_exceptions=True)

    async def _next_change(self) -> None:
        async with self._changed:
            await self._changed.wait()

    # -- messages

    def take(self, data: dict[str, Any]) -> None:
        """Take a message of a worker to the service of its job; called by the link for each, in the order they came."""
        try:
            message = worker_message(data)
        except BadWord as error:
            lease = data.get("lease")
            self.disown(lease if isinstance(lease, str) else "", str(error))
            return
        lease, what = message["lease"], message["what"]
        if what == "begin":
            job = self._jobs.get(message["job"])
            if job is None:  # a job that ended while it was on its way to a worker
                self._send(message["inbox"], lease, what="over")
                return
            if lease in self._leases:
                self.disown(lease, "it begins twice")
                return
            self._leases[lease] = (job, message["inbox"])
        if lease not in self._leases:
            return
        service, inbox = self._leases[lease]
        if what != "begin" and service.lease != lease:
            self._send(inbox, lease, what="over")
        elif service.waiting > _MOST_WAITING:
            self.disown(lease, "it asks without end")
        else:
            service.receive(lease, message, _Reply(self, inbox, lease))

    def disown(self, lease: str, reason: str) -> None:
        """End a lease whose worker said what none of ours says, and have its job done again."""
        if lease not in self._leases:
            return
        service, inbox = self._leases.pop(lease)
        self._send(inbox, lease, what="over")
        if service.lease == lease:
            self._say(
                f"a worker of {service.job.node} is not listened to any more: {single_line(reason)[:160]}"
            )
            service.end()
            service.again.set()

    def refuse_large(self, lease: str, size: int) -> None:
        """End the lease of a worker that sent more than any answer is; called by the link."""
        self.disown(lease, f"it sent {size / 1e6:.0f} MB at once")

    def lose(self, error: WorkersGone) -> None:
        """Stop the run: nothing comes from any worker any more. Called by the link."""
        self._gone = self._gone or error
        self._begin(self._tell_all())

    def _send(self, inbox: str, lease: str, **message: Any) -> None:
        self._begin(self._send_to(inbox, lease, message))

    def _begin(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _send_to(self, inbox: str, lease: str, message: dict[str, Any]) -> None:
        with suppress(WorkersGone):  # the pool learns of it by `lose`
            await self._link.send(inbox, encode({"lease": lease, **message}))

    def _release(self, service: JobService) -> None:
        """Tell workers that still hold a lease on a job that it is over."""
        for lease, (other, inbox) in list(self._leases.items()):
            if other is service:
                del self._leases[lease]
                self._send(inbox, lease, what="over")

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
        except WorkersGone as error:
            self.lose(error)
        except (OrderFailed, BadWord) as error:
            self.lose(WorkersGone(f"the workers cannot be seen any more ({single_line(str(error))[:160]!a})"))

    async def _tell_all(self) -> None:
        for condition in (self._changed, self._free):
            async with condition:
                condition.notify_all()

    async def _look(self) -> None:
        """Read who is there from the scheduler, and check who is new."""
        workers = await self._link.members()
        members = self._members
        fresh = [name for name in workers if name not in members.fit and name not in members.refused]
        problems = await self._check(fresh, workers) if fresh else {}
        fit = {
            name: threads
            for name, threads in workers.items()
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

    async def _check(self, names: list[str], workers: Iterable[str]) -> dict[str, str | None]:
        """Return what speaks against each of these workers, None where nothing does."""
        needs = self._requirements
        described = await self._link.describe(
            names, needs.settings.to_json(), seal=needs.level is not None, neighbours=_neighbours(workers)
        )
        # By itself, after the imports and probes: the shorter the call, the narrower the bounds that it gives.
        before = datetime.now(UTC)
        clocks = await self._link.clocks(names)
        after = datetime.now(UTC)
        problems: dict[str, str | None] = {}
        for name in names:
            facts, time = described.get(name), clocks.get(name)
            try:
                if facts is None or time is None or not isinstance(facts.said, dict):
                    fault = next((each.failed for each in (facts, time) if each and each.failed), "no answer")
                    raise ValueError(fault)
                there = datetime.fromisoformat(str(time.said))
                problem = misfit(
                    needs.facts, Facts.from_json(facts.said), level=needs.level, keyed=needs.keyed
                ) or clock_misfit(before, there, after)
            except (ValueError, TypeError, OverflowError) as error:
                problem = f"cannot say what it is ({error!s:.250})"
            problems[name] = None if problem is None else _terminal_line(problem)
        return problems


@dataclass(frozen=True, slots=True)
class _Reply:
    """Sends a message to the worker that holds a lease."""

    pool: WorkerPool
    inbox: str
    lease: str

    async def __call__(self, **message: Any) -> None:
        await self.pool._send_to(self.inbox, self.lease, message)


def _neighbours(workers: Iterable[str]) -> int:
    """Return how many workers the fullest machine has: they share its cores."""
    hosts = Counter(name.rpartition(":")[0] for name in workers)
    return max(hosts.values(), default=1)


def _terminal_line(text: str) -> str:
    """Return a worker's words as a line for a terminal."""
    return "".join(each if each.isprintable() else "?" for each in single_line(text))[:400]


def _word(task: "asyncio.Future[str]") -> str:
    """Return a worker's word at the end of a job; raises what Dask or the worker says went wrong."""
    try:
        return task.result()
    except OrderFailed as error:
        if error.kind == "KilledWorker":
            raise WorkersLost(f"its workers died one after another: {_terminal_line(str(error))}") from error
        raise WorkerBug(_terminal_line(str(error))) from error


@asynccontextmanager
async def open_pool(
    where: WorkerPlace,
    requirements: Requirements,
    *,
    certificates: Path,
    level: str,
    say: Callable[[str], None],
    no_worker: float = NO_WORKER,
) -> AsyncIterator[WorkerPool]:
    """Yield the pool of a place for workers; ``level`` is the seal of the process that speaks to them.

    Raises
    ------
    UsageError
        No certificates, no scheduler that speaks TLS with them, or no worker that may work.
    """
    async with AsyncExitStack() as stack:
        if where.count is not None:
            # A job mostly waits for its model, so threads are no measure of work; the worker's kernel slots are.
            threads = max(4, math.ceil(requirements.settings.concurrency / where.count))
            address, certificate = await stack.enter_async_context(own_cluster(where.count, threads=threads))
        else:
            certificate = client_certificate(certificates)
            host, _, port = where.text.removeprefix("dask://").rpartition(":")
            address = (host.strip("[]"), int(port))
        pool = WorkerPool(requirements, say, no_worker=no_worker)
        link = ClusterLink(address, on_message=pool.take, on_refused=pool.refuse_large, on_gone=pool.lose)
        stack.push_async_callback(_close_pool, pool, link)
        try:
            timeout = CONNECT if where.count is None else OWN_START
            await link.open(certificate, inbox=pool.inbox_name, level=level, timeout=timeout)
        except WorkersGone as error:
            raise UsageError(
                f"no scheduler speaks TLS with these certificates at {where.text} ({_terminal_line(str(error))[:200]}): start"
                " it with `dask scheduler --protocol tls` and the same set; without certificates none is used"
            ) from None
        try:
            await pool.start(link, own=where.count or 0)
        except (WorkersGone, OrderFailed, BadWord) as error:
            raise UsageError(f"no worker may work: {_terminal_line(str(error))[:300]}") from None
        yield pool


async def _close_pool(pool: WorkerPool, link: ClusterLink) -> None:
    async def both() -> None:
        await pool.aclose()
        await link.aclose()

    await asyncio.shield(both())
