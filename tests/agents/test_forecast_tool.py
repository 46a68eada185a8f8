"""``forecast_series``: a forecast as a tool of a model, from rows as of the cutoff, on the ledger, and checked by ``verify``."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from proxies.asof.clock import Cutoff
from proxies.broker import open_broker
from proxies.errors import Refused
from proxies.ledger import Address, Answer, MemoryLedger
from proxies.settings import ProxySettings
from tests.agents.grounded_runs import Ran, differences, run
from tests.agents.grounder_cases import SUBMIT, Case
from tests.fakes.loop_run import LEAF, BrokerWeb, believing, calls
from workbench.agents.grounders.belief import BeliefGrounder
from workbench.agents.loop import forecast_tool
from workbench.agents.loop.forecast_tool import ForecastSeriesTool, code_mark, text_of_forecast
from workbench.agents.loop.tool_box import ToolBox, ToolUse
from workbench.engine.proof_check import stored_evidence
from workbench.forecasts.driftless_walk import DriftlessWalk
from workbench.forecasts.reading import Reading, chance
from workbench.forecasts.series.series_history import History
from workbench.forecasts.series_paths import Calendar
from workbench.prompts import PromptSet
from workbench.prompts.prompt_set import TODAY
from workbench.store import ApiLedger, ModelLedger

WANTED = {"source": "embedded", "series_id": "VIX", "day": "2018-09-28", "level": 20.0}
_LAST = "2018-06-29"


@pytest.fixture(autouse=True)
def _walk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A forecaster that costs nothing, in place of the ensemble."""
    monkeypatch.setattr(forecast_tool, "Ensemble", DriftlessWalk)
    forecast_tool._forecast_lines.cache_clear()


def rows_until(cutoff: str) -> list[dict[str, Any]]:
    async def ask() -> Answer:
        broker = open_broker(ProxySettings())
        try:
            address = Address(run="r", node="P1", trial=1, attempt=1, stage="observe", step=0, retry=0)
            session = broker.session(Cutoff.parse(cutoff), MemoryLedger())
            return await session.call("embedded/series/observations", {"series_id": "VIX"}, address)
        finally:
            await broker.aclose()

    return list(asyncio.run(ask()).data)


def use(arguments: Mapping[str, Any], call_api: Any = None) -> str:
    async def refuse(*args: Any, **_: Any) -> Answer:
        raise Refused("not now")

    tool = ForecastSeriesTool(call_api or refuse, Cutoff.parse("2018-06-30"), "forecasts")
    box = ToolBox([tool])
    (observation,) = asyncio.run(
        box.run([ToolUse(id="1", name="forecast_series", arguments=dict(arguments))], step=1)
    )
    assert observation.failed
    return observation.text


def test_its_numbers_are_those_of_the_paths_and_it_says_how_such_forecasts_did() -> None:
    rows = rows_until("2018-06-30")
    text = text_of_forecast(rows, WANTED)
    history = History.of([row["date"] for row in rows], [row["value"] for row in rows])
    end = Calendar.of(history)
    from datetime import date

    paths = DriftlessWalk().paths(history, date(2018, 9, 28), end)
    p = chance(Reading(series=("VIX",), comparison="above", level=20.0, end=date(2018, 9, 28)), paths).p
    assert f"p(above 20 on 2018-09-28) = {p:.4f}" in text and code_mark() in text.splitlines()[0]
    assert "of n = 1,0" in text or "of n = 1" in text
    assert "record: " in text and "past dates" in text and f"on {_LAST}" in text
    quantiles = [float(line.split(",")[1]) for line in text.splitlines() if line.startswith("0.")]
    assert quantiles == sorted(quantiles) and len(quantiles) == 5
    touch = text_of_forecast(rows, {**WANTED, "window": "by"})
    assert "p(above 20 at least once by 2018-09-28)" in touch
    chances = [float(each.partition(") = ")[2][:6]) for each in (text, touch)]
    assert chances[0] <= chances[1]


def test_a_share_of_too_few_separate_windows_is_not_said() -> None:
    """A trend that turned once: each of a thousand past changes came out as the one before it."""
    days = [row["date"] for row in rows_until("2018-06-30")]
    turned = 50 + np.abs(np.arange(len(days)) - len(days) // 2) * 0.01
    rows = [{"date": day, "value": value} for day, value in zip(days, turned.tolist(), strict=True)]
    wanted = {**WANTED, "level": float(turned[-1])}
    answer = text_of_forecast(rows, wanted)
    assert "fewer than two independent periods" in answer and "moved by past" not in answer
    said = text_of_forecast(rows_until("2018-06-30"), WANTED)
    assert "moved by past changes" in said and "of them separate" in said


def test_what_became_known_later_changes_nothing_and_would_if_it_were_read() -> None:
    told, later = rows_until("2018-06-30"), rows_until("2018-09-01")
    assert told[-1]["date"] == _LAST and len(later) > len(told)
    assert text_of_forecast(told, WANTED) != text_of_forecast(later, WANTED)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"day": "soon"}, "day is one such as"),
        ({"source": "bloomberg"}, "source is one of embedded, fred, yfinance, dbnomics"),
        ({"source": "dbnomics", "series_id": "x"}, "PROVIDER/DATASET/SERIES"),
        ({"side": "up"}, "side is one of above, below"),
        ({"level": "high"}, "level must be of type number"),
        ({"horizon": 3}, "it takes source, series_id"),
        ({}, "brought nothing: not now"),
    ],
)
def test_a_wrong_call_is_answered_in_words(wrong: Mapping[str, Any], words: str) -> None:
    assert words in use({**WANTED, **wrong})


@pytest.mark.parametrize("day", ["2018-06-29", "2018-06-30", "2010-01-01"])
def test_a_day_that_is_known_has_no_forecast(day: str) -> None:
    assert text_of_forecast(rows_until("2018-06-30"), {**WANTED, "day": day}).startswith(
        "no forecast: the value"
    )


CASE = Case(
    make=lambda: BeliefGrounder(options={"steps": 5, "source": "embedded"}, open_web=BrokerWeb),
    script={
        "act": [
            calls(("forecast_series", {**WANTED, **believing(0.3)})),
            calls(("submit", {**SUBMIT, **believing(0.25, sources=["D1"])})),
        ]
    },
    endless={},
    most_calls=5,
)


@pytest.fixture
async def ran(tmp_path: Path) -> Ran:
    return await run(tmp_path / "home", CASE, CASE.script)


async def test_a_model_is_offered_it_once_reads_its_numbers_and_pays_nothing_for_them(ran: Ran) -> None:
    offered = [tool.name for tool in ran.model.requests[0].tools]
    assert offered.count("forecast_series") == 1
    spec = next(tool for tool in ran.model.requests[0].tools if tool.name == "forecast_series")
    assert spec.description == TODAY.render("forecast_series").strip()
    (row,) = ApiLedger(ran.store).rows(ran.state.run_id, LEAF)
    assert row.path == "embedded/series/observations" and row.answer is not None
    shown = ran.model.requests[-1].messages[-1].content
    assert "last is" in shown and f"on {_LAST}" in shown and "p(above 20 on 2018-09-28)" in shown
    # two replies of the script's price; the forecast itself adds no call and no cent
    assert len(ran.model.requests) == 2
    assert ModelLedger(ran.store).cost(ran.state.run_id) == pytest.approx(0.002)


async def test_no_row_of_after_the_cutoff_reaches_it(ran: Ran) -> None:
    (row,) = ApiLedger(ran.store).rows(ran.state.run_id, LEAF)
    assert row.answer is not None and max(each["date"] for each in row.answer.data) == _LAST
    # the control: a cutoff two months on shows more
    later = await asyncio.to_thread(rows_until, "2018-09-01")
    assert max(each["date"] for each in later) > _LAST


async def test_verify_writes_the_forecast_again(
    ran: Ran, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await differences(ran) == []
    evidence = stored_evidence(ran.store, ran.state, LEAF, 1)
    assert code_mark() in json.dumps(evidence.to_json())
    # other numbers under the same code are found, numbers of other code are not compared
    monkeypatch.setattr(forecast_tool, "text_of_forecast", lambda data, arguments: "p = 0.99")
    assert any("forecast_series is not what the ledger's data say" in line for line in await differences(ran))
    monkeypatch.setattr(forecast_tool, "code_mark", lambda: "00000000")
    assert await differences(ran) == []


def test_a_run_that_began_without_it_goes_on_without_it() -> None:
    before = {
        name: each["sha256"] for name, each in TODAY.fingerprints().items() if name != "forecast_series"
    }
    prompts = PromptSet.of({name: str(digest) for name, digest in before.items()})
    assert not prompts.has("forecast_series") and "forecast_series" not in prompts.fingerprints()
    assert PromptSet.of({}).has("forecast_series") and TODAY.has("forecast_series")
