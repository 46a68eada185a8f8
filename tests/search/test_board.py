"""The source board: reactions, the last ten in context, limits and turns of grace (mini-prophet's, FEATURES H7)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.agents.errors import BadSetting
from workbench.search.base import FoundPage
from workbench.search.source_list import SourceLimits, SourceList


def result(number: int) -> FoundPage:
    return FoundPage(
        id=f"S1.{number}",
        url=f"https://x.org/{number}",
        title=f"T{number}",
        published="2024-05-01",
        text="Text.",
    )


def test_the_last_ten_are_shown_and_the_others_are_named() -> None:
    board = SourceList().add([result(n) for n in range(1, 13)])
    assert len(board.shown) == 10 and "2 earlier sources are not shown: S1.1, S1.2" in board.text()
    assert (
        "S1.3 (unknown, 2024-05-01; your reaction: no reaction yet)" in board.text()
        and "T2\n" not in board.text()
    )


def test_a_reaction_stays_with_its_source_and_a_later_one_replaces_it() -> None:
    board = SourceList().add([result(1), result(2)]).react("S1.1", "--", "says the\nopposite")
    assert "your reaction: -- says the opposite" in board.text()
    assert board.react("S1.1", "+").entries[0].reaction == "+" and board.entries[0].reaction == "--"
    assert [e.reaction for e in board.add([result(1), result(3)]).entries] == ["--", None, None]
    for id, reaction in (("S9.9", "+"), ("S1.1", "+++")):
        with pytest.raises(BadSetting):
            board.react(id, reaction)


def test_limits_are_mini_prophets() -> None:
    limits = SourceLimits()
    assert (limits.steps, limits.searches, limits.usd, limits.shown, limits.grace_turns) == (
        30,
        10,
        3.0,
        10,
        3,
    )
    board = SourceList()
    for _ in range(10):
        assert board.may_search
        board = board.add([])
    assert not board.may_search and not board.must_submit


@given(st.integers(1, 40), st.integers(0, 5), st.floats(0, 0.5))
def test_after_a_limit_there_are_as_many_turns_as_grace_allows(steps: int, grace: int, price: float) -> None:
    board = SourceList(limits=SourceLimits(steps=steps, grace_turns=grace))
    turns = 0
    while not board.is_over:
        assert board.may_search != board.must_submit
        board = board.turn(price)
        turns += 1
        assert turns <= steps + grace
    assert turns == steps + grace or board.usd >= 3.0


def test_a_price_that_is_unknown_counts_as_nothing() -> None:
    assert SourceList().turn(None).usd == 0 and SourceList().turn(3.0).must_submit
