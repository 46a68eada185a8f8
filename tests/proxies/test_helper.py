"""Large answers, handled in a process of their own: the same answer, typed ends, no key, nothing left behind."""

import asyncio
import gc
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from proxies import broker as broker_module
from proxies.asof.clock import Cutoff
from proxies.asof.pipeline import plan
from proxies.asof.policies import Ask
from proxies.broker import Broker
from proxies.catalogue import load_catalogue
from proxies.errors import ProxyError, SourceRejected, SourceUnavailable
from proxies.fetch import helper as helper_module
from proxies.fetch import raws as raws_module
from proxies.fetch.columns import to_columns
from proxies.fetch.handling import Done, Handling, Job, More
from proxies.fetch.helper import CannotStart, Helper
from proxies.ledger import UNREAD, Answer, MemoryLedger
from proxies.vendors import base as base_module
from sandbox.record.verify import content_hash
from tests.fakes.upstream import Sent, Upstream
from tests.proxies.conftest import asker
from workbench.store.database import Store
from workbench.store.ledgers import ApiLedger

EOD = "fmp/chart/end-of-day/historical-price-eod/non-split-adjusted"
NEWS = "fmp/news/symbol/news/stock"
FRED = "fred/series/observations"
KEY = "sEcReTkEy0123456789"
CUTOFF = Cutoff.parse("2024-06-01")


def bars(count: int, **more: Any) -> list[dict[str, Any]]:
    days = ("2024-05-01", "2024-05-31", "2024-06-01", "2024-07-01", "", None, "soon")
    return [
        {"symbol": "A", "date": days[n % 7], "adjClose": n / 7, "volume": n, "unlisted": n, **more}
        for n in range(count)
    ]


def job(path: str, lookups: Any = None, cutoff: Cutoff = CUTOFF, **params: Any) -> Job:
    ask = Ask(endpoint=load_catalogue().resolve(path), params=params)
    return Job(ask=ask, cutoff=cutoff, plan=plan(ask, cutoff), lookups=lookups or {})


@pytest.fixture
async def helper() -> AsyncIterator[Helper]:
    made = Helper()
    yield made
    await made.aclose()


def told(step: More | Done) -> tuple[Any, ...]:
    if isinstance(step, More):
        return (dict(step.params),)
    return step.body, step.content_hash, dict(step.dropped), step.undated, step.notes


async def ended(work: Any) -> Any:
    """What came of it: the value told, or the error by class and words."""
    try:
        return told(await work)
    except Exception as error:
        return type(error), str(error), getattr(error, "params", None)


# -- the same answer ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        orjson.dumps(bars(50)),
        orjson.dumps(bars(3, unlisted=None)),
        b"[]",
        b"{}",
        b"[1, 2]",
        b'[{"date": "2024-05-01", "symbol": "\xc3\xbc", "adjClose": 1e300}]',
        b'{"rows": []}',
        b'{"date": 1}',
        b"no json",
        b"",
        b"[" * 3000,
    ],
)
async def test_what_the_process_tells_is_what_is_told_here(helper: Helper, body: bytes) -> None:
    for path, cutoff in ((EOD, CUTOFF), (EOD, Cutoff.parse("now")), (FRED, CUTOFF)):
        params = {"series_id": "X"} if path == FRED else {"symbol": "A"}
        one = job(path, cutoff=cutoff, **params)

        async def here(one: Job = one) -> Any:
            return Handling(one).step([body])

        assert await ended(helper.step(helper.seat(), one, [body])) == await ended(here())


async def test_the_helper_pages_through_as_it_is_told_here_also_after_its_process_died(
    helper: Helper,
) -> None:
    one = job(NEWS, symbols="A", limit=3)
    day = {"early": "2024-05-01 10:00:00", "late": "2024-07-01 10:00:00"}
    pages = [
        orjson.dumps([{"symbol": "A", "publishedDate": day[when], "title": str(n)} for n, when in enumerate(page)])
        for page in (["late"] * 3, ["late", "early", "late"], ["early"] * 3)
    ]  # fmt: skip
    handling, seat = Handling(one), helper.seat()
    assert told(handling.step([])) == told(await helper.step(seat, one, []))
    for at in range(1, 4):
        here, there = handling.step(pages[at - 1 : at]), await helper.step(seat, one, pages[:at])
        assert told(here) == told(there) and type(here) is (Done if at == 3 else More)
        if at == 1:
            assert helper._process is not None
            helper._process.kill()
            helper._process.wait()
            with pytest.raises(SourceUnavailable):
                await helper.columns(b"[]", "x")


async def test_lookups_go_along_and_broken_ones_are_told_as_such(helper: Helper) -> None:
    one = job(EOD, symbol="A", lookups={"raw": ("fmp", b"not json"), "none": None})
    with pytest.raises(SourceRejected, match="not JSON"):
        await helper.step(helper.seat(), one, [])
    fine = job(EOD, symbol="A", lookups={"raw": ("fmp", b"[]"), "none": None})
    assert isinstance(await helper.step(helper.seat(), fine, []), More)


async def test_columns_of_the_process_are_those_made_here(helper: Helper) -> None:
    rows = bars(40)
    body = orjson.dumps(rows)
    first = await helper.step(helper.seat(), job(EOD, symbol="A"), [body])
    assert isinstance(first, Done)
    for made, data in (
        (await helper.columns(first.body, first.content_hash), orjson.loads(first.body)),
        (await helper.columns(body, "another"), rows),
        (await helper.columns(b'{"a": 1}', "none"), {"a": 1}),
    ):
        here = to_columns(data)
        assert (made is None) == (here is None)
        if made and here:
            assert made.told == here.told and b"".join(made.body) == b"".join(here.body)


# what the broker recorded of this answer before there was a helper: runs of then must verify and replay
BODY_OF_THEN = (
    b'[{"symbol":"\xc3\xbc","date":"2024-05-01","adjClose":1e300,"volume":18446744073709551615,"adjOpen":-0.0},'
    b'{"volume":1.10,"date":"2024-05-31","symbol":null,"adjLow":123456789.123456789},'
    b'{"date":"2024-06-01"},{"date":"soon","adjHigh":1e-7,"later":1}]'
)
TOLD_THEN = (
    b'[{"symbol":"\xc3\xbc","date":"2024-05-01","adjClose":1e+300,"volume":18446744073709551615,"adjOpen":-0.0},'
    b'{"volume":1.1,"date":"2024-05-31","symbol":null,"adjLow":123456789.12345679}]'
)
HASH_THEN = "sha256:765373f919d495c401e33ec5f25c4a9239aceb0dab90c65e089b64163638dbe2"
REQUEST_THEN = "sha256:e920b9a4d175448cf79e7e59b109a90673bdc19c5277b3ab80c0b4b1a10a5eb3"


@pytest.mark.parametrize("large", [0, 10**9])
async def test_bytes_and_hashes_are_those_of_earlier_runs(
    broker_of: Callable[..., Broker], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, large: int
) -> None:
    monkeypatch.setattr(broker_module, "LARGE", large)
    store = Store(tmp_path)
    with Upstream(lambda seen: Sent(BODY_OF_THEN)) as upstream:
        broker = broker_of(keys={"fmp": KEY}, upstreams={"fmp": upstream.url})
        session = broker.session(CUTOFF, ApiLedger(store))
        request = ("fmp/historical-price-eod/non-split-adjusted", {"symbol": "A", "from": "2024-01-01"})
        place = next(asker(broker, None)._addresses)
        first = await session.call(*request, place)
        again = await session.call(*request, place)
        assert len(upstream.seen) == 1 and (broker._helper._process is not None) == (large == 0)
    (row,) = ApiLedger(store).rows("r")
    store.close()
    assert row.answer is not None and row.request_hash == REQUEST_THEN
    for answer in (first, again, row.answer):
        assert answer.encoded() == TOLD_THEN and answer.meta["content_hash"] == HASH_THEN
        assert content_hash(answer.data) == HASH_THEN


# -- ends ---------------------------------------------------------------------------------------------------------


async def test_nothing_of_the_environment_but_the_path_goes_along(
    helper: Helper, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FMP_API_KEY", KEY)
    await helper.columns(b"[]", "x")
    assert helper._process is not None
    environment = Path(f"/proc/{helper._process.pid}/environ").read_bytes()
    assert KEY.encode() not in environment and b"PYTHONPATH=" in environment


async def test_the_process_ends_with_its_helper_and_with_its_link() -> None:
    closed, dropped, orphan = Helper(), Helper(), Helper()
    processes = []
    for one in (closed, dropped, orphan):
        await one.columns(b"[]", "x")
        assert one._process is not None
        processes.append(one._process)
    await closed.aclose()
    with pytest.raises(CannotStart):
        await closed.columns(b"[]", "x")
    del dropped, one
    gc.collect()
    assert [process.poll() for process in processes[:2]] == [-signal.SIGKILL] * 2
    # a broker that is killed closes nothing but its descriptors
    assert orphan._link is not None
    orphan._link.close()
    assert await asyncio.to_thread(processes[2].wait, 10) == 0
    await orphan.aclose()


async def test_a_stuck_process_is_ended_in_time(helper: Helper, monkeypatch: pytest.MonkeyPatch) -> None:
    await helper.columns(b"[]", "x")
    assert helper._process is not None
    stuck = helper._process
    monkeypatch.setattr(helper_module, "_SECONDS", 0.2)
    os.kill(stuck.pid, signal.SIGSTOP)
    with pytest.raises(SourceUnavailable, match="ask again"):
        await helper.columns(b"[]", "x")
    assert stuck.poll() is not None
    monkeypatch.setattr(helper_module, "_SECONDS", 60)
    assert await helper.columns(b"[]", "x") is None


async def test_a_cancelled_caller_leaves_no_half_exchange(helper: Helper) -> None:
    body = orjson.dumps(bars(20_000))
    await helper.columns(b"[]", "x")
    waiting = asyncio.create_task(helper.step(helper.seat(), job(EOD, symbol="A"), [body]))
    await asyncio.sleep(0.01)
    waiting.cancel()
    assert await helper.columns(b'{"a": 1}', "y") is None
    with pytest.raises(asyncio.CancelledError):
        await waiting


# -- the broker with it -------------------------------------------------------------------------------------------


@pytest.fixture
def vendor(monkeypatch: pytest.MonkeyPatch) -> Iterator[Upstream]:
    """A vendor whose every answer beyond 2 kB counts as large."""
    for module in (broker_module, base_module):
        monkeypatch.setattr(module, "LARGE", 2000)
    monkeypatch.setattr(raws_module, "_IN_THREAD", 1000)
    body = orjson.dumps(bars(70))
    with Upstream(lambda seen: Sent(body)) as upstream:
        yield upstream


@pytest.fixture
def broker(vendor: Upstream, broker_of: Callable[..., Broker]) -> Broker:
    return broker_of(keys={"fmp": KEY}, upstreams={"fmp": vendor.url})


async def told_by(broker: Broker) -> Answer:
    return await asker(broker, "2024-06-01")(EOD, symbol="A")


async def test_a_large_answer_is_the_one_that_is_made_here(
    broker: Broker, vendor: Upstream, broker_of: Callable[..., Broker], monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = asker(broker, "2024-06-01")
    large = await ask(EOD, symbol="A")
    assert large._data is UNREAD, "nobody here has read it"
    earlier = asker(broker, "2024-05-31")
    again = await earlier(EOD, symbol="A")
    assert len(vendor.seen) == 2 and len(again.data) == 10
    [row] = earlier.ledger.rows.values()
    assert row.rows_dropped == 60 and again.meta["undated"] == 30
    while broker._raws._keeping:
        await asyncio.sleep(0.01)
    assert broker._raws.cache.stored_bytes() > 0
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    here = await told_by(broker_of(keys={"fmp": KEY}, upstreams={"fmp": vendor.url}))
    assert here._data is not UNREAD
    assert here.encoded() == large.encoded() and here.meta["content_hash"] == large.meta["content_hash"]
    assert {k: v for k, v in here.meta.items() if k != "fetched_at"} == {
        k: v for k, v in large.meta.items() if k != "fetched_at"
    }
    (row,) = ask.ledger.rows.values()
    assert row.answer is large and KEY not in repr(row)
    left, right = await large.packed(), await here.packed()
    assert left is not None and right is not None and left.told == right.told


async def test_a_large_answer_that_is_no_json_is_asked_for_again(broker: Broker, vendor: Upstream) -> None:
    good, vendor.handler = vendor.handler, lambda seen: Sent(b"<html>" + b"x" * 5000)
    with pytest.raises(SourceRejected, match="not JSON"):
        await told_by(broker)
    assert not broker._raws._keeping and broker._raws.cache.stored_bytes() == 0
    vendor.handler = good
    assert len((await told_by(broker)).data) == 20


async def test_a_process_that_dies_is_a_typed_failure_that_leaves_nothing_behind(
    broker: Broker, vendor: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = MemoryLedger()
    session = broker.session(CUTOFF, ledger)
    places = asker(broker, None)._addresses
    real = helper_module._put

    def dying(link: Any, head: Any, bodies: Any) -> Any:
        assert broker._helper._process is not None
        broker._helper._process.kill()
        return real(link, head, bodies)

    monkeypatch.setattr(helper_module, "_put", dying)
    with pytest.raises(SourceUnavailable) as caught:
        await session.call(EOD, {"symbol": "A"}, next(places))
    assert "\n" not in str(caught.value) and isinstance(caught.value, ProxyError)
    assert ledger.rows == {} and not broker._memo and not broker._raws._keeping
    monkeypatch.setattr(helper_module, "_put", real)
    assert len((await session.call(EOD, {"symbol": "A"}, next(places))).data) == 20


async def test_the_process_is_made_ready_while_a_large_answer_comes_in(
    broker_of: Callable[..., Broker],
) -> None:
    with Upstream(
        lambda seen: Sent(orjson.dumps(bars(7 if seen.query["symbol"] == "S" else 8000)))
    ) as upstream:
        broker = broker_of(keys={"fmp": KEY}, upstreams={"fmp": upstream.url})
        ask = asker(broker, "2024-06-01")
        await ask(EOD, symbol="S")
        assert broker._helper._process is None and broker._helper._starting is None
        assert len((await ask(EOD, symbol="M")).encoded()) < 1_000_000, "itself it is not large"
        while broker._helper._process is None:
            await asyncio.sleep(0.01)


async def test_equal_large_requests_at_once_are_handled_once(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = []
    real = Helper.step

    async def step(self: Helper, seat: Any, job: Job, bodies: Any) -> Any:
        steps.append(len(bodies))
        return await real(self, seat, job, bodies)

    monkeypatch.setattr(Helper, "step", step)
    ask = asker(broker, "2024-06-01")
    answers = await asyncio.gather(*(ask(EOD, symbol="A") for _ in range(20)))
    assert steps == [1] and all(answer is answers[0] for answer in answers)


async def test_an_answer_from_the_ledger_is_packed_in_the_process_too(
    broker: Broker, vendor: Upstream
) -> None:
    began = time.monotonic()
    body = orjson.dumps(bars(9000))
    recalled = Answer(body=body, meta={"content_hash": "sha256:x"}, packer=broker.pack)
    made = await recalled.packed()
    assert made is not None and recalled._data is UNREAD and made.head["rows"] == 9000
    assert time.monotonic() >= began and await recalled.packed() is made
