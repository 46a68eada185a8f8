"""Weights from past outcomes, and the linear rule that a synthesis request is answered with."""

import re
from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.agents.replies.stage_replies import LinearReply, parse_conclusion
from workbench.formatting import MINUS
from workbench.models.base import NodeRef
from workbench.offline.driver_weights import CONSTANT_MAX, divide
from workbench.offline.offline_synthesis import (
    Combination,
    combine,
    read_children,
    synthesis_reply,
)
from workbench.offline.report_records import OutcomeRecord, common_windows, read_records, write_record
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


def parent_record(p: float, bits: np.ndarray = OUTCOME) -> OutcomeRecord:
    (record,) = read_records(line(PARENT.statement, p, bits, kind="inner"))
    return record


def table(*columns: np.ndarray) -> np.ndarray:
    return np.column_stack(columns)


shares = st.floats(0.02, 0.98)


@given(p=shares, base=shares, drivers=st.lists(st.tuples(shares, shares), min_size=1, max_size=6), weeks=st.integers(0, 300),
       horizon=st.sampled_from([5, 21, 126]), seed=st.integers(0, 99))  # fmt: skip
def test_the_division_gives_the_answer_whatever_the_past_was(
    p: float, base: float, drivers: list[tuple[float, float]], weeks: int, horizon: int, seed: int
) -> None:
    outcomes = np.random.default_rng(seed).integers(0, 2, (weeks, 1 + len(drivers)))
    found = divide(p, base, drivers, outcomes, horizon)
    today = [each for each, _ in drivers]
    assert found.value(today) == pytest.approx(p, abs=1e-9)
    # from the base rate to the answer, by hand
    steps = [w * (now - usual) for w, (now, usual) in zip(found.weights, drivers, strict=True)]
    assert base + sum(steps) + found.rest == pytest.approx(p, abs=1e-9)
    # whatever a driver is set to, the rule gives a probability, and more of a driver never makes the claim less likely
    assert found.constant >= 0 and min(found.weights) >= 0
    assert found.constant + sum(found.weights) <= 1 + 1e-9
    bounded = divide(p, base, drivers, outcomes, horizon, constant_max=CONSTANT_MAX)
    assert bounded.constant <= CONSTANT_MAX and bounded.constant + sum(bounded.weights) <= 1 + 1e-9
    if found.constant <= CONSTANT_MAX:
        assert bounded == found


def test_a_constant_is_above_its_bound_only_where_no_weights_give_the_answer() -> None:
    outcomes = table(OUTCOME, CAUSE, NOISE)
    assert divide(0.6, 0.5, [(0.5, 0.5), (0.58, 0.5)], outcomes, 5).constant <= CONSTANT_MAX
    far = divide(0.9, 0.5, [(0.5, 0.5), (0.58, 0.5)], outcomes, 5)
    assert far.constant > CONSTANT_MAX and far.value([0.5, 0.58]) == pytest.approx(0.9)
    held = divide(0.9, 0.5, [(0.5, 0.5), (0.58, 0.5)], outcomes, 5, constant_max=CONSTANT_MAX)
    assert held.value([0.5, 0.58]) < 0.9


def test_the_driver_that_goes_with_the_claim_gets_the_weight() -> None:
    fit = divide(0.5, 0.5, [(0.5, 0.5), (0.5, 0.5)], table(OUTCOME, CAUSE, NOISE), 5)
    assert fit.estimated
    assert fit.weights[0] > 0.7
    assert fit.weights[1] < 0.1


def test_a_driver_that_goes_against_the_claim_gets_nothing_rather_than_a_negative_weight() -> None:
    fit = divide(0.5, 0.5, [(0.5, 0.5), (0.9, 0.5)], table(OUTCOME, 1 - CAUSE, NOISE), 5)
    assert fit.weights[0] == pytest.approx(0, abs=1e-6)


def test_long_windows_count_less_and_pull_the_weights_together() -> None:
    short, long = (
        divide(0.5, 0.5, [(0.5, 0.5), (0.5, 0.5)], table(OUTCOME, CAUSE, NOISE), days).weights
        for days in (5, 200)
    )
    assert abs(long[0] - long[1]) < abs(short[0] - short[1])


def test_under_twelve_effective_windows_the_weights_begin_equal() -> None:
    fit = divide(0.5, 0.5, [(0.5, 0.5), (0.5, 0.5)], table(OUTCOME, CAUSE, NOISE)[:200], 100)
    assert (fit.effective_windows, fit.estimated) == (10, False)
    assert fit.weights == pytest.approx((0.5, 0.5), abs=1e-4)


def test_the_fit_minimises_what_it_says() -> None:
    today, p, days = np.array([0.55, 0.6]), 0.58, 60
    outcomes = table(OUTCOME, CAUSE, NOISE)
    fit = divide(p, 0.5, [(0.55, 0.5), (0.6, 0.5)], outcomes, days)
    centred = outcomes - outcomes.mean(axis=0)

    def loss(w: np.ndarray) -> float:
        return 5 / days * float(np.sum((centred[:, 0] - centred[:, 1:] @ w) ** 2)) + 20 * float(
            np.sum((w - 0.5) ** 2)
        )

    best = loss(np.array(fit.weights))
    for step in RNG.normal(0, 0.02, (300, 2)):
        w = np.clip(np.array(fit.weights) + step, 0, 1)
        constant = p - float(w @ today)
        if 0 <= constant <= 0.1 - 2e-5 and w.sum() + constant <= 1 - 1e-5:
            assert loss(w) >= best - 1e-3


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


def test_the_rule_gives_the_forecast_and_says_how_it_comes_about() -> None:
    text = message(
        block(ONE, 0.7, line(ONE.statement, 0.7, CAUSE)),
        block(TWO, 0.4, line(TWO.statement, 0.4, NOISE)),
    )
    result = combine(parent_record(0.62), read_children(text, [ONE, TWO]))
    reply = synthesis_reply(PARENT, result, linear=True)
    parsed = LinearReply.read(reply)
    by_hand = parsed.intercept + parsed.weights["P2"] * 0.7 + parsed.weights["P3"] * 0.4
    assert parsed.conclusion.p == pytest.approx(by_hand, abs=1e-9) == pytest.approx(0.62, abs=1e-9)
    assert "difference 0" in reply and "own share, which no driver covers" in reply
    (record,) = read_records(parsed.conclusion.report)
    assert (record.kind, record.statement, record.forecast) == ("inner", "It happens", 0.62)
    assert record.outcomes.tolist() == OUTCOME.tolist()
    assert parse_conclusion(synthesis_reply(PARENT, result, linear=False)).p == parsed.conclusion.p
    steps = [
        float(number)
        for number in re.findall(
            r"^- (?:base rate|P\d|the simulation's own share, [a-z ]+:) ([+-]?[0-9.]+)",
            reply.replace(MINUS, "-"),
            re.MULTILINE,
        )
    ]
    assert sum(steps[:4]) == pytest.approx(62.0, abs=0.03)


def test_what_no_rule_can_give_is_printed() -> None:
    text = message(block(ONE, 0.5, line(ONE.statement, 0.5, CAUSE)))
    children = read_children(text, [ONE])
    held = combine(parent_record(0.9), children, constant_max=CONSTANT_MAX)
    assert held.p == held.forecast < 0.6
    assert f"a difference of {MINUS}{100 * (0.9 - held.p):.4f} points" in synthesis_reply(
        PARENT, held, linear=True
    )
    free = combine(parent_record(0.9), children)
    assert free.p == pytest.approx(0.9) and free.intercept > CONSTANT_MAX


def test_an_edited_driver_moves_the_answer_by_its_weight() -> None:
    """Its p is taken from the message, and what its report found from its record."""

    def result(p: float) -> Combination:
        text = message(
            block(ONE, p, line(ONE.statement, 0.7, CAUSE)), block(TWO, 0.5, line(TWO.statement, 0.5, NOISE))
        )
        return combine(parent_record(0.6), read_children(text, [ONE, TWO]))

    before, after = result(0.7), result(0.2)
    assert (before.weights, before.intercept, before.forecast) == (
        after.weights,
        after.intercept,
        after.forecast,
    )
    assert before.p - after.p == pytest.approx(0.5 * before.weights["P2"]) and before.weights["P2"] > 0.3
    assert "Drivers were changed since" in synthesis_reply(PARENT, after, linear=True)
    # one level up, an edit below counts as one: the record of the node says what it was
    above = NodeRef(id="P1", statement=PARENT.statement)
    report = LinearReply.read(synthesis_reply(PARENT, after, linear=True)).conclusion.report
    (child,) = read_children(message(block(above, after.p, report)), [above])
    assert child.p == after.p and child.forecast == pytest.approx(0.6, abs=1e-9)


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
    parsed = LinearReply.read(synthesis_reply(PARENT, combine(None, read_children(text, nodes)), linear=True))
    speaks = [1 - p if negative else p for p, (_, negative) in zip(values, children, strict=True)]
    assert parsed.conclusion.p == pytest.approx(sum(speaks) / len(speaks), abs=2e-5)
    raw = parsed.intercept + sum(parsed.weights[node.id] * p for node, p in zip(nodes, values, strict=True))
    assert parsed.conclusion.p == pytest.approx(raw, abs=1e-9)
    # whatever the children turn out to be, the rule gives a probability
    low = parsed.intercept + sum(min(0.0, weight) for weight in parsed.weights.values())
    high = parsed.intercept + sum(max(0.0, weight) for weight in parsed.weights.values())
    assert low >= -1e-9 and high <= 1 + 1e-9


def test_a_child_that_is_not_shown_is_named() -> None:
    with pytest.raises(ClaimRefused, match="P3"):
        read_children(message(block(ONE, 0.5, "r")), [ONE, TWO])
