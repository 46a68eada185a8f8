"""The workflow W1 (FEATURES, section 4) in JupyterLab, from a launcher's card to a file, and each tutorial to its end.

What axe-core is asked about, and what may log no error, is ours: the outputs of our cells. JupyterLab's own frame is not.
"""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.browser.test_workflows import saved
from tests.fakes.browser import TOKEN, Lab, Watched, axe_findings, shot, type_in
from workbench.cli.servers.lab import TUTORIALS

pytestmark = [pytest.mark.browser, pytest.mark.long]

#: Whether every code cell of a notebook has been run.
ALL_RUN = """() => { const prompts = [...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')].map((each) => each.textContent);
return prompts.length > 0 && prompts.every((each) => /\\d/.test(each)); }"""
OURS = (".wb-app", ".wb-tree", ".wb-static")


def from_card(lab: Lab, page: Any, card: str) -> None:
    """Click a card of the launcher and wait for its notebook and kernel."""
    page.goto(f"{lab.url}/lab?token={TOKEN}&reset")
    page.locator(f'.jp-LauncherCard[title="{card}"]').click()
    ready(page)


def ready(page: Any) -> None:
    page.locator(".jp-Notebook .jp-CodeCell").first.wait_for()
    page.get_by_text("| Idle").wait_for()  # a cell run before the kernel is connected is lost


def run_all(page: Any) -> None:
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()


def outputs_of(path: Path) -> list[Any]:
    """The outputs in a notebook's file; none while it is not saved."""
    return [output for cell in json.loads(path.read_text())["cells"] for output in cell.get("outputs", [])]


@pytest.mark.soak
def test_w1_a_claim_is_stated_grounded_edited_and_taken_away_as_a_note(
    lab: Lab, watched: Watched, themed: str, tmp_path: Path
) -> None:
    page = watched.page
    from_card(lab, page, "State a claim")
    page.locator(".jp-CodeCell .cm-content", has_text="%%proposition").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(
        "%%proposition --cutoff 2018-11-01 --max-leaves 3\nVIX closes above 20 on 2018-12-31"
    )
    run_all(page)
    page.get_by_text("drivers have evidence").first.wait_for()
    page.locator(".wb-row").first.wait_for(timeout=240_000)
    page.locator(".wb-taking select").wait_for(state="attached")
    assert page.locator('[data-mime-type="application/vnd.jupyter.stderr"]').count() == 0
    leaves = page.locator('.wb-row[data-kind="leaf"]')
    for place, text in ((0, "0.3"), (1, "60%")):
        type_in(page, leaves.nth(place).get_attribute("data-id"), text)
    note = saved(page, "note, HTML", tmp_path).read_text()
    assert "VIX closes above 20 on 2018-12-31" in note and "draft" in note
    shot(page, "lab-w1")
    assert axe_findings(page, *OURS) == []
    watched.clean()


@pytest.mark.soak
@pytest.mark.parametrize("name", [name for name in TUTORIALS if name != "live_model.ipynb"])  # needs a server
def test_a_tutorial_opens_and_runs_to_its_end(lab: Lab, watched: Watched, name: str) -> None:
    page = watched.page
    page.goto(lab.page(f"notebooks/{name}"))
    ready(page)
    run_all(page)
    page.wait_for_function(ALL_RUN, timeout=400_000)
    assert page.locator('[data-mime-type="application/vnd.jupyter.error"]').count() == 0
    page.keyboard.press("Control+s")
    path, end = lab.home / "notebooks" / name, time.monotonic() + 60
    while not (cells := outputs_of(path)):
        assert time.monotonic() < end, "it was not saved"
        page.wait_for_timeout(200)
    assert not [output for output in cells if output["output_type"] == "error"]
    assert "widget-view+json" not in path.read_text()
    watched.clean()
