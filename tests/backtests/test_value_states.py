"""Revised series at past cutoffs: as they stood then, settled as they were first published, never by what was revised since."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from proxies.asof.clock import Cutoff
from proxies.broker import open_broker
from proxies.errors import ProxyError
from proxies.ledger import Address, MemoryLedger
from proxies.settings import ProxySettings
from tests.fakes.upstream_fred import KEY, FredUpstream
from workbench.agents.loop import forecast_tool
from workbench.agents.loop.tool_box import ToolPlace
from workbench.backtests.claim_backtest import BacktestPlan, ForecastFile, run_backtest
from workbench.backtests.claim_record import claim_record
from workbench.backtests.claim_templates import ClaimTemplate, Span
from workbench.backtests.known_rows import KnownRows, check_rows, read_known_rows
from workbench.backtests.series_source import SeriesSource, read_quantity
from workbench.blocking import run_blocking
from workbench.forecasts.driftless_walk import DriftlessWalk
from workbench.forecasts.series.series_history import History
from workbench.offline.visible_past import broker_history, open_sources
from workbench.questions.decision import Rows
from workbench.questions.errors import LookAhead
from workbench.questions.series.series_quantity import Quantity, quantity_document
from workbench.questions.series.value_states import KnownRow, SeriesStates
from workbench.science.arrays import FloatArray

RNG = np.random.default_rng(8)
MONTHS = np.arange("2000-01", "2018-05", dtype="datetime64[M]")
TRUTH = 100 * np.exp(np.cumsum(0.003 * RNG.standard_normal(len(MONTHS))))
PRINTS = TRUTH * np.exp(0.04 * RNG.standard_normal(len(MONTHS)))
CUTOFF, DAY = Cutoff.parse("2018-06-30"), date(2018, 8, 1)


def published(months: int, month: np.datetime64) -> str:
    return f"{month + months}-20"


def upstream_rows() -> list[tuple[str, str, str, str]]:
    """REV: first prints are noise about a slow truth, which stands two months later. PLAIN: the same prints, never revised.

    LATE has an archive since 2010 only, and a value of it was taken back.
    """
    rows = []
    for month, truth, value in zip(MONTHS, TRUTH, PRINTS, strict=True):
        period, out = f"{month}-01", published(1, month)
        rows += [("REV", period, out, f"{value:.4f}"), ("REV", period, published(3, month), f"{truth:.4f}")]
        rows += [
            ("PLAIN", period, out, f"{value:.4f}"),
            ("LATE", period, max(out, "2010-03-15"), f"{value:.4f}"),
        ]
    return [*rows, ("LATE", "2012-05-01", "2012-09-03", ".")]


@pytest.fixture(scope="module")
def fred() -> Iterator[FredUpstream]:
    with FredUpstream(upstream_rows()) as upstream:
        yield upstream


@pytest.fixture
def _open(
    fred: FredUpstream, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.setenv("WORKBENCH_UPSTREAM_FRED", fred.url)
    monkeypatch.setenv("FRED_API_KEY", KEY)
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path_factory.mktemp("home")))


def quantity_and_later(
    fred: FredUpstream, name: str, cutoff: Cutoff, day: date
) -> tuple[Quantity, History | None]:
    async def read() -> tuple[Quantity, History | None]:
        broker = open_broker(ProxySettings(keys={"fred": KEY}, upstreams={"fred": fred.url}))
        try:
            return await read_quantity(f"fred/{name}", day, cutoff, broker, extremes=False)
        finally:
            await broker.aclose()

    return run_blocking(read())


def quantity_of(fred: FredUpstream, name: str) -> Quantity:
    return quantity_and_later(fred, name, CUTOFF, DAY)[0]


# --- the states ------------------------------------------------------------------------------------------------------


def test_states_are_those_that_stood_and_a_value_taken_back_is_gone() -> None:
    def row(day: str, begin: str, end: str, value: str) -> dict[str, str]:
        return {"date": day, "realtime_start": begin, "realtime_end": end, "value": value}

    answer = {
        "realtime_end": "2018-06-29",
        "observations": [
            row("2018-01-01", "2018-02-10", "2018-03-09", "1"),
            row("2018-01-01", "2018-03-10", "2018-06-29", "2"),
            row("2018-02-01", "2018-03-10", "2018-04-30", "3"),  # moved to another day
            row("2018-02-02", "2018-05-01", "2018-06-29", "3"),
            row("2018-03-01", "2018-04-10", "2018-06-29", "."),
        ],
    }
    states = SeriesStates.of(answer)

    def at(day: str) -> dict[str, float]:
        history = states.as_of(day)
        return dict(zip(history.days.astype(str).tolist(), history.values.tolist(), strict=True))

    assert at("2018-03-09") == {"2018-01-01": 1.0}
    assert at("2018-04-30") == {"2018-01-01": 2.0, "2018-02-01": 3.0}
    assert at("2018-05-01") == {"2018-01-01": 2.0, "2018-02-02": 3.0}
    assert states.newest().days.tolist() == states.as_of("2018-06-29").days.tolist()
    # as it was first published, whatever it became
    assert states.settled(date(2018, 1, 31)).values.tolist() == [1.0]
    assert states.releases() == ["2018-01-01", "2018-02-01", "2018-02-02"]


def test_the_releases_of_an_archive_begin_with_its_first_state(fred: FredUpstream) -> None:
    releases = quantity_of(fred, "LATE").states.releases()  # type: ignore[union-attr]
    assert releases[0] == "2010-01-01" and releases[1] == "2010-02-01"
    assert len(quantity_of(fred, "LATE").history) == len(MONTHS) - 1


# --- the record of a quantity ----------------------------------------------------------------------------------------


def crps(quantity: Quantity) -> float:
    record = quantity_document(quantity, DriftlessWalk(), most=16)["record"]
    assert record["n"] == 16
    return float(record["crps"])


def test_a_record_made_with_latest_values_looks_far_better_and_is_not_what_is_shown(
    fred: FredUpstream,
) -> None:
    """Planted look-ahead: values that were revised later know what their first prints did not."""
    honest = quantity_of(fred, "REV")
    assert honest.states is not None
    latest = replace(honest, states=None)
    assert crps(latest) < 0.4 * crps(honest)
    # its control: of a series that is never revised both records are one
    plain = quantity_of(fred, "PLAIN")
    assert crps(plain) == pytest.approx(crps(replace(plain, states=None)), rel=1e-12)


def test_a_past_forecast_reads_what_stood_and_comes_out_as_first_published(fred: FredUpstream) -> None:
    seen: list[tuple[str, FloatArray]] = []

    class Watching(DriftlessWalk):
        def paths(self, history, horizon, calendar):  # type: ignore[no-untyped-def]
            seen.append((str(history.days[-1].astype("datetime64[M]")), history.values))
            return super().paths(history, horizon, calendar)

    quantity_document(quantity_of(fred, "REV"), Watching(), most=5)
    for month, values in seen[1:]:
        count = int(np.flatnonzero(MONTHS.astype(str) == month)[0]) + 1
        # two months are first prints still, all before them were revised by then
        assert values[-2:] == pytest.approx(PRINTS[count - 2 : count], abs=1e-4)
        assert values[:-2] == pytest.approx(TRUTH[: count - 2], abs=1e-4)
    asked, history = quantity_and_later(fred, "REV", Cutoff.parse("2016-06-30"), date(2016, 8, 1))
    assert history is not None
    came = asked.outcome(history)
    assert came is not None
    assert came["value"] == pytest.approx(PRINTS[np.datetime64("2016-08") == MONTHS][0], abs=1e-4)


def test_the_archive_bounds_the_cutoffs_of_a_record(fred: FredUpstream) -> None:
    record = quantity_document(quantity_of(fred, "LATE"), DriftlessWalk(), most=200)["record"]
    assert record["first"] == "2010-01-01" and 60 < record["n"] < 110


def test_a_source_that_keeps_no_states_has_no_record() -> None:
    source = SeriesSource.of("dbnomics/IMF/WEO/FRA.NGDP_RPCH")
    assert len(source.refs) == 1
    days = np.arange("1980-01", "2018-05", dtype="datetime64[M]").astype("datetime64[D]")
    rows = {"period_start_day": [str(day) for day in days], "value": np.arange(1.0, len(days) + 1).tolist()}
    text = forecast_tool.text_of_forecast(
        {"series": {"docs": [rows]}},
        {"source": "dbnomics", "series_id": "IMF/WEO/FRA.NGDP_RPCH", "day": "2018-08-01"},
    )
    assert "no earlier versions" in text and "dbnomics:IMF/WEO/FRA.NGDP_RPCH" in text


# --- the tool of a model ---------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("_open")
def test_the_tool_asks_once_for_all_states_and_its_record_is_that_of_the_quantity(
    fred: FredUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forecast_tool, "Ensemble", DriftlessWalk)
    wanted = {"source": "fred", "series_id": "REV", "day": DAY.isoformat(), "level": 100.0}
    calls, data = [], []

    async def call_api(path, params, *, step):  # type: ignore[no-untyped-def]
        calls.append(params)
        broker = open_sources(["fred:REV"])
        try:
            address = Address(run="r", node="P1", trial=1, attempt=1, stage="act", step=1, retry=0)
            answer = await broker.session(CUTOFF, MemoryLedger()).call(path, params, address)
        finally:
            await broker.aclose()
        data.append(answer.data)
        raise ProxyError("enough")

    tool = forecast_tool.ForecastSeriesTool(call_api, CUTOFF, "forecasts")
    with pytest.raises(ProxyError):
        run_blocking(tool.call(wanted, ToolPlace(step=1, number=1)))
    assert [call["realtime_start"] for call in calls] == ["1776-07-04"]
    text = forecast_tool.text_of_forecast(data[0], wanted)
    record = quantity_document(quantity_of(fred, "REV"), DriftlessWalk(), most=8)["record"]
    assert f"record: {record['line']}" in text
    assert "the last is" in text and "on 2018-04-01" in text


# --- the record of a claim -------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("_open")
def test_rows_with_latest_values_are_refused() -> None:
    known = run_blocking(read_known_rows(["fred:REV"], CUTOFF))
    newest = {row["date"]: row["value"] for row in known.all()["fred:REV"]}
    first = SeriesStates(known.series["fred:REV"]).first_known()
    latest = KnownRows(
        {
            "fred:REV": tuple(
                KnownRow(date=day, value=newest[day], known=since) for day, since in first.items()
            )
        }
    )

    async def checked(rows: KnownRows) -> None:
        broker = open_sources(["fred:REV"])
        try:
            await check_rows(rows, broker_history(broker))
        finally:
            await broker.aclose()

    run_blocking(checked(known))
    with pytest.raises(LookAhead, match="were revised later"):
        run_blocking(checked(latest))


@pytest.mark.usefixtures("_open")
def test_a_claim_record_reads_the_archive_and_settles_by_first_prints() -> None:
    """Whoever knew the revised values would tell the way of the noise in every first print; the record does not."""
    from tests.backtests.test_claim_record import open_base_rate

    document = claim_record(
        "fred:LATE is above 100 on 2018-08-01", CUTOFF, open_forecaster=open_base_rate, most=40
    )
    assert document["record"]["n"] + sum(document["left_out"].values()) == 40
    assert min(row["last_day"] for row in document["rows"]) >= "2010-03-15"
    known = run_blocking(read_known_rows(["fred:REV"], CUTOFF))
    day = date(2012, 3, 1)
    first: Rows = known.settled(day)["fred:REV"]
    value = {row["date"]: row["value"] for row in first}["2012-03-01"]
    assert value == pytest.approx(PRINTS[np.datetime64("2012-03") == MONTHS][0], abs=1e-4)
    latest = {row["date"]: row["value"] for row in known.all()["fred:REV"]}["2012-03-01"]
    assert latest == pytest.approx(TRUTH[np.datetime64("2012-03") == MONTHS][0], abs=1e-4)
    assert [row["date"] for row in first] == [row["date"] for row in known.all()["fred:REV"]]


@pytest.mark.long
@pytest.mark.usefixtures("_open")
def test_a_backtest_on_a_source_with_a_key_runs_in_processes_that_have_none(tmp_path: Path) -> None:
    asked = ClaimTemplate(text="fred:REV is above {median} on {end}", family="rates", horizon=Span(months=3))
    plan = BacktestPlan(templates=(asked,), first=date(2014, 1, 31), last=date(2015, 1, 31))
    rows = run_backtest(plan, ForecastFile(tmp_path / "two"), processes=2)
    assert [row.reason for row in rows] == [""] * 5
    # Where arrays lie in memory decides in which order their values are added: the last bits are a process's own.
    for two, one in zip(rows, run_backtest(plan, ForecastFile(tmp_path / "one"), processes=1), strict=True):
        assert two.forecast is not None and one.forecast is not None
        assert two.forecast.p == pytest.approx(one.forecast.p, abs=1e-12)
        assert replace(two, forecast=replace(two.forecast, p=one.forecast.p)) == one
