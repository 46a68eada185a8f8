"""Weights from past outcomes, and the linear rule that a synthesis request is answered with."""

import json
from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.agents.replies.stage_replies import parse_conclusion, parse_linear
from workbench.models.base import NodeRef
from workbench.offline.offline_synthesis import (
    combine,
    estimate_weights,
    linear_reply,
    read_children,
    vanilla_reply,
)
from workbench.offline.report_records import common_windows, read_records, write_record
from workbench.questions.errors import ClaimRefused

RNG = np.random.default_rng(5)
N = 900
PARENT = NodeRef(id="P0", statement="It happens")


def line(
    statement: str,
    p: float,
    bits: np.ndarray,
    *,
    kind: str = "leaf",
    horizon: int = 20,
    start: str = "2000-01-07",
) -> str:
    return write_record(
        {
            "kind": kind,
            "statement": statement,
            "p": p,
            "base_rate": round(float(bits.mean()), 6),
            "horizon_days": horizon,
            "effective_windows": round(len(bits) * 5 / horizon, 1),
            "weeks_from": start,
            "bits": "".join(str(int(bit)) for bit in bits),
        }
    )


def block(node: NodeRef, p: float, report: str, polarity: str = "Positive") -> str:
    return f'{node.id} ({polarity}): {node.statement}\np = {p!r}\nKey factor: k\n<report of="{node.id}">\n{report}\n</report>'


def message(*blocks: str) -> str:
    return (
        "P0: It happens\n\nChildren: (P1, Positive) a; (P2, Positive) b\n\n"
        + "\n\n".join(blocks)
        + "\n\nKnowledge cutoff: 2018-06-30"
    )


REF, ONE, TWO = (
    NodeRef(id=f"P{n}", statement=s)
    for n, s in ((1, "Reference class: it happens"), (2, "The first"), (3, "The second"))
)
CAUSE = RNG.integers(0, 2, N)
NOISE = RNG.integers(0, 2, N)
OUTCOME = np.where(RNG.random(N) < 0.9, CAUSE, 1 - CAUSE)


def test_the_child_that_goes_with_the_parent_gets_the_weight() -> None:
    fit = estimate_weights(OUTCOME, np.column_stack([CAUSE, NOISE]), 5)
    assert fit.estimated
    assert fit.weights[0] > 0.7
    assert fit.weights[1] < 0.1
    assert min(fit.weights) >= 0 and sum(fit.weights) + max(fit.intercept, 0) <= 1 + 1e-12
    assert abs(fit.intercept) <= 0.1


def test_a_child_that_goes_against_the_parent_gets_nothing_rather_than_a_negative_weight() -> None:
    fit = estimate_weights(OUTCOME, np.column_stack([1 - CAUSE, NOISE]), 5)
    assert fit.weights[0] == pytest.approx(0, abs=1e-9)


def test_long_windows_count_less_and_pull_the_weights_together() -> None:
    short = estimate_weights(OUTCOME, np.column_stack([CAUSE, NOISE]), 5).weights
    long = estimate_weights(OUTCOME, np.column_stack([CAUSE, NOISE]), 200).weights
    assert abs(long[0] - long[1]) < abs(short[0] - short[1])


def test_under_twelve_effective_windows_the_weights_are_equal() -> None:
    fit = estimate_weights(OUTCOME[:200], np.column_stack([CAUSE, NOISE])[:200], 100)
    assert fit.effective_windows == 10
    assert (fit.estimated, fit.intercept, fit.weights) == (False, 0.0, (0.5, 0.5))


def test_the_fit_minimises_what_it_says() -> None:
    children = np.column_stack([CAUSE, NOISE])
    fit = estimate_weights(OUTCOME, children, 60)

    def loss(b0: float, w: np.ndarray) -> float:
        return 5 / 60 * float(np.sum((OUTCOME - b0 - children @ w) ** 2)) + 20 * float(np.sum((w - 0.5) ** 2))

    best = loss(fit.intercept, np.array(fit.weights))
    for step in RNG.normal(0, 0.02, (300, 3)):
        w = np.clip(np.array(fit.weights) + step[1:], 0, 1)
        assert loss(float(np.clip(fit.intercept + step[0], -0.1, 0.1)), w) >= best - 1e-9


def test_windows_are_matched_by_their_days() -> None:
    (one,) = read_records(line("a", 0.5, np.array([1, 0, 1]), start="2000-01-07"))
    (two,) = read_records(line("b", 0.5, np.array([0, 1, 1]), start="2000-01-14"))
    (off,) = read_records(line("c", 0.5, np.array([0, 1, 1]), start="2000-01-15"))
    assert common_windows([one, two]).tolist() == [[0, 0], [1, 1]]
    assert common_windows([one, off]).shape == (0, 2)


def test_unknown_outcomes_and_broken_lines_are_left_out() -> None:
    good = line("a", 0.5, np.array([1, 0, 1]))
    holed = good.replace('"101"', '"1x1"')
    (record,) = read_records(f"prose {holed} more\n{good[:60]}\n{good.replace('0.5', '1.5')}")
    assert record.outcomes.tolist() == [1, -1, 1]
    assert record.weeks_from == date(2000, 1, 7)
    assert len(common_windows([record])) == 2


def test_the_rule_is_half_reference_and_half_tree() -> None:
    text = message(
        block(REF, 0.6, line(REF.statement, 0.6, OUTCOME, kind="reference")),
        block(ONE, 0.7, line(ONE.statement, 0.7, CAUSE)),
        block(TWO, 0.4, line(TWO.statement, 0.4, NOISE)),
    )
    children = read_children(text, [REF, ONE, TWO])
    reply = parse_linear(linear_reply(PARENT, children))
    fit = estimate_weights(OUTCOME, np.column_stack([CAUSE, NOISE]), 20)
    assert reply.weights["P1"] == 0.5
    assert reply.weights["P2"] == pytest.approx(fit.weights[0] / 2, abs=2e-6)
    expected = reply.intercept + 0.5 * 0.6 + reply.weights["P2"] * 0.7 + reply.weights["P3"] * 0.4
    assert reply.conclusion.p == pytest.approx(expected, abs=1e-9)
    (record,) = read_records(reply.conclusion.report)
    assert (record.kind, record.statement) == ("inner", "It happens")
    assert record.outcomes.tolist() == OUTCOME.tolist()
    assert record.data["tree_only_p"] == pytest.approx(
        fit.intercept + fit.weights[0] * 0.7 + fit.weights[1] * 0.4, abs=1e-5
    )
    assert parse_conclusion(vanilla_reply(PARENT, children)).p == reply.conclusion.p


def test_an_edited_probability_is_taken_from_the_message_not_from_the_record() -> None:
    text = message(
        block(REF, 0.6, line(REF.statement, 0.6, OUTCOME, kind="reference")),
        block(ONE, 0.0, line(ONE.statement, 0.7, CAUSE)),
    )
    children = read_children(text, [REF, ONE])
    assert [child.p for child in children] == [0.6, 0.0]
    assert parse_linear(linear_reply(PARENT, children)).conclusion.p < 0.4


def test_children_of_others_share_the_weight_equally_and_it_is_said() -> None:
    text = message(block(ONE, 0.9, "someone's report"), block(TWO, 0.3, "another's"))
    reply = linear_reply(PARENT, read_children(text, [ONE, TWO]))
    parsed = parse_linear(reply)
    assert dict(parsed.weights) == {"P2": 0.5, "P3": 0.5}
    assert parsed.conclusion.p == pytest.approx(0.6)
    assert "weighted equally" in reply


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=6))
def test_a_child_that_speaks_against_counts_through_its_negation(children: list[tuple[float, bool]]) -> None:
    nodes = [NodeRef(id=f"P{n}", statement=f"Statement number {n}") for n in range(1, len(children) + 1)]
    values = [round(p, 4) for p, _ in children]
    text = message(
        *(
            block(node, p, "r", "Negative" if negative else "Positive")
            for node, p, (_, negative) in zip(nodes, values, children, strict=True)
        )
    )
    parsed = parse_linear(linear_reply(PARENT, read_children(text, nodes)))
    speaks = [1 - p if negative else p for p, (_, negative) in zip(values, children, strict=True)]
    assert parsed.conclusion.p == pytest.approx(sum(speaks) / len(speaks), abs=2e-5)
    raw = parsed.intercept + sum(parsed.weights[node.id] * p for node, p in zip(nodes, values, strict=True))
    assert parsed.conclusion.p == pytest.approx(raw, abs=1e-9)
    # whatever the children turn out to be, the rule gives a probability
    low = parsed.intercept + sum(min(0.0, weight) for weight in parsed.weights.values())
    high = parsed.intercept + sum(max(0.0, weight) for weight in parsed.weights.values())
    assert low >= -1e-9 and high <= 1 + 1e-9


def test_threats_alone_leave_what_they_do_not_take() -> None:
    """Paper A's example in the analyst's equal weights: two threats at 5 % leave 95 %."""
    text = message(block(ONE, 0.05, "r", "Negative"), block(TWO, 0.05, "r", "Negative"))
    parsed = parse_linear(linear_reply(PARENT, read_children(text, [ONE, TWO])))
    assert (parsed.intercept, dict(parsed.weights)) == (1.0, {"P2": -0.5, "P3": -0.5})
    assert parsed.conclusion.p == pytest.approx(0.95)


def test_a_single_reference_child_is_passed_on() -> None:
    text = message(block(REF, 0.61, line(REF.statement, 0.61, OUTCOME, kind="reference")))
    result = combine(read_children(text, [REF]))
    assert (result.p, result.weights) == (0.61, {"P1": 1.0})


def test_a_child_that_is_not_shown_is_named() -> None:
    with pytest.raises(ClaimRefused, match="P3"):
        read_children(message(block(ONE, 0.5, "r")), [ONE, TWO])


def test_ids_that_begin_alike_are_told_apart() -> None:
    ten = NodeRef(id="P10", statement="The tenth")
    first = NodeRef(id="P1", statement="The start")
    text = message(block(ten, 0.9, "r"), block(first, 0.1, "P1.1: The start of it, p = 0.4"))
    assert {child.id: child.p for child in read_children(text, [first, ten])} == {"P1": 0.1, "P10": 0.9}


def test_the_record_line_is_one_json_object_on_a_line_of_its_own() -> None:
    text = message(block(REF, 0.6, line(REF.statement, 0.6, OUTCOME, kind="reference")), block(ONE, 0.7, "r"))
    reply = linear_reply(PARENT, read_children(text, [REF, ONE]))
    lines = [row for row in reply.splitlines() if row.startswith("{") and "base_rate" in row]
    assert len(lines) == 1
    assert json.loads(lines[0])["base_rate"] == pytest.approx(OUTCOME.mean(), abs=1e-6)
