"""The statistical grounder: claims over dated series, without a model; its evidence computes itself again."""

import dataclasses
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxies.broker import open_broker
from proxies.ledger import Answer
from proxies.settings import ProxySettings
from tests.fakes.grounding import GroundedLeaf, ground_leaf
from tests.fakes.upstream_fred import KEY, FredUpstream
from tests.offline.embedded import visible_rows
from workbench.agents.base import AgentSettings
from workbench.agents.errors import BadSetting
from workbench.agents.evidence import series
from workbench.agents.grounders.statistical import StatisticalGrounder
from workbench.questions.errors import ClaimRefused
from workbench.questions.grammar import read_claim
from workbench.questions.series.claim_paths import ClaimPaths
from workbench.questions.series.series_estimate import estimate_leaf
from workbench.questions.series.series_leaf import read_series_leaf
from workbench.questions.series.series_reference import SeriesRef

LAST_DAY = date(2018, 6, 29)
UP = "The S&P 500 closes higher on 2018-09-28 than on 2018-06-29"


def grounder(**options: Any) -> StatisticalGrounder:
    return StatisticalGrounder(AgentSettings(), options)


async def grounded(statement: str, folder: Path, **more: Any) -> GroundedLeaf:
    return await ground_leaf(grounder(), statement, "2018-06-30", folder, **more)


@pytest.mark.parametrize(
    "statement",
    [
        UP,
        "VIX touches 30 by 2018-12-31",
        "The BAA-AAA spread is at or below 0.9 on 2018-12-31",
        "NASDAQ outperforms the S&P 500 from 2018-06-29 to 2018-12-31",
        "Reference class: core CPI above 259 on 2018-11-30",
    ],
)
async def test_a_leaf_gets_the_forecasters_number_and_verifies(statement: str, tmp_path: Path) -> None:
    leaf = await grounded(statement, tmp_path)
    claim = read_claim(statement)
    rows = {name: visible_rows(name, LAST_DAY) for name in claim.sources}
    assert leaf.grounding.belief.p == pytest.approx(ClaimPaths().chance(claim, rows), abs=1e-9)
    outcome = await leaf.verified()
    assert outcome.verified and outcome.cells == 3
    assert f'"statement": "{statement}"' in leaf.grounding.belief.report
    assert "the statement is true in" in leaf.grounding.belief.report


async def test_numbers_of_another_forecaster_are_told_and_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leaf = await grounded("VIX above 20 on 2018-07-31", tmp_path)

    def later(*given: Any, **more: Any) -> Any:
        estimate = estimate_leaf(*given, **more)
        return dataclasses.replace(estimate, p=estimate.p / 2)

    monkeypatch.setattr(series, "estimate_leaf", later)
    assert [item.check for item in (await leaf.verified()).differing] == ["rerun"]
    monkeypatch.setattr(series, "forecaster_hash", lambda: "0" * 64)
    outcome = await leaf.verified()
    assert outcome.verified and "has changed since" in outcome.advisory[0].what


async def test_a_claim_that_the_rows_decide_is_0_or_1_with_the_row(tmp_path: Path) -> None:
    statement = "VIX rises 30 % from its 2018-01-05 close by 2018-12-31"
    leaf = await grounded(statement, tmp_path)
    assert leaf.grounding.belief.p == 1.0 and "decides the statement: true" in leaf.grounding.belief.report
    assert leaf.grounding.belief.key_factor == "Decided by the value of 2018-01-18."
    assert (await leaf.verified()).verified


async def test_what_was_altered_is_found(tmp_path: Path) -> None:
    leaf = await grounded(UP, tmp_path)

    def found(change: Callable[[dict[str, Any]], None]) -> Any:
        return leaf.verified(change)

    def other_model(data: dict[str, Any]) -> None:
        data["basis"]["numbers"]["models"]["walk"] += 0.05

    def other_reference(data: dict[str, Any]) -> None:
        data["basis"]["numbers"]["reference"] += 1.0

    def other_reading(data: dict[str, Any]) -> None:
        data["steps"][0]["text"] = data["steps"][0]["text"].replace("2018-09-28", "2018-12-31")

    def other_p(data: dict[str, Any]) -> None:
        data["basis"]["numbers"]["p"] = 0.9

    for change in (other_model, other_reference, other_reading, other_p):
        leaf.write_notebook()
        outcome = await found(change)
        assert not outcome.verified, change.__name__

    def last_digit(data: dict[str, Any]) -> None:
        data["basis"]["numbers"]["models"]["walk"] += 1e-10

    def another_processor(data: dict[str, Any]) -> None:
        data["basis"]["numbers"]["models"]["GJR-GARCH"] += 2e-6

    assert (await found(last_digit)).verified
    # told, not counted; the shown digits are the same, so the notebook is too
    outcome = await found(another_processor)
    assert outcome.verified and "models" in outcome.advisory[0].what

    place, row = next(iter(leaf.ledger.rows.items()))
    assert row.answer is not None
    data = [dict(item) for item in row.answer.data]
    data[-1]["value"] *= 1.1
    # the answer altered, its hash kept
    leaf.ledger.rows[place] = dataclasses.replace(row, answer=Answer(data=data, meta=row.answer.meta))
    outcome = await leaf.verified()
    assert {item.check for item in outcome.differing} == {"ledger"}
    leaf.ledger.rows[place] = dataclasses.replace(
        row, answer=Answer(data=data, meta={**row.answer.meta, "content_hash": "sha256:other"})
    )
    assert "ledger" in {item.check for item in (await leaf.verified()).differing}


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("The Fed has rates in mind in September 2018", "no dated series matches"),
        ("The Fed cuts rates in September 2018", "FRED_API_KEY"),
        ("FRED: DGS10 rises more than FRED: DGS2 by 2018-12-31", "several series"),
        (
            UP.replace("2018-09-28", "2018-06-29").replace("on 2018-06-29 than on", "on 2018-06-28 than on"),
            "ends on",
        ),
        ("VIX above 20 on 2030-12-31", "data on the VIX end"),
        ("Yields (FRED: DGS10) are above 3 on 2018-12-31", "FRED_API_KEY"),
    ],
)
async def test_a_leaf_that_no_series_decides_fails_in_one_line(
    statement: str, words: str, tmp_path: Path
) -> None:
    leaf = await grounded(statement, tmp_path)
    assert words in leaf.reason and "\n" not in leaf.reason
    assert not leaf.outcome.retryable  # type: ignore[union-attr]


def test_a_setting_it_does_not_know_is_refused() -> None:
    with pytest.raises(BadSetting, match="method is one of paths, paper"):
        grounder(method="best")
    with pytest.raises(BadSetting, match="takes no settings"):
        grounder(window=3)


def fred_rows(days: list[date], values: Any) -> list[tuple[str, str, str, str]]:
    known = "2023-12-29"
    return [
        ("SYNDAY", day.isoformat(), known, f"{value:.4f}") for day, value in zip(days, values, strict=True)
    ]


def weekdays(first: date, last: date) -> list[date]:
    days = [first + timedelta(days=n) for n in range((last - first).days + 1)]
    return [day for day in days if day.weekday() < 5]


async def test_a_series_of_fred_is_read_through_the_broker_and_its_29_february_is_one(tmp_path: Path) -> None:
    days = weekdays(date(2017, 1, 2), date(2023, 12, 22))
    # 1 on the days around the end of February, -1 on all others: only the season can know
    values = [
        1.0 if (day.month, day.day) >= (2, 20) and (day.month, day.day) <= (3, 9) else -1.0 for day in days
    ]
    with FredUpstream(fred_rows(days, values)) as upstream:
        broker = open_broker(ProxySettings(keys={"fred": KEY}, upstreams={"fred": upstream.url}))
        leaf = await ground_leaf(
            grounder(method="paper"),
            "The made-up index (FRED: SYNDAY) is above 0.5 on 2024-02-29",
            "2024-01-01",
            tmp_path,
            broker=broker,
        )
    numbers = leaf.grounding.evidence.basis["numbers"]
    # 5 prior years, at most 11 weekdays each within 7 days of 28 February, all above: (k + 1) / (k + 2)
    season = 2 * (numbers["models"]["hybrid"] - 0.5 * numbers["comparators"]["safe-linear"])
    assert season > 0.97
    assert numbers["last_day"] == "2023-12-22" and numbers["reference"] == -1.0
    assert (await leaf.verified()).verified


@given(
    level=st.floats(-3, 3).map(lambda value: round(value, 3)),
    day=st.dates(date(2024, 1, 3), date(2025, 3, 1)),
)
@settings(max_examples=25, deadline=None)
def test_chances_of_two_sides_sum_to_one_and_fall_with_the_level(level: float, day: date) -> None:
    rng = np.random.default_rng(5)
    days = [date(2021, 1, 1) + timedelta(days=n) for n in range(1090)]
    rows = [
        {"date": str(d), "value": float(v)}
        for d, v in zip(days, 10 + np.cumsum(rng.normal(0, 0.2, 1090)), strict=True)
    ]
    last = days[-1] + timedelta(days=5)

    def p(words: str, at: float) -> float:
        leaf = read_series_leaf(f"dbnomics/A/B/C is {words} {10 + at:.3f} on {day}")
        found = estimate_leaf(leaf, "", [rows], last, "paper")
        return float(np.mean(list(found.models.values())))

    assert p("above", level) + p("at or below", level) == pytest.approx(1, abs=1e-9)
    assert p("above", level) >= p("above", level + 0.5) - 1e-12


def test_the_reference_value_is_that_of_the_forecast_date_and_not_an_older_one() -> None:
    rows = [{"date": str(date(2024, 1, 1) + timedelta(days=n)), "value": float(n)} for n in range(100)]
    last = date(2024, 4, 12)

    def reference(start: str) -> tuple[float, str]:
        leaf = read_series_leaf(f"dbnomics/A/B/C is higher on 2024-06-01 than on {start}")
        found = estimate_leaf(leaf, "", [rows], last)
        return found.reference, str(found.reference_day)

    assert reference("2024-04-01") == (91.0, "2024-04-01")
    # a start that is not visible yet: the last visible value stands for it
    assert reference("2024-04-20") == (99.0, "2024-04-09")


@pytest.mark.parametrize(
    ("statement", "hints", "ref", "pattern"),
    [
        (
            "Will the Baa yield compared to the 10-year yield have increased by 2025-11-25 as compared to its value on 2025-10-26?",
            "https://fred.stlouisfed.org/series/BAA10Y",
            "fred/BAA10Y",
            "compare",
        ),
        (
            "Will AOS's market close price on 2025-11-25 be higher than its market close price on 2025-10-26?",
            "https://finance.yahoo.com/quote/AOS",
            "yfinance/AOS",
            "compare",
        ),
        (
            "Apple (Yahoo: AAPL) closes at or above 250 at least once through 2024-12-31",
            "",
            "yfinance/AAPL",
            "touch",
        ),
        (
            "The temperature at Abbeville will be higher on 2025-11-25 than on 2025-10-26",
            "https://db.nomics.world/meteofrance/TEMPERATURE/celsius.07005.D",
            "dbnomics/meteofrance/TEMPERATURE/celsius.07005.D",
            "compare",
        ),
    ],
)
def test_sentences_of_question_lists_are_read(statement: str, hints: str, ref: str, pattern: str) -> None:
    leaf = read_series_leaf(statement, hints)
    assert (str(leaf.refs[0]), leaf.claim.pattern) == (ref, pattern)


@pytest.mark.parametrize(
    "data", [{}, {"observations": [{"date": "x", "value": "1"}]}, [], None, {"observations": []}]
)
def test_an_answer_of_another_shape_is_a_refusal(data: Any) -> None:
    with pytest.raises(ClaimRefused):
        SeriesRef(source="fred", id="X").rows(data)


@pytest.mark.parametrize(
    "data", [{}, {"numbers": {}}, {"last_visible": "2018-13-01"}, {"numbers": {"p": "x"}}]
)
async def test_a_basis_of_another_shape_is_a_difference(data: dict[str, Any], tmp_path: Path) -> None:
    leaf = await grounded(UP, tmp_path)
    forged = (
        (lambda stored: stored["basis"].update(data)) if data else (lambda stored: stored["basis"].clear())
    )
    assert [fault.check for fault in (await leaf.verified(forged)).differing] == ["rerun"]


def test_past_windows_of_a_series_that_returns_are_compared_by_levels() -> None:
    rng = np.random.default_rng(3)
    days = weekdays(date(2019, 1, 1), date(2022, 1, 3))
    steps, level = rng.normal(0, 0.02, len(days)), 0.0
    reverting = []
    for step in steps:
        level = 0.8 * level + 3 * step
        reverting.append(20 * float(np.exp(level)))
    # It stands far above its mean: by levels it seldom was higher, by moves it rises half of the time.
    reverting[-1] = 26.0
    leaf = read_series_leaf("yfinance/X is above 27 on 2022-03-01")

    def base(values: Any) -> float:
        rows = [{"date": str(day), "value": float(v)} for day, v in zip(days, values, strict=True)]
        rate = estimate_leaf(leaf, "", [rows], date(2022, 1, 3)).base_rate
        assert rate is not None
        return rate

    walk = 26 * np.exp(np.cumsum(steps[::-1]))[::-1]
    assert base(reverting) < 0.05 and base(walk) > 0.2


@pytest.mark.parametrize(
    ("statement", "source", "path"),
    [
        ("own:sales is above 90 on 2018-12-20", "own", "own/sales/rows"),
        ("VIX above 20 on 2018-12-31", "embedded", "embedded/series/observations"),
    ],
)
def test_a_reference_of_the_users_own_is_read_from_its_own_source(
    statement: str, source: str, path: str
) -> None:
    """Such a leaf was asked of the embedded series, in a run and again in its review."""
    (ref,) = read_series_leaf(statement).refs
    assert ref.source == source
    assert ref.call(datetime(2018, 6, 30, tzinfo=UTC))[0].startswith(path.rpartition("/")[0])
