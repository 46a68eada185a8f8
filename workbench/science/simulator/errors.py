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


@dataclass(frozen=True, slots=True, kw_only=True)
class CrowdErrors:
    """A market's price of the root: the truth seen through an error in logits, and pulled to 0.5 by timid traders."""

    #: Of the error, in logits.
    sd: float = 0.5
    #: Share of the way to 0.5 that the price stays behind, in [0, 1).
    pull: float = 0.0
    #: What both asks sum to above 1; a No share costs one minus the Yes price plus the margin's other half.
    margin: float = 0.0

    def prices(self, truth: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Probabilities implied by the market, shape (rows,), strictly inside (0, 1)."""
        price = sigmoid((1 - self.pull) * (logit(truth) + self.sd * rng.normal(size=truth.shape)))
        return np.asarray(np.clip(price, 0.001, 0.999))
