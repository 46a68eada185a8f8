"""What a proof that a person opens starts with: the journal of its own last attempt says it, and nothing where there is none."""

import os
from pathlib import Path

import pytest

from sandbox import JournalBroken
from sandbox.cell_library import CellLibrary, library_path
from sandbox.jupyter.provisioner import ProofBefore, proof_before
from sandbox.record.journal import Journal

OLD, NEW = CellLibrary.of({"a": "1\n"}), CellLibrary.of({"a": "2\n"})


@pytest.fixture
def proofs(tmp_path: Path) -> Path:
    (tmp_path / "proofs").mkdir()
    sessions = tmp_path / "sessions"
    sessions.mkdir()
    attempts = (("P1.1.1", OLD), ("P1.1.2", NEW), ("P1.2.1", OLD), ("P1.1.1.1", OLD))
    for moment, (name, library) in enumerate(attempts):
        library.file_in(sessions)
        journal = Journal(sessions / f"{name}.jsonl")
        journal.append("open", name=name, title="", metadata={"cutoff": f"2018-06-{moment + 10}"})
        journal.append("library", sha256=library.digest)
        journal.close()
        os.utime(sessions / f"{name}.jsonl", (moment, moment))
    return tmp_path / "proofs"


@pytest.mark.parametrize(
    ("notebook", "library", "cutoff"),
    [
        ("runs/x/proofs/P1.ipynb", NEW, "2018-06-11"),
        ("P1.t2.ipynb", OLD, "2018-06-12"),
        ("P1.1.ipynb", OLD, "2018-06-13"),
        ("P9.ipynb", None, ""),
        (".*.ipynb", None, ""),
    ],
)
def test_it_is_what_the_last_attempt_had(
    proofs: Path, notebook: str, library: CellLibrary | None, cutoff: str
) -> None:
    assert proof_before(proofs, {"JPY_SESSION_NAME": notebook}) == ProofBefore(library, cutoff)


def test_anywhere_else_there_is_nothing_and_an_altered_text_is_refused(proofs: Path) -> None:
    assert proof_before(proofs.parent, {}) == proof_before(None, {}) == ProofBefore()
    library_path(proofs.parent / "sessions", NEW.digest).write_text("{}")
    with pytest.raises(JournalBroken, match="was altered"):
        proof_before(proofs, {"JPY_SESSION_NAME": "P1.ipynb"})


@pytest.mark.parametrize(
    ("metadata", "cutoff"),
    [
        ({"cutoff": "live"}, ""),
        ({"cutoff": " NOW "}, ""),
        ({"cutoff": "2999-01-01"}, ""),
        ({"cutoff": "9999-12-31T23:59:59-12:00"}, ""),
        ({"cutoff": "soon"}, ""),
        ({"cutoff": ["2018-06-30"]}, ""),
        (["2018-06-30"], ""),
        (None, ""),
        ({"cutoff": "2018-06-30"}, "2018-06-30"),
        ({"cutoff": "2018-06-30T12:00Z"}, "2018-06-30T12:00Z"),
    ],
)
def test_a_strangers_journal_holds_data_back_and_opens_nothing(
    tmp_path: Path, metadata: object, cutoff: str
) -> None:
    (tmp_path / "sessions").mkdir()
    journal = Journal(tmp_path / "sessions" / "P1.1.1.jsonl")
    journal.append("open", name="P1.1.1", title="", metadata=metadata)
    journal.close()
    assert proof_before(tmp_path / "proofs", {"JPY_SESSION_NAME": "P1.ipynb"}) == ProofBefore(None, cutoff)
