"""The notebook shows what the journal hashed, whatever a cell's threads print later and however slowly a notebook is written."""

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
