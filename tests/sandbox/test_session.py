import asyncio
import os
import secrets
import signal
import time
from pathlib import Path

import nbformat
import pytest

from proxies.asof.clock import Cutoff
from proxies.errors import Refused, SourceUnavailable
from proxies.ledger import Address
from sandbox import Limits, Sandbox, read_journal
from sandbox.kernels.client import CellRun, KernelClient
from sandbox.limits import cgroups
from sandbox.record.cell_results import cell_result
from tests.proxies.leaks.desk import EOD, Desk
from tests.sandbox.conftest import Opener, Told, echo


def _tagged(notebook, tag):
    return [cell for cell in notebook.cells if tag in cell.metadata.get("tags", [])]


async def test_a_session_leaves_a_valid_notebook_with_its_failed_cells(open_session: Opener):
    session = await open_session(level="namespaces")
    await session.markdown("# Question")
    first = await session.execute("1 / 0")
    assert (first.status, first.error.ename) == ("error", "ZeroDivisionError")
    second = await session.execute("x = 21\nprint('out')\n2 * x", fixes=first.cell_id)
    assert second.status == "ok" and second.text() == "out\n42"
    plot = await session.execute("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.title('t');")
    assert plot.images()[0].startswith(b"\x89PNG")
    assert "[image/png," in plot.text()
    await session.close()

    notebook = nbformat.read(session.spec.notebook, as_version=4)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    assert [cell.id for cell in notebook.cells] == ["cell-001", "cell-002", "cell-003", "cell-004"]
    assert notebook.metadata.kernelspec.name == "analyst"
    assert notebook.metadata.analyst.isolation == "namespaces"
    assert cgroups.memory_bound().startswith(notebook.metadata.analyst.memory)
    assert notebook.metadata.analyst.node == "P1"
    [failed] = _tagged(notebook, "superseded")
    assert failed.id == first.cell_id
    assert "raises-exception" in failed.metadata.tags
    assert failed.metadata.jupyter == {"source_hidden": True, "outputs_hidden": True}
    assert failed.outputs[0].ename == "ZeroDivisionError"
    assert notebook.cells[2].metadata.analyst.status == "ok"


async def test_source_is_in_the_journal_before_the_cell_ends(open_session: Opener):
    session = await open_session()
    running = asyncio.create_task(session.execute("import time\ntime.sleep(30)"))
    for _ in range(100):
        await asyncio.sleep(0.02)
        cells = read_journal(session.spec.journal)
        if cells:
            break
    assert cells[0].source.endswith("sleep(30)") and cells[0].result is None
    await session.interrupt()
    result = await running
    assert result.status == "error" and result.error.ename == "KeyboardInterrupt"
    assert (await session.execute("1 + 1")).text() == "2"


async def test_a_reply_lost_to_an_interrupt_ends_the_cell():
    """ipykernel sends none when the interrupt meets its own code; it is idle then."""
    run = CellRun(request="x", max_shown=1000)
    run.idle.set()
    waiting = asyncio.create_task(KernelClient.finish(None, run))
    await asyncio.sleep(1.2)
    assert not waiting.done()
    run.interrupted = True
    await asyncio.wait_for(waiting, 60)
    result = cell_result("cell-001", run, None, None, 1.0, 0, [])
    assert (result.status, result.error.ename) == ("error", "KeyboardInterrupt")


async def test_calls_carry_the_index_of_their_cell_and_their_count(open_session: Opener):
    session = await open_session()
    await session.markdown("text cells do not count")
    await session.execute("1")
    code = "a = CALL_API('fred/x', {'id': 1})\nb = CALL_API('fred/y')\nprint(a, b['nth'], CALL_API.meta['as_of'])"
    result = await session.execute(code)
    assert result.text() == "{'path': 'fred/x', 'params': {'id': 1}, 'cell': 1, 'nth': 0} 1 2018-06-30"
    assert result.api_calls == 2
    assert result.api_hashes == ("sha256:fred/x-0", "sha256:fred/y-1")


NOTED = {
    "a": ({"clamped": ["end -> 2018-06-29"]}, "clamped end -> 2018-06-29"),
    "b": ({"clamped": ["end"], "undated": 2}, "clamped end; left out 2 rows without a readable date"),
    "c": ({"undated": 1}, "left out 1 row without a readable date"),
}


async def test_a_clamp_and_undated_rows_print_one_line_on_stderr(open_session: Opener):
    async def api(path, params, *, cell, nth):
        return Told(data=[], meta=NOTED[path][0])

    session = await open_session(api=api)
    for path, (_, line) in NOTED.items():
        result = await session.execute(f"CALL_API('{path}');")
        [stream] = [output for output in result.outputs if output["output_type"] == "stream"]
        assert (stream["name"], stream["text"]) == ("stderr", f"CALL_API {path}: {line}\n")


async def test_rows_that_came_late_say_nothing_in_a_cell(open_session: Opener):
    bars = [
        {"symbol": "X", "date": "2018-06-28", "adjClose": 1.0}, {"symbol": "X", "date": "2018-07-02", "adjClose": 9.0},
    ]  # fmt: skip
    desk = Desk(bars)
    session_of = desk.broker.session(Cutoff.parse("2018-06-30"), desk.ledger)

    async def api(path, params, *, cell, nth):
        place = Address(run="r", node="P1", trial=1, attempt=1, stage="cell", step=cell, retry=nth)
        return await session_of.call(path, params, place)

    session = await open_session(api=api)
    code = f"rows = CALL_API({EOD!r}, {{'symbol': 'X'}})\nprint(len(rows), CALL_API.meta['undated'])"
    result = await session.execute(code)
    await desk.broker.aclose()
    assert [(output["name"], output["text"]) for output in result.outputs] == [("stdout", "1 0\n")]
    [row] = desk.ledger.rows.values()
    assert row.rows_dropped == 1 and row.dropped_why == {"known on or after the cutoff": 1}


async def test_refusals_and_failures_are_clear_exceptions(open_session: Opener):
    async def api(path, params, *, cell, nth):
        if path == "refused":
            raise Refused("no such path; nearest: fred/series")
        raise SourceUnavailable("the source does not answer")

    session = await open_session(api=api)
    refused = await session.execute("CALL_API('refused')")
    assert (refused.error.ename, refused.error.evalue) == ("ApiRefused", "no such path; nearest: fred/series")
    failed = await session.execute(
        "try:\n    CALL_API('x')\nexcept ApiUnavailable as error:\n    print(error)"
    )
    assert failed.text() == "the source does not answer"


async def test_our_own_bug_is_raised_after_the_cell_is_recorded(open_session: Opener):
    async def api(path, params, *, cell, nth):
        raise ZeroDivisionError("a bug of the engine")

    session = await open_session(api=api)
    with pytest.raises(ZeroDivisionError, match="a bug of the engine"):
        await session.execute("CALL_API('x')")
    assert session.cells[-1].result.error.ename == "ApiUnavailable"


async def test_a_cell_over_time_is_interrupted_and_the_kernel_stays(open_session: Opener):
    session = await open_session(limits=Limits(cell_seconds=0.5))
    await session.execute("kept = 7")
    began = time.monotonic()
    result = await session.execute("while True: pass")
    assert time.monotonic() - began < 20, "the limit is half a second"
    assert (result.status, result.limit) == ("timeout", "cell_seconds")
    assert (await session.execute("kept")).text() == "7"


async def test_a_cell_that_ignores_the_interrupt_is_killed(open_session: Opener):
    session = await open_session(limits=Limits(cell_seconds=0.5, grace_seconds=0.5))
    await session.execute("kept = 7")
    stubborn = "import time\nwhile True:\n    try:\n        time.sleep(1)\n    except KeyboardInterrupt:\n        pass"
    result = await session.execute(stubborn)
    assert (result.status, result.limit) == ("timeout", "cell_seconds")
    assert (await session.execute("kept")).text() == "7"  # a fresh kernel, in which the kept cells ran again
    assert [cell.replayed for cell in session.cells] == [True, False, False]


async def test_a_kernel_that_dies_is_not_a_code_error(open_session: Opener):
    session = await open_session()
    await session.execute("kept = 1")
    for source, words in {
        "import os\nos._exit(7)": "exit code 7",
        "import ctypes\nctypes.string_at(0)": "SIGSEGV",
    }.items():
        result = await session.execute(source)
        assert result.status == "died" and words in result.error.evalue
        assert (await session.execute("kept")).text() == "1"
    result = await session.execute("raise SystemExit(3)")
    assert result.status == "error" and result.error.ename == "SystemExit"


async def test_memory_beyond_the_limit_is_a_memory_error(open_session: Opener):
    session = await open_session(limits=Limits(memory_mb=300))
    result = await session.execute("x = bytearray(1 << 30)")
    assert (result.status, result.error.ename, result.limit) == ("error", "MemoryError", "memory")
    assert (await session.execute("len(bytearray(100 << 20))")).text() == str(100 << 20)


async def test_output_beyond_the_limit_is_cut_with_a_note(open_session: Opener):
    session = await open_session(limits=Limits(output_bytes=1000))
    result = await session.execute("print('x' * 5000)")
    assert result.status == "ok" and result.limit == "output_bytes"
    assert "output cut: 4001 more characters" in result.text()
    assert len(result.outputs[0]["text"]) == 1000


async def test_a_session_is_taken_up_where_its_journal_ended(box: Sandbox, spec_for):
    spec = spec_for()
    asked = []

    async def api(path, params, *, cell, nth):
        asked.append((path, cell, nth))
        return Told(data=cell * 10 + nth, meta={})

    session = await box.open(spec, api)
    await session.execute("a = CALL_API('x')")
    bad = await session.execute("b = CALL_API('y') / 0")
    await session.execute("b = CALL_API('z')", fixes=bad.cell_id)
    await session.close()
    before = list(asked)
    asked.clear()

    again = await box.open(spec, api)
    assert [cell.replayed for cell in again.cells] == [True, False, True]
    assert asked == [before[0], before[2]]
    assert (await again.execute("print(a, b)")).text() == "0 20"
    assert [cell.id for cell in again.cells] == ["cell-001", "cell-002", "cell-003", "cell-004"]
    assert [cell.id for cell in read_journal(spec.journal)] == [cell.id for cell in again.cells]


async def test_a_cell_that_never_ended_is_taken_back_on_resume(box: Sandbox, spec_for):
    spec = spec_for()
    session = await box.open(spec, echo)
    bad = await session.execute("1 / 0")
    hanging = asyncio.create_task(session.execute("import time; time.sleep(60)", fixes=bad.cell_id))
    await asyncio.sleep(0.3)
    hanging.cancel()
    await asyncio.gather(hanging, return_exceptions=True)
    await session.close()

    again = await box.open(spec, echo)
    [only] = again.cells
    assert only.id == bad.cell_id and not only.superseded
    assert [(cell.id, cell.superseded) for cell in read_journal(spec.journal)] == [(bad.cell_id, False)]
    fixed = await again.execute("1", fixes=bad.cell_id)
    assert again.cells[0].superseded and fixed.cell_id == "cell-003"


async def test_nothing_is_left_of_a_closed_session(open_session: Opener):
    session = await open_session()
    # a command line that no other suite on this machine has: the test looks through all processes
    command = ["sleep", f"321.{secrets.randbelow(10**9):09d}"]
    started = await session.execute(f"import subprocess\nsubprocess.Popen({command}, start_new_session=True)")
    assert started.status == "ok", started
    kernel = session.kernel
    line = "\0".join(command)
    for _ in range(50):
        if _processes(line):
            break
        await asyncio.sleep(0.02)  # for a moment after exec a process has no command line
    assert len(_processes(line)) == 1
    await session.close()
    assert not Path(f"/proc/{kernel.process.pid}").exists()
    assert not kernel.endpoints.folder.exists()
    for _ in range(50):
        if not _processes(line):
            break
        await asyncio.sleep(0.02)
    assert not _processes(line)


@pytest.mark.long
async def test_a_fork_server_that_dies_under_a_request_is_replaced(open_session: Opener):
    from sandbox.kernels.forkserver import fork_server

    server = await fork_server("namespaces")
    os.kill(server.pid, signal.SIGKILL)
    session = await open_session()
    assert (await session.execute("1 + 1")).text() == "2"
    assert await fork_server("namespaces") is not server


def _processes(command: str) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_text().startswith(command):
                found.append(path.parent.name)
        except OSError:
            continue
    return found
