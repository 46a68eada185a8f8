"""A page beside busy loops on every processor never says that its server is gone: busy is told from dead."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest

from tests.browser.conftest import Served
from tests.fakes.browser import Watched, type_in

pytestmark = [pytest.mark.browser, pytest.mark.long, pytest.mark.soak]

#: Notes each time that the banner of a lost server comes into sight, on whichever page of the tab.
COUNT_BANNERS = """() => void setInterval(() => {
  const banner = document.querySelector('.wb-banner');
  if (banner && !banner.hidden) sessionStorage.lost = Number(sessionStorage.lost ?? 0) + 1;
}, 100)"""
#: Longer than a page waits for a word of its server before it calls it lost.
STAYS_SECONDS = 12


@pytest.fixture
def busy_processors() -> Iterator[None]:
    """A loop on every processor, at the same priority as the page's server."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    yield
    for loop in loops:
        loop.kill()
        loop.wait()


@pytest.mark.parametrize("times", [2, 100])
def test_no_false_no_answer_beside_busy_loops(
    served: Served, watched: Watched, busy_processors: None, times: int
) -> None:
    page = watched.page
    for number in range(times):
        page.goto(f"{served.url}&{urlencode({'scenario': f'busy {time.monotonic_ns()}'})}")
        page.evaluate(COUNT_BANNERS)  # no script of every frame's: the proof's runs none, and says so
        page.wait_for_selector(".wb-badge[data-verdict]", timeout=120_000)
        type_in(page, "P2.1", f"0.{100 + number}")
        page.wait_for_timeout(1000 * STAYS_SECONDS)
        assert page.evaluate("Number(sessionStorage.lost ?? 0)") == 0, f"said in run {number + 1}"
    watched.clean()
