"""What axe-core finds in our cells of JupyterLab, with every rule of it on, in both themes of JupyterLab's own.

It is asked about the outputs of our cells: JupyterLab's frame around them is not ours.
"""

from typing import Any

import pytest

from tests.browser.test_lab_workflows import OURS, ready, run_all
from tests.fakes.browser import Lab, Watched, axe_findings, editor, open_tab, shot, type_in
from tests.fakes.screens import make_run
from workbench.widgets.run_tabs import TABS

pytestmark = [pytest.mark.browser, pytest.mark.long]

VIEWS = ("explorer", "scenario_view", "driver_view", "evidence_view", "export_view", "live_view")


def open_cells(lab: Lab, watched: Watched, run: str, *cells: str) -> Any:
    """Run cells that look at a run in a notebook of their own; returns the page, high enough that none of them is parked."""
    page = watched.page
    page.set_viewport_size({"width": 1280, "height": 3700})
    name = f"axe-{run}.ipynb"
    lab.put(name, [f"import workbench as wb\nanalysis = wb.open_run({run!r})", *cells], "python3")
    page.goto(lab.page(name))
    ready(page)
    run_all(page)
    return page


@pytest.mark.parametrize("themed", ["light", "dark"], indirect=True)
def test_axe_finds_nothing_in_the_views_of_cells(lab: Lab, watched: Watched, themed: str) -> None:
    run = make_run(lab.home, f"20180630-120000-a{len(themed)}e1")
    page = open_cells(lab, watched, run, *(f"analysis.{view}()" for view in VIEWS))
    page.locator('[data-live="true"]').nth(len(VIEWS) - 1).wait_for()
    field = editor(page, "P2.1").first  # the tree stands in the live view too
    field.fill("0.2")
    field.press("Enter")
    page.wait_for_selector(".wb-what-if tbody tr")
    assert page.evaluate("document.body.dataset.jpThemeLight") == str(themed == "light").lower()
    shot(page, f"lab-views-{themed}")
    assert axe_findings(page, *OURS) == []
    watched.clean()


@pytest.mark.parametrize("themed", ["light", "dark"], indirect=True)
def test_axe_finds_nothing_on_any_tab_of_the_dashboard_in_a_cell(
    lab: Lab, watched: Watched, themed: str
) -> None:
    run = make_run(lab.home, f"20180630-120000-a{len(themed)}e2")
    page = open_cells(lab, watched, run, "analysis.dashboard()")
    page.wait_for_selector(".wb-badge[data-verdict]")
    type_in(page, "P2.1", "0.2")
    page.wait_for_selector(".wb-what-if tbody tr", state="attached")
    for _, name in TABS:
        open_tab(page, name)
        shot(page, f"lab-{name.lower()}-{themed}")
        assert axe_findings(page, *OURS) == [], name
    watched.clean()
