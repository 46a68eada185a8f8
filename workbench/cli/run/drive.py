"""Working on a run from the command line: what ``analyze``, ``resume`` and ``demo`` share."""

import asyncio
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import typer

from proxies.asof.clock import Cutoff
from workbench.annotations.outcomes import resolve_when_finished
from workbench.cli.common import (
    at_terminal,
    echo,
    emit_json,
    fail,
    one_line,
    open_store,
    say,
)
from workbench.cli.run.claim_choice import claim_as_read
from workbench.cli.run.terminal_answers import TerminalAnswers, can_answer
from workbench.cli.run.terminal_progress import shown_progress
from workbench.cli.signals import stop_signals
from workbench.engine.approvals import check_answerable
from workbench.engine.assembly import open_engine
from workbench.engine.detached import RECORD_SECONDS, record_beside, resume_detached, wait_for_record
from workbench.engine.hindsight import hindsight
from workbench.engine.new_run import new_run
from workbench.engine.plan import cost_line, error_line
from workbench.engine.record.fold import load_state
from workbench.engine.record.recorder import Listener
from workbench.engine.record.state import RunState
from workbench.engine.run_prompts import rebuys
from workbench.engine.run_settings import RunSettings
from workbench.engine.run_texts import cut_lines
from workbench.engine.worker_place import WorkerPlace
from workbench.errors import BUG, ISOLATION, PROVIDER, STOPPED, USAGE, UsageError
from workbench.expected_errors import EXPECTED, exit_code
from workbench.models.model_list import require_key
from workbench.propositions import NodeId
from workbench.questions.readings.choice import ReadClaim
from workbench.reports.note_page import write_report
from workbench.sources.own_store import first_shared
from workbench.store import Store, StoredEvent
from workbench.store.removal import began_at
from workbench.views.run_view import view
from workbench.views.wording import later_record, record_lines, run_lines
from workbench.workers.worker_choice import workers_at


@dataclass(frozen=True, slots=True)
class Ended:
    """How work on a run ended: its id if one was opened, what ended it early, and the process that measures its record."""

    run_id: str | None
    error: BaseException | None = None
    record: int | None = None
    #: Until when (``time.monotonic``) a command waits for that process.
    patience: float = 0.0

    def wait(self) -> None:
        """Return when the record is there, or when the time for it is over."""
        wait_for_record(self.record, self.patience - time.monotonic())


def analyze_claim(
    statement: str,
    cutoff: str,
    settings: RunSettings,
    *,
    plan_only: bool = False,
    as_json: bool = False,
    detach: bool = False,
    workers: WorkerPlace | None = None,
    reading: int | None = None,
    yes: bool = False,
) -> str:
    """Open a run for a claim, work on it, print it, and return its id; leaves with the exit code of an early end.

    With ``detach`` another process works on it, and this returns when that has taken it up.
    """
    if not settings.api_base:  # a server of one's own may want none
        require_key(settings.model, os.environ)  # before the run is opened: what is refused leaves nothing
    instant = Cutoff.parse(cutoff)
    read = claim_as_read(statement, instant, settings, reading=reading, yes=yes, as_json=as_json)
    claim = (read, instant)
    check_answerable(settings, answered=can_answer(), workers=workers is not None)
    store = open_store()
    if detach:
        run_id = asyncio.run(_open_run(store, claim, settings))
        detach_run(store, run_id, isolation=settings.isolation, workers=workers)
        return run_id
    ended = drive(
        store, settings, isolation=settings.isolation, workers=workers, claim=claim, plan_only=plan_only
    )
    return finish(store, ended, plan_only=plan_only, as_json=as_json)


async def _open_run(store: Store, claim: tuple[ReadClaim, Cutoff], settings: RunSettings) -> str:
    async with open_engine(
        store, settings, environ=os.environ, isolation=settings.isolation, answered=True
    ) as engine:
        read, cutoff = claim
        await engine.check(read.statement, cutoff, settings)
        keyed = replace(settings, keyed=engine.keyed)
        run_id = new_run(store, read.statement, cutoff, keyed, read_as=read.read_as)
    _say_cut(store, run_id)
    return run_id


def _say_cut(store: Store, run_id: str) -> None:
    for line in cut_lines(load_state(store, run_id).cut):
        say(line)


def may_buy_again(store: Store, runs: Sequence[str], *, yes: bool) -> bool:
    """Say what going on with runs buys again because requests on record cannot be made any more, and ask; whether it may.

    Leaves with exit 2 where nobody says yes: no model has been asked by then.
    """
    dues = rebuys(store, runs)
    for due in dues:
        say(due.line)
    if dues and not yes:
        if not at_terminal():
            raise UsageError("nothing was bought: --yes goes on all the same")
        if not typer.confirm("Go on?", err=True):
            raise UsageError("nothing was bought")
    return yes or bool(dues)


def detach_run(
    store: Store,
    run_id: str,
    *,
    isolation: str | None,
    workers: WorkerPlace | None = None,
    leaves: Sequence[NodeId] = (),
    rebuy: bool = False,
) -> None:
    """Start a process that goes on with a run, print the run's id, and return when that process has taken it."""
    process = resume_detached(store, run_id, isolation=isolation, workers=workers, leaves=leaves, rebuy=rebuy)
    if process.exit_code:
        say(process.line or f"workbench: process {process.pid} ended at once")
        raise typer.Exit(process.exit_code if process.exit_code > 0 else STOPPED)
    if not process.in_time:
        say(
            f"workbench: process {process.pid} has not taken up the run yet: see {store.folder(run_id) / 'run.log'}"
        )
    say(f"run {run_id} is in work: process {process.pid}; `workbench watch {run_id}` shows it")
    echo(run_id)


def drive(
    store: Store,
    settings: RunSettings,
    *,
    isolation: str | None,
    workers: WorkerPlace | None = None,
    run_id: str | None = None,
    claim: tuple[ReadClaim, Cutoff] | None = None,
    plan_only: bool = False,
    leaves: Sequence[NodeId] = (),
    rebuy: bool = False,
) -> Ended:
    """Work on a run, or on a new one for a claim, and return how that ended.

    ``leaves`` keeps it to these leaves of the run; ``rebuy`` as of ``Engine.work``.

    The id is None if no run was opened, the error None if the work came to its end. A bug of ours is raised: a damaged
    store or a prompt that does not fit needs its traceback.
    """
    try:
        with shown_progress(store, asks=settings.approve != "none") as show:
            ended = asyncio.run(
                _work(
                    store,
                    settings,
                    isolation=isolation,
                    workers=workers,
                    run_id=run_id,
                    claim=claim,
                    plan_only=plan_only,
                    leaves=leaves,
                    rebuy=rebuy,
                    show=show,
                )
            )
    except KeyboardInterrupt as stop:  # before or after the time in which Ctrl-C cancels the work
        return Ended(run_id, stop)
    if ended.error is not None and _exit_code(ended.error) == BUG:
        raise ended.error
    return ended


async def _work(
    store: Store,
    settings: RunSettings,
    *,
    isolation: str | None,
    workers: WorkerPlace | None,
    run_id: str | None,
    claim: tuple[ReadClaim, Cutoff] | None,
    plan_only: bool,
    leaves: Sequence[NodeId],
    rebuy: bool,
    show: Listener,
) -> Ended:
    task = asyncio.current_task()
    assert task is not None
    loop = asyncio.get_running_loop()
    # A signal cancels the task instead of raising in the middle of it: cancelled groundings end their kernels on the way
    # out, and SIGTERM, which would end this process at once, leaves none behind either.
    for number in stop_signals():
        loop.add_signal_handler(number, task.cancel)
    answers = TerminalAnswers(store) if settings.approve != "none" and at_terminal() else None

    def listener(state: RunState, stored: StoredEvent) -> None:
        show(state, stored)
        if answers is not None:
            answers.listen(state, stored)

    answering = None if answers is None else loop.create_task(answers.work())
    try:
        async with open_engine(
            store,
            settings,
            environ=os.environ,
            isolation=isolation,
            began=began_at(store, run_id) if run_id is not None else None,
            listener=listener,
            workers=workers_at(workers),
            answered=can_answer(),
            note=write_report,
            say=say,
        ) as engine:
            if claim is not None:
                read, cutoff = claim
                await engine.check(read.statement, cutoff, settings)
                keyed = replace(settings, keyed=engine.keyed)
                run_id = new_run(store, read.statement, cutoff, keyed, read_as=read.read_as)
                say(f"run {run_id}  {settings.model}  cutoff {cutoff.text}")
                for line in first_shared(store, settings.model if not settings.stays_here else ""):
                    say(line)
                _say_cut(store, run_id)
                for line in hindsight(settings, cutoff):
                    say(f"WARNING: {line}")
            assert run_id is not None, "a run to take up, or a claim to open one for"
            done_before = claim is None and load_state(store, run_id).finished
            beside = None if done_before or plan_only else record_beside(store, run_id)
            patience = time.monotonic() + RECORD_SECONDS
            await engine.work(run_id, plan_only=plan_only, only=leaves, rebuy=rebuy)
        # After the engine is closed, and never for a run that was finished before: resuming that one changes nothing.
        if not done_before:
            await resolve_when_finished(store, run_id)
    except (asyncio.CancelledError, *EXPECTED) as error:
        return Ended(run_id, error)
    finally:
        if answering is not None:
            answering.cancel()
    return Ended(run_id, record=beside, patience=patience)


def finish(store: Store, ended: Ended, *, plan_only: bool, as_json: bool) -> str:
    """Print a run as far as it has come and return its id, or leave with the exit code of what ended it early.

    A record that is still being measured does not hold up the answer: it is printed below as it comes, in JSON waited for.
    """
    run_id, error = ended.run_id, ended.error
    if as_json:
        ended.wait()
    if run_id is None:
        assert error is not None
        if isinstance(error, KeyboardInterrupt | asyncio.CancelledError):
            say("workbench: stopped by hand before a run was opened")
            raise typer.Exit(STOPPED)
        fail(error)
    run = view(store, run_id)
    # A run that was stopped can be resumed, so its document so far is a result; after a mistake of the caller there is none.
    if as_json and (error is None or _exit_code(error) in (STOPPED, PROVIDER)):
        emit_json(run.document())
    elif error is None:
        waiting = ended.record is not None and run.record() is None
        echo("\n".join(run_lines(run, waiting=waiting)))
        if waiting:
            with suppress(KeyboardInterrupt):  # the answer stands, and the record is measured all the same
                ended.wait()
            record = run.record()
            echo("\n".join(record_lines(record)) if record else later_record(run_id))
    if error is not None:
        say(f"workbench: {_ending(error, run_id)}")
        raise typer.Exit(_exit_code(error))

    if plan_only:
        say(cost_line(run.state))
    elif run.state.finished and (line := error_line(run.state, run.model_calls, run.cost_usd)):
        say(line)
    return run_id


def _ending(error: BaseException, run_id: str) -> str:
    goes_on = f"`workbench resume {run_id}` goes on"
    if isinstance(error, KeyboardInterrupt | asyncio.CancelledError):
        return f"stopped by hand; {goes_on}"
    # These messages say themselves how to go on.
    if _exit_code(error) in (USAGE, ISOLATION) or "resume" in str(error):
        return one_line(error)
    return f"{one_line(error)} ({goes_on})"


def _exit_code(error: BaseException) -> int:
    return STOPPED if isinstance(error, KeyboardInterrupt | asyncio.CancelledError) else exit_code(error)
