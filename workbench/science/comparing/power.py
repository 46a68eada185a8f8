"""Estimate how many events a difference would need before it shows."""

from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import ArrayLike

from workbench.science.comparing.clusters import MIN_CLUSTERS, fewest
from workbench.science.errors import DomainError


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleSize:
    """Units needed to see a mean difference with the wanted power, and the power of the data at hand."""

    needed: int | None
    """None when the difference is 0: no number would do; at least the clusters that any verdict needs."""
    have: int
    power: float

    def sentence(self, unit: str = "questions") -> str:
        """Say the hint in words."""
        if self.needed is None:
            return f"no difference to find: no number of {unit} would show it"
        if self.needed <= self.have:
            return f"{self.have} {unit} are enough for a difference of this size (power {self.power:.2f})"
        return f"you would need {self.needed} {unit}, you have {self.have} (power {self.power:.2f})"


def sample_size_hint(
    difference: ArrayLike, *, level: float = 0.05, power: float = 0.8, clusters: ArrayLike | None = None
) -> SampleSize:
    """Units that a paired difference as large as the observed one would need to be found significant.

    `compare` prints it under its table. It takes the observed difference for the true one, which is optimistic once
    the data have been looked at. Normal approximation.
    """
    from statsmodels.stats.power import normal_power, normal_sample_size_one_tail

    d = np.asarray(difference, dtype=np.float64)
    if clusters is not None:
        codes = fewest(clusters)
        d = np.bincount(codes, weights=d) / np.bincount(codes)
    if len(d) < 2 or not np.isfinite(d).all():
        raise DomainError("a sample-size hint needs at least 2 finite differences")
    if not (0.0 < level < 1.0 and 0.0 < power < 1.0):
        raise DomainError("level and power must lie between 0 and 1")
    mean, deviation = float(d.mean()), float(d.std(ddof=1))
    if mean == 0.0:
        return SampleSize(needed=None, have=len(d), power=level)
    if deviation == 0.0:
        return SampleSize(needed=MIN_CLUSTERS, have=len(d), power=1.0)
    effect = abs(mean) / deviation
    return SampleSize(
        # Half the level in one tail: the other tail's share of a two-sided power is nil at any useful power.
        needed=max(MIN_CLUSTERS, ceil(normal_sample_size_one_tail(effect, power, level / 2))),
        have=len(d),
        power=float(normal_power(effect, len(d), level)),
    )
