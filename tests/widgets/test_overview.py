"""The first page beyond a run's own log: age, the change since the run before, the next review, own series and sources."""

from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxies.asof.clock import Cutoff
from tests.command_line import run_json
from tests.fakes.screens import CLAIM, run_row
from tests.fakes.small_run import make_small_run
from workbench.annotations.outcomes import record_outcome
from workbench.engine.new_run import new_run
from workbench.engine.run_settings import with_preset
from workbench.packages.package import adopt_tree
from workbench.propositions import Belief, Tree
from workbench.reviews.watched_claims import watched_claims
from workbench.store import Store
from workbench.store import events as ev
from workbench.store.removal import remove_run
from workbench.views import run_overview
from workbench.views.run_overview import listed_runs, with_course
from workbench.widgets import panels

NOW = datetime(2026, 11, 22, tzinfo=UTC)


def row(number: int, p: float | None, **more: Any) -> dict[str, Any]:
    return run_row(number, p, now=NOW, **more)


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
    assert [each["before"] for each in rows] == [None, None, None, {"run_id": "r001", "p": 0.5}]
    assert [each["next_review"] is None for each in rows] == [True, True, False, False], (
        "the newest run counts"
    )
    table = panels.runs_table(rows)
    assert "+16.0 points" in table and 'data-value="0.66"' in table


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


def test_a_row_has_its_fields_and_its_change_is_that_of_the_claim(course: Path) -> None:
    rows = run_json(course, "runs")
    assert all(set(each) == ROW for each in rows)
    treaty, rain, second, third, killed = rows
    assert treaty["change"] is None and rain["change"] is None and killed["p"] is None
    for earlier, each in ((treaty, second), (second, third)):
        assert each["before"] == {"run_id": earlier["run_id"], "p": earlier["p"]}
        assert each["change"] == each["p"] - earlier["p"]
    assert second["outcome"]["brier"] == (1 - second["p"]) ** 2
    assert [each["next_review"] is None for each in rows] == [True, False, True, False, True]
    assert datetime.fromisoformat(third["next_review"]) > datetime.now(UTC)
    assert killed["state"] == "stopped" and killed["status"] != "done", "no process works on it"


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
