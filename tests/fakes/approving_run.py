"""A run of one leaf whose steps wait for a person: real engine, grounder, ledger and log around a model of few words."""

import asyncio
import re
from collections.abc import Callable
from contextlib import closing, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from proxies.asof.clock import Cutoff
from proxies.broker import open_broker
from proxies.settings import ProxySettings
from sandbox import Sandbox
from tests.fakes.asking_run import CLAIM, FixedTree
from tests.fakes.persona_run import proofs_count_as_verified
from tests.fakes.pretend_sandbox import PretendSandbox
from workbench.agents.grounders.notebook_grounder import NotebookGrounder
from workbench.engine import approvals
from workbench.engine import flow as engine_module
from workbench.engine.flow import Engine
from workbench.engine.new_run import Agents, new_run
from workbench.engine.record.state import RunState
from workbench.engine.run_settings import RunSettings
from workbench.models.base import ModelReply, ModelRequest, Usage
from workbench.reports.note_page import write_report
from workbench.store import Store, StoredEvent
from workbench.store import events as ev

FIRST = "one = 1\nprint('first', one)"
SECOND = "print('second', one)"
MENDED = "print('instead', one)"
CONCLUSION = 'It is so.\n\n```json\n{"p_true": 0.7, "key_factor": "it is"}\n```'

Decision = tuple[str, str, str | None]  # verdict, reason, text instead


class Writer:
    """A model that writes two cells, each in a step of its own, mends a failed one, and concludes; counts what it is asked."""

    name = "openai/x"

    def __init__(self, first: str = FIRST, second: str = SECOND) -> None:
        self.cells = [first, second]
        self.requests: list[ModelRequest] = []

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.requests.append(request)
        if request.stage == "step":
            done = sum(message.role == "assistant" for message in request.messages)
            mended = any("rejected" in message.content for message in request.messages)
            steps = done - mended
            text = (
                f"<python_cell>\n{self.cells[steps]}\n</python_cell>"
                if steps < len(self.cells)
                else "<TERMINATE_NOTEBOOK>"
            )
        elif request.stage == "debug":
            text = f"<python_cell>\n{MENDED}\n</python_cell>"
        else:
            text = CONCLUSION
        return ModelReply(text=text, model="x", usage=Usage(input_tokens=5, output_tokens=5), seconds=0.1)

    def said(self, pattern: str) -> bool:
        """Whether any request held a text like this."""
        return any(re.search(pattern, m.content) for request in self.requests for m in request.messages)


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
                verdict, reason, edited = decision
                approvals.decide(
                    store,
                    run_id,
                    approvals.step_name(event),
                    verdict,
                    author="Ann",
                    reason=reason,
                    edited=edited,
                )


def open_approving_run(store: Store, approve: str = "cells", **settings: Any) -> str:
    return new_run(
        store,
        CLAIM,
        Cutoff.parse("2018-06-30"),
        RunSettings(rule="average", model="openai/x", approve=approve, **settings),  # type: ignore[arg-type]
    )


async def work(
    home: Path, run_id: str, model: Writer, person: Person | None, sandbox: Any = None
) -> RunState:
    """One sitting; in real kernels with a real sandbox, else in pretended ones, whose proofs count as verified."""
    agents = SimpleNamespace(
        analyzer=FixedTree(1),
        grounder=NotebookGrounder(),
        synthesizer=Agents(RunSettings(rule="average")).synthesizer,
    )
    broker = open_broker(ProxySettings.from_environment({}, cache_path=home / "cache.db"))
    try:
        with (
            closing(Store(home)) as store,
            patch.object(engine_module, "Agents", lambda settings: agents),
            patch.object(approvals, "_LOOK", 0.01),
            nullcontext() if isinstance(sandbox, Sandbox) else proofs_count_as_verified(),
        ):
            engine = Engine(
                store,
                note=write_report,
                broker=broker,
                catalogue=broker.catalogue,
                sandbox=sandbox or PretendSandbox(),
                model=model,
                listener=None if person is None else person.listen,
                answered=person is not None,
            )
            return await engine.work(run_id)
    finally:
        await broker.aclose()
