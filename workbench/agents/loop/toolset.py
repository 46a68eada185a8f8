"""Which tools a loop gets: by name, and for a belief agent by the source that its question is about (BLF, Tables 4 to 6)."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from workbench.agents.errors import BadSetting
from workbench.agents.loop.cell_tool import CellTool
from workbench.agents.loop.data_tools import (
    FORECAST_SERIES,
    ApiDocsTool,
    data_tool,
)
from workbench.agents.loop.tool_box import Tool, ToolBox
from workbench.agents.loop.web_tools import OpenPageTool, SearchTool
from workbench.prompts import prompts_of

if TYPE_CHECKING:
    from workbench.agents.base import LeafTask
    from workbench.search.base import Web

#: Opens the web of one leaf, as of its cutoff.
WebOpener = Callable[["LeafTask"], "Web"]

WEB_TOOLS = ("search", "open_page")
ALL_TOOLS = (
    "search",
    "open_page",
    "api_docs",
    "call_api",
    "series",
    FORECAST_SERIES,
    "market_history",
    "cell",
)

#: The meta-controller: tools by the source of a question (BLF, Table 5). The paper's combined and model tools are our
#: ``series``, which gives history and figures; what it calls basic is a page by its address alone.
SOURCE_TOOLS: dict[str, tuple[str, ...]] = {
    "embedded": ("series", FORECAST_SERIES, *WEB_TOOLS),
    "fred": ("series", FORECAST_SERIES, *WEB_TOOLS),
    "yfinance": ("call_api", "api_docs", FORECAST_SERIES, *WEB_TOOLS),
    "dbnomics": ("call_api", "api_docs", FORECAST_SERIES, "open_page"),
    "polymarket": ("market_history", *WEB_TOOLS),
    "kalshi": ("market_history", *WEB_TOOLS),
    "manifold": WEB_TOOLS,
    "metaculus": WEB_TOOLS,
    "wikipedia": ("call_api", "api_docs", *WEB_TOOLS),
    "acled": WEB_TOOLS,
}


def source_of(text: str) -> str:
    """Return the source that what settles a leaf names, or "" if it names none of the table or several.

    >>> source_of("Kalshi's market on the May meeting"), source_of("FRED or Kalshi"), source_of("the newspapers")
    ('kalshi', '', '')
    """
    words = text.lower()
    named = [source for source in SOURCE_TOOLS if source in words]
    return named[0] if len(named) == 1 else ""


def check_tools(names: Sequence[str]) -> tuple[str, ...]:
    """Return names of tools without repeats; raises `BadSetting` for one that does not exist."""
    unknown = sorted(set(names) - set(ALL_TOOLS))
    if unknown:
        raise BadSetting(f"no tool is called {', '.join(unknown)}: the tools are {', '.join(ALL_TOOLS)}")
    return tuple(dict.fromkeys(names))


def open_leaf_web(task: LeafTask) -> Web:
    """Return the web of a leaf: searches and pages through the broker, at the leaf's cutoff.

    Looked up late: the room of the web is heavy, and a leaf without a search needs none of it.
    """
    try:
        leaf_web = importlib.import_module("workbench.search.leaf_web")
    except ModuleNotFoundError as error:
        if error.name != "workbench.search.leaf_web":
            raise
        raise BadSetting(
            "this installation has no web search: choose tools without search and open_page"
        ) from None
    # An inner node has a line for itself and one for each of its children.
    sources = dict.fromkeys(filter(None, map(source_of, task.resolves_by.splitlines())))
    web: Web = leaf_web.open_web(
        call_api=task.call_api,
        ask=task.ask,
        node=task.node,
        cutoff=task.cutoff,
        # Layer 4: whoever settles the question is neither searched nor read.
        options=leaf_web.WebOptions(sources=tuple(sources), resolution_text=task.resolves_by),
        verdicts=task.verdicts,
    )
    return web


def _forecast_tool(task: LeafTask) -> Tool:
    # numerics of a second, which leaves without a series do without
    from workbench.agents.loop.forecast_tool import ForecastSeriesTool

    description = prompts_of(task.ask).render(FORECAST_SERIES).strip()
    return ForecastSeriesTool(task.call_api, task.cutoff, description)


class Toolset:
    """Makes the tool boxes of one leaf's loops; its web is opened with the first box that searches."""

    def __init__(self, task: LeafTask, web: WebOpener, *, results: int) -> None:
        self._task = task
        self._open_web = web
        self._results = results
        self._web: Web | None = None
        self.cell = CellTool(task.open_notebook)

    def web_records(self) -> tuple[dict[str, Any], ...]:
        """Return what became of every search result and page, as the web keeps it for audits; no agent is shown it."""
        return tuple(asdict(record) for record in getattr(self._web, "records", ()))

    def box(self, names: Sequence[str], *, track: int = 0) -> ToolBox:
        """Return a box of these tools; ``track`` keeps parallel loops apart. Only the leaf's own loop may have ``cell``."""
        task = self._task
        tools: list[Tool] = []
        if set(names) & set(WEB_TOOLS):
            self._web = self._web or self._open_web(task)
            search = SearchTool(self._web, self._results)
            if "search" in names:
                tools.append(search)
            if "open_page" in names:
                tools.append(OpenPageTool(search))
        others: dict[str, Callable[[], Tool]] = {
            name: partial(data_tool, name, task.call_api, task.cutoff)
            for name in ("call_api", "series", "market_history")
        }
        others |= {"api_docs": lambda: ApiDocsTool(task.data), "cell": lambda: self.cell}
        prompts = prompts_of(task.ask)
        # A run that began before there was the tool goes on without it: with it every request would be another.
        if prompts.has(FORECAST_SERIES):
            others[FORECAST_SERIES] = lambda: _forecast_tool(task)
        tools += [others[name]() for name in ALL_TOOLS if name in names and name in others]
        return ToolBox(tools, track=track)
