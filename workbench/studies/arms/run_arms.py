"""Arms whose forecasts are runs of the engine: a grounder alone, or below Analytica's tree with rule V, S or L and depth n.

Each kind is a row of `RUN_KINDS`: the names of agents that the registry knows, and their settings. An agent that another package
brings is an arm too: ``arm: grounder`` with its name.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from proxies.asof.clock import Cutoff
from workbench.agents.base import KnownContext
from workbench.agents.grounders.thought_replies import YES
from workbench.agents.loop.toolset import ALL_TOOLS, WEB_TOOLS
from workbench.agents.registry import agent_names
from workbench.engine.expected_cost import analysis_calls, forecast_of
from workbench.engine.new_run import Agents
from workbench.engine.run_settings import PRESETS, RunSettings, with_preset
from workbench.errors import UsageError
from workbench.models.costs import price_of
from workbench.plug_points import GROUNDERS
from workbench.studies.arms.base import ArmContext, ArmError, ArmPrice
from workbench.studies.study_exam import StudyExam
from workbench.studies.study_file import ArmSpec, StudyCell, StudySpec

#: Paper B's agent as the paper bounds it (App. C.2, J.1): steps and time, its clamp, a first belief of one half; no stop of ours
#: for moves that brought nothing, which would end one ablation at its belief and the other at 0.5.
PAPER_B: Mapping[str, Any] = {"errors": None, "start": "even", "clamp": [0.05, 0.95]}

#: Kind -> grounder and its settings. Without ``analytica`` the claim itself is the only leaf.
RUN_KINDS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "notebook": ("notebook", {}),
    "zero-shot": ("zero-shot", {}),
    "halawi": ("zero-shot", {"form": "halawi"}),
    "prophet": ("zero-shot", {"form": "brief"}),
    "recall": ("zero-shot", {"form": "recall"}),
    "tot": ("tree-of-thoughts", {}),
    "got": ("graph-of-thoughts", {}),
    "fot": ("forest-of-thoughts", {}),
    "search": ("search", {}),
    "deep_research": ("deep_research", {}),
    "belief": ("belief", PAPER_B),
    # Paper B's ablations of the agent: without a belief state, all look-ups at once, without the web, without any tool (J.4), and
    # with a cutoff that hides nothing, which is an upper bound.
    "belief-nobel": ("belief", {**PAPER_B, "belief": False}),
    "belief-batch": ("belief", {**PAPER_B, "mode": "batch"}),
    "belief-no-search": (
        "belief",
        {**PAPER_B, "tools": [name for name in ALL_TOOLS if name not in WEB_TOOLS]},
    ),
    "belief-no-tools": ("belief", {**PAPER_B, "mode": "zero-shot"}),
    "belief-clairvoyant": ("belief", {**PAPER_B, "clairvoyant": True}),
    # Paper P, D.3: several ways of asking; paper B, C.8: a model that reads several answers.
    "prompt-ensemble": ("zero-shot", {"elicit": "ensemble"}),
    "both-directions": ("zero-shot", {"elicit": "both-directions"}),
    "self-consistency": ("zero-shot", {"elicit": "votes"}),
    "weighted-self-consistency": ("zero-shot", {"elicit": "weighted-votes"}),
    "llm-aggregation": ("zero-shot", {"elicit": "aggregate"}),
    "scaffold": ("zero-shot", {"elicit": "scaffold"}),  # paper P, D.7.2
    "statistical": ("statistical", {}),
}
#: Letter of paper A -> rule.
ANALYTICA = {"V": "vanilla", "S": "logic", "L": "linear"}
#: Of a tree at depth 1 that is to have ten leaves, about (paper A, Table 1: 19.9 nodes on average).
_LEAVES, _INNER, _MAX_LEAVES = 13, 5, 10


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineArm:
    """An arm of runs; ``base`` holds the settings without what differs from cell to cell."""

    name: str
    base: RunSettings
    crowd: bool
    read_context: bool = True
    prior: str | None = None
    """Column of an empirical prior that the belief agent is shown (paper B, C.7)."""
    in_turn: tuple[str, ...] = ()
    """Models that are asked in turn, trial by trial; without any the one of ``base``."""
    samples: int = 1
    """How often it is asked of each event."""

    @property
    def models(self) -> tuple[str, ...]:
        """Every model that its runs are asked of."""
        return self.in_turn or (self.base.model,)

    def model_of(self, trial: int) -> str:
        """Whose run a trial is."""
        return self.models[(trial - 1) % len(self.models)]

    def base_of(self, model: str) -> RunSettings:
        """The settings of one of its models; another provider's key is not sent to a server of one's own."""
        here = model.partition("/")[0] == self.base.model.partition("/")[0]
        return replace(self.base, model=model, api_base=self.base.api_base if here else None)

    @property
    def draws(self) -> bool:
        """Models draw; the offline analyst gives the same each time."""
        return not self.base.model.startswith("offline/") or self.base.rule == "random"

    @property
    def joint(self) -> bool:
        """Whether one run forecasts all outcomes of an event (paper P's task)."""
        alone = self.base.analyzer == "single" and self.base.trials == 1
        return alone and self.base.grounder == "zero-shot" and self._form in ("brief", "plain")

    @property
    def shares_prompts(self) -> bool:
        """Whether one model is asked the same several times, so that a provider's cache serves all but the first."""
        return self.joint and self.draws and self.samples > len(self.models)

    @property
    def clairvoyant(self) -> bool:
        """Whether its runs have no cutoff: an upper bound and no forecast."""
        return bool(self._options.get("clairvoyant"))

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the exam that it shows to its model."""
        return ("crowd",) * self.crowd + (() if self.prior is None else (self.prior,))

    @property
    def _form(self) -> str:
        return "elicited" if "elicit" in self._options else str(self._options.get("form", "plain"))

    @property
    def _options(self) -> Mapping[str, Any]:
        options: Mapping[str, Any] = self.base.options.get("grounder", {})
        return options

    def price(self, exam: StudyExam | None = None, cell: StudyCell | None = None) -> ArmPrice:
        """Calls, tokens and dollars of one run, by `engine.expected_cost`."""
        single = self.base.analyzer == "single"
        usual = round(self.base.agent.max_leaves * _LEAVES / _MAX_LEAVES)
        leaves = 1 if single else self.base.leaf_target or usual ** min(self.base.depth, 2)
        inner = 0 if single else max(1, round(leaves * _INNER / _LEAVES))
        prior = {"prior": 1} if inner and self.base.agent.root_prior else {}
        about: dict[str, Any] = {}
        if exam is not None and cell is not None:
            cutoff = "now" if self.clairvoyant else exam.cutoffs[cell.event]
            about = {"claim": exam.statements[cell.event].text, "cutoff": Cutoff.parse(cutoff)}
        expected = forecast_of(
            self.base if exam is None or cell is None else self.settings(exam, cell),
            leaves=leaves,
            inner=inner,
            beside=analysis_calls(self.base, inner) | prior,
            **about,
        )
        return ArmPrice(calls=expected.model_calls, tokens_in=expected.input_tokens, usd=expected.cost_usd)

    def price_of_samples(self, exam: StudyExam, cell: StudyCell, count: int) -> ArmPrice:
        """What it takes to ask so often of one event, the shared beginning at the price of a provider's cache."""
        one = self.price(exam, cell)
        model = self.model_of(cell.trial)
        price = price_of(model, self.base.prices) if self.shares_prompts else None
        if price is None or one.usd is None:
            return one * count
        whole = one * count
        return replace(whole, usd=(whole.usd or 0.0) - price.saved(model, round(one.tokens_in), count))

    def settings(self, exam: StudyExam, cell: StudyCell) -> RunSettings:
        """The arm's settings with the context of this event, and the seed of its random rule."""
        context = exam.contexts.get(cell.event, KnownContext()).plain()
        crowd = _column(exam, "crowd") if self.crowd else {}
        own: dict[str, Any] = {}
        if self.joint:
            own = _event_options(exam, cell.event, crowd, paper=self._form == "brief")
            crowd = {} if own or self._form == "brief" else crowd
        elif self.prior is not None and cell.event in (priors := _column(exam, self.prior)):
            own = {"prior": priors[cell.event]}
        if self.shares_prompts:
            own |= {"sampled": True}
        # Each trial is a run of its own, whose only one looks at the question in the next way.
        place = (cell.trial - 1) // len(self.models)
        framings = self.base.framings[place % (len(self.base.framings) or 1) :][:1]
        options = {"grounder": {**self._options, **own}} if own else {}
        return replace(
            self.base_of(self.model_of(cell.trial)),
            framings=framings if self.base.trials == 1 else self.base.framings,
            options={**self.base.options, **options},
            context=replace(
                context, crowd=crowd.get(cell.event), **({} if self.read_context else {"news": ""})
            ),
            agent=replace(self.base.agent, rule_seed=cell.seed * 1000 + cell.trial),
        )


def _column(exam: StudyExam, name: str) -> dict[str, float]:
    values = zip(exam.events.event_id.tolist(), exam.events.probability(name).tolist(), strict=True)
    return {event: p for event, p in values if np.isfinite(p)}


def _event_options(exam: StudyExam, event: str, crowd: Mapping[str, float], *, paper: bool) -> dict[str, Any]:
    if event in exam.joint:
        return exam.joint[event].options(event, crowd, paper=paper)
    return {"outcomes": [YES], "prices": {YES: crowd[event]}} if paper and event in crowd else {}


def run_arm(spec: ArmSpec, context: ArmContext) -> EngineArm:
    """An arm of `RUN_KINDS`, or ``arm: grounder`` with ``grounder``.

    Settings: ``model``, ``preset``, ``analytica`` (V, S or L), ``depth``, ``max_leaves``, ``options`` (of the grounder), ``crowd``
    (whether the market's probability is shown), ``prior`` (the column of an empirical prior that a belief agent is shown),
    ``read_context`` (whether the study's context is), and any field of `RunSettings` or `AgentSettings`.

    Raises `ArmError`: A grounder that is not installed here, an unknown letter, or settings that a run refuses.
    """
    settings = dict(spec.settings)
    if spec.kind == "grounder":
        grounder, options = str(settings.pop("grounder", "")), {}
    else:
        grounder, defaults = RUN_KINDS[spec.kind]
        options = dict(defaults)
    if grounder not in agent_names(GROUNDERS):
        raise ArmError(
            f"arm {spec.name!r} needs the grounder {grounder!r}, which is not installed here: {', '.join(agent_names(GROUNDERS))}"
        )
    options |= settings.pop("options", {}) or {}
    letter = settings.pop("analytica", None)
    if letter is not None and letter not in ANALYTICA:
        raise ArmError(f"arm {spec.name!r}: analytica is {', '.join(ANALYTICA)}, not {letter!r}")
    preset = str(settings.pop("preset", "product"))
    if preset not in PRESETS:
        raise ArmError(f"arm {spec.name!r}: unknown preset {preset!r}: one of {', '.join(PRESETS)}")
    crowd, read_context = settings.pop("crowd", False), settings.pop("read_context", True)
    prior, event = settings.pop("prior", None), bool(settings.pop("event", False))
    in_turn = tuple(settings.pop("in_turn", ()))
    if prior is not None and (grounder != "belief" or not isinstance(prior, str)):
        raise ArmError(f"arm {spec.name!r}: prior names the column of a prior, for belief agents")
    tree: dict[str, Any] = (
        {"analyzer": "rounds", "rule": ANALYTICA[letter], "combine_per_node": False}
        if letter
        else {"analyzer": "single"}
    )
    for fixed in ("budget_usd", "context", "background"):
        if fixed in settings:
            raise ArmError(f"arm {spec.name!r}: {fixed} is the study's, not an arm's")
    try:
        base = with_preset(
            preset,
            event=event,
            **{"grounder": grounder, "options": {"grounder": options} if options else {}, **tree, **settings},
        )
        _check_agents(base)
    except UsageError as error:
        raise ArmError(f"arm {spec.name!r}: {' '.join(str(error).split())}") from None
    except TypeError as error:
        raise ArmError(f"arm {spec.name!r}: {str(error).rpartition('() ')[2]}") from None
    return EngineArm(
        name=spec.name,
        base=base,
        crowd=bool(crowd),
        read_context=bool(read_context),
        prior=prior,
        in_turn=in_turn,
        samples=context.samples,
    )


def settings_for_arms(named: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings that were named for a whole study or night as its arms take them: ``options`` are the grounder's alone.

    Raises ``UsageError`` for settings of another agent.
    """
    values = dict(named)
    options = dict(values.pop("options", {}))
    own = options.pop("grounder", None)
    if options:
        raise UsageError(f"arms take settings of the grounder alone, not of the {next(iter(options))}")
    return values if own is None else {**values, "options": own}


def with_settings(spec: StudySpec, named: Mapping[str, Any]) -> StudySpec:
    """Return a study whose arms of runs have other settings; the budget in dollars is the study's own."""
    values = settings_for_arms(named)
    budget = values.pop("budget_usd", spec.budget_usd)
    arms = tuple(
        arm.model_copy(update={"settings": {**arm.settings, **values}})
        if arm.kind in RUN_KINDS or arm.kind == "grounder"
        else arm
        for arm in spec.arms
    )
    return spec.with_changes(arms=arms, budget_usd=budget)


def _check_agents(settings: RunSettings) -> None:
    settings.require_installed()
    Agents(settings)
