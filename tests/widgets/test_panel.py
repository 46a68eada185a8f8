"""A panel's content on a page that missed what was sent to it."""

from typing import Any

import pytest

from workbench.widgets.html_panel import Panel


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
