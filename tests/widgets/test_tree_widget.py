import threading
from typing import Any

import pytest

from tests.fakes.screens import comm_of, demo_tree
from workbench.errors import UsageError
from workbench.propositions import Belief, Tree
from workbench.synthesis import resynthesize
from workbench.widgets import TreeWidget, tree_html


def opened(comms: list[Any], tree: Tree | None = None) -> tuple[TreeWidget, Any]:
    widget = TreeWidget(tree or demo_tree())
    return widget, comm_of(widget, comms)


def test_two_edits_send_two_patches_with_the_numbers_of_what_if(comms: list[Any]) -> None:
    _, comm = opened(comms)
    comm.deliver({"type": "edit", "id": "P2.1", "text": "0.0"})
    comm.deliver({"type": "edit", "id": "P2.1", "text": "0.9"})
    first, second = comm.custom
    for patch, p in ((first, 0.0), (second, 0.9)):
        wanted = resynthesize(demo_tree(), {"P2.1": p})
        rows = patch["nodes"]
        assert rows["P0"]["p"] == wanted.after
        assert rows["P0"]["text"] == f"{100 * (wanted.after or 0):.1f}%"
        assert set(rows) == {"P0", "P2", "P2.1"}
    assert (first["rev"], second["rev"]) == (1, 2)


def test_patches_from_many_threads_leave_in_order_and_the_trait_ends_right(comms: list[Any]) -> None:
    widget, comm = opened(comms)

    def work(node: str) -> None:
        for step in range(25):
            comm.deliver({"type": "edit", "id": node, "text": str(step / 100)})

    threads = [threading.Thread(target=work, args=(node,)) for node in ("P1.1", "P2.1", "P3")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [patch["rev"] for patch in comm.custom] == list(range(1, 76))
    final = resynthesize(demo_tree(), {"P1.1": 0.24, "P2.1": 0.24, "P3": 0.24}).after
    assert widget.tree["nodes"]["P0"]["p"] == final


def test_an_edit_sends_changed_rows_not_the_tree(comms: list[Any]) -> None:
    widget, comm = opened(comms)
    comm.deliver({"type": "edit", "id": "P2.1", "text": "0.0"})
    assert not any("tree" in update for update in comm.updates)
    # and yet a new view, or a saved notebook, gets the state after the edit
    assert widget.get_state("tree")["tree"]["nodes"]["P2.1"]["text"] == "0.0%"
    assert widget.tree["rev"] == 1 and widget.tree["edits"] == 1


@pytest.mark.parametrize("typed", ["1.2", "abc", "", "-1"])
def test_bad_input_is_answered_with_a_line_and_no_patch(comms: list[Any], typed: str) -> None:
    widget, comm = opened(comms)
    comm.deliver({"type": "edit", "id": "P2.1", "text": typed})
    (answer,) = comm.custom
    assert (answer["type"], answer["id"]) == ("refused", "P2.1")
    assert "type a number from 0 to 1" in answer["line"]
    assert widget.tree["nodes"]["P2.1"]["text"] == "50.0%"


def test_selecting_an_unknown_node_is_refused(comms: list[Any]) -> None:
    widget, _ = opened(comms)
    with pytest.raises(UsageError, match="no driver"):
        widget.selected = "P77"
    assert widget.selected == "P0"


def test_the_table_escapes_what_a_model_wrote() -> None:
    evil = "<img src=x onerror=alert(1)> & <script>alert(2)</script>"
    tree = Tree.root_only(evil).with_belief("P0", Belief(p=0.5, key_factor=evil))
    html = tree_html(tree)
    assert "<img" not in html and "<script" not in html
    assert html.count("&lt;img src=x onerror=alert(1)&gt;") == 2


def test_the_front_end_reads_no_text_as_markup_and_nothing_from_elsewhere() -> None:
    source = TreeWidget(demo_tree())._esm
    for forbidden in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "https://",
        "import(",
        "import ",
    ):
        assert forbidden not in source
    assert source.count("http://") == source.count("http://www.w3.org/2000/svg") == 1
