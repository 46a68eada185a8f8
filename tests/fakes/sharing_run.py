"""A run of families of leaves that need the same series: a scripted model looks for it where nobody has told it where it is."""

import asyncio
import json
import re
from contextlib import closing
from pathlib import Path
from typing import Any

from proxies.broker import open_broker
from proxies.settings import ProxySettings
from sandbox.types import CellResult, SessionSpec
from tests.fakes import asking_run
from tests.fakes.asking_run import belief_of, open_run
from tests.fakes.loop_run import Killed
from tests.fakes.persona_run import proofs_count_as_verified
from tests.fakes.pretend_sandbox import PretendSandbox, PretendSession
from workbench.agents.base import AgentSettings
from workbench.agents.grounders.notebook_grounder import NotebookGrounder
from workbench.engine.new_run import Agents
from workbench.engine.record.fold import load_state
from workbench.engine.record.state import RunState
from workbench.models.base import ModelReply, ModelRequest, ToolCall, Usage
from workbench.propositions import Tree
from workbench.store import Store

OBSERVATIONS = "embedded/series/observations"
SERIES = ("SP500", "VIX", "WTI", "NASDAQ", "AAA")
STEPS = 6
_CALL = re.compile(r'CALL_API\("([^"]+)", (\{[^}]*\})\)')


class Families:
    """Hangs families of leaves under the claim; each family speaks of one series."""

    def __init__(self, *sizes: int) -> None:
        self.tree = Tree.root_only("The claim holds")
        self.tree = self.tree.expand("P0", {f"P{n}": f"Part {n} holds" for n in range(1, len(sizes) + 1)})
        for n, size in enumerate(sizes, 1):
            series = SERIES[(n - 1) % len(SERIES)]
            below = {f"P{n}.{k}": f"{series} is above level {k} of part {n}" for k in range(1, size + 1)}
            self.tree = self.tree.expand(f"P{n}", below)

    async def analyze(self, tree: Any, *, cutoff: Any, ask: Any, on_round: Any) -> Tree:
        await on_round(self.tree)
        return self.tree


class CallingSession(PretendSession):
    """A session whose cells make the data calls that stand in their source, through the engine's own caller."""

    def __init__(self, spec: SessionSpec, caller: Any) -> None:
        super().__init__(spec)
        self._caller = caller

    async def execute(self, source: str, *, fixes: str | None = None) -> CellResult:
        for nth, (path, params) in enumerate(_CALL.findall(source)):
            await self._caller(path, json.loads(params), cell=len(self.sources), nth=nth)
        return await super().execute(source, fixes=fixes)


class CallingSandbox(PretendSandbox):
    """Opens such sessions."""

    async def open(self, spec: SessionSpec, caller: Any) -> PretendSession:
        session = CallingSession(spec, caller)
        self.sessions.append(session)
        return session


class Seeker:
    """Searches, reads the documentation and reads its series; where a first message names the series, it reads it at once."""

    name = "openai/x"

    def __init__(self, *, dies_at: int | None = None) -> None:
        self.requests: list[ModelRequest] = []
        self.replies: list[ModelReply] = []
        self.dies_at = dies_at

    async def complete(self, request: ModelRequest) -> ModelReply:
        await asyncio.sleep(0.001)  # others get their turn, as with any provider
        if self.dies_at == len(self.requests):
            raise Killed
        self.requests.append(request)
        size = sum(len(message.content) for message in request.messages) // 4
        self.replies.append(self._answer(request, Usage(input_tokens=size, output_tokens=600)))
        return self.replies[-1]

    def _answer(self, request: ModelRequest, usage: Usage) -> ModelReply:
        def says(text: str, *calls: ToolCall) -> ModelReply:
            return ModelReply(text=text, model="x", tool_calls=calls, usage=usage, cost_usd=0.001)

        node = request.nodes[0]
        if request.stage == "conclude":
            belief = {"p_true": round(belief_of(node.statement), 3), "key_factor": "the level"}
            return says(f"As the cells say.\n\n```json\n{json.dumps(belief)}\n```")
        replies = [message for message in request.messages if message.role == "assistant"]
        series = node.statement.split()[0]
        call = f'CALL_API("{OBSERVATIONS}", {{"series_id": "{series}", "start": "2017-01-01"}})'
        if f'"series_id":"{series}"' not in first_message(request):
            looks: list[dict[str, Any]] = [
                {"search": f"daily values of {series}"},
                {"full_paths": [OBSERVATIONS]},
            ]
            if len(replies) < len(looks):
                number = len(replies)
                return says("", ToolCall(id=f"t{number}", name="retrieve_api_doc", arguments=looks[number]))
            replies = replies[len(looks) :]
        step = len(replies)
        if step == STEPS:
            return says("<TERMINATE_NOTEBOOK>")
        reason = " ".join(f"thought {step}.{n} on the series" for n in range(60))
        first = f"rows = {call}\n" if step == 0 else ""
        return says(
            f"<markdown_cell>\n{reason}\n</markdown_cell>\n<python_cell>\n{first}print('x' * {5500 + step})\n</python_cell>"
        )


def first_message(request: ModelRequest) -> str:
    """The first user message of a dialogue."""
    return next(message.content for message in request.messages if message.role == "user")


def sharing_run(
    home: Path, *sizes: int, model: Seeker | None = None, run_id: str = "", share_calls: bool = True
) -> tuple[RunState, Seeker]:
    """One sitting of a run of families of these sizes, with its model."""
    model = model or Seeker()

    async def work(store: Store) -> RunState:
        broker = open_broker(ProxySettings.from_environment({}, cache_path=home / "cache.db"))
        run = run_id or open_run(store, agent=AgentSettings(critic=False, share_calls=share_calls))
        try:
            with proofs_count_as_verified():
                return await asking_run.work(
                    store,
                    run,
                    model,
                    analyzer=Families(*sizes),
                    grounder=NotebookGrounder(),
                    synthesizer=Agents(load_state(store, run).settings).synthesizer,
                    broker=broker,
                    sandbox=CallingSandbox(),
                    note=None,
                )
        finally:
            await broker.aclose()

    with closing(Store(home, durable=False)) as store:
        return asyncio.run(work(store)), model
