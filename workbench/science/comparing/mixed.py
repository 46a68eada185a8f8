"""Mixed model: methods fixed, questions random, fitted by restricted maximum likelihood (REML).

``score = mean of the method + question + noise`` with normal questions and noise. With one variance ratio the
likelihood profiles to one dimension, and each question's block inverts in closed form, so a fit is a line search over
sums; statsmodels' MixedLM gives the same numbers and the tests hold the two together.
"""

# Why not MixedLM itself: `compare` fits every method by question type. The 34 fits of the 18 published methods take it
# 21 s, this 0.17 s, and at its default tolerance its standard errors are still 5e-6 off (means agree to 1e-8).

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from workbench.science.arrays import FloatArray, codes_of
from workbench.science.errors import DomainError


@dataclass(frozen=True, slots=True, kw_only=True)
class MixedFit:
    """Means of the methods, their covariance, and the two variances."""

    names: tuple[str, ...]
    mean: FloatArray
    covariance: FloatArray
    question_variance: float
    noise_variance: float

    def contrast(self, a: str, b: str) -> tuple[float, float]:
        """Difference of two methods' means (a minus b) and its Wald standard error.

        >>> fit = mixed_model([1, 2, 3, 5.0], ["a", "b", "a", "b"], ["x", "x", "y", "y"])
        >>> [round(float(v), 6) for v in fit.contrast("b", "a")]
        [1.5, 0.5]
        """
        i, j = self.names.index(a), self.names.index(b)
        c = self.covariance
        return float(self.mean[i] - self.mean[j]), float(np.sqrt(c[i, i] + c[j, j] - 2 * c[i, j]))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sums:
    n: int
    gram: FloatArray  # X'X
    xy: FloatArray
    yy: float
    size: FloatArray  # events per question
    block_x: FloatArray  # column sums of X per question
    block_y: FloatArray

    def profile(self, ratio: float) -> tuple[float, FloatArray, FloatArray, float]:
        shrink = ratio / (1.0 + ratio * self.size)
        a = self.gram - (self.block_x * shrink[:, None]).T @ self.block_x
        b = self.xy - self.block_x.T @ (shrink * self.block_y)
        c = self.yy - float((shrink * self.block_y**2).sum())
        beta = np.linalg.solve(a, b)
        freedom = self.n - len(b)
        # A perfect fit leaves 0, or less by rounding, whose logarithm is not finite.
        noise = max((c - float(b @ beta)) / freedom, 1e-300)
        sign, logdet = np.linalg.slogdet(a)
        criterion = freedom * np.log(noise) + float(np.log1p(ratio * self.size).sum()) + float(sign * logdet)
        return float(criterion), np.asarray(beta, dtype=np.float64), a, noise


def mixed_model(score: ArrayLike, method: ArrayLike, question: ArrayLike) -> MixedFit:
    """Fit a random-intercept model by REML.

    Source: BLF, App. G.2 (mixed-effects robustness check).

    The rows of a question share a random intercept; the covariance is the Wald one at the REML variances.
    """
    y = np.asarray(score, dtype=np.float64)
    rows, names = codes_of(method)
    groups, labels = codes_of(question)
    if y.size == 0 or not len(y) == len(rows) == len(groups) or not np.isfinite(y).all():
        raise DomainError("score, method and question must have one non-zero length and finite scores")
    width, blocks = len(names), len(labels)
    if len(y) < width + 1:
        raise DomainError(f"{len(y)} scores are too few for {width} methods")
    middle = float(y.mean())  # centred, so that the sums of squares keep their digits
    y = y - middle
    sums = _Sums(
        n=len(y),
        gram=np.diag(np.bincount(rows, minlength=width).astype(np.float64)),
        xy=np.bincount(rows, weights=y, minlength=width).astype(np.float64, copy=False),
        yy=float(y @ y),
        size=np.bincount(groups, minlength=blocks).astype(np.float64),
        block_x=np.bincount(groups * width + rows, minlength=blocks * width)
        .reshape(blocks, width)
        .astype(np.float64),
        block_y=np.bincount(groups, weights=y, minlength=blocks).astype(np.float64, copy=False),
    )
    # 0.2 s and 13 MB, which every page of a run would have for a comparison that few ask for
    from scipy.optimize import minimize_scalar

    best = minimize_scalar(
        lambda log_ratio: sums.profile(float(np.exp(log_ratio)))[0],
        # From no question variance to speak of to almost no noise, in logarithms: many powers of ten.
        bounds=(-18.0, 12.0),
        method="bounded",
        options={"xatol": 1e-10},
    )
    ratio = float(np.exp(best.x))
    # Zero lies outside the search in logarithms and is a common answer: no variance between questions.
    if sums.profile(0.0)[0] <= float(best.fun):
        ratio = 0.0
    _, beta, information, noise = sums.profile(ratio)
    return MixedFit(
        names=tuple(names),
        mean=beta + middle,
        covariance=np.asarray(noise * np.linalg.inv(information), dtype=np.float64),
        question_variance=ratio * noise,
        noise_variance=noise,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexContrast:
    """Difference of two methods in Brier Index points with a 95 % interval from the mixed model."""

    difference: float
    error: float
    low: float
    high: float


def index_contrast(fit: MixedFit, a: str, b: str) -> IndexContrast:
    """Brier-scale contrast of a mixed model mapped to Brier Index points.

    Source: BLF, App. G.2: the contrast is mapped through ``100 (1 - sqrt(mean))``.

    The difference is a minus b, above 0 when a is better; interval and error by the slope of the index between the two
    means.
    """
    gap, error = fit.contrast(a, b)
    root_a = float(np.sqrt(max(fit.mean[fit.names.index(a)], 0.0)))
    root_b = float(np.sqrt(max(fit.mean[fit.names.index(b)], 0.0)))
    total = root_a + root_b
    if total == 0.0:
        return IndexContrast(difference=0.0, error=0.0, low=0.0, high=0.0)
    difference, scale = -100.0 * gap / total, 100.0 * error / total
    return IndexContrast(
        difference=difference,
        error=scale,
        low=difference - 1.959964 * scale,
        high=difference + 1.959964 * scale,
    )


def pooled_error(errors: Sequence[float]) -> float:
    """Standard error of the plain mean of independent parts (market and dataset).

    Source: BLF, App. G.2: ``sqrt(se_market ** 2 + se_dataset ** 2) / 2``.
    """
    values = np.asarray(errors, dtype=np.float64)
    return float(np.sqrt((values**2).sum()) / len(values))
