"""Every registered grounder with what a model that behaves says to it, and one that never comes to an end: for the contract suite.

A grounder that is registered and has no case here fails the suite: its laws would not be tried.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.fakes.loop_run import MARKET, PRICE, BrokerWeb, Say, believing, block, calls, says
from workbench.agents.base import AgentSettings, Grounder
from workbench.agents.grounders.belief import BeliefGrounder
from workbench.agents.grounders.deep_research import DeepResearchGrounder
from workbench.agents.grounders.notebook_grounder import NotebookGrounder
from workbench.agents.grounders.router import RouterGrounder
from workbench.agents.grounders.search_grounder import SearchGrounder
from workbench.agents.registry import open_grounder
from workbench.models.base import ModelRequest

SUBMIT = {"probability": 0.62, "reasoning": "The committee waits [S1.1].", "key_factor": "it waits"}
CELL = 'rows = CALL_API("embedded/series/observations", {"series_id": "VIX"})\nprint(len(rows) > 100)'
CONCLUSION = '```json\n{"p_true": 0.62, "key_factor": "it waits"}\n```'
SERIES_CLAIM = "The S&P 500 closes higher on 2018-09-28 than on 2018-06-29"
MARKET_CLAIM = f"The S&P rises by September (kalshi/{MARKET})"
HAND_IN = {"notes": [{"text": "The committee waits.", "sources": ["Q1S1.1"]}]}


@dataclass(frozen=True)
class Case:
    """A grounder, its script, one without an end, and what it does beyond asking a model.

    Parameters
    ----------
    make : callable
        The grounder.
    script, endless : mapping
        Replies by stage; both empty where no model is asked.
    most_calls : int
        Model calls at most, whatever is replied.
    statement : str
        The leaf; "" for one that says nothing in particular.
    p : float or None
        What the script comes to; None where it follows from data.
    loops : bool
        Whether it is a loop whose evidence is a trace with tool answers.
    reads_web : bool
        Whether it reads pages: late ones are asked for, and hostile ones are named.
    cells : bool
        Whether it runs cells in every leaf.
    """

    make: Callable[[], Grounder]
    script: Mapping[str, Sequence[Say]]
    endless: Mapping[str, Sequence[Say]]
    most_calls: int
    statement: str = ""
    p: float | None = 0.62
    loops: bool = False
    reads_web: bool = False
    cells: bool = False


def ever_new(request: ModelRequest) -> Any:
    turn = len(request.messages)
    return calls(("search", {"words": f"words {turn}", **believing(0.4)}))(request)  # type: ignore[operator]


def ever_new_plain(request: ModelRequest) -> Any:
    return calls(("search", {"words": f"words {len(request.messages)}"}))(request)  # type: ignore[operator]


def ever_new_cell(request: ModelRequest) -> Any:
    return says(f"<python_cell>\nprint({len(request.messages)})\n</python_cell>")


def ever_unreadable(request: ModelRequest) -> Any:
    return says(f"no block, for the {len(request.messages)}th time")


def registered(name: str, **options: Any) -> Callable[[], Grounder]:
    """Make a grounder as a run makes it."""
    return lambda: open_grounder(name, AgentSettings(max_proof_steps=4), options)


def routed() -> Grounder:
    """A router whose first choice has no answer, so that a loop stands behind it on the route."""
    router = RouterGrounder(AgentSettings(), {"ground_with": {"P1": "statistical+search"}})
    router.grounders["search"] = SearchGrounder(options={"steps": 4}, open_web=BrokerWeb)
    return router


LOOK_UPS = [
    calls(("search", {"words": "rates"}), ("search", {"words": "jobs"})),
    calls(("open_page", {"page": "S1.1"}), ("open_page", {"page": "https://example.org/tomorrow"})),
    calls(("submit", SUBMIT)),
]
THOUGHTS: Mapping[str, Sequence[Say]] = {
    "propose": [block({"thoughts": ["rates decide", "jobs decide"]})],
    "merge": [block({"thoughts": ["both decide"]})],
    "refine": [block({"thoughts": ["rates more than jobs"]})],
    "value": [block({"value": 7})],
    "answer": [says(f"It waits.\n\n{CONCLUSION}")],
}
UNREADABLE: Mapping[str, Sequence[Say]] = {key: [ever_unreadable] for key in THOUGHTS}


def thinking(name: str, most_calls: int, **options: Any) -> Case:
    return Case(make=registered(name, **options), script=THOUGHTS, endless=UNREADABLE, most_calls=most_calls)


CASES: Mapping[str, Case] = {
    "search": Case(
        make=lambda: SearchGrounder(options={"steps": 4}, open_web=BrokerWeb),
        script={"act": LOOK_UPS},
        endless={"act": [ever_new_plain]},
        most_calls=4 + 1 + 2,
        loops=True,
        reads_web=True,
    ),
    "belief": Case(
        make=lambda: BeliefGrounder(options={"steps": 5}, open_web=BrokerWeb),
        script={
            "act": [
                calls(("search", {"words": "rates", **believing(0.5)})),
                calls(
                    ("open_page", {"page": "S1.1", **believing(0.55, sources=["S1.1"])}),
                    (
                        "series",
                        {"source": "embedded", "series_id": "SP500", **believing(0.55, sources=["S1.1"])},
                    ),
                ),
                calls(
                    ("open_page", {"page": "https://example.org/tomorrow", **believing(0.6, sources=["D2a"])})
                ),
                calls(("submit", {**SUBMIT, **believing(0.62, sources=["S1.1", "D2a"])})),
            ]
        },
        endless={"act": [ever_new]},
        most_calls=5,
        loops=True,
        reads_web=True,
    ),
    "deep_research": Case(
        make=lambda: DeepResearchGrounder(options={"steps": 3, "questions": 2}, open_web=BrokerWeb),
        script={
            "lead": [
                block({"plan": "Two things decide it.", "questions": ["What do rates do?", "And jobs?"]}),
                block({"plan": "One thing is open.", "questions": ["And tomorrow?"]}),
                says(f"It waits [Q1S1.1].\n\n{CONCLUSION}"),
            ],
            "sub1": [calls(("search", {"words": "rates"})), calls(("hand_in", HAND_IN))],
            "sub2": [
                calls(("series", {"source": "embedded", "series_id": "VIX"})),
                calls(("hand_in", {"notes": [{"text": "calm", "sources": ["Q2D1"]}]})),
            ],
            "sub3": [
                calls(("open_page", {"page": "https://example.org/tomorrow"})),
                calls(("hand_in", {"notes": []})),
            ],
        },
        endless={
            "lead": [
                block({"plan": "p", "questions": ["a", "b", "c", "d"]}),
                block({"plan": "p", "questions": ["e", "f", "g"]}),
                says(f"It waits.\n\n{CONCLUSION}"),
            ],
            **{f"sub{n}": [ever_new_plain] for n in range(1, 5)},
        },
        # two questions and two more, three steps and a last ask with two further ones each; the lead's three
        most_calls=4 * (3 + 3) + 3,
        loops=True,
        reads_web=True,
    ),
    "notebook": Case(
        make=NotebookGrounder,
        script={
            "step": [says(f"<python_cell>\n{CELL}\n</python_cell>"), says("<TERMINATE_NOTEBOOK>")],
            "conclude": [says(CONCLUSION)],
        },
        endless={"step": [ever_new_cell], "conclude": [says(CONCLUSION)]},
        most_calls=4 + 1,
        cells=True,
    ),
    "statistical": Case(
        make=registered("statistical"), script={}, endless={}, most_calls=0, statement=SERIES_CLAIM, p=None
    ),
    "market": Case(
        make=registered("market"), script={}, endless={}, most_calls=0, statement=MARKET_CLAIM, p=PRICE
    ),
    "auto": Case(
        make=routed,
        script={"act": LOOK_UPS},
        endless={"act": [ever_new_plain]},
        most_calls=4 + 1 + 2,
        reads_web=True,
    ),
    # The first ask of a call and as many further ones as a dialogue allows, then the next attempt: none of it without an end.
    "zero-shot": thinking("zero-shot", 4 * 2),
    "tree-of-thoughts": thinking("tree-of-thoughts", 4 * 2, depth=1, branching=2, beam=1),
    "graph-of-thoughts": thinking("graph-of-thoughts", 4 * 2, branching=2),
    "forest-of-thoughts": thinking("forest-of-thoughts", 4 * 2, trees=2, depth=1, branching=2, beam=1),
}
