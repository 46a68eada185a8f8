"""What stands above the fold without a scroll or a click: for who types a claim, and for who opens a colleague's package."""

import time
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import serving
from tests.command_line import run_cli
from tests.fakes.browser import Watched, axe_findings, shot
from tests.fakes.small_run import RUN, make_small_run

pytestmark = [pytest.mark.browser, pytest.mark.long]

CLAIM = "The S&P 500 closes higher on 2018-12-31 than on 2018-06-29"
SCREEN = {"width": 1440, "height": 900}


def above_the_fold(page: Any, *places: str) -> None:
    for place in places:
        box = page.locator(place).first.bounding_box()
        assert box is not None and box["y"] + box["height"] <= SCREEN["height"], (place, box)


def test_a_typed_claim_shows_history_before_evidence_and_the_whole_answer_without_a_scroll(
    tmp_path: Path, watched: Watched
) -> None:
    page = watched.page
    page.set_viewport_size(SCREEN)
    with serving(tmp_path / "home", page=page) as served:
        page.goto(served.url)
        page.wait_for_selector(".wb-claim textarea")
        page.locator(".wb-claim textarea").fill(CLAIM)
        page.wait_for_function("() => document.querySelector('.wb-readings').textContent")
        page.get_by_role("button", name="Analyze claim", exact=True).click()
        began = time.monotonic()
        base_rate = page.locator('[data-field="base-rate"]')
        base_rate.wait_for()
        # before any driver has its value: what history says, and where the claim's own simulation stands
        assert "68.9%" in base_rate.inner_text()
        early = time.monotonic() - began
        above_the_fold(page, "h1", '[data-field="base-rate"]', '[data-field="resolution"]')
        page.wait_for_selector(".wb-badge[data-verdict]", timeout=240_000)
        assert early < time.monotonic() - began
        above_the_fold(
            page,
            "h1",
            '[data-field="base-rate"]',
            '[data-field="root"]',
            '[data-field="outcome"]',
            '[data-field="sentence"]',
            ".wb-series",
            ".wb-verbs",
        )
        assert "points" in page.locator('[data-field="sentence"]').inner_text()
        for button in ("Change a driver", "What would make it 50%?", "Read the evidence", "Watch claim"):
            assert page.get_by_role("button", name=button).is_visible()
        assert axe_findings(page) == []
        shot(page, "walk-answer")
        page.get_by_role("button", name="Change a driver").click()
        assert page.get_by_role("tab", name="Drivers").get_attribute("aria-selected") == "true"
        watched.clean()


def test_a_colleagues_package_says_where_it_comes_from_and_what_was_checked_without_a_scroll(
    tmp_path: Path, watched: Watched
) -> None:
    make_small_run(tmp_path / "theirs")
    package = tmp_path / "small.zip"
    sent = run_cli(tmp_path, "export", RUN, "-o", str(package), WORKBENCH_HOME=str(tmp_path / "theirs"))
    assert sent.returncode == 0, sent.stderr
    home = tmp_path / "ours"
    taken = run_cli(tmp_path, "import", str(package), WORKBENCH_HOME=str(home))
    assert taken.returncode == 0, taken.stderr
    page = watched.page
    page.set_viewport_size(SCREEN)
    with serving(home, page=page) as served:
        page.goto(served.url)
        page.locator(".wb-claim-table tbody a").first.click()
        page.wait_for_selector(".wb-badge[data-verdict]", timeout=120_000)
        loud = page.locator(".wb-loud", has_text="Imported")
        assert loud.first.is_visible()
        above_the_fold(page, "h1", ".wb-loud", '[data-field="root"]', '[data-field="sentence"]')
        assert axe_findings(page) == []
        shot(page, "walk-package")
        watched.clean()
