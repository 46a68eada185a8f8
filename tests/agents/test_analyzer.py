"""The analyzer's rounds: growth, refusals that go back to the model, the leaf cap, the end."""

from typing import Any

import pytest

from tests.agents.scripted import CUTOFF, ScriptedAsker, no_rounds
from tests.fakes.model_policy import Plan, analysis_block
from workbench.agents.analyzers.rounds import RoundsAnalyzer
from workbench.agents.base import AgentSettings
from workbench.agents.errors import AgentGaveUp
from workbench.models.errors import ModelUnavailable
from workbench.propositions import Polarity, Tree

ROOT = "Rates fall by 2019-01-01"
END = "All can be settled now.\n<END_OF_ANALYSIS>"


def children(parent: str, count: int, *, word: str = "statement", sign: str = "Positive") -> Plan:
    prefix = "P" if parent == "P0" else f"{parent}."
    return {parent: {f"{prefix}{n}": (f"{word} {n} below {parent}", sign) for n in range(1, count + 1)}}


async def analyze(*replies: Any, **settings: Any) -> tuple[Tree, ScriptedAsker, list[Tree]]:
    ask = ScriptedAsker(*replies)
    rounds, on_round = no_rounds()
    # the statements of these scripts are bare words: the critic has tests of its own
    analyzer = RoundsAnalyzer(AgentSettings(**{"critic": False, **settings}))
    tree = await analyzer.analyze(Tree.root_only(ROOT), cutoff=CUTOFF, ask=ask, on_round=on_round)
    assert not ask.replies, "a scripted reply was never asked for"
    return tree, ask, rounds


async def test_tree_grows_round_by_round_until_the_end_tag() -> None:
    first = analysis_block(children("P0", 2))
    second = analysis_block({**children("P1", 2, sign="Negative"), **children("P2", 2)})
    tree, ask, rounds = await analyze(first, second, END)
    assert tree.ids() == ("P0", "P1", "P1.1", "P1.2", "P2", "P2.1", "P2.2")
    assert tree["P1"].polarities == {"P1.1": Polarity.NEGATIVE, "P1.2": Polarity.NEGATIVE}
    assert "(P1.1, Negative)" in tree["P1"].causality
    assert [len(one) for one in rounds] == [3, 7]
    assert ask.addresses == [("analyze", 0, 0), ("analyze", 1, 0), ("analyze", 2, 0)]


async def test_replies_return_verbatim_and_the_last_message_shows_the_whole_tree() -> None:
    first = "Thoughts first.\n" + analysis_block(children("P0", 2))
    _, ask, _ = await analyze(first, END)
    turns = ask.calls[1].request.messages
    assert [turn.role for turn in turns] == ["system", "user", "assistant", "user"]
    assert turns[2].content == first
    assert "- P0: Rates fall by 2019-01-01\n  - P1: statement 1 below P0" in turns[3].content
    assert [node.id for node in ask.calls[1].request.nodes] == ["P0", "P1", "P2"]


@pytest.mark.parametrize(
    ("plan", "why"),
    [
        (children("P7", 2), "P7"),
        ({"P0": {"P1.1": ("a", "Positive")}}, "P1.1"),
        ({"P0": {"P1": ("same words", "Positive"), "P2": ("same  words", "Positive")}}, "P2"),
        ({"P0": {"P1": (ROOT, "Positive")}}, "P1"),
        ({"P0": {"P0": ("a", "Positive")}}, "P0"),
        ({"P0": {"Q1": ("a", "Positive"), "P1": ("b", "Positive")}}, "Q1"),
        ({"P0": {"P1": ("a", "Perhaps")}}, "polarity"),
    ],
)
async def test_invalid_expansions_are_asked_again_and_nothing_of_them_is_kept(plan: Plan, why: str) -> None:
    tree, ask, rounds = await analyze(analysis_block(plan), analysis_block(children("P0", 2)), END)
    assert tree.ids() == ("P0", "P1", "P2")
    assert len(rounds) == 1
    again = ask.calls[1]
    assert again.address == ("analyze", 0, 1)
    assert again.last_user.startswith("Your last reply could not be used: ")
    assert why in again.last_user.splitlines()[0]


async def test_expanding_an_inner_node_again_is_refused() -> None:
    first = analysis_block(children("P0", 2))
    _, ask, _ = await analyze(first, analysis_block(children("P0", 3, word="other")), END)
    assert "P0 has children already" in ask.calls[2].last_user


async def test_end_before_any_child_is_refused() -> None:
    tree, ask, _ = await analyze(END, analysis_block(children("P0", 2)), END)
    assert len(tree) == 3
    assert "still the root alone" in ask.calls[1].last_user


async def test_a_claim_whose_drivers_were_measured_and_found_without_a_link_stands_alone() -> None:
    alone = '```json\n{"expansions": [], "end": true, "alone": "No driver was found."}\n```'
    tree, ask, _ = await analyze(alone)
    assert tree.ids() == ("P0",) and tree.root.analysis == "No driver was found." and len(ask.calls) == 1


async def test_gives_up_after_three_more_asks_and_names_the_reason() -> None:
    ask = ScriptedAsker("no", "still no", "never", "```json\n[\n```")
    rounds, on_round = no_rounds()
    with pytest.raises(AgentGaveUp, match="analyze reply stayed unusable") as caught:
        await RoundsAnalyzer(AgentSettings(critic=False)).analyze(
            Tree.root_only(ROOT), cutoff=CUTOFF, ask=ask, on_round=on_round
        )
    assert caught.value.stage == "analyze"
    assert "JSON cannot be read" in caught.value.reason
    assert ask.addresses == [("analyze", 0, retry) for retry in range(4)]
    assert rounds == []


async def test_leaf_cap_may_be_passed_in_the_last_round_but_not_doubled() -> None:
    wide = analysis_block({**children("P1", 4), **children("P2", 4)})
    wider = analysis_block({**children("P1", 5), **children("P2", 5), **children("P3", 5)})
    tree, ask, _ = await analyze(analysis_block(children("P0", 3)), wider, wide, max_leaves=5)
    assert len(tree.leaves()) == 9
    assert "would have 15 leaves" in ask.calls[2].last_user
    assert "10 are the most there can be" in ask.calls[2].last_user


async def test_stops_at_the_limit_of_rounds() -> None:
    tree, ask, _ = await analyze(
        analysis_block(children("P0", 2)), analysis_block(children("P1", 2)), max_analyzer_rounds=2
    )
    assert len(tree) == 5
    assert len(ask.calls) == 2


async def test_end_tag_beside_a_block_is_ignored_and_said_so() -> None:
    tree, ask, _ = await analyze(analysis_block(children("P0", 2)) + "\n<END_OF_ANALYSIS>", END)
    assert len(tree) == 3
    assert ask.calls[1].last_user.startswith("<END_OF_ANALYSIS> was ignored")


async def test_model_errors_pass_and_rounds_before_are_reported() -> None:
    ask = ScriptedAsker(analysis_block(children("P0", 2)), ModelUnavailable("down"))
    rounds, on_round = no_rounds()
    with pytest.raises(ModelUnavailable):
        await RoundsAnalyzer(AgentSettings(critic=False)).analyze(
            Tree.root_only(ROOT), cutoff=CUTOFF, ask=ask, on_round=on_round
        )
    assert [len(one) for one in rounds] == [3]


async def test_a_tool_call_is_an_unusable_reply() -> None:
    from tests.agents.scripted import doc_call

    tree, ask, _ = await analyze(doc_call("a/b"), analysis_block(children("P0", 2)), END)
    assert len(tree) == 3
    assert ask.calls[0].request.tools == ()
    assert ask.calls[1].address == ("analyze", 0, 1)
    assert "answer in text" in ask.calls[1].last_user
