"""Fixtures of the broker's tests: addresses, brokers over loopback upstreams, a broker that is always closed."""

from collections.abc import AsyncIterator, Callable, Iterator
from itertools import count
from typing import Any

import pytest

from proxies.asof.clock import Cutoff
from proxies.broker import Broker, BrokerSession, open_broker
from proxies.ledger import Address, Answer, MemoryLedger
from proxies.settings import ProxySettings, Retry
from tests.fakes.upstream_fred import KEY, FredUpstream
from tests.proxies.worlds import close_loop

FAST = Retry(tries=3, base=0.01, cap=0.2)


def addresses() -> Iterator[Address]:
    for number in count():
        yield Address(run="r", node="P1", trial=1, attempt=1, stage="cell", step=0, retry=number)


class Asker:
    """Calls a session at a new address each time."""

    def __init__(self, session: BrokerSession, ledger: MemoryLedger) -> None:
        self.session, self.ledger = session, ledger
        self.addresses = addresses()

    async def __call__(self, path: str, **params: Any) -> Answer:
        return await self.session.call(path, params, next(self.addresses))


def asker(broker: Broker, cutoff: str | None, *, strict: bool = False) -> Asker:
    ledger = MemoryLedger()
    return Asker(broker.session(Cutoff.parse(cutoff) if cutoff else None, ledger, strict=strict), ledger)


@pytest.fixture
async def broker_of() -> AsyncIterator[Callable[..., Broker]]:
    """Makes brokers and closes them after the test."""
    made: list[Broker] = []

    def make(**settings: Any) -> Broker:
        made.append(open_broker(ProxySettings(**{"retry": FAST, **settings})))
        return made[-1]

    yield make
    for broker in made:
        await broker.aclose()


@pytest.fixture
def fred() -> Iterator[FredUpstream]:
    with FredUpstream() as upstream:
        yield upstream


@pytest.fixture
def fred_broker(fred: FredUpstream, broker_of: Callable[..., Broker]) -> Broker:
    return broker_of(keys={"fred": KEY}, upstreams={"fred": fred.url})


@pytest.fixture(scope="module")
def one_loop() -> Iterator[None]:
    """Ends the loop that all worlds of a module share."""
    yield
    close_loop()
