"""What the page offers below a proposition: ground again, refit, rule, report, notes; each one goes on record as the command line's."""

import threading
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.screens import RUN, agreed, asked, demo_tree, visible
from tests.fakes.stored_run import write_tree_run
from workbench.engine.detached import Detached
from workbench.engine.record.fold import load_state
from workbench.errors import UsageError
from workbench.store import Store
from workbench.store import events as ev
from workbench.synthesis import AverageRule, LinearRule, settle
from workbench.synthesis.whatif.edits import play
from workbench.views.run_view import load_run
from workbench.whatif.edit_request import EditRequest
from workbench.widgets.home_page import Home
from workbench.widgets.run_page import Dashboard

OTHER = "20180630-130000-abcd"


def events(home: Path, *kinds: str) -> list[Any]:
    with closing(Store(home)) as store:
        return [stored.event for stored in store.events(RUN, kinds=kinds)]


def test_a_button_pressed_on_what_a_form_shows_already_is_no_edit(board: Dashboard) -> None:
    tree = settle(demo_tree().with_rule("P0", LinearRule(0.1, {"P1": 1 / 3, "P2": 0.25, "P3": 0.2})))
    board.session.rebase(tree, {})
    for node, kinds in (
        ("P1", ("restate", "weights", "rules", "reports")),
        ("P2.1", ("polarities", "reports")),
    ):
        board.tree.selected = node
        form = board.side_panels.form
        for kind in kinds:
            form.buttons[kind].click()
            assert "nothing was changed" in form.line.value, (node, kind)
    assert board.session.edits == () and not board.session.can_undo
    # the same buttons after a change
    board.tree.selected = "P1"
    form.inputs["weights"][0].value = "0.3333"
    form.buttons["weights"].click()
    assert form.line.value == "" and len(board.session.edits) == 1


#: What is typed into the form of a proposition, by the place of the field; the kind of edit; and the request that says the same in
#: Python, by MCP and at the terminal.
CHANGES: list[tuple[str, dict[int, Any], str, dict[str, Any]]] = [
    ("P2.1", {0: "The VIX closes below 20"}, "restate", {"restate": {"P2.1": "The VIX closes below 20"}}),
    ("P2.1", {0: "speaks against it"}, "polarities", {"polarities": {"P2.1": "Negative"}}),
    ("P1", {0: "0.2"}, "weights", {"weights": {"P1": 0.2}}),
    ("P2", {0: "average"}, "rules", {"rules": {"P2": AverageRule(("P2.1", "P2.2", "P2.3")).to_json()}}),
    ("P1", {}, "pin", {"pin": ["P1"]}),
    ("P3", {}, "remove", {"remove": ["P3"]}),
    ("P0", {0: "War", 1: "speaks against it", 2: "0.2", 3: "60%"}, "add",
     {"add": [{"parent": "P0", "statement": "War", "polarity": "Negative"}], "weights": {"P4": -0.2}, "values": {"P4": 0.6}}),
    ("P2.1", {0: "mine", 1: "<b>"}, "reports", {"reports": {"P2.1": {"report": "<b>", "key_factor": "mine"}}}),
]  # fmt: skip


@pytest.mark.parametrize(("node", "typed", "kind", "request_"), CHANGES, ids=[row[2] for row in CHANGES])
def test_a_change_of_the_form_is_the_same_request_kept_and_undone(
    board: Dashboard, home: Path, node: str, typed: dict[int, Any], kind: str, request_: dict[str, Any]
) -> None:
    board.tree.selected = node
    form, before = board.side_panels.form, board.session.rows
    for place, text in typed.items():
        form.inputs[kind][place].value = text
    form.buttons[kind].click()
    assert form.line.value == ""
    wanted = play(demo_tree(), EditRequest.read(request_).edits(demo_tree()))
    assert board.session.tree == wanted.tree and board.session.now.after == wanted.after
    board.keeper.flush()
    assert Dashboard(load_run(home, RUN)).session.tree == wanted.tree
    board.session.undo()
    assert board.session.edits == () and board.session.rows == before


@pytest.mark.parametrize("text", ["{", '{"name": "linear", "weights": {"P9": 1}}'])
def test_a_rule_that_does_not_fit_is_refused_in_a_line(board: Dashboard, text: str) -> None:
    board.tree.selected = "P2"
    form = board.side_panels.form
    form.inputs["rules"][1].value = text
    form.buttons["rules"].click()
    assert "alert" in form.line.value and board.session.edits == ()


@pytest.fixture
def resumed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, tuple[str, ...]]]:
    """Runs for which a process would have been started, each with the leaves it is kept to."""
    runs: list[tuple[str, tuple[str, ...]]] = []

    def resume(store: Store, run_id: str, *, leaves: Sequence[str] = (), **_: Any) -> Detached:
        runs.append((run_id, tuple(leaves)))
        return Detached(pid=1)

    monkeypatch.setattr("workbench.engine.detached.resume_detached", resume)
    return runs


def test_a_leaf_is_grounded_again_only_after_its_price_was_shown(
    board: Dashboard, home: Path, resumed: list[Any]
) -> None:
    pane = board.side_panels.regrounding
    board.tree.selected = "P2"
    assert visible(pane.again, pane.retry) == [False, False], "an inner proposition is not grounded"
    board.tree.selected = "P2.1"
    assert visible(pane.again, pane.retry) == [True, False]
    board.side_panels.author.value = "Ann"
    said = asked(pane.again, reason="the VIX has moved")
    assert "evidence for P2.1 again: about" in said and "recomputed by the stored rules" in said
    assert not events(home, "leaf.reopened") and resumed == []
    agreed(pane.again)
    (event,) = events(home, "leaf.reopened")
    assert (event.node, event.author, event.reason, event.resynthesis) == (
        "P2.1",
        "Ann",
        "the VIX has moved",
        "numeric",
    )
    assert [run for run, _leaves in resumed] == [RUN]
    board.look()
    assert "50.0%" in pane.earlier.value and "the VIX has moved" in pane.earlier.value
    assert board.session.base["P2.1"].p == 0.5, "the old value stands until the new is in"
    board.poller.stop()


def test_a_failed_leaf_is_tried_again(home: Path, resumed: list[Any]) -> None:
    with closing(Store(home)) as store:
        tree = demo_tree()
        bare = tree.with_propositions([replace(node, belief=None, rule=None) for node in tree.propositions()])
        write_tree_run(store, OTHER, bare).append(ev.LeafStarted(node="P2.1", trial=1, attempt=1))
        store.append(
            OTHER,
            ev.LeafFailed(node="P2.1", trial=1, attempt=1, reason="no proof could be read", final=True),
        )
        store.append(OTHER, ev.RunStopped(why="failure", detail="P2.1 failed for good"))
    board = Dashboard(load_run(home, OTHER))
    board.tree.selected = "P2.1"
    pane = board.side_panels.regrounding
    assert visible(pane.retry, pane.again) == [True, False]
    said = asked(pane.retry)
    assert resumed == [] and "trying P2.1: about" in said and "left as they are" in said
    agreed(pane.retry)
    assert resumed == [(OTHER, ("P2.1",))]
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
    board.look()
    board.poller.stop()
    board.tree.selected = "P2"
    assert "Asked 5 times more, 1 replies of no use" in board.side_panels.detail.value
    assert "changes sign" in board.side_panels.detail.value and "43.0%" in board.side_panels.detail.value
    board.tree.selected = "P1"
    assert "times more" not in board.side_panels.detail.value
    form = board.side_panels.refitting
    assert "P1, 5 times each: 5 calls" in asked(form) and visible(form, form.question) == [True, True]
    board.tree.selected = "P2.1"
    assert visible(form, form.question) == [False, False]


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


def test_notes_and_tags_are_kept_and_found(board: Dashboard, home: Path) -> None:
    pane = board.side_panels.notes
    (form,) = pane.forms
    board.tree.selected = "P2.1"
    board.side_panels.author.value = "Ann"
    assert asked(form, text="ask the <script> desk", tags="Macro, q3", node="P2.1") == ""
    assert "ask the &lt;script&gt; desk" in pane.standing.value and "macro" in pane.standing.value.lower()
    (event,) = events(home, "note.added")
    assert (event.node, event.author) == ("P2.1", "Ann")
    assert "nothing to note" in asked(form)
    assert asked(form, untag="q3") == "" and "q3" not in pane.standing.value
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

    async def refits(*_: object) -> list[Any]:
        if not answered.wait(30):
            raise UsageError("the model was never let go")
        return []

    monkeypatch.setattr("workbench.whatif.run_refits.refit_run", refits)
    board.tree.selected = "P2"
    asked(form)
    form.go_on.click()
    assert form.work.busy and "Working" in form.answer.value
    board.session.edit("P2.1", "0")  # the page answers
    board.tree.selected = "P1"
    form.ask.click()
    assert form.work.busy and not visible(form.question)[0]
    answered.set()
    form.work.wait()
    assert "never let go" not in form.answer.value
