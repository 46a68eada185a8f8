"""The pictures of docs/ that no other test takes: the first page, a large tree, scenarios, and the note."""

from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Served
from tests.command_line import run_ok
from tests.conftest import FinishedRun
from tests.fakes.browser import Watched, open_run_page, open_tab, shot
from tests.fakes.large_tree import make_large_run

pytestmark = [pytest.mark.browser, pytest.mark.soak, pytest.mark.long]


def test_the_first_page_a_large_tree_and_the_note(
    served: Served, watched: Watched, shown_run: str, demo: FinishedRun, tmp_path: Path
) -> None:
    page: Any = watched.page
    large = make_large_run(served.home, 1111, "20180630-110000-1111")
    page.goto(served.url + "&run=")
    page.get_by_role("link", name="The S&P 500 closes higher").first.wait_for()
    shot(page, "home")
    open_run_page(page, f"{served.url}&run={large}")
    page.get_by_label("search the drivers").fill("number 77")
    page.get_by_text("found of").wait_for()
    page.wait_for_selector(".wb-badge[data-verdict]")
    shot(page, "large")
    open_run_page(page, shown_run)
    page.wait_for_selector(".wb-badge[data-verdict]")
    open_tab(page, "What-if")
    page.locator(".wb-scenarios").scroll_into_view_if_needed()
    shot(page, "dashboard-scenarios")
    note = tmp_path / "note.html"
    run_ok(demo.home, "export", demo.run_id, "-o", str(note))
    page.set_content(note.read_text())
    shot(page, "note")
    watched.clean()
