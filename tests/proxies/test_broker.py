"""The broker over real HTTP: ledger, cache, calls in flight, retries, typed failures that leave nothing behind."""

import asyncio
import json
import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest

from proxies import broker as broker_module
from proxies.asof.clock import Cutoff
from proxies.broker import Broker
from proxies.catalogue import load_catalogue
from proxies.errors import (
    CutoffRefused,
    LedgerMismatch,
    MissingKey,
    ParameterInvalid,
    QuotaExhausted,
    Refused,
    SourceRejected,
    SourceUnavailable,
)
from proxies.fetch.pacing import retry_after
from proxies.fetch.transport import EndpointLimits, HttpRequest, HttpResponse, RetryingTransport
from proxies.hashing import content_hash
from proxies.ledger import Address, MemoryLedger
from proxies.settings import ProxySettings, Retry
from proxies.vendors import base as base_module
from tests.fakes.upstream import Sent, Upstream
from tests.proxies.conftest import asker
from workbench.store.database import Store
from workbench.store.ledgers import ApiLedger

EOD = "fmp/chart/end-of-day/historical-price-eod/non-split-adjusted"
ROWS = [
    {"symbol": "A", "date": "2024-05-01", "adjClose": 1.0},
    {"symbol": "A", "date": "2024-07-01", "adjClose": 2.0},
]
KEY = "sEcReTkEy0123456789"


@pytest.fixture
def vendor() -> Iterator[Upstream]:
    with Upstream(lambda seen: Sent(ROWS)) as upstream:
        yield upstream


@pytest.fixture
def broker(vendor: Upstream, broker_of: Callable[..., Broker]) -> Broker:
    return broker_of(keys={"fmp": KEY}, upstreams={"fmp": vendor.url})


def place(step: int = 0, retry: int = 0, node: str = "P1") -> Address:
    return Address(run="r", node=node, trial=1, attempt=1, stage="cell", step=step, retry=retry)


# -- ledger -----------------------------------------------------------------------------------------------------------


async def test_an_answer_is_recorded_before_it_is_told_and_recalled_at_its_address(
    broker: Broker, vendor: Upstream
) -> None:
    ledger = MemoryLedger()
    session = broker.session(Cutoff.parse("2024-06-01"), ledger)
    first = await session.call(
        "fmp/historical-price-eod/non-split-adjusted", {"symbol": "A", "to": "2030-01-01"}, place()
    )
    (row,) = ledger.rows.values()
    assert row.answer == first and row.refused is None and row.cutoff == "2024-06-01"
    assert row.asked == {"symbol": "A", "to": "2030-01-01"}
    assert row.sent == [{"endpoint": EOD, "symbol": "A", "to": "2024-05-31"}]
    vendor.handler = lambda seen: Sent([])
    again = await session.call(
        "fmp/historical-price-eod/non-split-adjusted", {"symbol": "A", "to": "2030-01-01"}, place()
    )
    assert again == first and len(vendor.seen) == 1


async def test_another_request_at_the_same_address_is_a_mismatch(broker: Broker) -> None:
    session = broker.session(Cutoff.parse("2024-06-01"), MemoryLedger())
    await session.call(EOD, {"symbol": "A"}, place())
    for path, params in ((EOD, {"symbol": "B"}), ("embedded/series/list", {})):
        with pytest.raises(LedgerMismatch):
            await session.call(path, params, place())


# -- cache and calls in flight ----------------------------------------------------------------------------------------


async def test_equal_requests_in_flight_are_one_call(broker: Broker, vendor: Upstream) -> None:
    vendor.handler = lambda seen: Sent(ROWS, wait=0.1)
    ask = asker(broker, "2024-06-01")
    answers = await asyncio.gather(*(ask(EOD, symbol="A") for _ in range(20)))
    assert len(vendor.seen) == 1 and all(answer.data == answers[0].data for answer in answers)


async def test_a_cancelled_caller_does_not_cancel_the_others(broker: Broker, vendor: Upstream) -> None:
    vendor.handler = lambda seen: Sent(ROWS, wait=0.2)
    ask = asker(broker, "2024-06-01")
    first, second = asyncio.create_task(ask(EOD, symbol="A")), asyncio.create_task(ask(EOD, symbol="A"))
    await asyncio.sleep(0.05)
    first.cancel()
    assert len((await second).data) == 1 and len(vendor.seen) == 1


async def test_raw_answers_outlive_the_process_and_serve_earlier_cutoffs_only_filtered(
    vendor: Upstream, broker_of: Callable[..., Broker], tmp_path: Path
) -> None:
    made: dict[str, Any] = {
        "keys": {"fmp": KEY},
        "upstreams": {"fmp": vendor.url},
        "cache_path": tmp_path / "raw.db",
    }
    # no window in this endpoint: one raw answer for every cutoff
    path = "fmp/calendar/splits/splits"
    vendor.handler = lambda seen: Sent([{"symbol": "n", "date": "2020-01-02", "price": 5}])
    assert (await asker(broker_of(**made), "now")(path, symbol="n", limit=1000)).data[0]["price"] == 5
    answer = await asker(broker_of(**made), "2024-06-01")(path, symbol="n", limit=1000)
    assert answer.data == [{"symbol": "n", "date": "2020-01-02"}] and len(vendor.seen) == 1


async def test_a_live_answer_is_served_again_only_while_it_is_young(
    vendor: Upstream, broker_of: Callable[..., Broker]
) -> None:
    clock = [datetime(2026, 1, 1, tzinfo=UTC)]
    broker = broker_of(keys={"fmp": KEY}, upstreams={"fmp": vendor.url}, now=lambda: clock[0])
    ask = asker(broker, "now")
    for minutes, calls in ((0, 1), (14, 1), (16, 2)):
        clock[0] = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=minutes)
        await ask(EOD, symbol="A")
        assert len(vendor.seen) == calls


async def test_what_is_used_stays_when_the_cache_is_full(
    vendor: Upstream, broker_of: Callable[..., Broker], tmp_path: Path
) -> None:
    clock = [datetime(2026, 1, 1, tzinfo=UTC)]
    noise = orjson.dumps(
        [{"symbol": "A", "date": "2024-05-01", "adjClose": random.random()} for _ in range(300)]
    )
    vendor.handler = lambda seen: Sent(noise)

    async def ask(symbol: str) -> None:
        made = {"keys": {"fmp": KEY}, "upstreams": {"fmp": vendor.url}, "cache_path": tmp_path / "raw.db"}
        broker = broker_of(
            **made, now=lambda: clock[0], cache_bytes=20_000
        )  # a new one: nothing in its memory
        await asker(broker, "2024-06-01")(EOD, symbol=symbol)

    for number in range(12):
        clock[0] += timedelta(hours=2)
        await ask("USED")
        await ask(f"S{number}")
    asked = [seen.query["symbol"] for seen in vendor.seen]
    assert asked.count("USED") == 1, "it was used again and again, so others went"
    await ask("S0")
    assert len(vendor.seen) == len(asked) + 1


# -- failures ---------------------------------------------------------------------------------------------------------


async def test_retry_after_is_obeyed_and_a_long_one_is_a_used_up_quota(
    broker_of: Callable[..., Broker], vendor: Upstream
) -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    broker = broker_of(keys={"fmp": KEY}, upstreams={"fmp": vendor.url}, sleep=sleep)
    vendor.faults.append(Sent({}, 429, {"Retry-After": "0.15"}))
    await asker(broker, "2024-06-01")(EOD, symbol="A")
    assert max(pauses) >= 0.15
    vendor.faults.append(Sent({}, 429, {"Retry-After": "86400"}))
    with pytest.raises(QuotaExhausted):
        await asker(broker, "2024-06-01")(EOD, symbol="B")


async def test_an_upstream_that_is_down_or_silent_is_unavailable(broker_of: Callable[..., Broker]) -> None:
    with Upstream(lambda seen: Sent([])) as gone:
        url = gone.url
    with pytest.raises(SourceUnavailable, match="fmp cannot be reached"):
        await asker(broker_of(keys={"fmp": KEY}, upstreams={"fmp": url}), "2024-06-01")(EOD, symbol="A")


class _Silent:
    """A wire on which nothing comes back."""

    calls = 0

    async def exchange(self, request: HttpRequest, timeout: float) -> HttpResponse:
        from proxies.fetch.transport import TransportError

        _Silent.calls += 1
        raise TransportError("no answer in time")

    async def aclose(self) -> None:
        pass


async def test_silence_is_asked_once_more_and_then_told() -> None:
    transport = RetryingTransport(
        source="s", transport=_Silent(), limits=EndpointLimits(), retry=Retry(tries=4, base=0.001)
    )
    with pytest.raises(SourceUnavailable, match="no answer in time"):
        await transport.send(HttpRequest(method="GET", url="http://s", query={}))
    assert _Silent.calls == 2


@pytest.mark.parametrize("source", [s for s in load_catalogue().sources() if s.key], ids=lambda s: s.name)
async def test_a_missing_key_names_its_variable_and_a_refused_one_too(
    source: Any, broker_of: Callable[..., Broker]
) -> None:
    endpoint = next(
        e
        for e in load_catalogue()
        # what is dated by another source's reports names that source's key
        if e.source.name == source.name
        and e.as_of.policy != "snapshot_refused"
        and (e.as_of.join is None or e.as_of.join.symbol == "tickers")
    )
    with pytest.raises(MissingKey, match=source.key.variable):
        await asker(broker_of(), "2024-06-01")(endpoint.path, **endpoint.example)
    with Upstream(lambda seen: Sent({"error": "no"}, 401)) as upstream:
        broker = broker_of(keys={source.name: KEY}, upstreams={source.name: upstream.url})
        with pytest.raises(SourceRejected, match=source.key.variable):
            await asker(broker, "2024-06-01")(endpoint.path, **endpoint.example)
        seen = upstream.seen[-1]
        assert KEY in json.dumps([seen.query, seen.headers])
        assert KEY not in seen.path and (source.key.place == "query" or KEY not in json.dumps(seen.query))


async def test_strict_refuses_what_is_served_with_a_warning_otherwise(
    broker_of: Callable[..., Broker],
) -> None:
    high = [e for e in load_catalogue() if e.as_of.residual == "high"]
    assert len(high) > 20
    for endpoint in high:
        with pytest.raises(CutoffRefused):
            await asker(broker_of(), "2024-06-01", strict=True)(endpoint.path, **endpoint.example)


@pytest.mark.parametrize(
    "params",
    [
        [],
        "symbol=A",
        5,
        {"symbol": ["A"]},
        {"symbol": {"a": 1}},
        {"symbol": True},
        {1: 2},
        {"symbol": "\ud800"},
        {"x": object()},
    ],
)
async def test_params_of_the_wrong_kind_are_refused(broker: Broker, params: Any) -> None:
    with pytest.raises(Refused):
        await broker.session(Cutoff.parse("2024-06-01"), MemoryLedger()).call(EOD, params, place())


async def test_numbers_and_flags_may_come_as_text(broker: Broker, vendor: Upstream) -> None:
    ask = asker(broker, "2024-06-01")
    vendor.handler = lambda seen: Sent([])
    await ask("fmp/income-statement", symbol="A", limit="5")
    for limit in ("five", "1.5", 0, 10**20, True):
        with pytest.raises(ParameterInvalid):
            await ask("fmp/income-statement", symbol="A", limit=limit)


# -- large answers ----------------------------------------------------------------------------------------------------


def bars(count: int) -> bytes:
    days = ("2024-05-01", "2024-05-31", "2024-06-01", "2024-07-01", "", None, "soon")
    return orjson.dumps([{"date": days[n % 7], "adjClose": n / 7, "unlisted": n} for n in range(count)])


@pytest.mark.parametrize(
    "body", [bars(70), b"[]", b"{}", b"[1, 2]", b'{"date": 1}', b"no json", b"", b"[" * 3000]
)
async def test_a_large_answer_is_the_one_that_is_told_of_a_small_one(
    vendor: Upstream, broker_of: Callable[..., Broker], monkeypatch: pytest.MonkeyPatch, body: bytes
) -> None:
    vendor.handler = lambda seen: Sent(body)
    told: list[Any] = []
    for large in (10**9, 0):
        for module in (broker_module, base_module):
            monkeypatch.setattr(module, "LARGE", large)
        clock = datetime(2026, 1, 1, tzinfo=UTC)
        ask = asker(
            broker_of(keys={"fmp": KEY}, upstreams={"fmp": vendor.url}, now=lambda at=clock: at), "2024-06-01"
        )
        try:
            answer = await ask(EOD, symbol="A")
            told.append((answer.body, answer.meta, answer.dropped))
        except SourceRejected:
            told.append("no answer")
            assert not ask.ledger.rows
    assert told[0] == told[1]


async def test_more_than_can_be_read_is_refused(
    broker: Broker, vendor: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker_module, "_MOST_BYTES", 1000)
    vendor.handler = lambda seen: Sent(bars(70))
    with pytest.raises(SourceRejected, match="too many to read"):
        await asker(broker, "2024-06-01")(EOD, symbol="A")


# what the broker recorded of this answer before there was a worker: runs of then must verify and replay
BODY_OF_THEN = (
    b'[{"symbol":"\xc3\xbc","date":"2024-05-01","adjClose":1e300,"volume":18446744073709551615,"adjOpen":-0.0},'
    b'{"volume":1.10,"date":"2024-05-31","symbol":null,"adjLow":123456789.123456789},'
    b'{"date":"2024-06-01"},{"date":"soon","adjHigh":1e-7,"later":1}]'
)
DATA_OF_THEN = (
    b'[{"symbol":"\xc3\xbc","date":"2024-05-01","adjClose":1e+300,"volume":18446744073709551615,"adjOpen":-0.0},'
    b'{"volume":1.1,"date":"2024-05-31","symbol":null,"adjLow":123456789.12345679}]'
)
HASH_THEN = "sha256:765373f919d495c401e33ec5f25c4a9239aceb0dab90c65e089b64163638dbe2"
REQUEST_THEN = "sha256:eaf0de8ab57128e2402a03298714dcd6497a8711b9ad3cb1211de7bca6361e92"


@pytest.mark.parametrize("large", [0, 10**9])
async def test_bytes_and_hashes_are_those_of_earlier_runs(
    broker_of: Callable[..., Broker], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, large: int
) -> None:
    monkeypatch.setattr(broker_module, "LARGE", large)
    store = Store(tmp_path)
    with Upstream(lambda seen: Sent(BODY_OF_THEN)) as upstream:
        broker = broker_of(keys={"fmp": KEY}, upstreams={"fmp": upstream.url})
        session = broker.session(Cutoff.parse("2024-06-01"), ApiLedger(store))
        request = ("fmp/historical-price-eod/non-split-adjusted", {"symbol": "A", "from": "2024-01-01"})
        first = await session.call(*request, place())
        again = await session.call(*request, place())
        assert len(upstream.seen) == 1
    (row,) = ApiLedger(store).rows("r")
    store.close()
    assert row.answer is not None and row.request_hash == REQUEST_THEN
    for answer in (first, again, row.answer):
        assert answer.body == DATA_OF_THEN and answer.meta["content_hash"] == HASH_THEN
        assert content_hash(answer.data) == HASH_THEN


# -- other pieces -----------------------------------------------------------------------------------------------------


def test_settings_come_from_the_environment_and_hide_the_keys() -> None:
    environ = {
        "FMP_API_KEY": KEY, "SEARCHAPI_API_KEY": " x1 ", "EXA_API_KEY": "", "WORKBENCH_UPSTREAM_POLYMARKET": "http://127.0.0.1:1/",
        "WORKBENCH_UPSTREAM_YAHOO": "http://127.0.0.1:2",
    }  # fmt: skip
    made = ProxySettings.from_environment(environ)
    assert dict(made.keys) == {"fmp": KEY, "gt": "x1"}
    assert dict(made.upstreams) == {"polymarket": "http://127.0.0.1:1", "yfinance": "http://127.0.0.1:2"}
    assert KEY not in repr(made)
    with pytest.raises(ParameterInvalid, match="WORKBENCH_UPSTREAM_FRED"):
        ProxySettings.from_environment({"WORKBENCH_UPSTREAM_FRED": "ftp://x"})


def test_waiting_times_are_read_from_both_headers() -> None:
    assert retry_after({"retry-after": "7"}) == 7
    assert retry_after({"x-ratelimit-reset": "3, 86400"}) == 3
    assert retry_after({"retry-after": "soon"}) is None and retry_after({}) is None
    ahead = (datetime.now(UTC) + timedelta(seconds=90)).strftime("%a, %d %b %Y %H:%M:%S GMT")
    waited = retry_after({"retry-after": ahead})
    assert waited is not None and 80 < waited < 95
