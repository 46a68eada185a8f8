"""The answers made last: given again for the very question only, by all that decides it, and bounded in bytes."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxies.answer_cache import AnswerCache, Exchange
from proxies.asof.clock import Cutoff
from proxies.asof.policies import ApiRequest
from proxies.asof.readjust import FRESH
from proxies.broker import Broker
from proxies.catalogue import Endpoint, load_catalogue
from proxies.catalogue.schema import Residual
from proxies.errors import CutoffRefused
from proxies.ledger import Answer
from tests.fakes.upstream import Sent, Upstream
from tests.proxies.conftest import asker

EOD = load_catalogue().resolve("fmp/chart/end-of-day/historical-price-eod/non-split-adjusted")
RESCALED = load_catalogue().resolve("fmp/chart/end-of-day/historical-price-eod/light")
LOCAL = load_catalogue().resolve("gt/google-trends/google_trends_geo")
CUTOFF = Cutoff.parse("2024-06-01")
NOW = datetime(2025, 1, 1, tzinfo=UTC)
ROWS = [{"symbol": "A", "date": "2024-05-01", "adjClose": 1.0}]


def request(endpoint: Endpoint = EOD, **params: Any) -> ApiRequest:
    return ApiRequest(endpoint=endpoint, params=params or {"symbol": "A"})


def exchange(data: Any = "rows", **fields: Any) -> Exchange:
    return Exchange(answer=Answer(data=data, meta={}), sent=[], **fields)


def cache_with(
    question: ApiRequest, cutoff: Cutoff = CUTOFF, *, most: Residual = "high", now: datetime = NOW
) -> AnswerCache:
    cache = AnswerCache()
    cache.store(exchange(), question, cutoff, most=most, now=now)
    return cache


def test_the_same_question_gets_the_same_answer() -> None:
    found = cache_with(request()).find(request(), Cutoff.parse("2024-06-01T04:00Z"), most="high", now=NOW)
    assert found is not None and found.answer.data == "rows"


@pytest.mark.parametrize(
    "other",
    [
        {"question": request(symbol="B")},
        {"question": request(symbol="A", limit=1)},
        {"question": request(RESCALED)},
        {
            "question": request(
                EOD.model_copy(update={"as_of": EOD.as_of.model_copy(update={"policy": "snapshot_refused"})})
            )
        },
        {"question": request(EOD.model_copy(update={"codec": "another"}))},
        {"cutoff": Cutoff.parse("2024-06-02")},
        {"cutoff": Cutoff.parse("2024-06-01T04:00:00.000001Z")},
        {"cutoff": Cutoff(instant=CUTOFF.instant, text="live", live=True)},
        {"most": "medium"},
        {"now": CUTOFF.instant},
    ],
    ids=["value", "name", "path", "policy", "codec", "day", "instant", "live", "residual", "clock set back"],
)
def test_each_part_of_the_question_matters(other: dict[str, Any]) -> None:
    fields: dict[str, Any] = {"question": request(), "cutoff": CUTOFF, "most": "high", "now": NOW, **other}
    question, cutoff = fields.pop("question"), fields.pop("cutoff")
    assert cache_with(request()).find(question, cutoff, **fields) is None


values = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.0, 1.0, "1", "true", "", "A"])
params = st.dictionaries(st.sampled_from("abc"), values | st.lists(values, max_size=2), min_size=1)


@given(params, params)
def test_two_requests_share_an_answer_only_if_they_read_the_same_as_text(
    first: dict[str, Any], second: dict[str, Any]
) -> None:
    found = cache_with(request(**first)).find(request(**second), CUTOFF, most="high", now=NOW)
    assert (found is not None) == (repr(sorted(first.items())) == repr(sorted(second.items())))


@pytest.mark.parametrize(
    ("question", "cutoff", "now"),
    [
        (request(), Cutoff.parse("live", now=NOW - timedelta(days=1)), NOW),
        (request(), Cutoff.parse("2026-01-01"), NOW),
        (request(LOCAL), CUTOFF, NOW),
    ],
    ids=["live", "a cutoff that lies ahead", "a file on this machine"],
)
def test_an_answer_that_time_can_change_is_not_kept(
    question: ApiRequest, cutoff: Cutoff, now: datetime
) -> None:
    cache = cache_with(question, cutoff, now=now)
    later = now + timedelta(days=700)
    assert cache.find(question, cutoff, most="high", now=now) is None
    assert cache.find(question, cutoff, most="high", now=later) is None


def test_rescaled_prices_age_and_prices_as_traded_do_not() -> None:
    for endpoint, lasts in ((EOD, True), (RESCALED, False)):
        cache = cache_with(request(endpoint))
        assert cache.find(request(endpoint), CUTOFF, most="high", now=NOW + FRESH)
        later = cache.find(request(endpoint), CUTOFF, most="high", now=NOW + FRESH + timedelta(seconds=1))
        assert (later is not None) == lasts


def test_an_answer_that_no_vendor_gave_is_not_kept() -> None:
    cache = AnswerCache()
    cache.store(exchange(from_vendor=False), request(), CUTOFF, most="high", now=NOW)
    assert cache.find(request(), CUTOFF, most="high", now=NOW) is None


def test_the_longest_unused_go_when_there_are_too_many_bytes() -> None:
    cache = AnswerCache(max_bytes=40_000)

    def has(symbol: str) -> bool:
        return cache.find(request(symbol=symbol), CUTOFF, most="high", now=NOW) is not None

    for symbol in "ABCD":
        cache.store(exchange("x" * 7_000), request(symbol=symbol), CUTOFF, most="high", now=NOW)
    assert has("A")  # used: now B is the oldest
    cache.store(exchange("x" * 7_000), request(symbol="E"), CUTOFF, most="high", now=NOW)
    assert [has(symbol) for symbol in "ABCDE"] == [True, False, True, True, True]
    for _ in range(20):  # the same one again takes no more room
        cache.store(exchange("x" * 7_000), request(symbol="E"), CUTOFF, most="high", now=NOW)
    assert has("A") and has("E")
    cache.store(exchange("x" * 9_000), request(symbol="F"), CUTOFF, most="high", now=NOW)
    assert not has("F") and has("A")


@pytest.mark.parametrize("first", [False, True])
async def test_a_strict_session_is_refused_what_another_one_was_answered(
    first: bool, broker_of: Callable[..., Broker]
) -> None:
    endpoint = load_catalogue().resolve("dbnomics/series")
    assert endpoint.as_of.residual == "high"
    with Upstream(lambda seen: Sent({"series": {"docs": []}})) as vendor:
        broker = broker_of(upstreams={"dbnomics": vendor.url})
        for strict in (first, not first, first):
            ask = asker(broker, "2024-06-01", strict=strict)
            if strict:
                with pytest.raises(CutoffRefused):
                    await ask(endpoint.path, **endpoint.example)
            else:
                answer = await ask(endpoint.path, **endpoint.example)
                assert answer.data["series"]["docs"] == []


async def test_a_second_session_is_answered_without_reading_again_and_with_the_same_bytes(
    broker_of: Callable[..., Broker], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Upstream(lambda seen: Sent(ROWS)) as vendor:
        broker = broker_of(keys={"fmp": "k"}, upstreams={"fmp": vendor.url})
        first = await asker(broker, "2024-06-01")(EOD.path, symbol="A")
        monkeypatch.setattr("proxies.broker.PageReader", None)  # the one that reads and filters
        again = asker(broker, "2024-06-01")
        second = await again(EOD.path, symbol="A")
        assert (second.encoded(), second.meta) == (first.encoded(), first.meta) and second.data == ROWS
        (row,) = again.ledger.rows.values()
        assert row.sent == [{"endpoint": EOD.path, "symbol": "A", "to": "2024-05-31"}]
