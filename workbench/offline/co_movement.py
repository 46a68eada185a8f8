"""Measure how often two claims came true together, from the rows known at a cutoff, and whether that is more than chance."""

from dataclasses import dataclass

import numpy as np

from workbench.offline.report_records import OutcomeRecord, common_windows
from workbench.science.arrays import FloatArray

#: A link is beyond so many standard errors of none, and each half of the past has at least this share of it.
LINKED, STABLE = 2.6, 0.33


@dataclass(frozen=True, slots=True, kw_only=True)
class CoMovement:
    """The common past of a claim and a driver."""

    #: Of their outcomes; 0 where one of them never changed.
    correlation: float
    #: The same in the earlier and in the later half of the windows.
    halves: tuple[float, float]
    #: with_driver, without_driver: How often the claim came true where the driver did, and where it did not.
    with_driver: float
    without_driver: float
    #: Common windows, as if neither they nor their outcomes went together: Bartlett's count.
    independent: float

    @property
    def strength(self) -> float:
        """The correlation in its standard errors around none: about one arises by chance."""
        return self.correlation * float(np.sqrt(self.independent))

    def linked(self, least: float = LINKED) -> bool:
        """Whether the driver speaks for the claim beyond chance, in both halves of the past."""
        return self.strength >= least and min(self.halves) >= STABLE * self.correlation


def co_movement(claim: OutcomeRecord, driver: OutcomeRecord) -> CoMovement:
    """Measure the common past of a claim and a driver; without a common window they did not move together."""
    table = common_windows([claim, driver]).astype(np.float64)
    half = len(table) // 2
    correlation, *halves = (_correlation(part) for part in (table, table[:half], table[half:]))
    parent, child = table[:, 0], table[:, 1]
    if not correlation:
        rate = float(parent.mean()) if len(table) else claim.base_rate
        return CoMovement(
            correlation=0.0, halves=(0.0, 0.0), with_driver=rate, without_driver=rate, independent=0.0
        )
    return CoMovement(
        correlation=correlation,
        halves=(halves[0], halves[1]),
        with_driver=float(parent[child == 1].mean()),
        without_driver=float(parent[child == 0].mean()),
        independent=_independent(table),
    )


def _correlation(table: FloatArray) -> float:
    varies = len(table) > 2 and (table.std(axis=0) > 0).all()
    return float(np.corrcoef(table[:, 0], table[:, 1])[0, 1]) if varies else 0.0


def _independent(table: FloatArray) -> float:
    count = len(table)
    centred = table - table.mean(axis=0)
    # by the Fourier transform: some thousand windows, for every candidate
    power = np.abs(np.fft.rfft(centred, n=2 * count, axis=0)) ** 2
    lags = np.fft.irfft(power, axis=0)[: count // 4]
    shared = np.prod(lags[1:] / lags[0], axis=1)
    return count / max(1.0, 1.0 + 2.0 * float(shared.sum()))
