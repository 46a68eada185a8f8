"""A cell that misuses the output channel: what it sends costs the owner of its session neither memory, time nor evidence."""

import asyncio
import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat
import orjson
import pytest
from jupyter_client.session import Session as Messages

from sandbox import CellResult, JournalBroken, Limits, read_journal, render_notebook
from sandbox.kernels.channel import Channel, ChannelEnded
from sandbox.kernels.client import CellRun
from sandbox.kernels.decode import Decoded, decode_message
from sandbox.kernels.outputs import output_from_message
from sandbox.record.journal import Journal, result_to_json
from sandbox.record.verify import compare_notebook
from tests.sandbox.conftest import LEVELS, Opener

_SMALL = Limits(cell_seconds=60, output_bytes=100_000, journal_bytes=100_000)
SHOW = "from IPython.display import display, update_display\n"

#: Outputs that once broke the journal, the notebook or the receiving task.
ODD = {
    "text as +json": SHOW + "display({'text/x+json': {'a': 1}}, raw=True)",
    "deep json": SHOW + "x = 1\nfor _ in range(252): x = [x]\ndisplay({'application/json': x}, raw=True)",
    "deep metadata": SHOW
    + "x = 1\nfor _ in range(250): x = {'a': x}\ndisplay({'text/plain': 'x'}, metadata=x, raw=True)",
    "deep error name": """
import sys
sys.setrecursionlimit(20000)
k = get_ipython().kernel
x = 1
for _ in range(990): x = [x]
k.session.send(k.iopub_socket, 'error', {'ename': x, 'evalue': '', 'traceback': []}, parent=k.get_parent())
""",
    "deep header": """
import json
k = get_ipython().kernel
s, p = k.session, k.get_parent()
header = json.dumps(dict(s.msg_header('stream'), x=None), default=str).replace('null', '[' * 1000 + ']' * 1000)
parts = [header.encode(), json.dumps(p['header'], default=str).encode(), b'{}', b'{"name": "stdout", "text": "x"}']
k.iopub_socket.send_multipart([b'stream', b'<IDS|MSG>', s.sign(parts), *parts])
""",
    "odd bundle": SHOW
    + "display({'text/html': ['a', 1], 'a/b': {}, 'application/vnd.x+json': [1]}, raw=True)",
    "odd transient": """
k = get_ipython().kernel
k.session.send(k.iopub_socket, 'display_data', {'data': {'text/plain': 'x'}, 'metadata': {}, 'transient': [1]}, parent=k.get_parent())
""",
}


@pytest.mark.parametrize("odd", ODD)
async def test_an_odd_output_costs_neither_the_session_nor_the_evidence(odd: str, open_session: Opener):
    session = await open_session()
    result = await session.execute(ODD[odd])
    assert result.status == "ok" and result.outputs, result.text()
    after = await session.execute("print('evidence')")
    assert (after.status, after.text()) == ("ok", "evidence")
    await session.close()
    cells = nbformat.read(session.spec.notebook, as_version=4).cells
    assert cells[1].outputs[0].text == "evidence\n" and len(read_journal(session.spec.journal)) == 2


@pytest.mark.parametrize("level", LEVELS)
async def test_a_lone_surrogate_loses_no_text(level: str, open_session: Opener):
    session = await open_session(level=level)
    result = await session.execute(
        "import sys\nprint('before', '\\ud83d', 'after')\nsys.stdout.flush()\nprint('next')\n'end \\udc80'"
    )
    assert (result.status, result.text()) == ("ok", "before ? after\nnext\n'end \\udc80'")
    failed = await session.execute("raise ValueError('\\ud83d bad')")
    assert failed.error.ename == "ValueError" and "? bad" in failed.text()


FLOODS = {
    "json": SHOW + "for i in range(20): display({'application/json': {'a': 'z' * 10_000_000}}, raw=True)",
    "metadata": SHOW
    + "for i in range(20): display({'text/plain': ''}, metadata={'a': 'z' * 10_000_000}, raw=True)",
    "small json": SHOW + "for i in range(400): display({'application/json': {'a': 'z' * 10_000}}, raw=True)",
    "errors": """
k = get_ipython().kernel
for i in range(200):
    k.session.send(k.iopub_socket, 'error', {'ename': 'x', 'evalue': 'y' * 100_000, 'traceback': []}, parent=k.get_parent())
""",
    "empty outputs": SHOW + "for i in range(5000): display({'text/plain': ''}, raw=True)",
    "empty updates": SHOW
    + "h = display({'text/plain': '0'}, raw=True, display_id='a')\n"
    + "for i in range(5000): update_display({'text/plain': str(i)}, metadata={'a': 'z' * 1000}, raw=True, display_id='a')",
}


@pytest.mark.parametrize("flood", FLOODS)
async def test_every_byte_of_an_output_counts(flood: str, open_session: Opener):
    session = await open_session(limits=_SMALL)
    result = await session.execute(FLOODS[flood])
    assert result.status == "ok", result.text()
    assert len(result.outputs) <= 1002
    if flood != "empty updates":  # the legitimate neighbour: one output, however often it is replaced
        assert result.limit == "output_bytes" and "output cut" in result.text(50_000)
    else:
        assert (result.limit, result.text()) == (None, "4999")
    assert (await session.execute("6 * 7")).text() == "42"
    await session.close()
    assert session.spec.journal.stat().st_size < 500_000
    assert session.spec.notebook.stat().st_size < 1_000_000


async def test_a_session_shows_ten_times_what_a_cell_may(open_session: Opener):
    session = await open_session(limits=Limits(output_bytes=1000, journal_bytes=1000))
    results = [await session.execute("print('x' * 900)") for _ in range(13)]
    assert [result.limit for result in results] == [None] * 11 + ["output_bytes"] * 2
    assert (await session.execute("y = 1")).status == "ok"
    failed = await session.execute("1 / 0")
    assert failed.error.ename == "ZeroDivisionError"


#: Raw frames on the descriptor of the output channel, past everything that ipykernel does.
RAW = """
import os, socket, struct, time
def descriptor():
    for fd in map(int, os.listdir('/proc/self/fd')):
        try:
            s = socket.socket(fileno=os.dup(fd))
            if s.family == socket.AF_UNIX and str(s.getsockname()).endswith('-2'):
                s.getpeername()
                return fd
        except OSError:
            pass
fd = descriptor()
time.sleep(0.3)
os.set_blocking(fd, True)
end = time.time() + 5
while time.time() < end:
    for part in ({parts}):
        m = memoryview(part)
        while m: m = m[os.write(fd, m):]
"""
BIG = "bytes([{flags}]) + struct.pack('>Q', 8 << 20), bytes(8 << 20)"
RAW_FLOODS = {
    "endless multipart": (BIG.format(flags=3), "died"),
    "endless multipart of nothing": ("bytes([1, 0]) * 30_000,", "died"),
    "a frame without end": ("bytes([2]) + struct.pack('>Q', 1 << 62), bytes(8 << 20)", "died"),
    "no frames": ("bytes([0xaa]) * 1000,", "died"),
    "large messages": (BIG.format(flags=2), "ok"),
    "empty messages": ("bytes([0, 0]) * 30_000,", "ok"),
    "commands": ("bytes([4, 5]) + b'\\x04PING',", "ok"),
}


@contextmanager
def most_memory() -> Iterator[list[int]]:
    """The most resident bytes of this process beyond those at the begin."""

    def now() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    begin, peak, over = now(), [0], threading.Event()

    def look() -> None:
        while not over.wait(0.02):
            peak[0] = max(peak[0], now() - begin)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield peak
    finally:
        over.set()
        thread.join()


@pytest.mark.parametrize("flood", RAW_FLOODS)
async def test_raw_frames_cost_the_manager_no_memory_and_the_neighbour_no_time(
    flood: str, open_session: Opener
):
    neighbour = await open_session("P2.1.1")
    assert (await neighbour.execute("1 + 1")).text() == "2"
    session = await open_session(limits=Limits(cell_seconds=30))
    parts, expected = RAW_FLOODS[flood]
    with most_memory() as peak:
        running = asyncio.create_task(session.execute(RAW.format(parts=parts)))
        answers = 0
        while not running.done():
            began = time.monotonic()
            assert (await neighbour.execute("6 * 7")).text() == "42"
            answers += 1
            assert time.monotonic() - began < 3
            await asyncio.sleep(0.2)
        result = await running
    assert peak[0] < 150 << 20 and answers > 1
    assert result.status == expected, result.text()
    if expected == "died":
        assert "the kernel was ended" in result.error.evalue or "SIGPIPE" in result.error.evalue
    assert (await session.execute("6 * 7")).text() == "42"


@pytest.mark.parametrize("gone", ["s.shutdown(socket.SHUT_RDWR)", "os.dup2(os.open('/dev/null', 2), fd)"])
async def test_a_cell_whose_output_channel_ended_died(gone: str, open_session: Opener):
    session = await open_session(limits=Limits(cell_seconds=20))
    lines = RAW.partition("time.sleep(0.3)")[0]
    result = await session.execute(f"{lines}\ns = socket.socket(fileno=os.dup(fd))\n{gone}\nprint('unseen')")
    assert result.status == "died", result.text()
    assert (await session.execute("6 * 7")).text() == "42"


# --- the parts, without a kernel -------------------------------------------------------------------------------------

KEY = b"k" * 32


def framed(kind: str, content: bytes, request: str = "r") -> list[bytes]:
    messages = Messages(key=KEY)
    parts = [
        json.dumps(messages.msg_header(kind), default=str).encode(),
        json.dumps({"msg_id": request}).encode(),
        b"{}",
        content,
    ]
    return [b"topic", b"<IDS|MSG>", messages.sign(parts), *parts]


async def test_only_what_the_kernel_signed_is_a_message():
    good = framed("stream", b'{"name": "stdout"}')
    assert await decode_message(good, KEY) == Decoded("stream", "r", {"name": "stdout"})
    assert await decode_message(good, b"other") is None
    assert await decode_message([*good[:-1], b'{"name": "stderr"}'], KEY) is None
    for wrong in ([], [b""], good[:-1], good[1:3], [b"x"] * 50):
        assert await decode_message(wrong, KEY) is None


@pytest.mark.parametrize(
    ("content", "readable"),
    [
        (b'{"text": "%b"}' % (b"," * 3_000_000), True),
        (b'{"text": "%b"}' % (b'\\"[' * 1_000_000), True),
        (b'{"text": "%b"}' % (b"\\\\" * 1_000_000), True),
        (b'{"v": [%b1]}' % (b"1," * 200_000), True),
        (b'{"v": [%b1]}' % (b"1," * 3_000_000), False),
        (b'{"v": [%b[]]}' % (b"[]," * 100_000), False),
        (b'{%b"z": 1}' % b"".join(b'"%d": 1,' % number for number in range(200_000)), False),
        (b'{"v": %b%b}' % (b"[" * 5000, b"]" * 5000), False),
    ],
)
async def test_a_message_with_too_many_values_is_not_decoded(content: bytes, readable: bool):
    began = time.process_time()
    decoded = await decode_message(framed("display_data", content), KEY)
    assert decoded is not None and (decoded.content is not None) == readable
    if readable:
        assert decoded.content == orjson.loads(content)
    assert time.process_time() - began < 5


async def test_the_loop_is_never_held_long_by_a_message():
    """Processor time of the loop's own thread between two of its turns, whatever comes."""
    worst, over = 0.0, False

    async def turns() -> None:
        nonlocal worst
        while not over:
            began = time.thread_time()
            await asyncio.sleep(0)
            worst = max(worst, time.thread_time() - began)

    watching = asyncio.create_task(turns())
    for content in (
        b'{"text": "%b"}' % (b"x" * (9 << 20)),
        b'{"text": "%b"}' % (b"\\n" * (4 << 20)),
        b'{"v": [%b1]}' % (b"1," * (4 << 20)),
        b'{"v": [%b[]]}' % (b"[]," * (3 << 20)),
    ):
        await decode_message(framed("display_data", content), KEY)
    over = True
    await watching
    assert worst < 0.25, worst  # 0.05 s on an idle machine; whole decodings took 0.4 to 1.4 s


async def test_a_message_that_is_too_long_is_passed_over_and_the_next_one_read(tmp_path: Path):
    path = str(tmp_path / "s")
    sent = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        greeting = await reader.readexactly(64)
        writer.write(greeting + bytes([4, 1]) + b"x")
        for size in (5, 300_000, 6):
            writer.write(b"\1\1a" + b"\2" + size.to_bytes(8, "big") + bytes(size))
        await writer.drain()
        sent.set()
        writer.write(b"\xff")
        await reader.read()
        writer.close()

    server = await asyncio.start_unix_server(serve, path)
    channel = Channel(path, "SUB")
    await channel.open()
    got = [await channel.receive(1000) for _ in range(3)]
    assert [(message.cut, message.frames) for message in got] == [
        (False, [b"a", bytes(5)]),
        (True, [b"a"]),
        (False, [b"a", bytes(6)]),
    ]
    assert got[1].size == 300_001
    with pytest.raises(ChannelEnded, match="no ZMTP"):
        await channel.receive(1000)
    await channel.close()
    await asyncio.sleep(0.1)
    server.close()


def test_an_error_beyond_the_limit_shows_its_head_and_only_the_last_does():
    run = CellRun(request="r", max_shown=1000, max_cut=0)
    for number in range(5):
        run.add("error", {"ename": f"E{number}", "evalue": "v" * 50_000, "traceback": ["t" * 50_000] * 50})
    [shown] = run.outputs
    assert shown["ename"] == "E4" and len(orjson.dumps(shown)) < 250_000
    assert run.dropped > 10_000_000 and run.lost == run.dropped


def test_what_is_cleared_makes_room_again():
    run = CellRun(request="r", max_shown=1000)
    for _ in range(20):
        run.add("stream", {"name": "stdout", "text": "x" * 900})
        run.add("clear_output", {})
    assert run.dropped == 0 and run.outputs == []


def test_what_nbformat_has_no_place_for_is_no_output():
    assert output_from_message("display_data", {"data": {"text/x+json": {"a": 1}}}) is None
    assert output_from_message("display_data", {"data": {"application/x+json": {"a": 1}}}) is not None


ACTIVE = (
    SHOW
    + """
from IPython.display import HTML, Javascript, Markdown, SVG
import pandas as pd
display(HTML('<b>fine</b><script>document.title=1</script><img src=x onerror="document.title=2">'))
display(Javascript('document.title=3'))
display(SVG('<svg xmlns="http://www.w3.org/2000/svg" onload="document.title=4"></svg>'))
display(Markdown('**fine** <script>document.title=5</script>'))
display({'application/vnd.jupyter.widget-view+json': {'model_id': 'x', 'version_major': 2, 'version_minor': 0}}, raw=True)
display({'image/png': '"><script>document.title=6</script>', 'text/plain': 'p'}, raw=True)
display({'text/html': '<p>' * 100_000, 'text/plain': 'large'}, raw=True)
display(pd.DataFrame({'a': [1.5]}))
"""
)
_RUNS = ("<script", "onerror", "onload", "application/javascript", "widget-view", "document.title=1")


@pytest.mark.parametrize("level", LEVELS)
async def test_a_proof_notebook_is_passive_and_its_journal_keeps_the_raw_forms(
    level: str, open_session: Opener
):
    session = await open_session(level=level)
    await session.markdown("# fine <script>document.title=0</script> a < b, <https://example.com>")
    result = await session.execute(ACTIVE)
    assert result.status == "ok", result.text()
    await session.execute("import matplotlib.pyplot as plt\nplt.plot([1])\nprint('<b>text</b>')")
    await session.close()
    raw = session.spec.journal.read_text()
    assert all(sign in raw for sign in _RUNS), "the attack is there"
    notebook = nbformat.read(session.spec.notebook, as_version=4)
    text, active, plain = notebook.cells
    assert text.source == "# fine &lt;script>document.title=0&lt;/script> a < b, <https://example.com>"
    shown = json.dumps(active.outputs).lower()
    assert not [
        sign
        for sign in _RUNS
        if sign
        in shown.replace("[left out: application/javascript]", "").replace(
            "[left out: application/vnd.jupyter.widget-view+json]", ""
        )
    ]
    assert "<b>fine</b>" in shown and "<strong>fine</strong>" in shown and "<td>1.5</td>" in shown
    assert any("image/png" in output.get("data", {}) for output in plain.outputs)
    cells = read_journal(session.spec.journal)
    assert compare_notebook(cells, session.spec.notebook) == []
    # with the raw form put back it is not the notebook that the journal tells of
    active.outputs[0].data["text/html"] = cells[1].result.outputs[0]["data"]["text/html"]
    nbformat.write(notebook, session.spec.notebook)
    [difference] = compare_notebook(cells, session.spec.notebook)
    assert difference.what == "outputs were changed"


def test_a_session_of_an_earlier_version_is_shown_as_it_was_then(tmp_path: Path):
    journal = Journal(tmp_path / "j.jsonl")
    journal.append("markdown", id="a", source="<b>x</b>")
    journal.append("code", id="b", source="1", fixes=None)
    output = {"output_type": "display_data", "data": {"text/html": "<script>1</script>"}, "metadata": {}}
    journal.append(
        "result", id="b", result=result_to_json(CellResult(cell_id="b", status="ok", outputs=(output,)))
    )
    journal.close()
    cells = read_journal(tmp_path / "j.jsonl")
    notebook = render_notebook(cells)
    assert notebook.cells[0].source == "<b>x</b>"
    assert notebook.cells[1].outputs[0].data == output["data"]


@pytest.mark.parametrize("shown", [{"0": {"output_type": "x"}}, {"source": 1}, {"0": 1}, [1]])
def test_passive_forms_that_are_none_break_the_journal(tmp_path: Path, shown: object):
    journal = Journal(tmp_path / "j.jsonl")
    journal.append("markdown", id="a", source="x", shown=shown)
    journal.close()
    with pytest.raises(JournalBroken):
        read_journal(tmp_path / "j.jsonl")
