"""Read the past for the offline analyst: through the broker, at the request's own cutoff, like any cell."""

import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from proxies.asof.clock import Cutoff
from proxies.ledger import Address, MemoryLedger
from proxies.settings import ProxySettings
from workbench.environment import home_from, proxy_settings
from workbench.questions.series.series_reference import SeriesRef
from workbench.questions.series.series_registry import source_of_rows
from workbench.questions.series.value_states import params_of_states

if TYPE_CHECKING:
    from proxies.broker import Broker


class Observe(Protocol):
    """Visible rows of a series at a cutoff, oldest first, each with ``date`` and ``value``; named as among `Series.sources`."""

    async def __call__(self, series_id: str, cutoff: Cutoff) -> Sequence[dict[str, Any]]:
        """Return the rows of one series; raises ``proxies.errors.ProxyError``, and ``ClaimRefused`` where
        another source than the embedded has none.
        """
        ...


def broker_history(broker: "Broker | None") -> Observe:
    """Read through a broker; without one, a broker on the embedded data is opened at first use."""
    brokers: list[Broker] = [broker] if broker is not None else []

    async def observe(series_id: str, cutoff: Cutoff) -> Sequence[dict[str, Any]]:
        if not brokers:
            brokers.append(open_sources((series_id,)))
        ref = source_of_rows(series_id)
        answer = await source_answer(brokers[0], ref, cutoff)
        return list(answer) if ref.source == "embedded" else ref.rows(answer, cutoff.last_moment_day)

    return observe


async def source_answer(broker: "Broker", ref: SeriesRef, cutoff: Cutoff, *, states: bool = False) -> Any:
    """Return what a source answers about a series at a cutoff; ``states`` asks for all states of its values where it has them.

    It is in no ledger: what a leaf rests on is fetched again by its own cells, and recorded there.
    """
    path, params = ref.call(cutoff.instant)
    address = Address(run="plan", node="P0", trial=1, attempt=1, stage="observe")
    session = broker.session(cutoff, MemoryLedger())
    return (await session.call(path, params_of_states(ref, params) if states else params, address)).data


def open_sources(
    names: Iterable[str], root: Path | None = None, *, services_at: datetime | None = None
) -> "Broker":
    """Open a broker for some series; keys, upstreams and own data are looked up where one of them is not embedded."""
    from proxies.broker import open_broker

    if all(source_of_rows(name).source == "embedded" for name in names):
        return open_broker(ProxySettings(embedded_root=root))
    return open_broker(proxy_settings(os.environ, home_from(os.environ), services_at=services_at))


def present_cutoff() -> Cutoff:
    """Return the present instant as a dated cutoff: sources then show what is known, and no day counts before it is over."""
    return Cutoff.parse(datetime.now(UTC).isoformat())


async def visible(observe: Observe, names: Iterable[str], cutoff: Cutoff) -> dict[str, list[dict[str, Any]]]:
    """Read the rows of several series; a series of which nothing is visible yet gives no rows."""
    return {name: list(await observe(name, cutoff)) for name in sorted(set(names))}
