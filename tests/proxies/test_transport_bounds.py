"""What an upstream may cost: bytes as sent and as unpacked, codings, seconds of each read and of the whole."""

import asyncio
import gzip
import time
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache

import orjson
import pytest

from proxies.broker import Broker
from proxies.catalogue.schema import EndpointLimits, Key
from proxies.errors import SourceRejected, SourceUnavailable
from proxies.fetch import transport as wire
from proxies.fetch.transport import (
    HttpRequest,
    HttpxTransport,
    RetryingTransport,
    Transport,
    TransportError,
    UnusableResponse,
)
from proxies.settings import Retry
from proxies.vendors import yahoo
from tests.fakes.upstream import Sent, Upstream
from tests.fakes.vendors import KEY
from tests.proxies.conftest import asker

TRANSPORTS = {
    "httpx": lambda: HttpxTransport(key=None, secret="", agent="test"),
    "curl": yahoo.CurlTransport,
}
both = pytest.mark.parametrize("make", TRANSPORTS.values(), ids=TRANSPORTS.keys())
ROWS = orjson.dumps([{"symbol": "A", "date": "2020-01-02"}])
SPACES = 60_000_000


def request_to(url: str) -> HttpRequest:
    return HttpRequest(method="GET", url=url, query={})


@cache
def bomb(times: int) -> bytes:
    """Many spaces, packed once or several times."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    parts = [packer.compress(b" " * 10_000_000) for _ in range(SPACES // 10_000_000)]
    body = b"".join([*parts, packer.flush()])
    for _ in range(times - 1):
        body = gzip.compress(body, 9, mtime=0)
    return body


@asynccontextmanager
async def server(*pieces: bytes, pause: float, repeat: int = 1) -> AsyncIterator[str]:
    """An upstream that sends pieces of a body with pauses between them; yields its address."""
    length = sum(map(len, pieces)) * repeat
    serving: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        serving.add(task)
        try:
            await send(reader, writer)
        except (ConnectionError, asyncio.CancelledError):
            pass  # a client that gives up is what is tested
        finally:
            writer.close()

    async def send(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % length)
        for piece in pieces * repeat:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(pause)

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)


@pytest.mark.long
@both
@pytest.mark.parametrize(
    ("coding", "times"),
    [
        ("gzip, gzip", 2),
        ("br", 1),
        ("zstd", 1),
        pytest.param("gzip", 1, marks=pytest.mark.soak),
        pytest.param("gzip,gzip,gzip", 3, marks=pytest.mark.soak),
    ],
)
async def test_b3_a_packed_answer_cannot_take_more_memory_than_the_bound(
    make: Callable[[], Transport], coding: str, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (wire, yahoo):
        monkeypatch.setattr(module, "MOST_BYTES", 2_000_000)
    body = bomb(times)
    assert len(body) < SPACES / 500
    transport = make()
    with Upstream(lambda seen: Sent(body, 200, {"content-encoding": coding})) as vendor:
        tracemalloc.start()
        try:
            with pytest.raises(UnusableResponse):
                await transport.exchange(request_to(vendor.url), 10)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
            await transport.aclose()
        assert peak < 20_000_000
        assert vendor.seen[0].headers["accept-encoding"] == "gzip"


@both
async def test_b3_an_answer_without_end_is_given_up_at_the_bound(
    make: Callable[[], Transport], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (wire, yahoo):
        monkeypatch.setattr(module, "MOST_BYTES", 300_000)
    transport = make()
    try:
        async with server(b"x" * 100_000, pause=0.0, repeat=10_000) as url:
            with pytest.raises(UnusableResponse, match="ask for less"):
                await transport.exchange(request_to(url), 30)
    finally:
        await transport.aclose()


@both
@pytest.mark.parametrize("coding", ["gzip", "x-gzip", "identity", "", "GZIP"])
async def test_b3_an_honest_answer_comes_whole_in_the_coding_that_was_asked_for(
    make: Callable[[], Transport], coding: str
) -> None:
    long = orjson.dumps(list(range(200_000)))
    for plain in (ROWS, b"", long):
        packed = gzip.compress(plain, mtime=0) if "gzip" in coding.lower() else plain
        transport = make()
        with Upstream(
            lambda seen, packed=packed: Sent(packed, 200, {"content-encoding": coding} if coding else {})
        ) as vendor:
            try:
                assert (await transport.exchange(request_to(vendor.url), 10)).body == plain
            finally:
                await transport.aclose()


@both
async def test_b3_a_gzip_that_is_cut_short_is_no_shorter_answer(make: Callable[[], Transport]) -> None:
    packed = gzip.compress(orjson.dumps(list(range(5000))))
    for body in (packed[:-9], packed + packed, b"not gzip"):
        transport = make()
        with Upstream(lambda seen, body=body: Sent(body, 200, {"content-encoding": "gzip"})) as vendor:
            try:
                with pytest.raises(UnusableResponse, match="gzip"):
                    await transport.exchange(request_to(vendor.url), 10)
            finally:
                await transport.aclose()


@both
async def test_b3_a_slow_drip_is_given_up_and_frees_its_place(make: Callable[[], Transport]) -> None:
    transport = make()
    limits = EndpointLimits(together=1, timeout=15.0, total=1.5)
    sender = RetryingTransport(
        source="s", transport=transport, limits=limits, retry=Retry(tries=4, base=0.001)
    )
    try:
        async with server(b"1", pause=0.1, repeat=600) as slow, server(b"[]", pause=0.0) as quick:
            await sender.send(request_to(quick))  # the first call also reads the trusted roots
            began = time.monotonic()
            stuck = asyncio.create_task(sender.send(request_to(slow)))
            await asyncio.sleep(0.05)
            honest = asyncio.create_task(sender.send(request_to(quick)))
            with pytest.raises(SourceUnavailable, match=r"did not finish its answer in 1\.5 s"):
                await stuck
            assert time.monotonic() - began < 10
            assert (await honest).body == b"[]"
            # the slow one was asked once: every further try would cost the whole wait again
            assert sender.sent == 3
    finally:
        await transport.aclose()


@both
async def test_b3_an_answer_that_takes_its_time_within_the_bounds_comes(
    make: Callable[[], Transport],
) -> None:
    transport = make()
    limits = EndpointLimits(timeout=10.0, total=20.0)
    sender = RetryingTransport(source="s", transport=transport, limits=limits, retry=Retry(tries=1))
    try:
        async with server(b"[1", b",2", b"]", pause=0.2) as url:
            assert (await sender.send(request_to(url))).body == b"[1,2]"
    finally:
        await transport.aclose()


@both
async def test_b3_silence_ends_with_the_timeout_of_a_read(make: Callable[[], Transport]) -> None:
    transport = make()
    try:
        async with server(b"[", b"]", pause=20.0) as url:
            began = time.monotonic()
            with pytest.raises(TransportError, match="no answer in time"):
                await transport.exchange(request_to(url), 0.4)
            assert time.monotonic() - began < 8
    finally:
        await transport.aclose()


async def test_b3_the_caller_reads_what_was_wrong_and_the_vendor_is_asked_once(
    broker_of: Callable[..., Broker],
) -> None:
    with Upstream(lambda seen: Sent(bomb(2), 200, {"content-encoding": "gzip, gzip"})) as vendor:
        ask = asker(broker_of(keys={"fmp": KEY}, upstreams={"fmp": vendor.url}), "2024-05-04")
        with pytest.raises(SourceRejected, match=r"^fmp sent an answer that cannot be read"):
            await ask("fmp/calendar/splits/splits", symbol="A")
        assert len(vendor.seen) == 1 and not ask.ledger.rows


async def test_b3_an_answer_that_is_too_large_unpacked_is_called_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MOST_BYTES", 1000)
    assert await wire.unpacked(gzip.compress(b" " * 1000, mtime=0), "gzip") == b" " * 1000
    with pytest.raises(UnusableResponse, match="larger than"):
        await wire.unpacked(gzip.compress(b" " * 1001, mtime=0), "gzip")


TOKEN = b'{"access_token": "t", "token_type": "bearer", "expires_in": 3600}'


@pytest.mark.parametrize(
    ("coding", "reply", "says"),
    [
        ("gzip", bomb(1), "larger than"),
        ("gzip, gzip", bomb(2), "not asked for"),
        ("", b" " * 40_000_000, "larger than"),
        ("", b'{"access_token": []', "no token came"),
        ("", b'[["access_token", "t"]]', "no token came"),
        ("", TOKEN.replace(b"3600", b'"soon"'), "no token came"),
        ("", TOKEN, None),
        ("gzip", gzip.compress(TOKEN, mtime=0), None),
    ],
)
async def test_the_reply_with_a_token_is_bounded_as_every_answer(
    coding: str, reply: bytes, says: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("authlib")
    monkeypatch.setattr(wire, "MOST_BYTES", 2_000_000)
    key = Key(variable="DESK_KEY", place="oauth2", token="token")
    headers = {"content-encoding": coding} if coding else {}
    with Upstream(
        lambda seen: Sent(reply, 200, headers) if seen.path.endswith("token") else Sent(ROWS, 200, {})
    ) as desk:
        transport = HttpxTransport(
            key=key, secret="client:hidden-word", agent="test", token_url=f"{desk.url}/token"
        )
        tracemalloc.start()
        try:
            if says is None:
                assert (await transport.exchange(request_to(f"{desk.url}/rows"), 10)).body == ROWS
                assert desk.seen[-1].headers["authorization"] == "Bearer t"
            else:
                with pytest.raises(UnusableResponse, match=says) as stopped:
                    await transport.exchange(request_to(f"{desk.url}/rows"), 10)
                assert "hidden-word" not in str(stopped.value) and len(desk.seen) == 1
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
            await transport.aclose()
    assert peak < 30_000_000
