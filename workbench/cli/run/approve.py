"""``approve``: steps of a run that wait for a person, listed and answered; and the same at the terminal that works on the run."""

import asyncio
import getpass
import os
import sys
from typing import Annotated

import typer

from workbench.cli.common import AsJson, RunId, command, echo, emit_json, open_store, say, unlisted
from workbench.engine.approvals import Undecided, decide, undecided_steps
from workbench.engine.detached import ANSWERED_ELSEWHERE
from workbench.engine.record.fold import load_state
from workbench.engine.record.state import RunState
from workbench.errors import UsageError
from workbench.store import Store, StoredEvent
from workbench.store import events as ev

_QUESTION = "yes, or no REASON?"


@command
def approve(
    run: RunId,
    step: Annotated[str | None, typer.Argument(help="The step's name, as listed.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Let it go on.")] = False,
    no: Annotated[
        str | None, typer.Option(metavar="REASON", help="Reject it; the agent is told why.")
    ] = None,
    author: Annotated[str, unlisted(help="Who decides: a typed name; your login name without it.")] = "",
    as_json: AsJson = False,
) -> None:
    """List the steps of a run that wait for approval (`analyze --approve`), each in full, or decide on one."""
    store = open_store()
    run_id = store.resolve_run(run, unfinished=True)
    if step is None:
        if yes or no is not None:
            raise UsageError(f"a decision needs the step it is for: `workbench approve {run_id}` lists them")
        steps = undecided_steps(store, load_state(store, run_id))
        if as_json:
            emit_json({"run_id": run_id, "waiting": [waiting.to_json() for waiting in steps]})
            return
        for waiting in steps:
            echo(shown(waiting), whole=True)
        if not steps:
            say(f"no step of run {run_id} waits for approval")
        return
    if yes == (no is not None):
        raise UsageError("a decision is either --yes or --no REASON")
    verdict = "yes" if yes else "no"
    decision = decide(store, run_id, step, verdict, author=author or person(), reason=no or "")
    if as_json:
        emit_json({"run_id": run_id, "step": step, "verdict": decision.verdict, "author": decision.author})
    else:
        say(f"{step}: {decision.verdict}, by {decision.author}, is on record")
        if (decision.what, decision.verdict) == ("run", "yes"):
            say(f"begin it, with any model: `workbench resume {run_id}`")


def shown(step: Undecided) -> str:
    """Return a step as a person reads it before deciding, all of what would be sent; ``echo`` and ``say`` escape it."""
    event = step.event
    if event.what == "run":
        head = f"{step.name}  another program proposes to begin this analysis:"
    else:
        head = f"{step.name}  {event.what} of {event.node}, trial {event.trial}, attempt {event.attempt}"
    return "\n".join([head, *(f"  | {line}" for line in step.text.split("\n"))])


def person() -> str:
    """Return the login name of who sits here."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a user id without a name
        return f"user {os.getuid()}"


def can_answer() -> bool:
    """Whether somebody can answer what a run of this process asks."""
    elsewhere = all(os.environ.get(name) == value for name, value in ANSWERED_ELSEWHERE.items())
    return elsewhere or at_terminal()


def at_terminal() -> bool:
    """Whether a person sits at this process: both ends of a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def _set(ready: asyncio.Future[None]) -> None:
    if not ready.done():  # the loop may see the same line twice before its reader is taken off
        ready.set_result(None)


class TerminalAnswers:
    """Asks the person at this terminal about each step that waits; what they say goes to the log like every other answer."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._steps: asyncio.Queue[str] = asyncio.Queue()
        self._typed = b""

    def listen(self, state: RunState, stored: StoredEvent) -> None:
        """Take a step that waits onto the list; a listener of the run."""
        if isinstance(stored.event, ev.ApprovalAsked):
            self._steps.put_nowait(stored.run_id)

    async def work(self) -> None:
        """Ask until it is cancelled, or nobody types any more."""
        while True:
            run_id = await self._steps.get()
            steps = undecided_steps(self._store, load_state(self._store, run_id))
            if not steps:
                continue  # answered elsewhere meanwhile
            say(f"\n{shown(steps[0])}\n{_QUESTION}")
            while True:
                line = await self._line()
                if line is None:
                    say(f"nobody types here any more: `workbench approve {run_id}` answers")
                    return
                verdict, _, reason = line.strip().partition(" ")
                verdict = {"y": "yes", "n": "no"}.get(verdict, verdict)
                try:
                    decide(
                        self._store,
                        run_id,
                        steps[0].name,
                        verdict,
                        author=person(),
                        reason=reason if verdict == "no" else "",
                    )
                except UsageError as error:
                    say(f"{error}")
                    if not undecided_steps(self._store, load_state(self._store, run_id)):
                        break
                    say(_QUESTION)
                else:
                    break

    async def _line(self) -> str | None:
        """Return a line that was typed, None at the end; no thread waits for it, which could not be ended."""
        loop = asyncio.get_running_loop()
        number = sys.stdin.fileno()
        while b"\n" not in self._typed:
            ready = loop.create_future()
            loop.add_reader(number, _set, ready)
            try:
                await ready
            finally:
                loop.remove_reader(number)
            part = os.read(number, 4096)
            if not part:
                return None
            self._typed += part
        line, _, self._typed = self._typed.partition(b"\n")
        return line.decode("utf-8", "replace")
