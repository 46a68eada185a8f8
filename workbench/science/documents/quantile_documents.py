"""The document that `score --quantiles` prints: CRPS and PIT of forecasts of numbers, apart from every score of probabilities."""

from collections.abc import Mapping, Sequence

import numpy as np

from workbench.science.arrays import FloatArray
from workbench.science.comparing.clusters import clusters_of
from workbench.science.comparing.mean_intervals import loss_interval
from workbench.science.documents.score_documents import Document
from workbench.science.errors import TableError
from workbench.science.quantile_tables import NumericTargets, QuantileForecasts
from workbench.science.scoring.crps import crps_of_quantiles, interval_coverage, pit_of_quantiles
from workbench.science.table_cells import StrArray

BANDS = (0.5, 0.8, 0.9)
_BINS = 10


def quantile_document(
    targets: NumericTargets, forecasts: QuantileForecasts, *, methods: Sequence[str] = ()
) -> Document:
    """Score forecasts of numbers by quantiles: the document of ``score --quantiles``.

    Raises `TableError`: No number has come, or the file has no such method.
    """
    came = np.flatnonzero(np.isfinite(targets.value))
    if not len(came):
        raise TableError(targets.path, "no number in it has come yet", column="value")
    unknown = [name for name in methods if name not in forecasts.methods]
    if unknown:
        names = ", ".join(forecasts.methods)
        raise TableError(
            forecasts.path, f"there is no method {unknown[0]!r}; the file has: {names}", column="method"
        )
    return {
        "numbers": len(came),
        "not_come": len(targets) - len(came),
        "units": sorted({str(unit) for unit in targets.unit[came]}),
        "shares": forecasts.shares.tolist(),
        "methods": {
            name: _method_scores(targets, came.tolist(), forecasts.shares, quantiles)
            for name, quantiles in forecasts.methods.items()
            if not methods or name in methods
        },
    }


def _method_scores(
    targets: NumericTargets,
    came: list[int],
    shares: FloatArray,
    quantiles: Mapping[int, FloatArray],
) -> Document:
    rows = [row for row in came if row in quantiles]
    if not rows:
        return {"n": 0, "missing": len(came)}
    crps, pit = [], []
    for row in rows:
        ends, value = targets.within(row, quantiles[row]), float(targets.within(row, targets.value[row]))
        crps.append(crps_of_quantiles(shares, ends, value))
        pit.append(pit_of_quantiles(shares, ends, value))
    labels = clusters_of(
        targets.question[rows],
        series=targets.series[rows],
        start=targets.first_day[rows],
        end=targets.last_day[rows],
    )
    score, places = np.array(crps), np.array(pit)
    units = targets.unit[rows]
    width = (targets.high - targets.low)[rows]
    return {
        "n": len(rows),
        "missing": len(came) - len(rows),
        "clusters": len(set(labels.tolist())),
        "crps": {
            unit: _mean_score(score[unit == units], labels[unit == units])
            for unit in sorted({*units.tolist()})
        },
        "crps_percent": _mean_score(100 * score / width, labels) if np.isfinite(width).all() else None,
        "coverage": {
            f"{band:g}": interval_coverage(places, band)
            for band in BANDS
            if shares[0] <= (1 - band) / 2 + 1e-9 and shares[-1] >= (1 + band) / 2 - 1e-9
        },
        "pit": np.histogram(places, bins=_BINS, range=(0.0, 1.0))[0].tolist(),
        "values": [
            {
                "event_id": str(targets.id[row]),
                "value": float(targets.value[row]),
                "crps": crps[place],
                "pit": pit[place],
            }
            for place, row in enumerate(rows)
        ],
    }


def _mean_score(score: FloatArray, labels: StrArray) -> Document:
    return {"mean": float(score.mean()), "interval": loss_interval(score, labels, most=np.inf)}
