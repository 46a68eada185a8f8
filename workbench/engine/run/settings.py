"""What shapes a run, as one value that is stored with it, and the presets that carry the papers' numbers."""

from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal

from workbench.agents.base import AgentSettings
from workbench.errors import UsageError
from workbench.models.registry import OFFLINE
from workbench.plugins import ANALYZERS, GROUNDERS, MODELS, SYNTHESIZERS, package_of, plugin_names
from workbench.propositions.strict_json import STRICT, read_strict
from workbench.synthesis.coherence.options import PAPER_THRESHOLD, PRODUCT_THRESHOLD

Isolation = Literal["namespaces", "landlock", "none"]
ISOLATION_LEVELS: tuple[Isolation, ...] = ("namespaces", "landlock", "none")


def check_level(level: str) -> str:
    """Return the name of an isolation level as it is; raises ``UsageError`` for an unknown one."""
    if level not in ISOLATION_LEVELS:
        raise UsageError(f"unknown isolation {level!r}: one of {', '.join(ISOLATION_LEVELS)}")
    return level


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """Everything that shapes a run besides its statement and cutoff.

    ``depth`` is n of Analytica^n (paper A, section 4.4), ``leaf_target`` the number of leaves up to which leaves are
    expanded one after another (section 5.3). ``isolation`` is the level that was asked for by name when the run was made,
    None where nothing was asked; it is a record and never decides where kernels start. ``threshold`` is the probability above which a
    proposition is taken as true (paper A, appendix C.1: docs/papers.md). ``max_proof_retries`` is how many attempts a leaf gets in one
    sitting (A, C.1). ``budget_usd`` of None is no budget. ``options`` are settings of one agent alone, by role
    (``analyzer``, ``grounder``, ``synthesizer``); that agent checks them. ``packages`` says which installed package brought
    an agent or the model (role ``model``) where it is not ours, by role.
    """

    model: str = OFFLINE
    api_base: str | None = None
    analyzer: str = "rounds"
    grounder: str = "notebook"
    rule: str = "linear"
    preset: str = "product"
    depth: int = 1
    leaf_target: int | None = None
    trials: int = 1
    concurrency: int = 20
    budget_usd: float | None = None
    isolation: Isolation | None = None
    max_proof_retries: int = 3
    strict: bool = False
    threshold: float = PRODUCT_THRESHOLD
    agent: AgentSettings = field(default_factory=AgentSettings)
    options: dict[str, dict[str, Any]] = field(default_factory=dict)
    packages: dict[str, str] = field(default_factory=dict)

    __pydantic_config__ = STRICT

    def __post_init__(self) -> None:
        for name in ("depth", "trials", "concurrency", "max_proof_retries"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name.replace('_', '-')} must be at least 1, not {getattr(self, name)}")
        if self.leaf_target is not None and self.leaf_target < 1:
            raise UsageError(f"leaf-target must be at least 1, not {self.leaf_target}")
        if self.agent.max_leaves < 1:
            raise UsageError(f"max-leaves must be at least 1, not {self.agent.max_leaves}")
        # Not `<= 0`: every comparison with NaN is false, and a budget of NaN would never be used up.
        if self.budget_usd is not None and not self.budget_usd > 0:
            raise UsageError(f"budget-usd must be above 0, not {self.budget_usd:g}")
        unknown = set(self.options) - {"analyzer", "grounder", "synthesizer"}
        if unknown:
            raise UsageError(
                f"options belong to analyzer, grounder or synthesizer, not {', '.join(sorted(unknown))}"
            )
        if self.isolation is not None:
            check_level(self.isolation)

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
        return replace(self, packages={role: package for role, package in packages.items() if package})

    def not_installed(self) -> tuple[str, ...]:
        """Return the parts whose packages are gone, each as ``grounder NAME (package NAME VERSION)``; for screens."""
        return tuple(
            f"{role} {name} (package {self.packages[role]!s:.80})"
            for role, (group, name) in self.parts().items()
            if role in self.packages and name not in plugin_names(group)
        )

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


#: Preset name -> the values it sets. ``product`` is what the dataclasses say; the papers' values are summarised in docs/papers.md.
PRESETS: dict[str, dict[str, Any]] = {
    "product": {},
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
            "require_pa": True,
            "temperature": 0.1,
            "truncate_debug": True,
        },
    },
    # Paper B, section 3: five independent trials, pooled in logit space.
    "blf-paper": {"trials": 5},
}


def with_preset(preset: str, **overrides: Any) -> RunSettings:
    """Return the preset's settings with the caller's own values on top (None means: as the preset says).

    Values of the agent's settings are given by their own names, for example ``max_leaves=5``.
    """
    if preset not in PRESETS:
        raise UsageError(f"unknown preset {preset!r}: one of {', '.join(PRESETS)}")
    values = dict(PRESETS[preset])
    agent = AgentSettings(**values.pop("agent", {}))
    chosen = {name: value for name, value in overrides.items() if value is not None}
    agent_names = {item.name for item in fields(AgentSettings)}
    agent = replace(agent, **{name: chosen.pop(name) for name in list(chosen) if name in agent_names})
    return RunSettings(**{**values, **chosen, "preset": preset, "agent": agent})
