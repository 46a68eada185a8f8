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

#: Ridge on the slope of Platt scaling, as scikit-learn's C = 1e6: it only keeps separable data from running away.
_SLOPE_RIDGE = 5e-7
#: Name of the one factor of hierarchical Platt scaling.
GROUP = "group"

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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Design:
    """Checked input of a fit: log odds, a constant and a column per group, with the penalty on each."""

    p: FloatArray
    y: FloatArray
    features: FloatArray
    penalty: FloatArray
    #: What each penalty pulls its coefficient to.
    centre: FloatArray
    #: Factor, group and number of events of the columns after the second.
    groups: list[tuple[str, str, int]]

    @classmethod
    def of(
        cls,
        forecast: ArrayLike,
        outcome: ArrayLike,
        factors: Mapping[str, ArrayLike],
        *,
        penalty: float,
        slope_penalty: float = SLOPE_PENALTY,
        slope_centre: float = 1.0,
    ) -> "_Design":
        p = as_probabilities(forecast)
        if p.ndim != 1:
            raise DomainError(f"forecasts must be one-dimensional, not of shape {p.shape}")
        y = as_outcomes(outcome, size=len(p))
        if not penalty > 0.0:
            raise DomainError(f"the penalty on the group offsets must be above 0, not {penalty:g}")
        columns, groups = [logit(p), np.ones(len(p))], []
        for name, labels in factors.items():
            codes, names = codes_of(labels)
            if len(codes) != len(p):
                raise DomainError(f"{name} has {len(codes)} labels for {len(p)} forecasts")
            for code, group in enumerate(names):
                columns.append((codes == code).astype(np.float64))
                groups.append((name, group, int((codes == code).sum())))
        # The overall offset is free: the base rate is not pulled to one half.
        penalties = np.array([slope_penalty, 0.0, *[penalty] * len(groups)])
        centre = slope_centre * np.eye(len(columns))[0]
        return cls(
            p=p, y=y, features=np.column_stack(columns), penalty=penalties, centre=centre, groups=groups
        )

    def require(self, minimum: int, questions: ArrayLike | None = None) -> None:
        count = len(self.p) if questions is None else len(np.unique(np.asarray(questions)))
        if count < minimum:
            noun = "forecasts" if questions is None else "questions"
            raise TooFewError(
                f"too few to use: {count} resolved {noun}, calibration wants at least {minimum}"
            )

    def fit(self, **saved: Any) -> Calibration:
        coefficients = fit_logistic(self.features, self.y, penalty=self.penalty, centre=self.centre).tolist()
        deltas: dict[str, dict[str, float]] = {}
        counts: dict[str, dict[str, int]] = {}
        for (name, group, size), value in zip(self.groups, coefficients[2:], strict=True):
            deltas.setdefault(name, {})[group] = value
            counts.setdefault(name, {})[group] = size
        return Calibration(
            slope=coefficients[0], offset=coefficients[1], deltas=deltas, counts=counts,
            n=len(self.p), n_yes=int(self.y.sum()), **saved,
        )  # fmt: skip

    def left_out(self, folds: ArrayLike) -> FloatArray:
        return leave_out_logistic(self.features, self.y, folds, penalty=self.penalty, centre=self.centre)


def _platt(forecast: ArrayLike, outcome: ArrayLike, groups: ArrayLike | None, penalty: float) -> _Design:
    factors = {} if groups is None else {GROUP: groups}
    design = _Design.of(
        forecast, outcome, factors, penalty=penalty, slope_penalty=_SLOPE_RIDGE, slope_centre=0.0
    )
    design.require(10)
    return design


def fit_platt(
    forecast: ArrayLike,
    outcome: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    penalty: float = 1.0,
) -> Calibration:
    """Platt scaling fitted on all events: global, or with an offset per group (the factor `GROUP`).

    Source: BLF, App. C.11, eq. 12 and 13; lambda = 1 is the paper's. A ridge of 1e-6 acts on the slope only.

    A label per event in ``groups`` makes it hierarchical: lambda in ``NLL + lambda * sum(delta ** 2)``, the overall offset
    not penalised. Slope > 1 spreads forecasts out, < 1 pulls them in; slope 1 and offset 0 change nothing.
    """
    return _platt(forecast, outcome, groups, penalty).fit(penalty=penalty)


def leave_out_platt(
    forecast: ArrayLike,
    outcome: ArrayLike,
    groups: ArrayLike | None = None,
    folds: ArrayLike | None = None,
    *,
    penalty: float = 1.0,
) -> FloatArray:
    """Calibrate each event by a Platt fit that never saw its fold, shape (n,).

    Source: BLF, App. C.11. Arguments are those of `fit_platt`; events with one label in ``folds`` are left out together (the dates of
    one question), each alone when not given, as in BLF.

    Examples
    --------
    >>> p = [0.3] * 10 + [0.7] * 10
    >>> o = [1] * 3 + [0] * 7 + [1] * 7 + [0] * 3
    >>> leave_out_platt(p, o).round(3)[[0, 3]].tolist()  # 2 and 3 Yes among the nine others
    [0.222, 0.333]
    """
    design = _platt(forecast, outcome, groups, penalty)
    return design.left_out(np.arange(len(design.p)) if folds is None else folds)


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
    design = _Design.of(forecast, outcome, factors or {}, penalty=penalty)
    design.require(minimum, questions)
    model = design.fit(penalty=penalty, learned_from=learned_from)
    if not threshold:
        return model
    cut = fit_threshold(model.apply(design.p, factors), design.y).threshold
    return model.model_copy(update={"threshold": cut})


def leave_out_calibration(
    forecast: ArrayLike,
    outcome: ArrayLike,
    questions: ArrayLike,
    factors: Mapping[str, ArrayLike] | None = None,
    *,
    penalty: float = 1.0,
) -> FloatArray:
    """Forecasts each calibrated by `fit_calibration` on the other questions: what a calibration is worth on new ones."""
    return _Design.of(forecast, outcome, factors or {}, penalty=penalty).left_out(questions)


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
