"""The fan of a claim's series at the cutoff: the paths behind its probability, with the level it asks about."""

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Any

from proxies.asof.clock import Cutoff
from proxies.errors import ProxyError
from workbench.blocking import run_blocking
from workbench.forecasts.reading import Reading
from workbench.forecasts.series.series_history import History
from workbench.offline.visible_past import broker_history, open_sources, present_cutoff, visible
from workbench.questions.claims import Claim
from workbench.questions.decision import Rows, claim_history, settle
from workbench.questions.errors import ClaimRefused
from workbench.questions.grammar import read_claim
from workbench.questions.series.claim_paths import ClaimPaths
from workbench.questions.series.readings_of_claims import claim_reading
from workbench.questions.series.series_quantity import fan_of
from workbench.questions.series.series_registry import source_of_rows
from workbench.science.errors import ScienceError

#: Where series lie that a page may read: in the package, and in this home.
_LOCAL = ("embedded", "own")
#: Known values that are drawn without a fan: of days about a year.
_SHOWN = 250


def claim_fan(
    claim: Claim, rows: Mapping[str, Rows], *, paths: ClaimPaths | None = None
) -> dict[str, Any] | None:
    """Return the fan of a claim's series (the ratio of its two) through its end, as `workbench.views.fan_chart` draws it."""
    claim = settle(claim, rows)
    try:
        simulated = (paths or ClaimPaths()).paths(claim, rows)
    except ScienceError:  # too short a history, or no value is to come: the claim has its other models
        return None
    return {
        **_series_facts(claim),
        **fan_of(simulated),
        "levels": _levels(claim_reading(claim), simulated.known),
        "outcome": None,
    }


def known_series(statement: str, cutoff: Cutoff) -> dict[str, Any] | None:
    """Return a `claim_fan` without the fan: a claim's series as known at a cutoff, for a run of any model.

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
        **_series_facts(claim),
        "last": past[-1],
        "past": past,
        "fan": [],
        "levels": _levels(claim_reading(claim), history),
        "outcome": None,
    }


def _series_facts(claim: Claim) -> dict[str, Any]:
    name = claim.about.article.removeprefix("the ")
    return {
        "series": f"{name} / {claim.against.article.removeprefix('the ')}" if claim.against else name,
        "unit": "" if claim.other else claim.about.unit,
        "on": claim.end.isoformat(),
    }


def _levels(reading: Reading, history: History) -> list[float]:
    if reading.statistic not in ("last", "highest", "lowest"):
        return []
    bounds = [
        bound for bound in (reading.level, reading.upper) if bound is not None and abs(bound) < float("inf")
    ]
    if reading.transformation == "value":
        return bounds
    if reading.transformation not in ("change", "growth"):
        return []
    before = history if reading.start is None else _through(history, reading.start)
    base = float(before.values[-1])
    if reading.transformation == "change":
        return [base + bound for bound in bounds]
    # Percent of the size, as `workbench.forecasts.reading` counts growth.
    return [base + abs(base) * bound / 100 for bound in bounds]


def _through(history: History, day: date) -> History:
    return history.before(day + timedelta(days=1))


def fan_outcome(statement: str, services_at: datetime | None = None) -> dict[str, Any] | None:
    """Return the value of a claim's series on its last day; None where it is not known by now."""
    claim = read_claim(statement).going_on()
    try:
        rows = run_blocking(_visible_rows(claim.sources, present_cutoff(), services_at))
        history = _through(claim_history(claim, rows), claim.end)
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
