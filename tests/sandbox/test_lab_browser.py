"""What hostile cells of an Analyst kernel can do in JupyterLab, beside an ordinary Python kernel where they can."""

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import FLAGS, WORKBENCH, find_chromium
from tests.browser.test_lab import TOKEN, answer

pytestmark = pytest.mark.browser

SET = "window.struck = (window.struck || []).concat('{name}')"
#: name: cell; each runs code of its own in the page that shows it
ATTACKS = {
    "html": "from IPython.display import HTML, display\ndisplay(HTML('''<script>{js}</script><img src=x onerror=\"{js}\">'''))",
    "data frame": "import pandas as pd\ndf = pd.DataFrame({{'a': ['''<img src=x onerror=\"{js}\">''']}})\n"
    "from IPython.display import HTML, display\ndisplay(HTML(df.to_html(escape=False)))",
    "javascript": "from IPython.display import Javascript, display\ndisplay(Javascript('''{js}'''))",
    "svg": "from IPython.display import display\ndisplay({{'image/svg+xml': '''<svg xmlns=\"http://www.w3.org/2000/svg\" "
    'width="9" height="9"><image href="x" onerror="{js}"/><script>{js}</script></svg>\'\'\'}}, raw=True)',
    "markdown": "from IPython.display import display\ndisplay({{'text/markdown': '''# t\\n\\n<img src=\"x\" onerror=\"{js}\">"
    "\\n\\n<script>{js}</script>'''}}, raw=True)",
}
#: a comm by hand, as anywidget would open it: works where the package is not installed too
WIDGET = """
import comm
code = "export default {{ render() {{ {js} }} }}"
state = {{"_model_module": "anywidget", "_model_name": "AnyModel", "_view_module": "anywidget", "_view_name": "AnyView",
         "_model_module_version": "{version}", "_view_module_version": "{version}", "_view_count": None,
         "_esm": code, "_anywidget_id": "hostile"}}
layout = comm.create_comm(target_name="jupyter.widget", data={{"state": {{"_model_module": "@jupyter-widgets/base",
    "_model_module_version": "2.0.0", "_model_name": "LayoutModel", "_view_module": "@jupyter-widgets/base",
    "_view_module_version": "2.0.0", "_view_name": "LayoutView"}}, "buffer_paths": []}}, metadata={{"version": "2.1.0"}})
state["layout"] = "IPY_MODEL_" + layout.comm_id
made = comm.create_comm(target_name="jupyter.widget", data={{"state": state, "buffer_paths": []}},
    metadata={{"version": "2.1.0"}})
from IPython.display import display
view = {{"version_major": 2, "version_minor": 0, "model_id": made.comm_id}}
display({{"application/vnd.jupyter.widget-view+json": view, "text/plain": "a widget"}}, raw=True)
"""


def _cells() -> list[str]:
    from importlib.metadata import version

    cells = [source.format(js=SET.format(name=name)) for name, source in ATTACKS.items()]
    anywidget = "~" + ".".join(version("anywidget").split(".")[:2]) + ".*"
    return [*cells, WIDGET.format(js=SET.format(name="widget"), version=anywidget), "print('the', 'end')"]


def _notebook(path: Path, kernel: str) -> None:
    cells = [
        {
            "cell_type": "code",
            "id": f"c{number}",
            "source": source,
            "metadata": {},
            "outputs": [],
            "execution_count": None,
        }
        for number, source in enumerate(_cells())
    ]
    spec = {"name": kernel, "display_name": kernel, "language": "python"}
    path.write_text(
        json.dumps({"cells": cells, "metadata": {"kernelspec": spec}, "nbformat": 4, "nbformat_minor": 5})
    )


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a JupyterLab that ``workbench lab`` started, with the hostile notebook for both kernels."""
    if find_chromium() is None and os.environ.get("REQUIRE_BROWSER") != "1":
        pytest.skip("no Chromium")
    home = tmp_path_factory.mktemp("lab")
    _notebook(home / "sealed.ipynb", "analyst")
    _notebook(home / "open.ipynb", "python3")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
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
    end = time.monotonic() + 120
    while True:
        try:
            answer(f"{address}/api/status")
            break
        except (urllib.error.URLError, ConnectionError):
            assert process.poll() is None and time.monotonic() < end, "JupyterLab did not come up"
            time.sleep(0.2)
    yield address
    process.terminate()
    process.wait(timeout=30)
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="module")
def page(lab: str) -> Iterator[Any]:
    """A page whose requests stay on this machine."""
    from playwright.sync_api import sync_playwright

    path = find_chromium()
    assert path is not None, "no Chromium: install one"
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=FLAGS)
        yield browser.new_page(viewport={"width": 1280, "height": 2400})
        browser.close()


def _run_all(lab: str, page: Any, notebook: str) -> set[str]:
    """Run every cell and return the names of the attacks that ran code in the page."""
    page.goto(f"{lab}/lab/tree/{notebook}?token={TOKEN}&reset")
    page.locator(".jp-Notebook .jp-Cell").first.wait_for(timeout=90_000)
    page.get_by_text("| Idle").wait_for(timeout=60_000)
    page.evaluate("() => { window.struck = []; }")
    page.locator(".jp-Notebook .jp-Cell").first.click()
    for _ in _cells():
        page.keyboard.press("Shift+Enter")
    page.locator(".jp-OutputArea-output", has_text="the end").wait_for(timeout=90_000)
    page.wait_for_timeout(2500)
    return set(page.evaluate("() => window.struck"))


def test_what_an_ordinary_kernel_shows_runs_in_the_page(lab: str, page: Any) -> None:
    # JupyterLab itself shows SVG as an image, whoever sends it
    expected = {"html", "data frame", "javascript", "markdown", "widget"}
    assert _run_all(lab, page, "open.ipynb") == expected


def test_nothing_an_analyst_kernel_shows_runs_in_the_page(lab: str, page: Any) -> None:
    assert _run_all(lab, page, "sealed.ipynb") == set()
    outputs = page.locator(".jp-OutputArea-output")
    assert outputs.count() >= 4  # the harmless part of what was shown is there
    assert page.locator(".jp-OutputArea-output script").count() == 0
    assert page.locator(".jp-OutputArea-output table").count() == 1
