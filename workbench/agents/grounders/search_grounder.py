"""The search grounder: one loop of look-ups, then an answer (Analytica, section 4.1 and App. C.3, Basic Search)."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.agents.base import Grounding, LeafTask
from workbench.agents.conversation import LoopLimits
from workbench.agents.grounders.loop_parts import LoopSettings, WebGrounder, submitted
from workbench.agents.loop.agent_loop import AgentLoop, LoopPlan
from workbench.agents.loop.submission import SubmitEnding
from workbench.agents.loop.toolset import WEB_TOOLS, Toolset, check_tools
from workbench.propositions.strict_json import STRICT


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings(LoopSettings):
    """Settings of the search grounder: the bounds of its loop, and its tools."""

    tools: tuple[str, ...] = WEB_TOOLS

    __pydantic_config__ = STRICT

    def __post_init__(self) -> None:
        LoopLimits.__post_init__(self)
        check_tools(self.tools)


class SearchGrounder(WebGrounder[SearchSettings]):
    """Grounds a leaf by searching the web as of the cutoff."""

    settings_kind = SearchSettings
    called = "the search grounder"

    async def _ground(self, task: LeafTask, tools: Toolset) -> Grounding:
        box = tools.box(self.own.tools)
        plan = LoopPlan(ending=SubmitEnding(clamp=(0.0, 1.0)), limits=self.own.limits(task.settings))
        how = f"Search as of the cutoff with {', '.join(box.names)}, then answer."
        return await submitted(AgentLoop(plan, task, box, task.gave_up), tools, plan=how)
