"""Arms without a model: chance, constants, the crowd and priors, price moves, published trials pooled and shrunk, simulated grounders."""

from collections.abc import Mapping
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo

from workbench.science.arrays import FloatArray, logit, sigmoid
from workbench.science.documents.score_documents import raw_forecasts
from workbench.science.recipe import Recipe, prepare
from workbench.science.scoring.baselines import baseline_forecast, event_priors
from workbench.science.simulator.simulated_exams import RULES
from workbench.science.simulator.worlds import GrounderErrors
from workbench.science.table_cells import read_cells
from workbench.science.tables import read_forecasts
from workbench.studies.arms.base import ArmError, Free, one_of, wrong
from workbench.studies.study_exam import StudyExam

Table = tuple[FloatArray, Mapping[int, str]]
#: The words of `score` that an arm of trials takes.
RECIPE_WORDS = ("pool", "prior", "tune", "ddof", "calibrate", "loo", "clip", "dead")


class RecipeArm(Free):
    """Forecasts that are pooled, shrunk and calibrated by the words of `score`."""

    gathers: ClassVar[Mapping[str, tuple[str, ...]]] = {"recipe": RECIPE_WORDS}
    recipe: Annotated[Recipe, BeforeValidator(lambda words: Recipe(**{"loo": "question", **words}))]


def _forecast_table(p: FloatArray, reason: str) -> Table:
    return p, {int(row): reason for row in np.flatnonzero(~np.isfinite(p))}


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


class ColumnArm(Free):
    """A number, a column, or one column on market events and another elsewhere (`baseline_forecast`)."""

    column: Annotated[
        str, BeforeValidator(str), Field(description="which column? a name, a number, or MARKET+OTHER")
    ]
    prior: str = ""

    @property
    def spec(self) -> str:
        """As `baseline_forecast` takes it."""
        return f"{self.column}+{self.prior}" if self.prior else self.column

    def forecasts(self, exam: StudyExam, *, seed: int, trial: int) -> Table:
        """The column as it stands."""
        return _forecast_table(baseline_forecast(exam.events, self.spec), f"no {self.spec} is known of it")


_BY = "by is a list of columns, pseudo a number of at least 0"


class BaseRateArm(Free):
    """How often the exam's questions of the same group came true that had resolved before each was asked (paper B, App. C.7)."""

    by: Annotated[tuple[str, ...], Field(strict=False, min_length=1, description=_BY)] = ("source",)
    pseudo: Annotated[float, Field(ge=0, description=_BY)] = 1.0

    def forecasts(self, exam: StudyExam, *, seed: int, trial: int) -> Table:
        """One per event; nothing where no such question had resolved and ``pseudo`` is 0."""
        prior = event_priors(exam.events, self.by, pseudo=self.pseudo)
        return _forecast_table(prior.p, f"no question of its {' and '.join(self.by)} had resolved before")


class PriceMoveArm(Free):
    """The later of two prices, moved on by a share of the way from the earlier one, in logits.

    A share of 0 is the later price, -1 the earlier one, above 0 bets that moves go on, below that they come back.
    """

    earlier: str = "market_value_due_minus_one"
    later: str = "market_value_due"
    share: float = 1.0

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


def _in_folder(name: Any, info: ValidationInfo) -> Path:
    path: Path = info.context.folder / str(name)  # type: ignore[union-attr]
    if not path.is_file():
        raise wrong(f"there is no file {path}")
    return path


class PublishedArm(RecipeArm):
    """Forecasts of a file: published ones, or trials that are pooled, shrunk and calibrated as `score` does it."""

    path: Annotated[Path, BeforeValidator(_in_folder), Field(alias="forecasts")]
    method: Annotated[str, BeforeValidator(str)]
    variant: Annotated[str, BeforeValidator(str)] = "forecast"

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


def _errors(words: dict[str, Any]) -> GrounderErrors:
    for word, value in words.items():
        if not isinstance(value, str if word == "noise" else int | float):
            raise wrong(f"{word} is {'str' if word == 'noise' else 'float'}, not {value!r:.40}")
    return GrounderErrors(**words)


class SimulatedArm(Free):
    """A grounder that errs by rule, in a simulated exam: under the world's own rules, a linear reading, or without a tree."""

    draws: ClassVar[bool] = True
    gathers: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "errors": tuple(f.name for f in fields(GrounderErrors))
    }
    errors: Annotated[GrounderErrors, BeforeValidator(_errors)]
    rule: Annotated[str, AfterValidator(partial(one_of, "rule", RULES))] = "own"

    def forecasts(self, exam: StudyExam, *, seed: int, trial: int) -> Table:
        """One per question; raises `ArmError` outside a simulated exam."""
        if exam.simulated is None:
            raise ArmError(f"arm {self.name!r} is simulated and needs a simulated exam")
        rows = [int(event[1:]) for event in exam.events.event_id.tolist()]
        p = [exam.simulated.forecast(row, self.errors, self.rule, seed=seed, trial=trial) for row in rows]
        return np.array(p), {}
