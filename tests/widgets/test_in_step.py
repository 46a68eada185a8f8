"""Edits in a row wait for no panel, and once they rest every panel shows what a page shows that is opened then.

What the page does at rest goes in steps on the loop that began it, and whatever is edited between two of them, the page ends up the same.
"""

import asyncio
import inspect
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import ipywidgets
import pytest

import workbench as wb
from tests.fakes.screens import RUN, comm_of
from workbench.steps import Steps
from workbench.synthesis.whatif.edits import AddChild
from workbench.views.run_view import load_run
from workbench.widgets import at_rest
from workbench.widgets.at_rest import AtRest
from workbench.widgets.html_panel import Panel
from workbench.widgets.run_page import Dashboard, dashboard

#: Stands in the line of checks once the checks were read.
CHECKED = 'class="wb-badge" data-verdict'
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


def type_in_a_row(tree: Any, comms: list[Any]) -> list[int]:
    """Type all edits of the row before the page can rest; returns how many messages went out after each, over all comms."""
    comm = comm_of(tree, comms)
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
    comm_of(page.tree, comms).deliver({"type": "rest"})
    page.keeper.flush()
    fresh = dashboard(load_run(home, RUN), node="P2")
    fresh.rested()
    page.side_panels.book.look_up()  # both have read the draft that was kept meanwhile
    assert what_is_shown(page) == what_is_shown(fresh)


@pytest.fixture
def one_step_a_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(at_rest, "PIECE_SECONDS", 0.0)
    monkeypatch.setattr(at_rest, "GAP_SECONDS", 0.0)


def rest_with(page: Dashboard, comm: Any, acts: dict[int, Callable[[], None]]) -> int:
    """Have a page rest on a loop, and do something between its steps, by how many were done; returns all steps."""
    done, under_way = 0, weakref.WeakSet[Steps[None]]()
    do = at_rest.AtRest.do

    def counted(steps: Steps[None]) -> Steps[None]:
        nonlocal done
        for each in steps:
            done += 1
            if done in acts:
                asyncio.get_running_loop().call_soon(acts[done])  # before the next step, which is put off
            yield each

    def do_counted(self: at_rest.AtRest, part: object, work: Callable[[], Steps[None]]) -> None:
        def begun() -> Steps[None]:
            steps = counted(work())
            under_way.add(steps)
            return steps

        do(self, part, begun)

    async def rest() -> None:
        comm.deliver({"type": "rest"})
        async with asyncio.timeout(60):
            while any(inspect.getgeneratorstate(each) != inspect.GEN_CLOSED for each in under_way):
                await asyncio.sleep(0.001)

    with patch.object(at_rest.AtRest, "do", do_counted):
        asyncio.run(rest())
    return done


@pytest.mark.parametrize("where", ["a page", "a page of a server", "a cell"])
@pytest.mark.parametrize("first", [1, 7, 22])
def test_edits_between_the_steps_of_rest_leave_the_page_as_one_that_is_opened_then(
    analysis: wb.Analysis, home: Path, comms: list[Any], one_step_a_piece: None, where: str, first: int
) -> None:
    if where == "a cell":
        page = analysis.dashboard()
        drivers = analysis.driver_view().drivers
    else:
        page = dashboard(load_run(home, RUN), owns_address=where == "a page of a server")
        drivers = page.drivers
    page.tree.selected = "P2"
    comm = comm_of(page.tree, comms)
    in_order = []

    def in_a_row() -> None:
        for text in ("0.1", "0.9", "0.3"):
            comm.deliver({"type": "edit", "id": "P2.1", "text": text, "moving": True})
        in_order.append(page.tree.tree["nodes"]["P2.1"]["value"])
        comm.deliver({"type": "rest"})

    def by_a_form() -> None:
        page.session.change([AddChild(node="P0", statement="Rain falls by 2018-12-31", child="P9")])
        page.session.edit("P9", "0.5")

    pieces = rest_with(page, comm, {first: in_a_row, first + 3: by_a_form})
    assert in_order == ["0.3"] and pieces > first + 3
    page.keeper.flush()
    fresh = dashboard(load_run(home, RUN), node="P2", owns_address=page.tree.owns_address)
    fresh.rested()
    assert CHECKED in fresh.checks.value
    page.side_panels.book.look_up()
    assert what_is_shown(page) == what_is_shown(fresh)
    assert drivers.chart.value == fresh.drivers.chart.value


@pytest.mark.parametrize("after", [1, 20])
@pytest.mark.parametrize("closed", ["page", "tree"])
def test_a_closed_page_ends_the_steps(
    home: Path, comms: list[Any], one_step_a_piece: None, after: int, closed: str
) -> None:
    page = dashboard(load_run(home, RUN))
    comm, at_end = comm_of(page.tree, comms), page.tree.at_rest
    pieces = rest_with(page, comm, {after: page.close if closed == "page" else page.tree.close})
    assert after <= pieces <= after + 2
    if closed == "tree":
        asyncio.run(one_piece(at_end))
    assert CHECKED not in page.checks.value


async def one_piece(resting: at_rest.AtRest) -> None:
    resting.go_on()
    await asyncio.sleep(0.01)


def working(pieces: list[int]) -> Steps[None]:
    for number in range(200):
        pieces.append(number)
        yield


def test_without_a_loop_work_is_done_at_once_and_work_of_a_loop_is_left_to_it() -> None:
    pieces: list[int] = []
    resting = AtRest(threading.RLock(), lambda: True)
    resting.do("part", lambda: working(pieces))
    assert len(pieces) == 200

    async def begin() -> None:
        resting.do("part", lambda: working(pieces))
        beside = threading.Thread(target=lambda: resting.do("other", lambda: working(pieces)))
        beside.start()
        beside.join()
        assert len(pieces) == 200

    asyncio.run(begin())
    resting.go_on()  # the loop is no more
    assert len(pieces) == 600
