"""Edits in a row wait for no panel, and once they rest every panel shows what a page shows that is opened then."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ipywidgets
import pytest

import workbench as wb
from tests.fakes.screens import RUN
from workbench.views.run_view import load_run
from workbench.widgets.edits.edit_log import shared_edits
from workbench.widgets.html_panel import Panel
from workbench.widgets.run_page import Dashboard, dashboard

ROW = [
    {"type": "edit", "id": "P2.1", "text": "0.0"},
    {"type": "edit", "id": "P3", "text": "0.2"},
    {"type": "edit", "id": "P1", "text": "0.9"},
    {"type": "reset", "id": "P3"},
    {"type": "edit", "id": "P2.1", "text": "0.25"},
    {"type": "undo"},
    {"type": "redo"},
]


def every_widget(widget: Any) -> Iterator[Any]:
    yield widget
    for child in getattr(widget, "children", ()):
        yield from every_widget(child)


def what_is_shown(page: Dashboard) -> list[tuple[object, ...]]:
    """Everything that panels and fields of a page say, in their order; without what is about its own past: undo, what it kept."""
    side = page.side_panels
    side.form  # noqa: B018  - the fold of changes is filled when it is asked for
    past = {side.undo, side.redo, side.line}
    shown: list[tuple[object, ...]] = [("selected", page.tree.selected), ("rows", page.tree.tree["nodes"])]
    for each in every_widget(page):
        if each in past:
            continue
        if isinstance(each, Panel | ipywidgets.HTML | ipywidgets.Text | ipywidgets.Dropdown):
            shown.append((type(each).__name__, each.value))
        if isinstance(each, ipywidgets.Button):
            shown.append((each.description, each.disabled))
        if isinstance(each, ipywidgets.Box):
            shown.append(("hidden", "wb-hidden" in each._dom_classes))
    return shown


@pytest.fixture
def analysis(home: Path, monkeypatch: pytest.MonkeyPatch) -> wb.Analysis:
    monkeypatch.setenv("WORKBENCH_HOME", str(home))
    return wb.open_run(RUN)


def type_in_a_row(tree: Any, comms: list[Any]) -> list[int]:
    """Type all edits of the row before the page can rest; returns how many messages went out after each, over all comms."""
    (comm,) = [each for each in comms if each.comm_id == tree.comm.comm_id]
    counts = []
    for message in ROW:
        before = sum(len(each.sent) for each in comms)
        comm.deliver({**message, "moving": True})
        counts.append(sum(len(each.sent) for each in comms) - before)
    return counts


@pytest.mark.parametrize("where", ["a page", "a cell", "a cell beside others"])
def test_an_edit_in_a_row_sends_one_message_and_draws_no_panel(
    analysis: wb.Analysis, home: Path, comms: list[Any], where: str
) -> None:
    page = dashboard(load_run(home, RUN)) if where == "a page" else analysis.dashboard()
    tree = page.tree
    if where == "a cell beside others":
        views = [analysis.scenario_view(), analysis.driver_view(), analysis.evidence_view()]
        tree = analysis.explorer()
        assert views[0].comm is not None
    drawn = page.drivers.chart.value
    assert type_in_a_row(tree, comms) == [1] * len(ROW)
    assert page.drivers.chart.value == drawn
    page.keeper.flush()


@pytest.mark.parametrize("where", ["a page", "a cell"])
def test_panels_at_rest_are_those_of_a_page_that_is_opened_then(
    analysis: wb.Analysis, home: Path, comms: list[Any], where: str
) -> None:
    page = dashboard(load_run(home, RUN)) if where == "a page" else analysis.dashboard()
    page.tree.selected = "P2"
    what_is_shown(page)
    type_in_a_row(page.tree, comms)
    (comm,) = [each for each in comms if each.comm_id == page.tree.comm.comm_id]
    comm.deliver({"type": "rest"})
    page.keeper.flush()
    fresh = dashboard(load_run(home, RUN), node="P2")
    fresh.catch_up()
    page.side_panels.book.look_up()  # both have read the draft that was kept meanwhile
    assert what_is_shown(page) == what_is_shown(fresh)


def test_the_whole_page_and_the_explorer_are_one_tree(analysis: wb.Analysis, comms: list[Any]) -> None:
    page, tree = analysis.dashboard(), analysis.explorer()
    assert page.tree is tree
    shared_edits(analysis.run).choose("P2.1")
    assert "P2.1" in page.side_panels.detail.value
    assert page._badges == []
    (comm,) = [each for each in comms if each.comm_id == tree.comm.comm_id]
    comm.deliver({"type": "rest"})
    assert page._badges, "what the page reads once it stands is read when the tree of any cell rests"
    light = page.side_panels.proof.value
    comm.deliver({"type": "ready", "dark": True, "rev": 0})
    assert page.side_panels.proof.value != light
    tree.close()
    again = analysis.dashboard()
    assert again is not page and again.tree is analysis.explorer()
