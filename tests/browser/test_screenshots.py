"""The pictures of docs/ that no other test takes: the first page, a large tree, and the note."""

from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Served
from tests.browser.test_demo_dashboard import opened
from tests.command_line import run_cli
from tests.conftest import FinishedRun
from tests.fakes.browser import Watched, shot
from tests.fakes.large_tree import make_large_run

pytestmark = [pytest.mark.browser, pytest.mark.soak, pytest.mark.long]


def test_the_first_page_a_large_tree_and_the_note(
    served: Served, watched: Watched, shown_run: str, demo: FinishedRun, tmp_path: Path
) -> None:
    page: Any = watched.page
    large = make_large_run(served.home, 1111, "20180630-110000-1111")
    page.goto(served.url + "&run=")
    page.get_by_role("link", name="The S&P 500 closes higher").first.wait_for(timeout=60_000)
    shot(page, "home")
    opened(watched, f"{served.url}&run={large}")
    page.get_by_label("search the drivers").fill("number 77")
    page.get_by_text("found of").wait_for()
    page.wait_for_selector(".wb-badge[data-verdict]", timeout=60_000)
    shot(page, "large")
    opened(watched, shown_run)
    page.wait_for_selector(".wb-badge[data-verdict]", timeout=60_000)
    shot(page, "tree")
    note = tmp_path / "note.html"
    assert run_cli(demo.home, "export", demo.run_id, "-o", str(note)).returncode == 0
    page.set_content(note.read_text())
    shot(page, "note")
    watched.clean()
