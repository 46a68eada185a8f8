"""A kernel that draws its page late, or loses it: the page arrives all the same, and whole."""

import time
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import serving
from tests.fakes.browser import Watched, type_in
from tests.fakes.screens import RUN

pytestmark = [pytest.mark.browser, pytest.mark.long]

#: A page asks its kernel for all widgets at once, waits four seconds for that, and then asks for one after another.
DRAWN_AFTER_SECONDS = 7.0
#: Run by IPython when a kernel starts: the drawing of an address is slow, that of the page which nobody sees is not.
STARTUP = f"""
import time
from workbench.widgets import home_page
drawn = home_page.open_dashboard
def open_dashboard(environ):
    if environ.get("WORKBENCH_WIDGET"):
        time.sleep({DRAWN_AFTER_SECONDS})
    return drawn(environ)
home_page.open_dashboard = open_dashboard
"""
#: Notes whatever the page says of a server that is gone, or of a drawing that came to nothing.
WATCH_WORDS = """() => void setInterval(() => {
  const banner = document.querySelector('.wb-banner');
  const said = [banner && !banner.hidden ? banner.textContent : '', document.getElementById('loading')?.textContent ?? ''];
  window.saidMeanwhile = [...new Set([...(window.saidMeanwhile ?? []), ...said.map((each) => each.trim())])];
}, 50)"""


def run_in_kernels(code: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have IPython run some code when a kernel starts."""
    startup = folder / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (startup / "00-first.py").write_text(code)
    monkeypatch.setenv("IPYTHONDIR", str(folder))


def test_a_page_that_is_drawn_for_long_arrives_whole_and_is_never_called_lost(
    run_home: Path, tmp_path: Path, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_in_kernels(STARTUP, tmp_path, monkeypatch)
    page = watched.page
    with serving(run_home, RUN, page=page) as running:
        begun = time.monotonic()
        page.goto(f"{running.url}&scenario=slow", wait_until="commit")
        page.evaluate(WATCH_WORDS)
        page.wait_for_selector('[role="treeitem"]', timeout=120_000)
        assert time.monotonic() - begun > DRAWN_AFTER_SECONDS
        assert page.locator('[role="treeitem"]').count() == 9
        page.wait_for_selector(".wb-badge[data-verdict]")
        page.wait_for_selector(".wb-spent", state="attached")
        type_in(page, "P2.1", "0.123")
        page.wait_for_selector('[data-id="P2.1"][data-edited="true"]')
        assert set(page.evaluate("window.saidMeanwhile")) <= {"", "Opening the run"}
    watched.clean()


#: The first page drawn is lost before the browser asks for it.
LOSES_ONE = """
from pathlib import Path
from workbench.widgets import home_page
drawn = home_page.open_dashboard
def open_dashboard(environ):
    page = drawn(environ)
    if environ.get("WORKBENCH_WIDGET") and not Path({marker!r}).exists():
        Path({marker!r}).touch()
        page.close()
    return page
home_page.open_dashboard = open_dashboard
"""


def test_a_page_whose_widget_is_lost_is_drawn_by_another_kernel(
    run_home: Path, tmp_path: Path, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    marker = tmp_path / "lost"
    run_in_kernels(LOSES_ONE.format(marker=str(marker)), tmp_path, monkeypatch)
    with serving(run_home, RUN, page=watched.page) as running:
        watched.page.goto(running.url)
        watched.page.wait_for_selector('[role="treeitem"]', timeout=120_000)
        assert marker.exists()
        assert watched.page.evaluate("sessionStorage.length") == 0
    watched.clean()


@pytest.mark.parametrize(("refused", "comes"), [(1, True), (10, False)])
def test_a_page_whose_kernel_has_ended_is_drawn_by_another_or_says_that_it_does_not_come_up(
    refused: int, comes: bool, run_home: Path, watched: Watched
) -> None:
    asked: list[str] = []

    def refuse(route: Any) -> None:
        kernel = route.request.url.partition("/api/kernels/")[2][:36]
        asked.extend({kernel}.difference(asked))
        if asked.index(kernel) < refused:
            route.fulfill(status=404, json={"message": "Kernel does not exist"})
        else:
            route.continue_()

    watched.page.route("**/api/kernels/*", refuse)
    with serving(run_home, RUN, page=watched.page) as running:
        watched.page.goto(running.url)
        if comes:
            watched.page.wait_for_selector('[role="treeitem"]')
        else:
            watched.page.get_by_text("The page does not come up. Reload it").wait_for()
        assert len(asked) == (2 if comes else 3)
        assert watched.page.evaluate("sessionStorage.length") == 0
