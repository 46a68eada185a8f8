"""The belief grounder: a loop that restates its belief with every call (BLF, section 3 and App. C.2, Algorithm 1).

Its switches are the paper's arms: without a belief state (NoBel), all searches first (batch), no look-ups at all (zero-shot),
a run that may know everything (clairvoyant), and a belief that is overwritten on the way (intervention).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

from workbench.agents.base import Grounding, GroundingFailure, LeafTask
from workbench.agents.conversation import LoopLimits
from workbench.agents.errors import BadSetting
from workbench.agents.grounders.loop_parts import LoopSettings, WebGrounder, submitted
from workbench.agents.loop.agent_loop import AgentLoop, LoopPlan
from workbench.agents.loop.submission import SubmitEnding, check_clamp
from workbench.agents.loop.toolset import ALL_TOOLS, SOURCE_TOOLS, Toolset, check_tools, source_of
from workbench.errors import Option
from workbench.propositions.strict_json import STRICT

MAX_DATES = 8
# A batch is one round of look-ups and the answer, zero-shot the answer alone.
_STEPS = {"batch": 2, "zero-shot": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class BeliefSettings(LoopSettings):
    """Settings of the belief grounder; the papers' values where it gives one, but for the clamp, which its preset sets.

    Parameters
    ----------
    mode : {"sequential", "batch", "zero-shot"}
        One step after another; all look-ups in the first step and the answer in the second; the answer at once (App. C.1, J.4).
    belief : bool
        Whether every call states the belief; False is NoBel (App. J.2).
    start : {"base-rate", "even"}
        Where the first belief stands: at how often comparable cases came true, or at 0.5 as in the paper (App. J.1).
    clamp : two numbers
        Bounds of what is submitted; the raw value is kept beside it ([0.05, 0.95] in the preset ``blf-paper``).
    dates : list of str
        Up to eight dates, a probability for each (App. J.3); the last one is the leaf's.
    crowd : bool
        Whether a crowd's price is shown, where the claim comes with one (App. C.7).
    prior : float or None
    prior_words : str
        An empirical prior that is shown, and what it counts (App. C.7).
    clairvoyant : bool
        An upper bound and no forecast: only in a run whose cutoff is ``now``.
    intervene : mapping of step to p
        Overwrites the belief after that step (App. E).
    compact_over : int or None
        Characters of the belief's lists beyond which a reader merges them.
    source : str
        The source that the question is about, which chooses the tools (Tables 4 and 5); "auto" reads it from what settles the
        leaf.
    tools : list of str or None
        The tools, whatever the source.
    """

    mode: Literal["sequential", "batch", "zero-shot"] = "sequential"
    belief: bool = True
    start: Literal["base-rate", "even"] = "base-rate"
    clamp: tuple[float, float] = (0.0, 1.0)
    dates: tuple[str, ...] = ()
    crowd: bool = True
    prior: float | None = None
    prior_words: str = ""
    clairvoyant: bool = False
    intervene: dict[str, float] = field(default_factory=dict)
    compact_over: int | None = 2000
    source: str = "auto"
    tools: tuple[str, ...] | None = None

    __pydantic_config__ = STRICT

    def __post_init__(self) -> None:
        LoopLimits.__post_init__(self)
        check_clamp(self.clamp)
        check_tools(self.tools or ())
        if len(self.dates) > MAX_DATES or len(set(self.dates)) < len(self.dates):
            raise BadSetting(f"dates are at most {MAX_DATES}, each once, not {len(self.dates)}")
        if self.prior is not None and not 0 <= self.prior <= 1:
            raise BadSetting(f"prior must be in [0, 1], not {self.prior:g}")
        if self.source not in ("auto", "", *SOURCE_TOOLS):
            raise BadSetting(f"source is auto or one of {', '.join(SOURCE_TOOLS)}, not {self.source!r:.60}")
        for step, p in self.intervene.items():
            if not step.isdigit() or int(step) < 1 or not 0 <= p <= 1:
                raise BadSetting('intervene is {"step": p}, a step from 1 and a p in [0, 1]')
        if self.intervene and not self.belief:
            raise BadSetting("intervene overwrites a belief: set belief=true, or leave out intervene")
        if self.compact_over is not None and self.compact_over < 200:
            raise BadSetting(f"compact_over must be at least 200 characters, not {self.compact_over}")


class BeliefGrounder(WebGrounder[BeliefSettings]):
    """Grounds a leaf as BLF does."""

    settings_kind = BeliefSettings
    called = "the belief grounder"
    takes_known_calls: ClassVar[bool] = True

    @property
    def expected_calls(self) -> int | None:
        """Calls of one grounding where the mode fixes them; None where the model says when it is done."""
        return _STEPS.get(self.own.mode)

    async def ground(self, task: LeafTask) -> Grounding | GroundingFailure:
        """Return the leaf's belief, or why there is none; model errors pass.

        Raises
        ------
        BadSetting
            A clairvoyant run whose cutoff is not ``now``.
        """
        if self.own.clairvoyant and not task.cutoff.live:
            # The cutoff is the broker's and nobody's to lift; a run without one is the only one that may know everything.
            raise BadSetting(
                "clairvoyant needs a run with ",
                Option("cutoff", "now"),
                ": within a cutoff nothing later can be seen",
            )
        return await super().ground(task)

    def tools_of(self, task: LeafTask) -> tuple[str, ...]:
        """Return the tools for a leaf: those that are set, else by the source that settles it, else all."""
        if self.own.mode == "zero-shot":
            return ()
        if self.own.tools is not None:
            return self.own.tools
        source = source_of(task.resolves_by) if self.own.source == "auto" else self.own.source
        return SOURCE_TOOLS.get(source, ALL_TOOLS)

    async def _ground(self, task: LeafTask, tools: Toolset) -> Grounding:
        own, names = self.own, self.tools_of(task)
        limits = own.limits(task.settings)
        plan = LoopPlan(
            ending=SubmitEnding(clamp=own.clamp, dates=own.dates, forced_p=None if own.belief else 0.5),
            limits=replace(limits, steps=_STEPS.get(own.mode, limits.steps)),
            # The zero-shot arm keeps the prompt of the others and has nothing to call (App. J.4).
            rules="loop_rules_belief" + "_even" * (own.start == "even") if own.belief else "loop_rules_plain",
            hints=self._hints(),
            belief=own.belief,
            search_first=own.mode == "batch",
            interventions={int(step): p for step, p in own.intervene.items()},
            compact_over=own.compact_over if own.belief else None,
        )
        clairvoyant = "Clairvoyant: an upper bound that may know the outcome, and no forecast."
        return await submitted(
            AgentLoop(plan, task, tools.box(names), task.gave_up),
            tools,
            plan=self._plan(names),
            findings=[clairvoyant] if own.clairvoyant else [],
            clamp=own.clamp,
            dates=own.dates,
        )

    def _hints(self) -> str:
        lines = []
        if self.own.mode == "batch":
            lines.append("Make all your look-ups together in the first reply; the second one is the answer.")
        if self.own.prior is not None:
            about = f" ({self.own.prior_words})" if self.own.prior_words else ""
            lines.append(
                f"An empirical prior{about}: {self.own.prior:g}. Start from it and move by what is special here."
            )
        if self.own.dates:
            lines.append(
                f"Answer for each of these dates, in this order: {', '.join(self.own.dates)}. The farther a date, the less"
                " certain you can be."
            )
        return "".join(f"{line}\n\n" for line in lines)

    def _plan(self, names: tuple[str, ...]) -> str:
        how = {
            "sequential": f"At most {self.own.steps} steps, one look-up after another",
            "batch": "All look-ups in one step, the answer in the next",
            "zero-shot": "An answer at once, without a look-up",
        }[self.own.mode]
        belief = "a belief restated in every step" if self.own.belief else "no belief state"
        more = [f"tools {', '.join(names)}"] if names else []
        if self.own.intervene:
            more.append(f"the belief overwritten: {self.own.intervene}")
        return "; ".join([how, belief, *more]) + "."
