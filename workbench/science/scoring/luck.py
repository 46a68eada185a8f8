"""A settled bet's result, split into edge and luck.

A bet pays ``y`` if Yes and ``n`` if No. Under a belief ``r`` in Yes its expected payoff is ``r y + (1 - r) n``, so that

    payoff - 1 = edge + luck,   edge = r y + (1 - r) n - 1,   luck = (o - r) (y - n)

with ``o`` the outcome, 1 or 0: the edge was there when the bet was made, the luck came with the outcome. If ``r`` is the true
probability, luck is 0 on average and its variance is ``r (1 - r) (y - n) ** 2``. This is the Doob decomposition of the gain,
here over the single step from bet to outcome.

Whose belief: one's own tells whether results came as expected (luck far from 0 means that the forecasts were not what they
claimed); a later price, such as the closing one, measures the edge by someone who has no stake in the answer.

Worked: 0.7 believed, price 0.5, log utility: y = 0.7 / 0.5 = 1.4, n = 0.3 / 0.5 = 0.6. Edge = 0.7 x 1.4 + 0.3 x 0.6 - 1 = 0.16.
It comes true: gain 0.4, so luck 0.24; it does not: gain -0.4, luck -0.56; and 0.7 x 0.24 - 0.3 x 0.56 = 0.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from workbench.science.arrays import FloatArray, as_outcomes, as_probabilities
from workbench.science.errors import DomainError


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeAndLuck:
    """Gains of settled bets and their two parts, each of shape (n,); ``deviation`` is that of the luck under the belief."""

    gain: FloatArray
    edge: FloatArray
    luck: FloatArray
    deviation: FloatArray

    @property
    def luck_z(self) -> float | None:
        """All luck in its standard deviations, bets taken as independent; None if nothing was at stake.

        Beyond 2 either way the results hardly came by luck alone: the belief behind the edge was off.
        """
        total = float(np.sqrt((self.deviation**2).sum()))
        return float(self.luck.sum()) / total if total > 0 else None


def edge_and_luck(
    pays_yes: ArrayLike, pays_no: ArrayLike, outcome: ArrayLike, belief: ArrayLike
) -> EdgeAndLuck:
    """Split the gains of settled bets, by the formula above.

    Parameters
    ----------
    pays_yes, pays_no : array_like, shape (n,)
        What a dollar comes back as; what was not staked is kept and counts. Equal for no bet: no edge, no luck.
    outcome : array_like, shape (n,)
        1 or 0.
    belief : array_like, shape (n,)
        Probability of Yes by which the edge is measured.

    Raises
    ------
    DomainError
        Empty input, unequal shapes, or a value out of range.

    Examples
    --------
    >>> split = edge_and_luck([1.4], [0.6], [1], [0.7])
    >>> split.gain.round(9).tolist(), split.edge.round(9).tolist(), split.luck.round(9).tolist()
    ([0.4], [0.16], [0.24])
    """
    o = as_outcomes(outcome)
    r = as_probabilities(belief, name="belief")
    yes, no = np.asarray(pays_yes, dtype=np.float64), np.asarray(pays_no, dtype=np.float64)
    if not yes.shape == no.shape == o.shape == r.shape:
        raise DomainError(
            f"payoffs of shapes {yes.shape} and {no.shape}, {o.size} outcomes and {r.size} beliefs do not fit"
        )
    swing = yes - no
    return EdgeAndLuck(
        gain=np.where(o == 1.0, yes, no) - 1.0,
        edge=r * yes + (1.0 - r) * no - 1.0,
        luck=(o - r) * swing,
        deviation=np.sqrt(r * (1.0 - r)) * np.abs(swing),
    )
