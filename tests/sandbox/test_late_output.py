"""The notebook shows what the journal hashed, whatever a cell's threads print later and however slowly a notebook is written."""

import asyncio
import errno
import os
import threading
from pathlib import Path
from typing import Any

import pytest

import sandbox.session
from sandbox import read_journal
from sandbox.record.journal import Journal, read_lines
from sandbox.record.session_notebook import write_notebook
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


async def test_a_cell_without_threads_has_no_finding(open_session: Opener) -> None:
    session = await open_session()
    await session.execute(
        "import threading\nt = threading.Thread(target=print, args=['in time'])\nt.start(); t.join()"
    )
    await session.execute("print('next')")
    await session.close()
    cells = read_journal(session.spec.journal)
    assert [cell.result.text() for cell in cells if cell.result] == ["in time", "next"]
    assert [cell.findings for cell in cells] == [(), ()]
    assert "late" not in [line["kind"] for line in read_lines(session.spec.journal)]


async def test_a_slow_rendering_never_ends_behind_the_last_one(
    open_session: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rendering that began while the last cell ran held that cell without outputs, and could be renamed into place last."""
    began, closing, written = threading.Event(), threading.Event(), threading.Event()
    calls: list[int] = []

    def slow_once(path: Path, notebook: Any) -> None:
        calls.append(len(calls))
        if len(calls) == 1:
            began.set()
            closing.wait(60)  # the cell's own end would ask for another rendering, were this one over
            written.wait(0.3)  # as long as the one of `close` takes, were it not waiting for this one
            write_notebook(path, notebook)
            return
        write_notebook(path, notebook)
        written.set()

    monkeypatch.setattr(sandbox.session, "RENDER_AFTER", 0.0)
    monkeypatch.setattr(sandbox.session, "write_notebook", slow_once)
    session = await open_session()
    await session.markdown("# Plan")
    running = asyncio.create_task(session.execute("import time\ntime.sleep(0.2)\nprint('evidence')"))
    await asyncio.to_thread(began.wait, 10)
    await running
    closing.set()
    await session.close()
    await asyncio.to_thread(written.wait)
    assert calls == [0, 1]
    assert compare_notebook(read_journal(session.spec.journal), session.spec.notebook) == []


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
