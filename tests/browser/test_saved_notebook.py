"""A notebook with a tree widget, saved: it shows a real tree without its kernel, in JupyterLab, nbconvert and GitHub."""

import json
import time
from typing import Any

import pytest

from tests.fakes.browser import TOKEN, Lab, Watched, shot
from tests.fakes.screens import demo_tree, make_run
from workbench.formatting import percent
from workbench.synthesis import resynthesize

pytestmark = [pytest.mark.browser, pytest.mark.long]

#: Another than the run of test_lab.py: JupyterLab and its data folder serve the whole session.
RUN = "20180630-120000-5b51"
CELL = f"""import os
os.environ["WORKBENCH_HOME"] = os.getcwd()
import workbench as wb
wb.open_run({RUN!r}).explorer()"""


def saved_outputs(lab: Lab, page: Any, name: str) -> list[Any]:
    end = time.monotonic() + 30
    while True:
        cells = json.loads((lab.home / name).read_text())["cells"]
        outputs = [output for cell in cells for output in cell.get("outputs", [])]
        if outputs:
            return outputs
        assert time.monotonic() < end, "Ctrl-S inside the tree did not save the notebook"
        page.wait_for_timeout(100)  # not sleep: the page's requests pass through this thread


@pytest.mark.soak  # tests/widgets/test_saved_outputs.py reads the same file in every run of the suite
def test_s1_a_saved_notebook_reopens_with_a_real_tree(lab: Lab, watched: Watched) -> None:
    """S1: A saved notebook reopens as "Error displaying widget: model not found"."""
    make_run(lab.home, RUN)
    lab.put("saved.ipynb", [CELL], "python3")
    page = watched.page
    page.goto(lab.page("saved.ipynb"))
    page.locator(".jp-Notebook .jp-Cell").first.wait_for(timeout=90_000)
    page.get_by_text("| Idle").wait_for(timeout=60_000)
    page.locator(".jp-Notebook .jp-Cell").first.click()
    page.keyboard.press("Shift+Enter")
    page.wait_for_selector('[role="treeitem"][data-id="P0"]', timeout=60_000)
    field = page.get_by_label("probability of P2.1", exact=True)
    field.fill("0.0")
    field.press("Enter")
    after = percent(resynthesize(demo_tree(), {"P2.1": 0.0}).after)
    page.wait_for_function(
        'text => document.querySelector(\'[data-id="P0"] [data-field="probability"]\')?.textContent === text',
        arg=after,
        timeout=30_000,
    )
    assert page.locator("table.wb-static").count() == 0, "the live view replaces the table"
    shot(page, "notebook_live")
    page.keyboard.press("Control+s")
    outputs = saved_outputs(lab, page, "saved.ipynb")
    assert len(outputs) == 1 and sorted(outputs[0]["data"]) == ["text/html", "text/plain"]

    # with the kernel alive a reload shows the live tree, with the edit
    page.goto(lab.page("saved.ipynb"))
    page.wait_for_selector('[role="treeitem"][data-id="P0"]', timeout=60_000)
    for session in lab.ask("/api/sessions"):
        lab.ask(f"/api/sessions/{session['id']}", method="DELETE")
    page.goto(lab.page("saved.ipynb"))
    page.wait_for_selector("table.wb-static", timeout=60_000)
    text = page.locator(".jp-OutputArea").first.inner_text()
    assert "65.8%" in text and "P2.1" in text and "model not found" not in text
    shot(page, "notebook_saved")


def test_the_launcher_has_cards_for_a_claim_the_newest_run_and_the_tutorial(
    lab: Lab, watched: Watched
) -> None:
    """S3: `wb lab` opens the bare data folder with workbench.db; tutorial is not there."""
    page = watched.page
    page.goto(f"{lab.url}/lab?token={TOKEN}&reset")
    card = page.locator('.jp-LauncherCard[title="State a claim"]')
    card.wait_for(timeout=90_000)
    assert page.locator('.jp-DirListing-item:has-text("tutorial.ipynb")').count() == 1
    assert page.locator('.jp-DirListing-item:has-text("workbench.db")').count() == 0
    shot(page, "lab_launcher")
    # Other tests of this server have clicked on the card too.
    before = set((lab.home / "notebooks").glob("Untitled*.ipynb"))
    card.click()
    page.get_by_text("%%proposition --cutoff").wait_for(timeout=60_000)
    assert len(set((lab.home / "notebooks").glob("Untitled*.ipynb")) - before) == 1
    assert watched.outside == []
