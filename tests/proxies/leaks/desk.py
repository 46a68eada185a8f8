"""A broker over one handler, for tests that feed one answer."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from proxies.asof.clock import Cutoff
from proxies.broker import Broker
from proxies.ledger import Address, Answer, MemoryLedger
from tests.fakes.upstream import Seen, Sent
from tests.proxies.worlds import NOW, WorldTransport, settings, unpaced_broker

CUTOFF = "2024-06-01"
Handler = Callable[[Seen], Any]
EOD = "fmp/chart/end-of-day/historical-price-eod/non-split-adjusted"
STATEMENT = "fmp/statements/financial-statements/income-statement"


class Desk:
    """A broker over one handler; keeps what was sent."""

    def __init__(self, handler: Handler | Any, *, keyless: bool = False) -> None:
        self.seen: list[Seen] = []
        self.ledger = MemoryLedger()
        self._count = 0

        def answer(seen: Seen) -> Sent:
            self.seen.append(seen)
            body = handler(seen) if callable(handler) else handler
            return body if isinstance(body, Sent) else Sent(body)

        self._waited = 0.0
        made = replace(settings("http://desk"), now=lambda: NOW + timedelta(seconds=self._waited))
        made = replace(made, keys={}) if keyless else made
        self.broker: Broker = unpaced_broker(made, WorldTransport(answer))

    def wait(self, seconds: float) -> None:
        """Move the broker's clock on."""
        self._waited += seconds

    async def __call__(
        self,
        path: str,
        cutoff: str | None = CUTOFF,
        *,
        strict: bool = False,
        most: Any = None,
        **params: Any,
    ) -> Answer:
        self._count += 1
        address = Address(run="r", node="P1", trial=1, attempt=1, stage="cell", step=0, retry=self._count)
        at = Cutoff.parse(cutoff) if cutoff else None
        session = self.broker.session(at, self.ledger, strict=strict, max_residual=most)
        return await session.call(path, params, address)


def bars(*days: str) -> list[dict[str, Any]]:
    return [{"symbol": "AAPL", "date": day, "adjClose": 10.0, "volume": 5} for day in days]
