"""The first page beyond a run's own log: age, the change since the run before, the next review, own series and sources."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxies.catalogue.loader import load_catalogue
from tests.fakes.screens import RUN
from tests.proxies.test_own_sources import HOUSE, home_with
from workbench.engine.overview import age, claim_day, with_course
from workbench.widgets import panels
from workbench.widgets.home import REVIEW_DUE, Home

NOW = datetime(2026, 11, 22, tzinfo=UTC)
CLAIM = "A treaty is signed by 2027-03-01"


def row(number: int, p: float | None, *, statement: str = CLAIM, days_ago: float = 1, **more: Any) -> Any:
    started = (NOW - timedelta(days=days_ago)).isoformat()
    facts = {"run_id": f"r{number}", "statement": statement, "p": p, "started_utc": started, "outcome": None}
    return {**facts, "cutoff": "now", "status": "done", "state": "done", **more}


def test_a_run_is_compared_with_the_run_before_of_the_same_claim() -> None:
    rows = with_course(
        [
            row(1, 0.5, days_ago=30),
            row(2, None, days_ago=20),
            row(3, 0.9, statement="Another by 2027-03-01"),
            row(4, 0.66, statement=CLAIM.upper() + " ", days_ago=2),
        ],
        NOW,
    )
    assert [each["before"] for each in rows] == [None, None, None, {"run_id": "r1", "p": 0.5}]
    assert [each["next_review"] is None for each in rows] == [True, True, False, False], (
        "the newest run counts"
    )
    table = panels.runs_table(rows)
    assert "+16.0 pp" in table and 'title="0.66"' in table


@given(days_ago=st.floats(0.1, 400), ahead=st.integers(1, 1000))
def test_the_next_review_lies_halfway_between_the_last_run_and_the_claims_day(
    days_ago: float, ahead: int
) -> None:
    day = NOW.date() + timedelta(days=ahead)
    (only,) = with_course([row(1, 0.5, statement=f"It holds on {day}", days_ago=days_ago)], NOW)
    started, close = datetime.fromisoformat(only["started_utc"]), NOW + timedelta(days=ahead + 1)
    assert abs((only["next_review"] - started) - (close - only["next_review"])) < timedelta(seconds=1)


@pytest.mark.parametrize(
    "more",
    [
        {"statement": "So it is"},
        {"statement": "It held on 2026-11-01"},
        {"statement": "By 2027-02-31"},
        {"outcome": {"p": 1.0, "day": "2026-11-20", "brier": 0.25}},
        {"started_utc": "yesterday"},
        {"started_utc": None},
        {"p": None},
    ],
)
def test_what_is_decided_over_or_without_a_day_is_not_reviewed(more: dict[str, Any]) -> None:
    (only,) = with_course([{**row(1, 0.5), **more}], NOW)
    assert only["next_review"] is None
    assert panels.runs_table([only])


def test_the_days_of_claims_and_ages() -> None:
    assert claim_day("VIX closes above 20 on 31 December 2018") == date(2018, 12, 31)
    assert claim_day("From 2026-01-01 a tax holds until 2027-01-01") == date(2027, 1, 1)
    ages = [age((NOW - timedelta(seconds=each)).isoformat(), NOW) for each in (5, 90, 7300, 90_000, 4e7)]
    assert ages == ["now", "1 min", "2 h", "1 d", "1 y"] and age("long ago", NOW) == ""


def test_what_is_due_for_review_can_be_listed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Home(home, environ={})
    page.poller.stop()
    assert RUN in page.table.value
    page.state.value = REVIEW_DUE
    assert RUN not in page.table.value
    page._rows[0]["next_review"] = datetime.now(UTC) - timedelta(days=1)
    page._show()
    assert RUN in page.table.value and "due since" in page.table.value


def test_own_sources_are_shown_when_they_are_asked_for(home: Path) -> None:
    load_catalogue.cache_clear()
    page = Home(home_with(home, HOUSE), environ={"HOUSE_TOKEN": "never-shown"})
    page.poller.stop()
    assert "the VIX" in page.sources.value and "house/prices" not in page.sources.value
    page.sources.on_open("sources")
    assert 'data-source="house/prices"' in page.sources.value and "filter_rows" in page.sources.value
    assert "never-shown" not in page.sources.value
    load_catalogue.cache_clear()
    home_with(home, "source: [", name="bad.yaml")
    page.sources.on_open("sources")
    assert 'role="alert"' in page.sources.value and "bad.yaml" in page.sources.value
    load_catalogue.cache_clear()
