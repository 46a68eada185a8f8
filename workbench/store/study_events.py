"""Events of a set of questions or of a study, in streams of their own beside the runs."""

from typing import Any, Literal

from pydantic import FiniteFloat, NonNegativeInt

from workbench.store.event_base import Day, EventBase, Hash, Probability, Shown


class QuestionsImported(EventBase):
    """A file or a venue's answer was read into a set of questions; ``left_out`` are entries that became none, with the reason."""

    kind: Literal["questions.imported"] = "questions.imported"
    origin: Shown
    form: str
    count: NonNegativeInt
    left_out: tuple[tuple[str, str], ...] = ()


class QuestionAdded(EventBase):
    """A question entered a set, or a newer text of it; ``node`` is its id."""

    kind: Literal["question.added"] = "question.added"
    node: str
    question: dict[str, Any]


class ValueRecorded(EventBase):
    """The number that resolved a numeric question of a set; the newest one counts.

    ``node`` is its target: the question's id, with the horizon where it has several. Its levels are resolved by outcomes.
    """

    kind: Literal["value.recorded"] = "value.recorded"
    node: str
    value: FiniteFloat
    day: Day
    source: Literal["person", "series", "file"] = "person"
    author: Shown = ""


class ContextGathered(EventBase):
    """The context of a question for every arm as of one time: ``text`` is the body they read, ``record`` the whole with its addresses."""

    kind: Literal["context.gathered"] = "context.gathered"
    node: str
    cutoff: str
    instant: str
    text: Hash
    record: Hash


class StudyOpened(EventBase):
    """A study began, or began again with another budget: its file, its exam and its manifest."""

    kind: Literal["study.opened"] = "study.opened"
    study: dict[str, Any]
    manifest: dict[str, Any]


class ForecastBegun(EventBase):
    """A cell of a study is in work: ``node`` is the event, ``run`` the run that makes the forecast, "" for an arm without one."""

    kind: Literal["forecast.begun"] = "forecast.begun"
    node: str
    trial: int
    arm: Shown
    seed: int
    run: str = ""


class ForecastMade(EventBase):
    """A cell of a study has its probability, with its cost."""

    kind: Literal["forecast.made"] = "forecast.made"
    node: str
    trial: int
    arm: Shown
    seed: int
    p: Probability
    run: str = ""
    seconds: float = 0.0
    calls: NonNegativeInt = 0
    cost_usd: float | None = 0.0
    tokens: NonNegativeInt = 0


class ForecastMissing(EventBase):
    """A cell of a study got no probability for good, with the reason."""

    kind: Literal["forecast.missing"] = "forecast.missing"
    node: str
    trial: int
    arm: Shown
    seed: int
    run: str = ""
    reason: Shown
    calls: NonNegativeInt = 0
    cost_usd: float | None = 0.0


class ForecastPromoted(EventBase):
    """An event of a tournament night gets a tree after the quick pass: by the night's rule, or because a person says so."""

    kind: Literal["forecast.promoted"] = "forecast.promoted"
    node: str
    by: Literal["rule", "person"]
    reason: Shown = ""


class StudyAudited(EventBase):
    """The leak audit of a study's forecasts; results are shown from here on. ``findings`` have a line each."""

    kind: Literal["study.audited"] = "study.audited"
    checked: NonNegativeInt
    findings: tuple[Shown, ...] = ()
