"""Arms without a model: chance, constants, the crowd and priors, price moves, published trials pooled and shrunk, simulated grounders."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from workbench.science.arrays import FloatArray, logit, sigmoid
from workbench.science.documents.score_documents import raw_forecasts
from workbench.science.recipe import Recipe, prepare
from workbench.science.scoring.baselines import baseline_forecast, event_priors
from workbench.science.simulator.errors import GrounderErrors
from workbench.science.simulator.simulated_exams import RULES
from workbench.science.table_cells import read_cells
from workbench.science.tables import read_forecasts
from workbench.studies.arms.base import ArmContext, ArmError, ArmPrice, take
from workbench.studies.study_exam import StudyExam
from workbench.studies.study_file import ArmSpec, StudyCell

Table = tuple[FloatArray, Mapping[int, str]]
#: The words of `score` that an arm of trials takes, with what they are where an arm does not say.
RECIPE_SETTINGS: Mapping[str, Any] = {
    "pool": "logit-mean", "prior": None, "tune": "loo-question", "ddof": None, "calibrate": "none", "loo": "question", "clip": 0.0,
    "dead": "drop",
}  # fmt: skip


def _forecast_table(p: FloatArray, reason: str) -> Table:
    return p, {int(row): reason for row in np.flatnonzero(~np.isfinite(p))}


@dataclass(frozen=True, slots=True, kw_only=True)
class Free:
    """What arms without a model share."""

    name: str
    #: They give the same each time, but those that say otherwise.
    draws: ClassVar[bool] = False

    def price(self, exam: StudyExam | None = None, cell: StudyCell | None = None) -> ArmPrice:
        """Nothing."""
        return ArmPrice()


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomArm(Free):
    """A probability drawn evenly from 0 to 1 (paper A's Random)."""

    draws: ClassVar[bool] = True

    def forecasts(self, exam: StudyExam, *, seed: int, trial: int) -> Table:
        """One draw per event, the same for the same event, seed and trial whatever else is in the exam."""
        draws = [
            np.random.default_rng([seed, trial, *event.encode()]).random()
            for event in exam.events.event_id.tolist()
        ]
        return np.array(draws), {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnArm(Free):
    """A number, a column, or one column on market events and another elsewhere (`baseline_forecast`)."""

    spec: str

    def forecasts(self, exam: StudyExam, *, seed: int, trial: int) -> Table:
        """The column as it stands."""
        return _forecast_table(baseline_forecast(exam.events, self.spec), f"no {self.spec} is known of it")


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseRateArm(Free):
    """How often the exam's questions of the same group came true that had resolved before each was asked (paper B, App. C.7)."""

    by: tuple[str, ...]
    pseudo: float

    def forecasts(self, exam: StudyExam, *, seed: int, trial: int) -> Table:
        """One per event; nothing where no such question had resolved and ``pseudo`` is 0."""
        prior = event_priors(exam.events, self.by, pseudo=self.pseudo)
        return _forecast_table(prior.p, f"no question of its {' and '.join(self.by)} had resolved before")


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceMoveArm(Free):
    """The later of two prices, moved on by a share of the way from the earlier one, in logits.

    A share of 0 is the later price, -1 the earlier one, above 0 bets that moves go on, below that they come back.
    """

    earlier: str
    later: str
    share: float

    def forecasts(self, exam: StudyExam, *, seed: int, trial: int) -> Table:
        """From both columns; nothing where either is empty."""
        before, after = (
            logit(exam.events.probability(self.earlier)),
            logit(exam.events.probability(self.later)),
        )
        return _forecast_table(
            np.asarray(sigmoid(after + self.share * (after - before))),
            f"no {self.earlier} or no {self.later} is known of it",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedArm(Free):
    """Forecasts of a file: published ones, or trials that are pooled, shrunk and calibrated as `score` does it."""

    path: Path
    method: str
    variant: str
    recipe: Recipe

    def forecasts(self, exam: StudyExam, *, seed: int, trial: int) -> Table:
        """One per event of the exam; forecasts of other events in the file are passed over."""
        values = read_forecasts(self.path, _known(self.path, exam))
        raw = raw_forecasts(values, self.method, self.variant)
        own = {event: row for row, event in enumerate(values.events.event_id.tolist())}
        rows = np.array([own[event] for event in exam.events.event_id.tolist()])
        ready = prepare(raw[rows], exam.events, self.recipe)
        p = np.full(len(exam), np.nan)
        p[ready.rows] = ready.p
        return _forecast_table(p, f"{self.path.name} has no forecast of it by {self.method}")


def _known(path: Path, exam: StudyExam) -> Any:
    """The exam's events, and those that only the file of forecasts names, so that reading it does not refuse them."""
    column = read_cells(path)["event_id"]
    extra = np.array(sorted(set(column.tolist()) - set(exam.events.event_id.tolist())), dtype=str)
    if not len(extra):
        return exam.events
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(exam.events, name), extra])
        for name in ("event_id", "question", "source", "kind")
    }
    return replace(
        exam.events, **columns, outcome=np.append(exam.events.outcome, np.full(len(extra), np.nan))
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedArm(Free):
    """A grounder that errs by rule, in a simulated exam: under the world's own rules, a linear reading, or without a tree."""

    draws: ClassVar[bool] = True
    errors: GrounderErrors
    rule: str

    def forecasts(self, exam: StudyExam, *, seed: int, trial: int) -> Table:
        """One per question; raises `ArmError` outside a simulated exam."""
        if exam.simulated is None:
            raise ArmError(f"arm {self.name!r} is simulated and needs a simulated exam")
        rows = [int(event[1:]) for event in exam.events.event_id.tolist()]
        p = [exam.simulated.forecast(row, self.errors, self.rule, seed=seed, trial=trial) for row in rows]
        return np.array(p), {}


def random_arm(spec: ArmSpec, context: ArmContext) -> RandomArm:
    """``arm: random``."""
    take(spec.settings, {}, arm=spec.name)
    return RandomArm(name=spec.name)


def column_arm(spec: ArmSpec, context: ArmContext) -> ColumnArm:
    """``arm: column`` with ``column``; ``market`` and ``crowd+prior`` name theirs."""
    known = {"market": "crowd", "crowd+prior": "crowd+prior_temporal", "always-half": "0.5"}
    if spec.kind == "crowd+prior":
        prior = take(spec.settings, {"prior": "prior_temporal"}, arm=spec.name)["prior"]
        return ColumnArm(name=spec.name, spec=f"crowd+{prior}")
    if spec.kind in known:
        take(spec.settings, {}, arm=spec.name)
        return ColumnArm(name=spec.name, spec=known[spec.kind])
    column = take(spec.settings, {"column": None}, arm=spec.name)["column"]
    if column is None:
        raise ArmError(f"arm {spec.name!r}: which column? a name, a number, or MARKET+OTHER")
    return ColumnArm(name=spec.name, spec=str(column))


def base_rate_arm(spec: ArmSpec, context: ArmContext) -> BaseRateArm:
    """``arm: base-rate`` with ``by``, a list of columns, and ``pseudo``, imagined questions on either side."""
    values = take(spec.settings, {"by": ["source"], "pseudo": 1.0}, arm=spec.name)
    if not values["by"] or not all(isinstance(each, str) for each in values["by"]) or values["pseudo"] < 0:
        raise ArmError(f"arm {spec.name!r}: by is a list of columns, pseudo a number of at least 0")
    return BaseRateArm(name=spec.name, by=tuple(values["by"]), pseudo=values["pseudo"])


def price_move_arm(spec: ArmSpec, context: ArmContext) -> PriceMoveArm:
    """``arm: price-move`` with the columns ``earlier`` and ``later`` and a ``share``."""
    values = take(
        spec.settings,
        {"earlier": "market_value_due_minus_one", "later": "market_value_due", "share": 1.0},
        arm=spec.name,
    )
    return PriceMoveArm(name=spec.name, **values)


def published_arm(spec: ArmSpec, context: ArmContext) -> PublishedArm:
    """``arm: published`` with ``forecasts``, ``method`` and the words of `score`: pool, prior, tune, ddof, calibrate, loo."""
    known = {"forecasts": None, "method": None, "variant": "forecast", **RECIPE_SETTINGS}
    values = take(spec.settings, known, arm=spec.name)
    for needed in ("forecasts", "method"):
        if values[needed] is None:
            raise ArmError(f"arm {spec.name!r}: {needed} is missing")
    path = context.folder / str(values.pop("forecasts"))
    if not path.is_file():
        raise ArmError(f"arm {spec.name!r}: there is no file {path}")
    return PublishedArm(
        name=spec.name,
        path=path,
        method=str(values.pop("method")),
        variant=str(values.pop("variant")),
        recipe=Recipe(**values),
    )


def simulated_arm(spec: ArmSpec, context: ArmContext) -> SimulatedArm:
    """``arm: simulated`` with bias, sd, correlation, noise, level, and ``rule``: own, linear or leaf."""
    values = take(
        spec.settings,
        {"bias": 0.0, "sd": 0.0, "correlation": 0.0, "noise": "normal", "level": 0.0, "rule": "own"},
        arm=spec.name,
    )
    rule = values.pop("rule")
    if rule not in RULES:
        raise ArmError(f"arm {spec.name!r}: rule is one of {', '.join(RULES)}, not {rule!r}")
    return SimulatedArm(name=spec.name, errors=GrounderErrors(**values), rule=rule)
