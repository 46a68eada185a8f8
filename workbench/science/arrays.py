"""Shared arithmetic: the clipped logit, its inverse, and the checks every public function starts with."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, ndtri

from workbench.science.errors import DomainError

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]

#: Probabilities are clipped to [EPS, 1 - EPS] before every logit (BLF, code of the authors: aggregation, calibration).
EPS = 1e-4
#: Share of cases in which every interval that is shown is to hold the true value, and the normal quantile of it.
LEVEL = 0.95
NORMAL = float(ndtri(0.5 + LEVEL / 2))


def logit(p: ArrayLike) -> FloatArray:
    """Log odds of probabilities clipped to [EPS, 1 - EPS], in [-9.21, 9.21]; ``nan`` stays ``nan``.

    Source: BLF, App. C.9; the authors use 1e-3 in one place, 1e-4 in two.

    Examples
    --------
    >>> logit([0.5, 0.9]).round(4).tolist()
    [0.0, 2.1972]
    """
    clipped = np.clip(np.asarray(p, dtype=np.float64), EPS, 1.0 - EPS)
    return np.asarray(np.log(clipped / (1.0 - clipped)))


def sigmoid(y: ArrayLike) -> FloatArray:
    """Probability with the log odds ``y``, same shape; stable for any size of ``y``.

    >>> sigmoid([0.0, -1000.0]).tolist()
    [0.5, 0.0]
    """
    return np.asarray(expit(np.asarray(y, dtype=np.float64)))


def wilson(share: ArrayLike, size: ArrayLike, z: float = NORMAL) -> tuple[FloatArray, FloatArray]:
    """Ends of Wilson's score interval of shares of so many events, ``z`` the quantile of the level.

    Not the normal interval, which has no width at a share of 0 or 1.

    >>> [round(float(end), 4) for end in wilson(0.5, 10)]
    [0.2366, 0.7634]
    """
    p, spread = np.asarray(share, dtype=np.float64), z * z / np.asarray(size, dtype=np.float64)
    half = np.sqrt(spread * p * (1.0 - p) + spread**2 / 4.0)
    middle = p + spread / 2.0
    return np.maximum((middle - half) / (1.0 + spread), 0.0), np.minimum(
        (middle + half) / (1.0 + spread), 1.0
    )


def as_probabilities(p: ArrayLike, *, name: str = "forecast", missing: bool = False) -> FloatArray:
    """``p`` as floats, or one line on the first value that is no probability.

    >>> as_probabilities([0, 1]).tolist()
    [0.0, 1.0]
    >>> as_probabilities([0.2, 1.2])
    Traceback (most recent call last):
    workbench.science.errors.DomainError: forecast 1.2 at position 1 is not a probability in [0, 1]
    """
    array = np.asarray(p, dtype=np.float64)
    if array.size == 0:
        raise DomainError(f"{name}: empty input")
    # Negated, because every comparison with nan is false: so nan is bad as well.
    bad = ~((array >= 0.0) & (array <= 1.0))
    if missing:
        bad &= ~np.isnan(array)
    if bad.any():
        where = np.argwhere(np.atleast_1d(bad))[0]
        value = np.atleast_1d(array)[tuple(where)]
        place = ", ".join(str(int(i)) for i in where)
        raise DomainError(f"{name} {value:g} at position {place} is not a probability in [0, 1]")
    return array


def as_outcomes(outcome: ArrayLike, *, size: int | None = None, name: str = "outcome") -> FloatArray:
    """``outcome`` as floats that are 0 or 1, of the expected length.

    >>> as_outcomes([True, False]).tolist()
    [1.0, 0.0]
    """
    array = np.asarray(outcome, dtype=np.float64)
    if array.size == 0:
        raise DomainError(f"{name}: empty input")
    if size is not None and array.shape != (size,):
        raise DomainError(f"{name} has shape {array.shape}, the forecasts have ({size},)")
    bad = (array != 0.0) & (array != 1.0)
    if bad.any():
        where = int(np.flatnonzero(bad)[0])
        raise DomainError(f"{name} {array.ravel()[where]:g} at position {where} is neither 0 nor 1")
    return array


def pair_matrix(
    forecasts: Mapping[str, ArrayLike], measure: Callable[[FloatArray, FloatArray, BoolArray], float]
) -> tuple[list[str], FloatArray]:
    """Names, and a measure of two forecasters, whichever comes first, for every pair on the rows both answered.

    The measure is given both forecasts of those rows and the rows. ``nan`` where two share none.

    >>> pair_matrix({"a": [0.2, 0.4], "b": [0.2, float("nan")]}, lambda a, b, rows: a.sum() + b.sum())[1].round(1).tolist()
    [[1.2, 0.4], [0.4, 0.4]]
    """
    names = list(forecasts)
    columns = [as_probabilities(forecasts[name], missing=True) for name in names]
    matrix = np.full((len(names), len(names)), np.nan)
    for i, a in enumerate(columns):
        for j, b in enumerate(columns[: i + 1]):
            both = np.isfinite(a) & np.isfinite(b)
            if both.any():
                matrix[i, j] = matrix[j, i] = measure(a[both], b[both], both)
    return names, matrix


def as_trials(trials: ArrayLike) -> FloatArray:
    """``trials`` as a matrix of probabilities (events, trials), ``nan`` if a trial does not exist, or `DomainError`.

    >>> as_trials([[0.2, float("nan")]]).shape
    (1, 2)
    """
    matrix = np.asarray(trials, dtype=np.float64)
    if matrix.ndim != 2:
        raise DomainError(f"trials must be a matrix (events, trials), not {matrix.ndim}-dimensional")
    return as_probabilities(matrix, name="trial", missing=True)


def codes_of(labels: ArrayLike) -> tuple[IntArray, list[str]]:
    """Integer codes of labels and the sorted labels they stand for: ``names[codes[i]] == str(labels[i])``.

    >>> codes, names = codes_of(["fred", "acled", "fred"])
    >>> codes.tolist(), names
    ([1, 0, 1], ['acled', 'fred'])
    """
    names, codes = np.unique(np.asarray(labels).astype(str), return_inverse=True)
    return codes.astype(np.int64), [str(name) for name in names]


def ways(clusters: ArrayLike) -> list[IntArray]:
    """Codes of the clusters in each way of sharing luck; of two ways their intersections follow as a third.

    >>> [codes.tolist() for codes in ways([["a", "0"], ["b", "0"], ["b", "0"]])]
    [[0, 1, 1], [0, 0, 0], [0, 1, 1]]
    """
    labels = np.asarray(clusters)
    if labels.ndim < 2:
        return [codes_of(labels)[0]]
    columns = [codes_of(column)[0] for column in labels.T]
    if len(columns) > 1:
        columns.append(codes_of(columns[0] * (int(columns[1].max()) + 1) + columns[1])[0])
    return columns


def checked(forecast: ArrayLike, outcome: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Forecasts and outcomes as float arrays of one shape (n,), or `DomainError`; what every score starts with."""
    p = as_probabilities(forecast)
    if p.ndim != 1:
        raise DomainError(f"forecasts must be one-dimensional, not of shape {p.shape}")
    return p, as_outcomes(outcome, size=len(p))
