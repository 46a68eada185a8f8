"""The deep research grounder: plan, sub-questions side by side, notes, a look for gaps, a report (Analytica, App. C.3, our own plan)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from workbench.agents.base import Grounding, GroundingFailure, LeafTask
from workbench.agents.dialogue import Dialogue
from workbench.agents.errors import AgentGaveUp, BadSetting, MalformedReply
from workbench.agents.evidence.base import Evidence, TraceStep
from workbench.agents.grounders.loop_parts import (
    LoopSettings,
    WebGrounder,
    first_prompt,
    foreign_orders,
    grounding_of,
    guarded,
    reply_format,
    statistics,
    system_prompt,
    trace_step,
)
from workbench.agents.grounders.notebook_grounder import hints_of
from workbench.agents.loop.agent_loop import AgentLoop, LoopOutcome, LoopPlan
from workbench.agents.loop.loop_notes import HAND_IN, LoopNote, NotesEnding, note_lines
from workbench.agents.loop.moves import Spent
from workbench.agents.loop.submission import Submission
from workbench.agents.loop.tool_box import ToolSource, together
from workbench.agents.loop.toolset import (
    WEB_TOOLS,
    Toolset,
    WebOpener,
    check_tools,
)
from workbench.agents.relayed import Relayed
from workbench.agents.replies.json_reply import read_json
from workbench.agents.replies.reply_schemas import CONCLUSION
from workbench.agents.replies.stage_replies import Conclusion, parse_conclusion
from workbench.models.base import ModelReply, ModelRequest
from workbench.models.thoughts import without_thoughts
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
        self.limits()
        if "cell" in check_tools(self.tools):
            raise BadSetting(
                "deep research works on several questions at once and has no cell: take it out of tools"
            )
        if not 1 <= self.questions <= 10 or not 0 <= self.gap_questions <= 10 or self.at_once < 1:
            raise BadSetting("questions are 1 to 10, gap_questions 0 to 10, at_once 1 or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """One sub-question that was worked on; ``fault`` says why there are no notes."""

    track: int
    question: str
    outcome: LoopOutcome[tuple[LoopNote, ...]] | None
    sources: Mapping[str, ToolSource]
    fault: str = ""

    def lines(self) -> str:
        """The notes as the lead reads them; ids that nobody gave out are left out."""
        heading = f"Question {self.track}: {self.question}"
        if self.outcome is None:
            return f"{heading}\n- (no notes: {self.fault})"
        lines = note_lines(self.outcome.result, self.sources)
        return "\n".join([heading, *(lines or ["- (nothing was found)"])])


class DeepResearchGrounder(WebGrounder[ResearchSettings]):
    """Grounds a leaf by research on several questions at once."""

    settings_kind = ResearchSettings
    called = "the deep_research grounder"

    async def ground(self, task: LeafTask) -> Grounding | GroundingFailure:
        """Return the leaf's belief, or why there is none; model errors pass."""
        return await guarded(task, lambda: _Research(self.own, task, self._open_web).run())


class _Research:
    """The research on one leaf."""

    def __init__(self, own: ResearchSettings, task: LeafTask, open_web: WebOpener) -> None:
        self.own = own
        self.task = task
        self.spent = Spent()
        self.steps: list[TraceStep] = []
        self.proposition = f"{task.node.id}: {task.node.statement}"
        self._tools = Toolset(task, open_web, results=own.results)
        self._free = asyncio.Semaphore(own.at_once)
        self._render = prompts_of(task.ask).render
        self._lead = Dialogue(
            system=self._render(
                "research_system",
                cutoff=task.cutoff.shown,
                api_map=task.data.overview.strip(),
            ).text,
            nodes=(task.node,),
            cutoff=task.cutoff,
            ask=Relayed(prompts_of(task.ask), self._ask),
            settings=task.settings,
            extra_share=task.settings.extra_ask_share,
            gave_up=task.gave_up,
        )

    async def run(self) -> Grounding:
        plan, questions = await self._questions(
            self._render(
                "research_plan",
                proposition=self.proposition,
                cutoff=self.task.cutoff.shown,
                hints=hints_of(self.task),
                questions=self.own.questions,
            ).text,
            self.own.questions,
        )
        if not questions:
            questions = [self.task.node.statement]
        self._step("Plan", plan, questions)
        parts = await self._work_on(questions, first=1)
        notes = _notes(parts)
        if self.own.gap_questions:
            gaps, further = await self._questions(
                self._render(
                    "research_gaps",
                    proposition=self.proposition,
                    cutoff=self.task.cutoff.shown,
                    notes=notes,
                    questions=self.own.gap_questions,
                ).text,
                self.own.gap_questions,
            )
            self._step("Gaps", gaps, further)
            more = await self._work_on(further, first=len(parts) + 1)
            parts += more
            notes = f"The notes on the further questions:\n\n{_notes(more)}\n\n" if more else ""
        else:
            notes = f"The notes of your researchers, with the ids of what they rest on:\n\n{notes}\n\n"
        conclusion = await self._report(notes)
        return grounding_of(self._evidence(conclusion, plan, questions, parts))

    async def _questions(self, prompt: str, most: int) -> tuple[str, list[str]]:
        def read(text: str) -> tuple[str, list[str]]:
            plan, _ = read_json(without_thoughts(text), _read_plan, what="```json block")
            return plan

        plan, questions = await self._lead.exchange(
            LEAD, prompt, read, propositions=self.proposition, reply_format=_PLAN_SHAPE
        )
        return plan, questions[:most]

    def _step(self, title: str, text: str, questions: Sequence[str]) -> None:
        listed = "\n".join(f"- {question}" for question in questions) or "- (none)"
        self.steps.append(
            TraceStep(title=title, text=f"{text}\n\n{listed}", stage=LEAD, reply=self._lead.last_step)
        )

    async def _work_on(self, questions: Sequence[str], *, first: int) -> list[_Part]:
        """Work on questions side by side; tracks are numbered from ``first``."""
        parts = await together(
            [self._part(track, question) for track, question in enumerate(questions, first)]
        )
        for part in parts:
            for turn in part.outcome.turns if part.outcome else ():
                title = " and ".join(dict.fromkeys(call.name for call in turn.move.calls))
                self.steps.append(trace_step(turn, title=f"Question {part.track}: {title}"))
        return parts

    async def _part(self, track: int, question: str) -> _Part:
        limits = self.own.limits(self.task.settings)
        box = self._tools.box(self.own.tools, track=track)
        own = f"{self.proposition}\n\nYour part of it: {question}"
        plan: LoopPlan[tuple[LoopNote, ...]] = LoopPlan(
            stage=f"sub{track}",
            system=system_prompt(self.task, "loop_rules_notes", HAND_IN, data="call_api" in self.own.tools),
            prompt=first_prompt(self.task, limits, HAND_IN, proposition=own),
            proposition=own,
            reply_format=reply_format(self.task, HAND_IN),
            ending=NotesEnding(),
            limits=limits,
        )
        loop = AgentLoop(plan, self.task, box)
        try:
            async with self._free:
                outcome = await loop.run()
        except AgentGaveUp as error:
            # One part without notes is a weaker report, and no reason to throw the others away.
            self._add(loop.spent)
            return _Part(
                track=track, question=question, outcome=None, sources=box.sources, fault=error.reason
            )
        self._add(loop.spent)
        return _Part(track=track, question=question, outcome=outcome, sources=box.sources)

    async def _report(self, notes: str) -> Conclusion:
        shape = self._render("conclusion_reply").text
        prompt = self._render(
            "research_report",
            proposition=self.proposition,
            cutoff=self.task.cutoff.shown,
            notes=notes,
            reply_format=shape,
        ).text
        return await self._lead.exchange(
            "conclude",
            prompt,
            parse_conclusion,
            propositions=self.proposition,
            reply_format=shape,
            schema=CONCLUSION,
            choice="none",
        )

    def _evidence(
        self, conclusion: Conclusion, plan: str, questions: Sequence[str], parts: Sequence[_Part]
    ) -> Evidence:
        submission = Submission(
            raw=(conclusion.p,),
            p=conclusion.p,
            reasoning=conclusion.report,
            key_factor=conclusion.key_factor,
        )
        last = TraceStep(
            title="Report",
            text=conclusion.key_factor,
            p=conclusion.p,
            stage="conclude",
            reply=self._lead.last_step,
        )
        steps = (*self.steps, last)
        absent = [
            f"No notes on question {part.track}: {part.fault}." for part in parts if part.outcome is None
        ]
        listed = "\n".join(f"{number}. {question}" for number, question in enumerate(questions, 1))
        return Evidence(
            steps=steps,
            plan=f"{plan}\n\n{listed}",
            submission=submission,
            sources=tuple(source for part in parts for source in part.sources.values()),
            findings=(*absent, *foreign_orders(steps)),
            statistics=statistics(self.spent, steps) | {"questions": float(len(parts))},
            web=self._tools.web_records(),
        )

    def _add(self, spent: Spent) -> None:
        names = [item.name for item in fields(Spent)]
        self.spent = Spent(**{name: getattr(self.spent, name) + getattr(spent, name) for name in names})

    async def _ask(self, request: ModelRequest, *, stage: str, step: int, retry: int) -> ModelReply:
        reply = await self.task.ask(request, stage=stage, step=step, retry=retry)
        self.spent.count(reply)
        return reply


def _notes(parts: Sequence[_Part]) -> str:
    return "\n\n".join(part.lines() for part in parts)


def _read_plan(value: Any) -> tuple[str, list[str]]:
    if not isinstance(value, Mapping) or not isinstance(value.get("questions"), list):
        raise MalformedReply('the block must be {"plan": "...", "questions": ["...", "..."]}')
    questions = [one_line(str(question), 400) for question in value["questions"]]
    return str(value.get("plan") or "")[:4000], [question for question in questions if question]
