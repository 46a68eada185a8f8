"""How a claim about an embedded series turned out: told only of a finished run, from data after its cutoff."""

from proxies.asof.clock import Cutoff
from proxies.broker import open_broker
from proxies.settings import ProxySettings
from workbench.offline.history import broker_history, visible
from workbench.questions.deciding import resolve
from workbench.questions.errors import ClaimRefused
from workbench.questions.grammar import read_claim


async def known_outcome(statement: str, cutoff: str) -> bool | None:
    """Return whether the claim came true; None where the embedded data cannot tell."""
    broker = open_broker(ProxySettings())
    try:
        claim = read_claim(statement)
        rows = await visible(broker_history(broker), claim.sources, Cutoff.parse("now"))
        return resolve(claim, rows, Cutoff.parse(cutoff).last_moment_day)
    except ClaimRefused:
        return None  # a claim in words only, or about a day the data do not reach
    finally:
        await broker.aclose()
