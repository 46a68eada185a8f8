"""An exam of a model as a document: its score, what it gains on the base rate and on the key-free forecaster, and one sentence."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from workbench.formatting import counted, signed_figure
from workbench.science.arrays import FloatArray
from workbench.science.comparing.clusters import event_clusters
from workbench.science.comparing.mean_intervals import loss_interval
from workbench.science.documents.record_documents import BASE_RATE, PastTable, record_document
from workbench.science.documents.score_documents import Document
from workbench.science.scoring.scores import brier_index, index_of
from workbench.science.table_cells import StrArray

#: A model that says of more of the sample than this that it remembers how it came out gets no verdict.
MOST_REMEMBERED = 0.5
_FORECASTER = "key-free forecaster"


def exam_document(table: PastTable, forecaster: FloatArray, groups: StrArray | None = None) -> Document:
    """Score a model, and its gains in Brier Index points on the same questions; every interval is 95% over clusters.

    ``forecaster`` is ``nan`` where the key-free forecaster cannot treat a question; ``groups`` is what ``by_group`` is told by, the
    series when not given. A gain above 0 favours the model; its ends are null below six clusters.

    >>> days = np.array([f"20{year:02}-01-01" for year in range(8)])
    >>> document = exam_document(PastTable(
    ...     forecast=np.array([0.9, 0.1] * 4), outcome=np.array([1.0, 0.0] * 4), rivals={BASE_RATE: np.full(8, 0.5)},
    ...     series=np.array(["VIX"] * 8), first_day=days, last_day=days), np.array([0.9, 0.1] * 4))
    >>> exam_sentence("x", document)
    'on these 8 questions x is 40.0 [40.0, 40.0] points above the base rate and not above the key-free forecaster'
    """
    record = record_document(table)
    ends = loss_interval((table.forecast - table.outcome) ** 2, event_clusters(table.events()))
    treated = np.flatnonzero(np.isfinite(forecaster))
    beside = None
    if len(treated):
        both = replace(table, rivals={**table.rivals, _FORECASTER: forecaster})
        beside = record_document(both.take(treated))["against"][_FORECASTER]
    names = table.series if groups is None else groups
    return {
        "n": record["n"],
        "clusters": record["clusters"],
        "came_true": record["came_true"],
        "brier_index": record["brier_index"],
        "brier_index_low": None if ends is None else float(index_of(ends[1])),
        "brier_index_high": None if ends is None else float(index_of(ends[0])),
        "ece": record["ece"],
        "ece_calibrated": record["ece_calibrated"],
        "reliability": record["reliability"],
        "base_rate": record["against"][BASE_RATE]["brier_index"],
        "forecaster": None if beside is None else beside["brier_index"],
        "gain_over_base": {**_gain(record["against"][BASE_RATE]), "n": record["n"]},
        "gain_over_forecaster": None if beside is None else {**_gain(beside), "n": len(treated)},
        "by_group": [
            _group_row(name, table.take(names == name), forecaster[names == name])
            for name in np.unique(names).tolist()
        ],
    }


def exam_sentence(model: str, document: Mapping[str, Any]) -> str:
    """Sum up an exam in one sentence; ``recall`` of the document, where it was probed, may withhold the verdict."""
    where = f"on these {counted(document['n'], 'question')}"
    if missing := document.get("missing"):
        where += f" ({missing} more it left unanswered)"
    recall = document.get("recall")
    if recall is not None and recall["share"] is not None and recall["share"] > MOST_REMEMBERED:
        return (
            f"no verdict: {model} says of {recall['remembered']} of {counted(recall['n'], 'question')} that it remembers how they came"
            f" out, so its score {where} may be memory"
        )
    base, forecaster = document["gain_over_base"], document["gain_over_forecaster"]
    if base["low"] is None:
        return (
            f"{where} nothing can be told of {model}: {document['clusters']} clusters are too few"
            f" ({signed_figure(base['value'])} points against the base rate)"
        )
    verdict = f"{where} {model} is {_against(base, 'the base rate')}"
    if forecaster is None or forecaster["low"] is None:
        return f"{verdict}; too few of them can be compared with the key-free forecaster"
    if forecaster["low"] > 0 or forecaster["high"] < 0:
        return f"{verdict} and {_against(forecaster, 'the key-free forecaster')}"
    return f"{verdict} and not above the key-free forecaster"


def _against(gain: Mapping[str, Any], rival: str) -> str:
    if gain["low"] > 0:
        return f"{gain['value']:.1f} [{gain['low']:.1f}, {gain['high']:.1f}] points above {rival}"
    if gain["high"] < 0:
        return f"{-gain['value']:.1f} [{-gain['high']:.1f}, {-gain['low']:.1f}] points below {rival}"
    value, low, high = (signed_figure(gain[name]) for name in ("value", "low", "high"))
    return f"not shown to differ from {rival} ({value} [{low}, {high}] points)"


def _gain(against: Mapping[str, Any]) -> dict[str, Any]:
    low, high = against["interval"] or (None, None)
    return {"value": against["difference"], "low": low, "high": high, "verdict": against["verdict"]}


def _group_row(name: str, table: PastTable, forecaster: FloatArray) -> dict[str, Any]:
    model, base = (brier_index(p, table.outcome) for p in (table.forecast, table.rivals[BASE_RATE]))
    treated = np.isfinite(forecaster)
    rival = brier_index(forecaster[treated], table.outcome[treated]) if treated.any() else None
    return {
        "group": name,
        "n": len(table.outcome),
        "brier_index": model,
        "base_rate": base,
        "forecaster": rival,
    }
