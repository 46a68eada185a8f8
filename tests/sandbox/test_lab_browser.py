"""What hostile cells of an Analyst kernel can do in JupyterLab, beside an ordinary Python kernel where they can."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.fakes.browser import Lab, patient

pytestmark = [pytest.mark.browser, pytest.mark.long]

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


@pytest.fixture(scope="module")
def page(chromium: Any) -> Iterator[Any]:
    """A page whose requests stay on this machine."""
    made = patient(chromium.new_page(viewport={"width": 1280, "height": 2400}))
    yield made
    made.close()


def _run_all(page: Any, lab: Lab, kernel: str) -> set[str]:
    """Run every cell in this kernel and return the names of the attacks that ran code in the page."""
    lab.put(f"{kernel}.ipynb", _cells(), kernel)
    page.goto(lab.page(f"{kernel}.ipynb"))
    page.locator(".jp-Notebook .jp-Cell").first.wait_for()
    page.get_by_text("| Idle").wait_for()
    page.evaluate("() => { window.struck = []; }")
    page.locator(".jp-Notebook .jp-Cell").first.click()
    for _ in _cells():
        page.keyboard.press("Shift+Enter")
    page.locator(".jp-OutputArea-output", has_text="the end").wait_for()
    page.wait_for_timeout(2500)
    return set(page.evaluate("() => window.struck"))


def test_what_an_ordinary_kernel_shows_runs_in_the_page(page: Any, lab: Lab) -> None:
    # JupyterLab itself shows SVG as an image, whoever sends it
    expected = {"html", "data frame", "javascript", "markdown", "widget"}
    assert _run_all(page, lab, "python3") == expected


def test_nothing_an_analyst_kernel_shows_runs_in_the_page(page: Any, lab: Lab) -> None:
    assert _run_all(page, lab, "analyst") == set()
    outputs = page.locator(".jp-OutputArea-output")
    assert outputs.count() >= 4  # the harmless part of what was shown is there
    assert page.locator(".jp-OutputArea-output script").count() == 0
    assert page.locator(".jp-OutputArea-output table").count() == 1
