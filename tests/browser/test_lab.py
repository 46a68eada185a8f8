"""The same dashboard in JupyterLab, where later messages of a widget arrive on other threads than the first."""

from typing import Any

import pytest

from tests.fakes.browser import Lab, Watched, open_tab, shot
from tests.fakes.screens import RUN, demo_tree, make_run
from workbench.formatting import percent
from workbench.synthesis import resynthesize

pytestmark = [pytest.mark.browser, pytest.mark.long]

CELL = f"""from pathlib import Path
from workbench.views.run_view import load_run
from workbench.widgets import dashboard
dashboard(load_run(Path("."), {RUN!r}))"""
OTHER = "20180628-120000-2ab2"


def test_the_analyst_kernel_is_offered(lab: Lab) -> None:
    specs = lab.ask("/api/kernelspecs")["kernelspecs"]
    assert specs["analyst"]["spec"]["display_name"] == "Analyst"


def test_two_edits_in_jupyterlab_move_the_root_twice_and_undo_is_of_what_was_used_last(
    lab: Lab, watched: Watched
) -> None:
    make_run(lab.home)
    make_run(lab.home, OTHER)
    lab.put("look.ipynb", [CELL, "1 + 1", CELL.replace(RUN, OTHER)], "python3")
    page = watched.page
    page.goto(lab.page("look.ipynb"))
    page.locator(".jp-Notebook .jp-Cell").first.wait_for()
    page.get_by_text("| Idle").wait_for()  # a cell run before the kernel is connected is lost
    page.locator(".jp-Notebook .jp-Cell").first.click()
    for _ in range(3):
        page.keyboard.press("Shift+Enter")
    page.wait_for_selector('[role="treeitem"][data-id="P0"]')
    for p in ("0.0", "0.9"):
        field = page.get_by_label("probability of P2.1", exact=True).first
        field.fill(p)
        field.press("Enter")
        expected = percent(resynthesize(demo_tree(), {"P2.1": float(p)}).after)
        for selector in ('[data-id="P0"] [data-field="probability"]', '.wb-header [data-field="root"]'):
            page.wait_for_function(
                "([selector, text]) => document.querySelector(selector)?.textContent === text",
                arg=[selector, expected],
            )
    shot(page, "jupyterlab")
    undo_is_of_what_was_used_last(page)
    assert watched.outside == []


def undo_is_of_what_was_used_last(page: Any) -> None:
    """Ctrl-Z with two dashboards in a notebook, of which the first has P2.1 at 0.0 and then 0.9."""
    values = "() => [...document.querySelectorAll('[data-id=\"P2.1\"] .wb-input')].map((each) => each.value)"

    def become(*wanted: str) -> None:
        page.wait_for_function(f"wanted => String(({values})()) === String(wanted)", arg=wanted)
        page.wait_for_timeout(200)
        assert page.evaluate(values) == list(wanted)

    titles, editors = page.locator(".wb-header h1"), page.locator(".jp-CodeCell .cm-content")
    titles.nth(1).wait_for()
    become("0.9", "0.5")
    second = page.get_by_label("probability of P2.1", exact=True).nth(1)
    second.fill("0.3")
    second.press("Enter")
    become("0.9", "0.3")
    # JupyterLab's own: in a cell's editor, and with a cell selected.
    editors.nth(1).click()
    page.keyboard.type("23")
    page.keyboard.press("Control+z")
    page.wait_for_function(
        "() => document.querySelectorAll('.jp-CodeCell .cm-content')[1].textContent === '1 + 1'"
    )
    become("0.9", "0.3")
    page.keyboard.press("Escape")
    page.keyboard.press("Control+z")
    become("0.9", "0.3")
    # A text field of ours: the typing goes, nothing else does.
    open_tab(page, "What-if")
    page.get_by_text("Sign the next edits").first.click()
    name = page.locator(".wb-what-if .wb-author input").first
    name.click()
    page.keyboard.type("Ann")
    page.keyboard.press("Control+z")
    assert name.input_value() in ("", "A", "An")  # at least the last letter; a browser groups as it likes
    assert page.locator(".jp-CodeCell").count() == 4, "no cell came or went: the last run added an empty one"
    become("0.9", "0.3")
    # A title takes no focus: the cell around it gets it, and the undo is that of the dashboard all the same.
    titles.nth(0).click()
    page.keyboard.press("Control+z")
    become("0", "0.3")
    titles.nth(1).click()
    page.keyboard.press("Control+z")
    become("0", "0.5")
    page.keyboard.press("Control+Shift+Z")
    become("0", "0.3")
    open_tab(page, "Evidence")
    page.frame_locator("iframe.wb-frame").first.locator("body").click()
    page.keyboard.press("Control+z")
    become("0", "0.3")
