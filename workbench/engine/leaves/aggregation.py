"""What the trials of a leaf count as: pooled, shrunk toward a prior, calibrated; every number that was learned is part of the run.

The numbers are fixed when a run is opened, so whoever checks the run computes the same from its log alone.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from workbench.errors import UsageError
from workbench.formatting import signed_figure
from workbench.propositions.strict_json import STRICT
from workbench.requests import check_settings, setting

Pool = Literal["logit-mean", "mean", "median"]
Dead = Literal["drop", "impute"]

#: What a dead trial counts as where it is imputed (BLF, App. C.8): that nothing is known.
IMPUTED = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregation:
    """How the trials of a leaf become one probability (BLF, App. C.8 to C.11); the defaults are the logit mean alone.

    ``learned_from`` is how many resolved leaves the numbers were learned from; 0 where too few were, or nothing was to be learned.
    """

    pool: Pool = setting(
        "logit-mean",
        "Trials",
        "Pooling rule: logit-mean, mean or median; shrinkage works on the logit mean alone.",
        in_file="no",
    )
    dead: Dead = setting(
        "drop",
        "Trials",
        "A trial without a belief is left out (drop), or counts as 0.5 (impute, the paper's).",
        in_file="no",
    )
    floor: float = setting(
        1.0,
        "Trials",
        "Least weight of the trials' mean against the prior, max(floor, 1 - slope * sd of their logits); 1 shrinks nothing.",
        in_file="no",
        low=0,
        high=1,
    )
    slope: float = setting(
        0.0, "Trials", "How fast that weight falls with the spread of the trials.", in_file="no"
    )
    prior: float = setting(0.5, "Trials", "What the mean is shrunk toward, in (0, 1).", in_file="no")
    calibration_slope: float = setting(
        1.0,
        "Trials",
        "Platt scaling of the result, sigmoid(slope * logit(p) + offset); 1 changes nothing.",
        in_file="no",
    )
    calibration_offset: float = setting(0.0, "Trials", "Its offset; 0 changes nothing.", in_file="no")
    learn: bool = setting(
        False,
        "Trials",
        "Take prior, floor, slope and calibration from the own record of drivers that were resolved before the cutoff, when the run is opened.",
        in_file="no",
    )
    learned_from: int = 0

    __pydantic_config__ = STRICT

    def __post_init__(self) -> None:
        check_settings(self)
        if not (0 <= self.slope < math.inf and 0 < self.prior < 1):
            raise UsageError("slope is a number from 0 on, and the prior lies in (0, 1)")
        if not (math.isfinite(self.calibration_slope) and math.isfinite(self.calibration_offset)):
            raise UsageError("slope and offset of a calibration are finite numbers")
        if self.shrinks and self.pool != "logit-mean":
            raise UsageError(
                f"shrinkage works on the logit mean: leave out pool={self.pool}, or floor and slope"
            )

    @property
    def shrinks(self) -> bool:
        """Whether a spread of the trials can move the result toward the prior."""
        return self.floor < 1 and self.slope > 0

    @property
    def calibrates(self) -> bool:
        """Whether the result is moved by a calibration."""
        return (self.calibration_slope, self.calibration_offset) != (1.0, 0.0)

    def combine(self, values: Sequence[float], *, dead: int = 0) -> float:
        """Return what a leaf counts as, in [0, 1].

        >>> round(Aggregation().combine([0.2, 0.8, 0.8]), 4)
        0.6135
        >>> Aggregation().combine([0.37])  # a single trial comes back unchanged, to the last bit
        0.37
        >>> Aggregation(dead="impute").combine([0.9], dead=1)
        0.75
        """
        trials = [*values, *([IMPUTED] * dead if self.dead == "impute" else ())]
        if len(trials) == 1 and not self.calibrates:
            # The way through the logit and back changes the last bits of most values, and it clips 0 and 1.
            return float(trials[0])
        # Loaded here, since every screen reads settings and none of them pools.
        from workbench.science.arrays import logit, sigmoid
        from workbench.science.pooling.pool import POOLINGS
        from workbench.science.pooling.shrinkage import floor_weight, shrink, trial_logits

        if self.shrinks:
            logits = trial_logits([trials])
            p = shrink(logits.mean, floor_weight(logits.spread, self.floor, self.slope), [self.prior])
        else:
            p = POOLINGS[self.pool]([trials])
        if self.calibrates:
            p = sigmoid(self.calibration_slope * logit(p) + self.calibration_offset)
        return float(p[0])

    def words(self) -> str:
        """Return the settings in words for a screen; "" for the plain logit mean."""
        said = []
        if self.pool != "logit-mean":
            said.append(f"pooled by {self.pool}")
        if self.dead == "impute":
            said.append("a dead trial counts as 0.5")
        if self.shrinks:
            said.append(f"shrunk toward {self.prior:.3f} (floor {self.floor:g}, slope {self.slope:g})")
        if self.calibrates:
            said.append(
                f"calibrated ({self.calibration_slope:.3f} x logit {signed_figure(self.calibration_offset, 3)})"
            )
        if self.learn:
            said.append(f"learned from {self.learned_from} drivers resolved before the cutoff")
        return "; ".join(said)
