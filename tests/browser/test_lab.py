"""The same dashboard in JupyterLab, where later messages of a widget arrive on other threads than the first."""

import pytest

from tests.fakes.browser import Lab, Watched, shot
from tests.fakes.screens import RUN, demo_tree, make_run
from workbench.engine.wording import percent
from workbench.synthesis import resynthesize

pytestmark = pytest.mark.browser

CELL = f"""from pathlib import Path
from workbench.engine import load_run
from workbench.widgets import dashboard
dashboard(load_run(Path("."), {RUN!r}))"""


def test_the_analyst_kernel_is_offered(lab: Lab) -> None:
    specs = lab.ask("/api/kernelspecs")["kernelspecs"]
    assert specs["analyst"]["spec"]["display_name"] == "Analyst"


def test_two_edits_in_jupyterlab_move_the_root_twice(lab: Lab, watched: Watched) -> None:
    make_run(lab.home)
    lab.put("look.ipynb", [CELL], "python3")
    page = watched.page
    page.goto(lab.page("look.ipynb"))
    page.locator(".jp-Notebook .jp-Cell").first.wait_for(timeout=90_000)
    page.get_by_text("| Idle").wait_for(timeout=60_000)  # a cell run before the kernel is connected is lost
    page.locator(".jp-Notebook .jp-Cell").first.click()
    page.keyboard.press("Shift+Enter")
    page.wait_for_selector('[role="treeitem"][data-id="P0"]', timeout=60_000)
    for p in ("0.0", "0.9"):
        field = page.get_by_label("probability of P2.1", exact=True)
        field.fill(p)
        field.press("Enter")
        expected = percent(resynthesize(demo_tree(), {"P2.1": float(p)}).after)
        for selector in ('[data-id="P0"] [data-field="probability"]', '.wb-header [data-field="root"]'):
            page.wait_for_function(
                "([selector, text]) => document.querySelector(selector)?.textContent === text",
                arg=[selector, expected],
                timeout=30_000,
            )
    shot(page, "jupyterlab")
    assert watched.outside == []
