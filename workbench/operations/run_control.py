"""A run that another process works on: followed, ended, and its steps that wait for a person."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

from workbench.errors import DONE, PROVIDER, STOPPED, USAGE, UsageError
from workbench.operations.base import Home, Operation
from workbench.operations.blocks import Block, Drawing, Remark
from workbench.operations.fields import RunName
from workbench.operations.run_document import RunDocument

#: Seconds between two looks at the log.
_LOOK = 0.5
_CODES = {"failure": PROVIDER, "outage": PROVIDER, "refused": USAGE, "other-writer": USAGE, "plan-only": DONE}


class Watch(Operation):
    """Show the progress of a run until it ends, and return its exit code. The run is not changed."""

    places = ("run",)

    run: RunName

    def answer(self, home: Home) -> RunDocument:
        """Return the run as it is when its process ends."""
        from workbench.engine.ownership import owner_of
        from workbench.engine.record.progress import follow_run

        run_id = home.store.resolve_run(self.run, unfinished=True)
        owner = owner_of(home.store.folder(run_id))
        home.say(f"run {run_id} is running: {owner.line()}" if owner else f"no process works on run {run_id}")
        with home.run_progress(home.store) as show:
            state = follow_run(home.store, run_id, show, pause=lambda: time.sleep(_LOOK))
        return RunDocument.of(home.store, state)

    def show(self, document: RunDocument) -> Iterator[Block]:
        """Return its tree, and how it goes on."""
        yield from document.lines()
        state, goes_on = document.run.state, f"`workbench resume {document['run_id']}` goes on"
        if self.exit_code(document) == STOPPED and state.stopped is None:
            yield Remark(f"workbench: the process that worked on it is gone: {goes_on}")
        elif self.exit_code(document) != DONE and state.reason:
            yield Remark(f"workbench: {state.reason} ({goes_on})")

    def exit_code(self, document: RunDocument) -> int:
        """Return the exit code that the command which worked on the run left with."""
        state = document.run.state
        if state.finished:
            return DONE
        return STOPPED if state.stopped is None else _CODES.get(state.stopped.why, STOPPED)


class Stop(Operation):
    """End the process that works on a run; the run can be resumed."""

    places = ("run",)

    run: RunName

    def answer(self, home: Home) -> dict[str, Any]:
        """Return whether there was one."""
        from workbench.engine.detached import stop_run

        run_id = home.store.resolve_run(self.run, unfinished=True)
        return {"run_id": run_id, "stopped": stop_run(home.store, run_id)}

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return what became of it."""
        run_id = document["run_id"]
        if document["stopped"]:
            yield Remark(f"run {run_id} is stopped: `workbench resume {run_id}` goes on")
        else:
            yield Remark(f"nobody works on run {run_id}: nothing to stop")


class Approve(Operation):
    """List the steps of a run that wait for approval (`analyze --approve`), each in full, or decide on one."""

    places = ("run", "step")
    short = ("yes", "no")

    run: RunName
    step: str | None = None
    """The step's name, as listed."""
    yes: bool = False
    """Let it go on."""
    no: str | None = None
    """Reject it; the agent is told this reason."""
    author: str = ""
    """Who decides: a typed name; your login name without it."""

    def answer(self, home: Home) -> dict[str, Any]:
        """Return the steps that wait, or the decision."""
        from workbench.engine.approvals import decide, person, undecided_steps

        run_id = home.store.resolve_run(self.run, unfinished=True)
        if self.step is None:
            if self.yes or self.no is not None:
                raise UsageError(
                    f"a decision needs the step it is for: `workbench approve {run_id}` lists them"
                )
            waiting = undecided_steps(home.store, home.state(run_id))
            return {"run_id": run_id, "waiting": [step.to_json() for step in waiting]}
        if self.yes == (self.no is not None):
            raise UsageError("a decision is either --yes or --no REASON")
        verdict, author = "yes" if self.yes else "no", self.author or person()
        decision = decide(home.store, run_id, self.step, verdict, author=author, reason=self.no or "")
        return {
            "run_id": run_id,
            "step": self.step,
            "what": decision.what,
            "verdict": decision.verdict,
            "author": decision.author,
        }

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return each step as it stands, or the decision."""
        run_id = document["run_id"]
        for step in document.get("waiting", ()):
            yield Drawing(step_lines(step))
        if not document.get("waiting", True):
            yield Remark(f"no step of run {run_id} waits for approval")
        if "verdict" in document:
            yield Remark(f"{document['step']}: {document['verdict']}, by {document['author']}, is on record")
            if (document["what"], document["verdict"]) == ("run", "yes"):
                yield Remark(f"begin it, with any model: `workbench resume {run_id}`")


def step_lines(step: Mapping[str, Any]) -> list[str]:
    """Write a step that waits as a person reads it before deciding, with all of what would be sent."""
    if step["what"] == "run":
        head = f"{step['name']}  another program proposes to begin this analysis:"
    else:
        head = f"{step['name']}  {step['what']} of {step['node']}, trial {step['trial']}, attempt {step['attempt']}"
    return [head, *(f"  | {line}" for line in step["text"].split("\n"))]
