"""Claims about series of any source: which source, what its rows tell, past windows, outcomes, and a live run from now to its outcome."""

import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from proxies.asof.clock import Cutoff
from tests.command_line import run_cli
from tests.fakes.upstream_yahoo import Stock, YahooUpstream
from workbench.annotations import outcomes
from workbench.forecasts.past_windows import TooLittleHistory, reading_windows
from workbench.forecasts.series.series_history import History
from workbench.forecasts.trading_days import exchange_holidays
from workbench.formatting import day_words
from workbench.offline.notebook_cells import notebook
from workbench.offline.offline_model import claim_at
from workbench.questions.claims import Claim
from workbench.questions.decision import Rows, appraise, observed, resolve, settle
from workbench.questions.errors import ClaimRefused
from workbench.questions.grammar import read_claim
from workbench.questions.series.claim_paths import ClaimPaths
from workbench.questions.series.embedded_series import SERIES
from workbench.questions.series.readings_of_claims import claim_reading
from workbench.questions.series.series_registry import series_named

RNG = np.random.default_rng(5)


def rows_of(days: Any, values: Any) -> Rows:
    return [{"date": str(day), "value": float(value)} for day, value in zip(days, values, strict=True)]


EVERY_DAY = np.arange("2021-01-01", "2026-11-01", dtype="datetime64[D]")
WEEKDAYS = EVERY_DAY[np.is_busday(EVERY_DAY, holidays=exchange_holidays(2021, 2026))]
MONTHS = np.arange("1990-01", "2026-10", dtype="datetime64[M]").astype("datetime64[D]")
QUARTERS = MONTHS[::3]
WEEKS = np.arange("2000-01-01", "2026-10-31", 7, dtype="datetime64[D]")


def walk(days: Any, level: float = 100.0, size: float = 0.01) -> Rows:
    return rows_of(days, level * np.exp(np.cumsum(size * RNG.standard_normal(len(days)))))


FREQUENCIES = {
    "yahoo:AAPL": (walk(WEEKDAYS), "daily", "weekdays"),
    "yahoo:BTC-USD": (walk(EVERY_DAY)[-1000:], "daily", "every day"),
    "fred:ICSA": (walk(WEEKS), "weekly", "every day"),
    "fred:UNRATE": (walk(MONTHS, 5.0), "monthly", "every day"),
    "fred:GDPC1": (walk(QUARTERS, 20000.0), "quarterly", "every day"),
    "fred:T10Y2Y": (rows_of(MONTHS, np.cumsum(0.1 * RNG.standard_normal(len(MONTHS)))), "monthly", "every day"),
}  # fmt: skip
LAST = date(2026, 10, 31)


def test_an_embedded_series_goes_on_where_a_claim_ends_after_it() -> None:
    for key, series in SERIES.items():
        if series.goes_on:
            assert series_named(series.goes_on).id == series.goes_on
        within = Claim(pattern="level", series=key, level=1.0, end=date(2018, 11, 30))
        assert within.going_on() == within
    claim, _, cutoff = claim_at("the S&P 500 closes 2026 higher", "now")
    assert claim.statement == "yahoo:^GSPC closes higher on 2026-12-31 than on 2025-12-31"
    assert not cutoff.live  # one instant, by which every source is held to what was known


@pytest.mark.parametrize("name", list(FREQUENCIES))
def test_rows_tell_how_often_a_series_has_values_and_every_pattern_is_forecast(name: str) -> None:
    rows, frequency, days = FREQUENCIES[name]
    last = float(rows[-1]["value"])
    level = f"{name} is above {last:.2f} on 2027-03-31"
    claim = settle(read_claim(level), {name: rows})
    assert (claim.about.frequency, claim.about.days) == (frequency, days)
    assert claim == read_claim(level) and settle(claim, {name: rows}).about is claim.about
    paths = ClaimPaths()
    for text in (level, f"{name} is higher on 2027-03-31 than the last value known"):
        read = read_claim(text)
        assert 0 <= paths.chance(read, {name: rows}) <= 1
        windows = appraise(read, {name: rows}, LAST)
        assert 0 <= windows.base_rate <= 1 and windows.effective_windows >= 1
    # a rise that is certain, and one that is not possible
    steady = rows_of([row["date"] for row in rows], 100 + np.arange(len(rows)))
    up = read_claim(f"{name} is higher on 2027-03-31 than the last value known")
    assert appraise(up, {name: steady}, LAST).base_rate == 1.0
    assert appraise(replace(up, side="below"), {name: steady}, LAST).base_rate == 0.0


def test_past_windows_know_nothing_after_the_cutoff_and_need_two() -> None:
    history = History.of(*zip(*((row["date"], row["value"]) for row in FREQUENCIES["fred:UNRATE"][0]), strict=True))  # fmt: skip
    reading = claim_reading(read_claim("fred:UNRATE is above 5 on 2027-03-31"))
    with pytest.raises(TooLittleHistory):
        reading_windows(reading, history.last(15), LAST, "growth")
    first = reading_windows(reading, history, LAST, "none")
    assert first.last < LAST - timedelta(days=120)  # the end of the last one is known
    # The grid of weeks reaches back to November 2003, and a window of this length ends half a year later.
    known = history.values[history.days >= np.datetime64("2004-05-01")]
    assert abs(first.base_rate - float((known > 5).mean())) < 0.03


def test_windows_that_go_together_are_too_few_of_any_series() -> None:
    """Thirteen years below a level and as many above it: hundreds of windows, one crossing."""
    months, wiggle = MONTHS[-320:], 0.001 * np.sin(np.arange(320))
    reading = claim_reading(read_claim("fred:UNRATE is above 5 on 2027-03-31"))
    once = History.of(months, np.where(np.arange(320) < 160, 4.0, 6.0) + wiggle)
    with pytest.raises(TooLittleHistory, match="two independent periods"):
        reading_windows(reading, once, LAST, "none")
    # its control: as many windows of a level that is crossed all the time
    often = History.of(months, np.where(np.arange(320) // 2 % 2, 4.0, 6.0) + wiggle)
    assert reading_windows(reading, often, LAST, "none").effective_windows > 20


def test_no_day_decides_before_it_is_over() -> None:
    days = [f"2026-12-{day:02d}" for day in (21, 22, 23, 24, 28, 29, 30)]
    seen = {"yahoo:AAPL": walk(WEEKDAYS)}
    later = {"yahoo:AAPL": [*seen["yahoo:AAPL"], *rows_of(days, [100, 101, 102, 103, 104, 105, 210])]}
    closes = read_claim("yahoo:AAPL closes above 200 on 2026-12-31")
    with pytest.raises(ClaimRefused, match="too early to decide"):
        resolve(closes, later, seen)  # the day before, five days' freshness would have said yes
    assert resolve(replace(closes, end=date(2026, 12, 30)), later, seen)
    # the 25th is a holiday: the 24th's close stands, and the 28th is not waited for
    assert not resolve(
        replace(closes, end=date(2026, 12, 25)), {"yahoo:AAPL": later["yahoo:AAPL"][:-3]}, seen
    )
    # what was touched is decided, whatever follows
    assert resolve(read_claim("yahoo:AAPL touches 205 by 2027-06-30"), later, {"yahoo:AAPL": [*seen["yahoo:AAPL"], *rows_of(days[:1], [100])]})  # fmt: skip


def test_the_cells_call_the_series_own_source_up_to_the_cutoff() -> None:
    rows, _, _ = FREQUENCIES["yahoo:AAPL"]
    claim = observed(read_claim("yahoo:AAPL closes above 100 on 2027-03-31"), {"yahoo:AAPL": rows})
    cutoff = "2026-11-01T12:00:00+00:00"
    steps = notebook(claim, statement=claim.statement, cutoff=cutoff, last_day=date(2026, 11, 1))
    code = "\n".join(cell.source for step in steps for cell in step if cell.kind == "python")
    assert 'CALL_API("yfinance/history"' in code and '"symbol": "AAPL"' in code
    assert f'"period2": {int(datetime(2026, 11, 1, 12, tzinfo=UTC).timestamp())}' in code
    assert "embedded" not in code and "reading_windows(" in code
    # control: an embedded claim's cells are as they were
    claim = read_claim("VIX above 20 on 2018-12-31")
    steps = notebook(claim, statement=claim.statement, cutoff="2018-06-30", last_day=date(2018, 6, 29))
    code = "\n".join(cell.source for step in steps for cell in step if cell.kind == "python")
    assert (
        'CALL_API("embedded/series/observations", {"series_id": "VIX"})' in code and "source_rows" not in code
    )


def stock(last: date) -> Stock:
    draws, price, days, day = np.random.default_rng(3), 1000.0, [], date(2004, 1, 2)
    while day <= last:
        if day.weekday() < 5:
            price = round(price * float(np.exp(0.01 * draws.standard_normal())), 2)
            days.append((day, price, price, price, price, 1000))
        day += timedelta(days=1)
    return Stock(days, {}, {})


@pytest.mark.long
def test_a_live_claim_runs_without_a_key_and_settles_itself_once_its_day_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = datetime.now(UTC)
    end = (now + timedelta(days=30)).date()
    text = f"the S&P 500 closes above 100 on {end}"
    # Its answers hold later days as well: the broker takes them out.
    with YahooUpstream({"%5EGSPC": stock(end + timedelta(days=20))}, end + timedelta(days=20)) as yahoo:
        there = {"WORKBENCH_UPSTREAM_YAHOO": yahoo.url, "WORKBENCH_RECORD": "off"}
        begun = run_cli(tmp_path, "analyze", text, "--cutoff", "now", "--json", **there)
        assert begun.stdout, begun.stderr
        run = json.loads(begun.stdout)
        assert run["status"] == "done" and 0 < run["root"]["p"] < 1
        assert run["cutoff"][:4] == str(now.year)
        name = run["run_id"]
        assert "^GSPC" in run_cli(tmp_path, "evidence", name, "P0", "--json").stdout
        assert json.loads(run_cli(tmp_path, "verify", name, "--json", **there).stdout)["verified"]
        assert run_cli(tmp_path, "resolve", name, **there).returncode != 0  # nobody knows yet
        later = Cutoff.parse((now + timedelta(days=33)).isoformat())
        monkeypatch.setattr(outcomes, "present_cutoff", lambda: later)
        settled = run_cli(tmp_path, "resolve", name, **there)
        assert settled.returncode == 0, settled.stderr
        assert (
            f"Outcome: yes (data of the series, {day_words(session_by(end))})"
            in run_cli(tmp_path, "show", name, **there).stdout
        )
    gone = {**there, "WORKBENCH_UPSTREAM_YAHOO": "http://127.0.0.1:9"}
    refused = run_cli(tmp_path, "analyze", text, "--cutoff", "now", **gone)
    assert refused.returncode == 4 and "serve claims that end by 2018-12-31" in refused.stderr
    assert len(json.loads(run_cli(tmp_path, "runs", "--json", **gone).stdout)) == 1


def session_by(day: date) -> date:
    """The last day of trading until a day."""
    holidays = exchange_holidays(day.year - 1, day.year)
    return cast(date, np.busday_offset(day, 0, "backward", holidays=holidays).astype(object))
