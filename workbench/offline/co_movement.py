"""How often two claims have come true together, in the past windows that both know at a cutoff."""

from dataclasses import dataclass

import numpy as np

from workbench.offline.report_records import OutcomeRecord, common_windows


@dataclass(frozen=True, slots=True, kw_only=True)
class CoMovement:
    """Of a claim with a driver.

    Parameters
    ----------
    correlation : float
        Of their outcomes; 0 where one of them never changed.
    with_driver, without_driver : float
        How often the claim came true where the driver did, and where it did not.
    separate : float
        Common windows, as if they did not overlap.
    """

    correlation: float
    with_driver: float
    without_driver: float
    separate: float

    @property
    def strength(self) -> float:
        """The correlation in standard errors of none, which about one is by chance."""
        return self.correlation * float(np.sqrt(self.separate))


def co_movement(claim: OutcomeRecord, driver: OutcomeRecord) -> CoMovement:
    """Return how a claim and a driver have moved together; without a common window, not at all."""
    table = common_windows([claim, driver])
    parent, child = table[:, 0], table[:, 1]
    separate = 5.0 * len(table) / max(claim.horizon_days, 5)
    if not len(table) or child.min() == child.max() or parent.min() == parent.max():
        rate = float(parent.mean()) if len(table) else claim.base_rate
        return CoMovement(correlation=0.0, with_driver=rate, without_driver=rate, separate=separate)
    return CoMovement(
        correlation=float(np.corrcoef(parent, child)[0, 1]),
        with_driver=float(parent[child == 1].mean()),
        without_driver=float(parent[child == 0].mean()),
        separate=separate,
    )
