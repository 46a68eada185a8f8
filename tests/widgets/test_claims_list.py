"""The home page's zones: what there is to do, the claims with their course, runs side by side, the own record in figures."""

import re
from contextlib import closing
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.screens import CLAIM, RUN, comm_of, make_run, run_row
from workbench.audit.track_record import record_card
from workbench.engine.record.fold import load_state
from workbench.packages.package import adopt_tree
from workbench.propositions import Belief, Tree
from workbench.questions.formats.price_questions import read_price_history
from workbench.questions.sets.question_sets import add_questions
from workbench.store import Store
from workbench.views.claims_list import WATCH, claims_of, compared, to_do
from workbench.views.run_overview import claim_key, with_course
from workbench.views.run_view import RunView, load_run
from workbench.widgets.home_page import Home

NOW = datetime(2026, 11, 22, tzinfo=UTC)


def row(number: int, p: float | None, **more: Any) -> dict[str, Any]:
    return run_row(number, p, now=NOW, days_ago=50 - number, **more)


def listed(*rows: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows of runs, given oldest first, as the page has them."""
    return list(reversed(with_course(rows, NOW)))


def test_runs_of_one_claim_are_one_row_with_its_course() -> None:
    (claim,) = claims_of(
        listed(row(1, 0.5), row(2, 0.6, statement=CLAIM.upper()), row(3, None, state="failed"), row(4, 0.55)),
        NOW,
    )
    assert (claim["run_id"], claim["p"]) == ("r004", 0.55)
    assert [(each["run_id"], each["p"]) for each in claim["answers"]] == [
        ("r001", 0.5),
        ("r002", 0.6),
        ("r004", 0.55),
    ]
    assert claim["runs"] == ["r004", "r003", "r002", "r001"]
    assert (claim["day"], claim["days"]) == ("2027-03-01", 99)


def test_a_newer_run_without_an_answer_hides_no_answer() -> None:
    (claim,) = claims_of(listed(row(1, 0.5), row(2, None, state="running")), NOW)
    assert (claim["run_id"], claim["p"]) == ("r001", 0.5)


@given(
    st.lists(
        st.tuples(st.sampled_from(["A by 2027-01-01", "B by 2027-01-01", "C"]), st.none() | st.floats(0, 1)),
        max_size=12,
    )
)
def test_every_run_stands_in_just_one_claim(runs: list[tuple[str, float | None]]) -> None:
    rows = listed(*(row(number, p, statement=text) for number, (text, p) in enumerate(runs)))
    claims = claims_of(rows, NOW)
    assert sorted(run for claim in claims for run in claim["runs"]) == sorted(each["run_id"] for each in rows)
    assert len({claim_key(claim["claim"]) for claim in claims}) == len(claims)


def test_what_asks_for_an_act_is_to_do_and_a_later_run_or_an_outcome_takes_it_back() -> None:
    outcome = {"p": 1.0, "day": "2026-11-20", "brier": 0.25, "at_utc": "2026-11-21T00:00:00Z"}
    rows = listed(
        row(1, None, statement="A", state="failed", reason="the provider refused the key"),
        row(2, None, statement="B", state="waiting", reason="1 step waits"),
        row(3, 0.5, statement="C by 2026-11-20", outcome=outcome),
        row(4, None, statement="D", state="failed"),
        row(5, 0.4, statement="D"),
        row(6, 0.5, statement="E by 2026-12-01", started_utc=(NOW - timedelta(days=40)).isoformat()),
        row(7, 0.3, statement="F"),
        row(8, 0.6, statement="F"),  # the table shows how far it moved
        row(9, 0.5, statement="G by 2026-11-26", started_utc=(NOW - timedelta(days=1)).isoformat()),
        row(10, 0.5, statement="H by 2026-11-21"),
        row(11, None, statement="I by 2026-11-26", state="planned"),
    )
    acts = {each["claim"]: each for each in to_do(rows, NOW)}
    assert {claim: act["kind"] for claim, act in acts.items()} == {
        "A": "failed",
        "B": "waiting",
        "E by 2026-12-01": "due",
        "G by 2026-11-26": "soon",
        "H by 2026-11-21": "over",
    }
    assert "the provider refused the key" in acts["A"]["words"]
    assert "in 4 days" in acts["G by 2026-11-26"]["words"] and "1 day ago" in acts["H by 2026-11-21"]["words"]


def test_drivers_that_ask_the_same_of_a_series_are_compared_in_one_row(home: Path) -> None:
    def adopted(number: int, *drivers: str) -> RunView:
        tree = Tree.root_only("WTI crude oil closes above 70 on 2018-12-31")
        tree = tree.expand("P0", {f"P{place}": text for place, text in enumerate(drivers, start=1)})
        for place in range(1, len(drivers) + 1):
            tree = tree.with_belief(f"P{place}", Belief(p=place / 10, key_factor="", report=""))
        with closing(Store(home)) as store:
            return load_run(
                home, adopt_tree(store, tree, cutoff="2018-06-30", package=f"sha256:{number:064d}")
            )

    first = adopted(
        1,
        "WTI crude oil closes higher on 2018-09-28 than on 2018-06-29",
        "VIX closes above 20 on 2018-12-31",
        "OPEC meets",
    )
    second = adopted(
        2,
        "OPEC  MEETS",
        "VIX closes below 20 on 2018-12-31",
        "Oil closes higher on 2018-10-31 than on 2018-09-28",
    )
    rows = {each["statement"]: each for each in compared([first, second])["drivers"]}
    assert rows["WTI crude oil closes higher on 2018-09-28 than on 2018-06-29"]["p"] == [0.1, 0.3]
    assert rows["OPEC meets"]["p"] == [0.3, 0.1] and rows["OPEC meets"]["words"] == ["", ""]
    assert rows["VIX closes above 20 on 2018-12-31"]["p"] == [0.2, None]  # the other side is another question
    assert rows["VIX closes below 20 on 2018-12-31"]["p"] == [None, 0.2]


def resolved(run_id: str, p: float, outcome: float, base: float | None, **facts: str) -> dict[str, Any]:
    """A row of `own_runs`; each claim is about a series of its own."""
    facts = {"made": "live", "tag": "none", "horizon": "up to 90 d", "topic": run_id, **facts}
    days = {"known": "2018-01-31", "day": "2018-03-31"}  # unless told otherwise, one season
    brier = (p - outcome) ** 2
    return {
        "run_id": run_id,
        "statement": run_id,
        "p": p,
        "outcome": outcome,
        "brier": brier,
        "base_rate": base,
        **days,
        **facts,
    }


def test_the_record_is_that_of_an_independent_sum_with_live_and_back_test_apart() -> None:
    runs = [
        resolved("a", 0.7, 1.0, 0.5, tag="oil watch"),
        resolved("b", 0.75, 0.0, 0.6, made="back-test", horizon="up to 365 d"),
        resolved("c", 1.0, 1.0, None, horizon="over a year"),
    ]
    card = record_card(runs)
    live, back = card["groups"]["all"]
    assert (card["n"], live["n"], live["base_n"], back["n"]) == (3, 2, 1, 1)
    assert live["brier"] == pytest.approx(0.09 / 2) and back["brier"] == pytest.approx(0.5625)
    assert live["base_brier"] == pytest.approx(0.25) and live["gain"] == pytest.approx(0.25 - 0.09)
    assert back["gain"] == pytest.approx(0.36 - 0.5625)
    assert live["interval"] is None and live["gain_interval"] is None  # two series tell nothing
    assert [each["name"] for each in card["groups"]["horizon"]] == [
        "up to 90 d, live",
        "over a year, live",
        "up to 365 d, back-test",
    ]
    assert [(each["name"], each["n"]) for each in card["groups"]["tag"]] == [
        ("none, live", 1),
        ("oil, live", 1),
        ("watch, live", 1),
        ("none, back-test", 1),
    ]
    assert [(each["from"], each["n"]) for each in card["reliability"]["live"]] == [(0.7, 1), (0.9, 1)]
    assert record_card([]) == {}


def test_a_star_tags_the_claim_and_two_chosen_runs_are_compared(home: Path, comms: list[Any]) -> None:
    other = make_run(home, "20180629-120000-1111")
    page = Home(home, environ={})
    page.poller.stop()
    comm = comm_of(page.claims, comms)

    def tags(run_id: str) -> tuple[str, ...]:
        with closing(Store(home)) as store:
            return load_state(store, run_id).annotations.tags

    comm.deliver({"type": "watch", "run": RUN, "on": True})
    assert tags(RUN) == (WATCH,) and page.claims.claims[0]["watched"]
    comm.deliver(
        {"type": "watch", "run": other, "on": False}
    )  # of the same claim: it is the claim that is watched
    assert tags(RUN) == () and not page.claims.claims[0]["watched"]
    comm.deliver({"type": "compare", "runs": [RUN, other]})
    assert page.compared.value.count("wb-words-cell") > 2 and other in page.compared.value
    comm.deliver({"type": "compare", "runs": ["nobody"]})
    assert "nobody" in page.claims.line
    for hostile in ({"type": "compare", "runs": 7}, {"type": "watch"}, {"type": None}, "x"):
        comm.deliver(hostile)


def test_questions_of_a_set_are_reached_from_the_home_page_and_become_its_claim(
    home: Path, comms: list[Any]
) -> None:
    page = Home(home, environ={})
    page.poller.stop()
    page.question_sets.on_open("question sets")
    assert "No set yet" in page.question_sets.value
    rows = [
        {"symbol": "OIL", "date": day, "close": close}
        for day, close in (("2024-01-01", "70"), ("2024-12-31", "80"))
    ]
    with closing(Store(home)) as store:
        add_questions(
            store, "week-one", read_price_history(rows, "2024-01-02"), form="prices", origin="by hand"
        )
    page.question_sets.on_open("question sets")
    found = re.search(r'data-select="([^"]+)"', page.question_sets.value)
    assert found is not None and "week-one" in page.question_sets.value
    comm_of(page.question_sets, comms).deliver({"type": "select", "id": unescape(found[1])})
    assert page.claim.value == unescape(found[1])
