"""How many events a difference would need before it shows."""

from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import ArrayLike

from workbench.science.errors import DomainError


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleSize:
    """Units needed to see a mean difference with the asked power, and the power the data at hand have."""

    needed: int | None
    """None when the difference is 0: no number would do."""
    have: int
    power: float

    def sentence(self, unit: str = "questions") -> str:
        """The hint in words."""
        if self.needed is None:
            return f"no difference to find: no number of {unit} would show it"
        if self.needed <= self.have:
            return f"{self.have} {unit} are enough for a difference of this size (power {self.power:.2f})"
        return f"you would need {self.needed} {unit}, you have {self.have} (power {self.power:.2f})"


def sample_size_hint(
    difference: ArrayLike, *, level: float = 0.05, power: float = 0.8, clusters: ArrayLike | None = None
) -> SampleSize:
    """Units needed for a paired difference as large as the one seen to be found significant.

    Parameters
    ----------
    difference : array_like, shape (n,)
        Score of one method minus the other's, per event; at least 2 units.
    level : float
        Two-sided significance level, in (0, 1).
    power : float
        Wanted chance of finding it, in (0, 1).
    clusters : array_like, shape (n,), optional
        Question of each event: units are then questions.

    Returns
    -------
    SampleSize

    Raises
    ------
    DomainError
        Fewer than 2 units, or a level or power outside (0, 1).

    Notes
    -----
    Normal approximation ``((z_level + z_power) sd / mean) ** 2``. It takes the difference seen for the true one,
    which after a look at the data is optimistic.

    Examples
    --------
    >>> sample_size_hint([0.1, -0.1, 0.1, 0.1, -0.1, 0.1]).sentence()
    'you would need 76 questions, you have 6 (power 0.12)'
    """
    from scipy.special import ndtr, ndtri

    from workbench.science.arrays import codes_of

    d = np.asarray(difference, dtype=np.float64)
    if clusters is not None:
        codes, names = codes_of(clusters)
        d = np.bincount(codes, weights=d, minlength=len(names)) / np.bincount(codes, minlength=len(names))
    if len(d) < 2 or not np.isfinite(d).all():
        raise DomainError("a sample-size hint needs at least 2 finite differences")
    if not (0.0 < level < 1.0 and 0.0 < power < 1.0):
        raise DomainError("level and power must lie between 0 and 1")
    mean, deviation = float(d.mean()), float(d.std(ddof=1))
    z = float(ndtri(1 - level / 2))
    if mean == 0.0:
        return SampleSize(needed=None, have=len(d), power=level)
    if deviation == 0.0:
        return SampleSize(needed=2, have=len(d), power=1.0)
    signal = abs(mean) / deviation * np.sqrt(len(d))
    return SampleSize(
        needed=max(2, ceil(((z + float(ndtri(power))) * deviation / mean) ** 2)),
        have=len(d),
        power=float(ndtr(signal - z) + ndtr(-z - signal)),
    )
