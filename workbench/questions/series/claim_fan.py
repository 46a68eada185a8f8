"""The fan of a claim's series at the cutoff: the paths behind its probability, with the level it asks about."""

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

from workbench.forecasts.reading import Reading
from workbench.forecasts.series.series_history import History
from workbench.questions.claims import Claim
from workbench.questions.decision import Rows, settle
from workbench.questions.series.claim_paths import ClaimPaths
from workbench.questions.series.readings_of_claims import claim_reading
from workbench.questions.series.series_quantity import fan_of
from workbench.science.errors import ScienceError


def claim_fan(
    claim: Claim, rows: Mapping[str, Rows], *, paths: ClaimPaths | None = None
) -> dict[str, Any] | None:
    """Return the fan of a claim's series (the ratio of its two) through its end, as `workbench.views.fan_chart` draws it.

    ``paths``: those that its chance was read from, where they are drawn already.
    """
    claim = settle(claim, rows)
    try:
        simulated = (paths or ClaimPaths()).paths(claim, rows)
    except ScienceError:  # too short a history, or no value is to come: the claim has its other models
        return None
    return {
        **series_facts(claim),
        **fan_of(simulated),
        "levels": claim_levels(claim_reading(claim), simulated.known),
        "outcome": None,
    }


def series_facts(claim: Claim) -> dict[str, Any]:
    """Return the name and unit of a claim's series, and the day that decides the claim."""
    name = claim.about.article.removeprefix("the ")
    return {
        "series": f"{name} / {claim.against.article.removeprefix('the ')}" if claim.against else name,
        "unit": "" if claim.other else claim.about.unit,
        "on": claim.end.isoformat(),
    }


def claim_levels(reading: Reading, history: History) -> list[float]:
    """Return the values of the series that a claim asks about, for lines across its chart."""
    if reading.statistic not in ("last", "highest", "lowest"):
        return []
    bounds = [
        bound for bound in (reading.level, reading.upper) if bound is not None and abs(bound) < float("inf")
    ]
    if reading.transformation == "value":
        return bounds
    if reading.transformation not in ("change", "growth"):
        return []
    before = history if reading.start is None else through(history, reading.start)
    base = float(before.values[-1])
    if reading.transformation == "change":
        return [base + bound for bound in bounds]
    # Percent of the size, as `workbench.forecasts.reading` counts growth.
    return [base + abs(base) * bound / 100 for bound in bounds]


def through(history: History, day: date) -> History:
    """Return a history through a day, which is included."""
    return history.before(day + timedelta(days=1))
