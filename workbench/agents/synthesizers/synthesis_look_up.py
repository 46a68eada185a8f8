"""What a synthesizer may look up before it weighs: a short loop of searches for one inner node that ends with notes.

Off unless ``synthesizer.tools`` names tools. It is a loop apart from the dialogue that weighs: what comes from the web reaches that one
as notes with ids and dates, and the rule is asked for as without it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Self

from sandbox.errors import SandboxError
from workbench.agents.conversation import LoopLimits
from workbench.agents.errors import AgentGaveUp, BadSetting
from workbench.agents.evidence.base import Evidence
from workbench.agents.evidence.look_up import STAGE, LookUp
from workbench.agents.grounders.loop_parts import LoopSettings, foreign_orders, statistics
from workbench.agents.loop.agent_loop import AgentLoop, LoopPlan
from workbench.agents.loop.loop_notes import LoopNote, NotesEnding
from workbench.agents.loop.toolset import WEB_TOOLS, Toolset, WebOpener, open_leaf_web
from workbench.agents.synthesizers.child_blocks import in_brief
from workbench.prompts import prompts_of
from workbench.propositions import Proposition
from workbench.propositions.strict_json import STRICT, read_strict

if TYPE_CHECKING:
    from workbench.agents.base import LeafTask

__all__ = ["STAGE", "LookUpSettings", "look_up"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LookUpSettings(LoopSettings):
    """Settings of a synthesizer's look-up: ``tools`` (none: it looks nothing up) and the bounds of its loop, as grounders have them."""

    steps: int = 4
    tools: tuple[str, ...] = ()

    __pydantic_config__ = STRICT

    def __post_init__(self) -> None:
        LoopLimits.__post_init__(self)
        unknown = [name for name in self.tools if name not in WEB_TOOLS]
        if unknown:
            raise BadSetting(
                f"a synthesizer's tools are {' and '.join(WEB_TOOLS)}, not {', '.join(unknown)}: data belong to the drivers"
            )
        if self.tools and "search" not in self.tools:
            raise BadSetting("a synthesizer opens pages that it found: add search to its tools")

    @classmethod
    def taken_from(cls, options: Mapping[str, Any], *, of: str) -> tuple[Self, dict[str, Any]]:
        """Return the settings that are among an agent's options, and the options that are left; raises ``UsageError``."""
        own = {item.name for item in fields(cls)}
        ours = {name: value for name, value in options.items() if name in own}
        settings = read_strict(cls, ours, what=f"the settings of {of}")
        return settings, {name: value for name, value in options.items() if name not in own}


async def look_up(
    settings: LookUpSettings,
    task: LeafTask,
    node: Proposition,
    children: Sequence[Proposition],
    *,
    open_web: WebOpener = open_leaf_web,
) -> LookUp:
    """Return what was found for an inner node; ``task`` is the node's, with the web and the model behind it.

    Without usable notes the children are weighed all the same, and the record says why there are none. Only model errors and
    cancellation are raised.
    """
    tools = Toolset(task, open_web, results=settings.results)
    described = prompts_of(task.ask).render(
        "look_up_children",
        proposition=f"{node.id}: {node.statement}",
        causality=node.causality or "(no note)",
        children=in_brief(node, children).partition("\n")[2],
    )
    plan: LoopPlan[tuple[LoopNote, ...]] = LoopPlan(
        ending=NotesEnding(),
        limits=settings,
        rules="look_up_rules",
        stage=STAGE,
        proposition=described,
    )
    loop = AgentLoop(plan, task, tools.box(settings.tools))
    notes: tuple[LoopNote, ...] = ()
    fault = ""
    try:
        notes = await loop.run()
    except AgentGaveUp as error:
        fault = error.reason
    trace = Evidence(
        steps=tuple(loop.steps),
        plan=f"Look up as of the cutoff, with {' and '.join(loop.box.names)}, what the weights of the children need.",
        sources=tuple(loop.box.sources.values()),
        findings=tuple(foreign_orders(loop.steps)),
        statistics=statistics(loop.spent, loop.steps),
        web=tools.web_records(),
    )
    return LookUp(trace=trace, notes=notes, fault=fault)


async def no_notebook() -> Any:
    """Refuse a notebook: cells belong to leaves, and none of a look-up's tools asks for one."""
    raise SandboxError("a synthesizer has no notebook")
