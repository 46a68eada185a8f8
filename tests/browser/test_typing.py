"""Fast typing: few messages while a text is written, and no button acts on the beginning of one."""

from typing import Any

import pytest

from tests.browser.conftest import Served
from tests.browser.test_workflows import opened
from tests.fakes.browser import Watched, open_tab, type_in

pytestmark = [pytest.mark.browser, pytest.mark.long]

#: Whatever Python says comes late, as from a machine that is busy; in order still.
SLOW_ANSWERS = """
const Fast = WebSocket;
window.WebSocket = class extends Fast {
  set onmessage(handler) { super.onmessage = (event) => setTimeout(() => handler(event), 1500); }
};
"""
#: Longer than typing pauses until a text is sent, shorter than a slow answer takes.
PAUSE_MS = 600


def test_no_button_outruns_the_text_that_was_typed_before_it(served: Served, watched: Watched) -> None:
    page = watched.page
    page.add_init_script(SLOW_ANSWERS)
    opened(served, watched, "typed fast")
    type_in(page, "P2.1", "0.2")
    open_tab(page, "What-if")
    page.get_by_placeholder("name of a scenario").focus()
    page.keyboard.type("oil")
    save = page.get_by_role("button", name="Save scenario", exact=True)
    save.and_(page.locator(":enabled")).wait_for()
    # one text is on its way, and the next is held back until Python has answered
    page.keyboard.type(" stays")
    page.wait_for_timeout(PAUSE_MS)
    page.keyboard.type(" firm")
    save.click()
    page.get_by_text("Saved as oil").wait_for()
    assert "Saved as oil stays firm." in page.locator(".wb-scenarios").inner_text()
    watched.clean()


def test_a_claim_is_read_while_it_is_typed_and_not_at_every_letter(served: Served, watched: Watched) -> None:
    page = watched.page
    sent: list[bytes] = []
    page.on("websocket", lambda made: made.on("framesent", lambda frame: sent.append(as_bytes(frame))))
    page.goto(f"{served.url}&run=")
    claim = page.locator(".wb-claim textarea")
    claim.wait_for()
    claim.focus()
    page.keyboard.type("VIX closes above 2", delay=30)
    page.keyboard.type("0 on 2018-12-31", delay=30)
    page.get_by_role("button", name="Analyze claim", exact=True).and_(page.locator(":enabled")).wait_for()
    assert page.evaluate("document.activeElement.nodeName") == "TEXTAREA", "read while it is being written"
    texts = [frame for frame in sent if b'"value":"VIX' in frame]
    assert 1 <= len(texts) <= 4, texts
    watched.clean()


def as_bytes(frame: Any) -> bytes:
    return frame.encode() if isinstance(frame, str) else bytes(frame)
