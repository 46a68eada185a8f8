"""The documents that `calibrate fit` and `calibrate apply` print."""

from collections.abc import Sequence

import numpy as np

from workbench.errors import UsageError
from workbench.science.arrays import FloatArray
from workbench.science.calibrating.calibration import (
    Calibration,
    fit_calibration,
    fit_threshold,
    leave_out_calibration,
)
from workbench.science.calibrating.priors import (
    TemporalPrior,
    empirical_prior,
    static_prior,
)
from workbench.science.documents.score_documents import Document, method_names, pooled_forecasts
from workbench.science.scoring.baselines import event_priors, group_labels
from workbench.science.scoring.scores import brier, log_loss
from workbench.science.tables import Events, Forecasts

#: Questions below which no calibration is learned: of 20 a calibrated forecaster's fit loses 0.02 in Brier score on new ones.
ENOUGH = 50


def priors_document(
    events: Events, columns: Sequence[str], *, pseudo: float = 1.0
) -> tuple[TemporalPrior, Document]:
    """Return the prior that each event could have had (`event_priors`), and the document of `calibrate priors`: base rates by group.

    ``with_hindsight`` is the share of Yes over the whole group: for live questions only, as paper B's Table 7, which stands beside it
    where the group is one of its own.
    """
    prior = event_priors(events, columns, pseudo=pseudo)
    labels, resolved = group_labels(events, columns), np.isfinite(events.outcome)
    if not resolved.any():
        raise UsageError(f"{events.path}: no event has an outcome yet, so there is no base rate")
    rates = empirical_prior(labels[resolved], events.outcome[resolved], strength=0.0)
    groups = []
    for name, rate in rates.items():
        source, _, subtype = name.partition("/")
        inside = labels == name
        groups.append(
            {
                "group": name,
                "questions": len(np.unique(events.question[inside & resolved])),
                "events": int((inside & resolved).sum()),
                "with_hindsight": rate,
                "paper_b": static_prior(source, subtype or "all"),
                "without_pool": int((prior.pool[inside] == 0).sum()),
            }
        )
    return prior, {"by": list(columns), "pseudo": pseudo, "events": len(events), "groups": groups}


def calibration_document(
    events: Events,
    forecasts: Forecasts,
    method: str,
    *,
    variant: str = "forecast",
    how: str = "logit-mean",
    factors: Sequence[str] = (),
    penalty: float = 1.0,
    minimum: int = ENOUGH,
    threshold: bool = False,
) -> tuple[Calibration, Document]:
    """Learn a calibration from every resolved forecast of a method; also return the document of `calibrate fit`.

    `events`, `forecasts`: Events may be unresolved; only resolved ones teach.

    Raises `UsageError`: Nothing has resolved, too little to learn from, or the calibration does not lower the Brier score of questions
    left out of it.
    """
    p = _some(method, pooled_forecasts(forecasts, method, variant=variant, how=how))
    rows = np.flatnonzero(np.isfinite(p) & np.isfinite(events.outcome))
    if not len(rows):
        raise UsageError(f"{method}: no forecast has an outcome yet, so nothing can be fitted")
    labels = {factor: events.factor(factor)[rows] for factor in factors}
    p, o, questions = p[rows], events.outcome[rows], events.question[rows]
    model = fit_calibration(
        p,
        o,
        labels,
        questions=questions,
        penalty=penalty,
        minimum=minimum,
        threshold=threshold,
        learned_from=f"{method}, {len(rows)} resolved forecasts",
    )
    calibrated = model.apply(p, labels)
    left_out = leave_out_calibration(p, o, questions, labels, penalty=penalty)
    before, after = brier(p, o), brier(left_out, o)
    if after >= before:
        raise UsageError(
            f"{method}: this calibration does not help, so none is saved: on questions left out of the fit the Brier score goes from"
            f" {before:.4f} to {after:.4f}. Use the forecasts as they are, or resolve more questions"
        )
    document: Document = {
        **model.to_json(),
        "questions": len(np.unique(questions)),
        "left_out": _before_and_after(p, left_out, o),
        "in_sample": _before_and_after(p, calibrated, o),
    }
    if threshold:
        # The model keeps only the cut; fitted again on the same values, it brings the accuracies with it.
        cut = fit_threshold(calibrated, o)
        document["threshold_fit"] = {
            "threshold": cut.threshold,
            "accuracy": cut.accuracy,
            "accuracy_at_half": cut.accuracy_at_half,
        }
    return model, document


def _before_and_after(before: FloatArray, after: FloatArray, o: FloatArray) -> Document:
    return {
        f"{name}_{when}": score(p, o)
        for name, score in (("brier", brier), ("log_loss", log_loss))
        for when, p in (("before", before), ("after", after))
    }


def calibrated_document(
    model: Calibration,
    events: Events,
    forecasts: Forecasts,
    *,
    methods: Sequence[str] = (),
    variant: str = "forecast",
    how: str = "logit-mean",
) -> Document:
    """Apply a saved calibration to forecasts, resolved or not: the document of `calibrate apply`.

    ``unseen`` lists the groups the calibration has no offset for, per factor.
    """
    factors = {name: events.factor(name) for name in model.deltas}
    rows: list[Document] = []
    for name in method_names(forecasts, methods):
        p = _some(name, pooled_forecasts(forecasts, name, variant=variant, how=how))
        present = np.isfinite(p)
        calibrated = model.apply(p[present], {factor: labels[present] for factor, labels in factors.items()})
        calls = model.decide(calibrated) if model.threshold is not None else None
        for index, event in enumerate(events.event_id[present]):
            row = {
                "method": name,
                "event_id": str(event),
                "variant": "calibrated",
                "p": float(calibrated[index]),
                "p_raw": float(p[present][index]),
            }
            rows.append(row if calls is None else {**row, "yes": int(calls[index])})
    return {"forecasts": rows, "unseen": model.unseen(factors), "threshold": model.threshold}


def _some(method: str, p: FloatArray) -> FloatArray:
    if not np.isfinite(p).any():
        raise UsageError(f"{method}: no event has a forecast")
    return p
