"""What the page offers below a proposition: ground again, refit, rule, report, notes; each one goes on record as the command line's."""

import json
import threading
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import ipywidgets
import pytest

from tests.command_line import run_cli
from tests.fakes.screens import RUN, demo_tree, is_hidden
from workbench.engine.detached import Detached
from workbench.engine.record.fold import load_state
from workbench.engine.record.run_files import put_tree
from workbench.errors import UsageError
from workbench.store import Store
from workbench.store import events as ev
from workbench.synthesis import AverageRule, LinearRule, settle
from workbench.views.run_view import load_run
from workbench.widgets.edits import node_actions as refitting
from workbench.widgets.edits import node_actions as regrounding
from workbench.widgets.home_page import Home
from workbench.widgets.run_page import Dashboard


@pytest.fixture
def board(home: Path) -> Dashboard:
    return Dashboard(load_run(home, RUN))


OTHER = "20180630-130000-abcd"


def events(home: Path, *kinds: str) -> list[Any]:
    with closing(Store(home)) as store:
        return [stored.event for stored in store.events(RUN, kinds=kinds)]


def test_a_button_pressed_on_what_a_form_shows_already_is_no_edit(board: Dashboard) -> None:
    tree = settle(demo_tree().with_rule("P0", LinearRule(0.1, {"P1": 1 / 3, "P2": 0.25, "P3": 0.2})))
    board.session.rebase(tree, {})
    for node, buttons in (
        ("P1", ("reword", "weigh", "set_rule", "set_report")),
        ("P2.1", ("turn", "set_report")),
    ):
        board.tree.selected = node
        form = board.side_panels.form
        for button in buttons:
            getattr(form, button).click()
            assert "nothing was changed" in form.line.value, (node, button)
    assert board.session.edits == () and not board.session.can_undo
    # the same buttons after a change
    board.tree.selected = "P1"
    form.weight.value = "0.3333"
    form.weigh.click()
    assert form.line.value == "" and len(board.session.edits) == 1


def visible(*widgets: ipywidgets.Widget) -> list[bool]:
    return [not is_hidden(widget) for widget in widgets]


@pytest.fixture
def resumed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, tuple[str, ...]]]:
    """Runs for which a process would have been started, each with the leaves it is kept to."""
    runs: list[tuple[str, tuple[str, ...]]] = []

    def resume(store: Store, run_id: str, *, leaves: Sequence[str] = (), **_: Any) -> Detached:
        runs.append((run_id, tuple(leaves)))
        return Detached(pid=1)

    monkeypatch.setattr(regrounding, "resume_detached", resume)
    return runs


def test_a_leaf_is_grounded_again_only_after_its_price_was_shown(
    board: Dashboard, home: Path, resumed: list[Any]
) -> None:
    form = board.side_panels.regrounding
    board.tree.selected = "P2"
    assert not visible(form)[0], "an inner proposition is not grounded"
    board.tree.selected = "P2.1"
    assert visible(form, form.ask, form.confirm) == [True, True, False]
    form.ask.click()
    assert (
        "evidence for P2.1 again: about" in form.line.value
        and "recomputed by the stored rules" in form.line.value
    )
    assert not events(home, "leaf.reopened") and resumed == []
    form.cancel.click()
    assert visible(form.ask, form.confirm) == [True, False]
    form.ask.click()
    board.side_panels.author.value, form.why.value = "Ann", "the VIX has moved"
    form.confirm.click()
    (event,) = events(home, "leaf.reopened")
    assert (event.node, event.author, event.reason, event.resynthesis) == (
        "P2.1",
        "Ann",
        "the VIX has moved",
        "numeric",
    )
    assert resumed == [(RUN, ("P2.1",))]
    board.look()
    assert (
        "50.0%" in board.side_panels.regrounding.earlier.value
        and "the VIX has moved" in board.side_panels.regrounding.earlier.value
    )
    assert board.session.base["P2.1"].p == 0.5, "the old value stands until the new is in"
    board.poller.stop()


def test_a_failed_leaf_is_tried_again(home: Path, resumed: list[Any]) -> None:
    with closing(Store(home)) as store:
        store.append(OTHER, ev.RunStarted(**events(home, "run.started")[0].model_dump(exclude={"kind"})))
        tree = demo_tree()
        bare = tree.with_propositions([replace(node, belief=None, rule=None) for node in tree.propositions()])
        store.append(OTHER, ev.TreePlanned(tree=put_tree(store, bare)))
        store.append(OTHER, ev.LeafStarted(node="P2.1", trial=1, attempt=1))
        store.append(
            OTHER,
            ev.LeafFailed(node="P2.1", trial=1, attempt=1, reason="no proof could be read", final=True),
        )
        store.append(OTHER, ev.RunStopped(why="failure", detail="P2.1 failed for good"))
    board = Dashboard(load_run(home, OTHER))
    board.tree.selected = "P2.1"
    form = board.side_panels.regrounding
    assert visible(form, form.retry, form.ask) == [True, True, False]
    form.retry.click()
    assert resumed == [] and "trying P2.1: about" in form.line.value
    assert "left as they are" in form.line.value
    assert visible(form.retry, form.try_now, form.cancel) == [False, True, True]
    form.cancel.click()
    assert visible(form.retry, form.try_now) == [True, False]
    form.retry.click()
    form.try_now.click()
    assert resumed == [(OTHER, ("P2.1",))]
    board.poller.stop()


def test_a_failed_synthesis_is_tried_again_alone(home: Path, resumed: list[Any]) -> None:
    tree = demo_tree()
    with closing(Store(home)) as store:
        store.append(OTHER, ev.RunStarted(**events(home, "run.started")[0].model_dump(exclude={"kind"})))
        left = [
            replace(node, belief=None, rule=None) if node.id in ("P0", "P2") else node
            for node in tree.propositions()
        ]
        store.append(OTHER, ev.TreePlanned(tree=put_tree(store, tree.with_propositions(left))))
        store.append(OTHER, ev.NodeFailed(node="P2", reason="no rule could be read"))
        store.append(OTHER, ev.RunStopped(why="failure", detail="P2 failed for good"))
    board = Dashboard(load_run(home, OTHER))
    form = board.side_panels.regrounding
    board.tree.selected = "P1"
    assert not visible(form)[0], "it has its value"
    board.tree.selected = "P2"
    assert visible(form, form.retry, form.ask) == [True, True, False]
    form.retry.click()
    assert "trying P2: about 2 calls" in form.line.value and "then P0 combined" in form.line.value
    form.try_now.click()
    assert resumed == [(OTHER, ("P2",))] and "P2 is combined again" in form.line.value
    board.poller.stop()


def test_the_weights_spread_is_asked_for_at_a_price_and_stays_on_the_page(
    board: Dashboard, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spread = {"mean": 0.7, "sd": 0.05, "low": -0.1, "high": 0.8}
    with closing(Store(home)) as store:
        store.append(
            RUN,
            ev.NodeRefitted(
                node="P2",
                count=5,
                failed=1,
                value=ev.NumberSpread(mean=0.43, sd=0.02, low=0.4, high=0.45),
                coefficients={"P2.1": ev.NumberSpread(**spread, flips=True)},
            ),
        )
    board._reread(False)
    board.tree.selected = "P2"
    assert "Asked 5 times more, 1 replies of no use" in board.side_panels.detail.value
    assert "changes sign" in board.side_panels.detail.value and "43.0%" in board.side_panels.detail.value
    board.tree.selected = "P1"
    assert "times more" not in board.side_panels.detail.value
    form = board.side_panels.refitting
    assert visible(form.ask, form.confirm) == [True, False]
    form.ask.click()
    assert "5 times each (P1): 5 calls" in form.line.value and visible(form.confirm) == [True]
    board.tree.selected = "P2.1"
    assert not visible(form)[0]


def test_refits_of_another_rule_are_not_shown(home: Path) -> None:
    with closing(Store(home)) as store:
        store.append(RUN, ev.NodeRefitted(node="P2", count=2))
        tree = demo_tree()
        belief = tree["P2"].belief
        assert belief is not None
        for rule, known in ((tree["P2"].rule, True), (AverageRule(("P2.1", "P2.2", "P2.3")), False)):
            assert rule is not None
            store.append(
                RUN,
                ev.NodeSynthesized(
                    node="P2", rule=rule.to_json(), p=0.4, key_factor="", report=store.put_body("x")
                ),
            )
            assert ("P2" in load_state(store, RUN).refits) is known


def test_another_rule_is_chosen_on_the_page(board: Dashboard) -> None:
    board.tree.selected = "P2"
    form = board.side_panels.form
    assert form.rule.value == "linear" and '"P2.1": 0.8' in form.rule_text.value
    form.rule.value = "average"
    form.set_rule.click()
    expected = settle(
        demo_tree().with_rule("P2", AverageRule(("P2.1", "P2.2", "P2.3")), demo_tree()["P2"].belief)
    )
    assert form.line.value == "" and board.session.tree["P0"].p == pytest.approx(expected["P0"].p)
    form.rule_text.value = '{"name": "linear", "weights": {"P9": 1}}'
    form.set_rule.click()
    assert "alert" in form.line.value
    form.rule_text.value = "{"
    form.set_rule.click()
    assert "the rule is no JSON" in form.line.value


def test_a_polarity_is_set_kept_and_undone_on_the_page(board: Dashboard, home: Path) -> None:
    board.tree.selected = "P2.1"
    form = board.side_panels.form
    assert form.side.value == "speaks for it"
    before = board.session.now.after
    form.side.value = "speaks against it"
    form.turn.click()
    assert form.line.value == "" and board.session.rows["P2.1"]["polarity"] == "Negative"
    assert [mark["name"] for mark in board.session.rows["P2.1"]["marks"]] == ["turned"]
    assert (
        "P2.1 speaks against P2" in board.side_panels.table.value
        and "turned at P2.1" in board.side_panels.table.value
    )
    said = json.loads(
        run_cli(home, "whatif", RUN, "--polarity", "P2.1=Negative", "--json", WORKBENCH_HOME=str(home)).stdout
    )
    # P2.1 stands at 0.5, where its negation is worth the same: another value shows that the rule has turned.
    assert board.session.now.after == said["after"] == pytest.approx(before)
    board.session.edit("P2.1", "0")
    assert board.session.now.after is not None and before is not None
    assert board.session.now.after - before == pytest.approx(0.1)
    board.keeper.flush()
    again = Dashboard(load_run(home, RUN))
    assert again.session.now.after == board.session.now.after
    board.session.undo()
    board.session.undo()
    assert form.side.value == "speaks for it" and board.session.now.after == before
    board.tree.selected = "P0"
    assert not visible(form._side_row)[0], "the root speaks for nothing"


def test_report_and_key_factor_are_editable_and_undone(board: Dashboard) -> None:
    board.tree.selected = "P2.1"
    form = board.side_panels.form
    assert form.report.value == "The cells compute 0.5."
    form.key_factor.value, form.report.value = "my view", "Read <b>anew</b>."
    form.set_report.click()
    belief = board.session.tree["P2.1"].belief
    assert belief is not None and (belief.key_factor, belief.report, belief.p) == (
        "my view",
        "Read <b>anew</b>.",
        0.5,
    )
    assert "my view" in board.side_panels.detail.value
    board.session.undo()
    assert form.report.value == "The cells compute 0.5."


def test_notes_and_tags_are_kept_and_found(board: Dashboard, home: Path) -> None:
    form = board.side_panels.notes
    board.tree.selected = "P2.1"
    board.side_panels.author.value = "Ann"
    form.text.value, form.tags.value, form.about.value = "ask the <script> desk", "Macro, q3", "P2.1"
    form.keep.click()
    assert "ask the &lt;script&gt; desk" in form.standing.value and "macro" in form.standing.value.lower()
    (event,) = events(home, "note.added")
    assert (event.node, event.author) == ("P2.1", "Ann")
    form.keep.click()
    assert "nothing to note" in form.line.value
    form.tags.value = "-q3"
    form.keep.click()
    assert "q3" not in form.standing.value
    page = Home(home)
    page.poller.stop()

    def shown(words: str) -> bool:
        page.search.value = words
        return RUN in page.table.value

    assert shown("desk macro") and shown("momentum") and not shown("no such word")


def test_the_page_goes_on_while_the_weights_are_asked_for_again(
    board: Dashboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered, form = threading.Event(), board.side_panels.refitting

    async def refits(*_: object) -> None:
        if not answered.wait(30):
            raise UsageError("the model was never let go")

    monkeypatch.setattr(refitting.tree_questions, "refits", refits)
    board.tree.selected = "P2"
    form.ask.click()
    form.confirm.click()
    assert form.work.busy and "goes on meanwhile" in form.line.value
    board.session.edit("P2.1", "0")  # the page answers
    board.tree.selected = "P1"
    assert form.work.busy and visible(form.ask, form.confirm) == [False, False]
    answered.set()
    form.work.wait()
    assert form.line.value == "" and visible(form.ask, form.confirm) == [True, False]
