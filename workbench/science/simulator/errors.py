"""How simulated grounders err: bias, own and shared random error, and the three noises of paper A, section 5.3."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from workbench.science.arrays import FloatArray, logit, sigmoid
from workbench.science.errors import DomainError

LeafNoise = Literal["normal", "uncertain", "reverse"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GrounderErrors:
    """Errors of the leaves' values, on their own scale, held inside [0, 1]."""

    #: Added to every leaf.
    bias: float = 0.0
    #: Standard deviation of the random error of a leaf.
    sd: float = 0.0
    #: Of the errors of any two leaves, in [0, 1]: siblings that read the same sources.
    correlation: float = 0.0
    #: noise, level: ``normal``: N(0, level) more; ``uncertain``: 0.5 with probability level; ``reverse``: 1 - p with probability level.
    noise: LeafNoise = "normal"
    level: float = 0.0

    def __post_init__(self) -> None:
        if self.sd < 0 or not 0 <= self.correlation <= 1 or not 0 <= self.level <= 1:
            raise DomainError("an sd is at least 0, a correlation and a level of noise lie in [0, 1]")
        if self.noise not in get_args(LeafNoise):
            raise DomainError(f"noise is one of {', '.join(get_args(LeafNoise))}, not {self.noise!r}")

    def apply(self, truths: FloatArray, rng: np.random.Generator) -> FloatArray:
        """What the grounder says of leaves with these truths, shape (rows, leaves)."""
        rows, leaves = truths.shape
        shared = rng.normal(size=(rows, 1))
        own = rng.normal(size=(rows, leaves))
        error = np.sqrt(self.correlation) * shared + np.sqrt(1 - self.correlation) * own
        values = truths + self.bias + self.sd * error
        if self.noise == "normal":
            values = values + self.level * rng.normal(size=truths.shape)
        values = values.clip(0.0, 1.0)
        if self.noise != "normal":
            hit = rng.random(truths.shape) < self.level
            values = np.where(hit, 0.5 if self.noise == "uncertain" else 1.0 - values, values)
        return np.asarray(values)


def crowd_prices(truth: FloatArray, rng: np.random.Generator, *, sd: float = 0.5) -> FloatArray:
    """A market's prices of the root, strictly inside (0, 1): the truth seen through an error of ``sd`` in logits."""
    price = sigmoid(logit(truth) + sd * rng.normal(size=truth.shape))
    return np.asarray(np.clip(price, 0.001, 0.999))
