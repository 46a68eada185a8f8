"""How the offline analyst sees the past: through the broker, at the request's own cutoff, like any cell."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from proxies.asof.clock import Cutoff
from proxies.ledger import Address, MemoryLedger
from proxies.settings import ProxySettings

if TYPE_CHECKING:
    from proxies.broker import Broker

PATH = "embedded/series/observations"


class Observe(Protocol):
    """Visible rows of an embedded series at a cutoff, oldest first, each with ``date`` and ``value``."""

    async def __call__(self, series_id: str, cutoff: Cutoff) -> Sequence[dict[str, Any]]:
        """Rows of one series; raises ``proxies.errors.ProxyError``."""
        ...


def broker_history(broker: "Broker | None") -> Observe:
    """Read through a broker; without one, a broker on the embedded data is opened at first use."""
    opened: list[Broker] = [broker] if broker is not None else []

    async def observe(series_id: str, cutoff: Cutoff) -> Sequence[dict[str, Any]]:
        if not opened:
            from proxies.broker import open_broker

            opened.append(open_broker(ProxySettings()))
        # planning only: what a leaf rests on is fetched again by its own cells, and recorded there
        address = Address(run="plan", node="P0", trial=1, attempt=1, stage="observe", step=0, retry=0)
        session = opened[0].session(cutoff, MemoryLedger())
        answer = await session.call(PATH, {"series_id": series_id}, address)
        return list(answer.data)

    return observe


async def visible(observe: Observe, names: Iterable[str], cutoff: Cutoff) -> dict[str, list[dict[str, Any]]]:
    """Rows of several series; a series of which nothing is visible yet gives no rows."""
    return {name: list(await observe(name, cutoff)) for name in sorted(set(names))}
