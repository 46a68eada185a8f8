"""A cell that misuses the output channel: what it sends costs the owner of its session neither memory, time nor evidence."""

import asyncio
import json
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import nbformat
import orjson
import pytest
from jupyter_client.session import Session as Messages

from sandbox import JournalBroken, Limits, read_journal
from sandbox.kernels import client
from sandbox.kernels.channel import Channel, ChannelEnded
from sandbox.kernels.client import CellRun, KernelClient
from sandbox.kernels.decode import Decoded, decode_message
from sandbox.record.cell_results import cell_result
from sandbox.record.journal import Journal
from sandbox.record.verify import compare_notebook
from tests.fakes.processor_time import longest_turn_seconds
from tests.sandbox.conftest import LEVELS, Opener
from tests.sandbox.floods import FLOODS, RAW, RAW_FLOODS, SHOW

pytestmark = pytest.mark.long

_SMALL = Limits(cell_seconds=60, output_bytes=100_000, journal_bytes=100_000)

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


async def test_an_odd_output_costs_neither_the_session_nor_the_evidence(open_session: Opener):
    session = await open_session()
    for odd, source in ODD.items():
        result = await session.execute(source)
        assert result.status == "ok" and result.outputs, (odd, result.text())
        after = await session.execute("print('evidence')")
        assert (after.status, after.text()) == ("ok", "evidence"), odd
    await session.close()
    cells = nbformat.read(session.spec.notebook, as_version=4).cells
    assert [cell.outputs[0].text for cell in cells[1::2]] == ["evidence\n"] * len(ODD)
    assert len(read_journal(session.spec.journal)) == 2 * len(ODD)


@pytest.mark.parametrize("level", LEVELS)
async def test_a_lone_surrogate_loses_no_text(level: str, open_session: Opener):
    session = await open_session(level=level)
    result = await session.execute(
        "import sys\nprint('before', '\\ud83d', 'after')\nsys.stdout.flush()\nprint('next')\n'end \\udc80'"
    )
    assert (result.status, result.text()) == ("ok", "before ? after\nnext\n'end \\udc80'")
    failed = await session.execute("raise ValueError('\\ud83d bad')")
    assert failed.error.ename == "ValueError" and "? bad" in failed.text()


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
    # what is not yet read when the flood ends is read within the cell's time, and a busy machine takes its share of that
    session = await open_session(limits=Limits(cell_seconds=150))
    parts, expected = RAW_FLOODS[flood]

    async def take() -> None:
        running = asyncio.create_task(session.execute(RAW.format(parts=parts)))
        answers = 0
        while not running.done():
            assert (await neighbour.execute("6 * 7")).text() == "42"
            answers += 1
            await asyncio.sleep(0.2)
        result = await running
        assert answers > 1
        assert result.status == expected, result.text()
        if expected == "died":
            assert "the kernel was ended" in result.error.evalue or "SIGPIPE" in result.error.evalue
        assert (await session.execute("6 * 7")).text() == "42"

    with most_memory() as peak:
        assert await longest_turn_seconds(take, below=HELD) < HELD
    assert peak[0] < 150 << 20


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
    async def decode() -> None:
        decoded = await decode_message(framed("display_data", content), KEY)
        assert decoded is not None and (decoded.content is not None) == readable
        if readable:
            assert decoded.content == orjson.loads(content)

    assert await longest_turn_seconds(decode, below=5) < 5


HOSTILE = {
    "text": b'{"text": "%b"}' % (b"x" * (9 << 20)),
    "line breaks": b'{"text": "%b"}' % (b"\\n" * (4 << 20)),
    "escapes": b'{"text": "%b"}' % (b"\\u00e9" * (3 << 19)),
    "backslashes": b'{"text": "%b"}' % (b"\\\\" * (4 << 20)),
    "quotes": b'{"text": "%b"}' % (b'\\"[' * (3 << 20)),
    "wide letters": b'{"text": "%b"}' % ("\U0001f600".encode() * (9 << 18)),
    "texts": b'{"v": [%b1]}' % (b'"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",' * 240_000),
    "long names": b'{%b"z": 1}' % b"".join(b'"%b%d": 1,' % (b"k" * 180, n) for n in range(49_000)),
    "numbers": b'{"v": [%b1]}' % (b"1," * 240_000),
    "long numbers": b'{"v": [%b1]}' % (b"0.%be-307," % (b"1234567890" * 3) * 240_000),
    "lists": b'{"v": [%b[]]}' % (b"[]," * 48_000),
    "objects": b'{"v": [%b[]]}' % (b'{"a":1},' * 19_000),
    "too many numbers": b'{"v": [%b1]}' % (b"1," * (4 << 20)),
    "too many lists": b'{"v": [%b[]]}' % (b"[]," * (3 << 20)),
    "too deep": b'{"v": %b%b}' % (b"[" * 5000, b"]" * 5000),
}


def shaped(content: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """What a kernel can make of the same values: a stream, an error, data of a display, its metadata."""
    return [
        ("stream", {"name": "stdout", "text": content.get("text", "")}),
        ("error", {"ename": "E", "evalue": "", "traceback": content.get("v", [])}),
        ("display_data", {"data": {"application/json": content}, "metadata": {}}),
        ("display_data", {"data": {"text/plain": "x"}, "metadata": content}),
        ("display_data", {"data": content, "metadata": {}}),
    ]


#: What a turn of the loop may take of its own thread's processor time, in seconds: 50 ms, and three times that on a busy machine.
HELD = 3 * 0.050


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
async def test_the_loop_is_never_held_long_by_a_message(content: bytes):
    """50 ms, and three times that on a busy machine."""
    frames = framed("display_data", content)

    async def take() -> None:
        decoded = await decode_message(frames, KEY)
        assert decoded is not None
        for kind, message in shaped(decoded.content or {}):
            await asyncio.sleep(0)
            CellRun(request="r", max_shown=1 << 20, max_cut=10 << 20).add(kind, message)
            await asyncio.sleep(0)

    assert await longest_turn_seconds(take, below=HELD) < HELD


class FakeKernel:
    """The two channels of a kernel, on which a test sends what it likes; an async context manager."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._links: dict[int, asyncio.StreamWriter] = {}
        self.info = {"ip": str(folder / "s"), "key": KEY.decode(), "signature_scheme": "hmac-sha256"}
        self.info |= {"shell_port": 1, "iopub_port": 2}

    async def __aenter__(self) -> "FakeKernel":
        self._servers = [
            await asyncio.start_unix_server(partial(self._serve, port), f"{self.info['ip']}-{port}")
            for port in (1, 2)
        ]
        self.client = KernelClient(self.info)
        await self.client.connect(30)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.client.close()
        for link in self._links.values():
            link.close()
            with suppress(ConnectionError):
                await link.wait_closed()
        for server in self._servers:
            server.close()

    async def _serve(self, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readexactly(64))
        self._links[port] = writer
        if port == 2:
            await self.send(2, framed("iopub_welcome", b"{}"))

    async def send_raw(self, port: int, sent: bytes) -> None:
        self._links[port].write(sent)
        await self._links[port].drain()

    async def send(self, port: int, frames: list[bytes]) -> None:
        *first, last = frames
        flags = [(3, frame) for frame in first] + [(2, last)]
        await self.send_raw(
            port, b"".join(bytes([flag]) + len(part).to_bytes(8) + part for flag, part in flags)
        )


#: What stands before a cell's own output, as pieces that come one after the other.
BACKLOGS = {
    "empty messages": [bytes([0, 0]) * 100] * 20,
    "messages of nobody": [b"\1\1a\0\1b"] * 20,
    "a long message": [bytes([2]) + (10 << 20).to_bytes(8), *[bytes(1 << 19)] * 20],
    "a message too long to be held": [bytes([2]) + (20 << 20).to_bytes(8), *[bytes(1 << 20)] * 20],
}


async def run_behind(kernel: FakeKernel, backlog: list[bytes]) -> CellRun:
    """Run a cell whose reply comes at once and whose output stands behind what comes slowly."""
    run = kernel.client.start("6 * 7", max_shown=1000)
    await kernel.send(1, framed("execute_reply", b'{"status": "ok"}', run.request))
    finishing = asyncio.create_task(kernel.client.finish(run))
    for piece in backlog:
        await asyncio.sleep(0.1)
        await kernel.send_raw(2, piece)
    await kernel.send(2, framed("stream", b'{"name": "stdout", "text": "42"}', run.request))
    await kernel.send(2, framed("status", b'{"execution_state": "idle"}', run.request))
    await finishing
    return run


@pytest.fixture
def _patient_for_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "LOOK", 0.05)
    monkeypatch.setattr(client, "QUIET_LOOKS", 20)


@pytest.mark.parametrize("backlog", BACKLOGS.values(), ids=BACKLOGS)
@pytest.mark.usefixtures("_patient_for_a_second")
async def test_a_cell_ends_when_all_that_stands_before_its_end_is_read(backlog: list[bytes], tmp_path: Path):
    async with FakeKernel(tmp_path) as kernel:
        for _ in range(2):
            run = await run_behind(kernel, backlog)
            result = cell_result("cell-001", run, None, None, 1.0, 0, [])
            assert result.status == "ok" and result.text().startswith("42"), result.text()


@pytest.mark.usefixtures("_patient_for_a_second")
async def test_a_cell_whose_output_has_no_end_is_not_ok(tmp_path: Path):
    async with FakeKernel(tmp_path) as kernel:
        run = kernel.client.start("6 * 7", max_shown=1000)
        await kernel.send(2, framed("stream", b'{"name": "stdout", "text": "4"}', run.request))
        await kernel.send(1, framed("execute_reply", b'{"status": "ok"}', run.request))
        await asyncio.wait_for(kernel.client.finish(run), 30)
    result = cell_result("cell-001", run, -signal.SIGKILL, None, 1.0, 0, [])
    assert result.status == "died" and "never came" in result.error.evalue


@pytest.mark.parametrize("code", [0, None])
def test_a_reply_without_the_end_of_the_output_is_no_success(code: int | None):
    run = CellRun(request="r", max_shown=1000)
    run.reply = {"status": "ok"}
    run.replied.set()
    assert cell_result("cell-001", run, code, None, 1.0, 0, []).status == "died"
    assert cell_result("cell-001", run, -9, "cell_seconds", 1.0, 0, []).status == "timeout"
    run.idle.set()
    assert cell_result("cell-001", run, code, None, 1.0, 0, []).status == "ok"


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


@pytest.mark.parametrize("shown", [{"0": {"output_type": "x"}}, {"source": 1}, {"0": 1}, [1]])
def test_passive_forms_that_are_none_break_the_journal(tmp_path: Path, shown: object):
    journal = Journal(tmp_path / "j.jsonl")
    journal.append("markdown", id="a", source="x", shown=shown)
    journal.close()
    with pytest.raises(JournalBroken):
        read_journal(tmp_path / "j.jsonl")
