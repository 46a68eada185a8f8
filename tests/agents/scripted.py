"""Askers for the agents' tests: a queue of replies, and a ledger in front of it. Each request is checked as it passes."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from proxies.asof.clock import Cutoff
from sandbox.types import SessionSpec
from tests.fakes.leaf import make_leaf_task
from tests.fakes.provider_rules import strictly
from tests.fakes.sandbox import FakeSession, Step
from workbench.agents.base import AgentSettings, LeafTask
from workbench.models.base import ModelReply, ModelRequest, NodeRef, ToolCall

CUTOFF = Cutoff.parse("2018-06-30")
LEAF = NodeRef(id="P1.2", statement="The S&P 500 closes above 2700 on 2018-12-31")

#: literal marks of each stage's answer; a last user message holds its own stage's and no others'
MARKS = {
    "analyze": {"<END_OF_ANALYSIS>", '"parent"', '"causality"', "```json"},
    "step": {"<markdown_cell>", "<python_cell>", "<TERMINATE_NOTEBOOK>"},
    "debug": {"<python_cell>"},
    "critic": {"```json", '"faults"'},
    "judge": {"```json", '"scores"', '"reasons"'},
    "recall": {"```json", '"recognized_event"', '"evidence_facts"', '"recalled_outcome"', '"probability"'},
    "leaks": {"```json", '"texts"', '"verdict"', '"quote"'},
    "route": {"```json", '"grounders"', '"reason"'},
    "redteam": {"```json", '"leaves"', '"key_point"'},
    "conclude": {"```json", '"p_true"', '"key_factor"'},
    "vanilla": {"```json", '"p_true"', '"key_factor"'},
    "prior": {"```json", '"p_true"', '"key_factor"'},
    "linear": {"```json", '"beta"', '"beta_0"', '"p_true"', '"key_factor"'},
    "noisy-or": {"```json", '"leak"', '"weights"', '"inhibitors"', '"p_true"', '"key_factor"'},
    "logic": {"```json", '"formula"', '"assumption"', '"detail"', '"probability"', '"key_factor"'},
}

Scripted = str | ModelReply | BaseException | Callable[[ModelRequest], str]


@dataclass(frozen=True, slots=True)
class Call:
    """One ask, with its address."""

    request: ModelRequest
    stage: str
    step: int
    retry: int

    @property
    def address(self) -> tuple[str, int, int]:
        return self.stage, self.step, self.retry

    @property
    def last_user(self) -> str:
        return [turn.content for turn in self.request.messages if turn.role == "user"][-1]


class ScriptedAsker:
    """Replies off a queue; running out fails the test, and so do two asks at one address.

    ``told`` says whether the provider is told what may be called: Anthropic is not, for the sake of its cache.
    """

    def __init__(self, *replies: Scripted, told: bool = True) -> None:
        self.replies = list(replies)
        self.told = told
        self.calls: list[Call] = []

    async def __call__(self, request: ModelRequest, *, stage: str, step: int, retry: int) -> ModelReply:
        call = Call(request, stage, step, retry)
        assert call.address not in [one.address for one in self.calls], f"asked twice at {call.address}"
        self.calls.append(call)
        check_request(call)
        assert self.replies, f"the script ran out at {call.address}: {call.last_user[-300:]}"
        scripted = self.replies.pop(0)
        if isinstance(scripted, BaseException):
            raise scripted
        reply = scripted(request) if callable(scripted) else scripted
        reply = reply if isinstance(reply, ModelReply) else ModelReply(text=reply, model="scripted")
        return strictly(request if self.told else replace(request, choice="auto"), reply)

    @property
    def addresses(self) -> list[tuple[str, int, int]]:
        return [call.address for call in self.calls]


class LedgerAsker:
    """Answers from what is recorded at the same address, as the engine does on resume; else asks on."""

    def __init__(self, then: ScriptedAsker) -> None:
        self.then = then
        self.rows: dict[tuple[str, int, int], tuple[str, ModelReply]] = {}
        self.asked_on = 0

    async def __call__(self, request: ModelRequest, *, stage: str, step: int, retry: int) -> ModelReply:
        row = self.rows.get((stage, step, retry))
        if row is not None:
            assert row[0] == request.canonical_hash("m"), f"another request at {(stage, step, retry)}"
            return row[1]
        self.asked_on += 1
        reply = await self.then(request, stage=stage, step=step, retry=retry)
        self.rows[stage, step, retry] = request.canonical_hash("m"), reply
        return reply


def check_request(call: Call) -> None:
    """What holds for every request of every stage."""
    request = call.request
    assert request.stage == call.stage
    assert request.messages[0].role == "system"
    # A question about memory has none: it is not to be answered as of a day.
    assert call.stage == "recall" or f"\nKnowledge cutoff: {CUTOFF.text}\n" in call.last_user
    for node in request.nodes:
        assert node.statement in call.last_user, f"{node.id} is not in the last user message"
    own = MARKS[call.stage]
    for mark in own:
        assert mark in call.last_user, f"{call.stage} does not spell {mark}"
    tail = call.last_user.rpartition("Knowledge cutoff:")[2]
    for mark in set().union(*MARKS.values()) - own:
        assert mark not in tail, f"{call.stage} spells {mark}, which is another stage's"


def doc_call(*paths: str, call_id: str = "d1", text: str = "", **more: Any) -> ModelReply:
    """A reply that asks for documentation."""
    call = ToolCall(id=call_id, name="retrieve_api_doc", arguments={"full_paths": list(paths), **more})
    return ModelReply(text=text, model="scripted", tool_calls=(call,))


def search_call(*words: str) -> ModelReply:
    """A reply that searches for endpoints; without words it asks for nothing."""
    arguments = {"search": " ".join(words)} if words else {}
    call = ToolCall(id="d1", name="retrieve_api_doc", arguments=arguments)
    return ModelReply(text="", model="scripted", tool_calls=(call,))


def fake_session(*script: Step, folder: Path = Path("/nowhere")) -> FakeSession:
    """A session whose cells give these results."""

    async def no_api(path: str, params: Any, *, cell: int, nth: int) -> Any:
        raise AssertionError("no cell runs for real here")

    spec = SessionSpec(name="t", journal=folder / "t.jsonl", notebook=folder / "t.ipynb")
    return FakeSession(spec, no_api, list(script))


def leaf_task(ask: Any, session: Any, **settings: Any) -> LeafTask:
    return make_leaf_task(LEAF, cutoff=CUTOFF, ask=ask, session=session, settings=AgentSettings(**settings))


def no_rounds() -> tuple[list[Any], Callable[[Any], Any]]:
    """A list and a coroutine function that appends to it."""
    seen: list[Any] = []

    async def on_round(tree: Any) -> None:
        seen.append(tree)

    return seen, on_round


def texts(calls: Iterable[Call]) -> str:
    return "\n".join(turn.content for call in calls for turn in call.request.messages)
