"""Calls and tokens of one leaf by every registered grounder, and by each arm of the belief agent.

Run: ``python -m benchmarks.grounders``; ``--write`` puts the table into docs/use/models.md, and a test holds that page to it. A script plays the model, so these are counts of what the loops send and not bills: ten
results of a search with snippets of 600 characters, pages of 6,000, a series of sixty values; 120 words of a belief's evidence
after each step. Tokens are counted as ``benchmarks.prompts`` counts them, tools included; nothing is written, no network.
"""

import argparse
import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.arguments import parse
from benchmarks.prompts import counter
from proxies.catalogue import api_map, load_catalogue
from sandbox.types import SessionSpec
from tests.fakes.leaf import FakeGuide
from tests.fakes.loop_leaf import CUTOFF, AskedModel, leaf
from tests.fakes.loop_run import MARKET, Say, ScriptedModel, believing, block, calls, says
from tests.fakes.sandbox import FakeSession, printed
from tests.pages import between, write_between
from workbench.agents.base import AgentSettings, Grounding
from workbench.agents.grounders.belief import BeliefGrounder
from workbench.agents.grounders.deep_research import DeepResearchGrounder
from workbench.agents.grounders.notebook_grounder import NotebookGrounder
from workbench.agents.grounders.router import RouterGrounder
from workbench.agents.grounders.search_grounder import SearchGrounder
from workbench.agents.registry import open_grounder
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

THOUGHTS: Mapping[str, Sequence[Say]] = {
    "propose": [block({"thoughts": [WORDS] * 3})],
    "value": [block({"value": 7})],
    "merge": [block({"thoughts": [WORDS]})],
    "refine": [block({"thoughts": [WORDS]})],
    "answer": [says(REPORT + "\n\n" + DONE)],
}


def routed(*among: str) -> RouterGrounder:
    """A router over these, whose search reads the web of this module."""

    def opened(name: str, settings: AgentSettings, options: Mapping[str, Any] | None = None) -> Any:
        return (
            SearchGrounder(open_web=lambda task: Web())
            if name == "search"
            else open_grounder(name, settings, options)
        )

    with patch("workbench.agents.grounders.router.open_grounder", opened):
        return RouterGrounder(AgentSettings(), {"among": list(among)})


LEAF_ROWS: dict[str, tuple[Callable[[], Any], Mapping[str, Sequence[Say]]]] = {
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
    "statistical": (lambda: open_grounder("statistical"), {}),
    "market": (lambda: open_grounder("market"), {}),
    "auto, to search by rule": (lambda: routed("search"), {"act": [*looks(5, with_belief=False), answer(with_belief=False)]}),
    "auto, a model chooses search": (lambda: routed("search", "notebook"), {"route": [block({"grounders": ["search"], "reason": "an event"})], "act": [*looks(5, with_belief=False), answer(with_belief=False)]}),
    "zero-shot": (lambda: open_grounder("zero-shot"), THOUGHTS),
    "tree-of-thoughts": (lambda: open_grounder("tree-of-thoughts"), THOUGHTS),
    "graph-of-thoughts": (lambda: open_grounder("graph-of-thoughts"), THOUGHTS),
    "forest-of-thoughts, two trees agree": (lambda: open_grounder("forest-of-thoughts"), THOUGHTS),
}  # fmt: skip


#: Leaves that a series and a market decide; every other one is an event in words.
STATEMENTS = {
    "statistical": "The S&P 500 closes higher on 2018-09-28 than on 2018-06-29",
    "market": f"The S&P rises by September (kalshi/{MARKET})",
    # an event and a figure: the rules leave it open
    "auto, a model chooses search": "The ECB announces a rate of 2 % by 2018-12-31",
}
_SECOND = int(CUTOFF.instant.timestamp())
_PRICE = {"yes_bid": {"close_dollars": "0.61"}, "yes_ask": {"close_dollars": "0.63"}}
_ROWS: dict[str, Any] = {
    "embedded/series/observations": SERIES,
    "kalshi/market": {"market": {"title": "S&P up by September?"}},
    "kalshi/candlesticks": {"candlesticks": [{"end_period_ts": _SECOND - 86400, **_PRICE}]},
}
#: Six years of a made-up index for the grounder that needs a past: 2,000 days up to the cutoff's eve.
_PAST = [
    {"date": str(CUTOFF.last_visible_day - timedelta(days=2000 - n)), "value": 2000.0 + n % 97 + n / 5}
    for n in range(2001)
]
_COLUMNS = ("leaf", "model calls", "look-ups or cells", "input tokens", "output tokens")
_MARKS = "<!-- grounders: begin -->", "<!-- grounders: end -->"
PAGE = Path(__file__).parents[1] / "docs/use/models.md"


@cache
def _guide() -> FakeGuide:
    return FakeGuide(api_map(load_catalogue()))


async def measure(name: str) -> tuple[int, int, int, int]:
    """Model calls, tool and data calls or cells, input tokens and output tokens of one leaf."""
    make, script = LEAF_ROWS[name]
    count, _ = counter()
    sent = written = looked = 0

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
    rows = {**_ROWS, "embedded/series/observations": _PAST} if name == "statistical" else _ROWS
    task = leaf(ask, rows=rows, open_notebook=open_notebook, data=_guide())
    task = replace(task, node=replace(task.node, statement=STATEMENTS.get(name, task.node.statement)))
    call_api = task.call_api

    async def counted(*args: Any, **kwargs: Any) -> Any:
        nonlocal looked
        looked += 1
        return await call_api(*args, **kwargs)

    outcome = await make().ground(replace(task, call_api=counted))
    assert isinstance(outcome, Grounding), outcome
    evidence = outcome.evidence
    steps = [step for each in (evidence, *(part.evidence for part in evidence.parts)) for step in each.steps]
    cells = [cell for cell in session.cells if cell.kind == "code"]
    return len(ask.requests), sum(len(step.calls) for step in steps) or len(cells) or looked, sent, written


async def table() -> str:
    """The rows of all leaves as Markdown."""
    lines = [f"| {' | '.join(_COLUMNS)} |", f"| {' | '.join('---' for _ in _COLUMNS)} |"]
    for name in LEAF_ROWS:
        made, tools, sent, written = await measure(name)
        lines.append(f"| {name} | {made} | {tools} | {sent:,} | {written:,} |")
    return "\n".join(lines)


def page_rows() -> dict[str, tuple[int, ...]]:
    """What docs/use/models.md says of each leaf, by its name."""
    part = between(PAGE, *_MARKS)
    rows = [
        [cell.strip() for cell in line.strip("| ").split(" | ")]
        for line in part.splitlines()
        if line.startswith("| ")
    ]
    return {name: tuple(int(number.replace(",", "")) for number in numbers) for name, *numbers in rows[2:]}


def write(rows: str) -> None:
    """Put the table between the marks of docs/use/models.md."""
    write_between(PAGE, *_MARKS, f"\n\n{rows}\n\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into docs/use/models.md")
    options = parse(parser)  # all of it is small
    rows = asyncio.run(table())
    print(f"tokens: {counter()[1]}\n\n{rows}")
    if options.write:
        write(rows)


if __name__ == "__main__":
    main()
