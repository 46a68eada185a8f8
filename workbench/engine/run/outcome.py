"""How a claim about an embedded series turned out: asked of finished runs only, from data after their cutoff."""

from datetime import date
from typing import NamedTuple

from proxies.asof.clock import Cutoff
from proxies.broker import open_broker
from proxies.settings import ProxySettings
from workbench.offline.history import broker_history, visible
from workbench.questions.deciding import resolve
from workbench.questions.errors import ClaimRefused
from workbench.questions.grammar import read_claim


class KnownOutcome(NamedTuple):
    """Whether a claim came true, and the day on which that is decided."""

    true: bool
    day: date


async def known_outcome(statement: str, cutoff: Cutoff) -> KnownOutcome | None:
    """Return how the claim turned out; None where the embedded data cannot tell."""
    try:
        claim = read_claim(statement)
    except ClaimRefused:
        return None  # a claim in words only: no data are opened for it
    broker = open_broker(ProxySettings())
    try:
        observe = broker_history(broker)
        rows = await visible(observe, claim.sources, Cutoff.parse("now"))
        seen = await visible(observe, claim.sources, cutoff)
        return KnownOutcome(resolve(claim, rows, seen), claim.end)
    except ClaimRefused:
        return None  # about a day the data do not reach
    finally:
        await broker.aclose()
