"""Driving the broker over a world: one endpoint, one cutoff, one answer."""

import asyncio
import functools
from collections.abc import Coroutine
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import hypothesis
import orjson
from hypothesis import HealthCheck, Phase
from hypothesis import strategies as st

from proxies.asof.clock import Cutoff
from proxies.asof.row_texts import MARKET_TEXTS
from proxies.broker import Broker, open_broker
from proxies.catalogue import Endpoint, load_catalogue
from proxies.errors import Refused, SourceError
from proxies.fetch.transport import HttpRequest, HttpResponse, Transport
from proxies.ledger import Address, Answer, MemoryLedger
from proxies.settings import ProxySettings, Retry
from proxies.vendors.vendor_registry import open_sources
from tests.fakes.upstream import Seen, Sent
from tests.fakes.upstream_world import JUNK, World

_MOST = hypothesis.settings.default.max_examples
_SOAK = _MOST >= 500
#: A world takes longer than what other laws are shown, and a law has 200 endpoints: 3 in the fast tier, 8 in the long one.
EASY = hypothesis.settings(
    phases=(Phase.generate,),
    max_examples=_MOST if _SOAK else min(8, max(3, _MOST // 6)),
    deadline=None,
    derandomize=not _SOAK,
    database=None,
    suppress_health_check=list(HealthCheck),
)
NOW = datetime(2026, 11, 1, tzinfo=UTC)
KEY = "k3yk3yk3yk3yk3yk3yk3yk3yk3yk3y00"
CUTOFFS = [
    "2018-06-30",
    "2021-03-15",
    "2024-06-01",
    "2019-01-01",
    "2020-11-02T14:30:00-05:00",
    "2023-07-04T03:00:00Z",
    # clocks change, years and leap months turn
    "2021-03-14T07:30:00Z",
    "2021-11-07",
    "2021-11-07T01:30:00-05:00",
    "2024-02-29",
    "2022-01-01T00:00:00Z",
    "2020-03-01",
]
REST = [e for e in load_catalogue() if e.source.name != "embedded" and e.method != "LOCAL"]
SNAPSHOTS = [e for e in REST if e.as_of.policy == "snapshot_refused"]
ASKED = [e for e in REST if e.as_of.policy != "snapshot_refused"]


class WorldTransport:
    """A wire that ends in a world instead of a socket."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    async def exchange(self, request: HttpRequest, timeout: float) -> HttpResponse:
        path = urlsplit(request.url).path
        body = orjson.loads(orjson.dumps(request.json)) if request.json is not None else None
        sent: Sent = self._answer(Seen(request.method, path, dict(request.query), {}, body))
        raw = sent.body if isinstance(sent.body, bytes) else orjson.dumps(sent.body)
        return HttpResponse(status=sent.status, headers=sent.headers, body=raw)

    async def aclose(self) -> None:
        pass


def settings(base: str) -> ProxySettings:
    names = [source.name for source in load_catalogue().sources()]
    return ProxySettings(
        keys={name: KEY for name in names},
        upstreams={name: f"{base}/{name}" for name in names},
        now=lambda: NOW,
        retry=Retry(tries=1, base=0.01),
    )


@dataclass
class Outcome:
    answer: Answer | None
    refused: Refused | SourceError | None
    ledger: MemoryLedger
    world: World

    def text(self) -> str:
        if self.answer is None:
            return str(self.refused)
        # the caller's own cutoff is no news
        meta = {
            name: value
            for name, value in self.answer.meta.items()
            if name not in ("as_of", "clamped", "fetched_at")
        }
        return self.answer.body.decode() + orjson.dumps(meta).decode()

    def leaked(self) -> set[str]:
        return {token for token in self.world.late if token in self.text()}

    def missing(self) -> set[str]:
        return {token for token in self.world.early - self.world.late if token not in self.text()}


def params_of(endpoint: Endpoint, world: World) -> dict[str, Any]:
    """A request that runs into the future on every side it can."""
    params = dict(endpoint.example)
    window = endpoint.as_of.window
    before = int((world.cutoff - timedelta(days=10)).timestamp())
    for name, value in {"limit": None, "page": None}.items():
        params.pop(name, value)
    if window is not None:
        first, last = {
            "day": ("1950-01-01", "2099-12-31"),
            "epoch": (before, 4070908800),
            "instant": ("1950-01-01T00:00:00.000Z", "2099-12-31T00:00:00.000Z"),
            "compact": ("19500101", "20991231"),
        }[window.unit]
        params |= dict.fromkeys(window.start, first) | dict.fromkeys(window.end, last)
        if endpoint.as_of.policy == "request_point":
            # every other world asks for a day after the cutoff
            day = world.moments[-1 - len(world.moments) % 2 if len(world.moments) > 1 else -1]
            params[window.at] = day.astimezone(NOW.tzinfo).date().isoformat()
        if endpoint.as_of.policy == "window_end":
            params[window.text] = ["today 12-m", "all", "now 7-d", "2015-01-01 2099-01-01", "today 5-y"][
                len(world.moments) % 5
            ]
    if "release" in params:
        params["release"] = world.moments[0].strftime("%Y-%m")
    return params


@functools.cache
def world_settings() -> ProxySettings:
    return settings("http://world")


def unpaced_broker(settings: ProxySettings, transport: Transport, *names: str) -> Broker:
    """A broker over one wire, with the named sources, or all, and without the pauses that a vendor's limits call for.

    Brave allows a call a second: of the law's 400 s three quarters were such pauses. The limits have tests of their own.
    """
    catalogue = load_catalogue()
    at_once = [
        info.model_copy(
            update={"limits": info.limits.model_copy(update={"per_second": None, "per_minute": None})}
        )
        for info in catalogue.sources()
        if not names or info.name in names
    ]
    sources = open_sources(SimpleNamespace(sources=lambda: at_once), settings, lambda info: transport)
    return Broker(catalogue=catalogue, sources=sources, settings=settings)


def world_broker(endpoint: Endpoint, world: World) -> Broker:
    """A new broker over a world, with the sources that the endpoint can need: opening all takes longer than a call."""
    return unpaced_broker(
        world_settings(), WorldTransport(world.answer), endpoint.source.name, "fmp", "yfinance"
    )


def shown_fields(endpoint: Endpoint) -> tuple[str, ...]:
    """The fields that the catalogue says are told as they come: those in which a world can hide its tokens."""
    as_of = endpoint.as_of
    gone = {*as_of.drop, *as_of.per_share, *as_of.share_counts}
    return tuple(name for name in as_of.keep or endpoint.fields if name not in gone)


def ask_for(endpoint: Endpoint, world: World) -> None:
    """Set a world up to be asked for an endpoint."""
    world.path, world.fields, world.open_rows = endpoint.path, shown_fields(endpoint), endpoint.open_rows


async def tell(
    endpoint: Endpoint, cutoff: Cutoff, world: World, params: dict[str, Any], base: str = ""
) -> Outcome:
    """What the broker tells; ``base`` is a loopback address instead of the in-process wire."""
    world.snapshot = endpoint.as_of.policy == "snapshot_refused"
    ask_for(endpoint, world)

    broker = open_broker(settings(base)) if base else world_broker(endpoint, world)
    ledger = MemoryLedger()
    address = Address(run="r", node="P1", trial=1, attempt=1, stage="cell", step=0, retry=0)
    asked = orjson.dumps(params)
    try:
        answer = await broker.session(cutoff, ledger).call(endpoint.path, params, address)
        return Outcome(answer, None, ledger, world)
    except (Refused, SourceError) as error:
        return Outcome(None, error, ledger, world)
    finally:
        await broker.aclose()
        assert orjson.dumps(params) == asked, "the caller's dict was changed"


def run(endpoint: Endpoint, cutoff_text: str, offsets: list[int], junk: list[Any]) -> Outcome:
    cutoff = Cutoff.parse(cutoff_text)
    # one moment surely before and one surely after, whatever the delays
    moments = [cutoff.instant + timedelta(minutes=m) for m in [*offsets, -1300 * 1440, 400 * 1440]]
    world = World(cutoff.instant, moments, junk)
    return in_loop(tell(endpoint, cutoff, world, params_of(endpoint, world)))


_loops: list[asyncio.AbstractEventLoop] = []


def in_loop(work: Coroutine[Any, Any, Outcome]) -> Outcome:
    """Run on one loop for all worlds: a new one for each would take longer than the work."""
    if not _loops:
        _loops.append(asyncio.new_event_loop())
    return _loops[0].run_until_complete(work)


def close_loop() -> None:
    while _loops:
        loop = _loops.pop()
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()


def minutes() -> st.SearchStrategy[list[int]]:
    near = st.integers(-2 * 1440, 2 * 1440)
    mid = st.integers(-150 * 1440, 150 * 1440)
    far = st.integers(-1500 * 1440, 1500 * 1440)
    return st.lists(st.one_of(near, mid, far, st.sampled_from([-1, 0, 1, -15, 15, -60])), max_size=7)


def junk() -> st.SearchStrategy[list[Any]]:
    return st.lists(st.sampled_from(JUNK), max_size=4)


def texts_of(endpoint: Endpoint) -> tuple[str, ...]:
    """The paths of the long texts in a row that a vendor can edit."""
    as_of = endpoint.as_of
    if as_of.texts == "page":
        return as_of.text_fields
    places = {"": as_of.keep} | {item.rows.replace("[]", "."): item.keep for item in as_of.nested}
    return tuple(
        f"{place}{name}"
        for place, names in places.items()
        for name in names
        if MARKET_TEXTS.get(name) == "text"
    )
