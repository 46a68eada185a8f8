"""A claim's series as known at the cutoff, and the value that it came to."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from proxies.asof.clock import Cutoff
from proxies.errors import ProxyError
from workbench.blocking import run_blocking
from workbench.offline.visible_past import broker_history, open_sources, present_cutoff, visible
from workbench.questions.decision import Rows, claim_history, settle
from workbench.questions.errors import ClaimRefused
from workbench.questions.grammar import read_claim
from workbench.questions.series.claim_paths import claim_levels, series_facts, through
from workbench.questions.series.readings_of_claims import claim_reading
from workbench.questions.series.series_registry import source_of_rows
from workbench.science.errors import ScienceError

#: Where series lie that a page may read: in the package, and in this home.
_LOCAL = ("embedded", "own")
#: Known values that are drawn without a fan: of days about a year.
_SHOWN = 250


def known_series(statement: str, cutoff: Cutoff) -> dict[str, Any] | None:
    """Return a `workbench.questions.series.claim_paths.claim_fan` without the fan: a claim's series as known at a cutoff, for a run of any model.

    None where the claim names no series of the kind, and where one lies with a service, which no look at a page asks.
    """
    try:
        claim = read_claim(statement)
        sources = claim.going_on().sources
        if any(source_of_rows(name).source not in _LOCAL for name in sources):
            return None
        rows = run_blocking(_visible_rows(sources, cutoff))
        claim = settle(claim.going_on(), rows)
        history = claim_history(claim, rows)
    except (ClaimRefused, ScienceError, ProxyError):
        return None
    if not len(history.days):
        return None
    past = [
        {"day": str(day), "value": float(value)}
        for day, value in zip(history.days[-_SHOWN:], history.values[-_SHOWN:], strict=True)
    ]
    return {
        **series_facts(claim),
        "last": past[-1],
        "past": past,
        "fan": [],
        "levels": claim_levels(claim_reading(claim), history),
        "outcome": None,
    }


def fan_outcome(statement: str, services_at: datetime | None = None) -> dict[str, Any] | None:
    """Return the value of a claim's series on its last day; None where it is not known by now."""
    claim = read_claim(statement).going_on()
    try:
        rows = run_blocking(_visible_rows(claim.sources, present_cutoff(), services_at))
        history = through(claim_history(claim, rows), claim.end)
    except (ClaimRefused, ScienceError, ProxyError):
        return None
    day = history.days[-1].item()
    return {"value": {"value": float(history.values[-1]), "day": day.isoformat()}}


async def _visible_rows(
    sources: tuple[str, ...], cutoff: Cutoff, services_at: datetime | None = None
) -> Mapping[str, Rows]:
    broker = open_sources(sources, services_at=services_at)
    try:
        return await visible(broker_history(broker), sources, cutoff)
    finally:
        await broker.aclose()
