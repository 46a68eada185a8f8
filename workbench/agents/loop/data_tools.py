"""``call_api``, ``api_docs``, ``series`` and ``market_history``: the broker's data as tools, every answer dated and on the ledger.

What the model reads of an answer follows from the answer alone, so that `verify` can write it again from the ledger (`text_again`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from workbench.agents.grounders.documentation import DocumentationTool
from workbench.agents.loop.tool_box import Observation, Tool, ToolPlace, ToolSource, tool_spec
from workbench.models.base import ToolCall, ToolSpec
from workbench.quoting import one_line, quote

if TYPE_CHECKING:
    from proxies.asof.clock import Cutoff
    from proxies.ledger import Answer
    from workbench.agents.base import DataGuide
    from workbench.search.web_calls import DataCaller

#: Where a series of a source is read: path, the parameter that names it, where its rows lie, and the names of date and value.
SERIES: dict[str, tuple[str, str, tuple[str, ...], str, str]] = {
    "embedded": ("embedded/series/observations", "series_id", (), "date", "value"),
    "fred": ("fred/series/series/observations", "series_id", ("observations",), "date", "value"),
}
#: Name of the tool that forecasts a series (`workbench.agents.loop.forecast_tool`).
FORECAST_SERIES = "forecast_series"
#: Days of a market's past that are shown (BLF, App. C.5).
MARKET_DAYS = 60
#: Characters of one answer that a model reads.
CHARACTERS = 6000
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class DataTool(Tool):
    """A tool that makes one data call: ``request`` gives path and parameters for its arguments, "" for arguments that make none."""

    name: str
    call_api: DataCaller
    request: Callable[[Mapping[str, Any]], tuple[str, dict[str, Any]]]

    @property
    def spec(self) -> ToolSpec:
        """The tool as models read it."""
        return tool_spec(self.name)

    async def call(self, arguments: Mapping[str, Any], place: ToolPlace) -> Observation:
        """Make the call; raises ``ProxyError`` where it is refused."""
        path, params = self.request(arguments)
        if not path:
            return Observation(
                text="On kalshi a market is read with its series: give both tickers.", failed=True
            )
        answer = await self.call_api(path, params, step=place.address)
        return answered(path, answer, place, _TEXTS[self.name](answer.data, arguments))


def data_tool(name: str, call_api: DataCaller, cutoff: Cutoff) -> DataTool:
    """Return the tool of this name.

    ``call_api`` is one data call by path and parameters; ``series`` a series' last values and a few plain figures of all of them (BLF's
    history-fetch); ``market_history`` the price path of a market's outcome over its last sixty days before the cutoff (BLF, App. C.5).
    """
    requests: dict[str, Callable[[Mapping[str, Any]], tuple[str, dict[str, Any]]]] = {
        "call_api": lambda wanted: (str(wanted["path"]), dict(wanted.get("params") or {})),
        "series": lambda wanted: (
            SERIES[wanted["source"]][0],
            {SERIES[wanted["source"]][1]: wanted["series_id"]},
        ),
        "market_history": partial(market_request, last=cutoff.last_visible_day),
    }
    return DataTool(name, call_api, requests[name])


@dataclass(frozen=True, slots=True)
class ApiDocsTool(Tool):
    """Documentation by words and by paths."""

    data: DataGuide

    spec = tool_spec("api_docs")

    async def call(self, arguments: Mapping[str, Any], place: ToolPlace) -> Observation:
        """Look documentation up."""
        wanted = ToolCall(id="", name="retrieve_api_doc", arguments=dict(arguments))
        text = DocumentationTool(self.data).answer(wanted).replace("retrieve_api_doc", "api_docs")
        failed = text.startswith(("Nothing found:", "No documentation:", "api_docs takes"))
        return Observation(text=text, failed=failed)


#: What a model is shown of an answer's data, by the tool that brought it.
_TEXTS: Mapping[str, Callable[[Any, Mapping[str, Any]], str]] = {
    "call_api": lambda data, wanted: text_of_answer(data, CHARACTERS),
    "series": lambda data, wanted: text_of_series(data, str(wanted["source"]), _last(wanted)),
    "market_history": lambda data, wanted: text_of_answer(data, CHARACTERS),
}


def text_again(
    tool: str, arguments: Mapping[str, Any], path: str, answer: Answer, place: ToolPlace
) -> str | None:
    """Return what the model was shown of a data answer, made again from the ledger's; None for tools that show no data."""
    shown = _TEXTS.get(tool)
    return None if shown is None else answered(path, answer, place, shown(answer.data, arguments)).text


def _last(arguments: Mapping[str, Any]) -> int:
    return min(max(int(arguments.get("last") or _SHOWN), 1), 500)


def market_request(arguments: Mapping[str, Any], last: date) -> tuple[str, dict[str, Any]]:
    """Return path and parameters of a market's prices in the window that ends with ``last``; "" if something is missing."""
    first = last - timedelta(days=MARKET_DAYS)
    # Seconds of the two days' beginnings, in UTC; the broker clamps the end to the cutoff.
    start, end = (
        round((day - date(1970, 1, 1)).total_seconds()) for day in (first, last + timedelta(days=1))
    )
    if arguments["venue"] == "polymarket":
        return "polymarket/prices-history", {
            "market": arguments["market"],
            "startTs": start,
            "endTs": end,
            "fidelity": 1440,
        }
    if not arguments.get("series"):
        return "", {}
    return "kalshi/candlesticks", {
        "series_ticker": arguments["series"],
        "ticker": arguments["market"],
        "start_ts": start,
        "end_ts": end,
        "period_interval": 1440,
    }


def answered(path: str, answer: Answer, place: ToolPlace, text: str) -> Observation:
    """Return the observation of one data answer."""
    identity = place.id("D")
    meta = answer.meta
    notes = [one_line(str(note), 200) for note in meta.get("notes") or ()][:3]
    heading = f"[{identity}] {one_line(path, 120)}, as known at {one_line(str(meta.get('as_of', '?')), 40)}"
    shown = quote(text, 20_000)
    source = ToolSource(
        id=identity,
        title=one_line(path, 120),
        origin=one_line(str(meta.get("content_hash", "")), 80),
        published=one_line(str(meta.get("as_of", "")), 40),
    )
    content = meta.get("content_hash")
    return Observation(
        text="\n".join([heading, shown.text, *(f"({note})" for note in notes)]),
        answers=(content,) if isinstance(content, str) else (),
        sources=(source,),
        marks=shown.marks,
    )


def text_of_answer(data: Any, characters: int) -> str:
    """Return an answer's data as JSON lines of at most so many characters: of a long list its first and its last rows."""
    if not isinstance(data, list):
        text = json.dumps(data, ensure_ascii=False, sort_keys=True)
        return text if len(text) <= characters else f"{text[:characters]}… ({len(text)} characters)"
    rows = [json.dumps(row, ensure_ascii=False, sort_keys=True) for row in data]
    if sum(map(len, rows)) <= characters:
        return "\n".join(rows) or "(no rows)"
    first: list[str] = []
    last: list[str] = []
    room = characters
    # The newest rows matter most: two of them for each old one.
    for turn in range(len(rows)):
        row = rows[len(first)] if turn % 3 == 0 else rows[-1 - len(last)]
        room -= len(row)
        if room < 0 or len(first) + len(last) >= len(rows):
            break
        (first if turn % 3 == 0 else last).append(row)
    left = len(rows) - len(first) - len(last)
    return "\n".join([*first, f"({left} rows in between are left out)", *reversed(last)])


def text_of_series(data: Any, source: str, last: int) -> str:
    """Return a series' last values and figures of all of them; values that are no number are counted."""
    _, _, place, day, value = SERIES[source]
    for key in place:
        data = data.get(key, []) if isinstance(data, dict) else []
    points: list[tuple[str, float]] = []
    unread = 0
    for row in data if isinstance(data, list) else []:
        number = _finite(row.get(value)) if isinstance(row, dict) else None
        if number is None:
            unread += 1
        else:
            points.append((str(row.get(day, "")), number))
    if not points:
        return "no values"
    values = [number for _, number in points]
    changes = [after - before for before, after in pairwise(values)]
    lines = [
        f"values {len(values)} from {points[0][0]} to {points[-1][0]}; least {min(values):g}, greatest {max(values):g},"
        f" last {values[-1]:g}"
    ]
    if len(changes) > 1:
        mean = sum(changes) / len(changes)
        spread = math.sqrt(sum((change - mean) ** 2 for change in changes) / (len(changes) - 1))
        rises = sum(change > 0 for change in changes) / len(changes)
        lines.append(f"changes: mean {mean:.6g}, standard deviation {spread:.6g}, share of rises {rises:.4f}")
    if unread:
        lines.append(f"{unread} rows without a number")
    return "\n".join([*lines, "date,value", *(f"{day},{number:g}" for day, number in points[-last:])])


def _finite(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None
