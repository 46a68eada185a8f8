"""A run of one leaf whose data calls wait for a person: real engine, broker, ledger and log around a grounder of two calls."""

import asyncio
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from proxies.asof.clock import Cutoff
from proxies.broker import open_broker
from proxies.errors import Refused
from proxies.settings import ProxySettings
from tests.fakes.asking_run import CLAIM, FixedTree, NoSandbox
from workbench.agents.base import Grounding, LeafTask
from workbench.agents.evidence.trace import TraceEvidence, TraceStep
from workbench.engine import approvals
from workbench.engine import flow as engine_module
from workbench.engine.flow import Engine
from workbench.engine.new_run import Agents, new_run
from workbench.engine.record.state import RunState
from workbench.engine.run_settings import RunSettings
from workbench.propositions import Belief
from workbench.reports.note_page import write_report
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
        evidence = TraceEvidence(steps=(TraceStep(title="Read", text="two calls", p=0.7),))
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
    settings = RunSettings(rule="average", model="openai/x", approve=approve)  # type: ignore[arg-type]
    return new_run(store, CLAIM, Cutoff.parse("2018-06-30"), settings)


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
    agents = SimpleNamespace(
        analyzer=FixedTree(1),
        grounder=grounder or Reader(),
        synthesizer=Agents(RunSettings(rule="average")).synthesizer,
    )
    broker = open_broker(ProxySettings.from_environment({}, cache_path=home / "cache.db"))
    no_sandbox: Any = NoSandbox()
    try:
        with (
            closing(Store(home)) as store,
            patch.object(engine_module, "Agents", lambda settings: agents),
            patch.object(approvals, "_LOOK", 0.01),
        ):
            engine = Engine(
                store,
                note=write_report,
                broker=broker,
                catalogue=broker.catalogue,
                sandbox=sandbox or no_sandbox,
                model=model or SimpleNamespace(name="openai/x"),
                listener=None if person is None else person.listen,
                answered=person is not None,
            )
            return await engine.work(run_id)
    finally:
        await broker.aclose()
