"""docs/dashboard.png: the page of the demo as a newcomer sees it, with its checks and its record.

``python -m tests.browser.demo_picture`` runs the demo in a home of its own and takes the picture anew; `make screenshots` calls it.
"""

import os
import re
import subprocess
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from tests.fakes.browser import FLAGS, WORKBENCH, find_chromium

PICTURE = Path(__file__).resolve().parents[2] / "docs" / "dashboard.png"
WAIT_MS = 240_000


def main() -> None:
    """Run the demo, serve it, take the picture."""
    with tempfile.TemporaryDirectory() as home:
        environ = {**os.environ, "WORKBENCH_HOME": home}
        subprocess.run([*WORKBENCH, "demo"], env=environ, check=True, stdout=subprocess.DEVNULL)
        served = subprocess.Popen(
            [*WORKBENCH, "serve", "last"], env=environ, stdout=subprocess.PIPE, text=True
        )
        assert served.stdout is not None
        try:
            url = next(found[0] for line in served.stdout if (found := re.search(r"http://\S+", line)))
            with sync_playwright() as driver:
                browser = driver.chromium.launch(executable_path=find_chromium(), args=FLAGS)
                page = browser.new_page(viewport={"width": 1280, "height": 800})
                page.goto(url, timeout=WAIT_MS)
                for part in ('[role="treeitem"]', ".wb-badge[data-verdict]"):
                    page.wait_for_selector(part, timeout=WAIT_MS)
                page.get_by_text("past cutoffs").first.wait_for(timeout=WAIT_MS)
                page.screenshot(path=PICTURE)
                browser.close()
        finally:
            served.terminate()
            served.wait(60)


def make_small(folder: Path) -> None:
    """Write pictures of screens with 96 colours: a third of the bytes, and no difference that is seen."""
    for path in folder.glob("*.png"):
        with Image.open(path) as picture:
            few = picture.convert("RGB").quantize(96, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
        few.save(path, optimize=True)


if __name__ == "__main__":
    main()
    make_small(Path("docs/screens"))
