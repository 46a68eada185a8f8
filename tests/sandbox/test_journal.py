import json
from pathlib import Path

import nbformat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox import JournalBroken, read_journal, render_notebook
from sandbox.kernels.outputs import output_from_message
from sandbox.record.journal import Journal, read_lines, result_from_json, result_to_json, seal_line
from sandbox.types import CellError, CellResult, JournalCell


def _write(path: Path) -> list[str]:
    journal = Journal(path)
    journal.append("open", name="P1.1.1", title="t", metadata={})
    journal.append("markdown", id="cell-001", source="# ü")
    journal.append("code", id="cell-002", source="1", fixes=None)
    result = CellResult(cell_id="cell-002", status="ok", outputs=(), duration_s=0.1)
    journal.append("result", id="cell-002", result=result_to_json(result))
    journal.append("close")
    journal.close()
    return path.read_text().splitlines()


def test_a_journal_reads_back(tmp_path: Path):
    _write(tmp_path / "j.jsonl")
    text, code = read_journal(tmp_path / "j.jsonl")
    assert (text.source, code.result.status) == ("# ü", "ok")


@pytest.mark.parametrize("line", range(5))
def test_a_changed_line_breaks_the_chain(tmp_path: Path, line: int):
    path = tmp_path / "j.jsonl"
    lines = _write(path)
    fields = json.loads(lines[line])
    fields["at"] = "2020-01-01T00:00:00.000+00:00"
    lines[line] = json.dumps(fields)
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(JournalBroken, match=f"line {line + 1}"):
        read_lines(path)


def test_half_a_line_at_the_end_is_cut_when_the_journal_is_taken_up(tmp_path: Path):
    path = tmp_path / "j.jsonl"
    lines = _write(path)
    path.write_text("\n".join(lines[:-1]) + "\n" + lines[-1][:20])
    with pytest.raises(JournalBroken, match="incomplete"):
        read_lines(path)
    journal = Journal(path)
    journal.append("close")
    journal.close()
    assert [line["kind"] for line in read_lines(path)] == ["open", "markdown", "code", "result", "close"]


_json = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(alphabet=st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
_kinds = st.sampled_from(["stream", "error", "display_data", "execute_result", "status", "comm_open"])


@settings(deadline=None)
@given(
    _kinds,
    st.dictionaries(st.sampled_from(["name", "text", "data", "metadata", "ename", "traceback"]), _json),
)
def test_whatever_a_kernel_sends_the_notebook_stays_valid(kind: str, content: dict):
    if isinstance(content.get("data"), dict):
        content["data"] |= {"text/plain": "x", "image/png": "\ud800", "application/json": {"a": [1]}}
    output = output_from_message(kind, content)
    if output is None:
        return
    cell = JournalCell(
        id="c", kind="code", source="1", result=CellResult(cell_id="c", status="ok", outputs=(output,))
    )
    notebook = render_notebook([cell])
    nbformat.validate(notebook)
    nbformat.writes(notebook).encode()


def test_a_result_survives_the_journal():
    error = CellError(ename="E", evalue="v", traceback=("a", "b"))
    result = CellResult(
        cell_id="c",
        status="error",
        error=error,
        outputs=({"output_type": "stream", "name": "stdout", "text": "42\n"},),
        limit="cpu",
        api_hashes=("x",),
    )
    assert result_from_json(json.loads(json.dumps(result_to_json(result)))) == result


@pytest.mark.parametrize("line", range(4))
def test_a_line_that_was_changed_and_sealed_again_breaks_the_chain_at_the_next(tmp_path: Path, line: int):
    path = tmp_path / "j.jsonl"
    lines = _write(path)
    fields = json.loads(lines[line])
    fields["at"] = "2020-01-01T00:00:00.000+00:00"
    fields["hash"] = seal_line(fields)
    lines[line] = json.dumps(fields)
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(JournalBroken, match=f"line {line + 2} is not the line that was written"):
        read_lines(path)


def test_a_cell_that_was_taken_back_is_gone_and_what_it_was_to_mend_stands_again(tmp_path: Path):
    journal = Journal(tmp_path / "j.jsonl")
    journal.append("open", name="P1.1.1", title="t", metadata={})
    journal.append("code", id="cell-001", source="1 / 0", fixes=None)
    failed = CellResult(cell_id="cell-001", status="error", outputs=())
    journal.append("result", id="cell-001", result=result_to_json(failed))
    journal.append("code", id="cell-002", source="forever()", fixes="cell-001")
    (first, second) = read_journal(journal.path)
    assert first.superseded and second.id == "cell-002"
    journal.append("void", id="cell-002", fixes="cell-001")
    journal.close()
    (only,) = read_journal(tmp_path / "j.jsonl")
    assert only.id == "cell-001" and not only.superseded
