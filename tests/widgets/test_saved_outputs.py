"""What a saved notebook holds of our widgets, read where no kernel answers: nbconvert, GitHub, VS Code."""

from html import escape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbconvert import HTMLExporter

from tests.fakes.screens import RUN, STATEMENT, demo_tree
from workbench.formatting import percent
from workbench.propositions import Tree
from workbench.widgets.tree_widget import MOST_ROWS, tree_html

VIEWS = ("explorer", "dashboard", "scenario_view", "driver_view", "export_view", "live_view", "evidence_view")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A notebook of every widget, run in a kernel, saved with all that a front end would save, and read again."""
    from tests.fakes.screens import make_run

    folder = tmp_path_factory.mktemp("saved")
    make_run(folder / "home")
    first = (
        f"import os\nos.environ['WORKBENCH_HOME'] = {str(folder / 'home')!r}\nimport workbench as wb\n"
        f"analysis = wb.open_run({RUN!r})\nanalysis.what_if({{'P2.1': 0.0}}, scenario='draft')\nNone"
    )
    cells = [first, *(f"analysis.{name}()" for name in VIEWS)]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
    # The widgets' state is what Lab saves with "Save Widget State Automatically".
    NotebookClient(notebook, timeout=120, store_widget_state=True).execute()
    path = folder / "saved.ipynb"
    nbformat.write(notebook, path)
    return nbformat.read(path, as_version=4)


class Harmless(HTMLParser):
    """GitHub's reading: words and rows, without any attribute, and nothing of a script, style, frame, picture or form."""

    DROPPED_WHOLE = frozenset({"script", "style", "iframe", "svg", "select", "button"})

    def __init__(self) -> None:
        super().__init__()
        self.text: list[str] = []
        self.rows: list[str] = []
        self._inside = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside += tag in self.DROPPED_WHOLE
        if tag == "tr":
            self.rows.append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside -= tag in self.DROPPED_WHOLE

    def handle_data(self, data: str) -> None:
        if not self._inside:
            self.text.append(data)
            if self.rows:
                self.rows[-1] += data


def read_as_github_does(html: str) -> Harmless:
    reader = Harmless()
    reader.feed(html)
    return reader


def outputs(notebook: Any) -> dict[str, Any]:
    return {
        cell.source.split(".")[1].removesuffix("()"): cell.outputs
        for cell in notebook.cells
        if cell.source.startswith("analysis.")
    }


def test_each_widget_leaves_one_output_of_html_and_text(saved: Any) -> None:
    """Else a saved notebook reopens as "Error displaying widget: model not found"."""
    for name, made in outputs(saved).items():
        assert [sorted(output.data) for output in made] == [["text/html", "text/plain"]], name


@pytest.mark.parametrize("name", ["explorer", "dashboard", "live_view"])
def test_github_shows_the_tree_with_its_edit_though_it_drops_scripts_styles_and_frames(
    saved: Any, name: str
) -> None:
    (output,) = outputs(saved)[name]
    read = read_as_github_does(output.data["text/html"])
    text = " ".join(" ".join(read.text).split())
    assert [row.split()[0] for row in read.rows[1:]] == [node.id for node in demo_tree().propositions()]
    assert STATEMENT in text and "55.8%" in text and "65.8%" in text and "(edited)" in text


def test_nothing_in_any_of_them_runs_or_fetches(saved: Any) -> None:
    for name, (output,) in outputs(saved).items():
        html = output.data["text/html"]
        # a proof's frame is closed (``sandbox=""``), and its document carries its own style
        outside = html if name != "evidence_view" else html.partition("<iframe")[0]
        for never in (
            "<script",
            "<style",
            "<link",
            "javascript:",
            "http://",
            "https://",
            "onclick",
            "onload",
        ):
            assert never not in outside, (name, never)


@pytest.mark.parametrize("sanitize", [False, True])
def test_nbconvert_shows_the_tree(saved: Any, sanitize: bool) -> None:
    html, _ = HTMLExporter(sanitize_html=sanitize).from_notebook_node(saved)
    # As text of the outputs, not as a string within the saved state of the widgets.
    assert html.count(escape(STATEMENT)) >= 3 and "55.8%" in html and "VIX closes at or below 20" in html
    assert "model not found" not in html and "Loading widget" not in html


def test_a_large_tree_is_saved_by_its_upper_levels_and_says_what_is_left_out() -> None:
    tree = Tree.root_only("The claim")
    tree = tree.expand("P0", {f"P{n}": f"Part {n}" for n in range(1, 21)})
    for n in range(1, 21):
        tree = tree.expand(f"P{n}", {f"P{n}.{k}": f"Leaf {n}.{k}" for k in range(1, 51)})
    html = tree_html(tree)
    assert html.count("<tr>") == 1 + 21 and "1,000 more drivers" in html
    flat = Tree.root_only("The claim").expand("P0", {f"P{n}": f"Part {n}" for n in range(1, 1001)})
    assert tree_html(flat).count("<tr>") == 1 + MOST_ROWS and "601 more drivers" in tree_html(flat)
    assert "more drivers" not in tree_html(demo_tree()) and percent(demo_tree().root.p) in tree_html(
        demo_tree()
    )


def test_the_edits_of_a_large_tree_are_saved_with_their_path(tmp_path: Path) -> None:
    from tests.fakes.large_tree import large_tree
    from workbench.widgets.edits.edit_session import WhatIfSession

    session = WhatIfSession(large_tree(1111))
    leaf = next(reversed(list(session.tree.leaves())))
    assert f"<code>{leaf}</code>" not in tree_html(session)
    session.edit(leaf, "0.99")
    html = tree_html(session)
    for node in (leaf, *session.tree.ancestors(leaf)):
        assert f"<code>{node}</code>" in html
