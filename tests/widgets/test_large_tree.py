"""Trees of thousands on the page: rows on demand, small patches, panels that wait, send what differs, and the whole to who missed it."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.large_tree import large_tree, make_large_run
from tests.fakes.screens import RUN, comm_of, demo_tree
from workbench.formatting import percent
from workbench.synthesis import resynthesize
from workbench.synthesis.whatif.edits import SetValue
from workbench.views.run_view import RunView, load_run
from workbench.whatif.saved_scenarios import SavedScenarios
from workbench.widgets import TreeWidget
from workbench.widgets.home_page import open_dashboard
from workbench.widgets.html_panel import Panel
from workbench.widgets.run_page import dashboard
from workbench.widgets.tree_widget import FIRST_ROWS


def test_an_edit_of_a_large_tree_sends_less_than_two_kilobytes(comms: list[Any]) -> None:
    widget = TreeWidget(large_tree(11111))
    comm = comm_of(widget, comms)
    leaf = widget.session.tree.leaves()[3]
    comm.deliver({"type": "rows", "ids": [leaf]})
    comm.deliver({"type": "edit", "id": leaf, "text": "0.9"})
    patch = comm.custom[-1]
    assert patch["nodes"]["P0"]["p"] == resynthesize(widget.session.base, {leaf: 0.9}).after
    assert {leaf, "P0"} <= patch["nodes"].keys()
    assert len(json.dumps(patch).encode()) < 2000
    assert not any("tree" in update for update in comm.updates)


def test_a_page_gets_the_first_rows_and_asks_for_others(comms: list[Any]) -> None:
    widget = TreeWidget(large_tree(1111))
    comm = comm_of(widget, comms)
    assert list(widget.tree["nodes"]) == [
        "P0",
        *(f"P{number}" for number in range(1, 11)),
    ]  # the rest is folded at first
    assert len(widget.tree["order"]) == 1111 > FIRST_ROWS
    late = widget.tree["order"][-1]
    assert late not in widget.tree["nodes"]
    comm.deliver({"type": "rows", "ids": [late, "P99", 3, None]})
    assert list(comm.custom[-1]["nodes"]) == [late]
    comm.deliver({"type": "edit", "id": late, "text": "0.05"})
    assert comm.custom[-1]["nodes"][late]["text"] == "5.0%"  # from now on it is kept in step
    unseen = widget.tree["order"][-5]
    comm.deliver({"type": "edit", "id": unseen, "text": "0.05"})
    assert unseen not in comm.custom[-1]["nodes"]  # what was never sent is whole when it is asked for
    comm.deliver({"type": "rows", "ids": [unseen]})
    assert comm.custom[-1]["nodes"][unseen]["text"] == "5.0%"


@pytest.mark.parametrize(
    ("text", "kind", "found"),
    [
        ("vix closes", "", ["P2.1"]),
        ("VIX 20", "", ["P2", "P2.1"]),
        ("p2", "leaf", ["P2.1", "P2.2", "P2.3"]),
        ("", "changed", ["P0", "P1"]),
        ("pinned", "", ["P1"]),
        ("no such words", "", []),
        ("", "open", []),
    ],
)
def test_words_and_kinds_find_propositions(comms: list[Any], text: str, kind: str, found: list[str]) -> None:
    widget = TreeWidget(demo_tree())
    comm = comm_of(widget, comms)
    comm.deliver({"type": "edit", "id": "P1", "text": "0.9"})
    comm.deliver({"type": "find", "text": text, "kind": kind})
    answer = comm.custom[-1]
    if text == "VIX 20":
        assert set(found) <= set(answer["ids"])
    else:
        assert answer["ids"] == found


def test_a_page_of_ours_shows_the_first_screen_first_and_its_desk_once_that_stands(
    home: Path, comms: list[Any]
) -> None:
    from workbench.widgets.run_page import Dashboard

    SavedScenarios(home, RUN).hold("draft", [SetValue(node="P2.1", p=0.9)], author="", base_seq=None)
    shown: Dashboard = dashboard(load_run(home, RUN), owns_address=True)
    first = len(comms)
    wanted = percent(resynthesize(demo_tree(), {"P2.1": 0.9}).after)
    assert f">{wanted}<" in shown.header.value and shown.tree.tree["nodes"]["P0"]["text"] == wanted
    assert first < 40 and shown.drivers.chart.value == ""
    comm_of(shown.tree, comms).deliver({"type": "rest"})
    assert len(comms) > 2 * first and "saved as draft" in shown.side_panels.line.value
    assert f"Claim, now {wanted}" in shown.drivers.chart.value and "P2.1" in shown.side_panels.table.value
    made = len(comms)
    shown.side_panels.change.selected_index = 0  # a fold is filled when it is opened
    assert len(comms) > made and shown.side_panels.form.node == "P0"


def test_the_first_screen_waits_for_no_check_and_the_page_at_rest_says_what_all_screens_say(
    tmp_path: Path, comms: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = load_run(tmp_path, make_large_run(tmp_path, 60, "20180630-120000-0060"))
    with monkeypatch.context() as first:
        for late in ("findings_in_steps", "badges_in_steps", "fan"):
            first.setattr(RunView, late, lambda _run, late=late: pytest.fail(f"{late} before the first row"))
        shown = dashboard(run, owns_address=True)
    assert "findings" not in shown.document and run.findings()
    assert "being read" in shown.checks.value and "Read no data" not in shown.checks.value
    comm_of(shown.tree, comms).deliver({"type": "rest"})
    assert shown.document == run.document(nodes=False)
    assert "being read" not in shown.checks.value and "Read no data" in shown.checks.value


def test_a_page_names_its_widget_before_it_is_made(tmp_path: Path, comms: list[Any]) -> None:
    run_id = make_large_run(tmp_path, 12, "20180630-120000-0012")
    named = {"WORKBENCH_HOME": str(tmp_path), "WORKBENCH_WIDGET": "0" * 32}
    for query in (f"run={run_id}", "run=", "run=no-such-run"):
        page = open_dashboard({**named, "QUERY_STRING": query})
        assert page.model_id == "0" * 32, query
        page.poller.stop()
        if hasattr(page, "pulse"):
            page.pulse.stop()
        page.close()


def test_a_panel_sends_what_differs_and_a_second_view_gets_the_whole(comms: list[Any]) -> None:
    panel = Panel("<p>65.8%</p><p>stays</p>")
    comm = comm_of(panel, comms)
    panel.value = "<p>55.8%</p><p>stays</p>"
    assert comm.custom == [{"rev": 1, "splices": [(2, 1, ["55.8%"])]}]
    panel.value = "<p>55.8%</p><p>stays</p>"
    assert len(comm.custom) == 1  # nothing to say
    assert (
        "".join(panel.get_state("content")["content"]["pieces"]) == panel.value == "<p>55.8%</p><p>stays</p>"
    )


def test_time_and_money_are_read_when_they_are_unfolded(home: Path, comms: list[Any]) -> None:
    shown = dashboard(load_run(home, RUN))
    assert "Reading every journal" in shown.side_panels.spent.value
    comm_of(shown.side_panels.spent, comms).deliver({"type": "open", "name": "time and money"})
    assert "Share of the work" in shown.side_panels.spent.value


def test_a_page_that_came_after_a_change_gets_the_whole_content(comms: list[Any]) -> None:
    """In a notebook the model is in the page before any view: splices that are sent meanwhile are heard by nobody."""
    panel = Panel("<p>1</p>")
    panel.value = "<p>2</p>"
    comm = comms[-1]
    comm.deliver({"type": "seen", "rev": 0})
    [update] = comm.updates
    assert "".join(update["content"]["pieces"]) == "<p>2</p>" and update["content"]["rev"] == 1


@pytest.mark.parametrize("message", [{"type": "seen", "rev": 1}, {"type": "select", "id": "P0"}, "seen"])
def test_a_page_in_step_is_sent_nothing(comms: list[Any], message: Any) -> None:
    panel = Panel("<p>1</p>")
    panel.value = "<p>2</p>"
    comm = comms[-1]
    comm.deliver(message)
    assert comm.updates == []
