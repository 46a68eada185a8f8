"""Every tutorial runs from its first cell to its last, in an ordinary kernel, one home for all: no key, no network."""

import os
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from tests.command_line import cli_environment
from tests.fakes.model_policy import Policy
from tests.fakes.openai_server import OpenAIServer

pytestmark = pytest.mark.long

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"
#: The page of a run is no tutorial: it is shown by ``workbench serve`` (tests/browser).
GO_ON = ("tutorial", "review")
OTHERS = sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb") if path.stem not in {*GO_ON, "dashboard"})
#: What a cell of each must have shown.
SHOWN = {"own_data": "own:orders", "track_record": "26 past dates", "live_model": "P1.2"}


def texts(outputs: list[Any]) -> str:
    """What a notebook's cells printed and showed as text."""
    return "\n".join(
        str(output.get("text") or output.get("data", {}).get("text/plain", "")) for output in outputs
    )


def pictured(output: Any) -> bool:
    """Whether an output is a picture, or a page with one."""
    data = output.get("data", {})
    return "image/png" in data or "<svg" in data.get("text/html", "")


@pytest.mark.parametrize("name", [*GO_ON, *OTHERS])
def test_a_tutorial_runs_to_its_end(
    name: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    # What goes on with the newest run finds that of the first tutorial; the others have the home of a new reader.
    home = tmp_path_factory.getbasetemp() / "first" if name in GO_ON else tmp_path
    home.mkdir(exist_ok=True)
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    nbformat.validate(notebook)
    with OpenAIServer(Policy()) as server:
        environment = cli_environment(home, MODEL="openai/tutorial", MODEL_SERVER=server.url)
        NotebookClient(
            notebook, timeout=240, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
        ).execute(env={**environment, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)})
    shown = texts([output for cell in notebook.cells for output in cell.get("outputs", [])])
    assert SHOWN.get(name, "") in shown, shown[-2000:]
    assert "workbench: " not in shown  # a command that `!` ran and that refused
    assert any(pictured(output) for cell in notebook.cells for output in cell.get("outputs", []))
