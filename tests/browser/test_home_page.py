"""A Monday morning with 34 runs, by clicks and keys: what moved, what failed, two claims side by side, a star that stays."""

from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from proxies.asof.clock import Cutoff
from tests.browser.conftest import serving
from tests.fakes.browser import Watched, axe_findings, shot
from workbench.engine.new_run import new_run
from workbench.engine.record.fold import load_state
from workbench.engine.run_settings import with_preset
from workbench.packages.package import adopt_tree
from workbench.propositions import Belief, Tree
from workbench.store import Store
from workbench.store import events as ev

pytestmark = [pytest.mark.browser, pytest.mark.long]

DAY = (datetime.now(UTC) + timedelta(days=120)).date()
#: By letters: a digit that is searched for may stand in the day too.
CLAIMS = [f"Claim {letter * 3} holds by {DAY}" for letter in "abcdefghijklmnop"]


def make_desk(home: Path) -> str:
    """Thirty-three answers to sixteen claims, the last of which moved most, and a run that failed; returns that one's id."""
    with closing(Store(home)) as store:
        for number in range(33):
            claim = CLAIMS[number % 16]
            p = 0.4 + (number % 16) / 50 + (0.3 if number == 32 else 0)
            tree = Tree.root_only(claim).with_belief("P0", Belief(p=p, key_factor="", report=""))
            adopt_tree(store, tree, cutoff="2026-01-01", package=f"sha256:{number:064d}")
        failed = new_run(
            store, f"It rains by {DAY}", Cutoff.parse("2026-01-01"), with_preset("product", model="m")
        )
        store.append(failed, ev.RunStopped(why="failure", detail="the provider refused the key"))
        return failed


def columns(page: Any, name: str) -> list[str]:
    return [each.inner_text() for each in page.locator(f'td[data-column="{name}"]').all()]


def keys_and_commands(page: Any) -> None:
    """`?` lists the keys, Ctrl-K does what is typed, and Escape leads back to the page."""
    page.locator(".wb-header h1").click()
    page.keyboard.press("?")
    page.locator("dialog.wb-overlay[open]").get_by_text("next claim, previous claim").wait_for()
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    page.keyboard.type("new claim")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.nodeName") == "TEXTAREA"
    # a template fills the field in, and can be started as it stands
    page.get_by_label("cutoff: a date, or now").fill("2018-06-30")
    page.get_by_label("template").select_option("touches a level")
    page.get_by_text("Read as: WTI crude oil touches 80 through 2018-12-31").wait_for()
    assert page.get_by_role("button", name="Analyze claim", exact=True).is_enabled()


def comment_and_export(page: Any, folder: Path) -> None:
    """On a run's page: a comment, and the note."""
    page.get_by_role("tab", name="Review", exact=True).click()
    page.get_by_placeholder("comment for whoever reads this run").fill("Moved most: why?")
    page.get_by_role("button", name="Comment", exact=True).click()
    page.locator(".wb-review .wb-comments").get_by_text("Moved most: why?").wait_for()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download").click()
    assert "Moved most: why?" in Path(waiting.value.path()).read_text()


#: Counts what a person clicks, over the pages of one tab.
COUNT_CLICKS = "addEventListener('click', (event) => event.isTrusted && event.detail && (sessionStorage.clicks = Number(sessionStorage.clicks ?? 0) + 1), true)"


def clicks(page: Any) -> int:
    return int(page.evaluate("Number(sessionStorage.clicks ?? 0)"))


def test_a_monday_morning(tmp_path: Path, watched: Watched) -> None:
    failed = make_desk(tmp_path / "home")
    page = watched.page
    page.add_init_script(COUNT_CLICKS)
    with serving(tmp_path / "home", page=page) as served:
        page.goto(served.url)
        page.wait_for_selector(".wb-claim-table tbody tr")
        # seen without a click: what failed, and why
        needed = page.locator(f'.wb-acts li[data-run="{failed}"]')
        assert "the provider refused the key" in needed.inner_text()
        assert needed.get_by_role("button", name="Retry run").is_visible()
        assert page.locator(".wb-claim-table tbody tr").count() == 17
        # one click: what moved most stands first, with its course
        page.get_by_role("button", name="Since last look", exact=True).click()
        first = page.locator(".wb-claim-table tbody tr").first
        assert CLAIMS[0] in first.inner_text() and "+30.0 points" in first.inner_text()
        assert first.locator("svg.wb-spark").get_attribute("aria-label").startswith("3 answers:")
        course = first.locator("svg.wb-spark polyline").get_attribute("points").split()
        heights = [float(each.split(",")[1]) for each in course]
        assert heights[0] - heights[-1] == 16  # 30 points fill the height there is
        assert clicks(page) == 1
        # two clicks and one more: side by side
        for row in page.locator(".wb-claim-table tbody tr").all()[:2]:
            row.get_by_role("checkbox").check()
        page.get_by_role("button", name="Compare 2 runs").click()
        page.locator(".wb-compared").wait_for()
        assert clicks(page) == 4
        # any table goes along, with all digits
        page.get_by_label("Differences only").check()
        page.locator(".wb-compared tbody tr", has_text="Cutoff").wait_for(state="hidden")
        page.locator(".wb-compared tbody tr").first.hover()
        with page.expect_download() as waiting:
            page.locator(".wb-table-bar").get_by_role("button", name="CSV").click()
        saved_rows = Path(waiting.value.path()).read_text().splitlines()
        assert saved_rows[1] == "Probability,0.7,0.7" and saved_rows[0].endswith(f"{CLAIMS[0]},{CLAIMS[15]}")
        # one click: the failure is tried again, and says why it cannot be
        needed.get_by_role("button", name="Retry run").click()
        page.wait_for_function("() => document.querySelector('.wb-claims .wb-line').textContent")
        assert clicks(page) == 7
        # by keys: search, walk, watch, open
        page.keyboard.press("Escape")
        page.locator(".wb-header h1").click()
        page.keyboard.press("/")
        page.keyboard.type("jjj")
        page.wait_for_function("() => document.querySelectorAll('.wb-claim-table tbody tr').length === 1")
        page.keyboard.press("Tab")
        page.locator(".wb-header h1").click()
        page.keyboard.press("j")
        page.keyboard.press("s")
        page.wait_for_selector('.wb-star[aria-pressed="true"]')
        run = page.locator(".wb-claim-table tbody tr").first.get_attribute("data-run")
        with closing(Store(tmp_path / "home")) as store:
            assert "watch" in load_state(store, run).annotations.tags
        for theme in ("light", "dark"):
            page.evaluate(f"document.querySelector('.wb-claims-head button:last-child').textContent.toLowerCase() === '{theme}'"
                          " && document.querySelector('.wb-claims-head button:last-child').click()")  # fmt: skip
            assert axe_findings(page) == [], theme
        page.set_viewport_size({"width": 390, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        shot(page, "home-390")
        page.set_viewport_size({"width": 1280, "height": 800})
        page.locator(".wb-claims-head .wb-search").fill("")
        shot(page, "home-34")
        keys_and_commands(page)
        before = clicks(page)
        page.locator(f'tr[data-run="{run}"] td[data-column="claim"] > a').click()
        page.wait_for_selector('[role="treeitem"]')
        comment_and_export(page, tmp_path)
        # what was looked at has not moved since; what was dismissed stays so, and can be had back
        page.goto(served.url)
        looked = page.locator(f'tr[data-run="{run}"] td[data-column="change"]')
        looked.wait_for()
        assert looked.inner_text() == "" and "last opened" in looked.get_attribute("title")
        needed.get_by_role("button", name="dismiss").click()
        page.reload()
        page.get_by_role("button", name="Show 1 dismissed").click()
        needed.wait_for()
        assert clicks(page) - before <= 6
        watched.clean()
