"""``forecast_series``: the house's forecast of a series as a tool of a model, from rows that the broker gave as of the cutoff.

What the model reads follows from the answer on the ledger and this version's code, so `verify` can write it again; under other code
the hash in its first line differs, and it is not compared.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from workbench.agents.loop.data_tools import FORECAST_SERIES, answered
from workbench.agents.loop.tool_box import Observation, Tool, ToolPlace, tool_spec
from workbench.forecasts.ensemble import Ensemble
from workbench.forecasts.past_windows import TooLittleHistory, beside_now, refuse_too_few
from workbench.forecasts.reading import Reading, chance
from workbench.forecasts.separate_windows import separate_windows
from workbench.forecasts.series.series_history import History
from workbench.forecasts.series_paths import Calendar, Paths, weighted_quantiles
from workbench.formatting import number, places_of
from workbench.models.base import ToolSpec
from workbench.questions.errors import ClaimRefused
from workbench.questions.series.series_quantity import READ_AT, Quantity, quantity_record
from workbench.questions.series.series_reference import SeriesRef, Source
from workbench.questions.series.value_states import (
    SeriesStates,
    params_of_states,
    states_of,
    untold,
)
from workbench.science.errors import ScienceError
from workbench.source_hash import source_hash

if TYPE_CHECKING:
    from proxies.asof.clock import Cutoff
    from workbench.search.web_calls import DataCaller

#: Past cutoffs of the record: each is a whole forecast.
_PAST = 8
_SHARES = ("0.05", "0.25", "0.5", "0.75", "0.95")
_SIDES = ("above", "below")
#: In the order in which models were told of them: their requests are recorded by hash.
_SOURCES: tuple[Source, ...] = ("embedded", "fred", "yfinance", "dbnomics")


@dataclass(frozen=True, slots=True)
class ForecastSeriesTool(Tool):
    """Forecasts a series; offered to runs that began with its description (`PromptSet.has`)."""

    call_api: DataCaller
    cutoff: Cutoff
    description: str

    @property
    def spec(self) -> ToolSpec:
        """The tool, in the words of the run."""
        return tool_spec(FORECAST_SERIES, description=self.description)

    async def call(self, arguments: Mapping[str, Any], place: ToolPlace) -> Observation:
        """Read the series and forecast it; raises ``ProxyError`` where the series is refused."""
        try:
            ref, _ = _wanted_forecast(arguments)
            path, params = ref.call(self.cutoff.instant)
        except ValueError as problem:
            return Observation(text=f"{FORECAST_SERIES} was not called: {problem}", failed=True)
        # One call for all that its values ever were: the record is made from what stood at its cutoffs.
        answer = await self.call_api(path, params_of_states(ref, params), step=place.address)
        # In a thread: other calls of the move wait for the loop.
        text = await asyncio.to_thread(text_of_forecast, answer.data, arguments)
        return answered(path, answer, place, text)


def code_mark() -> str:
    """What the first line of a forecast names its code by."""
    return source_hash("workbench.forecasts")[:8]


def _wanted_forecast(arguments: Mapping[str, Any]) -> tuple[SeriesRef, date]:
    """The series and the day of a call; raises ``ValueError``."""
    source = next(known for known in _SOURCES if known == arguments["source"])
    try:
        day = date.fromisoformat(arguments["day"])
    except ValueError:
        raise ValueError(f"day is one such as 2018-12-31, not {arguments['day']!r:.20}") from None
    if source == "dbnomics" and arguments["series_id"].count("/") < 2:
        raise ValueError("a series of dbnomics is PROVIDER/DATASET/SERIES")
    return SeriesRef(source=source, id=arguments["series_id"]), day


def text_of_forecast(data: Any, arguments: Mapping[str, Any]) -> str:
    """Return what a model reads of a forecast from a series' answer; the same rows, arguments and code give the same text."""
    ref, day = _wanted_forecast(arguments)
    try:
        rows, states = ref.rows(data), states_of(ref, data)
        return "\n".join(
            _forecast_lines(
                ref,
                tuple((row["date"], row["value"]) for row in rows) if states is None else states,
                day,
                arguments.get("level"),
                arguments.get("side", "above"),
                arguments.get("window", "on"),
            )
        )
    except (ClaimRefused, ScienceError) as problem:
        return f"no forecast: {problem}"


# `verify` and a second look ask the same again: 8 MB of paths are not kept, their lines are.
@lru_cache(maxsize=64)
def _forecast_lines(
    ref: SeriesRef,
    known: tuple[tuple[str, float], ...] | SeriesStates,
    day: date,
    level: float | None,
    side: str,
    window: str,
) -> tuple[str, ...]:
    name, states = str(ref), known if isinstance(known, SeriesStates) else None
    history = (
        known.newest()
        if isinstance(known, SeriesStates)
        else History.of([row[0] for row in known], [row[1] for row in known])
    )
    last = history.days[-1].item()
    calendar = Calendar.of(history)
    if day <= last or not len(calendar.stamps(last, day)):
        return (
            f"no forecast: the value of {name} on {day} is known at the cutoff, or none is to come until it "
            f"(the last one is {number(float(history.values[-1]))} on {last})",
        )
    forecaster = Ensemble()
    paths = forecaster.paths(history, day, calendar)
    on = Quantity(name=name, unit="", history=history, day=day, states=states)
    lines = [
        f"forecast of {name} by {forecaster.name} {code_mark()}, from {len(history)} values; the last is "
        f"{number(float(history.values[-1]))} on {last}",
        f"quantile,on {day},highest by then,lowest by then",
    ]
    places = places_of(history.values[-60:])
    for share in _SHARES:
        levels = (
            weighted_quantiles(statistic(paths.values), paths.weights, [float(share)])[0]
            for statistic in READ_AT.values()
        )
        lines.append(f"{share},{','.join(f'{each:.{places}f}' for each in levels)}")
    if level is not None:
        lines.append(_level_line(paths, day, level, side, window))
    reason = untold(ref) or "the past is too short"
    record = None if untold(ref) else quantity_record(on, forecaster, calendar, most=_PAST)
    lines.append(f"record: none, {reason}" if record is None else f"record: {record['line']}")
    return tuple(lines)


def _level_line(paths: Paths, day: date, level: float, side: str, window: str) -> str:
    on_day = window == "on"
    reading = Reading(
        series=("series",),
        statistic="last" if on_day else "highest" if side == "above" else "lowest",
        comparison="above" if side == "above" else "below",
        level=level,
        end=day,
    )
    values, steps = paths.known.values, len(paths.days)
    name = "value" if on_day else "highest" if side == "above" else "lowest"
    past = READ_AT[name](beside_now(values, steps, "growth"))
    came = past > level if side == "above" else past < level
    when = f"on {day}" if on_day else f"at least once by {day}"
    said = f"p({side} {number(level)} {when}) = {chance(reading, paths).p:.4f}"
    try:
        separate = separate_windows(came, steps) if len(past) else 0.0
        refuse_too_few(separate, f"{steps} values")
    except TooLittleHistory as problem:
        return f"{said}; {problem}"
    return (
        f"{said}; moved by past changes over as many steps it was so in {came.mean():.4f} of n = {len(past)} windows "
        f"({separate:.1f} of them separate)"
    )
