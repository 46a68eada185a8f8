"""Every kind of arm by its name in a study's file."""

from collections.abc import Callable, Mapping
from typing import Any

from workbench.studies.arms.base import ArmContext, ArmError
from workbench.studies.arms.derived_arms import noisy_arm, pooled_arm
from workbench.studies.arms.run_arms import RUN_KINDS, run_arm
from workbench.studies.arms.series_arms import series_arm
from workbench.studies.arms.table_arms import (
    base_rate_arm,
    column_arm,
    price_move_arm,
    published_arm,
    random_arm,
    simulated_arm,
)
from workbench.studies.study_file import ArmSpec

MakeArm = Callable[[ArmSpec, ArmContext], Any]

KINDS: Mapping[str, MakeArm] = {
    "random": random_arm,
    "column": column_arm,
    "market": column_arm,
    "crowd+prior": column_arm,
    "always-half": column_arm,
    "base-rate": base_rate_arm,
    "price-move": price_move_arm,
    "published": published_arm,
    "simulated": simulated_arm,
    "series": series_arm,
    "pooled": pooled_arm,
    "noisy": noisy_arm,
    "grounder": run_arm,
    **dict.fromkeys(RUN_KINDS, run_arm),
}


def make_arm(spec: ArmSpec, context: ArmContext) -> Any:
    """The arm that a study's file describes; one that fills a table, or one of runs.

    Raises `ArmError`: An unknown kind, or settings that the kind refuses.
    """
    if spec.kind not in KINDS:
        raise ArmError(f"unknown arm {spec.kind!r:.60}: one of {', '.join(KINDS)}")
    return KINDS[spec.kind](spec, context)
