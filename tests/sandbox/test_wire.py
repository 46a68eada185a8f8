"""Both ends of CALL_API against each other, and the trusted end against lies."""

import asyncio
import contextlib
import importlib.util
import json
import socket
import struct
from pathlib import Path

import orjson
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxies.errors import Refused
from proxies.ledger import Answer
from sandbox import Limits
from sandbox.wire import MAX_REQUEST, BadFrame, WireServer, parse_request
from tests.sandbox.conftest import Opener, Told, echo


@pytest.fixture(scope="module")
def stub():
    path = Path(__file__).resolve().parents[2] / "kernels" / "analyst" / "call_api.py"
    spec = importlib.util.spec_from_file_location("stub_of_the_kernel", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
async def ends(stub):
    served = []

    def make(api=echo, limits=None, declare=None):
        ours, theirs = socket.socketpair()
        server = WireServer(ours, api, limits or Limits(), declare=declare)
        served.append((asyncio.create_task(server.run()), ours, theirs))
        return server, stub.CallApi(theirs.detach())

    made = []

    def keep(*args, **kwargs):
        server, client = make(*args, **kwargs)
        made.append(client)
        return server, client

    yield keep
    for client in made:
        client._socket.close()
    for task, ours, _ in served:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        ours.close()


async def test_a_search_and_a_page_are_calls_like_any_other_and_show_their_lines(ends, stub):
    async def lines(path, params, *, cell, nth):
        return Told(data=f"{path}\n{params}", meta={"content_hash": "sha256:x"})

    server, call = ends(api=lines)
    server.begin(1)
    found = await asyncio.to_thread(call.search, "oil price")
    assert repr(found) == str(found) == "catalogue/search\n{'words': 'oil price'}"
    page = await asyncio.to_thread(call.doc, "fred/series", "kalshi/events")
    assert page == "catalogue/doc\n{'paths': ['fred/series', 'kalshi/events']}"
    assert server.cell.count == 2
    with pytest.raises(stub.ApiRefused):
        await asyncio.to_thread(call.search, object())


async def test_the_stub_and_the_server_speak_the_same(ends, stub):
    async def declare(text):
        if text == "bad":
            raise Refused("no date")
        return f"pinned {text}"

    server, call = ends(declare=declare)
    server.begin(4)
    assert (await asyncio.to_thread(call, "a/b", {"x": [1, "ü"]})) == {
        "path": "a/b",
        "params": {"x": [1, "ü"]},
        "cell": 4,
        "nth": 0,
    }
    assert call.meta["as_of"] == "2018-06-30"
    assert await asyncio.to_thread(call.declare_cutoff, "2018-06-30") == "pinned 2018-06-30"
    with pytest.raises(stub.ApiRefused, match="no date"):
        await asyncio.to_thread(call.declare_cutoff, "bad")
    with pytest.raises(stub.ApiRefused, match="plain JSON"):
        call("a", {"x": object()})
    with pytest.raises(stub.ApiRefused, match="at most"):
        call("a", {"x": "y" * MAX_REQUEST})
    assert server.cell.count == 1


async def test_a_reply_to_an_interrupted_call_is_passed_over(ends, stub):
    _, call = ends()
    body = json.dumps({"id": 99, "path": "first"}).encode()
    call._socket.sendall(struct.pack(">I", len(body)) + body)  # its reader was interrupted
    assert (await asyncio.to_thread(call, "second"))["path"] == "second"


async def test_an_oversized_answer_is_refused_and_the_wire_goes_on(ends, stub):
    async def api(path, params, *, cell, nth):
        return Told(data="x" * (33 << 20) if path == "big" else 1, meta={})

    _, call = ends(api)
    with pytest.raises(stub.ApiRefused, match="ask for less"):
        await asyncio.to_thread(call, "big")
    assert await asyncio.to_thread(call, "small") == 1


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{",
        b'{"id": 1}',
        b'{"id": "1", "path": "x"}',
        b'{"id": 1, "path": "x", "cutoff": "2030-01-01"}',
        b'{"id": 1, "path": "x", "params": {}, "extra": 1}',
        b'{"id": 1, "path": "x", "params": []}',
        b'{"id": -1, "path": "x"}',
        b'{"id": 1, "path": ""}',
        b'{"id": 1, "cutoff": ""}',
        b"\xff\xfe",
        b"[" * 5000,
        b'{"id": 1, "path": "x", "params": {"q": 1%b}}' % (b"0" * 400),
        b'{"id": 1, "path": "x", "params": {"q": 1e400}}',
        b'{"id": 1, "path": "x", "params": {"q": %b%b}}' % (b"[" * 300, b"]" * 300),
        b'{"id": 1, "path": "x", "params": {"q": %b%b}}' % (b"[" * 33, b"]" * 33),
    ],
)
def test_what_is_no_request_is_no_request(body: bytes):
    with pytest.raises(BadFrame):
        parse_request(body)


@settings(deadline=None)
@given(
    st.binary(max_size=300)
    | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(
        lambda value: json.dumps(value).encode()
    )
)
def test_any_bytes_are_a_request_or_a_bad_frame(body: bytes):
    try:
        parse_request(body)
    except BadFrame:
        return


async def test_a_frame_whose_end_cannot_be_found_ends_the_connection_and_asks_nobody():
    asked = []
    lie = b"\xff\xff\xff\xff"

    async def api(path, params, *, cell, nth):
        asked.append(path)

    ours, theirs = socket.socketpair()
    theirs.sendall(lie)
    await asyncio.wait_for(WireServer(ours, api, Limits()).run(), 60)
    theirs.settimeout(60)
    assert theirs.recv(10) == b"" and asked == []
    theirs.close()
    ours.close()


@pytest.mark.parametrize("params", [{"q": 10**400}, {"deep": 300}, {"q": 1}])
async def test_an_odd_parameter_is_refused_and_the_wire_goes_on(ends, stub, params):
    if "deep" in params:
        params = {"q": []}
        for _ in range(300):
            params = {"q": [params["q"]]}
    server, call = ends()
    if params == {"q": 1}:  # the legitimate neighbour
        assert (await asyncio.to_thread(call, "x", params))["params"] == params
    else:
        with pytest.raises(stub.ApiRefused, match="no request"):
            await asyncio.to_thread(call, "x", params)
    assert (await asyncio.to_thread(call, "y", {"n": [[1.5]]}))["path"] == "y"
    assert server.failure is None


@pytest.mark.parametrize(
    "junk", [b"not json!!", b"", b"{" * 60_000, b"x" * (MAX_REQUEST + 1), b"x" * (3 << 20)]
)
async def test_a_bad_frame_is_refused_and_the_next_one_answered(junk: bytes):
    ours, theirs = socket.socketpair()
    task = asyncio.create_task(WireServer(ours, echo, Limits()).run())
    reader, writer = await asyncio.open_connection(sock=theirs)
    writer.write(framed(junk, b'{"id": 7, "path": "x"}'))
    replies = []
    for _ in range(2):
        (length,) = struct.unpack(">I", await asyncio.wait_for(reader.readexactly(4), 60))
        replies.append(json.loads(await reader.readexactly(length)))
    assert replies[0]["error"] == "refused" and replies[0]["id"] is None
    assert replies[1]["id"] == 7 and replies[1]["data"]["path"] == "x"
    writer.close()
    await asyncio.wait_for(task, 60)


def framed(*bodies: bytes) -> bytes:
    return b"".join(struct.pack(">I", len(body)) + body for body in bodies)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(1, 400), max_size=12), st.integers(1, 40))
async def test_requests_may_come_in_any_pieces(cuts, count):
    stream = framed(*(json.dumps({"id": n, "path": "p" * (n * 37 % 200 + 1)}).encode() for n in range(count)))
    ours, theirs = socket.socketpair()
    server = asyncio.create_task(WireServer(ours, echo, Limits()).run())
    reader, writer = await asyncio.open_unix_connection(sock=theirs)
    at = 0
    for cut in cuts:
        writer.write(stream[at : at + cut])
        at += cut
        await asyncio.sleep(0)
    writer.write(stream[at:])
    for number in range(count):
        (length,) = struct.unpack(">I", await reader.readexactly(4))
        assert json.loads(await reader.readexactly(length))["id"] == number
    writer.close()
    await asyncio.wait_for(server, 60)


async def test_a_kernel_that_floods_and_never_reads_holds_only_its_own_connection():
    asked = []

    async def api(path, params, *, cell, nth):
        asked.append(path)
        return Answer(body=b'"' + b"x" * 100_000 + b'"', meta={})

    ours, theirs = socket.socketpair()
    server = WireServer(ours, api, Limits(api_calls=10**6))
    task = asyncio.create_task(server.run())
    theirs.setblocking(False)
    request = framed(b'{"id": 1, "path": "x"}')
    sent = 0
    for _ in range(300):
        with contextlib.suppress(BlockingIOError):
            sent += theirs.send(request * 1000)
        await asyncio.sleep(0)
    assert sent < 3_000_000 and 0 < len(asked) < 50, "the socket is full and nothing is taken from it"
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 60)
    assert ours.fileno() == -1
    theirs.close()


async def test_a_socket_that_is_closed_under_the_server_ends_it_quietly(ends):
    for calls in (0, 1):
        ours, theirs = socket.socketpair()
        task = asyncio.create_task(WireServer(ours, echo, Limits()).run())
        await asyncio.sleep(0)
        if calls:  # and with the other end's last words read
            theirs.shutdown(socket.SHUT_WR)
            await asyncio.sleep(0.02)
        ours.close()
        theirs.close()
        task.cancel()
        results = await asyncio.gather(task, return_exceptions=True)
        assert not calls or results == [None]
        assert calls or isinstance(results[0], asyncio.CancelledError)


@pytest.mark.parametrize("rows", [1, 100, 5000, pytest.param(60_000, marks=pytest.mark.long)])
async def test_a_frame_of_any_size_is_the_frame_of_the_rows(ends, rows):
    data = [{"date": "2018-06-29", "close": n / 3, "volume": n, "note": None} for n in range(rows)]
    answers = {
        "value": Answer(data=data, meta={"n": 1}),
        "json": Answer(body=orjson.dumps(data), meta={"n": 1}),
    }

    async def api(path, params, *, cell, nth):
        return answers[path]

    _, call = ends(api)
    wanted = pd.DataFrame(data).assign(date=pd.to_datetime("2018-06-29").as_unit("us"))
    for path in answers:
        assert await asyncio.to_thread(call, path) == data and call.meta == {"n": 1}
        frame = await asyncio.to_thread(call.frame, path)
        pd.testing.assert_frame_equal(frame, wanted, check_dtype="date" not in frame)
        assert frame.dtypes.astype(str).tolist()[1:] == wanted.dtypes.astype(str).tolist()[1:]


LIES = """
import json, os, socket, struct, threading
api = CALL_API._socket
CALL_API.meta['as_of'] = 'the future'
type(CALL_API).__call__ = lambda *a, **k: 'monkeypatched'
print(CALL_API('x'))
api.sendall(struct.pack('>I', 0xFFFFFFF0) + b'x' * 100000)
try:
    print('closed', api.recv(10))
except ConnectionError:
    print('closed')
"""


async def test_a_stub_that_lies_harms_only_its_own_kernel(open_session: Opener):
    liar, neighbour = await open_session("P1.1.1"), await open_session("P2.1.1")
    result = await liar.execute(LIES)
    assert result.text().startswith("monkeypatched\nclosed")
    assert result.api_calls == 0
    after = await liar.execute("1 + 1")
    assert after.text() == "2"
    assert (await neighbour.execute("CALL_API('y')['path']")).text() == "'y'"


async def test_a_forked_child_cannot_speak_for_its_kernel(open_session: Opener):
    session = await open_session()
    source = """
import os
r, w = os.pipe()
if os.fork() == 0:
    try:
        CALL_API('x')
    except Exception as error:
        os.write(w, type(error).__name__.encode())
    os._exit(0)
os.wait(); print(os.read(r, 100).decode())
"""
    assert (await session.execute(source)).text() == "ApiUnavailable"
