"""Give jobs to the owner's workers and handle the loss of one or all of them.

Dask's scheduler decides where a job goes and gives it to another worker when one dies. All calls between worker and owner go
through two queues of the scheduler, so the owner's machine need not be reachable from the workers.
"""

import asyncio
import math
import secrets
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from distributed import KilledWorker, Queue

from workbench.agents.base import Grounding, GroundingFailure
from workbench.engine.leaves.grounding import Sitting
from workbench.engine.leaves.job import GroundJob
from workbench.engine.run_settings import RunSettings
from workbench.errors import ProviderError, UsageError
from workbench.models.errors import ModelError
from workbench.workers.calls import CallLine, Parcel, pack, unpack
from workbench.workers.cluster import cause
from workbench.workers.job_service import OFFERS, JobService
from workbench.workers.leaf_worker import Order, OwnerGone, describe, perform
from workbench.workers.worker_facts import Facts, clock_misfit, misfit, utc_now

#: Seconds for the first worker to come, and between two looks at who is there.
FIRST_WORKER, LOOK = 60.0, 2.0
#: Seconds for a worker to say what it is; its first imports take long where the machine is busy.
DESCRIBE = 120.0
#: Seconds without any worker after which the run stops, resumable.
NO_WORKER = 120.0
#: Jobs that are out for each that can be worked on: a worker that is done has the next one at once.
_BACKLOG = 1.25
#: Times that a job is given out anew after workers lost it: the fourth time its leaf waits for another sitting.
_MOST_LOSSES = 3


class WorkersGone(ProviderError):
    """No worker or no scheduler is left; finished work is kept."""


class WorkersLost(ModelError):
    """Every worker that took the job died; the leaf waits for another sitting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirements:
    """The requirements for workers of one sitting: the owner's facts, the level of its kernels (None: no kernel), keys."""

    settings: RunSettings
    facts: Facts
    level: str | None
    keyed: tuple[str, ...]


class WorkerPool:
    """The workers of one sitting behind a client of Dask; implements ``Workers``."""

    def __init__(
        self,
        client: Any,
        requirements: Requirements,
        say: Callable[[str], None],
        *,
        no_worker: float = NO_WORKER,
    ) -> None:
        self._client = client
        self._requirements = requirements
        self._say = say
        self._no_worker = no_worker
        self._fit: dict[str, int] = {}  # threads by address of those that may work
        self._refused: dict[str, str] = {}  # not asked again
        self._queue_name = f"workbench-owner-{secrets.token_hex(8)}"
        self._queues: dict[str, Any] = {}  # the workers', by name
        self._jobs: dict[str, JobService] = {}
        self._leases: dict[str, CallLine] = {}
        self._endings: set[asyncio.Task[Any]] = set()
        self._changed = asyncio.Condition()  # who is there
        self._free = asyncio.Condition()  # a thousand leaves that wait are not woken by each that ends
        self._out = 0
        self._gone: WorkersGone | None = None
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self, *, own: int = 0) -> None:
        """Check the workers that are there and start to serve; ``own`` of them are processes of ours.

        Raises ``UsageError`` if none may work: with the reasons, or that none came.
        """
        deadline = asyncio.get_running_loop().time() + FIRST_WORKER
        while True:
            await self._look()
            if self._fit:
                break
            # One of ours that ended while it was asked says nothing about the others, which are on their way.
            if len(self._refused) >= max(own, 1):
                first, *others = self._refused.values()
                more = f"; {len(others)} more are refused, each with a line above" if others else ""
                raise UsageError(f"no worker may work: {first}{more}")
            if asyncio.get_running_loop().time() > deadline:
                raise UsageError(
                    f"the scheduler has no worker after {FIRST_WORKER:g} s: start one with `dask worker`"
                )
            await asyncio.sleep(0.2)
        self._tasks = [asyncio.ensure_future(self._watch()), asyncio.ensure_future(self._read())]

    async def aclose(self) -> None:
        """End all leases."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for service in self._jobs.values():
            service.end()
        await asyncio.gather(*self._endings, return_exceptions=True)

    async def ground(self, job: GroundJob, owner: Sitting) -> Grounding | GroundingFailure:
        """Have a worker ground the job; raises what a grounding in this process would raise."""
        async with self._free:
            await self._free.wait_for(
                lambda: self._gone is not None or self._out < math.ceil(_BACKLOG * sum(self._fit.values()))
            )
            self._out += 1
        service = JobService(job, owner)
        name = f"ground-{job.run}-{job.node}-{job.trial}-{job.attempt}-{secrets.token_hex(4)}"
        self._jobs[name] = service
        try:
            for _ in range(_MOST_LOSSES):
                outcome = await self._perform(name, service)
                if isinstance(outcome, Exception):
                    raise outcome
                if outcome is not None:
                    return outcome
            raise WorkersLost(
                f"the evidence for {job.node} was begun {_MOST_LOSSES} times and never finished"
            )
        finally:
            del self._jobs[name]
            if service.line is not None:
                self._end_lease(service.line)
            service.end()
            async with self._free:
                self._out -= 1
                self._free.notify()

    async def _perform(
        self, name: str, service: JobService
    ) -> Grounding | GroundingFailure | Exception | None:
        """Submit a job once; None if it must be submitted again."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._gone is not None or self._fit)
        places = list(self._fit)
        order = Order(job=name, owner=self._queue_name, neighbours=_neighbours(places))
        future = self._client.submit(
            perform, pack(order), key=f"{name}-{secrets.token_hex(4)}", workers=places, pure=False
        )
        done = asyncio.ensure_future(future.result())
        none_left = asyncio.ensure_future(self._none_left(places))
        try:
            await asyncio.wait({done, none_left}, return_when=asyncio.FIRST_COMPLETED)
            if not done.done():
                if self._gone is not None:
                    raise self._gone
                return None
            if done.cancelled():  # as Dask calls jobs off whose scheduler is gone
                raise self._gone or WorkersGone("the scheduler of the workers has lost its jobs")
            packed = done.result()
            return None if packed is None else unpack(packed)
        except OwnerGone as error:  # the worker took us for dead
            self._say(f"a worker gave up {service.job.node} ({error}); it is done again")
            return None
        except KilledWorker as error:
            raise WorkersLost(
                f"every worker died while collecting the evidence for {service.job.node}"
            ) from error
        finally:
            for task in (done, none_left):
                task.cancel()
            await asyncio.gather(done, none_left, return_exceptions=True)
            future.release()

    async def _none_left(self, places: list[str]) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: self._gone is not None or not self._fit.keys() & set(places))

    # -- calls

    async def _read(self) -> None:
        try:
            queue = await Queue(self._queue_name, client=self._client)
            while True:
                self._take(unpack(await queue.get()))
        except (OSError, TimeoutError) as error:
            await self._lose(f"the scheduler of the workers cannot be reached any more ({cause(error)})")

    def _take(self, parcel: Parcel) -> None:
        if parcel.kind == "call" and parcel.content[0] == "begin":
            _, (name, queue_name, worker) = parcel.content
            service = self._jobs.get(name)
            line = CallLine(parcel.lease, lambda answer: self._put(queue_name, answer), service, OFFERS)
            if service is None:  # a job that ended while it was on its way to a worker
                self._end_lease(line)
                return
            if service.line is not None:
                self._end_lease(service.line)
            service.lease_to(line, worker)
            self._leases[parcel.lease] = line
            parcel = Parcel(parcel.lease, "call", parcel.number, ("begin", ()))
        if parcel.lease in self._leases:
            self._leases[parcel.lease].receive(parcel)

    async def _put(self, queue_name: str, parcel: Parcel) -> None:
        if queue_name not in self._queues:
            self._queues[queue_name] = await Queue(queue_name, client=self._client)
        await self._queues[queue_name].put(pack(parcel))

    def _end_lease(self, line: CallLine) -> None:
        """Tell a worker that its lease is over, without waiting for an answer."""
        self._leases.pop(line.lease, None)
        task = asyncio.ensure_future(line.tell("end"))
        self._endings.add(task)
        task.add_done_callback(self._endings.discard)

    # -- who is there

    async def _watch(self) -> None:
        loop = asyncio.get_running_loop()
        last_seen = loop.time()
        while self._gone is None:
            await asyncio.sleep(LOOK)
            try:
                await self._look()
            except (OSError, TimeoutError) as error:
                await self._lose(f"the workers cannot be seen any more ({cause(error)})")
            if self._fit:
                last_seen = loop.time()
            elif loop.time() - last_seen > self._no_worker:
                await self._lose(f"no worker has been there for {self._no_worker:g} s")

    async def _lose(self, reason: str) -> None:
        self._gone = self._gone or WorkersGone(reason)
        await self._tell_all()

    async def _tell_all(self) -> None:
        for condition in (self._changed, self._free):
            async with condition:
                condition.notify_all()

    async def _look(self) -> None:
        identity = await self._client.scheduler.identity(n_workers=-1)
        workers = {str(name): int(worker["nthreads"]) for name, worker in identity["workers"].items()}
        new = [name for name in workers if name not in self._fit and name not in self._refused]
        problems = dict(
            zip(new, await asyncio.gather(*(self._problem(name, workers) for name in new)), strict=True)
        )
        for name, problem in problems.items():
            if problem is not None:
                self._refused[name] = f"{name} {problem}"
                self._say(f"worker {self._refused[name]}; it gets no work")
        fit = {
            name: threads
            for name, threads in workers.items()
            if name in self._fit or (name in problems and problems[name] is None)
        }
        if fit != self._fit:
            self._fit = fit
            await self._tell_all()

    async def _problem(self, name: str, workers: Iterable[str]) -> str | None:
        """Explain why a worker cannot be used; None if it can."""
        needs = self._requirements
        try:
            async with asyncio.timeout(DESCRIBE):  # one that is stopped holds the others up no longer
                described = await self._client.run(
                    describe,
                    needs.settings.to_json(),
                    seal=needs.level is not None,
                    neighbours=_neighbours(workers),
                    workers=[name],
                )
                # By itself, after the imports and probes: the shorter the call, the narrower the bounds that it gives.
                before = datetime.now(UTC)
                clock = await self._client.run(utc_now, workers=[name])
        except Exception as error:  # of another version, or it ended while it was asked
            return f"cannot say what it is ({cause(error)})"
        return misfit(needs.facts, described[name], level=needs.level, keyed=needs.keyed) or clock_misfit(
            before, datetime.fromisoformat(clock[name]), datetime.now(UTC)
        )


def _neighbours(workers: Iterable[str]) -> int:
    hosts = Counter(name.rpartition(":")[0] for name in workers)
    return max(hosts.values(), default=1)
