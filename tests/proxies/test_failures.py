"""A failure of a source is never an answer: not an empty list, not "no such thing", and nothing that is recorded."""

import logging
import sqlite3
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from proxies.broker import Broker
from proxies.errors import ProxyError, SchemaDrift, SourceError, SourceRejected
from tests.fakes.upstream import Seen, Sent, Upstream
from tests.fakes.vendors import KEY, VendorShape
from tests.proxies.conftest import asker
from tests.proxies.test_vendors import ask_of, by_source, keyed, told, world_for

SPLITS = "fmp/calendar/splits/splits"
CUTOFF = "2024-05-04"
SPLIT = {"symbol": "A", "date": "2020-01-02", "numerator": 4, "denominator": 1}
PAGE = b"<html>Sign in to this network</html>"
HTML = {"content-type": "text/html"}


def fmp_broker(broker_of: Callable[..., Broker], vendor: Upstream, **more: Any) -> Broker:
    return broker_of(keys={"fmp": KEY}, upstreams={"fmp": vendor.url}, **more)


# -- B1: what is no answer ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "failure",
    [Sent(PAGE, status, HTML) for status in (201, 302, 308, 400, 404, 410, 418)]
    + [
        Sent(PAGE, 200, HTML), Sent(b""), Sent(b" \n"), Sent(b"", 204), Sent(None), Sent("oops"), Sent({"status": "log in"}),
        Sent({}), Sent([], 404), Sent([], 410), Sent({"Error Message": "Not Found"}, 404),
    ],
    ids=lambda sent: f"{sent.status}-{str(sent.body)[:20]}",
)  # fmt: skip
async def test_b1_what_is_no_answer_is_a_failure_and_is_recorded_nowhere(
    failure: Sent, broker_of: Callable[..., Broker]
) -> None:
    with Upstream(lambda seen: failure) as vendor:
        ask = asker(fmp_broker(broker_of, vendor), CUTOFF)
        with pytest.raises(SourceError) as caught:
            await ask(SPLITS, symbol="A")
        assert "\n" not in str(caught.value) and str(caught.value).startswith("fmp ")
        assert not ask.ledger.rows
        # the legitimate neighbour: FMP's own "no rows"
        vendor.handler = lambda seen: Sent([])
        assert (await ask(SPLITS, symbol="A")).data == [] and len(ask.ledger.rows) == 1


@by_source
@pytest.mark.parametrize(
    "failure",
    [
        Sent(PAGE, 404, HTML), Sent(PAGE, 302, {"location": "http://127.0.0.1:9/login"}), Sent(PAGE, 200, HTML), Sent(b""),
        Sent({"message": "Route not found", "error": "Not Found", "statusCode": 404}, 404), Sent({"detail": "Not Found"}, 404),
        Sent({"status": "log in first"}), Sent({"error": "gone"}, 410),
    ],
    ids=lambda sent: f"{sent.status}-{str(sent.body)[:20]}",
)  # fmt: skip
async def test_b1_no_source_takes_a_strangers_reply_for_its_own(
    kind: VendorShape, failure: Sent, broker_of: Callable[..., Broker]
) -> None:
    world = world_for(kind)
    with kind(world) as vendor:
        vendor.handler = lambda seen: failure
        ask = ask_of(broker_of, vendor)
        with pytest.raises(SourceError, match=f"^{kind.source}"):
            await told(ask, kind, world)
        assert not ask.ledger.rows


# -- B2: echoed keys ------------------------------------------------------------------------------------------------------

SECRET = "s3cRet/k+y=0123456789"
_FORMS = {
    "plain": SECRET,
    "quoted": "s3cRet%2Fk%2By%3D0123456789",
    "quoted, small": "s3cRet%2fk%2by%3d0123456789",
    "quoted twice": "s3cRet%252Fk%252By%253D0123456789",
    "every letter quoted": "".join(f"%{ord(c):02X}" for c in SECRET),
    "base64": "czNjUmV0L2sreT0wMTIzNDU2Nzg5",
    "base64 of a header": "dXNlcjpzM2NSZXQvayt5PTAxMjM0NTY3ODk=",
    "base64, one letter on": "YXMzY1JldC9rK3k9MDEyMzQ1Njc4OXo=",
}


@pytest.mark.parametrize("form", _FORMS.values(), ids=_FORMS.keys())
@pytest.mark.parametrize("escaped", ["", "slashes", "all"])
async def test_b2_an_echoed_key_reaches_no_cell_no_ledger_no_cache_and_no_log(
    form: str, escaped: str, tmp_path: Path, broker_of: Callable[..., Broker], caplog: pytest.LogCaptureFixture
) -> None:  # fmt: skip
    caplog.set_level(logging.DEBUG)
    body = orjson.dumps([{**SPLIT, "symbol": "NEXT"}])
    inside = f"https://x.example/next?apikey={form}"
    if escaped == "slashes":
        inside = inside.replace("/", "\\/")
    elif escaped == "all":
        inside = "".join(f"\\u{ord(c):04x}" for c in inside)
    reply = body.replace(b"NEXT", inside.encode())
    with Upstream(lambda seen: Sent(reply)) as vendor:
        path = tmp_path / "raw.db"
        broker = broker_of(keys={"fmp": SECRET}, upstreams={"fmp": vendor.url}, cache_path=path)
        ask = asker(broker, CUTOFF)
        with pytest.raises(SourceRejected, match="sent the API key back") as caught:
            await ask(SPLITS, symbol="A")
        stored = []
        if path.exists():
            with sqlite3.connect(path) as db:
                stored = [zlib.decompress(body) for (body,) in db.execute("SELECT body FROM raw")]
        seen = [str(caught.value).encode(), str(ask.ledger.rows).encode(), caplog.text.encode(), *stored]
        for text in seen:
            assert SECRET.encode() not in text and form.encode() not in text and inside.encode() not in text


@keyed
async def test_b2_no_source_passes_its_key_on(kind: VendorShape, broker_of: Callable[..., Broker]) -> None:
    world = world_for(kind)
    with kind(world) as vendor:
        honest = vendor.handler

        def echo(seen: Seen) -> Sent:
            sent = honest(seen)
            body = sent.body if isinstance(sent.body, bytes) else orjson.dumps(sent.body)
            token = next(iter(world.early)).encode()
            return Sent(body.replace(token, token + b" " + KEY.encode()), sent.status, sent.headers)

        vendor.handler = echo
        ask = ask_of(broker_of, vendor)
        with pytest.raises(SourceError) as caught:
            await told(ask, kind, world)
        assert KEY not in str(caught.value) and KEY not in str(ask.ledger.rows)


async def test_b2_what_holds_no_key_is_not_touched_and_a_short_key_is_no_secret(
    broker_of: Callable[..., Broker],
) -> None:
    rows = [{**SPLIT, "symbol": "100%20 \u00e9 \\u0041 a/b *** demography"}]
    with Upstream(lambda seen: Sent(rows)) as vendor:
        for key in (KEY, "demo"):
            broker = broker_of(keys={"fmp": key}, upstreams={"fmp": vendor.url})
            assert (await asker(broker, CUTOFF)(SPLITS, symbol="A")).data == rows


# -- B4: schema drift -----------------------------------------------------------------------------------------------------


def _splits(dated: int, undated: int, late: int = 0, *, bad: Any = "01/02/2020") -> list[dict[str, Any]]:
    rows = [{**SPLIT, "numerator": n} for n in range(dated)]
    rows += [{**SPLIT, "date": bad, "numerator": n} for n in range(undated)]
    return rows + [{**SPLIT, "date": "2025-01-02", "numerator": n} for n in range(late)]


@pytest.mark.parametrize(
    ("rows", "undated"),
    [
        (_splits(0, 50), None),
        (_splits(9, 41), None),
        (_splits(10, 40), 40),
        (_splits(0, 50, late=500), None),
        (_splits(0, 5), None),
        # one or two bad rows prove nothing
        (_splits(0, 4), 4),
        (_splits(1, 0, late=50), 0),
        (_splits(0, 0, late=50), 0),
        (_splits(0, 0), 0),
    ],
)
async def test_b4_an_answer_with_hardly_a_date_is_a_failure_and_late_rows_are_none(
    rows: list[Any], undated: int | None, broker_of: Callable[..., Broker]
) -> None:
    with Upstream(lambda seen: Sent(rows)) as vendor:
        ask = asker(fmp_broker(broker_of, vendor), CUTOFF)
        if undated is not None:
            answer = await ask(SPLITS, symbol="A")
            assert answer.meta["undated"] == undated and all(row["date"] < CUTOFF for row in answer.data)
            return
        with pytest.raises(SchemaDrift, match="hardly a readable date"):
            await ask(SPLITS, symbol="A")
        assert not ask.ledger.rows
        vendor.handler = lambda seen: Sent(_splits(3, 0))
        assert len((await ask(SPLITS, symbol="A")).data) == 3, "the bad answer left the cache"


@pytest.mark.parametrize("large", [False, True])
async def test_b4_a_renamed_date_is_seen_in_answers_of_any_size(
    large: bool, broker_of: Callable[..., Broker]
) -> None:
    rows = [{**SPLIT, "date": None, "day": "2020-01-02", "label": "x" * (200 if large else 1)}] * 6000
    with Upstream(lambda seen: Sent(rows)) as vendor:
        ask = asker(fmp_broker(broker_of, vendor), CUTOFF)
        with pytest.raises(SchemaDrift):
            await ask(SPLITS, symbol="A")
        assert not ask.ledger.rows


# -- one bad figure -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cutoff", [CUTOFF, "live"])
@pytest.mark.parametrize(
    ("written", "read", "large"),
    [
        (b"NaN", None, False), (b"-Infinity", None, True), (b"1e999", None, False),
        (b"123456789012345678901234567890", 1.2345678901234568e29, False),
        (b'"caf\xe9"', "caf\ufffd", False), (b'"\\ud800"', "?", True), (b"1.5", 1.5, False),
    ],
    ids=str,
)  # fmt: skip
async def test_b4_one_bad_figure_or_byte_costs_itself_and_not_the_answer(
    written: bytes, read: Any, large: bool, cutoff: str, broker_of: Callable[..., Broker]
) -> None:
    count = 20_000 if large else 3
    body = b"\xef\xbb\xbf" if written == b"1.5" else b""
    body += orjson.dumps(_splits(count, 0)).replace(b'"numerator":1,', b'"numerator":' + written + b",", 1)
    assert (len(body) > 1_000_000) is large
    with Upstream(lambda seen: Sent(body)) as vendor:
        ask = asker(fmp_broker(broker_of, vendor), cutoff)
        answer = await ask(SPLITS, symbol="A")
        # without a limit a list is told in 250 rows under a cutoff
        assert len(answer.data) == (count if cutoff == "live" else min(count, 250))
        assert answer.data[1]["numerator"] == read
        assert answer.data[2]["numerator"] == 2


@pytest.mark.parametrize("cutoff", [CUTOFF, "live"])
@pytest.mark.parametrize(
    "body",
    [b'[{"symbol":"A","date":"2020-', b"[" * 3000 + b"]" * 3000, b'[{"x":' + b"[" * 600 + b"]" * 600 + b"}]", b"NaN"],
    ids=["cut short", "very deep", "deep", "no rows"],
)  # fmt: skip
async def test_b4_what_cannot_be_read_at_all_is_one_clear_line(
    body: bytes, cutoff: str, broker_of: Callable[..., Broker]
) -> None:
    with Upstream(lambda seen: Sent(body)) as vendor:
        ask = asker(fmp_broker(broker_of, vendor), cutoff)
        try:
            answer = await ask(SPLITS, symbol="A")
        except ProxyError as error:
            assert isinstance(error, SourceError) and "\n" not in str(error) and not ask.ledger.rows
        else:
            # under a cutoff the deep field is not listed, and its row has no date
            assert answer.data == [] and cutoff != "live" and b"x" in body
