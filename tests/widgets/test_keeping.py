"""Edits of a page are in the log before it can be lost, and come back as they were."""

from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.screens import RUN, demo_tree
from workbench.propositions import Polarity
from workbench.synthesis.whatif.edits import AddChild, Pin, RemoveNode, Restate, SetRule, SetValue, play
from workbench.views.run_view import load_run
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
