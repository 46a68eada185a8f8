"""workbench quantity: quantiles of a value, its fan, its record, its score once the day has come."""

import json
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pytest
import scoringrules

from proxies.asof.clock import Cutoff
from proxies.broker import open_broker
from proxies.ledger import Address, MemoryLedger
from proxies.settings import ProxySettings
from tests.command_line import run_cli
from workbench.backtests.series_source import SeriesSource, read_quantity
from workbench.errors import UsageError
from workbench.forecasts.driftless_walk import DriftlessWalk
from workbench.forecasts.ensemble import Ensemble
from workbench.forecasts.series.series_history import History
from workbench.forecasts.series_paths import Calendar, Paths
from workbench.questions.grammar import read_claim
from workbench.questions.series.claim_paths import ClaimPaths
from workbench.questions.series.series_quantity import Quantity, quantity_document
from workbench.science.plots import figure_bytes
from workbench.views.fan_chart import fan_figure, fan_lines

RNG = np.random.default_rng(11)
DAYS = np.arange("2010-01-01", "2018-07-01", dtype="datetime64[D]")
DAYS = DAYS[np.is_busday(DAYS)]
WALK = History.of(DAYS, 100 * np.exp(np.cumsum(0.01 * RNG.standard_normal(len(DAYS)))))
ON = Quantity(name="a walk", unit="points", history=WALK, day=date(2018, 8, 31))
BY = replace(ON, extremes=True)


def test_quantiles_are_those_of_the_paths_and_their_levels_answer_one_in_ten() -> None:
    document = quantity_document(ON, DriftlessWalk(), most=0)
    paths = DriftlessWalk().paths(WALK, ON.day, Calendar.of(WALK))
    quantiles = document["quantiles"]["value"]
    ends = paths.values[:, -1]
    assert quantiles["0.5"] == pytest.approx(np.quantile(ends, 0.5, method="inverted_cdf"))
    one_in_ten = next(row for row in document["one_in"] if row["one_in"] == 10)
    assert (ends > one_in_ten["above"]).mean() == pytest.approx(0.1, abs=0.002)
    assert (ends < one_in_ten["below"]).mean() == pytest.approx(0.1, abs=0.002)
    assert document["fan"][-1] == {"day": "2018-08-31", **quantiles}
    assert document["record"] is None and document["outcome"] is None


def test_highs_and_lows_until_a_day_enclose_the_value_on_it() -> None:
    on, by = (quantity_document(each, DriftlessWalk(), most=0)["quantiles"] for each in (ON, BY))
    for share, value in on["value"].items():
        assert by["lowest"][share] <= value <= by["highest"][share]


def test_a_value_that_came_is_scored() -> None:
    later = History.of(
        np.append(WALK.days, np.array(["2018-08-30", "2018-08-31"], dtype="datetime64[D]")),
        np.append(WALK.values, [90.0, 95.0]),
    )
    document = quantity_document(ON, DriftlessWalk(), later=later, most=0)
    score = document["outcome"]["value"]
    ends = DriftlessWalk().paths(WALK, ON.day, Calendar.of(WALK)).values[:, -1]
    assert score["value"] == 95.0
    assert score["crps"] == pytest.approx(
        float(scoringrules.crps_ensemble(np.array(95.0), ends, estimator="nrg"))
    )
    assert score["pit"] == pytest.approx((ends < 95.0).mean())
    extremes = quantity_document(BY, DriftlessWalk(), later=later, most=0)["outcome"]
    assert (extremes["highest"]["value"], extremes["lowest"]["value"]) == (95.0, 90.0)
    # not yet: the last value known is of the day before
    early = History(days=later.days[:-1], values=later.values[:-1])
    assert quantity_document(ON, DriftlessWalk(), later=early, most=0)["outcome"] is None


class TooNarrow(DriftlessWalk):
    """Half as wide as it should be."""

    name = "narrow"

    def paths(self, history: History, horizon: date, calendar: Calendar) -> Paths:
        paths = super().paths(history, horizon, calendar)
        last = history.values[-1]
        return replace(paths, values=last + 0.25 * (paths.values - last))


def test_the_record_tells_a_good_forecaster_from_one_that_is_too_sure() -> None:
    good, narrow = (quantity_document(ON, each, most=30)["record"] for each in (DriftlessWalk(), TooNarrow()))
    assert good["n"] == narrow["n"] == 30 and good["clusters"] > 6
    assert abs(good["coverage"]["0.9"] - 0.9) < 0.12 and narrow["coverage"]["0.9"] < 0.6
    assert narrow["crps"] > good["crps"]
    assert good["against"]["driftless walk"]["better_percent"] == 0.0
    assert narrow["line"].startswith(
        f"Tested on 30 past dates ({narrow['clusters']} independent), this method"
    )
    assert ". Use the spread of past changes. Gain in CRPS \N{MINUS SIGN}" in narrow["line"]


def test_the_record_knows_no_later_value_than_its_cutoffs() -> None:
    """Two worlds: what a past forecast says does not change with what came after it; only its score does."""
    seen: list[tuple[str, bytes]] = []

    class Watching(DriftlessWalk):
        def paths(self, history: History, horizon: date, calendar: Calendar) -> Paths:
            seen.append((str(history.days[-1]), history.values.tobytes()))
            return super().paths(history, horizon, calendar)

    quantity_document(ON, Watching(), most=5)
    for last, values in seen:
        assert values == WALK.before(np.datetime64(last) + 1).values.tobytes()
    assert len({last for last, _ in seen}) == 6


def test_a_fan_is_drawn_in_characters_and_in_a_picture() -> None:
    document = quantity_document(ON, DriftlessWalk(), most=0)
    lines = fan_lines(document, width=40, height=10)
    assert len(lines) == 13 and all(mark in "".join(lines) for mark in "•░▒▓█")
    assert "2018-08-31" in lines[-2]
    picture = figure_bytes(fan_figure(document), "svg")
    assert picture == figure_bytes(fan_figure(document), "svg") and b"2018-08-31" in picture


def test_a_series_is_found_by_its_name_its_id_and_its_file(tmp_path: Path) -> None:
    assert SeriesSource.of("the S&P 500").embedded == SeriesSource.of("sp500").embedded == "SP500"
    assert (
        SeriesSource.of("core CPI").embedded == "CORE_CPI" and len(SeriesSource.of("credit spread").refs) == 2
    )
    assert str(SeriesSource.of("fred/DGS10").refs[0]) == "fred/DGS10"
    named = {
        "yahoo:AAPL": "yahoo:AAPL",
        "own:orders": "own:orders",
        "Bitcoin": "yahoo:BTC-USD",
        "Apple shares": "yahoo:AAPL",
    }
    assert {text: SeriesSource.of(text).name for text in named} == named
    # an embedded series that has ended by the day is asked where it goes on, as in claims
    assert SeriesSource.of("S&P 500", date(2018, 12, 31)).embedded == "SP500"
    assert SeriesSource.of("S&P 500", date(2026, 12, 31)).name == "yahoo:^GSPC"
    # of two goods by one word the one at hand, as in claims; of two measures none
    assert SeriesSource.of("Oil").embedded == "WTI"
    for two in ("inflation", "yahoo:"):
        with pytest.raises(UsageError, match=r"yahoo:AAPL"):
            SeriesSource.of(two)
    file = tmp_path / "sales.csv"
    file.write_text("date,value\n2020-01-01,1\n")
    assert SeriesSource.of(str(file)).name == "sales.csv"
    with pytest.raises(UsageError, match="is not a known series"):
        SeriesSource.of("the price of happiness")


def test_the_command(tmp_path: Path) -> None:
    words = ("quantity", "VIX", "--cutoff", "2018-06-30", "--set", "past=6")
    done = run_cli(tmp_path, *words, "--on", "2018-07-31", "--json", "--plot", "fan.png")
    document = json.loads(done.stdout)
    assert document["outcome"]["value"]["value"] == 12.83 and document["record"]["n"] == 6
    assert (tmp_path / "fan.png").read_bytes().startswith(b"\x89PNG")
    shown = run_cli(tmp_path, *words, "--on", "2018-07-31").stdout.splitlines()
    # who reads the first line alone learns how far to trust it
    assert shown[0] == document["line"] and "past dates" in shown[0]
    for wrong, said in (
        (("--on", "2018-07-31", "--by", "2018-07-31"), "name one day"),
        (("--on", "2018-06-01"), "is known at this cutoff"),
        (("--on", "soon"), "a day such as"),
        (("--by", "2018-07-31", "--plot", "fan.gif"), ".png or .svg"),
    ):
        refused = run_cli(tmp_path, *words, *wrong)
        assert refused.returncode == 2 and said in refused.stderr


@pytest.mark.parametrize("name", ["S&P 500", "VIX", "BAA-AAA spread"])
async def test_a_quantity_and_a_claim_on_the_same_series_and_day_say_the_same(name: str) -> None:
    """One forecaster: what lies above a quantile's level, or touches an extreme's, has that chance as a claim."""
    cutoff, day = Cutoff.parse("2016-06-30"), date(2016, 9, 30)
    broker = open_broker(ProxySettings())
    try:
        (on, _), (by, _) = [
            await read_quantity(name, day, cutoff, broker, extremes=each) for each in (False, True)
        ]
        claims = {share: f"The {name} is above {{}} on {day}" for share in ("0.1", "0.5", "0.9")}
        rows = {}
        for series in ("SP500", "VIX", "BAA", "AAA"):
            address = Address(run="t", node="P0", trial=1, attempt=1, stage="cell", step=len(rows), retry=0)
            answer = await broker.session(cutoff, MemoryLedger()).call(
                "embedded/series/observations", {"series_id": series}, address
            )
            rows[series] = answer.data
    finally:
        await broker.aclose()
    asked = ClaimPaths()
    levels = quantity_document(on, Ensemble(), most=0)["quantiles"]["value"]
    for share, text in claims.items():
        assert asked.chance(read_claim(text.format(levels[share])), rows) == pytest.approx(
            1 - float(share), abs=0.01
        )
    if name != "BAA-AAA spread":
        highest = quantity_document(by, Ensemble(), most=0)["quantiles"]["highest"]["0.9"]
        touch = read_claim(f"The {name} is above {highest} at least once by {day}")
        assert asked.chance(touch, rows) == pytest.approx(0.1, abs=0.01)
