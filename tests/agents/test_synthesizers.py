"""The synthesizers: the computed value is stored, everything that does not fit is asked again."""

from dataclasses import replace
from typing import Any

import pytest

from tests.agents.scripted import CUTOFF, Call, ScriptedAsker
from tests.fakes.model_policy import fenced, report_with
from workbench.agents.base import AgentSettings
from workbench.agents.errors import AgentGaveUp
from workbench.agents.findings.statement_checks import STOOD_BY, stood_by_finding
from workbench.agents.registry import open_synthesizer
from workbench.engine.run_settings import PRESETS
from workbench.propositions import Belief, Polarity, Proposition, Rule
from workbench.synthesis import LinearRule

REPORT = 'Found in cell 3.\n{"outcomes": "0110", "kind": "reference"}\n\nNot <report of="P9"> a tag.'
NODE = Proposition(
    id="P1",
    statement="Rates fall by 2019-01-01",
    children=("P1.1", "P1.2"),
    causality="Growth slows (P1.1, Positive); inflation rises (P1.2, Negative)",
    polarities={"P1.1": Polarity.POSITIVE, "P1.2": Polarity.NEGATIVE},
)
CHILDREN = (
    Proposition(
        id="P1.1",
        statement="Growth is below 2 percent in 2018",
        belief=Belief(p=0.7, key_factor="orders", report=REPORT),
    ),
    Proposition(
        id="P1.2", statement="Core inflation is above 2.5 percent in 2018", belief=Belief(p=0.25, report="")
    ),
)
GOOD = {"beta_0": 0.05, "P1.1": 0.8, "P1.2": -0.4}  # 0.05 + 0.56 - 0.1 = 0.51


def linear(beta: dict[str, Any], p: float) -> str:
    return report_with({"beta": beta, "p_true": p, "key_factor": "growth"}, "P1")


async def synthesize(name: str, *replies: Any, **settings: Any) -> tuple[Rule, Belief, list[Call]]:
    ask = ScriptedAsker(*replies)
    agent = open_synthesizer(name, AgentSettings(**settings))
    rule, belief = await agent.synthesize(NODE, CHILDREN, cutoff=CUTOFF, ask=ask)
    assert not ask.replies
    return rule, belief, ask.calls


async def test_linear_stores_the_computed_value() -> None:
    rule, belief, calls = await synthesize("linear", linear(GOOD, 0.5))
    assert rule.to_json() == {
        "name": "linear",
        "intercept": 0.05,
        "weights": {"P1.1": 0.8, "P1.2": -0.4},
    }
    assert belief.p == pytest.approx(0.51)
    assert (belief.key_factor, belief.report) == ("growth", "Report on P1: weighed as the numbers say.")
    assert [call.address for call in calls] == [("linear", 0, 0)]


async def test_the_prompt_holds_children_with_polarity_p_and_full_report() -> None:
    _, _, (call,) = await synthesize("linear", linear(GOOD, 0.51))
    text = call.last_user
    assert "P1: Rates fall by 2019-01-01" in text
    assert "P1.1 (Positive): Growth is below 2 percent in 2018\np = 0.7\nKey factor: orders" in text
    assert f'<report of="P1.1">\n{REPORT}\n</report>' in text
    assert "P1.2 (Negative): Core inflation is above 2.5 percent in 2018\np = 0.25" in text
    assert NODE.causality in text
    assert '"beta_0": b0, "P1.1": w, "P1.2": w' in text
    assert [node.id for node in call.request.nodes] == ["P1", "P1.1", "P1.2"]
    assert [turn.role for turn in call.request.messages] == ["system", "user"]
    assert call.request.tools == ()


@pytest.mark.parametrize(
    ("beta", "p", "why"),
    [
        ({**GOOD, "P1.1": -0.1}, 0.1, "P1.1 is stated as Positive but weighs -0.1"),
        ({**GOOD, "P1.1": 1.2}, 0.79, "the weight of P1.1 is 1.2"),
        ({"beta_0": 0.05, "P1.1": 0.5}, 0.4, "no weight for P1.2"),
        ({**GOOD, "P1.3": 0.1}, 0.51, "P1.3"),
        ({"beta_0": -0.1, "P1.1": 0.1, "P1.2": -0.5}, 0.0, "gives -0.155 at"),
    ],
)
async def test_linear_rules_that_do_not_fit_are_asked_again(beta: dict[str, Any], p: float, why: str) -> None:
    _, belief, calls = await synthesize("linear", linear(beta, p), linear(GOOD, 0.51))
    assert belief.p == pytest.approx(0.51)
    assert why in calls[1].last_user.splitlines()[0]
    assert [call.address for call in calls] == [("linear", 0, 0), ("linear", 0, 1)]
    assert calls[1].request.messages[2].content == linear(beta, p)
    # the repeated ask is complete in itself
    assert "- P1.1 (Positive), p = 0.7: Growth is below 2 percent in 2018" in calls[1].last_user


@pytest.mark.parametrize(
    ("beta", "p"),
    [({"beta_0": 0.0, "P1.1": 0.3, "P1.2": 0.6}, 0.66), ({"beta_0": 0.6, "P1.1": 0.3, "P1.2": -0.6}, 0.66)],
    ids=["through the negation", "signed"],
)
async def test_both_forms_of_the_weights_are_read_and_stored_signed(beta: dict[str, Any], p: float) -> None:
    rule, belief, calls = await synthesize("linear", linear(beta, p))
    assert rule.to_json() == {"name": "linear", "intercept": 0.6, "weights": {"P1.1": 0.3, "P1.2": -0.6}}
    assert belief.p == pytest.approx(0.66)
    assert "p(P1) = b0 + w1 × p(P1.1) + w2 × (1 − p(P1.2))" in calls[0].last_user


@pytest.mark.parametrize("b0", [0.1, -0.1])
async def test_the_intercept_bound_is_inclusive(b0: float) -> None:
    through_negation = {"beta_0": b0, "P1.1": 0.6, "P1.2": 0.3}
    rule, _, _ = await synthesize("linear", linear(through_negation, b0 + 0.645))
    assert rule.to_json()["intercept"] == pytest.approx(b0 + 0.3)
    rule, _, _ = await synthesize("linear", linear({**GOOD, "beta_0": b0}, b0 + 0.46))
    assert rule.to_json()["intercept"] == b0


@pytest.mark.parametrize("stated", [0.53, 0.49])
async def test_the_stated_value_may_be_off_by_the_tolerance_inclusive(stated: float) -> None:
    _, belief, _ = await synthesize("linear", linear(GOOD, stated))
    assert belief.p == pytest.approx(0.51)


GREAT = {"beta_0": 0.3, "P1.1": 0.3, "P1.2": 0.2}  # 0.3 + 0.21 + 0.2 * 0.75 = 0.66; reaches 0.3 to 0.8


async def test_a_constant_above_its_bound_is_shown_once_and_kept_if_the_model_stands_by_it() -> None:
    rule, belief, calls = await synthesize("linear", linear(GREAT, 0.66), linear(GREAT, 0.66))
    assert [call.address for call in calls] == [("linear", 0, 0), ("linear", 1, 0)]
    shown = calls[1].last_user
    assert "p(P1) = 0.30 + 0.30 × P1.1 + 0.20 × (1 − P1.2)" in shown
    assert "it reaches from 0.3 to 0.8" in shown and "it may be at most 0.1" in shown
    assert belief.p == pytest.approx(0.66) and rule.to_json()["intercept"] == pytest.approx(0.5)
    assert "stands by it" in belief.report and "the constant is 0.3" in belief.report
    assert any(
        "0.3 is above 0.1" in line for line in LinearRule(0.5, {"P1.1": 0.31, "P1.2": -0.2}).warnings()
    )


async def test_other_numbers_after_the_second_look_leave_no_note() -> None:
    better = {"beta_0": 0.05, "P1.1": 0.5, "P1.2": 0.4}
    rule, belief, _ = await synthesize("linear", linear(GREAT, 0.66), linear(better, 0.7))
    assert rule.to_json()["intercept"] == pytest.approx(0.45)
    assert belief.report == "Report on P1: weighed as the numbers say."


async def test_a_stated_value_that_the_weights_do_not_give_is_shown_once_and_stays_on_record() -> None:
    _, belief, calls = await synthesize("linear", linear(GOOD, 0.54), linear(GOOD, 0.95))
    assert '"p_true" is stated as 0.54, but the numbers give 0.51.' in calls[1].last_user
    assert belief.p == pytest.approx(0.51)
    assert "stated as 0.95, but the numbers give 0.51; no probabilities of the children give 0.95" in (
        belief.report
    )
    assert len(calls) == 2


@pytest.mark.parametrize(
    ("beta", "p", "why"),
    [
        (GREAT, 0.66, "the constant is 0.3"),
        ({**GOOD, "beta_0": -0.11}, 0.35, "the intercept is -0.11"),
        (GOOD, 0.54, '"p_true" is stated as 0.54, but your own numbers give 0.51'),
    ],
)
async def test_the_paper_lets_no_model_stand_by_a_fault(beta: dict[str, Any], p: float, why: str) -> None:
    paper = PRESETS["analytica-paper"]["agent"]
    ask = ScriptedAsker(linear(beta, p), linear(beta, p + 0.001), linear(beta, p + 0.002), linear(GOOD, 0.51))
    agent = open_synthesizer("linear", AgentSettings(**paper))
    _, belief = await agent.synthesize(NODE, CHILDREN, cutoff=CUTOFF, ask=ask)
    assert belief.p == pytest.approx(0.51)
    assert why in ask.calls[1].last_user.splitlines()[0]
    assert [call.address for call in ask.calls] == [("linear", 0, retry) for retry in range(4)]


async def test_a_synthesizer_gives_up_after_three_more_asks() -> None:
    replies = [linear({**GOOD, "P1.1": 1.5}, 0.9 + n / 1000) for n in range(4)]
    with pytest.raises(AgentGaveUp, match=r"linear reply stayed unusable: the weight of P1\.1 is 1\.5"):
        await open_synthesizer("linear").synthesize(
            NODE, CHILDREN, cutoff=CUTOFF, ask=ScriptedAsker(*replies)
        )


async def test_children_without_a_value_are_a_mistake_of_the_caller() -> None:
    bare = [Proposition(id="P1.1", statement="a")]
    with pytest.raises(ValueError, match="P1 cannot be synthesized before"):
        await open_synthesizer("linear").synthesize(NODE, bare, cutoff=CUTOFF, ask=ScriptedAsker())


async def test_vanilla_takes_the_stated_value() -> None:
    bad = fenced({"p_true": 2, "key_factor": ""})
    rule, belief, calls = await synthesize(
        "vanilla", bad, report_with({"p_true": 0.4, "key_factor": "k"}, "P1")
    )
    assert (rule.name, belief.p) == ("vanilla", 0.4)
    assert [call.address for call in calls] == [("vanilla", 0, 0), ("vanilla", 0, 1)]


async def test_a_vanilla_synthesis_is_held_to_what_its_children_showed() -> None:
    """Its accounting is looked up in their reports as a leaf's is in its cells: sent back once, then taken and marked."""
    made_up = {"p_true": 0.41, "key_factor": "k", "base_rate": 0.4137, "n": 88}
    told = "base_rate 0.4137, n 88 stand in no report of a proposition below"
    _, belief, calls = await synthesize(
        "vanilla", report_with(made_up, "P1"), report_with({**made_up, "base_rate": None, "n": None}, "P1")
    )
    assert belief.p == 0.41 and STOOD_BY not in belief.report
    assert [call.address for call in calls] == [("vanilla", 0, 0), ("vanilla", 0, 1)] and told in calls[
        1
    ].last_user
    _, belief, calls = await synthesize("vanilla", *[report_with(made_up, "P1")] * 2)
    assert len(calls) == 2 and STOOD_BY in belief.report and told in belief.report
    finding = stood_by_finding(replace(NODE, belief=belief, children=tuple(child.id for child in CHILDREN)))
    assert finding is not None and told in finding.words
    # what a child showed may be accounted with, and the paper's preset looks at none of it
    shown = {"p_true": 0.41, "key_factor": "k", "base_rate": CHILDREN[0].p}
    _, belief, calls = await synthesize("vanilla", report_with(shown, "P1"))
    assert len(calls) == 1 and STOOD_BY not in belief.report
    _, belief, calls = await synthesize("vanilla", report_with(made_up, "P1"), critic=False)
    assert len(calls) == 1 and STOOD_BY not in belief.report


async def test_logic_computes_the_value_of_the_formula() -> None:

    def reply(formula: str, assumption: Any = None) -> str:
        return report_with({"formula": formula, "assumption": assumption, "key_factor": "k"}, "P1")

    pa = {"detail": "a shock", "probability": 0.1}
    broken, stray = reply("(P1.1 AND"), reply("P1.1 AND NOT P1.2 AND P7")
    rule, belief, calls = await synthesize("logic", broken, stray, reply("(P1.1 AND NOT P1.2) OR PA", pa))
    assert rule.to_json()["assumption"] == pa
    assert belief.p == pytest.approx(1 - (1 - 0.7 * 0.75) * 0.9)
    assert len(calls) == 3
    assert "P7" in calls[2].last_user.splitlines()[0]


@pytest.mark.parametrize(
    ("formula", "why"),
    [("P1.1", "leaves out P1.2"), ("P1.1 AND P1.2 AND PA", "needs an assumption"), ("P1.1 AND _", "_")],
)
async def test_logic_formulas_that_do_not_fit_are_asked_again(formula: str, why: str) -> None:
    good = report_with({"formula": "P1.1 AND NOT P1.2", "assumption": None, "key_factor": "k"}, "P1")
    bad = report_with({"formula": formula, "assumption": None, "key_factor": "k"}, "P1")
    _, belief, calls = await synthesize("logic", bad, good)
    assert why in calls[1].last_user.splitlines()[0]
    assert belief.p == pytest.approx(0.7 * 0.75)


async def test_the_paper_wants_an_assumption_in_every_formula() -> None:
    good = report_with({"formula": "P1.1 AND NOT P1.2", "assumption": None, "key_factor": "k"}, "P1")
    with pytest.raises(AgentGaveUp, match="PA"):
        await synthesize("logic", *[good] * 4, require_pa=True)


async def test_noisy_or_computes_the_value_and_follows_the_polarities() -> None:

    def reply(weights: Any, inhibitors: Any, p: float) -> str:
        data = {"leak": 0.1, "weights": weights, "inhibitors": inhibitors, "p_true": p, "key_factor": "k"}
        return report_with(data, "P1")

    value = (1 - 0.9 * (1 - 0.5 * 0.7)) * (1 - 0.4 * 0.25)
    rule, belief, calls = await synthesize(
        "noisy-or",
        reply({"P1.1": 0.5, "P1.2": 0.4}, {}, 0.4),
        reply({"P1.1": 0.5}, {}, 0.4),
        reply({"P1.1": 0.5}, {"P1.2": 0.4}, value + 0.1),
        reply({"P1.1": 0.5}, {"P1.2": 0.4}, round(value, 3)),
    )
    assert rule.to_json()["inhibitors"] == {"P1.2": 0.4}
    assert belief.p == pytest.approx(value)
    reasons = [call.last_user.splitlines()[0] for call in calls[1:]]
    assert "P1.2 is stated as Negative but weighs" in reasons[0]
    assert "no weight for P1.2" in reasons[1]
    assert reasons[2] == "Your numbers were read as"
