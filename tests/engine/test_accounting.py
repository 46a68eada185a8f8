"""What a leaf's conclusion accounts with, and what its cells took, as ``evidence`` and ``verify`` show it: a whole run in a kernel."""

import asyncio
import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sandbox.record.journal import read_journal
from tests.command_line import run_ok
from tests.fakes.asking_run import Provider
from tests.fakes.notebook_run import open_notebook_run, work_in_kernels
from workbench.api.operation_function import shown_answer
from workbench.engine.proof_check import verify_run
from workbench.engine.record.run_files import notebook_name
from workbench.models.base import ModelReply, ModelRequest, Usage
from workbench.operations.base import Home
from workbench.operations.evidence import Evidence
from workbench.store import Store

FAKE = "def CALL_API(path, params=None):\n    return [{'date': '2018-12-31', 'value': 9999.0}]"
READ = "rows = CALL_API('embedded/series/observations', {'series_id': 'SP500', 'start': '2018-06-01'})"


class Inventing(Provider):
    """Replaces `CALL_API`, reads, prints a share of 0.093 of 614 windows, and concludes with another of its own."""

    def answer(self, request: ModelRequest, text: str = "", usage: Usage | None = None) -> ModelReply:
        said = {
            "base_rate": 0.93,
            "n": 614,
            "inside_view": 0.09,
            "p_true": 0.5,
            "low": 0.6,
            "high": 0.7,
            "key_factor": "k",
        }
        text = f"The share was 0.093.\n\n```json\n{json.dumps(said)}\n```"
        if request.stage == "step":
            cells = [FAKE, READ, "print(rows[-1]['date'], 'share of windows 0.093, n 614')"]
            text = "\n".join(f"<python_cell>\n{source}\n</python_cell>" for source in cells)
        return super().answer(request, text, usage)


@pytest.mark.long
def test_evidence_names_the_cell_behind_each_figure_and_what_cells_took(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with closing(Store(home)) as store:
        run_id = open_notebook_run(store, cells=1)
        state = asyncio.run(work_in_kernels(store, run_id, Inventing(), leaves=2))
        (leaf, *_) = state.tree.leaves()
        document: dict[str, Any] = shown_answer(
            Evidence(run=run_id, node=leaf), Home(environ={}, folder=store.home)
        )
        assert document["accounting"] == [
            {"name": "base rate", "value": 0.93, "cell": None},
            {"name": "n", "value": 614, "cell": "cell-003"},
            {"name": "inside view", "value": 0.09, "cell": "cell-003"},
            {"name": "low", "value": 0.6, "cell": None},
            {"name": "high", "value": 0.7, "cell": None},
        ]
        assert [cell["findings"] for cell in document["cells"]] == [
            ["It replaced or deleted CALL_API of the kernel, which was put back."], [], [],
        ]  # fmt: skip
        # the restored name read the source, so the leaf has a data call and nothing of the day after the cutoff
        assert [call["cell"] for call in document["calls"]] == ["cell-002"]
        assert (
            "2018-06-29 share of windows"
            in (store.folder(run_id) / "proofs" / notebook_name(leaf, 1)).read_text()
        )
        assert "**Contradiction.** The reply states p 0.5 with low 0.6 and high 0.7" in document["report"]
        (journal, *_) = sorted((store.folder(run_id) / "sessions").glob("*.jsonl"))
        assert read_journal(journal)[-1].source.startswith(
            "**From no cell**: base rate 0.93, low 0.6, high 0.7."
        )
        checked = asyncio.run(verify_run(store, run_id))
        assert checked.differing == [] and state.verified(leaf)
        # a finding taken out of the notebook is seen
        notebook = store.folder(run_id) / "proofs" / notebook_name(leaf, 1)
        whole = notebook.read_text()
        notebook.write_text(whole.replace("It replaced or deleted", "It left alone"))
        differing = asyncio.run(verify_run(store, run_id)).differing
        assert [(row["cell"], row["what"]) for row in differing] == [
            ("cell-001", "its findings were changed")
        ]
        notebook.write_text(whole)
    shown = run_ok(tmp_path, "evidence", run_id, leaf)
    assert [line.split() for line in shown.splitlines() if line.startswith(("base rate", "n  "))] == [
        ["base", "rate", "0.93", "from", "no", "cell"],
        ["n", "614", "cell-003"],
    ]
    assert "It replaced or deleted CALL_API" in shown
