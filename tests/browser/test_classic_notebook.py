"""The classic notebook (nbclassic), where somebody has it: cells are live there, and a saved file is a table without its kernel.

It is no part of the test install: as an extension it would alter every JupyterLab that the other tests start.
"""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.browser import ROOT, TOKEN, Lab, Watched, editor, shot, wait_for_text
from tests.fakes.screens import RUN, demo_tree, make_run
from workbench.formatting import percent
from workbench.synthesis import resynthesize
from workbench.whatif.saved_scenarios import SavedScenarios

pytestmark = [pytest.mark.browser, pytest.mark.long]

CELLS = [
    f"import workbench as wb\nanalysis = wb.open_run({RUN!r})",
    "analysis.explorer()",
    "analysis.scenario_view()",
]


@pytest.fixture
def classic(tmp_path: Path) -> Iterator[Lab]:
    """A classic notebook server in an empty folder."""
    pytest.importorskip("nbclassic", reason="no nbclassic here: pip install 'nbclassic>=1.3,<2'")
    home = tmp_path / "home"
    home.mkdir()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "nbclassic", "--no-browser", "--allow-root", f"--port={port}"]
    process = subprocess.Popen(
        command,
        cwd=home,
        env={
            **os.environ,
            "JUPYTER_CONFIG_DIR": str(home / ".jupyter"),
            "WORKBENCH_HOME": str(home),
            "JUPYTER_TOKEN": TOKEN,
        },
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    made = Lab(f"http://127.0.0.1:{port}", home)
    end = time.monotonic() + 100
    while True:
        try:
            made.ask("/api/status")
            break
        except (urllib.error.URLError, ConnectionError):
            assert process.poll() is None and time.monotonic() < end, "the classic notebook did not come up"
            time.sleep(0.2)
    yield made
    process.terminate()
    process.wait(timeout=30)


def opened(classic: Lab, page: Any) -> None:
    """Open the notebook and wait for its kernel."""
    page.goto(f"{classic.url}/notebooks/look.ipynb?token={TOKEN}")
    page.wait_for_selector(".code_cell", timeout=60_000)
    page.wait_for_function("() => window.Jupyter?.notebook?.kernel?.is_connected()", timeout=60_000)


def test_a_notebook_is_live_in_the_classic_page_and_reopens_as_a_table_without_its_kernel(
    classic: Lab, watched: Watched
) -> None:
    make_run(classic.home)
    classic.put("look.ipynb", CELLS, "python3")
    page = watched.page
    opened(classic, page)
    page.evaluate("Jupyter.notebook.execute_all_cells()")
    page.wait_for_selector(".wb-scenarios .wb-compare", timeout=60_000)
    editor(page, "P2.1").fill("0.0")
    editor(page, "P2.1").press("Enter")
    after = percent(resynthesize(demo_tree(), {"P2.1": 0.0}).after)
    wait_for_text(page, ROOT, after)
    page.get_by_placeholder("name of a scenario").fill("calm")
    page.get_by_role("button", name="Save scenario").click()
    page.get_by_text("Saved as calm.").wait_for(timeout=30_000)
    assert [row["name"] for row in SavedScenarios(classic.home, RUN).table()["scenarios"]] == ["calm"]
    shot(page, "nbclassic-live")

    page.evaluate(
        "Jupyter.notebook.execute_all_cells()"
    )  # an output holds the edits of when its cell was run
    page.locator(".input_prompt", has_text="[6]").wait_for(timeout=60_000)  # all three have been run twice
    page.evaluate("Jupyter.notebook.save_notebook()")
    cells = json.loads((classic.home / "look.ipynb").read_text())["cells"]
    kinds = [sorted(output["data"]) for cell in cells for output in cell["outputs"]]
    assert kinds == [["text/html", "text/plain"]] * 2, "no model of a kernel that is gone"

    for session in classic.ask("/api/sessions"):
        classic.ask(f"/api/sessions/{session['id']}", method="DELETE")
    opened(classic, page)  # with another kernel, in which nothing was run
    page.wait_for_selector("table.wb-static", timeout=30_000)
    assert page.locator('[role="treeitem"]').count() == 0
    assert after in page.locator("table.wb-static tr", has_text="P0").first.inner_text()
    shot(page, "nbclassic-saved")
    assert watched.outside == []
