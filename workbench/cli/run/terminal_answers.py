"""The person at the terminal that works on a run, who is asked about its steps that wait."""

import asyncio
import os
import sys

from workbench.cli.common import say
from workbench.engine.approvals import decide, person, undecided_steps
from workbench.engine.record.fold import load_state
from workbench.engine.record.state import RunState
from workbench.errors import UsageError
from workbench.operations.run_control import step_lines
from workbench.store import Store, StoredEvent
from workbench.store import events as ev

_QUESTION = "yes, or no REASON?"


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
            say("\n".join(["", *step_lines(steps[0].to_json()), _QUESTION]))
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
