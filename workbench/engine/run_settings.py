"""What shapes a run, as one value that is stored with it, and the presets that carry the papers' numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal

from proxies.secret_registry import SECRETS
from workbench.agents.base import FRAMINGS, AgentSettings, ClaimContext
from workbench.engine.leaves.aggregation import Aggregation
from workbench.errors import UsageError
from workbench.models.base import MODEL_ROLES
from workbench.models.costs import REPLY_TOKENS
from workbench.models.model_options import OFFLINE, ONE_TRY, RATES, ReplyForm
from workbench.plug_points import (
    ANALYZERS,
    GROUNDERS,
    MODELS,
    SOURCES,
    SYNTHESIZERS,
    package_of,
    plugin_names,
)
from workbench.propositions import ROOT
from workbench.propositions.strict_json import STRICT, read_strict
from workbench.requests import Setting, check_settings, fields_of, setting
from workbench.synthesis.coherence.option_sets import PAPER_THRESHOLD, PRODUCT_THRESHOLD
from workbench.synthesis.rules.pooled import EVEN

Isolation = Literal["namespaces", "landlock", "none"]
#: Steps that wait for a person's word: ``--approve``.
Approve = Literal["none", "calls", "pages"]
ISOLATION_LEVELS: tuple[Isolation, ...] = ("namespaces", "landlock", "none")
MAX_NUMBER = 9999  # of a trial or attempt, which stand in file names


def check_level(level: str) -> str:
    """Return the name of an isolation level as it is; raises ``UsageError`` for an unknown one."""
    if level not in ISOLATION_LEVELS:
        raise UsageError(f"unknown isolation {level!r}: one of {', '.join(ISOLATION_LEVELS)}")
    return level


def is_price(values: Sequence[float]) -> bool:
    """Whether these are US dollars in, out and, if there are three, of cached input: a budget cannot be kept with NaN or less than 0."""
    return len(values) in (2, 3) and all(0 <= value < float("inf") for value in values)


#: Forecasts a claim itself, in one request: how rounds do it.
DIRECT = "zero-shot"
#: Limits of a run; each has a twin for one leaf, ``leaf_budget_usd`` and so on.
LIMITS = ("budget_usd", "budget_tokens", "budget_calls", "budget_seconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """Everything that shapes a run besides its statement and cutoff; each setting says what it is.

    ``isolation`` is the level that was asked for by name when the run was made, None where nothing was asked; it is a record and
    never decides where kernels start. ``budget_*`` bound the whole run, however often it was resumed; None is no limit.
    ``max_residual`` None says what ``strict`` says. ``options`` are settings of one agent alone, by role (``analyzer``,
    ``grounder``, ``synthesizer``); that agent checks them. ``packages`` says which installed package brought an agent or the
    model (role ``model``) where it is not ours, by role, and the data sources that were there (role ``source NAME``). ``keyed``
    names the sources whose keys were set when the run was opened (None: not on record); prompts show what worked then, so that a
    resumed run asks what it asked.
    """

    model: str = setting(
        OFFLINE,
        "Model",
        "offline/analyst, or provider/model as LiteLLM spells it.",
        option="--model",
        resume=True,
    )
    api_base: str | None = setting(
        None, "Model", "Base URL of an OpenAI-compatible server.", option="--api-base", resume=True
    )
    analyzer: str = setting("rounds", "Tree", "How the claim is broken into a tree.", option="--analyzer")
    grounder: str = setting(
        "notebook",
        "Drivers",
        "How evidence is collected: in notebooks, or by an agent that looks things up.",
        option="--grounder",
        in_file="any",
    )
    rule: str = setting("linear", "Tree", "How children are combined.", option="--rule", in_file="any")
    preset: str = setting(
        "product",
        "Tree",
        "What a run buys: quick (five forecasts, their median), product, best; or a paper's: analytica-paper, blf-paper, prophet-paper.",
        option="--preset",
        in_file="any",
    )
    depth: int = setting(
        1,
        "Tree",
        "n of Analytica^n: drivers are analyzed again n - 1 times (paper A, section 4.4).",
        option="--depth",
        in_file="any",
        low=1,
        high=MAX_NUMBER,
    )
    leaf_target: int | None = setting(
        None,
        "Tree",
        "Expand drivers one after another up to this many (paper A, section 5.3).",
        in_file="any",
        low=1,
    )
    trials: int = setting(
        1,
        "Drivers",
        "Independent forecasts per driver.",
        option="--trials",
        in_file="any",
        low=1,
        high=MAX_NUMBER,
    )
    framings: list[str] = setting(
        [],
        "Drivers",
        "What the trials of a driver are asked to do first, in turn: outside (count comparable cases), no_first, yes_first (argue that side). Empty: all are asked alike.",
        in_file="no",
    )
    direct: int = setting(
        0,
        "Tree",
        "Forecasts of the claim itself beside its drivers, pooled with the tree in logit space; 0: the tree alone.",
        in_file="any",
        low=0,
        high=MAX_NUMBER,
    )
    direct_models: list[str] = setting(
        [],
        "Tree",
        "Models that forecast the claim itself in turn, where several are named; their forecasts count alike.",
        in_file="no",
    )
    tree_weight: float = setting(
        EVEN,
        "Tree",
        "Weight of the tree beside the direct forecasts, in logit space; what the own record teaches, or one half where it is short.",
        low=0,
        high=1,
    )
    search_first: bool = setting(
        False,
        "Data",
        "Search once for what is new about the claim before anything is asked of it, as of the cutoff.",
    )
    concurrency: int = setting(
        20,
        "Model",
        "Requests to the model at once.",
        option="--concurrency",
        resume=True,
        low=1,
        high=MAX_NUMBER,
    )
    budget_usd: float | None = setting(
        None,
        "Budget",
        "Most US dollars the model may cost; the run stops before, resumable.",
        option="--budget-usd",
        resume=True,
        in_file="less",
        above=0,
    )
    budget_tokens: int | None = setting(
        None,
        "Budget",
        "Most tokens, input and output.",
        option="--budget-tokens",
        resume=True,
        in_file="less",
        above=0,
    )
    budget_calls: int | None = setting(
        None,
        "Budget",
        "Most requests to the model.",
        option="--budget-calls",
        resume=True,
        in_file="less",
        above=0,
    )
    budget_seconds: float | None = setting(
        None,
        "Budget",
        "Most seconds of work, however often it was resumed.",
        option="--budget-seconds",
        resume=True,
        in_file="less",
        above=0,
    )
    leaf_budget_usd: float | None = setting(
        None,
        "Budget",
        "budget_usd of one driver; one that reaches it waits, the others go on.",
        resume=True,
        above=0,
    )
    leaf_budget_tokens: int | None = setting(
        None,
        "Budget",
        "budget_tokens of one driver; one that reaches it waits, the others go on.",
        resume=True,
        above=0,
    )
    leaf_budget_calls: int | None = setting(
        None,
        "Budget",
        "budget_calls of one driver; one that reaches it waits, the others go on.",
        resume=True,
        above=0,
    )
    leaf_budget_seconds: float | None = setting(
        None,
        "Budget",
        "budget_seconds of one driver; one that reaches it waits, the others go on.",
        resume=True,
        above=0,
    )
    prices: dict[str, list[float]] = setting(
        {},
        "Budget",
        "US dollars per million input and output tokens of a model, instead of the listed ones; CACHED is the price of input that comes from the provider's cache, IN without it.",
        option="--price",
        resume=True,
        in_file="no",
        form="MODEL=IN,OUT[,CACHED]",
    )
    reply_tokens: int = setting(
        REPLY_TOKENS,
        "Budget",
        "Tokens of one reply that the cost forecast counts with; models that think write more.",
        in_file="any",
        low=1,
        high=10**9,
    )
    limits: dict[str, dict[str, float]] = setting(
        {}, "Model", "How much a provider is asked, by its name: requests and tokens a minute.", in_file="no"
    )
    models: dict[str, str] = setting(
        {},
        "Model",
        "A model for one role: analyzer, grounder, synthesizer, critic (reads new drivers; without one nobody does), reader or judge. Can be given several times.",
        option="--model-for",
        resume=True,
        in_file="no",
        form="ROLE=MODEL",
    )
    fallback: list[str] = setting(
        [],
        "Model",
        "A model that answers where another one is down, rejects a request or declines it. Several: in this order.",
        option="--fallback",
        resume=True,
    )
    reply_form: ReplyForm = setting(
        "auto",
        "Model",
        "auto asks for JSON schemas where LiteLLM's list says that the model takes them; text never, schema always.",
        resume=True,
    )
    headers: dict[str, str] = setting(
        {},
        "Model",
        "Headers of every request to a remote model; a value names an environment variable (env:NAME).",
        in_file="no",
    )
    body: dict[str, Any] = setting({}, "Model", "What goes with every request to a remote model besides.")
    cell_timeout: float | None = setting(
        None, "Drivers", "Seconds a notebook cell may run; 120 without it.", resume=True, above=0
    )
    timeout: float | None = setting(
        None,
        "Model",
        "Seconds a model may be silent before its answer is given up.",
        option="--timeout",
        resume=True,
        above=0,
    )
    patience: float = setting(
        900.0,
        "Model",
        "Seconds a provider may answer nobody before the run stops, resumable.",
        resume=True,
        above=0,
    )
    approve: Approve = setting(
        "none",
        "Sandbox",
        "calls (data) or pages (of the web): each waits until a person has said yes or no; none is the default.",
        option="--approve",
        resume=True,
        in_file="no",
    )
    isolation: Isolation | None = setting(
        None,
        "Sandbox",
        "Sandbox level: namespaces, landlock, none; without it the best sealed level that works here.",
        option="--isolation",
        in_file="no",
    )
    max_proof_retries: int = setting(
        3,
        "Drivers",
        "Attempts that a driver gets before the run stops (paper A, C.1).",
        low=1,
        high=MAX_NUMBER,
    )
    strict: bool = setting(False, "Data", "Refuse data whose date cannot be fully proven.")
    max_residual: Literal["none", "low", "medium", "high"] | None = setting(
        None,
        "Data",
        "Refuse data with more residual risk of later knowledge than none, low, medium or high; strict means medium.",
    )
    threshold: float = setting(
        PRODUCT_THRESHOLD, "Tree", "Probability above which a driver is taken as true (paper A, C.1)."
    )
    agent: AgentSettings = field(default_factory=AgentSettings)
    aggregation: Aggregation = field(default_factory=Aggregation)
    options: dict[str, dict[str, Any]] = field(default_factory=dict)
    packages: dict[str, str] = field(default_factory=dict)
    keyed: tuple[str, ...] | None = None
    context: ClaimContext = field(default_factory=ClaimContext)

    __pydantic_config__ = STRICT

    def __post_init__(self) -> None:
        check_settings(self)
        if unknown_framings := set(self.framings) - set(FRAMINGS):
            raise UsageError(
                f"framings are {', '.join(FRAMINGS)}, not {', '.join(sorted(map(str, unknown_framings)))}"
            )
        if unknown_roles := set(self.models) - set(MODEL_ROLES):
            raise UsageError(
                f"no role is called {', '.join(sorted(unknown_roles))}: one of {', '.join(MODEL_ROLES)}"
            )
        for name, value in self.headers.items():
            if not value.startswith("env:"):
                raise UsageError(
                    f"the header {name} must name an environment variable (env:NAME), because API keys are not stored with a run"
                )
        for model, price in self.prices.items():
            if not is_price(price):
                raise UsageError(
                    f"the price of {model} must be two numbers, US dollars per million input and output tokens, or three with"
                    " that of cached input"
                )
        for provider, rates in self.limits.items():
            if set(rates) - set(RATES) or not all(0 < rate < float("inf") for rate in rates.values()):
                raise UsageError(f"the limits of {provider} are numbers above 0 of {' and '.join(RATES)}")
        unknown = set(self.options) - {"analyzer", "grounder", "synthesizer"}
        if unknown:
            raise UsageError(
                f"options belong to analyzer, grounder or synthesizer, not {', '.join(sorted(unknown))}"
            )

    def changed(self, changes: Mapping[str, Any]) -> "RunSettings":
        """Return the settings with those that a resumed run was given; raises ``UsageError`` for what cannot be changed."""
        fixed = set(changes) - CHANGEABLE
        if fixed:
            raise UsageError(f"a run keeps its {', '.join(sorted(fixed))}: analyze the claim anew")
        own = {name: value for name, value in changes.items() if name not in CHANGEABLE_BOUNDS}
        bounds = {name: value for name, value in changes.items() if name in CHANGEABLE_BOUNDS}
        now = self.to_json()
        return RunSettings.from_json({**now, **own, "agent": {**now["agent"], **bounds}})

    @property
    def stays_here(self) -> bool:
        """Whether no language model reads what the run reads: the analyst that ships with the workbench answers alone."""
        return {self.model, *self.direct_models, *self.models.values(), *self.fallback} == {OFFLINE}

    def with_news(self, text: str) -> "RunSettings":
        """Return the settings with a text of news, which every request shows."""
        return replace(self, context=replace(self.context, news=text))

    def direct_model(self, trial: int) -> str:
        """Return the model that makes a direct forecast of the claim; models take turns, in alphabetical order."""
        return self.direct_models[(trial - 1) % len(self.direct_models)] if self.direct_models else self.model

    def pooled(self, node: str, trials: Mapping[int, float], *, dead: int = 0) -> float:
        """Return what the trials of a node, by their numbers, count as together; several models' count alike, in logit space."""
        rule = Aggregation() if node == ROOT and self.direct else self.aggregation
        by_model = self.by_model(trials) if node == ROOT else {}
        if len(by_model) > 1:
            return Aggregation().combine([rule.combine(values) for values in by_model.values()])
        return rule.combine([*trials.values()], dead=dead)

    def by_model(self, trials: Mapping[int, float]) -> dict[str, list[float]]:
        """Return the direct forecasts of the claim, given by their numbers, grouped by the model that made them."""
        own: dict[str, list[float]] = {}
        for number, p in sorted(trials.items()):
            own.setdefault(self.direct_model(number), []).append(p)
        return own

    def trials_at(self, node: str) -> int:
        """Return the number of a node's last trial; direct forecasts are trials of the claim."""
        return max(self.trials, self.direct) if node == ROOT else self.trials

    def model_options(self, environ: Mapping[str, str]) -> dict[str, Any]:
        """Return what ``open_models`` needs beside the names; raises ``UsageError`` for a header whose variable is not set."""
        headers = {}
        for name, value in self.headers.items():
            variable = value.removeprefix("env:")
            if variable not in environ:
                raise UsageError(f"the header {name} is read from {variable}, which is not set")
            headers[name] = environ[variable]
            SECRETS.add(environ[variable])
        return {
            "roles": self.models,
            "others": self.direct_models,
            "fallback": self.fallback,
            "api_base": self.api_base,
            "retries": ONE_TRY.with_timeout(self.timeout),
            "reply_form": self.reply_form,
            "headers": headers,
            "body": self.body,
        }

    def parts(self) -> dict[str, tuple[str, str]]:
        """Return plug point and name of each part of the run, by role; a model is known by its provider."""
        return {
            "model": (MODELS, self.model.partition("/")[0]),
            "analyzer": (ANALYZERS, self.analyzer),
            "grounder": (GROUNDERS, self.grounder),
            "synthesizer": (SYNTHESIZERS, self.rule),
        }

    def with_packages(self) -> "RunSettings":
        """Return the settings with the packages that bring this run's parts now; called when a run is opened."""
        packages = {role: package_of(*part) for role, part in self.parts().items()}
        packages |= {f"source {name}": package_of(SOURCES, name) for name in plugin_names(SOURCES)}
        return replace(self, packages={role: package for role, package in packages.items() if package})

    def not_installed(self) -> tuple[str, ...]:
        """Return the parts whose packages are gone, each as ``grounder NAME (package NAME VERSION)``; for screens."""
        return tuple(
            f"{role} {name} (package {self.packages[role]!s:.80})"
            for role, (group, name) in self.parts().items()
            if role in self.packages and name not in plugin_names(group)
        )

    def sources_not_installed(self) -> dict[str, str]:
        """Return the data sources whose packages are gone, by name, each as ``source NAME (package NAME VERSION)``.

        The run may have read from none of them: its ledger says.
        """
        present = plugin_names(SOURCES)
        return {
            name: f"source {name} (package {package!s:.80})"
            for role, package in self.packages.items()
            for kind, _, name in [role.partition(" ")]
            if kind == "source" and name not in present
        }

    def require_installed(self) -> None:
        """Raise ``UsageError`` that names the packages to install, if a part of the run is gone."""
        if absent := self.not_installed():
            raise UsageError(f"this run needs what is not installed here: {'; '.join(absent)}")

    def to_json(self) -> dict[str, Any]:
        """Return the settings as JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "RunSettings":
        """Return the settings that ``to_json`` wrote; called for every run that is read.

        Raises ``UsageError``, in one line, for an unknown key or a value of another kind: settings decide what a resumed
        run spends and sends, so nothing in them is guessed. Keys that came later may be missing; the agents' bounds may not.
        """
        if "agent" not in data:
            raise UsageError("the settings of the run are incomplete: they have no bounds of the agents")
        return read_strict(cls, data, what="the settings of the run")


#: Bounds of the agents that ``resume`` may change; a leaf that was begun keeps its number of steps, which its prompts name.
CHANGEABLE_BOUNDS = tuple(
    each.name for each in fields_of(AgentSettings) if isinstance(each.says, Setting) and each.says.resume
)

#: What ``resume`` may change: what a run spends, asks and waits for, nothing that shapes its tree or its proofs.
CHANGEABLE = {
    *CHANGEABLE_BOUNDS,
    *(each.name for each in fields_of(RunSettings) if isinstance(each.says, Setting) and each.says.resume),
}

#: Preset name -> the values it sets. ``product`` is what the dataclasses say; the papers' values are summarised in docs/science/where-we-differ.md.
PRESETS: dict[str, dict[str, Any]] = {
    "product": {},
    # What a public tournament bot buys: five forecasts of the claim alone, side by side.
    "quick": {
        "trials": 5,
        "analyzer": "single",
        "grounder": "zero-shot",
        "aggregation": {"pool": "median"},
    },
    # What we would ask for where the number matters more than the bill (docs/develop/decisions.md): three trials that begin at different
    # ends, pooled in logit space; the evidence that fits each driver; thought where the model can think.
    "best": {
        "trials": 3,
        "framings": list(FRAMINGS),
        "grounder": "auto",
        "agent": {"effort": "auto", "root_prior": True, "tree_critic": True},
    },
    # Paper A, appendix C.1 and section 5: one trial, at most 20 leaves grounded at once, ten leaves before the check.
    "analytica-paper": {
        "trials": 1,
        "concurrency": 20,
        "max_proof_retries": 3,
        "threshold": PAPER_THRESHOLD,
        "agent": {
            "max_leaves": 10,
            "max_proof_steps": 20,
            "debug_max_retries": 5,
            "max_exception_retry": 3,
            "max_interrupt_times": 5,
            "abs_intercept_max": 0.1,
            "stated_p_tolerance": 0.02,
            "stand_by": False,
            "require_pa": True,
            "combine_per_node": False,
            "temperature": 0.1,
            "truncate_debug": True,
            "critic": False,
            "share_calls": False,
            # The paper bounds the asks of an exchange, not those of a leaf.
            "extra_ask_share": None,
        },
    },
    # Paper B, section 3, App. C.2 and C.8 to C.11: the belief agent with ten steps and ten minutes, its answers clamped, five
    # independent trials, all of them run, pooled in logit space, a dead one as 0.5; shrinkage and calibration fitted on the own record.
    "blf-paper": {
        "trials": 5,
        "grounder": "belief",
        "agent": {"share_calls": False},
        "options": {
            "grounder": {
                "steps": 10,
                "seconds": 600.0,
                "errors": None,
                "start": "even",
                "clamp": [0.05, 0.95],
                "compact_over": 2000,
            }
        },
        "aggregation": {"dead": "impute", "learn": True},
    },
    # Paper P, section 2 and App. F.1.2: one call over the context that every model is given, three sentences; no tree, no tools.
    "prophet-paper": {
        "trials": 1,
        "analyzer": "single",
        "grounder": "zero-shot",
        "options": {"grounder": {"form": "brief"}},
    },
}

#: What a preset sets besides where a language model is asked about an event, which no series decides: few drivers, news before figures,
#: and an end of the looking where it does not move the number any more (docs/develop/decisions.md).
FOR_EVENTS: dict[str, dict[str, Any]] = {
    "product": {
        "grounder": "auto",
        "agent": {"max_leaves": 4, "max_proof_steps": 4},
        "options": {
            "grounder": {
                "among": ["statistical", "market", "belief", "notebook"],
                "undecided": "belief",
                "belief": {"still": 2, "tools": ["search", "open_page"]},
            }
        },
    },
    "best": {"agent": {"max_leaves": 5}},
}


_POOLED = {"direct": 5, "search_first": True}
#: What a preset buys besides for a claim that a language model is asked about alone: a round searches and forecasts directly by itself.
FOR_CLAIMS: dict[str, dict[str, Any]] = {"quick": {"search_first": True}, "best": _POOLED}
#: The same where several models are: by the tree alone the second would have nothing to say.
FOR_SEVERAL_MODELS: dict[str, dict[str, Any]] = {**FOR_CLAIMS, "product": _POOLED}


def _preset_values(preset: str, *, event: bool, bought: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    if preset not in PRESETS:
        raise UsageError(f"unknown preset {preset!r}: one of {', '.join(PRESETS)}")
    values = dict(PRESETS[preset])
    more = {**(FOR_EVENTS.get(preset, {}) if event else {}), **bought.get(preset, {})}
    return {**values, **more, "agent": {**values.get("agent", {}), **more.get("agent", {})}}


def with_preset(preset: str, *, event: bool = False, claim: bool = False, **overrides: Any) -> RunSettings:
    """Return the preset's settings with the caller's own values on top (None means: as the preset says).

    ``event``: a language model is asked about an event in words, which `FOR_EVENTS` has more for; ``claim``: it is asked about one
    claim alone, which `FOR_CLAIMS` and `FOR_SEVERAL_MODELS` have more for.

    Values of the agents' settings and of the claim's context are given by their own names, for example ``max_leaves=5``,
    ``background="..."``; those of how trials become one probability as a mapping, ``aggregation={"pool": "median"}``.
    """
    several = FOR_SEVERAL_MODELS if overrides.get("direct_models") else FOR_CLAIMS
    values = _preset_values(preset, event=event, bought=several if claim else {})
    agent = AgentSettings(**values.pop("agent", {}))
    aggregation = {**values.pop("aggregation", {}), **(overrides.pop("aggregation", None) or {})}
    chosen = {name: value for name, value in overrides.items() if value is not None}
    agent_names = {item.name for item in fields(AgentSettings)}
    agent = replace(agent, **{name: chosen.pop(name) for name in list(chosen) if name in agent_names})
    context_names = {item.name for item in fields(ClaimContext)}
    context = replace(
        chosen.pop("context", ClaimContext()),
        **{name: chosen.pop(name) for name in list(chosen) if name in context_names},
    )
    # A preset's settings of one agent stay beside the caller's own, but not for an agent that the caller replaced.
    preset_options = {
        role: own
        for role, own in values.pop("options", {}).items()
        if chosen.get(role, values.get(role)) == values.get(role)
    }
    if preset_options:
        own_options = chosen.get("options", {})
        roles = {*preset_options, *own_options}
        chosen["options"] = {
            role: {**preset_options.get(role, {}), **own_options.get(role, {})} for role in roles
        }
    return RunSettings(
        **{
            **values,
            **chosen,
            "preset": preset,
            "agent": agent,
            "context": context,
            "aggregation": Aggregation(**aggregation),
        }
    )
