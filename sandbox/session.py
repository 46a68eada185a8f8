"""Run a session: one sealed kernel at a time, and the journal of everything that ran on it."""

import asyncio
import contextlib
import logging
import signal
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from proxies.json_text import Row
from sandbox.cell_library import CellLibrary, named_library
from sandbox.errors import JournalBroken, KernelDied, SessionClosed
from sandbox.kernels.client import CellRun, KernelClient
from sandbox.kernels.kernel import Kernel
from sandbox.kernels.kernel_pool import ReadyKernel
from sandbox.limits.disk import DiskWatch
from sandbox.limits.memory import MemoryWatch, end_children
from sandbox.limits.usage import ResourceUsage, SessionUsage, cpu_seconds
from sandbox.record.cell_results import cell_result, exceeded_afterwards
from sandbox.record.journal import Journal, fold, read_lines, result_to_json, wedging
from sandbox.record.passive import passive_outputs, passive_text
from sandbox.record.session_notebook import render_notebook, write_notebook
from sandbox.types import ApiCaller, CellResult, JournalCell, SessionSpec
from sandbox.wire import WireServer

_log = logging.getLogger(__name__)
_FIRST = asyncio.FIRST_COMPLETED
_LAST_WORDS = 0.05  # seconds for what a dead kernel printed to reach us
_WATCH_GRACE = 1.0  # seconds from the interrupt to the kill where a watch says too much; memory goes fast
_BEGINS_IN = 5.0  # seconds until a kernel says that it took up a cell
_END_GRACE = 0.5  # seconds for a kernel whose channel ended to end by itself, so that we see how it did
GUARD_INTERVAL = 0.5  # seconds between two looks at the disk while no cell runs
_SESSION_FACTOR = 10  # a session may show and hold so many times what a cell may
#: Of the seconds of a cell: one that was stopped and took less processor time than that was waiting.
_SILENT = 0.05
_PROBE_SECONDS = 5.0  # for a kernel to print nothing; it takes a millisecond
_LARGE = 256 << 10  # bytes of output that are written to the journal in a thread
RENDER_AFTER = 1.0  # seconds after a cell, so that a burst of cells is rendered once

#: Starts (or claims) a connected kernel for a session.
KernelSource = Callable[[SessionSpec], Awaitable[ReadyKernel]]


class Session:
    """Runs the cells of one notebook on a sealed kernel and journals them; made by `Sandbox.open`.

    Every cell's source is on the disk before it runs, its result before it is returned. A cell that fails, that the
    clock stops or that kills its kernel is a `CellResult`; after a death the next cell gets a fresh kernel, in which the
    earlier cells were run again.

    Raises `KernelStartFailed`: No kernel could be started for the next cell. Raises `SessionClosed`: It was closed.
    """

    def __init__(self, spec: SessionSpec, call_api: ApiCaller, kernels: KernelSource) -> None:
        self.spec = spec
        self._call_api = call_api
        self._kernels = kernels
        self._journal = Journal(spec.journal)
        self.cells: list[JournalCell] = []
        #: what bounds the memory of the kernel with all it starts: ``cgroup v1``, ``cgroup v2`` or ``watched``
        self.memory = "watched"
        self._cell_count = 0
        #: the sealed kernel that runs the cells; None until the first cell and after the last
        self.kernel: Kernel | None = None
        self._client: KernelClient | None = None
        self._wire: WireServer | None = None
        self._memory: MemoryWatch | None = None
        self._watches: list[MemoryWatch | DiskWatch] = []
        self._cut: list[Row] = []
        self._written = 0  # characters of output in the last result
        self._wire_task: asyncio.Task[None] | None = None
        self._render_task: asyncio.Task[None] | None = None
        self._guard_task: asyncio.Task[None] | None = None
        self._busy = asyncio.Lock()
        self._closing = asyncio.Event()
        self._late: Counter[str] = Counter()
        self._running: CellRun | None = None
        self._usage = SessionUsage()
        self._silent: str | None = None  # the last cell, where it was stopped and had taken no processor time

    async def start(self) -> None:
        """Start the kernel; an existing journal is resumed. `Sandbox.open` calls it once.

        Raises `JournalBroken`: The journal's lines do not chain, or a line lacks what its kind needs; the library of its cells is gone.
        Raises `KernelStartFailed, KernelDied`: No kernel, or one that died when the session's earlier cells were run again in it.
        """
        lines = read_lines(self.spec.journal)
        if lines:
            self._resume(lines)
        else:
            clock = {} if self.spec.clock is None else {"clock": self.spec.clock.isoformat()}
            metadata = dict(self.spec.metadata)
            # no sync of its own: nothing is lost with it, and the sync of the first result puts it on the disk
            self._journal.append(
                "open", sync=False, name=self.spec.name, title=self.spec.title, metadata=metadata, **clock
            )
        self._file_library(named_library(lines))
        await self._start_kernel("resumed" if self.cells else "opened")

    def _file_library(self, named: str | None) -> None:
        """File the library beside the journal and name it there; resumed cells keep the one already named."""
        folder, library = self.spec.journal.parent, self.spec.library
        if named is not None and (library is None or library.digest != named):
            self.spec = replace(self.spec, library=CellLibrary.read(folder, named))
        elif library is not None:
            library.file_in(folder)
            if named is None:
                self._journal.append("library", sync=False, sha256=library.digest)

    async def markdown(self, source: str) -> JournalCell:
        """Append a text cell and return it, on the disk. Raises `SessionClosed`, `AnotherWriter`."""
        self._check_open()
        async with self._busy:
            source = source.encode("utf-8", "replace").decode()  # a lone surrogate fits no file
            passive = passive_text(source)
            cell = JournalCell(id=self._next_id(), kind="markdown", source=source, shown=passive)
            forms: Row = {"shown": passive} if passive else {}
            self._journal.append("markdown", id=cell.id, source=source, **forms)
            self.cells = [*self.cells, cell]
            self._render_soon()
            return cell

    async def execute(self, source: str, *, fixes: str | None = None) -> CellResult:
        """Append a code cell, run it and return its result, on the disk.

        An exception in the cell, a limit and a dead kernel are no errors here but a `CellResult` with that status. If the
        cell before left something running that broke a limit since, that cell's result is corrected first.

        Raises `ValueError`: No cell has the id `fixes`. Raises `SessionClosed, AnotherWriter, KernelStartFailed, KernelDied`: Nothing was
        run. Raises `Exception`: Whatever the `ApiCaller` raised beside the broker's own errors: a fault of ours, after the cell was
        recorded.
        """
        self._check_open()
        if fixes is not None and not any(cell.id == fixes for cell in self.cells):
            raise ValueError(f"no cell {fixes!r} in session {self.spec.name}")
        async with self._busy:
            await self._blame_earlier()
            if self.kernel is None or not self.kernel.process.alive:
                await self._start_kernel("died")
            self._record_late()
            source = source.encode("utf-8", "replace").decode()  # a lone surrogate fits no file
            cell = JournalCell(id=self._next_id(), kind="code", source=source)
            index = sum(1 for earlier_cell in self.cells if earlier_cell.kind == "code")
            # one sync a cell: this line outlives a kill of ours, and the sync of the result puts both on the disk
            self._journal.append("code", sync=False, id=cell.id, source=source, fixes=fixes)
            earlier = [replace(c, superseded=True) if c.id == fixes else c for c in self.cells]
            self.cells = [*earlier, cell]
            result, usage = await self._run(cell, index)
            self._usage.record(cell.id, usage)
            result = replace(result, wedged=await self._wedging_cell(result, usage))
            cut: Row = {"usage": asdict(usage)}
            if self._cut:
                cut["rest"] = self._cut
            if self._written < _LARGE:
                passive = self._record(cell.id, result, **cut)
            else:
                passive = await asyncio.to_thread(self._record, cell.id, result, **cut)
            self.cells = [
                replace(c, result=result, shown=passive) if c.id == cell.id else c for c in self.cells
            ]
            self._render_soon()
            wire = self._wire
            if result.status == "died":
                await self._stop_kernel()
            if result.wedged is not None:
                await self._start_kernel("wedged")
            # raised only now: whatever the caller does with it, the journal has the cell
            if wire is not None and wire.failure is not None:
                failure, wire.failure = wire.failure, None
                raise failure
            return result

    async def interrupt(self) -> None:
        """Stop the running cell with a KeyboardInterrupt; the kernel stays."""
        run = self._running
        if run is None:
            return
        # a kernel that has not yet begun the cell would take it for nothing
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(run.began.wait(), _BEGINS_IN)
        if self.kernel is not None and self._running is run:
            run.interrupted = True
            self.kernel.interrupt()

    async def close(self) -> None:
        """End the kernel and render the notebook; a second call does nothing.

        Raises `OSError, AnotherWriter`: The last line or the notebook could not be written; kernel and file are closed all the same.
        """
        if self.closed:
            return
        self._closing.set()
        if self._render_task is not None:
            # Waited for and not cancelled: its thread would go on, and put a notebook without the last cell's outputs in
            # the place of ours when it is the slower of the two.
            await asyncio.gather(
                self._render_task, return_exceptions=True
            )  # what it raises, our own raises too
        await self._stop_kernel()
        try:
            self._record_late()
            self._journal.append("close", **self._claim_usage())
        finally:  # a full disk, or another writer: the file is closed all the same
            self._journal.close()
        await asyncio.to_thread(self._render)

    @property
    def closed(self) -> bool:
        """Whether the session was closed."""
        return self._closing.is_set()

    def _check_open(self) -> None:
        if self.closed:
            raise SessionClosed(f"session {self.spec.name} is closed")

    def _next_id(self) -> str:
        self._cell_count += 1
        return f"cell-{self._cell_count:03d}"

    def _resume(self, lines: list[Row]) -> None:
        """Load the cells from the journal; a code cell without a result is voided, for its author to run again."""
        self._cell_count = sum(1 for line in lines if line["kind"] in ("code", "markdown"))
        fixes = {line["id"]: line.get("fixes") for line in lines if line["kind"] == "code"}
        for cell in fold(lines):
            if cell.kind == "code" and cell.result is None:
                self._journal.append("void", id=cell.id, fixes=fixes[cell.id])
                lines.append({"kind": "void", "id": cell.id, "fixes": fixes[cell.id]})
        self.cells = fold(lines)
        for line in lines:
            if "usage" in line:
                try:
                    share = ResourceUsage.from_json(line["usage"])
                except ValueError as error:
                    raise JournalBroken(f"{self.spec.journal.name}: {error}") from error
                self._usage.record(line.get("id", f"line {line['seq']}"), share)

    async def _start_kernel(self, why: str) -> None:
        await self._stop_kernel()
        unclaimed = self._claim_usage()
        ready = await self._kernels(self._spec_for_next_kernel())
        kernel = ready.kernel
        self.kernel, self._client = kernel, ready.client
        limits = self.spec.limits
        files = limits.memory_bytes(self.spec.isolation) - (limits.memory_mb << 20)
        self._memory = MemoryWatch(kernel, limits.memory_mb, files)
        self._watches = [self._memory]
        if kernel.endpoints.home is not None and self.spec.isolation != "none":
            self._watches.append(DiskWatch(kernel, kernel.endpoints.home, limits.disk_mb, limits.files))
            self._guard_task = asyncio.create_task(self._guard_disk(kernel), name=f"disk-{self.spec.name}")
        self._wire = WireServer(kernel.api, self._call_api, self.spec.limits, used=self._usage.total)
        self._wire_task = asyncio.create_task(self._wire.run(), name=f"wire-{self.spec.name}")
        self.memory = "watched" if kernel.group is None else f"cgroup v{kernel.group.version}"
        # synced where it counts something; else as the first line of a journal
        self._journal.append(
            "kernel",
            sync=bool(unclaimed),
            why=why,
            isolation=self.spec.isolation,
            memory=self.memory,
            **unclaimed,
        )
        await self._restore()

    def _claim_usage(self) -> Row:
        """Return the calls that threads made after their cell had ended, as a field for the journal."""
        wire, self._wire = self._wire, None
        if wire is None:
            return {}
        counted = self._usage.total
        late = ResourceUsage(
            calls=wire.calls - counted.calls, answer_bytes=wire.answer_bytes - counted.answer_bytes
        )
        if late == ResourceUsage():
            return {}
        self._usage.record(f"line {self._journal.sequence}", late)
        return {"usage": asdict(late)}

    def _spec_for_next_kernel(self) -> SessionSpec:
        """Return the specification less the processor time of cells that will not run again.

        The others take their time anew there, and so are counted by its own limit.
        """
        limits = self.spec.limits
        not_repeated = [self._usage.of(cell.id) for cell in self.cells if not _runs_again(cell)]
        # whole seconds, and less than one is none: a kernel in waiting fits as long as nothing is taken off
        spent = int(ResourceUsage.total(not_repeated).cpu_seconds)
        if not spent:
            return self.spec
        return replace(self.spec, limits=replace(limits, cpu_seconds=max(1, limits.cpu_seconds - spent)))

    async def _restore(self) -> None:
        """Run the session's cells again in a fresh kernel, for their effect; their outputs are not recorded."""
        index = -1
        for position, cell in enumerate(self.cells):
            if cell.kind != "code":
                continue
            index += 1
            if not _runs_again(cell) or cell.id in wedging(self.cells):
                continue
            result, _ = await self._run(cell, index, repeats=self._usage.of(cell.id).calls)
            self._journal.append("replayed", id=cell.id, status=result.status)
            self.cells[position] = replace(cell, replayed=True)
            if result.status == "died":
                raise KernelDied(
                    f"session {self.spec.name}: the kernel died when cell {cell.id} was run again"
                )

    async def _stop_kernel(self) -> None:
        client, kernel, wire = self._client, self.kernel, self._wire_task
        guard = self._guard_task
        # taken before the first await: a second caller then finds nothing to stop
        self._client = self.kernel = self._wire_task = self._guard_task = None
        # the guard itself comes here when it blames a cell, and must not wait for its own end
        if guard is not None and guard is not asyncio.current_task():
            guard.cancel()
            await asyncio.gather(guard, return_exceptions=True)
        if wire is not None:
            wire.cancel()
            await asyncio.gather(wire, return_exceptions=True)
        if client is not None:
            await client.close()
        if kernel is not None:
            await kernel.kill()

    async def _run(
        self, cell: JournalCell, index: int, *, repeats: int = 0
    ) -> tuple[CellResult, ResourceUsage]:
        """Run a cell; return its result and its use. `repeats`: its calls that were counted when it first ran."""
        assert self._client is not None and self.kernel is not None and self._wire is not None
        assert self._memory is not None
        limits, kernel, client, wire = self.spec.limits, self.kernel, self._client, self._wire
        before = self._usage.total
        wire.begin(index, repeated=repeats)
        calls = wire.cell
        showable = max(0, _SESSION_FACTOR * limits.output_bytes - before.shown)
        cuttable = max(0, _SESSION_FACTOR * limits.journal_bytes - before.cut)
        pid, busy_before, busy_after = kernel.process.pid, cpu_seconds(kernel.process.pid), None
        started = time.perf_counter()
        run = client.start(
            cell.source,
            max_shown=min(limits.output_bytes, showable),
            max_cut=min(limits.journal_bytes, cuttable),
        )
        self._running = run
        finished: asyncio.Future[Any] = asyncio.ensure_future(client.finish(run))
        exited: asyncio.Future[Any] = asyncio.ensure_future(
            asyncio.shield(asyncio.wrap_future(kernel.process.exited))
        )
        watches: dict[asyncio.Future[Any], MemoryWatch | DiskWatch] = {
            asyncio.ensure_future(watch.wait_exceeded()): watch for watch in self._watches
        }
        either = {finished, exited}
        limit: str | None = None
        try:
            done, _ = await asyncio.wait({*either, *watches}, timeout=limits.cell_seconds, return_when=_FIRST)
            exceeded = [watches[task] for task in done if task in watches]
            # a watch that speaks up in the turn in which the cell ends is left to the look before the next cell
            must_kill = must_interrupt = not done & either
            if must_interrupt:
                limit = exceeded[0].name if exceeded else "cell_seconds"
                grace = min(limits.grace_seconds, _WATCH_GRACE) if exceeded else limits.grace_seconds
                run.interrupted = True
                kernel.interrupt()
                done, _ = await asyncio.wait(either, timeout=grace, return_when=_FIRST)
                must_kill = not done & either
                if exceeded and not must_kill and not exited.done():
                    must_kill = not await self._relieve(exceeded[0])
            busy_after = cpu_seconds(pid)  # before a kill, after which nobody knows it
            if must_kill:
                kernel.process.signal(signal.SIGKILL)
                await asyncio.wait({exited})
            if run.broken.is_set():
                # the end of a channel and the end of the process are reported in either order
                await asyncio.wait({exited}, timeout=_END_GRACE)
                if exited.done():
                    run.ended = ""  # it ended by itself, and its exit code says how
                else:
                    kernel.process.signal(signal.SIGKILL)
                    await asyncio.wait({exited})
            code = None
            if exited.done():
                code = kernel.process.exited.result()
                await asyncio.sleep(_LAST_WORDS)
        finally:
            self._running = None
            for task in (*either, *watches):
                task.cancel()
            await asyncio.gather(*either, *watches, return_exceptions=True)
        self._cut = run.cut
        self._written = min(run.shown, run.max_shown) + run.dropped - run.lost
        duration = time.perf_counter() - started
        # read after every cell: an event that stayed unread would be blamed on the next one
        stopped = self._memory.enforced()
        if stopped is not None and code is None:
            await end_children(kernel)
            self._memory.enforced()
        limit = limit or stopped
        if cell.result is None:
            client.end(run, partial(self._count_late, cell.id))
        else:  # run again for its effect
            client.end(run, lambda _: None)
        busy = duration if busy_before is None or busy_after is None else busy_after - busy_before
        usage = ResourceUsage(
            # also what threads of earlier cells asked for since those had ended
            calls=wire.calls - before.calls,
            answer_bytes=wire.answer_bytes - before.answer_bytes,
            shown=run.shown,
            cut=run.dropped - run.lost,
            cpu_seconds=round(busy, 4),
        )
        result = cell_result(cell.id, run, code, limit or calls.limit, duration, calls.count, calls.hashes)
        return result, usage

    async def _wedging_cell(self, result: CellResult, usage: ResourceUsage) -> str | None:
        """Return the cell that left the kernel without answers; asked at the second silent time-out in a row.

        A cell that only waits is silent too, so the kernel is asked to print nothing first: one without its stdout, or with a lock
        that nobody opens, does not come back from that.
        """
        silent = result.status == "timeout" and usage.cpu_seconds < _SILENT * self.spec.limits.cell_seconds
        before, self._silent = self._silent, result.cell_id if silent else None
        client = self._client
        if not silent or before is None or client is None:
            return None
        probe = client.start("print(end='')", max_shown=0, silent=True)
        try:
            await asyncio.wait_for(client.finish(probe), min(_PROBE_SECONDS, self.spec.limits.cell_seconds))
        except TimeoutError:
            pass
        else:
            return None
        self._silent = None
        place = next(number for number, cell in enumerate(self.cells) if cell.id == before)
        ran = [cell.id for cell in self.cells[:place] if _runs_again(cell)]
        # without a cell before them it is the first of the two that took what the kernel works with
        return ran[-1] if ran else before

    async def _relieve(self, watch: MemoryWatch | DiskWatch) -> bool:
        """Kill the cells' processes; return whether the kernel alone then stays within the watch's limit."""
        assert self.kernel is not None
        await end_children(self.kernel)
        return await watch.recovers(_WATCH_GRACE)

    async def _guard_disk(self, kernel: Kernel) -> None:
        """Stop what an ended cell left writing: between cells nothing else watches the disk.

        The cell before is blamed at once, as at the begin of the next one.
        """
        watch = self._watches[-1]
        while kernel.process.alive:
            await asyncio.sleep(GUARD_INTERVAL)
            if self._busy.locked() or not await watch.exceeded():
                continue  # a cell that runs has a watch of its own
            async with self._busy:
                # the cell that held the lock may have got a fresh kernel, with a guard of its own
                if self.kernel is kernel:
                    await self._blame_earlier()

    async def _blame_earlier(self) -> None:
        """Blame the previous cell if a limit is exceeded before the next one starts.

        Its result is corrected, in the journal too. What it started is killed, and the kernel where that is not enough;
        the cell to come then runs in a fresh one.
        """
        kernel, memory = self.kernel, self._memory
        ran = [cell for cell in self.cells if cell.kind == "code" and cell.result is not None]
        if kernel is None or memory is None or not ran:
            return
        limit: str | None = None
        fits = True
        for watch in self._watches:
            if fits and kernel.process.alive and await watch.exceeded():
                limit = watch.name
                fits = await self._relieve(watch)
        # read last, since a look at the disk may take long
        killed = memory.enforced()
        limit = limit or killed
        if limit is None:
            return
        if killed is not None:
            await end_children(kernel)
            memory.enforced()
            # it may be the kernel itself that the group killed just now
            with contextlib.suppress(TimeoutError):
                await kernel.wait(_WATCH_GRACE)
        died = not (fits and kernel.process.alive)
        earlier = ran[-1]
        assert earlier.result is not None
        result = exceeded_afterwards(earlier.result, limit, died=died)
        passive = self._record(earlier.id, result)
        self.cells = [
            replace(cell, result=result, shown=passive) if cell.id == earlier.id else cell
            for cell in self.cells
        ]
        if died:
            await self._stop_kernel()

    def _count_late(self, cell_id: str, characters: int) -> None:
        if characters:
            self._late[cell_id] += characters

    def _record_late(self) -> None:
        late, self._late = self._late, Counter()
        for cell_id, characters in late.items():
            self._journal.append("late", sync=False, id=cell_id, characters=characters)
        self.cells = [replace(cell, late=cell.late + late[cell.id]) for cell in self.cells]

    def _record(self, cell_id: str, result: CellResult, **fields: Any) -> Row:
        passive = passive_outputs(result.outputs)
        if passive:
            fields["shown"] = passive
        self._journal.append("result", id=cell_id, result=result_to_json(result), **fields)
        return passive

    def _render_soon(self) -> None:
        if self._render_task is None or self._render_task.done():
            self._render_task = asyncio.create_task(self._render_later(), name=f"render-{self.spec.name}")

    async def _render_later(self) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._closing.wait(), RENDER_AFTER)
            return  # closing renders by itself
        try:
            await asyncio.to_thread(self._render)
        except OSError as error:  # nothing is lost: the journal has it, and closing renders again and raises
            _log.warning("session %s: its notebook could not be written: %s", self.spec.name, error)

    def _render(self) -> None:
        metadata = {**self.spec.metadata, "session": self.spec.name, "isolation": self.spec.isolation}
        metadata |= {"memory": self.memory, "journal": self._journal.head}
        notebook = render_notebook(self.cells, title=self.spec.title, metadata=metadata)
        write_notebook(self.spec.notebook, notebook)


def _runs_again(cell: JournalCell) -> bool:
    """Whether a fresh kernel runs this cell again; a cell that hung or killed its kernel is left out."""
    return cell.kind == "code" and not cell.superseded and cell.result is not None and not cell.result.stopped
