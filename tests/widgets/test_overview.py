"""The first page beyond a run's own log: age, the change since the run before, the next review, own series and sources."""

import json
import re
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxies.asof.clock import Cutoff
from proxies.catalogue.loader import load_catalogue
from tests.command_line import run_cli
from tests.fakes.screens import RUN
from tests.fakes.small_run import make_small_run
from tests.proxies.test_own_sources import HOUSE, home_with
from workbench.annotations.outcomes import record_outcome
from workbench.engine.new_run import new_run
from workbench.engine.run_settings import with_preset
from workbench.formatting import percent, point_change
from workbench.manual import whole_page
from workbench.packages.package import adopt_tree
from workbench.propositions import Belief, Tree
from workbench.reviews.watched_claims import watched_claims
from workbench.store import Store
from workbench.store import events as ev
from workbench.store.removal import remove_run
from workbench.views import run_overview
from workbench.views.run_overview import age, claim_day, listed_runs, run_row, with_course
from workbench.widgets import panels
from workbench.widgets.home_page import REVIEW_DUE, Home, list_runs

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
    assert "+16.0 points" in table and 'title="0.66"' in table


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


# --- the list of runs: command line, Python API, first page ----------------------------------------------------------------

ROW = {
    *("run_id", "statement", "cutoff", "p", "status", "state", "model", "started_utc", "imported", "outcome"),
    *("tags", "age", "before", "change", "next_review", "base_rate", "reason"),
}


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with three runs of one claim, one of another between them, and one that a killed process left."""
    place = tmp_path_factory.mktemp("course")
    later = (datetime.now(UTC) + timedelta(days=400)).date()
    claims = (f"A treaty is signed by {later}", 0.5), (f"Rain falls by {later}", 0.2)
    with closing(Store(place / "home")) as store:
        for number, (claim, p) in enumerate((claims[0], claims[1], claims[0], claims[0])):
            tree = Tree.root_only(claim).with_belief("P0", Belief(p=p + number / 7, key_factor="", report=""))
            adopt_tree(store, tree, cutoff="2026-01-01", package=f"sha256:{number:064d}")
        killed = new_run(store, "It holds", Cutoff.parse("2026-01-01"), with_preset("product", model="m"))
        record_outcome(store, store.run_ids()[2], "yes", on="2026-02-01")
        store.append(killed, ev.NoteAdded(text="cut off"))
    return place


def test_any_part_of_the_list_says_of_a_run_what_the_whole_list_says(course: Path) -> None:
    with closing(Store(course / "home")) as store:
        now = datetime.now(UTC)
        whole = {each["run_id"]: each for each in listed_runs(store, now)}
        parts = [listed_runs(store, now, limit=limit) for limit in range(1, 6)]
        parts += [listed_runs(store, now, search=word) for word in ("treaty", "rain", "cut", "nothing")]
    assert [len(part) for part in parts] == [1, 2, 3, 4, 5, 3, 1, 1, 0]
    for part in parts:
        assert part == [whole[each["run_id"]] for each in part]


def test_a_row_has_the_documented_fields_and_its_change_is_that_of_the_claim(course: Path) -> None:
    rows = json.loads(run_cli(course, "runs", "--json").stdout)
    assert all(set(each) == ROW for each in rows)
    page = whole_page(Path(__file__).parents[2] / "docs" / "screens.md")
    table = page[page.index("## The list of runs") :].partition("\n## ")[0]
    documented = {
        name
        for cell in re.findall(r"^\|([^|]*)\|", table, re.MULTILINE)
        for name in re.findall(r"`(\w+)`", cell)
    }
    assert documented == ROW | {"unreadable", "not_installed"}
    treaty, rain, second, third, killed = rows
    assert treaty["change"] is None and rain["change"] is None and killed["p"] is None
    for earlier, each in ((treaty, second), (second, third)):
        assert each["before"] == {"run_id": earlier["run_id"], "p": earlier["p"]}
        assert each["change"] == each["p"] - earlier["p"]
    assert second["outcome"]["brier"] == (1 - second["p"]) ** 2
    assert [each["next_review"] is None for each in rows] == [True, False, True, False, True]
    assert datetime.fromisoformat(third["next_review"]) > datetime.now(UTC)
    assert killed["state"] == "stopped" and killed["status"] != "done", "no process works on it"


def test_the_table_of_the_terminal_and_the_first_page_show_the_same_words(course: Path) -> None:
    rows = json.loads(run_cli(course, "runs", "--json").stdout)
    shown = run_cli(course, "runs").stdout
    page = panels.runs_table(list_runs(course / "home"))
    for each in rows:
        line = next(line for line in shown.splitlines() if line.startswith(each["run_id"]))
        words = [each["state"], each["age"], percent(each["p"])]
        words += [point_change(each["before"]["p"], each["p"])] if each["before"] else []
        words += [each["next_review"][:10]] if each["next_review"] else []
        words += [f"{each['outcome']['brier']:.3f}"] if each["outcome"] else []
        for word in words:
            assert word in line and word in page, (word, line)


# -- summaries: what a list keeps of each run


def test_a_list_folds_only_runs_to_which_something_happened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folded: list[str] = []
    whole = run_overview.load_state
    monkeypatch.setattr(
        run_overview, "load_state", lambda store, run: folded.append(run) or whole(store, run)
    )
    runs = [make_small_run(tmp_path, run_id=f"20180630-12000{n}-000{n}") for n in range(3)]
    with closing(Store(tmp_path)) as store:
        first = listed_runs(store, NOW, texts=True)
        assert sorted(folded) == runs
        folded.clear()
        assert listed_runs(store, NOW, texts=True) == first and folded == []
        assert len(listed_runs(store, NOW, search="no such word")) == 0 and folded == []
        store.append(runs[1], ev.NoteAdded(tags=("watch",)))
        assert [each["tags"] for each in listed_runs(store, NOW)] == [[], ["watch"], []]
        assert folded == [runs[1]]
        assert [claim.state.run_id for claim in watched_claims(store)] == []  # a later run has its claim
        remove_run(store, runs[1])
        assert [each["run_id"] for each in listed_runs(store, NOW)] == [runs[0], runs[2]]
        assert not store.query("SELECT 1 FROM summaries WHERE run_id = ?", (runs[1],))


def test_a_list_of_a_home_that_another_process_writes_or_that_is_only_read_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_small_run(tmp_path)
    with closing(Store(tmp_path)) as store, closing(Store(tmp_path)) as writer:
        with writer.transaction():
            written = listed_runs(store, NOW)
        assert not store.query("SELECT 1 FROM sqlite_master WHERE name = 'summaries'")
        assert store.query("PRAGMA busy_timeout")[0][0] == 30_000
        assert listed_runs(store, NOW) == written
    monkeypatch.setenv("WORKBENCH_READ_ONLY", "1")
    with closing(Store(tmp_path)) as reader:
        assert listed_runs(reader, NOW) == written


def test_what_another_set_of_packages_made_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_small_run(tmp_path)
    with closing(Store(tmp_path)) as store:
        (listed,) = listed_runs(store, NOW)
        monkeypatch.setattr(run_overview, "plugin_names", lambda group: ())
        monkeypatch.setattr(run_overview, "run_row", lambda state: {**run_row(state), "reason": "made anew"})
        assert listed_runs(store, NOW) == [{**listed, "reason": "made anew"}]
