"""The deep research grounder: plan, sub-questions side by side, notes, a look for gaps, a report (Analytica, App. C.3, our own plan)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from workbench.agents.base import Grounding, LeafTask
from workbench.agents.conversation import Conversation, LoopLimits, Spent
from workbench.agents.errors import AgentGaveUp, BadSetting
from workbench.agents.evidence.base import Evidence, TraceStep
from workbench.agents.grounders.loop_parts import (
    LoopSettings,
    WebGrounder,
    foreign_orders,
    grounding_of,
    statistics,
)
from workbench.agents.loop.agent_loop import AgentLoop, LoopPlan
from workbench.agents.loop.loop_notes import LoopNote, NotesEnding, note_lines
from workbench.agents.loop.submission import Submission
from workbench.agents.loop.tool_box import together
from workbench.agents.loop.toolset import WEB_TOOLS, Toolset, check_tools
from workbench.agents.replies.reply_schemas import CONCLUSION
from workbench.agents.replies.stage_replies import ReplyShape, parse_conclusion
from workbench.prompts import prompts_of
from workbench.propositions.strict_json import STRICT
from workbench.quoting import one_line

LEAD = "lead"
_PLAN_SHAPE = '```json\n{"plan": "...", "questions": ["..."]}\n```'


@dataclass(frozen=True, slots=True, kw_only=True)
class ResearchSettings(LoopSettings):
    """Settings of deep research: the bounds count for each sub-question.

    Parameters
    ----------
    questions : int
        Sub-questions of the plan, at most.
    gap_questions : int
        Further ones after the look for gaps, at most; 0 leaves it out.
    at_once : int
        Sub-questions that are worked on at the same time.
    tools : list of str
        Of each sub-question; a notebook belongs to a leaf and not to a part of it.
    """

    steps: int = 6
    questions: int = 4
    gap_questions: int = 2
    at_once: int = 4
    tools: tuple[str, ...] = (*WEB_TOOLS, "api_docs", "call_api", "series")

    __pydantic_config__ = STRICT

    def __post_init__(self) -> None:
        LoopLimits.__post_init__(self)
        if "cell" in check_tools(self.tools):
            raise BadSetting("deep research runs no code: leave the cell out of tools")
        if not 1 <= self.questions <= 10 or not 0 <= self.gap_questions <= 10 or self.at_once < 1:
            raise BadSetting("questions are 1 to 10, gap_questions 0 to 10, at_once 1 or more")


class _PlanShape(ReplyShape):
    plan: str | None = None
    questions: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """One sub-question that was worked on; ``fault`` says why there are no notes."""

    track: int
    question: str
    loop: AgentLoop[tuple[LoopNote, ...]]
    notes: Sequence[LoopNote] = ()
    fault: str = ""

    def lines(self) -> str:
        """The notes as the lead reads them; ids that nobody gave out are left out."""
        lines = note_lines(self.notes, self.loop.box.sources) or ["- (nothing was found)"]
        if self.fault:
            lines = [f"- (no notes: {self.fault})"]
        return "\n".join([f"Question {self.track}: {self.question}", *lines])


class DeepResearchGrounder(WebGrounder[ResearchSettings]):
    """Grounds a leaf by research on several questions at once."""

    settings_kind = ResearchSettings
    called = "the deep_research grounder"

    async def _ground(self, task: LeafTask, tools: Toolset) -> Grounding:
        return await _Research(self.own, task, tools).run()


class _Research:
    """The research on one leaf."""

    def __init__(self, own: ResearchSettings, task: LeafTask, tools: Toolset) -> None:
        self.own, self.task, self.tools = own, task, tools
        self.spent = Spent()
        self.steps: list[TraceStep] = []
        self.parts: list[_Part] = []
        self._free = asyncio.Semaphore(own.at_once)
        prompts = prompts_of(task.ask)
        system = prompts.render(
            "research_system",
            cutoff=task.cutoff.shown,
            forecast_rules=prompts.render("forecast_rules"),
            api_map=task.data.overview.strip(),
        )
        self._lead = Conversation.of_leaf(task, system, gave_up=task.gave_up)

    async def run(self) -> Grounding:
        own = self.own
        plan, questions = await self._questions(
            "Plan", "research_plan", own.questions, [self.task.node.statement], hints=self.task.hints
        )
        await self._work_on(questions)
        notes = _notes(self.parts)
        if own.gap_questions:
            _, further = await self._questions("Gaps", "research_gaps", own.gap_questions, [], notes=notes)
            await self._work_on(further)
            more = _notes(self.parts[len(questions) :])
            notes = f"The notes on the further questions:\n\n{more}\n\n" if more else ""
        else:
            notes = f"The notes of your researchers, with the ids of what they rest on:\n\n{notes}\n\n"
        submission = await self._report(notes)
        self.spent.add(self._lead.spent)
        absent = [f"No notes on question {part.track}: {part.fault}." for part in self.parts if part.fault]
        listed = "\n".join(f"{number}. {question}" for number, question in enumerate(questions, 1))
        evidence = Evidence(
            steps=tuple(self.steps),
            plan=f"{plan}\n\n{listed}",
            submission=submission,
            sources=tuple(source for part in self.parts for source in part.loop.box.sources.values()),
            findings=(*absent, *foreign_orders(self.steps)),
            statistics=statistics(self.spent, self.steps) | {"questions": float(len(self.parts))},
            web=self.tools.web_records(),
        )
        return grounding_of(evidence, submission)

    async def _questions(
        self, title: str, prompt: str, most: int, default: list[str], **inputs: str
    ) -> tuple[str, list[str]]:
        """Ask the lead which questions to work on; ``default`` where it names none."""

        def read(text: str) -> tuple[str, list[str]]:
            reply = _PlanShape.read(text)
            named = [one_line(question, 400) for question in reply.questions]
            return (reply.plan or "")[:4000], [question for question in named if question]

        plan, questions = await self._lead.exchange(
            LEAD,
            self._lead.render(prompt, questions=most, **inputs),
            read,
            reply_format=_PLAN_SHAPE,
        )
        questions = questions[:most] or default
        listed = "\n".join(f"- {question}" for question in questions) or "- (none)"
        self._step(title, f"{plan}\n\n{listed}", LEAD)
        return plan, questions

    def _step(self, title: str, text: str, stage: str, p: float | None = None) -> None:
        reply = self._lead.last_step
        self.steps.append(TraceStep(title=title, text=text, p=p, stage=stage, reply=reply))

    async def _work_on(self, questions: Sequence[str]) -> None:
        """Work on questions side by side; their tracks go on from those before."""
        parts = await together(
            [self._part(track, question) for track, question in enumerate(questions, len(self.parts) + 1)]
        )
        self.parts += parts
        for part in parts:
            self.steps += [
                replace(step, title=f"Question {part.track}: {step.title}")
                for step in ([] if part.fault else part.loop.steps)
            ]

    async def _part(self, track: int, question: str) -> _Part:
        plan: LoopPlan[tuple[LoopNote, ...]] = LoopPlan(
            ending=NotesEnding(),
            limits=self.own.limits(self.task.settings),
            rules="loop_rules_notes",
            stage=f"sub{track}",
            proposition=f"{self.task.proposition}\n\nYour part of it: {question}",
        )
        loop = AgentLoop(plan, self.task, self.tools.box(self.own.tools, track=track))
        notes: Sequence[LoopNote] = ()
        fault = ""
        try:
            async with self._free:
                notes = await loop.run()
        except AgentGaveUp as error:
            # One part without notes is a weaker report, and no reason to throw the others away.
            fault = error.reason
        self.spent.add(loop.spent)
        return _Part(track=track, question=question, loop=loop, notes=notes, fault=fault)

    async def _report(self, notes: str) -> Submission:
        shape = self._lead.render("conclusion_reply")
        conclusion = await self._lead.exchange(
            "conclude",
            self._lead.render("research_report", notes=notes, reply_format=shape),
            parse_conclusion,
            reply_format=shape,
            schema=CONCLUSION,
            choice="none",
        )
        self._step("Report", conclusion.key_factor, "conclude", conclusion.p)
        return Submission(
            raw=(conclusion.p,),
            p=conclusion.p,
            reasoning=conclusion.report,
            key_factor=conclusion.key_factor,
        )


def _notes(parts: Sequence[_Part]) -> str:
    return "\n\n".join(part.lines() for part in parts)
