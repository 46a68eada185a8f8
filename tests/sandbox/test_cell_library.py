"""Source that cells may import: mounted at every level, filed by its hash, and the same when a proof is run again."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox import JournalBroken, Sandbox, SessionSpec
from sandbox.cell_library import CellLibrary, library_path, named_library
from sandbox.record.journal import Journal, read_lines
from sandbox.record.verify import compare_proof
from tests.sandbox.conftest import LEVELS, echo, verify_proof

LIBRARY = CellLibrary.of(
    {
        "tools.sums": "from tools.parts.one import ONE\n\ndef add(a):\n    return a + ONE\n",
        "tools.parts.one": "ONE = 1\n",
        "json": "stolen = True\n",
    }
)
OTHER = CellLibrary.of({"tools.sums": "def add(a):\n    return a - 1\n"})
CELL = "from tools.sums import add\nprint(add(41))"


@pytest.fixture
async def proof(box: Sandbox, spec_for: Callable[..., SessionSpec]) -> SessionSpec:
    spec = replace(spec_for(), library=LIBRARY)
    session = await box.open(spec, echo)
    assert (await session.execute(CELL)).text() == "42"
    await session.close()
    return spec


@pytest.mark.long
@pytest.mark.parametrize("level", LEVELS)
async def test_a_cell_imports_it_at_every_level_and_nothing_installed_is_hidden(
    box: Sandbox, spec_for: Callable[..., SessionSpec], level: str
) -> None:
    if level not in (await box.probe()).available:
        pytest.skip(f"level {level} cannot be made here")
    session = await box.open(replace(spec_for(level=level), library=LIBRARY), echo)
    assert (await session.execute(CELL)).text() == "42"
    seen = await session.execute(
        "import json, inspect, tools\nprint(hasattr(json, 'stolen'), inspect.getsource(add))"
    )
    assert seen.text() == "False def add(a):\n    return a + ONE"
    failed = await session.execute("add('x')")
    assert "return a + ONE" in failed.text(), "a traceback shows the line"
    await session.execute("import tools.sums, sys\ntools.sums.add = len\nsys.meta_path.clear()")
    assert (await session.execute("import os\nos._exit(1)")).status == "died"
    assert (await session.execute("print(add(1))")).text() == "2", "the next kernel has it too"
    await session.close()
    plain = await box.open(replace(spec_for("P2.1.1", level=level), library=LIBRARY), echo)
    assert (await plain.execute(CELL)).text() == "42", "what a cell changed was its own kernel's"
    await plain.close()


async def test_a_proof_is_run_again_with_the_text_it_was_made_with(box: Sandbox, proof: SessionSpec) -> None:
    folder = proof.journal.parent
    assert named_library(read_lines(proof.journal)) == LIBRARY.digest
    assert library_path(folder, LIBRARY.digest).read_bytes() == LIBRARY.text
    outcome = await verify_proof(box, journal=proof.journal, notebook=proof.notebook, rows=[])
    assert outcome.verified and outcome.printed == ("42",)


@pytest.mark.parametrize(
    ("text", "says"), [(OTHER.text, "was altered"), (None, "cannot be read"), (b"", "was altered")]
)
def test_a_text_that_is_another_or_gone_is_a_difference_and_nothing_runs(
    proof: SessionSpec, text: bytes | None, says: str
) -> None:
    path = library_path(proof.journal.parent, LIBRARY.digest)
    path.unlink() if text is None else path.write_bytes(text)
    (found,) = compare_proof(journal=proof.journal, notebook=proof.notebook, rows=[]).differing
    assert found.check == "chain" and says in found.what


def test_a_stranger_names_no_path_and_no_two_texts(tmp_path: Path) -> None:
    for digest in ("../../etc/passwd", "a" * 63, "A" * 64):
        with pytest.raises(JournalBroken, match="no hash"):
            CellLibrary.read(tmp_path, digest)
    with pytest.raises(JournalBroken, match="one library"):
        named_library([{"kind": "library", "sha256": "a" * 64}, {"kind": "library", "sha256": "b" * 64}])
    with pytest.raises(JournalBroken, match="one library"):
        named_library([{"kind": "library", "sha256": 3}])
    assert named_library([{"kind": "open"}, {"kind": "library", "sha256": "a" * 64}]) == "a" * 64


@pytest.mark.parametrize(
    "content", [b"[]", b'{"a b": ""}', b'{"../x": ""}', b'{"x": 1}', b"no json", b'{"a..b": ""}']
)
def test_a_file_that_holds_no_modules_is_refused(tmp_path: Path, content: bytes) -> None:
    library = CellLibrary(content)
    library.file_in(tmp_path)
    with pytest.raises(JournalBroken, match="no source of modules"):
        CellLibrary.read(tmp_path, library.digest)
    fine = CellLibrary.of({"x.y": ""})
    fine.file_in(tmp_path)
    assert CellLibrary.read(tmp_path, fine.digest) == fine


def test_a_journal_with_a_second_library_line_is_no_proof(proof: SessionSpec) -> None:
    OTHER.file_in(proof.journal.parent)
    journal = Journal(proof.journal)
    journal.append("library", sha256=OTHER.digest)
    journal.close()
    (found,) = compare_proof(journal=proof.journal, notebook=proof.notebook, rows=[]).differing
    assert "not several" in found.what and json.loads(OTHER.text)
