"""What analyses have in common that are begun or go on: the engine around a run, its progress, its record, and how it is printed."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Annotated, Any

from workbench.errors import STOPPED, WorkbenchError
from workbench.operations.base import Home
from workbench.operations.blocks import Block, Remark
from workbench.operations.model_work import ModelWork
from workbench.operations.run_document import RecordProcess, RunDocument
from workbench.requests import Says

if TYPE_CHECKING:
    from pathlib import Path

    from workbench.engine.flow import Engine
    from workbench.engine.record.state import RunState
    from workbench.engine.run_settings import RunSettings
    from workbench.propositions import NodeId
    from workbench.store import Store


class RunWork(ModelWork):
    """Work on one run, in this process or in one of its own."""

    awaited = True

    detach: bool = False
    """Work in a process of its own: print the run id and return; see watch and stop."""
    quiet: Annotated[bool, Says(text="Show no progress.")] = False

    def show(self, document: RunDocument) -> Iterator[Block]:
        """Return the tree and what it rests on; a record that is still measured does not hold that up, and follows as it comes."""
        from workbench.engine.expected_cost import error_line
        from workbench.views.wording import later_record, record_lines

        run = document.run
        if self.detach:
            yield document["run_id"]
            return
        waiting = document.measured.pid is not None and run.record() is None
        yield from document.lines(waiting=waiting)
        if waiting:
            with suppress(KeyboardInterrupt):  # the answer stands, and the record is measured all the same
                document.measured.wait()
            record = run.record()
            yield from record_lines(record) if record else [later_record(run.run_id)]
        if run.state.finished and (line := error_line(run.state, run.model_calls, run.cost_usd)):
            yield Remark(line)

    @asynccontextmanager
    async def engine(
        self, home: Home, settings: RunSettings, level: str | None, **more: Any
    ) -> AsyncIterator[Engine]:
        """Open the engine of a sitting, whose progress the person sees; ``more`` is for ``open_engine``."""
        from workbench.engine.assembly import open_engine
        from workbench.workers.worker_choice import workers_at

        if self.quiet:
            home.hush()
        with home.run_progress(home.store, asks=settings.approve != "none") as listener:
            async with open_engine(
                home.store,
                settings,
                environ=home.environ,
                isolation=level,
                listener=listener,
                workers=workers_at(self.place()),
                answered=home.answered,
                note=_write_report,
                say=home.say,
                **more,
            ) as engine:
                yield engine

    async def goes_on_with(
        self,
        home: Home,
        run_id: str,
        level: str | None,
        *,
        leaves: Sequence[NodeId] = (),
        rebuy: bool = False,
    ) -> RunDocument:
        """Work on a stored run, or on these leaves of it, to its end."""
        from workbench.store.removal import began_at

        if self.detach:
            return self.detached(home, run_id, level, leaves=leaves, rebuy=rebuy)
        from workbench.operations.first_search import search_first

        await search_first(home, run_id)
        settings = home.state(run_id).settings
        async with self.engine(home, settings, level, began=began_at(home.store, run_id)) as engine:
            measured = record_process(home, run_id)
            await engine.work(run_id, only=leaves, rebuy=rebuy)
        return await ended(home, run_id, measured)

    def detached(
        self,
        home: Home,
        run_id: str,
        level: str | None,
        *,
        leaves: Sequence[NodeId] = (),
        rebuy: bool = False,
    ) -> RunDocument:
        """Start a process that goes on with a run, and return when that process has taken it."""
        from workbench.engine.detached import resume_detached

        process = resume_detached(
            home.store, run_id, isolation=level, workers=self.place(), leaves=leaves, rebuy=rebuy
        )
        if process.exit_code:
            line = process.line.removeprefix("workbench: ")
            failed = WorkbenchError(line or f"process {process.pid} ended at once")
            failed.exit_code = max(process.exit_code, 0) or STOPPED  # below 0: a signal
            raise failed
        if not process.in_time:
            log = home.store.folder(run_id) / "run.log"
            home.say(f"workbench: process {process.pid} has not taken up the run yet: see {log}")
        home.say(f"run {run_id} is running: process {process.pid}; `workbench watch {run_id}` shows it")
        return RunDocument.of(home.store, home.state(run_id))


def _write_report(store: Store, state: RunState) -> Path:
    # Loaded when the run is over: its first number need not wait for what writes its last page.
    from workbench.reports.note_page import write_report

    return write_report(store, state)


def record_process(home: Home, run_id: str) -> RecordProcess:
    """Start measuring the record of a run that is worked on from now."""
    from workbench.engine.detached import RECORD_SECONDS, record_beside

    home.run = run_id
    return RecordProcess(record_beside(home.store, run_id), time.monotonic() + RECORD_SECONDS)


async def ended(home: Home, run_id: str, measured: RecordProcess) -> RunDocument:
    """Return the document of a run whose engine is closed."""
    from workbench.annotations.outcomes import resolve_when_finished

    await resolve_when_finished(home.store, run_id)
    if home.as_json:
        measured.wait()
    document = RunDocument.of(home.store, home.state(run_id))
    document.measured = measured
    return document
