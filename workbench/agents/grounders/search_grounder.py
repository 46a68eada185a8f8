"""The search grounder: one loop of look-ups, then an answer (Analytica, section 4.1 and App. C.3, Basic Search)."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.agents.base import Grounding, GroundingFailure, LeafTask
from workbench.agents.grounders.loop_parts import (
    LoopSettings,
    SubmitEnding,
    WebGrounder,
    first_prompt,
    grounding_of,
    guarded,
    loop_evidence,
    reply_format,
    system_prompt,
)
from workbench.agents.loop.agent_loop import AgentLoop, LoopPlan
from workbench.agents.loop.submission import SUBMIT, Submission
from workbench.agents.loop.toolset import WEB_TOOLS, Toolset, check_tools
from workbench.propositions.strict_json import STRICT


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings(LoopSettings):
    """Settings of the search grounder: the bounds of its loop, and its tools."""

    tools: tuple[str, ...] = WEB_TOOLS

    __pydantic_config__ = STRICT

    def __post_init__(self) -> None:
        self.limits()
        check_tools(self.tools)


class SearchGrounder(WebGrounder[SearchSettings]):
    """Grounds a leaf by searching the web as of the cutoff."""

    settings_kind = SearchSettings
    called = "the search grounder"

    async def ground(self, task: LeafTask) -> Grounding | GroundingFailure:
        """Return the leaf's belief, or why there is none; model errors pass."""
        return await guarded(task, lambda: self._ground(task))

    async def _ground(self, task: LeafTask) -> Grounding:
        tools = Toolset(task, self._open_web, results=self.own.results)
        box = tools.box(self.own.tools)
        limits = self.own.limits(task.settings)
        plan: LoopPlan[Submission] = LoopPlan(
            stage="act",
            system=system_prompt(task, "loop_rules_plain", SUBMIT, data="call_api" in self.own.tools),
            prompt=first_prompt(task, limits, SUBMIT),
            proposition=f"{task.node.id}: {task.node.statement}",
            reply_format=reply_format(task, SUBMIT),
            ending=SubmitEnding(clamp=(0.0, 1.0)),
            limits=limits,
        )
        outcome = await AgentLoop(plan, task, box, task.gave_up).run()
        evidence = loop_evidence(
            outcome,
            box.sources,
            plan=f"Search as of the cutoff with {', '.join(box.names)}, then answer.",
            web=tools.web_records(),
        )
        return grounding_of(evidence, failed_cells=tools.cell.failed_cells)
