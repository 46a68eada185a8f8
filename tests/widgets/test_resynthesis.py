"""Full resynthesis on the page: price, then old and new rules, then kept as one step of undo; nothing counts before."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.screens import RUN, agreed, asked, visible
from workbench.engine import assembly
from workbench.engine.access.model_gateway import ModelGateway
from workbench.engine.record.fold import load_state
from workbench.errors import UsageError
from workbench.store import Store
from workbench.synthesis.whatif.edits import RemoveNode
from workbench.views.run_view import load_run
from workbench.whatif.run_edits import what_if
from workbench.widgets.run_page import Dashboard


def test_nothing_is_asked_before_its_price_was_shown_and_nothing_counts_before_it_is_kept(
    board: Dashboard,
) -> None:
    form = board.side_panels.resynthesis
    assert visible(form) == [False], "nothing is edited"
    board.session.edit("P2.1", "0")
    before = board.session.now
    assert visible(form) == [True]
    assert "asking offline/analyst for P2, P0: 2 calls" in asked(form)
    shown = agreed(form)
    assert "keep this as draft?" in shown and visible(form.question) == [True]
    for piece in (
        "P2.1",
        "wider spreads count against",
        "that is association in past windows, not cause",
        "(2 model calls)",
    ):
        assert piece in shown, piece
    assert board.session.now is before
    form.forget()  # the button Not now
    assert board.session.now is before and form.answer.value == ""


def test_what_is_kept_is_the_answer_to_the_last_digit_undone_in_one_step_and_there_after_a_reload(
    board: Dashboard, home: Path
) -> None:
    form = board.side_panels.resynthesis
    board.session.edit("P2.1", "0")
    board.session.change([RemoveNode(node="P1.2")])
    edited = board.session.now.after
    asked(form)
    agreed(form)
    assert "Undo takes them back" in agreed(form)
    kept = board.session.now.after
    assert kept != edited and board.keeper.name == "draft"
    assert board.session.rows["P2.1"]["edited"], "a value of before is still marked as yours"
    assert [mark["name"] for mark in board.session.rows["P0"]["marks"]] == ["rule"]
    assert Dashboard(load_run(home, RUN)).session.now.after == kept
    with closing(Store(home)) as store:
        state = load_state(store, RUN)
        assert what_if(state, state.scenarios["draft"].edits).whatif.after == kept
    board.session.undo()
    assert board.session.now.after == edited
    board.session.redo()
    # Values go on being edited on the new rules, and the old value can be taken back.
    board.session.reset("P2.1")
    assert board.session.tree["P2.1"].p == 0.5 and not board.session.rows["P2.1"]["edited"]
    board.keeper.flush()
    assert board.keeper.name == "draft", "the page's own record is no conflict"


def test_an_answer_to_other_edits_is_not_kept(board: Dashboard) -> None:
    form = board.side_panels.resynthesis
    board.session.edit("P2.1", "0")
    asked(form)
    agreed(form)
    board.session.edit("P3", "0.1")
    assert visible(form.question) == [False] and form.answer.value == ""


def test_where_there_is_no_model_a_line_says_so(board: Dashboard, monkeypatch: pytest.MonkeyPatch) -> None:
    form = board.side_panels.resynthesis
    board.session.edit("P2.1", "0")

    def none(_store: Store, _state: Any) -> ModelGateway:
        raise UsageError("OPENAI_API_KEY is not set")

    monkeypatch.setattr(assembly, "open_gateway", none)
    asked(form)
    shown = agreed(form)
    assert "OPENAI_API_KEY is not set" in shown and "alert" in shown and not visible(form.question)[0]
