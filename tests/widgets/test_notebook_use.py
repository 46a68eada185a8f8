"""What a person in a notebook sees: ``import workbench as wb`` and nothing else."""

import json
from pathlib import Path

import pytest

import workbench as wb


def test_an_analysis_shows_itself_as_a_table(analysis: wb.Analysis) -> None:
    html = analysis._repr_html_()
    assert html.startswith("<table") and "65.8%" in html and "−0.15 + 0.80 × P2.1" in html


def test_a_proof_shows_itself_in_a_closed_frame(analysis: wb.Analysis) -> None:
    html = analysis.proof("P2.1")._repr_html_()
    assert (
        html.startswith("<iframe style=") and ' sandbox="" ' in html and "VIX closes at or below 20" in html
    )


@pytest.mark.parametrize("name", ["dashboard", "tutorial", "review"])
def test_notebooks_that_ship_are_valid_unexecuted_and_use_public_names(name: str) -> None:
    import nbformat

    path = Path(__file__).resolve().parents[2] / "notebooks" / f"{name}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    source = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    assert all(
        not cell.outputs and cell.execution_count is None
        for cell in notebook.cells
        if cell.cell_type == "code"
    )
    imports = [line for line in source.splitlines() if line.startswith(("import ", "from "))]
    assert set(imports) <= {
        "import workbench as wb",
        "import os",
        "import pandas as pd",
        "from workbench.widgets import open_dashboard",
    }
    used = {part.split("(")[0] for part in source.replace("\n", " ").split() if part.startswith("wb.")}
    assert {name.removeprefix("wb.") for name in used} <= set(wb.__all__)
    assert json.loads(path.read_text())["metadata"]["kernelspec"]["name"] == "python3"
