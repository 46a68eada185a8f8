"""One interface for time-series models: P(Y(r) > v), the chance that a series lies above a level on a future day."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from workbench.forecasts.driftless_walk import DriftlessWalk
from workbench.forecasts.ensemble import Ensemble
from workbench.forecasts.series.seasonal import Knn, PriorYear
from workbench.forecasts.series.series_history import Days, History
from workbench.forecasts.series.trend import Hybrid, Linear, SafeLinear
from workbench.forecasts.series_paths import Calendar, SeriesForecaster
from workbench.science.arrays import FloatArray
from workbench.science.errors import DomainError, NotMonotone, UnknownName


class ExceedanceModel(Protocol):
    """A model of P(Y(r) > v) given a history that ends before the cutoff."""

    @property
    def name(self) -> str:
        """The model's name in lists."""

    def chances(self, history: History, targets: Days, levels: FloatArray) -> FloatArray:
        """Return probabilities, shape (targets, levels), that never rise with the level."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfPaths:
    """The chances that a forecaster's paths give."""

    forecaster: SeriesForecaster

    @property
    def name(self) -> str:
        """The forecaster's name in lists."""
        return self.forecaster.name

    def chances(self, history: History, targets: Days, levels: FloatArray) -> FloatArray:
        """Return the weight of the paths above each level on each day, shape (targets, levels)."""
        paths = self.forecaster.paths(history, targets.max().item(), Calendar.of(history))
        columns = np.maximum(np.searchsorted(paths.days, targets, side="right") - 1, 0)
        above = paths.values[:, columns, None] > levels
        return np.asarray(np.clip(np.tensordot(paths.weights, above, axes=1), 0.0, 1.0), dtype=np.float64)


def exceedance(
    model: ExceedanceModel,
    history: History,
    *,
    cutoff: date | str,
    targets: ArrayLike,
    levels: ArrayLike,
) -> FloatArray:
    """Compute the chance that the series lies above each level on each day, from data before the cutoff only.

    Source: BLF, App. I, eq. 1.

    Parameters
    ----------
    model : ExceedanceModel
    history : History
        May reach past the cutoff: whatever does is cut off first.
    cutoff : date or ISO text
        The first day whose value may not be used.
    targets : array_like of dates, shape (h,)
        Days asked about, none before the cutoff.
    levels : array_like, shape (m,)
        Levels asked about, in any order.

    Returns
    -------
    ndarray, shape (h, m)
        In [0, 1]; never rises with the level.

    Raises
    ------
    DomainError
        A target before the cutoff, or no target or level.
    TooFewError
        No or too little data before the cutoff.
    NotMonotone
        The model is broken: its chance of passing a higher level is the larger one.

    Examples
    --------
    >>> from workbench.forecasts.series.trend import Linear
    >>> days = np.arange("2020-01-01", "2020-03-01", dtype="datetime64[D]")
    >>> history = History.of(days, np.arange(60.0) + np.tile([0.5, -0.5, -0.5, 0.5], 15))
    >>> exceedance(Linear(), history, cutoff="2020-03-01", targets=["2020-03-05"], levels=[64.0, 60.0]).round(2).tolist()
    [[0.5, 1.0]]
    """
    end = np.datetime64(cutoff, "D")
    days = np.atleast_1d(np.asarray(targets, dtype="datetime64[D]"))
    values = np.atleast_1d(np.asarray(levels, dtype=np.float64))
    if not len(days) or not len(values) or not np.isfinite(values).all():
        raise DomainError("at least one target day and one finite level are needed")
    if (days < end).any():
        raise DomainError(f"target {days[days < end][0]} lies before the cutoff {end}")
    order = np.argsort(values, kind="stable")
    # The cut happens here and not in the models, so that no model can look ahead.
    p = model.chances(history.before(end), days, values[order])
    if p.shape != (len(days), len(values)) or not ((p >= 0.0) & (p <= 1.0)).all():
        raise NotMonotone(f"model {model.name} gave something that is no table of probabilities")
    # The width of rounding: sums in another order may differ in the last bits.
    rising = np.diff(p, axis=1) > 1e-12
    if rising.any():
        row, column = (int(i) for i in np.argwhere(rising)[0])
        low, high = values[order][column], values[order][column + 1]
        raise NotMonotone(f"model {model.name} finds {high:g} easier to pass than {low:g} on {days[row]}")
    result = np.empty_like(p)
    result[:, order] = p
    return result


#: What each model does, and what makes it.
_MODELS: dict[str, tuple[str, Callable[[], ExceedanceModel]]] = {
    "knn": ("share of same-season values above the level (window 10 days, all years)", Knn),
    "linear": ("straight line through the last observations, normal residuals", Linear),
    "safe-linear": ("the line, pulled toward 0.5", SafeLinear),
    "prior-year": ("same-season share over the last 5 years (window 7 days)", PriorYear),
    "hybrid": ("half safe-linear, half prior-year", Hybrid),
    "walk": (
        "random walk without drift, as volatile as in the last year",
        lambda: OfPaths(forecaster=DriftlessWalk(logs=False)),
    ),
    "ensemble": (
        "paths of several models, weighted and calibrated at earlier cutoffs of the series",
        lambda: OfPaths(forecaster=Ensemble()),
    ),
}


def model_names() -> dict[str, str]:
    """Return the names of the built-in models with their descriptions.

    >>> list(model_names())[:3]
    ['knn', 'linear', 'safe-linear']
    """
    return {name: description for name, (description, _) in _MODELS.items()}


def make_model(name: str) -> ExceedanceModel:
    """Make a built-in model with its default settings.

    Raises `UnknownName`: No such model.

    >>> make_model("hybrid").name
    'hybrid'
    """
    if name not in _MODELS:
        raise UnknownName("time-series model", name, _MODELS)
    _, make = _MODELS[name]
    return make()


def exceed_document(
    history: History,
    *,
    cutoff: str,
    targets: Sequence[str],
    levels: Sequence[float],
    models: Sequence[str] = ("ensemble",),
) -> dict[str, Any]:
    """Return the chances that a series lies above each level on each day, from data before the cutoff: the document of ``exceed``.

    `history`: May reach past the cutoff: whatever does is not used.

    `cutoff`: ISO date, the first day that may not be used.

    >>> days = np.arange("2020-01-01", "2020-03-01", dtype="datetime64[D]")
    >>> history = History.of(days, np.arange(60.0))
    >>> exceed_document(history, cutoff="2020-02-01", targets=["2020-02-03"], levels=[0.0])["last"]
    {'day': '2020-01-31', 'value': 30.0, 'observations': 31}
    """
    chances: list[dict[str, Any]] = []
    for name in models:
        p = exceedance(make_model(name), history, cutoff=cutoff, targets=list(targets), levels=list(levels))
        chances += [
            {"model": name, "day": day, "above": level, "p": float(p[row, column])}
            for row, day in enumerate(targets)
            for column, level in enumerate(levels)
        ]
    visible = history.before(np.datetime64(cutoff, "D"))
    last = {"day": str(visible.days[-1]), "value": float(visible.values[-1]), "observations": len(visible)}
    return {"cutoff": cutoff, "last": last, "chances": chances}
