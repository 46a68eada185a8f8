"""What venues and Metaculus say of an end is kept, and every part that becomes no question is named and lost alone."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.questions.formats.base import QuestionFile
from workbench.questions.formats.format_registry import FORMATS
from workbench.questions.formats.metaculus import posts_of, read_questions
from workbench.questions.formats.venues import kalshi_events, polymarket_events, read_kalshi, read_polymarket


def polymarket(*markets: dict[str, Any], **event: Any) -> QuestionFile:
    return read_polymarket(
        polymarket_events([{"slug": "e", "title": "Who?", "markets": list(markets), **event}]) or []
    )


def market(prices: Any, name: str = "", **fields: Any) -> dict[str, Any]:
    text = json.dumps([str(price) for price in prices]) if prices is not None else None
    return {"id": name or "1", "question": f"Will {name or 'it'} come?", "groupItemTitle": name, "outcomes": '["Yes","No"]',
            "outcomePrices": text, "endDate": "2027-06-30T00:00:00Z", **fields}  # fmt: skip


ENDED = {"closed": True, "closedTime": "2026-04-16 10:00:00+00"}


@pytest.mark.parametrize(
    "prices, status, outcome, left_out",
    [
        ((1, 0), "resolved", 1.0, ""), ((0, 1), "", 0.0, ""), ((0.9995, 0.0005), "resolved", 1.0, ""), ((0.004, 0.996), "resolved", 0.0, ""),
        ((0.5, 0.5), "resolved", None, "annulled"), ((0.3, 0.7), "resolved", None, "in parts"),
        ((0.9995, 0.0005), "proposed", None, None), ((1, 0), "disputed", None, None), ((0.6, 0.4), "", None, None), ((0, 0), "resolved", None, "do not say how"), ((0, 0), "", None, None),
    ],
)  # fmt: skip
def test_a_closed_market_is_settled_void_or_waits(
    prices: Any, status: str, outcome: Any, left_out: str | None
) -> None:
    reading = polymarket(market(prices, umaResolutionStatus=status, **ENDED))
    if left_out:
        assert not reading.questions and left_out in reading.left_out[0].reason
        return
    (question,) = reading.questions
    assert question.outcomes.get("e") == outcome and question.closes_on == "2026-04-16"
    assert bool(question.resolved_on) == (outcome is not None) and question.horizons == ("2027-06-30",)
    turned = market(prices[::-1], umaResolutionStatus=status, **ENDED) | {"outcomes": '["No","Yes"]'}
    assert polymarket(turned).questions[0].outcomes == question.outcomes


def test_an_open_market_is_open_until_its_planned_end_and_its_price_counts_where_it_is_one() -> None:
    (question,) = polymarket(market((0.7, 0.3), closed=False)).questions
    assert (question.closes_on, question.horizons, question.outcomes) == ("2027-06-30", (), {})
    assert question.quotes["e"].last == 0.7
    assert not polymarket(market((0.7, 0.7), closed=False)).questions[0].quotes


@pytest.mark.parametrize(
    "free",
    [{"negRiskOther": True, "active": False}, {"active": False}, {"negRiskOther": True, "active": True}],
)
def test_a_place_that_is_kept_free_is_no_option_and_a_priced_other_is_one(free: dict[str, Any]) -> None:
    anna, bert = market((0.6, 0.4), "Anna"), market((0.3, 0.7), "Bert")
    reading = polymarket(anna, bert, market(None, "Other", **free), negRisk=True)
    assert reading.questions[0].options == ("Anna", "Bert") and reading.left_out[0].id == "e/Other"
    priced = polymarket(anna, bert, market((0.1, 0.9), "Other", **free), negRisk=True)
    assert priced.questions[0].options == ("Anna", "Bert", "Other") and not priced.left_out


#: Parts of an event that cannot be read, and why.
ODD: dict[str, tuple[Any, str]] = {
    "no object": ("junk", "another shape"), "null": (None, "another shape"), "an id alone": ({"id": "2"}, "not of Yes and No"),
    "teams": (market((0.5, 0.5), "Lakers") | {"outcomes": '["Lakers","Celtics"]'}, "not of Yes and No"),
}  # fmt: skip


@pytest.mark.parametrize("case", ODD)
def test_one_odd_market_of_an_event_loses_itself_alone(case: str) -> None:
    odd, why = ODD[case]
    reading = polymarket(market((0.6, 0.4), "Anna"), odd, market((0.3, 0.7), "Bert"), negRisk=True)
    assert reading.questions[0].options == ("Anna", "Bert")
    assert [why in part.reason for part in reading.left_out] == [True]
    assert polymarket(odd, odd).questions == () and len(polymarket(odd, odd).left_out) == 2
    if not isinstance(odd, dict) or "outcomes" not in odd:
        anna, bert = ({"ticker": f"E-{n}", "event_ticker": "E", "yes_sub_title": n} for n in ("Anna", "Bert"))
        event = {
            "event_ticker": "E",
            "title": "Who?",
            "markets": [anna, odd, bert],
            "mutually_exclusive": True,
        }
        told = read_kalshi(kalshi_events({"events": [event]}) or [])
        assert told.questions[0].options == ("Anna", "Bert") and "another shape" in told.left_out[0].reason


def test_a_void_market_of_three_sides_is_annulled() -> None:
    void = market((0.3333, 0.3333, 0.3334), umaResolutionStatus="resolved", **ENDED)
    (part,) = polymarket(void | {"outcomes": '["A","B","C"]'}).left_out
    assert "annulled" in part.reason


def test_kalshis_ends_are_told_apart() -> None:
    row = {"event_ticker": "E", "title": "Rain?", "close_time": "2026-12-31T00:00:00Z"}
    rows = [
        {
            **row,
            "ticker": f"E-{result}",
            "yes_sub_title": result or "open",
            "result": result,
            "settlement_value_dollars": "0.3700",
        }
        for result in ("yes", "no", "", "void", "scalar", "odd")
    ]
    for document in (
        rows,
        {"markets": rows, "cursor": ""},
        {"event": {"event_ticker": "E", "title": "Rain?"}, "markets": rows},
    ):
        reading = read_kalshi(kalshi_events(document) or [])
        assert (
            reading.questions[0].outcomes == {"E#yes": 1.0, "E#no": 0.0}
            and len(reading.questions[0].options) == 3
        )
        reasons = {part.id: part.reason for part in reading.left_out}
        assert (
            "annulled" in reasons["E-void"] and "0.37" in reasons["E-scalar"] and "'odd'" in reasons["E-odd"]
        )


def test_lists_of_markets_and_a_bad_first_entry_are_read_and_other_lists_are_none() -> None:
    rows = [{**market((0.7, 0.3), "a"), "slug": "a"}, {**market((0.2, 0.8), "b"), "slug": "b"}]
    for document in (rows, {"markets": rows, "next_cursor": "x"}):
        assert [q.id for q in read_polymarket(polymarket_events(document) or []).questions] == ["a", "b"]
    reading = read_polymarket(
        polymarket_events([{"slug": "no markets"}, None, {"slug": "e", "title": "t", "markets": rows[:1]}])
        or []
    )
    assert len(reading.questions) == 1 and len(reading.left_out) == 2
    manifold = [{"id": "m", "question": "Rain?", "outcomeType": "BINARY", "probability": 0.4}]
    assert not polymarket_events(manifold) and not kalshi_events(manifold) and not posts_of(manifold)
    assert not posts_of(rows)


KINDS: dict[str, tuple[dict[str, Any], str]] = {
    "binary": ({"type": "binary"}, ""),
    "annulled": ({"type": "binary", "resolution": "annulled"}, "annulled"),
    "matrix": ({"type": "matrix"}, "matrix"),
    "broken": ({"type": "multiple_choice", "options": None}, "another shape"),
    "early": ({"type": "date", "scaling": {"range_min": 1767225600, "range_max": 1798761600}, "resolution": "below_lower_bound"}, ""),
}  # fmt: skip


@given(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=6))
def test_each_part_of_a_group_is_a_question_or_named(kinds: list[str]) -> None:
    parts = [{"id": n, "title": f"Part {n}?", **KINDS[kind][0]} for n, kind in enumerate(kinds)]
    post = {"id": 9, "title": "Group", "group_of_questions": {"questions": parts}}
    for document in (post, [post], {"results": [post]}):
        reading = FORMATS["metaculus"](json.dumps(document))
        assert [q.id for q in reading.questions] == [
            str(n) for n, kind in enumerate(kinds) if not KINDS[kind][1]
        ]
        for part in reading.left_out:
            assert KINDS[kinds[int(part.id)]][1] in part.reason
        assert len(reading.questions) + len(reading.left_out) == len(kinds)
        for question in reading.questions:
            if kinds[int(question.id)] == "early":
                assert set(question.outcomes.values()) == {1.0}
            assert all(link.to in {q.id for q in reading.questions} for link in question.links)


def test_log_scales_and_removed_options_are_read() -> None:
    log = {
        "id": 1,
        "title": "How many?",
        "type": "numeric",
        "scaling": {"range_min": 1, "range_max": 1e6, "zero_point": 0},
    }
    latest = {"forecast_values": [0.4, None, 0.6]}
    gone = {"id": 2, "title": "Which?", "type": "multiple_choice", "options": ["A", "B", "C"],
            "aggregations": {"recency_weighted": {"latest": latest}}}  # fmt: skip
    one, two = read_questions([{"id": n, "question": entry} for n, entry in enumerate((log, gone))]).questions
    # Metaculus: value = min + (max - min) (r^x - 1) / (r - 1) with r = (max - zero) / (min - zero); at x = 1/2 that is 1000
    assert one.levels[4] == pytest.approx(1000, rel=1e-5) and one.levels[0] == pytest.approx(
        10**0.6, rel=1e-5
    )
    assert one.zero_point == 0
    assert (
        two.options == ("A", "C")
        and two.extra == {"removed_options": "B"}
        and two.crowd == {"2#A": 0.4, "2#C": 0.6}
    )
