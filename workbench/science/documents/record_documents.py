"""The record of a forecaster at past cutoffs as a document, and the one sentence that says how far to trust it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from workbench.formatting import counted
from workbench.science.arrays import FloatArray, as_outcomes, as_probabilities
from workbench.science.comparing.clusters import cluster_count, day_count, event_clusters, series_clusters
from workbench.science.comparing.comparison import paired_comparisons
from workbench.science.comparing.mean_intervals import class_share_interval
from workbench.science.comparing.paired import PairedVerdict, holm
from workbench.science.documents.score_documents import Document
from workbench.science.documents.skill_words import past_dates, skill_line
from workbench.science.scoring.calibration_error import calibrated_error, calibration_error, reliability
from workbench.science.scoring.scores import brier, brier_index
from workbench.science.table_cells import StrArray
from workbench.science.tables import Events

#: Rivals of a record, by the names of its document.
BASE_RATE, WALK, HALF = "base rate", "driftless walk", "always 0.5"
#: Fewer bins than a scorecard's ten: a record has some hundred forecasts.
_BINS = 5
_OWN = "forecast"


@dataclass(frozen=True, slots=True, kw_only=True)
class PastTable:
    """Forecasts at past cutoffs with their outcomes, one row each.

    Parameters
    ----------
    forecast, outcome : ndarray, shape (n,)
        Probabilities, and 1 or 0.
    rivals : mapping of str to ndarray of shape (n,)
        Probabilities of others on the same questions, ``BASE_RATE`` among them.
    series, first_day, last_day : ndarray of str, shape (n,)
        What each was about, its cutoff and its last day (YYYY-MM-DD): windows of one series in one stretch of time are one cluster.
    """

    forecast: FloatArray
    outcome: FloatArray
    rivals: Mapping[str, FloatArray]
    series: StrArray
    first_day: StrArray
    last_day: StrArray

    def take(self, rows: Any) -> "PastTable":
        """The questions at these rows."""
        rivals = {name: p[rows] for name, p in self.rivals.items()}
        columns = ("forecast", "outcome", "series", "first_day", "last_day")
        return replace(self, rivals=rivals, **{name: getattr(self, name)[rows] for name in columns})

    def events(self) -> Events:
        """The questions as a table of events; all that were asked of a series at one cutoff are one question."""
        return Events.of(
            as_outcomes(self.outcome),
            question=np.char.add(np.char.add(self.series, " "), self.first_day),
            series=self.series,
            forecast_due_date=self.first_day,
            resolution_date=self.last_day,
        )

    def values(self) -> dict[str, FloatArray]:
        """Forecast and rivals by name, always-0.5 among them."""
        named = {_OWN: self.forecast, **self.rivals, HALF: np.full(len(self.outcome), 0.5)}
        return {name: as_probabilities(p, name=name) for name, p in named.items()}


def record_document(table: PastTable) -> Document:
    """Score a forecaster at past cutoffs, against each rival on the same questions.

    >>> days = np.array([f"20{year:02}-01-01" for year in range(8)])
    >>> document = record_document(PastTable(
    ...     forecast=np.array([0.9, 0.1] * 4), outcome=np.array([1.0, 0.0] * 4), rivals={BASE_RATE: np.full(8, 0.5)},
    ...     series=np.array(["VIX"] * 8), first_day=days, last_day=days))
    >>> document["skill"], document["line"]
    ('better', 'Tested on 8 past dates (8 independent), this method did better than the base rate. Gain in Brier Index +40.0, 95% interval +40.0 to +40.0.')
    """
    return record_documents({"": table})[""]


def record_documents(families: Mapping[str, PastTable]) -> dict[str, Document]:
    """`record_document` of each family of questions, their p values against each rival corrected by Holm for their number.

    A family that was better by itself may so turn into one that shows no skill.
    """
    tests = {name: _tests(table) for name, table in families.items()}
    for rival in dict.fromkeys(rival for by_rival in tests.values() for rival in by_rival):
        family = {name: by_rival[rival] for name, by_rival in tests.items() if rival in by_rival}
        raised = holm({name: test.p for name, test in family.items()})
        for name, test in family.items():
            tests[name][rival] = replace(test, p_holm=raised[name]).judged(comparisons=len(family))
    return {name: _document(table, tests[name], looked_at=len(families)) for name, table in families.items()}


def _tests(table: PastTable) -> dict[str, PairedVerdict]:
    events, values = table.events(), table.values()
    return {
        name: paired_comparisons(events, {_OWN: values[_OWN], name: rival}, name)[_OWN]["overall"]
        for name, rival in values.items()
        if name != _OWN
    }


def _document(table: PastTable, tests: Mapping[str, PairedVerdict], *, looked_at: int) -> Document:
    events = table.events()
    o, values, clusters = table.outcome, table.values(), event_clusters(events)
    curve = reliability(values[_OWN], o, bins=_BINS, interval=class_share_interval(clusters))
    dates = len(np.unique(table.first_day))
    return {
        "n": len(o),
        "clusters": cluster_count(clusters),
        "days": day_count(events),
        "looked_at": looked_at,
        "first": str(min(table.first_day)),
        "last": str(max(table.first_day)),
        "came_true": float(o.mean()),
        "brier": brier(values[_OWN], o),
        "brier_index": brier_index(values[_OWN], o),
        "ece": calibration_error(values[_OWN], o, bins=_BINS),
        "ece_calibrated": calibrated_error(values[_OWN], series_clusters(events), bins=_BINS).expected,
        "against": {
            name: {
                **test.to_json(),
                "brier_index": brier_index(values[name], o),
            }
            for name, test in tests.items()
        },
        "reliability": [
            {
                "n": int(curve.count[place]),
                **{
                    name: float(value) if np.isfinite(value := getattr(curve, name)[place]) else None
                    for name in ("forecast", "observed", "low", "high")
                },
            }
            for place in range(len(curve.count))
        ],
        "skill": tests[BASE_RATE].verdict,
        "line": skill_line(
            tests[BASE_RATE],
            past_dates(dates) if dates == len(o) else f"{counted(len(o), 'forecast')} on {past_dates(dates)}",
        ),
    }
