"""What the grounders over the agent loop have in common: settings, prompts, the answer, and from turns to evidence."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from workbench.agents.base import AgentSettings, Grounding, GroundingFailure, LeafTask
from workbench.agents.evidence.base import Evidence, TraceCall, TraceStep
from workbench.agents.findings.check_table import RunKind
from workbench.agents.findings.conclusion_checks import conclusion_findings
from workbench.agents.grounders.notebook_grounder import FAILURES, failure_of, hints_of
from workbench.agents.loop.belief_state import FIELD, BeliefState
from workbench.agents.loop.moves import LoopLimits, Spent
from workbench.agents.loop.submission import Submission, clamped, read_submission, submit_spec
from workbench.agents.loop.tool_box import ToolSource
from workbench.agents.loop.toolset import WebOpener, open_leaf_web
from workbench.agents.replies.stage_replies import Conclusion
from workbench.prompts import prompts_of
from workbench.propositions import Belief
from workbench.propositions.strict_json import read_strict

if TYPE_CHECKING:
    from workbench.agents.loop.agent_loop import LoopOutcome, Turn
    from workbench.models.base import ToolSpec

S = TypeVar("S")
#: A submission may differ from the belief beside it by this much before it is remarked on.
SAME = 0.005


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopSettings(LoopLimits):
    """Settings that all of them have: the limits (BLF, App. C.2: ten steps, ten minutes; ``--max-steps`` bounds the steps too).

    Parameters
    ----------
    results : int
        Search results shown for one search (BLF, App. C.3: ten).
    """

    results: int = 10

    def limits(self, bounds: AgentSettings | None = None) -> LoopLimits:
        """Return the bounds of the loop; ``bounds`` are those of all agents (``--max-steps``). Raises `BadSetting`."""
        return LoopLimits(
            steps=self.steps if bounds is None else min(self.steps, bounds.max_proof_steps),
            **{name: getattr(self, name) for name in ("seconds", "tokens", "usd", "errors")},
        )


class WebGrounder(Generic[S]):
    """What grounders that look things up on the web have in common: settings of their own, and the web of a leaf.

    A subclass names the kind of its settings and itself, as an error line calls it.
    """

    settings_kind: type[S]
    called: ClassVar[str]

    def __init__(
        self,
        settings: AgentSettings | None = None,
        options: Mapping[str, Any] | None = None,
        *,
        open_web: WebOpener = open_leaf_web,
    ) -> None:
        self.own: S = read_strict(
            self.settings_kind, dict(options or {}), what=f"the settings of {self.called}"
        )
        self._open_web = open_web


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitEnding:
    """``submit`` as the end of a loop.

    ``forced_p`` says what counts where a limit ended the loop: the belief where there is one (BLF, Algorithm 1), else this
    number (0.5 without a belief state, BLF App. J.2); None where neither is there: the model is asked once more.
    """

    clamp: tuple[float, float]
    dates: tuple[str, ...] = ()
    forced_p: float | None = None

    @property
    def spec(self) -> ToolSpec:
        """The tool."""
        return submit_spec(self.dates)

    def read(self, arguments: Mapping[str, Any], belief: BeliefState | None) -> Submission:
        """Return what was submitted; raises `MalformedReply`."""
        return read_submission(
            arguments,
            dates=self.dates,
            clamp=self.clamp,
            stated_belief=None if belief is None else belief.p,
        )

    def forced(self, reason: str, belief: BeliefState | None) -> Submission | None:
        """Return the submission that is taken from the belief."""
        p = self.forced_p if belief is None else belief.p
        if p is None:
            return None
        return Submission(
            raw=(p,) * max(len(self.dates), 1),
            p=clamped(p, self.clamp),
            reasoning="" if belief is None else belief.update_reasoning,
            forced=f"{reason}, so the {'default' if belief is None else 'last belief'} was taken",
            stated_belief=None if belief is None else belief.p,
        )


def system_prompt(task: LeafTask, rules: str, end: str, *, data: bool) -> str:
    """Return the system message of a loop: rules by the name of their prompt, the map of the data where it can call any."""
    render = prompts_of(task.ask).render
    return render(
        "loop_system",
        cutoff=task.cutoff.shown,
        rules=render(rules, end=end).text,
        api_map=task.data.overview.strip() if data else "(none in this run)",
    ).text


def reply_format(task: LeafTask, end: str) -> str:
    """Return how a move is made, as complaints repeat it."""
    return prompts_of(task.ask).render("loop_reply", end=end).text


def first_prompt(
    task: LeafTask, limits: LoopLimits, end: str, *, proposition: str = "", hints: str = ""
) -> str:
    """Return the first user message of a loop."""
    return (
        prompts_of(task.ask)
        .render(
            "loop_first",
            proposition=proposition or f"{task.node.id}: {task.node.statement}",
            cutoff=task.cutoff.shown,
            max_steps=limits.steps,
            hints=hints_of(task) + hints,
            reply_format=reply_format(task, end),
        )
        .text
    )


async def guarded(task: LeafTask, work: Callable[[], Awaitable[Grounding]]) -> Grounding | GroundingFailure:
    """Return what the work gives; what is a failure of this attempt becomes a value."""
    try:
        return await work()
    except FAILURES as error:
        return failure_of(error, task)


def trace_step(turn: Turn, *, title: str = "") -> TraceStep:
    """Return a turn as it is stored."""
    calls = tuple(
        TraceCall(
            tool=call.name,
            arguments={name: value for name, value in call.arguments.items() if name != FIELD},
            number=number,
            call_id=call.id,
            text=observation.text,
            sha256=observation.sha256,
            answers=observation.answers,
            sources=tuple(source.id for source in observation.sources),
            marks=observation.marks,
            failed=observation.failed,
            cell=observation.cell,
        )
        for number, (call, observation) in enumerate(zip(turn.move.calls, turn.observations, strict=False), 1)
    )
    belief, stated = turn.belief, turn.stated
    names = list(dict.fromkeys(call.name for call in turn.move.calls))
    overwritten = belief is not None and stated is not None and stated.p != belief.p
    return TraceStep(
        title=title or " and ".join(names),
        text=turn.move.text,
        p=None if belief is None else belief.p,
        answers=tuple(dict.fromkeys(answer for call in calls for answer in call.answers)),
        stage=turn.stage,
        reply=turn.step,
        calls=calls,
        belief=belief,
        stated=stated.p if overwritten and stated is not None else None,
        notes=turn.notes,
        status=turn.status,
    )


def loop_evidence(
    outcome: LoopOutcome[Submission],
    sources: Mapping[str, ToolSource],
    *,
    plan: str,
    clamp: tuple[float, float] = (0.0, 1.0),
    dates: tuple[str, ...] = (),
    findings: Sequence[str] = (),
    web: tuple[Mapping[str, Any], ...] = (),
) -> Evidence:
    """Return the evidence of a leaf's own loop."""
    steps = [trace_step(turn) for turn in outcome.turns]
    submission = outcome.result
    # The last step is the conclusion: its p is what counts, whatever was believed beside it.
    steps[-1] = replace(steps[-1], p=submission.p)
    return Evidence(
        steps=tuple(steps),
        plan=plan,
        submission=submission,
        sources=tuple(sources.values()),
        clamp=clamp,
        dates=dates,
        findings=(
            *findings,
            *_asked_at_limit(outcome),
            *consistency(submission),
            *horizon(submission, dates),
            *foreign_orders(steps),
        ),
        statistics=statistics(outcome.spent, steps),
        web=web,
    )


def grounding_of(evidence: Evidence, *, failed_cells: int = 0) -> Grounding:
    """Return the grounding that a trace's submission gives."""
    submission = evidence.submission
    assert submission is not None, "a loop's evidence has a submission"
    ending = f"Not submitted by the model: {submission.forced}." if submission.forced else ""
    report = "\n\n".join(part for part in (submission.reasoning, ending, *evidence.findings) if part)
    belief = Belief(p=submission.p, key_factor=submission.key_factor, report=report)
    steps = sum(step.reply is not None for step in evidence.steps)
    stated = Conclusion(p=submission.raw[-1], key_factor=submission.key_factor, report=submission.reasoning)
    return Grounding(
        belief=belief,
        evidence=evidence,
        trace={"steps": steps, "failed_cells": failed_cells},
        findings=() if submission.forced else conclusion_findings(stated, None, RunKind(no_kernel=True)),
    )


def _asked_at_limit(outcome: LoopOutcome[Submission]) -> list[str]:
    """Return a finding where the model answered because a limit was reached."""
    if not outcome.forced or outcome.result.forced:
        return []
    return [f"Asked for the answer before it came by itself: {outcome.forced}."]


def consistency(submission: Submission) -> list[str]:
    """Return a finding where something else was submitted than believed (BLF, App. E)."""
    if submission.forced or submission.gap is None or submission.gap <= SAME:
        return []
    return [
        f"Submitted {submission.raw[-1]:g} beside a belief of {submission.stated_belief:g}: they should be the same."
    ]


def horizon(submission: Submission, dates: Sequence[str]) -> list[str]:
    """Return a finding where a later date is held for more certain than an earlier one (BLF, App. J.3)."""
    certain = [abs(p - 0.5) for p in submission.raw]
    surer = [
        day
        for day, before, after in zip(dates[1:], certain, certain[1:], strict=False)
        if after > before + SAME
    ]
    return [f"Surer of the later than of the earlier date at {', '.join(surer)}."] if surer else []


def foreign_orders(steps: Sequence[TraceStep]) -> list[str]:
    """Return a finding for each step whose answers held text addressed to the reader, with the belief before and after it."""
    findings = []
    for place, step in enumerate(steps):
        marks = sorted({mark for call in step.calls for mark in call.marks})
        if not marks:
            continue
        # An answer is read in the step after the one that asked for it.
        after = next(
            (later.p for later in steps[place + 1 :] if later.stage == step.stage and later.p is not None),
            None,
        )
        named = [identity for call in step.calls if call.marks for identity in call.sources]
        moved = (
            f"p went from {step.p:.4f} to {after:.4f} after it was read"
            if step.p is not None and after is not None
            else "no belief is on record on both sides of it"
        )
        findings.append(
            f"Step {place + 1}: text from {', '.join(named) or 'outside'} {'; '.join(marks)}. {moved}."
        )
    return findings


def statistics(spent: Spent, steps: Sequence[TraceStep]) -> dict[str, float]:
    """Return the counts of a loop (BLF, Table 19)."""
    beliefs = [step.belief for step in steps if step.belief is not None]
    counts = {
        "steps": spent.steps,
        "model calls": spent.calls,
        "tool calls": spent.tool_calls,
        "input tokens": spent.input_tokens,
        "output tokens": spent.output_tokens,
        "characters a step": round(spent.characters / max(spent.steps, 1), 1),
        "pieces of evidence": beliefs[-1].pieces if beliefs else 0,
    }
    return {name: float(count) for name, count in counts.items()}
