"""How a claim about an embedded series turned out, and whether a run's models may know it already."""

from datetime import date
from functools import lru_cache
from typing import NamedTuple

from proxies.asof.clock import Cutoff
from proxies.broker import open_broker
from proxies.settings import ProxySettings
from workbench.engine.run_settings import RunSettings
from workbench.models.training import UnknownTrainingEnd, training_cutoff
from workbench.offline.visible_past import broker_history, visible
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
    # reading the series is pandas; every view of a run loads this file
    from workbench.questions.decision import resolve

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


def training_end(model: str) -> date | str:
    """Return the last day in a model's training data, ``never`` for a model without any, ``unknown`` off the table.

    >>> training_end("offline/analyst"), training_end("openai/gpt-4o"), training_end("openai/mine")
    ('never', datetime.date(2023, 10, 31), 'unknown')
    """
    try:
        end = training_cutoff(model)
    except UnknownTrainingEnd:
        return "unknown"
    return "never" if end is None else end


def hindsight(settings: RunSettings, cutoff: Cutoff) -> list[str]:
    """Return a warning for each model of a run whose training ends after the cutoff, or nobody knows when; empty for none."""
    if cutoff.live:
        return []
    names = dict.fromkeys((settings.model, *settings.models.values(), *settings.fallback))
    return [line for name in names if (line := _line(name, cutoff.last_moment_day, cutoff.text))]


@lru_cache(maxsize=256)
def _line(model: str, last_day: date, cutoff: str) -> str:
    end = training_end(model)
    if end == "never":
        return ""
    if isinstance(end, date):
        if end < last_day:
            return ""
        return (
            f"HINDSIGHT: {model} was trained on texts up to {end}, after the cutoff {cutoff}: it may know how this turned out."
            " The result is recall as much as a forecast"
        )
    return (
        f"HINDSIGHT: when the training of {model} ended is unknown: if after the cutoff {cutoff}, the result is recall as much"
        " as a forecast"
    )
