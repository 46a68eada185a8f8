"""``workbench verify``: evidence that was touched is found, evidence that was not passes, offline."""

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest

from tests.command_line import run_cli
from tests.conftest import FinishedRun

#: The cheapest leaf of the demo to re-run: monthly data, no simulation.
LEAF = "P4"


@pytest.fixture
def copy(demo: FinishedRun, tmp_path: Path) -> Path:
    shutil.copytree(demo.home / "home", tmp_path / "home")
    return tmp_path


def notebook(home: Path, run_id: str) -> Path:
    return home / "home" / "runs" / run_id / "proofs" / f"{LEAF}.ipynb"


def change_output(home: Path, run_id: str) -> None:
    path = notebook(home, run_id)
    book = nbformat.read(path, as_version=4)
    cell = next(cell for cell in book.cells if cell.get("outputs"))
    cell.outputs[0].text = "another number\n"
    nbformat.write(book, path)


def reorder_cells(home: Path, run_id: str) -> None:
    path = notebook(home, run_id)
    book = nbformat.read(path, as_version=4)
    book.cells[0], book.cells[2] = book.cells[2], book.cells[0]
    nbformat.write(book, path)


def change_journal(home: Path, run_id: str) -> None:
    path = home / "home" / "runs" / run_id / "sessions" / f"{LEAF}.1.1.jsonl"
    text = path.read_text()
    assert "CALL_API" in text
    path.write_text(text.replace("CALL_API", "call_api", 1))


def change_answer_and_its_hash(home: Path, run_id: str) -> None:
    """Put another answer into the ledger, filed under its own true hash, and say so in its meta."""
    with sqlite3.connect(home / "home" / "workbench.db") as db:
        row = db.execute("SELECT id, answer, meta FROM api_calls WHERE node = ? LIMIT 1", (LEAF,)).fetchone()
        data = json.loads(db.execute("SELECT data FROM bodies WHERE hash = ?", (row[1],)).fetchone()[0])
        data[-1]["value"] += 1.0
        raw = json.dumps(data, separators=(",", ":"), sort_keys=True).encode()
        digest = "sha256:" + hashlib.sha256(raw).hexdigest()
        meta = json.loads(row[2]) | {"content_hash": digest}
        db.execute("INSERT INTO bodies VALUES (?, ?)", (digest, raw))
        db.execute(
            "UPDATE api_calls SET answer = ?, meta = ? WHERE id = ?", (digest, json.dumps(meta), row[0])
        )
    db.close()


def change_probability(home: Path, run_id: str) -> None:
    with sqlite3.connect(home / "home" / "workbench.db") as db:
        db.executescript(
            "DROP TRIGGER events_keep; UPDATE events SET data = json_set(data, '$.p', 0.5)"
            f" WHERE kind = 'leaf.grounded' AND node = '{LEAF}'"
        )
    db.close()


def test_every_proof_of_the_demo_was_verified_when_it_concluded(demo: FinishedRun) -> None:
    assert {leaf["id"]: leaf["verified"] for leaf in demo.leaves} == {
        leaf["id"]: True for leaf in demo.leaves
    }


def test_an_untouched_proof_is_verified_again(demo: FinishedRun) -> None:
    done = run_cli(demo.home, "verify", demo.run_id, LEAF, "--json")
    assert done.returncode == 0, done.stdout
    result = json.loads(done.stdout)
    assert result["verified"] is True and result["differing"] == [] and result["cells"] >= 5


@pytest.mark.parametrize(
    ("damage", "check"),
    [
        (change_output, "notebook"),
        (reorder_cells, "notebook"),
        (change_journal, "chain"),
        (change_answer_and_its_hash, "ledger"),
        (change_probability, "conclusion"),
    ],
)
def test_touched_evidence_is_found(
    copy: Path, demo: FinishedRun, damage: Callable[[Path, str], None], check: str
) -> None:
    damage(copy, demo.run_id)
    done = run_cli(copy, "verify", demo.run_id, LEAF, "--json")
    assert done.returncode == 6, done.stderr
    result = json.loads(done.stdout)
    assert result["verified"] is False
    assert check in {row["check"] for row in result["differing"]}


@pytest.mark.parametrize(("node", "word"), [("P0", "no finished evidence"), ("P77", "P77")])
def test_what_has_no_proof_is_refused(demo: FinishedRun, node: str, word: str) -> None:
    done = run_cli(demo.home, "verify", demo.run_id, node)
    assert done.returncode == 2 and word in done.stderr
