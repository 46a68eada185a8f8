"""A leaf grounded by any grounder in a real run, and what its records say of it: for the contract suites."""

import contextlib
import dataclasses
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox import Sandbox
from tests.agents.grounder_cases import Case
from tests.fakes.asking_run import NoSandbox
from tests.fakes.loop_run import LEAF, PAGES, ExaOnLoopback, Killed, Say, ScriptedModel, open_run, work
from workbench.agents.base import Grounder, Grounding, GroundingFailure, LeafTask
from workbench.agents.evidence.base import Evidence
from workbench.engine.proof_check import stored_evidence, verify_run
from workbench.engine.record.fold import load_state
from workbench.engine.record.state import RunState
from workbench.errors import ProviderError
from workbench.search.web_calls import DataCaller
from workbench.store import Store


@dataclass(frozen=True)
class Ran:
    store: Store
    state: RunState
    model: ScriptedModel
    web: ExaOnLoopback | None = None

    @property
    def p(self) -> float:
        belief = self.state.trial(LEAF, 1).belief
        assert belief is not None, self.state.trial(LEAF, 1).failure
        return belief.p

    @property
    def report(self) -> str:
        belief = self.state.trial(LEAF, 1).belief
        assert belief is not None
        return belief.report

    @property
    def trace(self) -> Evidence:
        evidence = stored_evidence(self.store, self.state, LEAF, 1)
        assert isinstance(evidence, Evidence)
        return evidence

    @property
    def proof(self) -> Path:
        return self.store.folder(self.state.run_id) / "proofs" / f"{LEAF}.ipynb"

    def copy(self, home: Path) -> "Ran":
        """The same run in another home, to be altered there."""
        shutil.copytree(self.store.home, home)
        store = Store(home, durable=False)
        return Ran(store, load_state(store, self.state.run_id), self.model, self.web)


async def run(
    home: Path,
    case: Case,
    script: Mapping[str, Sequence[Say]],
    pages: Any = PAGES,
    *,
    question: str = "S&P up by September?",
    ends: bool = False,
) -> Ran:
    """The leaf of a case, grounded from beginning to end; a kernel is made only where it runs cells."""
    box = Sandbox() if case.cells else NoSandbox()
    with ExaOnLoopback(pages, question, ends=ends) as web:
        store = Store(home, durable=False)
        run_id = open_run(store)
        model = ScriptedModel(script)
        # where every leaf failed for good the run says so; what became of it is on the log
        with contextlib.suppress(ProviderError):
            await work(store, run_id, model, case.make(), web, sandbox=box, statement=case.statement)
    if isinstance(box, Sandbox):
        await box.aclose()
    return Ran(store, load_state(store, run_id), model, web)


async def differences(ran: Ran) -> list[str]:
    """What ``verify`` finds."""
    rows = (await verify_run(ran.store, ran.state.run_id)).differing
    return [f"{row['check']}: {row['what']}" for row in rows]


class Dying:
    """A grounder whose process ends in place of its n-th question or data call."""

    def __init__(self, grounder: Grounder, at: int | None) -> None:
        self.grounder, self.at, self.acts = grounder, at, 0

    async def ground(self, task: LeafTask) -> Grounding | GroundingFailure:
        def act() -> None:
            if self.acts == self.at:
                raise Killed
            self.acts += 1

        asked, called = task.ask, task.call_api

        async def ask(*args: Any, **kwargs: Any) -> Any:
            act()
            return await asked(*args, **kwargs)

        async def call_api(*args: Any, **kwargs: Any) -> Any:
            act()
            return await called(*args, **kwargs)

        caller: DataCaller = call_api
        return await self.grounder.ground(dataclasses.replace(task, ask=ask, call_api=caller))
