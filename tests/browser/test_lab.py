"""The same dashboard in JupyterLab, where later messages of a widget arrive on other threads than the first."""

import json
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.conftest import WORKBENCH, Watched, shot
from tests.fakes.screens import RUN, demo_tree, make_run
from workbench.synthesis import resynthesize
from workbench.widgets.wording import percent

pytestmark = pytest.mark.browser

TOKEN = "a-token-of-this-test"
CELL = """from pathlib import Path
from workbench.engine import load_run
from workbench.widgets import dashboard
dashboard(load_run(Path("."), RUN))"""


def answer(url: str) -> Any:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    request = urllib.request.Request(url, headers={"Authorization": f"token {TOKEN}"})
    with opener.open(request, timeout=10) as reply:
        return json.load(reply)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a JupyterLab that ``workbench lab`` started in a folder with one run and one notebook."""
    home = tmp_path_factory.mktemp("lab")
    make_run(home)
    cell = {
        "cell_type": "code",
        "id": "look",
        "source": CELL.replace("RUN", repr(RUN)),
        "metadata": {},
        "outputs": [],
    }
    cells = [{**cell, "execution_count": None}]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    (home / "look.ipynb").write_text(json.dumps(notebook))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    # settings of the person who runs the tests must neither rule here nor be changed
    private = {
        name: str(home / ".jupyter")
        for name in ("JUPYTER_CONFIG_DIR", "JUPYTERLAB_SETTINGS_DIR", "JUPYTERLAB_WORKSPACES_DIR")
    }
    process = subprocess.Popen(
        [*WORKBENCH, "lab", "--no-browser", "--port", str(port)],
        env={**os.environ, **private, "WORKBENCH_HOME": str(home), "JUPYTER_TOKEN": TOKEN},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{port}"
    end = time.monotonic() + 90
    while time.monotonic() < end:
        try:
            answer(f"{address}/api/status")
            break
        except (urllib.error.URLError, ConnectionError):
            assert process.poll() is None, "JupyterLab ended by itself"
            time.sleep(0.2)
    yield address
    process.terminate()
    process.wait(timeout=30)
    with pytest.raises((urllib.error.URLError, ConnectionError)):  # nothing of it is left behind
        answer(f"{address}/api/status")


def test_the_analyst_kernel_is_offered(lab: str) -> None:
    specs = answer(f"{lab}/api/kernelspecs")["kernelspecs"]
    assert specs["analyst"]["spec"]["display_name"] == "Analyst"


def test_two_edits_in_jupyterlab_move_the_root_twice(lab: str, watched: Watched) -> None:
    page = watched.page
    page.goto(f"{lab}/lab/tree/look.ipynb?token={TOKEN}")
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
