"""Check that each source still answers by the catalogue: one example of each, with the present keys.

``workbench doctor --live`` calls it. The catalogue holds facts that only a live answer confirms, and a vendor may change
them any day.
"""

import asyncio
import time
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count
from typing import Literal

from proxies.asof.clock import NEW_YORK, Cutoff
from proxies.broker import Broker
from proxies.catalogue.schema import Endpoint
from proxies.errors import MissingKey, NoSuch, ProxyError
from proxies.ledger import Address, MemoryLedger

Verdict = Literal["answers", "no rows", "no key", "fails"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCheck:
    """The outcome of one source's example."""

    source: str
    #: The endpoint's path.
    endpoint: str
    verdict: Verdict
    #: The error's line; empty if there was none. Never a key, never the vendor's own words.
    says: str
    seconds: float


async def check_sources(broker: Broker) -> list[SourceCheck]:
    """Check every source of the broker's catalogue concurrently. Costs one call of each plan, sometimes a few."""
    examples: dict[str, list[Endpoint]] = {}
    for endpoint in broker.catalogue:
        examples.setdefault(endpoint.source.name, []).append(endpoint)
    today = broker.settings.now().astimezone(NEW_YORK).date()
    # as of today and not live: the policies then read the dates of every row, and say so if they cannot
    session = broker.session(Cutoff.parse(today.isoformat()), MemoryLedger())
    steps = count()

    async def check(endpoint: Endpoint) -> SourceCheck:
        place = Address(run="doctor", node="-", trial=0, attempt=0, stage="live", step=next(steps), retry=0)
        began = time.monotonic()
        verdict: Verdict = "answers"
        says = ""
        try:
            answer = await session.call(endpoint.path, endpoint.example, place)
            if answer.data in ([], {}, None) or any(
                note.startswith("no rows") for note in answer.meta["notes"]
            ):
                verdict, says = "no rows", "it answers, and has nothing for the example"
        except MissingKey as error:
            verdict, says = "no key", error.reason
        except NoSuch as error:
            verdict, says = "no rows", error.reason
        except ProxyError as error:
            verdict, says = "fails", str(error)
        return SourceCheck(
            source=endpoint.source.name, endpoint=endpoint.path, verdict=verdict, says=says, seconds=time.monotonic() - began
        )  # fmt: skip

    return list(await asyncio.gather(*(check(example_of(listed)) for listed in examples.values())))


def example_of(endpoints: Iterable[Endpoint]) -> Endpoint:
    """Return the endpoint of a source whose example is most telling: rows with dates, from the vendor itself."""
    listed = list(endpoints)

    def usefulness(endpoint: Endpoint) -> tuple[bool, ...]:
        as_of = endpoint.as_of
        # a row that is dated by another source's report would tell of that source
        alone = as_of.join is None
        dated = endpoint.rows is not None and as_of.stamp is not None
        return as_of.policy != "snapshot_refused", endpoint.method != "LOCAL", alone, dated

    # the first of the most useful ones: the files begin with what is asked most
    return max(listed, key=usefulness)
