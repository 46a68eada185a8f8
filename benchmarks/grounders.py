"""Calls and tokens of one leaf by each grounder that asks a model, and by each arm of the belief agent.

Run: ``python -m benchmarks.grounders``. A script plays the model, so these are counts of what the loops send and not bills: ten
results of a search with snippets of 600 characters, pages of 6,000, a series of sixty values; 120 words of a belief's evidence
after each step. Tokens are counted as ``benchmarks.prompts`` counts them, tools included; nothing is written, no network.
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.prompts import counter
from proxies.catalogue import api_map, load_catalogue
from sandbox.types import SessionSpec
from tests.fakes.leaf import FakeGuide
from tests.fakes.loop_leaf import AskedModel, leaf
from tests.fakes.loop_run import Say, ScriptedModel, believing, block, calls, says
from tests.fakes.sandbox import FakeSession, printed
from workbench.agents.base import Grounding
from workbench.agents.grounders.belief import BeliefGrounder
from workbench.agents.grounders.deep_research import DeepResearchGrounder
from workbench.agents.grounders.notebook import NotebookGrounder
from workbench.agents.grounders.search import SearchGrounder
from workbench.models.base import ModelReply, ModelRequest, ToolCall
from workbench.search.base import FoundPage, PageText, SearchAnswer

WORDS = "the committee left its target where it was and said that it would watch prices, jobs and markets abroad; "
SERIES = [{"date": f"2018-{1 + n // 28:02d}-{1 + n % 28:02d}", "value": 2600.0 + n} for n in range(160)]
REPORT = f"{WORDS * 12} [S1.1]"
DONE = '```json\n{"p_true": 0.6, "key_factor": "it waits"}\n```'


class Web:
    """Ten full results to a search, full pages."""

    async def search(self, words: str, *, step: int, k: int = 10, retry: int = 0) -> SearchAnswer:
        results = tuple(
            FoundPage(
                id=f"R{n}",
                url=f"https://example.org/{words}/{n}".replace(" ", "-"),
                title=f"{words.title()}, report {n}",
                published="2018-06-01",
                text=(WORDS * 6)[:600],
                engines=("exa",),
                quality="press",
            )
            for n in range(1, k + 1)
        )
        return SearchAnswer(words=words, results=results, answers=("sha256:0",))

    async def open_page(self, url: str, *, step: int, retry: int = 0) -> PageText:
        return PageText(
            id="W",
            url=url,
            title="A page",
            published="2018-06-01",
            text=(WORDS * 60)[:6000],
            source="archive",
        )


def belief(p: float, pieces: int) -> dict[str, Any]:
    """A belief whose lists grow by two pieces of sixty words a step."""
    evidence = [{"text": (WORDS * 4)[:360], "sources": [f"S1.{n + 1}"]} for n in range(pieces)]
    return believing(p, evidence_for=evidence[::2], evidence_against=evidence[1::2])


def looks(number: int, *, with_belief: bool) -> list[Say]:
    """So many look-ups, searches and pages in turn."""
    steps = []
    for step in range(number):
        more = belief(0.5, min(2 * step, 8)) if with_belief else {}
        wanted = (
            ("search", {"words": f"words {step}", **more})
            if step % 2 == 0
            else ("open_page", {"page": f"S{step}.1", **more})
        )
        steps.append(calls(wanted))
    return steps


def answer(*, with_belief: bool) -> Say:
    more = belief(0.6, 8) if with_belief else {}
    return calls(("submit", {"probability": 0.6, "reasoning": REPORT, "key_factor": "it waits", **more}))


def research() -> dict[str, Sequence[Say]]:
    notes = {"notes": [{"text": WORDS, "sources": ["Q1S1.1"]} for _ in range(5)]}
    part = [
        calls(("search", {"words": "first"})),
        calls(("open_page", {"page": "Q1S1.1"}), ("search", {"words": "second"})),
        calls(("hand_in", notes)),
    ]
    questions = [f"{WORDS}? ({n})" for n in range(4)]
    lead = [
        block({"plan": WORDS, "questions": questions}),
        block({"plan": WORDS, "questions": questions[:1]}),
        says(REPORT + "\n\n" + DONE),
    ]
    return {"lead": lead, **{f"sub{n}": part for n in range(1, 6)}}


STEPS = [
    says(
        f"<markdown_cell>\n{WORDS * 2}\n</markdown_cell>\n<python_cell>\nx = {n}  # {WORDS}\n</python_cell>\n"
    )
    for n in range(6)
]

ROWS: dict[str, tuple[Callable[[], Any], Mapping[str, Sequence[Say]]]] = {
    "notebook, six steps": (NotebookGrounder, {"step": [*STEPS, says("<TERMINATE_NOTEBOOK>")], "conclude": [says(REPORT + "\n\n" + DONE)]}),
    "search, five look-ups": (lambda: SearchGrounder(open_web=lambda task: Web()), {"act": [*looks(5, with_belief=False), answer(with_belief=False)]}),
    "belief, seven steps": (lambda: BeliefGrounder(options={"compact_over": None}, open_web=lambda task: Web()), {"act": [*looks(6, with_belief=True), answer(with_belief=True)]}),
    "belief, ten steps and forced": (lambda: BeliefGrounder(options={"compact_over": None}, open_web=lambda task: Web()), {"act": looks(10, with_belief=True)}),
    "belief off (NoBel), seven steps": (lambda: BeliefGrounder(options={"belief": False}, open_web=lambda task: Web()), {"act": [*looks(6, with_belief=False), answer(with_belief=False)]}),
    "belief, batch of four searches": (
        lambda: BeliefGrounder(options={"mode": "batch", "compact_over": None}, open_web=lambda task: Web()),
        {"act": [calls(*(("search", {"words": f"w{n}", **belief(0.5, 0)}) for n in range(4))), answer(with_belief=True)]},
    ),
    "belief, zero-shot": (lambda: BeliefGrounder(options={"mode": "zero-shot"}, open_web=lambda task: Web()), {"act": [answer(with_belief=True)]}),
    "deep_research, four questions and one": (lambda: DeepResearchGrounder(open_web=lambda task: Web()), research()),
}  # fmt: skip


async def measure(make: Callable[[], Any], script: Mapping[str, Sequence[Say]]) -> tuple[int, int, int, int]:
    """Model calls, tool calls, input tokens and output tokens of one leaf."""
    count, _ = counter()
    sent = written = 0

    def of_call(call: ToolCall) -> int:
        return count(json.dumps([call.name, call.arguments]))

    class Counting(ScriptedModel):
        async def complete(self, request: ModelRequest) -> ModelReply:
            nonlocal sent, written
            reply = await super().complete(request)
            sent += sum(count(turn.content) + sum(map(of_call, turn.tool_calls)) for turn in request.messages)
            sent += sum(count(tool.description + json.dumps(tool.parameters)) for tool in request.tools)
            written += count(reply.text) + sum(map(of_call, reply.tool_calls))
            return reply

    session = FakeSession(SessionSpec(name="x", journal="", notebook=""), None, [printed("1 " * 700)] * 12)  # type: ignore[arg-type]

    async def open_notebook() -> Any:
        return session

    ask = AskedModel(Counting(script))
    task = leaf(
        ask,
        rows={"embedded/series/observations": SERIES},
        open_notebook=open_notebook,
        data=FakeGuide(api_map(load_catalogue())),
    )
    outcome = await make().ground(task)
    assert isinstance(outcome, Grounding), outcome
    steps = getattr(outcome.evidence, "steps", ())
    tool_calls = sum(len(step.calls) for step in steps) or len(
        [cell for cell in session.cells if cell.kind == "code"]
    )
    return len(ask.requests), tool_calls, sent, written


async def main() -> None:
    print(f"tokens: {counter()[1]}\n")
    print("| leaf | model calls | tool calls or cells | input tokens | output tokens |")
    print("| --- | --- | --- | --- | --- |")
    for name, (make, script) in ROWS.items():
        made, tools, sent, written = await measure(make, script)
        print(f"| {name} | {made} | {tools} | {sent:,} | {written:,} |")


if __name__ == "__main__":
    asyncio.run(main())
