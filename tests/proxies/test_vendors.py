"""Every source against a server that behaves as its vendor does: keys, pace, complaints, over real HTTP."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from proxies.asof.clock import Cutoff
from proxies.broker import Broker
from proxies.errors import ProxyError, QuotaExhausted, Refused, SourceRejected
from proxies.settings import Retry
from tests.fakes.upstream_world import World
from tests.fakes.vendors import KEY, TELLTALE, VENDORS, Vendor, VendorShape
from tests.proxies.conftest import Asker, asker
from tests.proxies.worlds import NOW, REST, params_of

CUTOFF = "2021-03-15"
ENDPOINTS = {e.path: e for e in REST}
by_source = pytest.mark.parametrize("kind", VENDORS, ids=lambda kind: kind.source)
keyed = pytest.mark.parametrize("kind", [v for v in VENDORS if v.key_in], ids=lambda kind: kind.source)


def world_for(kind: VendorShape) -> World:
    cutoff = Cutoff.parse(CUTOFF).instant
    endpoint = ENDPOINTS[kind.path]
    world = World(cutoff, [cutoff - timedelta(days=1300), cutoff + timedelta(days=400)])
    world.path, world.fields, world.open_rows = endpoint.path, tuple(endpoint.fields), endpoint.open_rows
    return world


class Waits(list[float]):
    """Pauses that take no time; it is noted how long each would have been."""

    async def __call__(self, seconds: float) -> None:
        self.append(seconds)


def ask_of(
    broker_of: Callable[..., Broker],
    vendor: Vendor,
    *,
    key: str = KEY,
    tries: int = 4,
    waits: Waits | None = None,
) -> Asker:
    keys = {vendor.source: key} if vendor.key_in else {}
    broker = broker_of(
        keys=keys, upstreams={vendor.source: f"{vendor.url}/{vendor.source}"}, now=lambda: NOW,
        retry=Retry(tries=tries, base=0.4, cap=1.5), sleep=Waits() if waits is None else waits,
    )  # fmt: skip
    return asker(broker, CUTOFF)


async def told(ask: Asker, kind: VendorShape, world: World) -> str:
    return (await ask(kind.path, **params_of(ENDPOINTS[kind.path], world))).body.decode()


@by_source
async def test_rows_come_and_the_key_is_where_the_vendor_wants_it(
    kind: VendorShape, broker_of: Callable[..., Broker]
) -> None:
    world = world_for(kind)
    with kind(world) as vendor:
        text = await told(ask_of(broker_of, vendor), kind, world)
        assert not {token for token in world.late if token in text}
        assert all(token in text for token in world.early - world.late) and world.early
        assert KEY not in text
        for seen in vendor.seen:
            holders = [name for name, value in {**seen.query, **seen.headers}.items() if KEY in value]
            assert holders == ([kind.key_in[1]] if kind.key_in else [])


@by_source
async def test_a_vendor_that_asks_to_wait_is_asked_again(
    kind: VendorShape, broker_of: Callable[..., Broker]
) -> None:
    world = world_for(kind)
    with kind(world) as vendor:
        vendor.faults.append(kind.too_fast)
        waits = Waits()
        text = await told(ask_of(broker_of, vendor, waits=waits), kind, world)
        asked = {k.lower(): v for k, v in kind.too_fast.headers.items()}
        told_to = asked.get("retry-after") or asked.get("x-ratelimit-reset", "").split(",")[0]
        # as long as it says, else a short pause with jitter; beside it only pauses that its rate asks for
        right = [wait == float(told_to) if told_to else 0.2 <= wait <= 0.4 for wait in waits]
        assert any(right) and len(waits) <= 3
        assert all(token in text for token in world.early - world.late)


#: What a vendor's own words for it are to the caller.
MEANT = {"no_such": (Refused,), "bad_key": (SourceRejected,), "used_up": (QuotaExhausted,)}


SAID = [(kind, word) for kind in VENDORS for word in MEANT if getattr(kind, word)]


@pytest.mark.parametrize(("kind", "word"), SAID, ids=lambda part: getattr(part, "source", part))
async def test_a_reply_is_what_the_vendor_means_by_it_and_none_of_its_words_are_told(
    kind: VendorShape, word: str, broker_of: Callable[..., Broker]
) -> None:
    world, reply = world_for(kind), getattr(kind, word)
    with kind(world) as vendor:
        vendor.handler = lambda seen: reply
        ask = ask_of(broker_of, vendor)
        try:
            text = await told(ask, kind, world)
            assert word == "no_such"
        except ProxyError as error:
            text = str(error)
            assert isinstance(error, MEANT[word]) and (word != "bad_key" or "_API_KEY" in text)
        assert TELLTALE not in text and bool(ask.ledger.rows) == (word == "no_such")
        assert word == "no_such" or len(vendor.seen) == 1, "asked again, and nothing would be another"
