"""A run whose leaves ask a model and open no kernel: the real engine, store and gateway around a provider in a can."""

import asyncio
import hashlib
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from proxies.asof.clock import Cutoff
from proxies.catalogue import load_catalogue
from proxies.settings import ProxySettings
from workbench.agents.base import Grounding, GroundingFailure, LeafTask
from workbench.agents.evidence.base import Evidence, TraceStep
from workbench.engine import flow as engine_module
from workbench.engine.flow import Engine
from workbench.engine.new_run import Agents, new_run
from workbench.engine.record.state import RunState
from workbench.engine.run_settings import RunSettings
from workbench.models.base import Message, Model, ModelReply, ModelRequest, Usage
from workbench.propositions import Belief, Tree
from workbench.reports.note_page import write_report
from workbench.store import Store

CLAIM = "The claim holds"


class FakeTime:
    """A clock that moves when somebody sleeps; sleepers wake in order of their time."""

    def __init__(self) -> None:
        self.now = 1000.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._count = 0

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        self._count += 1
        wake: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append((self.now + seconds, self._count, wake))
        self._sleepers.sort(key=lambda sleeper: sleeper[:2])
        await wake

    async def drive(self, work: Any) -> Any:
        """Run work to its end, moving the clock whenever everybody sleeps and no thread works."""
        loop = asyncio.get_running_loop()
        in_thread, busy = loop.run_in_executor, 0

        def counted(*args: Any) -> asyncio.Future[Any]:
            nonlocal busy

            def done(_: object) -> None:
                nonlocal busy
                busy -= 1

            busy += 1
            future: asyncio.Future[Any] = in_thread(*args)
            future.add_done_callback(done)
            return future

        loop.run_in_executor = counted  # type: ignore[method-assign]
        task = asyncio.ensure_future(work)
        while not task.done():
            for _ in range(50):
                await asyncio.sleep(0)
            while busy and not task.done():
                await asyncio.sleep(0.0002)
                for _ in range(50):
                    await asyncio.sleep(0)
            if task.done():
                break
            if self._sleepers:
                due, _, wake = self._sleepers.pop(0)
                self.now = max(self.now, due)
                if not wake.done():
                    wake.set_result(None)
            else:
                await asyncio.sleep(0.001)  # a thread works
        return task.result()


class FixedTree:
    """Hangs so many leaves under the claim, at most ten to a parent; asks nobody."""

    def __init__(self, leaves: int) -> None:
        self.tree, level = Tree.root_only(CLAIM), ["P0"]
        while len(level) * 10 < leaves:
            for node in level:
                self.tree = self.tree.expand(
                    node, {_child(node, n): f"{node} part {n} holds" for n in range(1, 11)}
                )
            level = [child for node in level for child in self.tree[node].children]
        share, more = divmod(leaves, len(level))
        for place, node in enumerate(level):
            below = {_child(node, n): f"{node} leaf {n} holds" for n in range(1, share + (place < more) + 1)}
            self.tree = self.tree.expand(node, below)

    async def analyze(self, tree: Any, *, cutoff: Any, ask: Any, on_round: Any) -> Tree:
        await on_round(self.tree)
        return self.tree


def _child(node: str, number: int) -> str:
    return f"P{number}" if node == "P0" else f"{node}.{number}"


class AskingGrounder:
    """Asks so many times in one dialogue, again where a reply is empty or cut, and believes what the replies add up to."""

    def __init__(self, steps: int, *, report_bytes: int = 0) -> None:
        self.steps, self.report_bytes = steps, report_bytes

    async def ground(self, task: LeafTask) -> Grounding | GroundingFailure:
        said: list[str] = []
        for step in range(self.steps):
            for retry in range(4):
                messages = tuple(
                    Message(role="user", content=f"{task.node.statement} / {n}: {text}")
                    for n, text in enumerate([*said, f"go on {retry}"])
                )
                request = ModelRequest(
                    messages=messages, stage="step", cutoff=task.cutoff.text, nodes=(task.node,)
                )
                reply = await task.ask(request, stage="step", step=step, retry=retry)
                if reply.text.endswith("."):
                    said.append(reply.text)
                    break
            else:
                return GroundingFailure(reason="no reply could be read", retryable=True)
        p = belief_of(task.node.statement)
        report = "".join(said).ljust(self.report_bytes, ".")
        evidence = Evidence(steps=(TraceStep(title="Asked", text=said[-1], p=p),))
        return Grounding(belief=Belief(p=p, key_factor="asked", report=report), evidence=evidence)


def belief_of(statement: str) -> float:
    """What is believed of a statement in the end, whatever went wrong on the way."""
    return 0.1 + 0.8 * hashlib.sha256(statement.encode()).digest()[0] / 255


class Provider:
    """Answers every request; what it answered is counted by its text."""

    def __init__(self, name: str = "openai/x") -> None:
        self.name = name
        self.answered: dict[str, int] = {}
        self.sent = 0

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.sent += 1
        return self.answer(request)

    def answer(self, request: ModelRequest, text: str = "said.", usage: Usage | None = None) -> ModelReply:
        key = "\n".join(message.content for message in request.messages)
        self.answered[key] = self.answered.get(key, 0) + 1
        return ModelReply(
            text=text, model="x", usage=usage or Usage(input_tokens=20, output_tokens=10), seconds=0.1
        )


class NoSandbox:
    """A sandbox that starts nothing."""

    def warm(self) -> None:
        return

    async def probe(self) -> Any:
        return SimpleNamespace(refused=())

    async def level(self) -> str:
        return "none"


def open_run(store: Store, cutoff: str = "2018-06-30", **settings: Any) -> str:
    return new_run(
        store, CLAIM, Cutoff.parse(cutoff), RunSettings(rule="average", model="openai/x", **settings)
    )


async def work(
    store: Store,
    run_id: str,
    model: Model,
    *,
    leaves: int = 1,
    steps: int = 3,
    analyzer: Any = None,
    grounder: Any = None,
    synthesizer: Any = None,
    broker: Any = None,
    sandbox: Any = None,
    only: Sequence[str] = (),
    rebuy: bool = False,
    **engine: Any,
) -> RunState:
    """One sitting of a run, or of these nodes of it: with these agents, data and kernels, or with none of the latter two."""
    agents = SimpleNamespace(
        analyzer=analyzer or FixedTree(leaves),
        grounder=grounder or AskingGrounder(steps),
        synthesizer=synthesizer or Agents(RunSettings(rule="average")).synthesizer,
    )
    parts: dict[str, Any] = {
        "note": write_report,
        "broker": broker or SimpleNamespace(session=lambda *_, **__: None, settings=ProxySettings(keys={})),
        "catalogue": load_catalogue() if broker is None else broker.catalogue,
        "sandbox": sandbox or NoSandbox(),
        **engine,
    }
    made = Engine(store, model=model, **parts)
    with patch.object(engine_module, "Agents", lambda settings: agents):
        return await made.work(run_id, only=only, rebuy=rebuy)


def sit(store: Store, run_id: str, model: Model | None = None, **more: Any) -> RunState:
    """`work` to its end, with a provider that answers unless another model is given."""
    return asyncio.run(work(store, run_id, model or Provider(), **more))


def undisturbed(home: Path, leaves: int, steps: int = 3) -> float:
    """The root's probability where nothing goes wrong."""
    store = Store(home, durable=False)
    try:
        state = sit(store, open_run(store), leaves=leaves, steps=steps)
    finally:
        store.close()
    assert state.tree.root.p is not None
    return state.tree.root.p
