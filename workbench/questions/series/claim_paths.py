"""The chance of a claim of the grammar and its fan, from the paths of its series as it was known at a cutoff: one forecaster for every face."""

import hashlib
from collections.abc import Mapping
from datetime import date, timedelta
from threading import Lock
from typing import Any

from workbench.forecasts.ensemble import Ensemble
from workbench.forecasts.leaf_forecast import LeafForecast, forecast_reading, held, reading_paths
from workbench.forecasts.reading import Reading, chance
from workbench.forecasts.series.series_history import History
from workbench.forecasts.series_paths import Paths
from workbench.questions.claims import Claim
from workbench.questions.decision import Rows, claim_histories, claim_history, refused_by, settle
from workbench.questions.series.readings_of_claims import claim_reading
from workbench.questions.series.series_quantity import fan_of
from workbench.science.arrays import FloatArray
from workbench.science.errors import ScienceError

#: Sets of paths that are kept: those of the claims of one tree, not of a hundred cutoffs (8 MB each).
_DRAWN = 6
#: What members said at past cutoffs, for all that this process forecasts: each is addressed by a hash of what it follows from.
_SCORES: dict[str, FloatArray] = {}


class ClaimPaths:
    """Forecasts claims by the ensemble's paths; paths are drawn once for all claims on a series that end on one day.

    Used by the key-free analyst's tree, the record beside its answer, back-tests and benchmarks, each with one object for a stretch
    of work: what the members said at past cutoffs is scored once a series. Threads may share it.
    """

    def __init__(self) -> None:
        self._ensembles: dict[str, Ensemble] = {}
        self._drawn: dict[tuple[str, ...], Paths] = {}
        # Two nodes of a tree on one series would else both draw its paths.
        self._lock = Lock()

    def chance(self, claim: Claim, rows: Mapping[str, Rows]) -> float:
        """Return the probability of a claim; 0 or 1 where the rows decide it, else held in [0.02, 0.98].

        Raises `ClaimRefused`: Too little is known of the series, or nothing of it is to come through the claim's end.
        """
        claim = settle(claim, rows)
        try:
            estimate = chance(claim_reading(claim), self.paths(claim, rows))
        except ScienceError as problem:
            raise refused_by(problem, "choose a later cutoff or a nearer date") from None
        return held(estimate)

    def forecast(self, claim: Claim, rows: Mapping[str, Rows]) -> LeafForecast:
        """Return a claim's chance with what its proof shows of the paths, as its leaf's notebook does; raises ``ScienceError``."""
        claim = settle(claim, rows)
        return forecast_reading(
            claim_reading(claim),
            claim_history(claim, rows),
            together=claim_histories(claim, rows),
            ensemble=Ensemble(scores=_SCORES),
            paths=self.paths(claim, rows),
        )

    def paths(self, claim: Claim, rows: Mapping[str, Rows]) -> Paths:
        """Return the paths of a claim's series (the ratio of its two) through its end, as `chance` reads them.

        Raises ``ScienceError`` where too little is known, or nothing is to come.
        """
        with self._lock:
            return self._paths(claim, rows)

    def _paths(self, claim: Claim, rows: Mapping[str, Rows]) -> Paths:
        history = claim_history(claim, rows)
        name = f"{claim.series} {claim.other}"
        known = hashlib.sha256(
            b"".join(each.days.tobytes() + each.values.tobytes() for each in claim_histories(claim, rows))
        ).hexdigest()
        key = (name, claim.end.isoformat(), known)
        if key not in self._drawn:
            ensemble = self._ensembles.setdefault(name, Ensemble(scores=_SCORES))
            paths = reading_paths(ensemble, claim_reading(claim), history, claim_histories(claim, rows))
            while len(self._drawn) >= _DRAWN:
                self._drawn.pop(next(iter(self._drawn)))
            self._drawn[key] = paths
        return self._drawn[key]


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
    bounds = [bound for bound in (reading.level, reading.upper) if bound is not None]
    if reading.transformation == "value":
        return bounds
    if reading.transformation not in ("change", "growth"):
        return []
    before = history if reading.start is None else through(history, reading.start)
    base = float(before.values[-1])
    if reading.transformation == "change":
        return [base + bound for bound in bounds]
    return [base + base * bound / 100 for bound in bounds] if base > 0 else []


def through(history: History, day: date) -> History:
    """Return a history through a day, which is included."""
    return history.before(day + timedelta(days=1))
