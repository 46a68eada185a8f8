"""Edits of a page are in the log before it can be lost, and come back as they were."""

from html import unescape
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.screens import RUN, demo_tree
from workbench.propositions import Polarity
from workbench.propositions.edits import AddChild, Edit, Pin, RemoveNode, Restate, SetRule, SetValue
from workbench.synthesis.whatif.apply_edits import play
from workbench.views.run_view import load_run
from workbench.whatif.edit_remarks import edit_remarks
from workbench.whatif.saved_scenarios import SavedScenarios
from workbench.widgets import dashboard
from workbench.widgets.edits.edit_log import DRAFT
from workbench.widgets.edits.edit_session import WhatIfSession
from workbench.widgets.run_page import Dashboard

LEAVES = ["P1.1", "P1.2", "P2.1", "P2.2", "P2.3", "P3"]
STEPS = st.lists(
    st.one_of(
        st.builds(SetValue, node=st.sampled_from([*LEAVES, "P1", "P2"]), p=st.floats(0, 1)),
        st.builds(RemoveNode, node=st.sampled_from(["P1.1", "P2.2"])),
        st.builds(
            Restate, node=st.sampled_from(LEAVES), statement=st.sampled_from(["Rain falls", "Snow falls"])
        ),
        st.just(
            SetRule(node="P0", rule={"name": "linear", "intercept": 0.1, "weights": {"P1": 0.5, "P3": 0.2}})
        ),
        st.just(AddChild(node="P2", statement="A trade war breaks out", polarity=Polarity.NEGATIVE)),
        st.builds(Pin, node=st.sampled_from(["P1", "P2"])),
        st.sampled_from(["undo", "redo", "reset all"]),
    ),
    max_size=8,
)


def opened(home: Path, **more: Any) -> Dashboard:
    return dashboard(load_run(home, RUN), **more)


def after(session: WhatIfSession, step: Any) -> None:
    from workbench.errors import UsageError

    try:
        match step:
            case "undo":
                session.undo()
            case "redo":
                session.redo()
            case "reset all":
                session.reset_all()
            case _:
                session.change([step])
    except UsageError:
        pass  # an edit that does not fit, such as a branch removed twice, changes nothing


@given(STEPS)
def test_a_page_shows_what_its_edits_give_played_from_the_run(steps: list[Any]) -> None:
    session = WhatIfSession(demo_tree())
    for step in steps:
        after(session, step)
    again = WhatIfSession(demo_tree(), session.edits)
    assert again.rows == session.rows
    wanted = play(demo_tree(), session.edits)
    assert session.now.after == wanted.after and set(session.rows) == set(wanted.tree.ids())


@given(STEPS)
def test_undo_takes_back_the_steps_one_by_one_and_redo_makes_them_again(steps: list[Any]) -> None:
    session = WhatIfSession(demo_tree())
    seen = [session.edits]
    for step in steps:
        if isinstance(step, str):
            continue
        after(session, step)
        if session.edits != seen[-1]:
            seen.append(session.edits)
    for edits in reversed(seen[:-1]):
        session.undo()
        assert session.edits == edits
    assert not session.can_undo
    for edits in seen[1:]:
        session.redo()
        assert session.edits == edits
    assert not session.can_redo


def test_edits_come_back_with_the_next_page(home: Path) -> None:
    page = opened(home)
    page.session.edit("P2.1", "0")
    page.session.change([RemoveNode(node="P3")])
    page.keeper.flush()
    root = page.session.now.after
    reloaded = opened(home)
    assert reloaded.session.now.after == root and "P3" not in reloaded.session.tree
    assert "2 edits of an earlier visit" in reloaded.side_panels.line.value
    # what is shown is what the command line says of the same scenario
    assert SavedScenarios(home, RUN).table()["scenarios"][0]["root"] == root


def test_what_was_taken_back_stays_in_the_log_and_away_from_the_page(home: Path) -> None:
    page = opened(home)
    for p in ("0.1", "0.2"):
        page.session.edit("P2.1", p)
        page.keeper.flush()
    page.session.undo()
    page.keeper.flush()
    assert opened(home).session.values == {"P2.1": 0.1}
    page.side_panels.reset.click()
    page.keeper.flush()
    assert opened(home).session.edits == ()
    draft = SavedScenarios(home, RUN).scenario(DRAFT)
    assert draft is not None and draft.undone


def test_a_look_at_a_page_writes_nothing(home: Path) -> None:
    page = opened(home)
    page.keeper.flush()
    assert SavedScenarios(home, RUN).scenario(DRAFT) is None


def test_two_windows_lose_no_edit_and_the_second_is_told(home: Path) -> None:
    first, second = opened(home), opened(home)
    first.session.edit("P2.1", "0.1")
    first.keeper.flush()
    second.session.edit("P3", "0.9")
    second.keeper.flush()
    assert "edited in another window too: your edits are saved as draft 2" in second.side_panels.line.value
    saved = {row["name"]: row["root"] for row in SavedScenarios(home, RUN).table()["scenarios"]}
    assert saved == {DRAFT: first.session.now.after, "draft 2": second.session.now.after}
    second.session.edit("P3", "0.8")
    second.keeper.flush()
    assert opened(home, scenario="draft 2").session.values == {"P3": 0.8}


def test_saving_under_a_name_goes_on_in_it(home: Path) -> None:
    page = opened(home)
    page.session.edit("P2.1", "0.1")
    page.side_panels.book.name.value, page.side_panels.book.rationale.value = (
        "calm ends",
        "VIX futures say so",
    )
    page.side_panels.book.save.click()
    assert SavedScenarios(home, RUN).scenario(DRAFT) is None
    page.session.edit("P3", "0.5")
    page.keeper.flush()
    stored = SavedScenarios(home, RUN).scenario("calm ends")
    assert stored is not None and stored.rationale == "VIX futures say so"
    assert [edit.node for edit in stored.edits] == ["P2.1", "P3"]
    assert page.tree.scenario == "calm ends"


def test_a_scenario_is_opened_weighed_and_closed_on_the_page(home: Path) -> None:
    edits: list[Edit] = [SetValue(node="P2.1", p=0.0)]
    SavedScenarios(home, RUN).save("calm ends", edits, author="ann")
    page = opened(home)
    page.side_panels.book.chosen.value = "calm ends"
    page.side_panels.book.opening.click()
    assert page.session.values == {"P2.1": 0.0}
    page.side_panels.book.likely.value = "30%"
    page.side_panels.book.weigh.click()
    assert SavedScenarios(home, RUN).table()["mix"]["weights"]["calm ends"] == 0.3
    page.side_panels.book.closing.click()
    assert SavedScenarios(home, RUN).table()["scenarios"] == [] and page.session.edits == ()


def test_a_mistyped_share_is_one_line_and_changes_nothing(home: Path) -> None:
    SavedScenarios(home, RUN).save("calm ends", [SetValue(node="P2.1", p=0.0)], author="ann")
    page = opened(home)
    page.side_panels.book.chosen.value, page.side_panels.book.likely.value = "calm ends", "often"
    page.side_panels.book.weigh.click()
    assert "is not a probability" in unescape(page.side_panels.book.said.value)
    assert SavedScenarios(home, RUN).table()["mix"] is None


def test_values_carry_whose_they_are_and_why(home: Path) -> None:
    page = opened(home)
    page.side_panels.author.value, page.side_panels.reason.value = "ann", "the desk's view"
    page.tree._on_message(page.tree, {"type": "edit", "id": "P2.1", "text": "0.2"}, [])
    page.keeper.flush()
    (row,) = SavedScenarios(home, RUN).table()["scenarios"][0]["overrides"]
    assert (row["author"], row["reason"], row["model_p"]) == ("ann", "the desk's view", 0.5)


def test_the_form_changes_the_shape_of_the_tree(home: Path) -> None:
    page = opened(home)
    form = page.side_panels.form
    form.new_words.value, form.new_side.value = "A trade war breaks out", "speaks against it"
    form.new_weight.value, form.new_p.value = "0.2", "60%"
    form.add.click()
    # 0.657825 - 0.2 * 0.6, as `workbench whatif --add ... --weight P4=-0.2 --set P4=0.6` gives
    assert page.session.now.after is not None and abs(page.session.now.after - 0.537825) < 1e-12
    assert page.tree.selected == "P4" and form.node == "P4" and "P4 is yours" in page.side_panels.proof.value
    form.remove.click()
    assert "P4" not in page.session.tree and page.tree.selected == "P0"
    page.session.undo()
    assert "P4" in page.session.tree
    form.new_words.value = ""
    form.add.click()
    assert form.line.value.startswith('<p class="wb-warn"')


def test_a_comment_is_pinned_to_a_proposition_and_shown_to_the_next_reader(home: Path) -> None:
    page = opened(home)
    page.side_panels.author.value, page.side_panels.review.remark.value = "ann", "Why half a year? <b>"
    page.side_panels.review.comment.click()
    for each in (page, opened(home)):
        assert (
            "Why half a year? &lt;b&gt;" in each.side_panels.detail.value
            and "ann" in each.side_panels.detail.value
        )
    page.side_panels.review.comment.click()
    assert 'role="alert"' in page.side_panels.review.line.value  # an empty one


def test_removing_and_adding_say_what_they_do() -> None:
    tree = demo_tree()
    # P3 has weight 0.45 and p 0.74: 33.3 points; what is left carries 0.55 of 1.0
    (removed,) = edit_remarks(tree, [RemoveNode(node="P3")])
    assert "P3 drops out, worth −33.3 points" in removed.line
    scaled = {"P1": 0.3 * 1 / 0.55, "P2": 0.25 * 1 / 0.55}
    assert all(abs(removed.weights[child] - weight) < 1e-6 for child, weight in scaled.items())
    addition = AddChild(node="P0", statement="A trade war breaks out")
    (added,) = edit_remarks(tree, [addition])
    assert "P4 has weight 0, so it moves nothing" in added.line
    rule = {"name": "linear", "intercept": 0.02, "weights": {"P1": 0.3, "P2": 0.25, "P3": 0.45, "P4": 0.1}}
    assert edit_remarks(tree, [addition, SetRule(node="P0", rule=rule)]) == []
