"""Turn prices and outcomes into the worth of a dollar on an option: payoffs for `utility_scores`."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from workbench.science.arrays import FloatArray, as_outcomes
from workbench.science.errors import DomainError, UnknownName


@dataclass(frozen=True, slots=True, kw_only=True)
class PayoffRule:
    """The values of one dollar by prices and outcomes."""

    #: Per ``year_days`` days; 0 for none.
    discount: float = 0.0
    #: Dollars a share, or of each dollar of an asset.
    commission: float = 0.0
    #: Largest gain that counts; infinite for no cap. A short position loses what a long one gains, so without a cap its value may fall
    #: below 0.
    most: float = float("inf")
    year_days: float = 365.0

    def market(
        self, price: ArrayLike, outcome: ArrayLike, days: ArrayLike = 0.0
    ) -> tuple[FloatArray, FloatArray]:
        """Present values of a dollar long and short on Yes, shape (n,) each.

        Parameters
        ----------
        price : array_like, shape (n,)
            Of a Yes share, in (0, 1).
        outcome : array_like, shape (n,)
        days : array_like, shape (n,) or scalar
            Until it was known.

        Examples
        --------
        >>> long, short = RULES["analytica-paper"].market([0.48], [1], [126])
        >>> long.round(6).tolist(), short.tolist()
        ([1.9518], [0.0])
        """
        q = np.asarray(price, dtype=np.float64)
        if q.size == 0 or not ((q > 0) & (q < 1)).all():
            raise DomainError("a market's price lies strictly between 0 and 1")
        return self._values(as_outcomes(outcome, size=len(q)) / (q + self.commission) - 1.0, days)

    def asset(self, start: ArrayLike, end: ArrayLike, days: ArrayLike = 0.0) -> tuple[FloatArray, FloatArray]:
        """Present values of a dollar long and short of an asset, from its price when bought and at the horizon.

        >>> long, short = RULES["plain"].asset([100.0], [110.0])
        >>> long.round(9).tolist(), short.round(9).tolist()
        ([1.1], [0.9])
        """
        first, last = np.asarray(start, dtype=np.float64), np.asarray(end, dtype=np.float64)
        if first.size == 0 or first.shape != last.shape or not ((first > 0) & (last >= 0)).all():
            raise DomainError("an asset needs a price above 0 at the start and one of at least 0 at the end")
        return self._values(last / first - 1.0 - self.commission, days)

    def _values(self, gain: FloatArray, days: ArrayLike) -> tuple[FloatArray, FloatArray]:
        horizon = np.asarray(days, dtype=np.float64)
        if not (horizon >= 0).all():
            raise DomainError("a horizon is a number of days, at least 0")
        gain = np.minimum(gain, self.most)
        factor = (1.0 + self.discount) ** (horizon / self.year_days)
        return np.asarray((1.0 + gain) / factor), np.asarray((1.0 - gain) / factor)


#: ``plain`` is the product's: no discount, no costs, no cap. ``analytica-paper`` is that of paper A's code.
RULES: Mapping[str, PayoffRule] = {
    "plain": PayoffRule(),
    "analytica-paper": PayoffRule(discount=0.05, commission=0.02, most=1.0, year_days=252.0),
}


def payoff_rule(name: str) -> PayoffRule:
    """The rule of this name, or one line listing the known ones.

    >>> payoff_rule("plain").discount
    0.0
    """
    if name not in RULES:
        raise UnknownName("payoff rule", name, RULES)
    return RULES[name]
