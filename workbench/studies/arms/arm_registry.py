"""Every kind of arm by its name in a study's file."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from workbench.studies.arms.base import ArmContext, ArmError, Free
from workbench.studies.arms.derived_arms import NoisyArm, PooledArm
from workbench.studies.arms.run_arms import RUN_KINDS, run_arm
from workbench.studies.arms.series_arms import SeriesArm
from workbench.studies.arms.table_arms import (
    BaseRateArm,
    ColumnArm,
    PriceMoveArm,
    PublishedArm,
    RandomArm,
    SimulatedArm,
)
from workbench.studies.study_file import ArmSpec


class _Kind(NamedTuple):
    form: type[Free]
    #: Settings that it takes; None: all of the form's.
    takes: Sequence[str] | None = None
    #: What they are where the file does not say.
    fixed: Mapping[str, Any] = {}


_TABLE_KINDS: Mapping[str, _Kind] = {
    "random": _Kind(RandomArm),
    "column": _Kind(ColumnArm, ("column",)),
    "market": _Kind(ColumnArm, (), {"column": "crowd"}),
    "crowd+prior": _Kind(ColumnArm, ("prior",), {"column": "crowd", "prior": "prior_temporal"}),
    "always-half": _Kind(ColumnArm, (), {"column": "0.5"}),
    "base-rate": _Kind(BaseRateArm),
    "price-move": _Kind(PriceMoveArm),
    "published": _Kind(PublishedArm),
    "simulated": _Kind(SimulatedArm),
    "series": _Kind(SeriesArm),
    "pooled": _Kind(PooledArm),
    "noisy": _Kind(NoisyArm),
}
KINDS = (*_TABLE_KINDS, "grounder", *RUN_KINDS)


def make_arm(spec: ArmSpec, context: ArmContext) -> Any:
    """The arm that a study's file describes; one that fills a table, or one of runs.

    Raises `ArmError`: An unknown kind, or settings that the kind refuses.
    """
    if spec.kind not in KINDS:
        raise ArmError(f"unknown arm {spec.kind!r:.60}: one of {', '.join(KINDS)}")
    if (kind := _TABLE_KINDS.get(spec.kind)) is None:
        return run_arm(spec, context)
    return kind.form.from_spec(spec, context, kind.takes, **kind.fixed)
