"""docs/dashboard.png, the page of the demo as a newcomer sees it, and docs/screens/sheet-*.png: home and every tab at each width and theme.

``python -m tests.browser.demo_picture`` runs the demo in a home of its own and takes the pictures anew; `make screenshots` calls it. Each
lies in ``out/screenshots`` then, the sheets show them side by side.
"""

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import copyfile
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

from tests.browser.test_home_page import make_desk
from tests.fakes.browser import FLAGS, SCREENSHOTS, WORKBENCH, find_chromium, open_tab
from workbench.widgets.run_tabs import TABS

DOCS = Path(__file__).resolve().parents[2] / "docs"
WAIT_MS = 240_000
#: Widths with the height of the window, and the share of its size at which a sheet shows it.
WIDTHS = {1440: (900, 0.5), 1024: (768, 0.5), 390: (844, 0.8)}
THEMES = ("light", "dark")
HOMES = ("home-0", "home-34", "home-1")
#: Pictures of docs/screens by themselves: the name there, and which of them it is.
SINGLE = {
    "home": "home-1-light-1440",
    "home-34": "home-34-dark-1440",
    "home-390": "home-34-light-390",
    "answer-dark-390": "answer-dark-390",
    **{name: f"{name}-light-1440" for name, _ in TABS},
}


def main() -> None:
    """Run the demo, serve it, take the pictures."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        for name in HOMES:
            home = Path(folder) / name
            if name == "home-1":
                # The tests' own runs go without a record: what they import has turned it off.
                environ = {**os.environ, "WORKBENCH_HOME": str(home), "WORKBENCH_RECORD": "on"}
                subprocess.run([*WORKBENCH, "demo"], env=environ, check=True, stdout=subprocess.DEVNULL)
            elif name == "home-34":
                make_desk(home)
            with served(home) as url:
                if name == "home-1":
                    take_run(page, f"{url}&run=last")
                page.goto(f"{url}&run=", timeout=WAIT_MS)
                page.wait_for_selector(".wb-claim textarea", timeout=WAIT_MS)
                page.wait_for_selector(".wb-own-sources", timeout=WAIT_MS)
                take(page, name)
                if name == "home-1":
                    take_first_screen(page, f"{url}&run=last")
        browser.close()
    for width in WIDTHS:
        for theme in THEMES:
            make_sheet(width, theme)
    for name, source in SINGLE.items():
        copyfile(SCREENSHOTS / f"{source}.png", DOCS / "screens" / f"{name}.png")


@contextmanager
def served(home: Path) -> Iterator[str]:
    """Serve a home, and give its address."""
    environ = {**os.environ, "WORKBENCH_HOME": str(home)}
    process = subprocess.Popen([*WORKBENCH, "serve"], env=environ, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield next(found[0] for line in process.stdout if (found := re.search(r"http://\S+", line)))
    finally:
        process.terminate()
        process.wait(60)


def take_first_screen(page: Any, url: str) -> None:
    """Take the demo's page as it opens, once its record is measured, which takes minutes on a busy machine."""
    page.set_viewport_size({"width": 1280, "height": 800})
    page.emulate_media(color_scheme="light")
    page.goto(url, timeout=WAIT_MS)
    page.wait_for_selector(".wb-badge[data-verdict]", timeout=WAIT_MS)
    page.get_by_text("past dates").first.wait_for(timeout=2 * WAIT_MS)
    page.screenshot(path=DOCS / "dashboard.png")


def take_run(page: Any, url: str) -> None:
    """Take the page of the demo's run, tab by tab."""
    page.goto(url, timeout=WAIT_MS)
    for part in ('[role="treeitem"]', ".wb-badge[data-verdict]"):
        page.wait_for_selector(part, timeout=WAIT_MS)
    # The chart of the series comes with the record, which takes minutes on a busy machine.
    page.locator("svg.fan").wait_for(timeout=2 * WAIT_MS)
    # A driver is selected, so that there is evidence to see; the last tab shows a hypothetical state.
    page.locator('[data-kind="leaf"]').first.click()
    for name, label in TABS:
        open_tab(page, label)
        if name == "what-if":
            field = page.locator('[data-kind="leaf"] input').first
            field.fill("0.3")
            field.press("Enter")
            page.wait_for_selector('[data-edited="true"]', timeout=WAIT_MS)
            field.press("Escape")
        elif name == "review":
            page.get_by_role("button", name="Reset all").first.click()
        take(page, name)


def take(page: Any, name: str) -> None:
    """Take a page from its beginning at every width in both themes."""
    page.mouse.move(0, 0)  # what a table offers under the pointer is out of sight
    for theme in THEMES:
        page.emulate_media(color_scheme=theme)
        page.wait_for_timeout(2500)  # the frame of a proof is drawn anew for another theme
        for width, (height, _) in WIDTHS.items():
            page.set_viewport_size({"width": width, "height": height})
            page.evaluate("document.querySelector('.wb-header').scrollIntoView()")
            page.wait_for_timeout(400)
            page.screenshot(path=SCREENSHOTS / f"{name}-{theme}-{width}.png")


def make_sheet(width: int, theme: str) -> None:
    """Put all pages of a width and theme side by side into one picture."""
    height, share = WIDTHS[width]
    size = (int(width * share), int(height * share))
    across, down = size[0] + 12, size[1] + 12
    sheet = Image.new("RGB", (4 * across, 2 * down), "#8a94a0")
    for place, name in enumerate((*sorted(HOMES), *(name for name, _ in TABS))):
        with Image.open(SCREENSHOTS / f"{name}-{theme}-{width}.png") as picture:
            part = picture.convert("RGB").resize(size, Image.Resampling.LANCZOS)
        sheet.paste(part, (place % 4 * across + 6, place // 4 * down + 6))
    sheet.save(DOCS / "screens" / f"sheet-{width}-{theme}.png")


def make_small(folder: Path) -> None:
    """Write pictures of screens with 160 colours: a third of the bytes.

    Those that are far apart are kept: by how often they occur, the red and the amber of a few letters would turn grey.
    """
    for path in folder.glob("*.png"):
        with Image.open(path) as picture:
            few = picture.convert("RGB").quantize(160, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        few.save(path, optimize=True)


if __name__ == "__main__":
    main()
    make_small(DOCS / "screens")
