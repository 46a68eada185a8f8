import asyncio
import json
import os
import subprocess
import sys
from datetime import date
from pathlib import Path

import nbformat
import pytest
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import v4

from sandbox.cell_library import CellLibrary
from sandbox.jupyter.lab import filter_message
from sandbox.record.journal import Journal
from tests.fakes.upstream import Sent, Upstream
from tests.proxies.test_own_sources import HOUSE
from workbench.engine.leaves.forecast_library import forecast_library
from workbench.offline.notebook_cells import notebook
from workbench.questions.grammar import read_claim

pytestmark = pytest.mark.long

STRANGER = Path(__file__).parents[1] / "stranger_package"

FETCH = "rows = CALL_API('embedded/series/observations', {'series_id': 'SP500'})\nprint(rows[-1]['date'], len(rows) > 1000)"


def _notebook(*sources: str):
    return v4.new_notebook(
        cells=[v4.new_code_cell(source) for source in sources],
        metadata={"kernelspec": {"name": "analyst", "display_name": "Analyst", "language": "python"}},
    )


def _text(cell) -> str:
    return "".join(output.get("text", "") for output in cell.outputs)


async def test_what_was_run_is_found_again_by_tail_and_search():
    manager = AsyncKernelManager(kernel_name="analyst")
    await manager.start_kernel()
    client = manager.client()
    client.start_channels()
    try:
        await client.wait_for_ready(timeout=60)
        cells = ["1+2+3", "[n*n for n in range(1, 4)]", "1+2+4"]
        for cell in cells:
            await client.execute(cell, reply=True, timeout=60)

        async def history(**wanted):
            reply = await client.history(raw=True, output=False, reply=True, timeout=30, **wanted)
            assert {session for session, _, _ in reply["content"]["history"]} == {1}
            return [source for _, _, source in reply["content"]["history"]]

        assert await history(hist_access_type="tail", n=2) == cells[1:]
        assert await history(hist_access_type="search", pattern="1?2*") == [cells[0], cells[2]]
        assert await history(hist_access_type="search", pattern="1?2*", n=1) == cells[2:]
        assert await history(hist_access_type="range", session=0, start=1, stop=2) == cells[:1]
    finally:
        client.stop_channels()
        await manager.shutdown_kernel(now=True)


RUN_NOTEBOOK = """
import sys, nbformat
from nbclient import NotebookClient
book = nbformat.reads(sys.stdin.read(), as_version=4)
NotebookClient(book, kernel_name="analyst").execute()
print("".join(output.get("text", "") for cell in book.cells for output in cell.outputs))
"""


def test_a_jupyter_kernel_reads_the_users_own_sources_and_those_of_packages(tmp_path: Path):
    (tmp_path / "catalogue").mkdir()
    (tmp_path / "catalogue" / "house.yaml").write_text(HOUSE)
    rows = [{"day": "2018-06-29", "price": 2}, {"day": "2018-07-03", "price": 9}]
    calls = [
        f"print([row['day'] for row in CALL_API('{path}', {{'symbol': 'X'}})])"
        for path in ("house/prices", "stranger/prices")
    ]
    with Upstream(lambda seen: Sent(rows)) as upstream:
        done = subprocess.run(
            [sys.executable, "-c", RUN_NOTEBOOK],
            input=nbformat.writes(_notebook("%cutoff 2018-06-30", *calls)),
            env={
                **os.environ,
                "WORKBENCH_HOME": str(tmp_path),
                "HOUSE_TOKEN": "s3cret",
                "WORKBENCH_UPSTREAM_HOUSE": upstream.url,
                "WORKBENCH_UPSTREAM_STRANGER": upstream.url,
                "PYTHONPATH": str(STRANGER),
            },
            capture_output=True,
            text=True,
            timeout=240,
        )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("['2018-06-29']") == 2 and "2018-07-03" not in done.stdout


async def test_without_a_cutoff_every_data_call_is_refused():
    with pytest.raises(CellExecutionError, match="ApiRefused"):
        await NotebookClient(_notebook(FETCH), kernel_name="analyst").async_execute()


async def test_a_declared_cutoff_can_only_move_back():
    earlier = _notebook("%cutoff 2018-06-30", "%cutoff 2017-01-04", FETCH)
    await NotebookClient(earlier, kernel_name="analyst").async_execute()
    assert _text(earlier.cells[2]).splitlines()[-1].startswith("2017-01-03")
    with pytest.raises(CellExecutionError, match="can only be moved to an earlier time"):
        await NotebookClient(
            _notebook("%cutoff 2018-06-30", "%cutoff live"), kernel_name="analyst"
        ).async_execute()


@pytest.fixture
async def manager():
    made = AsyncKernelManager(kernel_name="analyst")
    await made.start_kernel(cutoff="2018-06-30")
    yield made
    await made.shutdown_kernel(now=True)


async def _run(client, source: str) -> list:
    shown = []
    reply = await client.execute_interactive(source, timeout=30, output_hook=shown.append, allow_stdin=False)
    return [
        reply["content"]["status"],
        *[m["content"] for m in shown if m["msg_type"] in ("stream", "execute_result")],
    ]


async def test_a_stock_manager_starts_interrupts_restarts_and_ends_it(manager: AsyncKernelManager):
    client = manager.client()
    client.start_channels()
    await client.wait_for_ready(timeout=30)
    assert (await _run(client, FETCH))[-1]["text"] == "2018-06-29 True\n"
    sleeping = asyncio.create_task(_run(client, "import time; time.sleep(60)"))
    await asyncio.sleep(0.5)
    await manager.interrupt_kernel()
    assert (await asyncio.wait_for(sleeping, 20))[0] == "error"
    await _run(client, "x = 1")
    await manager.restart_kernel(now=True)
    await client.wait_for_ready(timeout=30)
    assert (await _run(client, "x"))[0] == "error"
    assert (await _run(client, FETCH))[-1]["text"] == "2018-06-29 True\n"
    client.stop_channels()
    await manager.shutdown_kernel(now=True)
    assert not await manager.is_alive()


def test_a_kernel_started_past_the_provisioner_refuses(tmp_path: Path):
    from sandbox.kernels.view import kernel_folder

    done = subprocess.run(
        [sys.executable, "-I", str(kernel_folder() / "launch.py"), "-f", str(tmp_path / "c.json")],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 2 and "analyst-sandbox" in done.stderr


def test_what_runs_in_a_browser_is_filtered():
    hostile = {
        "data": {"text/html": "<b>x</b><script>alert(1)</script>", "application/javascript": "alert(1)"},
        "metadata": {"isolated": False},
        "transient": {"display_id": "d", "onload": "x"},
    }
    assert filter_message("display_data", hostile) == {
        "data": {"text/html": "<b>x</b>"},
        "metadata": {},
        "transient": {"display_id": "d"},
    }
    for kind in ("comm_open", "comm_msg", "comm_close", "debug_event", "anything_else"):
        assert filter_message(kind, {"data": {"state": {"_esm": "alert(1)"}}}) is None
    reply = filter_message(
        "execute_reply",
        {"status": "ok", "execution_count": 1, "payload": [{"source": "page"}], "user_expressions": {}},
    )
    assert reply == {"status": "ok", "execution_count": 1, "payload": [], "user_expressions": {}}
    info = filter_message(
        "kernel_info_reply", {"help_links": [{"url": "javascript:alert(1)"}], "banner": "<script>"}
    )
    assert info["help_links"] == [] and "<" not in info["banner"]
    assert filter_message("comm_info_reply", {"comms": {"a": {"target_name": "x"}}}) == {
        "status": "ok",
        "comms": {},
    }


def test_text_passes_the_filter_unchanged():
    assert filter_message("stream", {"name": "stdout", "text": "<b>"}) == {"name": "stdout", "text": "<b>"}
    assert filter_message("status", {"execution_state": "idle"}) == {"execution_state": "idle"}


async def test_a_proof_that_a_person_opens_runs_cell_by_cell(tmp_path: Path):
    """As the run's cells: the source that they import and their cutoff come from the journal beside the folder of proofs."""
    proofs, sessions = tmp_path / "proofs", tmp_path / "sessions"
    proofs.mkdir()
    sessions.mkdir()
    own = forecast_library().text.replace(
        b"paths of {steps} steps", b"paths of the run's own source, {steps} steps"
    )
    library = CellLibrary(own)
    library.file_in(sessions)
    journal = Journal(sessions / "P1.1.1.jsonl")
    journal.append("open", name="P1.1.1", title="", metadata={"cutoff": "2018-06-30"})
    journal.append("library", sha256=library.digest)
    journal.close()
    statement = "The VIX closes at or below 16 on 2018-12-31"
    steps = notebook(
        read_claim(statement), statement=statement, cutoff="2018-06-30", last_day=date(2018, 6, 29)
    )
    book = _notebook(*(cell.source for step in steps for cell in step if cell.kind == "python"))
    where = {"metadata": {"path": str(proofs)}}
    await NotebookClient(book, kernel_name="analyst", resources=where).async_execute()
    before = json.loads(_text(book.cells[-1]).splitlines()[-1])
    assert before["statement"] == statement and "the run's own source" in _text(book.cells[2])
    # Copied away from its run it has no cutoff until the person says so, and the source that is installed now.
    elsewhere = _notebook("%cutoff 2018-06-30", *(cell.source for cell in book.cells))
    await NotebookClient(elsewhere, kernel_name="analyst").async_execute()
    assert json.loads(_text(elsewhere.cells[-1]).splitlines()[-1]) == before
    assert "the run's own source" not in _text(elsewhere.cells[3])
