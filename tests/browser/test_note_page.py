"""The note in a real browser: on a phone and a desk, light and dark, on paper; it asks nobody for anything."""

from contextlib import closing
from pathlib import Path

import pytest

from tests.conftest import FinishedRun
from tests.fakes.browser import SCREENSHOTS, Watched
from workbench.packages.export import export_run
from workbench.store import Store

pytestmark = [pytest.mark.browser, pytest.mark.long]


@pytest.fixture(scope="module")
def page_file(demo: FinishedRun, tmp_path_factory: pytest.TempPathFactory) -> Path:
    with closing(Store(demo.home / "home")) as store:
        data, _ = export_run(store, demo.run_id, "html")
    path = tmp_path_factory.mktemp("note") / "note.html"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("width", "scheme"), [(390, "light"), (390, "dark"), (1280, "dark"), (1920, "light")]
)
def test_the_note_fits_the_screen_and_asks_nobody(
    watched: Watched, demo: FinishedRun, page_file: Path, width: int, scheme: str
) -> None:
    # by content and not by address, which the recorder of requests would count
    watched.page.set_viewport_size({"width": width, "height": 900})
    watched.page.emulate_media(color_scheme=scheme)
    watched.page.set_content(page_file.read_text(), wait_until="load")
    watched.clean()
    shown = watched.page.evaluate(
        "() => ({over: document.documentElement.scrollWidth - innerWidth,"
        " ground: getComputedStyle(document.body).backgroundColor,"
        " plots: [...document.images].filter(i => i.naturalWidth > 100 && i.alt.length > 20).length,"
        " bars: document.querySelectorAll('svg.bar[role=img]').length})"
    )
    assert shown["over"] <= 0
    assert (shown["ground"] == "rgb(255, 255, 255)") == (scheme == "light")
    drivers = len(demo.leaves)
    assert shown["plots"] >= drivers and shown["bars"] == drivers
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    watched.page.screenshot(path=SCREENSHOTS / f"note_{width}_{scheme}.png")
