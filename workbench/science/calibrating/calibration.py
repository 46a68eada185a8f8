"""Calibration models that are kept: learned from resolved forecasts, saved, guarded, applied to new ones.

A model may hold offsets along several factors at once (source, topic, horizon): ``sigmoid(slope * logit(p) + offset +
sum of the deltas of the forecast's groups)``. The file is JSON; numbers are written so that they read back exactly.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from pydantic import BaseModel, ConfigDict, ValidationError

from proxies.atomic import replace_file
from proxies.input_files import InputRefused, parse_json, read_text
from workbench.errors import Option
from workbench.science.arrays import FloatArray, as_outcomes, as_probabilities, codes_of, logit, sigmoid
from workbench.science.calibrating.logistic import fit_logistic, leave_out_logistic
from workbench.science.errors import CalibrationError, DomainError, TooFewError

_FORMAT = "analyst-workbench/calibration/1"

#: Weight of ``(slope - 1) ** 2`` beside the negative log likelihood: a normal prior on the slope with a deviation of a half.
SLOPE_PENALTY = 2.0

#: Upper ends, in days, of the horizon classes that calibration by horizon uses; the last class is open.
HORIZON_EDGES: tuple[int, ...] = (7, 30, 90, 180, 365)


class Calibration(BaseModel):
    """A saved map from forecasts to calibrated probabilities, and what it was learned from."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    slope: float
    offset: float
    deltas: Mapping[str, Mapping[str, float]] = {}
    """Factor name -> group -> offset on the log odds."""
    penalty: float = 1.0
    threshold: float | None = None
    """Call it Yes above this probability; None where no threshold was fitted."""
    n: int = 0
    n_yes: int = 0
    counts: Mapping[str, Mapping[str, int]] = {}
    """Factor name -> group -> events it was learned from."""
    learned_from: str = ""

    def apply(self, forecast: ArrayLike, factors: Mapping[str, ArrayLike] | None = None) -> FloatArray:
        """Calibrate forecasts.

        Parameters
        ----------
        factors : mapping of str to array_like of shape (n,), optional
            Label of every forecast for each factor of the model. A group the model never saw has offset 0.

        Raises
        ------
        CalibrationError
            A factor of the model is missing.
        DomainError
            A value that is no probability, or labels of another length.

        Examples
        --------
        >>> Calibration(slope=1.0, offset=0.0).apply([0.25]).round(12).tolist()
        [0.25]
        """
        p = as_probabilities(forecast)
        eta = self.slope * logit(p) + self.offset
        labels_of = factors or {}
        for name, offsets in self.deltas.items():
            if name not in labels_of:
                raise CalibrationError(
                    f"this calibration has offsets by {name}: the forecasts need a {name} each"
                )
            labels = np.asarray(labels_of[name]).astype(str)
            if labels.shape != p.shape:
                raise DomainError(f"{name} has {labels.size} labels for {p.size} forecasts")
            values, inverse = np.unique(labels, return_inverse=True)
            eta = eta + np.array([offsets.get(str(v), 0.0) for v in values])[inverse]
        return sigmoid(eta)

    def decide(self, p: ArrayLike) -> FloatArray:
        """Return 1.0 where a calibrated probability is above the fitted threshold, else 0.0.

        Raises `CalibrationError`: No threshold was fitted.

        >>> Calibration(slope=1.0, offset=0.0, threshold=0.7).decide([0.7, 0.71]).tolist()
        [0.0, 1.0]
        """
        if self.threshold is None:
            raise CalibrationError(
                "this calibration has no threshold: fit it with ",
                Option("threshold", True),
                " on a validation set",
            )
        return (as_probabilities(p) > self.threshold).astype(np.float64)

    def unseen(self, factors: Mapping[str, ArrayLike]) -> dict[str, list[str]]:
        """Return the groups of the forecasts that the model never saw, per factor.

        >>> Calibration(slope=1.0, offset=0.0, deltas={"source": {"fred": 0.1}}).unseen({"source": ["fred", "x"]})
        {'source': ['x']}
        """
        unseen = {}
        for name, offsets in self.deltas.items():
            new = sorted(set(np.asarray(factors.get(name, [])).astype(str).tolist()) - set(offsets))
            if new:
                unseen[name] = new
        return unseen

    def to_json(self) -> dict[str, Any]:
        """Return the model as JSON values."""
        return {"format": _FORMAT, **self.model_dump()}

    @classmethod
    def from_json(cls, document: Any) -> "Calibration":
        """Read the model from a JSON document; `load_calibration` calls this after parsing the file.

        Raises `CalibrationError`: Another format, a missing field, or a value that is no finite number.
        """
        if not isinstance(document, dict) or document.get("format") != _FORMAT:
            raise CalibrationError(f"not a calibration: the field 'format' must be {_FORMAT!r}")
        try:
            return cls.model_validate({name: value for name, value in document.items() if name != "format"})
        except ValidationError as error:
            fault = error.errors(include_url=False)[0]
            name = ".".join(map(str, fault["loc"]))
            if fault["type"] == "extra_forbidden":
                raise CalibrationError(f"unknown field {name!r} in the calibration") from error
            raise CalibrationError(f"a calibration with a broken field: {name}: {fault['msg']}") from error


def horizon_class(days: ArrayLike) -> list[str]:
    """Class of each horizon in days: ``<=7``, ``<=30``, ``<=90``, ``<=180``, ``<=365`` or ``>365``.

    A negative or missing number of days is a `DomainError`.
    """
    values = np.asarray(days, dtype=np.float64)
    if not (values >= 0).all():
        raise DomainError("a horizon is negative or missing")
    names = [f"<={edge}" for edge in HORIZON_EDGES] + [f">{HORIZON_EDGES[-1]}"]
    return [names[i] for i in np.searchsorted(HORIZON_EDGES, values, side="left")]


def _design(
    forecast: ArrayLike, factors: Mapping[str, ArrayLike] | None, penalty: float
) -> tuple[FloatArray, FloatArray, FloatArray, list[tuple[str, str, int]]]:
    p = as_probabilities(forecast)
    if penalty <= 0.0:
        raise DomainError(f"the penalty on the group offsets must be above 0, not {penalty:g}")
    # The overall offset is free: the base rate is not pulled to one half.
    columns: list[FloatArray] = [logit(p), np.ones(len(p))]
    penalties, layout = [SLOPE_PENALTY, 0.0], []
    for name, labels in (factors or {}).items():
        codes, names = codes_of(labels)
        if len(codes) != len(p):
            raise DomainError(f"{name} has {len(codes)} labels for {len(p)} forecasts")
        for code, group in enumerate(names):
            columns.append((codes == code).astype(np.float64))
            penalties.append(penalty)
            layout.append((name, group, int((codes == code).sum())))
    return np.column_stack(columns), np.array(penalties), np.eye(len(columns))[0], layout


def fit_calibration(
    forecast: ArrayLike,
    outcome: ArrayLike,
    factors: Mapping[str, ArrayLike] | None = None,
    *,
    questions: ArrayLike | None = None,
    penalty: float = 1.0,
    minimum: int = 10,
    threshold: bool = False,
    learned_from: str = "",
) -> Calibration:
    """A calibration learned from resolved forecasts, with shrunk offsets along any number of factors.

    With one factor this is hierarchical Platt scaling (BLF, App. C.11) with a prior on its slope, which is pulled to 1 by
    ``SLOPE_PENALTY * (slope - 1) ** 2``: as much as some 15 forecasts teach, so that few questions change little.

    ``penalty`` is lambda on the sum of squared offsets. Fewer than ``minimum`` resolved questions (forecasts, where none are given), or
    fewer than two of either outcome, raise `TooFewError`. With ``threshold`` give a validation set, never the set that will be scored.
    """
    p = as_probabilities(forecast)
    y = as_outcomes(outcome, size=len(p))
    count = len(p) if questions is None else len(np.unique(np.asarray(questions)))
    if count < minimum:
        noun = "forecasts" if questions is None else "questions"
        raise TooFewError(f"too few to use: {count} resolved {noun}, calibration wants at least {minimum}")
    features, penalties, centre, layout = _design(p, factors, penalty)
    fit = fit_logistic(features, y, penalty=penalties, centre=centre)
    deltas: dict[str, dict[str, float]] = {}
    counts: dict[str, dict[str, int]] = {}
    for (name, group, size), value in zip(layout, fit.coefficients[2:], strict=True):
        deltas.setdefault(name, {})[group] = float(value)
        counts.setdefault(name, {})[group] = size
    cut = fit_threshold(fit.predict(features), y).threshold if threshold else None
    return Calibration(
        slope=float(fit.coefficients[0]),
        offset=float(fit.coefficients[1]),
        deltas=deltas,
        penalty=penalty,
        threshold=cut,
        n=len(p),
        n_yes=int(y.sum()),
        counts=counts,
        learned_from=learned_from,
    )


def leave_out_calibration(
    forecast: ArrayLike,
    outcome: ArrayLike,
    questions: ArrayLike,
    factors: Mapping[str, ArrayLike] | None = None,
    *,
    penalty: float = 1.0,
) -> FloatArray:
    """Forecasts each calibrated by `fit_calibration` on the other questions: what a calibration is worth on new ones."""
    features, penalties, centre, _ = _design(forecast, factors, penalty)
    return leave_out_logistic(features, outcome, questions, penalty=penalties, centre=centre)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdFit:
    """The cut with the highest accuracy on a validation set, beside plain 0.5."""

    threshold: float
    accuracy: float
    accuracy_at_half: float


def fit_threshold(p: ArrayLike, outcome: ArrayLike) -> ThresholdFit:
    """The threshold t for which "Yes when p > t" is most often right on a validation set.

    Source: Analytica, App. D.5; the test set must be another one.

    The threshold is the middle of the gap between neighbouring forecasts; of several best ones, the nearest to 0.5.
    """
    values = as_probabilities(p)
    y = as_outcomes(outcome, size=len(values))
    levels = np.unique(values)
    # 0 and 1 stand for "always Yes" and "always No"; 0.5 has to be there for the comparison.
    cuts = np.unique(np.concatenate([[0.5, 0.0, 1.0], 0.5 * (levels[1:] + levels[:-1])]))
    order = np.argsort(values, kind="stable")
    ranked, yes = values[order], y[order]
    below = np.searchsorted(ranked, cuts, side="right")  # forecasts <= cut are called No
    no_right = np.concatenate([[0.0], np.cumsum(1.0 - yes)])[below]
    yes_right = yes.sum() - np.concatenate([[0.0], np.cumsum(yes)])[below]
    accuracy = (no_right + yes_right) / len(y)
    # Many cuts tie on a small validation set; the one nearest to 0.5 departs least from the plain rule.
    best = np.flatnonzero(accuracy >= accuracy.max() - 1e-12)
    chosen = best[np.argmin(np.abs(cuts[best] - 0.5))]
    half = int(np.flatnonzero(cuts == 0.5)[0])
    return ThresholdFit(
        threshold=float(cuts[chosen]),
        accuracy=float(accuracy[chosen]),
        accuracy_at_half=float(accuracy[half]),
    )


def save_calibration(model: Calibration, path: Path) -> None:
    """Write a model as JSON, whole or not at all.

    Raises `CalibrationError`: The folder does not exist or cannot be written to.

    >>> save_calibration(Calibration(slope=1.0, offset=0.0), Path("/no/such/folder/model.json"))
    Traceback (most recent call last):
    workbench.science.errors.CalibrationError: cannot write /no/such/folder/model.json: No such file or directory
    """
    text = json.dumps(model.to_json(), indent=2, sort_keys=True, allow_nan=False) + "\n"
    try:
        path.parent.stat()  # a folder that is missing is a mistyped path: it is not made
        replace_file(path, text.encode())
    except OSError as error:
        raise CalibrationError(f"cannot write {path}: {error.strerror}") from error


def load_calibration(path: Path) -> Calibration:
    """Read a model written by `save_calibration`; numbers come back exactly.

    Raises `CalibrationError`: No such file, no JSON, or no calibration.

    >>> import tempfile
    >>> model = Calibration(slope=1.1, offset=-0.3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_calibration(model, Path(folder) / "model.json")
    ...     load_calibration(Path(folder) / "model.json") == model
    True
    """
    try:
        document = parse_json(read_text(path), str(path))
    except InputRefused as error:
        raise CalibrationError(str(error)) from None
    return Calibration.from_json(document)
