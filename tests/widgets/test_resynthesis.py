"""Full resynthesis on the page: price, old and new rule side by side, kept as one step of undo or dropped."""

import re
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.screens import RUN, visible
from workbench.engine.access.model_gateway import ModelGateway
from workbench.engine.record.fold import load_state
from workbench.errors import UsageError
from workbench.propositions.edits import RemoveNode, SetRule
from workbench.store import Store
from workbench.views.run_view import load_run
from workbench.whatif.run_edits import what_if
from workbench.widgets import background
from workbench.widgets.run_page import Dashboard


def ask(board: Dashboard) -> None:
    form = board.side_panels.resynthesis
    form.ask.click()
    assert visible(form.confirm, form.cancel, form.keep) == [True, True, False], form.line.value
    form.confirm.click()
    form.work.wait()


def test_nothing_is_asked_before_its_price_was_shown_and_nothing_counts_before_it_is_kept(
    board: Dashboard, home: Path
) -> None:
    form = board.side_panels.resynthesis
    assert form.ask.disabled, "nothing is edited"
    board.session.edit("P2.1", "0")
    before = board.session.now
    form.ask.click()
    assert "asking offline/analyst for 2 drivers (P2, P0): 2 calls" in form.line.value
    form.cancel.click()
    assert visible(form.ask, form.confirm) == [True, False] and form.line.value == ""
    ask(board)
    assert visible(form.ask, form.keep, form.drop) == [False, True, True]
    assert board.session.now is before and "2 model calls" in form.line.value
    shown = form.compared.value
    for piece in (
        'data-weight="P2.1"',
        "wider spreads count against",
        "that is association in past windows, not cause",
    ):
        assert piece in shown, piece
    assert 'data-value="0.8"' in shown and "data-side-of" in shown
    form.drop.click()
    assert board.session.now is before and form.compared.value == ""


def test_what_is_kept_is_the_answer_to_the_last_digit_undone_in_one_step_and_there_after_a_reload(
    board: Dashboard, home: Path
) -> None:
    form = board.side_panels.resynthesis
    board.session.edit("P2.1", "0")
    board.session.change([RemoveNode(node="P1.2")])
    edited = board.session.now.after
    ask(board)
    promised = float(
        re.findall(r'data-field="asked-root".*?<b[^>]*data-value="([^"]+)"', form.compared.value, re.DOTALL)[
            0
        ]
    )
    form.keep.click()
    assert board.session.now.after == promised != edited
    assert board.session.rows["P2.1"]["edited"], "a value of before is still marked as yours"
    assert [mark["name"] for mark in board.session.rows["P0"]["marks"]] == ["rule"]
    board.keeper.flush()
    again = Dashboard(load_run(home, RUN))
    assert again.session.now.after == promised
    with closing(Store(home)) as store:
        state = load_state(store, RUN)
        assert what_if(state, state.scenarios["draft"].edits).whatif.after == promised
    board.session.undo()
    assert board.session.now.after == edited
    board.session.redo()
    # Values go on being edited on the new rules, and the old value can be taken back.
    board.session.reset("P2.1")
    assert board.session.tree["P2.1"].p == 0.5 and not board.session.rows["P2.1"]["edited"]


def test_an_answer_to_other_edits_is_not_kept(board: Dashboard) -> None:
    form = board.side_panels.resynthesis
    board.session.edit("P2.1", "0")
    ask(board)
    board.session.edit("P3", "0.1")
    assert visible(form.keep, form.ask) == [False, True] and "Your edits went on" in form.line.value
    form.ask.click()
    board.session.edit("P3", "0.2")
    assert visible(form.ask, form.confirm) == [True, False], "the price was for other edits"


def test_where_there_is_no_model_a_line_says_so(board: Dashboard, monkeypatch: pytest.MonkeyPatch) -> None:
    form = board.side_panels.resynthesis
    board.session.edit("P2.1", "0")

    def none(_store: Store, _state: Any) -> ModelGateway:
        raise UsageError("OPENAI_API_KEY is not set")

    monkeypatch.setattr(background, "open_gateway", none)
    ask(board)
    assert "OPENAI_API_KEY is not set" in form.line.value and "alert" in form.line.value
    assert visible(form.ask, form.keep) == [True, False]
    rule = board.session.tree["P0"].rule
    assert rule is not None
    board.session.reset_all()
    board.session.change([SetRule(node="P0", rule=rule.to_json())])
    form.ask.click()
    assert "nothing to ask" in form.line.value
