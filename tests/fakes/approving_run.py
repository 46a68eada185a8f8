"""A run of one leaf whose data calls wait for a person: real engine, broker, ledger and log around a grounder of two calls."""

import asyncio
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from proxies.broker import open_broker
from proxies.errors import Refused
from proxies.settings import ProxySettings
from tests.fakes import asking_run
from workbench.agents.base import Grounding, LeafTask
from workbench.agents.evidence.base import Evidence, TraceStep
from workbench.engine import approvals
from workbench.engine.record.state import RunState
from workbench.propositions import Belief
from workbench.store import Store, StoredEvent
from workbench.store import events as ev

#: The two calls of the leaf as a person is shown them.
FIRST, SECOND = "embedded/series/list\n{}", 'embedded/series/observations\n{\n  "series_id": "VIX"\n}'
_CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("embedded/series/list", {}),
    ("embedded/series/observations", {"series_id": "VIX"}),
)

Decision = tuple[str, str]  # verdict, reason


class Reader:
    """Makes both calls and believes 0.7; ``refusals`` is what it was told of those that were refused."""

    def __init__(self) -> None:
        self.refusals: list[str] = []

    async def ground(self, task: LeafTask) -> Grounding:
        for step, (path, params) in enumerate(_CALLS):
            try:
                await task.call_api(path, params, step=step)
            except Refused as error:
                self.refusals.append(str(error))
        evidence = Evidence(steps=(TraceStep(title="Read", text="two calls", p=0.7),))
        return Grounding(belief=Belief(p=0.7, key_factor="it is", report="So it is."), evidence=evidence)


class Person:
    """Answers each step as ``judge`` says (None: not at all), through the log, like any screen."""

    def __init__(self, home: Path, judge: Callable[[str], Decision | None]) -> None:
        self.home, self.judge = home, judge
        self.shown: list[str] = []
        self.phases: list[tuple[str, str | None]] = []
        self._tasks: list[asyncio.Task[Any]] = []

    def listen(self, state: RunState, stored: StoredEvent) -> None:
        if isinstance(stored.event, ev.ApprovalAsked):
            self.phases.append((state.phase, state.reason))
            self._tasks.append(
                asyncio.create_task(asyncio.to_thread(self._answer, stored.run_id, stored.event))
            )

    def check(self) -> None:
        """Raise what kept an answer from being given."""
        for task in self._tasks:
            task.result()

    def _answer(self, run_id: str, event: ev.ApprovalAsked) -> None:
        with closing(Store(self.home)) as store:
            text = store.text(event.subject)
            self.shown.append(text)
            decision = self.judge(text)
            if decision is not None:
                verdict, reason = decision
                name = approvals.step_name(event)
                approvals.decide(store, run_id, name, verdict, author="Ann", reason=reason)


def open_approving_run(store: Store, approve: str = "calls") -> str:
    return asking_run.open_run(store, approve=approve)


async def work(
    home: Path,
    run_id: str,
    person: Person | None,
    grounder: Any = None,
    *,
    model: Any = None,
    sandbox: Any = None,
) -> RunState:
    """One sitting."""
    broker = open_broker(ProxySettings.from_environment({}, cache_path=home / "cache.db"))
    try:
        with closing(Store(home)) as store, patch.object(approvals, "_LOOK", 0.01):
            return await asking_run.work(
                store,
                run_id,
                model or SimpleNamespace(name="openai/x"),
                grounder=grounder or Reader(),
                broker=broker,
                sandbox=sandbox,
                listener=None if person is None else person.listen,
                answered=person is not None,
            )
    finally:
        await broker.aclose()
