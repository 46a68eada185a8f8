"""A night: its questions, its time and its two arms, fixed when it is opened; what was made of it is a fold over its stream.

The stream ``night:NAME`` holds the same events as a study's, so that forecasts are made, counted and resumed by the same code.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from proxies.asof.clock import Cutoff
from workbench.agents.base import FRAMINGS
from workbench.engine.access.model_gateway import spending
from workbench.engine.run_settings import with_preset
from workbench.errors import Option, UsageError
from workbench.questions.question import QuestionEvent, asked_events
from workbench.questions.sets.question_sets import QuestionSet, load_set
from workbench.questions.sets.set_scores import events_table
from workbench.search.engines import ENGINES
from workbench.store import ModelLedger, Store
from workbench.store import events as ev
from workbench.studies.arms.arm_registry import make_arm
from workbench.studies.arms.base import ArmContext
from workbench.studies.arms.run_arms import EngineArm
from workbench.studies.study_exam import exam_of
from workbench.studies.study_file import ArmSpec, StudyCell, StudySpec
from workbench.studies.study_plan import StudyPlan
from workbench.studies.study_state import StudyState, fold

SORT = "night"
QUICK, TREE = "quick", "tree"
#: Ways of the quick pass: kind of arm and its settings.
QUICK_PASSES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "zero-shot": ("zero-shot", {}),
    "prophet": ("prophet", {}),
    "batch-belief": ("belief", {"options": {"mode": "batch"}}),
    "search": ("search", {}),
    "notebook": ("notebook", {}),
    "statistical": ("statistical", {}),
}
#: What a round buys by its preset, beside the trees' own settings; of another preset what `product` does. ``own_words``: contexts are
#: searched for in the question's own words, and no model is asked what to search for.
ROUND_PRESETS: Mapping[str, Mapping[str, Any]] = {
    "quick": {"pool": "median", "promote": 0, "own_words": True},
    "product": {"pool": "logit-mean", "promote": 5},
    "best": {"pool": "logit-mean", "promote": 20},
}
_NUMBERED = re.compile(r"(.+)\.(\d+)\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundRules:
    """How a night is done; on record when it is opened, and not changed after."""

    #: A name in `QUICK_PASSES`.
    quick: str
    #: Builds the trees and gathers the contexts.
    model: str
    #: Asked in turn by the quick pass, where several are; in alphabetical order, so that the order in which they were named counts for nothing.
    models: Sequence[str] = ()
    #: Of the quick pass, each on its own.
    trials: int = 5
    #: How the trials of one model become one forecast; several models' count alike, in logit space.
    pool: str = "logit-mean"
    #: Events that get a tree after it, those with the most to gain.
    promote: int = 5
    #: Preset of the trees.
    preset: str = "product"
    #: Settings of the tree's arm, such as ``grounder`` or ``depth``.
    tree: Mapping[str, Any] = field(default_factory=dict)
    #: Of both arms: ``api_base``, ``prices``, ``timeout`` and the like.
    settings: Mapping[str, Any] = field(default_factory=dict)
    #: Whether both arms read the set's contexts, and whether those that are missing are gathered first.
    contexts: str = "stored"
    #: Search engines that contexts are gathered with; None: those that work here.
    engines: Sequence[str] | None = None
    #: Whether they search for the question's own words, and no model is asked what to search for.
    own_words: bool = False
    #: Most questions.
    size: int | None = None
    #: See `workbench.studies.rounds.triage`.
    skill: float = 0.1
    #: Whether forecasts are shrunk and calibrated by what this home's resolved ones teach (`workbench.studies.rounds.round_record`).
    own_record: bool = True

    def __post_init__(self) -> None:
        if self.quick not in QUICK_PASSES:
            raise UsageError(
                Option("quick", by_set=True), f" is one of {', '.join(QUICK_PASSES)}, not {self.quick!r:.40}"
            )
        if self.contexts not in ("stored", "gather", "none"):
            raise UsageError(Option("contexts"), f" is stored, gather or none, not {self.contexts!r:.40}")
        unknown = [name for name in self.engines or () if name not in ENGINES]
        if unknown:
            raise UsageError(
                f"there is no search engine {unknown[0]!r:.40}; ",
                Option("engines"),
                f" names some of {', '.join(ENGINES)}",
            )
        if self.engines and self.contexts != "gather":
            raise UsageError(Option("engines"), " goes with ", Option("contexts", "gather"))
        if self.trials < 1 or self.promote < 0 or (self.size is not None and self.size < 1):
            raise UsageError(
                Option("trials"),
                " and ",
                Option("size"),
                " are at least 1, ",
                Option("promote"),
                " at least 0",
            )

    @property
    def in_turn(self) -> tuple[str, ...]:
        """The models of the quick pass; trial n is the n-th one's, and begins again behind the last."""
        return tuple(sorted(set(self.models))) or (self.model,)

    def model_of(self, trial: int) -> str:
        """Whose a trial of the quick pass is."""
        return self.in_turn[(trial - 1) % len(self.in_turn)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """A night as its stream says.

    ``instant`` is when it was opened or what its cutoff means, aware; ``questions`` are the ids it is about, ``left_out`` the others
    with their reasons; ``crowd`` is what each event's crowd said then; ``contexts`` maps ids to the hashes of what its arms read, complete once ``gathered``; ``contexts_usd`` is
    what gathering them has cost so far, with calls that a kill left unanswered at their worst; None where a price is unknown.
    """

    name: str
    set_name: str
    cutoff: str
    instant: datetime
    rules: RoundRules
    questions: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...]
    crowd: Mapping[str, float]
    contexts: Mapping[str, str]
    gathered: bool
    contexts_usd: float | None
    budget_usd: float | None
    concurrency: int
    study: StudyState
    promoted: Mapping[str, ev.ForecastPromoted]

    @property
    def account(self) -> str:
        """The night's stream; replies to what its contexts asked stand under the same name in the ledger."""
        return f"{SORT}:{self.name}"

    @property
    def cost_usd(self) -> float | None:
        """Dollars of contexts and forecasts; None if a price is not known."""
        forecasts = self.study.cost_usd
        if forecasts is None or self.contexts_usd is None:
            return None
        return forecasts + self.contexts_usd


def round_name(store: Store, set_name: str) -> str:
    """The name of a set's next night: ``SET.1``, ``SET.2``, ..."""
    numbers = [number for name, number in map(_numbered, store.streams(SORT)) if name == set_name]
    return f"{set_name}.{max(numbers, default=0) + 1}"


def rounds_of(store: Store, set_name: str | None = None) -> list[str]:
    """Names of the nights of a set, or of all, the oldest first."""
    return [name for name in store.streams(SORT) if set_name is None or _numbered(name)[0] == set_name]


def _numbered(name: str) -> tuple[str, int]:
    match = _NUMBERED.match(name)
    return (match[1], int(match[2])) if match else (name, 0)


def load_round(store: Store, name: str) -> Round:
    """Return a night; the newest of a set where that is what is named. Raises ``UsageError`` with those there are."""
    known = store.streams(SORT)
    if name not in known and (own := rounds_of(store, name)):
        name = own[-1]
    if name not in known:
        listing = ", ".join(known) if known else "none; `tournament run SET` begins one"
        raise UsageError(f"there is no round {name!r:.60}; there is: {listing}")
    stored = store.events(f"{SORT}:{name}")
    study = fold(name, stored)
    facts = study.manifest
    return Round(
        name=name,
        set_name=facts["set"],
        cutoff=facts["cutoff"],
        instant=datetime.fromisoformat(facts["instant"]),
        rules=RoundRules(**facts["rules"]),
        questions=tuple(facts["questions"]),
        left_out=tuple((entry, reason) for entry, reason in facts["left_out"]),
        crowd=facts["crowd"],
        contexts=facts["contexts"],
        gathered=facts["gathered"],
        contexts_usd=_contexts_usd(store, f"{SORT}:{name}"),
        budget_usd=study.study.get("budget_usd"),
        concurrency=study.study.get("concurrency", 4),
        study=study,
        promoted={
            each.event.node: each.event
            for each in stored
            if isinstance(each.event, ev.ForecastPromoted) and each.event.node
        },
    )


def _contexts_usd(store: Store, account: str) -> float | None:
    return None if ModelLedger(store).cost(account) is None else spending(store, account).usd


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundPlan(StudyPlan):
    """One step of a night as something that `StudyRunner` works on: an arm, its events, its trials."""

    facts: Mapping[str, Any]
    trials: int

    def cells(self) -> list[StudyCell]:
        """A forecast per event and trial; one where the arm does not draw."""
        (name, arm), *_ = self.arms.items()
        trials = range(1, (self.trials if arm.draws else 1) + 1)
        return [
            StudyCell(name, event, 0, trial)
            for trial in trials
            for event in self.exam.events.event_id.tolist()
        ]

    def manifest(self) -> dict[str, Any]:
        """What the night is about and how it is done."""
        return {**self.facts, "cut": self.exam.cut()}


def arms_of(rules: RoundRules) -> dict[str, EngineArm]:
    """The night's two arms; raises ``UsageError`` for settings that a run refuses."""
    samples = {QUICK: rules.trials, TREE: 1}
    return {
        spec.name: make_arm(spec, ArmContext(folder=Path(), samples=samples[spec.name]))
        for spec in _arm_specs(rules)
    }


def _arm_specs(rules: RoundRules) -> tuple[ArmSpec, ArmSpec]:
    kind, settings = QUICK_PASSES[rules.quick]
    common = {"model": rules.model, **rules.settings}
    direct = {**common, "in_turn": rules.in_turn, **settings}
    if rules.preset == "best":
        direct = {"effort": "auto", "framings": list(FRAMINGS), **direct}
    tree = {"analytica": "L", "preset": rules.preset, **rules.tree}
    tree_kind = tree.pop("kind", None)
    if tree_kind is None:
        # the key-free analyst grounds in notebooks alone
        event = not rules.model.startswith("offline/")
        usual = with_preset(rules.preset, event=event).grounder
        tree_kind, tree = "grounder", {"grounder": usual, "event": event, **tree}
    return (
        ArmSpec(name=QUICK, kind=kind, settings=direct),
        ArmSpec(name=TREE, kind=str(tree_kind), settings={**common, **tree}),
    )


def round_facts(set_name: str, cutoff: Cutoff, rules: RoundRules, **more: Any) -> dict[str, Any]:
    """The manifest of a night; a live cutoff stays live, and ``instant`` says when that was."""
    return {
        "set": set_name,
        "cutoff": cutoff.text,
        "instant": cutoff.instant.isoformat(timespec="seconds"),
        "rules": asdict(rules),
        **more,
    }


def step_plan(
    store: Store, name: str, facts: Mapping[str, Any], step: str, events: Sequence[str] | None = None,
    *, budget_usd: float | None, concurrency: int, news: str = "",
) -> RoundPlan:  # fmt: skip
    """The plan of one step: all open events of the night, or those named; ``news`` stands for contexts that are still to be gathered."""
    rules = RoundRules(**facts["rules"])
    questions = load_set(store, facts["set"])
    chosen = open_events(questions, facts["questions"])
    if events is not None:
        chosen = [event for event in chosen if event.id in events]
    spec = StudySpec(
        name=name,
        exam=({"set": facts["set"]},),
        arms=_arm_specs(rules),
        trials=rules.trials,
        budget_usd=budget_usd,
        concurrency=concurrency,
    )
    texts = {question: store.text(digest) for question, digest in facts["contexts"].items()}
    asked = [questions.questions[name] for name in dict.fromkeys(event.question for event in chosen)]
    table = events_table(asked, asked=True)
    present = {event.id: event.question for event in chosen}
    return RoundPlan(
        spec=spec,
        exam=exam_of(
            table.take(np.flatnonzero(np.isin(table.event_id, [*present]))),
            dict.fromkeys(present, str(facts["cutoff"])),
            asked,
            news={event: texts.get(question, news) for event, question in present.items()},
        ),
        arms={step: arms_of(rules)[step]},
        facts=facts,
        trials=rules.trials if step == QUICK else 1,
    )


def plan_of(
    store: Store,
    night: Round,
    step: str,
    events: Sequence[str] | None = None,
    *,
    budget_usd: float | None = None,
    concurrency: int | None = None,
) -> RoundPlan:
    """The plan of one step of a night on record, with what may change when it goes on."""
    return step_plan(
        store,
        night.name,
        night.study.manifest,
        step,
        events,
        budget_usd=night.budget_usd if budget_usd is None else budget_usd,
        concurrency=concurrency or night.concurrency,
    )


def open_events(questions: QuestionSet, ids: Sequence[str]) -> list[QuestionEvent]:
    """Events of these questions that have no outcome, in the questions' order."""
    return [
        event
        for name in ids
        if name in questions.questions
        for event in asked_events(questions.questions[name])
        if event.outcome is None
    ]
