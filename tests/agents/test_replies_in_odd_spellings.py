"""Replies in spellings that leave no doubt are read, and a complaint names the slip where one does."""

import json

import pytest

from tests.agents.scripted import CUTOFF, ScriptedAsker
from tests.fakes.model_policy import fenced
from workbench.agents.analyzers.rounds import RoundsAnalyzer
from workbench.agents.errors import MalformedReply
from workbench.agents.findings.check_table import RunKind
from workbench.agents.findings.statement_checks import (
    TreeStatement,
    findings_by_node,
    rule_finding,
    statement_findings,
)
from workbench.agents.replies.analysis_reply import LONGEST_STATEMENT, parse_analysis
from workbench.agents.replies.stage_replies import parse_conclusion, parse_step
from workbench.agents.synthesizers.child_blocks import LONGEST_KEY_FACTOR, LONGEST_REPORT, child_block
from workbench.propositions import Belief, Polarity, Tree
from workbench.synthesis import LinearRule

LAST_DAY = CUTOFF.last_visible_day
CLAIM = "The S&P 500 closes higher on 2018-12-31 than on 2018-06-29"
GOOD = "The VIX closes above 20 on 2018-12-31"


def test_tags_are_read_in_any_case() -> None:
    step = parse_step("<Markdown_Cell>\nA.\n</MARKDOWN_CELL>\n<PYTHON_CELL>\nprint(1)\n</Python_Cell>")
    assert [(cell.kind, cell.source) for cell in step.cells] == [("markdown", "A."), ("code", "print(1)")]
    assert parse_analysis("<end_of_analysis>").end and parse_step("<terminate_notebook>").end


def test_the_final_channel_of_harmony_is_the_reply() -> None:
    thought = '```json\n{"p_true": 0.05, "key_factor": "t"}\n```'
    said = '```json\n{"p_true": 0.62, "key_factor": "k"}\n```'
    text = f"<|channel|>analysis<|message|>{thought}<|end|><|start|>assistant<|channel|>final<|message|>{said}<|return|>"
    assert parse_conclusion(text).p == 0.62


@pytest.mark.parametrize("p", ["0,62", '"0,62"', '"0,62 %"'])
def test_a_decimal_comma_is_named(p: str) -> None:
    with pytest.raises(MalformedReply, match=r"decimal point: 0\.62, not 0,62"):
        parse_conclusion(f'```json\n{{"p_true": {p}, "key_factor": "k"}}\n```')


def group(*statements: str, polarity: str = "Positive", note: str = "") -> str:
    children = {f"P{n}": {"statement": text, "polarity": polarity} for n, text in enumerate(statements, 1)}
    causality = note or " ".join(f"({child}, {polarity})." for child in children)
    return fenced([{"parent": "P0", "children": children, "causality": causality}])


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        (f"{GOOD} " + "and so on " * 40, f"{LONGEST_STATEMENT} at most"),
        (f"{GOOD}\n# Heading", "one line"),
        (f"{GOOD} \x1b[31mred", "one line"),
        (f"{GOOD} <img src=x onerror=alert(1)>", "tags or fences"),
        (f"{GOOD} </python_cell>", "tags or fences"),
        (f"{GOOD} ```json", "tags or fences"),
        (f"{GOOD} <|im_end|>", "tags or fences"),
    ],
)
def test_a_statement_is_one_plain_line(statement: str, fault: str) -> None:
    with pytest.raises(MalformedReply, match=fault):
        parse_analysis(group(statement))


def test_an_honest_statement_may_hold_signs() -> None:
    text = "Net debt / EBITDA < 3 & P(VIX > 20) <= 5 % by 2018-12-31"
    assert parse_analysis(group(text)).expansions[0].children["P1"] == text


def test_a_polarity_that_contradicts_its_note_is_sent_back() -> None:
    with pytest.raises(MalformedReply, match="P1 is Negative by its polarity and Positive in the causality"):
        parse_analysis(group(GOOD, polarity="Negative", note="Helps (P1, Positive)."))


def grown(*statements: str) -> Tree:
    children = {f"P{n}": text for n, text in enumerate(statements, 1)}
    return Tree.root_only(CLAIM).expand("P0", children, dict.fromkeys(children, Polarity.POSITIVE))


def test_screens_show_what_a_model_stood_by() -> None:
    tree = grown(
        "The S&P 500 closed above 2500 on 2018-01-02", "It goes up", "The VIX will close above 20 on 2018-12-31", GOOD,
        "The S&P 500 does not close higher on 2018-12-31 than on 2018-06-29",
    )  # fmt: skip
    by_node = findings_by_node(tree, LAST_DAY, RunKind())
    found = [(node, item.check) for node, findings in by_node for item in findings]
    assert found == [
        ("P1", "settled before the cutoff"), ("P2", "undated"), ("P4", "repeats another"), ("P5", "repeats another"),
    ]  # fmt: skip
    assert not any(findings for _, findings in findings_by_node(grown(GOOD), LAST_DAY, RunKind()))


@pytest.mark.parametrize(
    ("statement", "settled"),
    [
        ("The S&P 500 closed above 2500 on 2018-01-02", True),
        ("US unemployment was below 4 % in May 2018", True),
        ("By March 3, 2018 the bill passes", True),
        (CLAIM, False),
        ("The S&P 500 stays above its close of 2018-06-29", False),
        ("Rates fall in 2018", False),
        ("Since 2010 the index has risen in most years", False),
        ("In past cases before 2018-01-02 the index rose", False),
    ],
)
def test_a_child_is_settled_where_its_last_day_is_over(statement: str, settled: bool) -> None:
    names = [item.check for item in statement_findings(TreeStatement(statement, {}, LAST_DAY), RunKind())]
    assert ("settled before the cutoff" in names) == settled


def test_weights_that_are_all_zero_are_a_finding() -> None:
    tree = grown(GOOD, "Oil closes above 80 dollars on 2018-12-31")
    flat = tree.with_rule(
        "P0", LinearRule(0.0, {"P1": 0.0, "P2": 0.0}), Belief(p=0.0, key_factor="", report="")
    )
    found = rule_finding(flat["P0"])
    assert found is not None and "all zero" in found.words
    sound = tree.with_rule(
        "P0", LinearRule(0.0, {"P1": 0.5, "P2": 0.4}), Belief(p=0.4, key_factor="", report="")
    )
    assert rule_finding(sound["P0"]) is None and rule_finding(tree["P0"]) is None


def test_a_child_takes_no_more_of_its_parents_prompt_than_it_may() -> None:
    tree = grown(GOOD)
    tree = tree.with_belief("P1", Belief(p=0.5, key_factor="k " * 50_000, report="So it is. " * 100_000))
    block = child_block(tree["P0"], tree["P1"])
    assert len(block) < LONGEST_REPORT + LONGEST_KEY_FACTOR + 500
    assert "more characters stand in the evidence of P1" in block


async def test_an_end_after_a_criticism_lets_the_first_tree_stand() -> None:
    """It ended the run as unusable: "the tree is still the root alone"."""
    ask = ScriptedAsker(group("It goes up", GOOD), "<END_OF_ANALYSIS>", "<END_OF_ANALYSIS>")
    rounds: list[Tree] = []

    async def on_round(tree: Tree) -> None:
        rounds.append(tree)

    tree = await RoundsAnalyzer().analyze(Tree.root_only(CLAIM), cutoff=CUTOFF, ask=ask, on_round=on_round)
    assert list(tree.leaves()) == ["P1", "P2"]
    assert "names no date" in ask.calls[1].last_user and len(rounds) == 1


def test_json_is_untouched_by_the_reading_of_tags() -> None:
    said = {"p_true": 0.5, "key_factor": "see <PYTHON_CELL> 2"}
    assert parse_conclusion(f"Report.\n\n```json\n{json.dumps(said)}\n```").p == 0.5
