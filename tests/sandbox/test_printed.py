"""What cells print, late and by the megabyte: the notebook shows what the journal hashed, and a line says what was cut."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from sandbox import read_journal
from sandbox.record.journal import Journal, read_lines
from sandbox.record.verify import compare_notebook
from tests.sandbox.conftest import Opener


async def test_threads_that_print_late_raise_no_false_alarm(open_session: Opener) -> None:
    """Two hundred lines from threads of a real kernel; what came in time is shown, the rest is dropped, and the journal says how much."""
    session = await open_session()
    code = (
        "import threading, random, time\n"
        "def late():\n"
        "    for _ in range(20):\n"
        "        time.sleep(random.random() / 100)\n"
        "        print('noise')\n"
        "threading.Thread(target=late, name='late').start()\n"
        "print('evidence')"
    )
    for _ in range(10):
        assert "evidence" in (await session.execute(code)).text()
    await session.execute("[t.join() for t in threading.enumerate() if t.name == 'late'];")
    await session.close()
    lines = read_lines(session.spec.journal)
    cells = read_journal(session.spec.journal)
    assert compare_notebook(cells, session.spec.notebook) == []
    dropped = sum(line["characters"] for line in lines if line["kind"] == "late")
    assert dropped > 0
    whole = sum(len(o["text"]) for cell in cells if cell.result for o in cell.result.outputs)
    assert whole + dropped == 200 * len("noise\n") + 10 * len("evidence\n")
    assert sum(cell.late for cell in session.cells) == sum(cell.late for cell in cells) == dropped
    assert any("after it had ended" in finding for cell in cells for finding in cell.findings)


@pytest.mark.parametrize("call", ["write", "fdatasync"])
def test_a_line_that_a_full_disk_refused_is_not_in_the_chain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """Some file systems find room only when they sync; the line was written by then and stood twice, which broke the chain."""
    journal = Journal(tmp_path / "j.jsonl")
    journal.append("open", name="P1.1.1")

    def full(*_: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, call, full)
        with pytest.raises(OSError, match="No space"):
            journal.append("markdown", id="cell-001", source="x")
    journal.append("close")
    journal.close()
    assert [line["kind"] for line in read_lines(tmp_path / "j.jsonl")] == ["open", "close"]


#: Beyond the size of a message.
LARGE = {
    "one print": "print('h' * 11_000_000)",
    "many lines": "print('\\n'.join(f'h row {i}' for i in range(1_300_000)))",
    "letters of four bytes": "print('h' + '\\U0001F600' * 4_000_000)",
    "error stream": "import sys; print('h' * 11_000_000, file=sys.stderr)",
    "last value": "'h' * 11_000_000",
    "display": "from IPython.display import HTML; display(HTML('h' * 11_000_000))",
    "own representation": "class R:\n    def __repr__(self): return 'h' * 11_000_000\n"
    "    def _repr_html_(self): return 'x' * 11_000_000\nR()",
}


async def test_the_head_is_shown_and_a_line_says_that_more_was_cut(open_session: Opener):
    session = await open_session()
    for what, source in LARGE.items():
        result = await session.execute(source)
        shown = "".join(
            str(part)
            for output in result.outputs
            for part in (output.get("text", ""), *output.get("data", {}).values())
        )
        assert "cut" in shown, (what, shown[-200:])
        assert what == "display" or shown.count("h") > 1 or "\U0001f600" * 1000 in shown, shown[:200]
        after = await session.execute("print('whole')")
        assert after.text() == "whole" and result.status == "ok", what
