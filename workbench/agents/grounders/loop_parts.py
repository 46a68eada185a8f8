"""What the grounders over the agent loop have in common: settings, and from a loop's steps to evidence and a grounding."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from workbench.agents.base import AgentSettings, Grounding, GroundingFailure, LeafTask
from workbench.agents.conversation import LoopLimits
from workbench.agents.evidence.base import Evidence, TraceStep
from workbench.agents.findings.check_table import RunKind
from workbench.agents.findings.conclusion_checks import conclusion_findings, unshown_cases
from workbench.agents.grounders.proof_log import guarded
from workbench.agents.loop.agent_loop import AgentLoop
from workbench.agents.loop.toolset import Toolset, WebOpener, open_leaf_web
from workbench.agents.replies.stage_replies import Accounting, Conclusion
from workbench.propositions import Belief
from workbench.propositions.strict_json import read_strict

if TYPE_CHECKING:
    from workbench.agents.conversation import Spent
    from workbench.agents.loop.submission import Submission

S = TypeVar("S", bound="LoopSettings")
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

    def limits(self, bounds: AgentSettings) -> LoopLimits:
        """Return the bounds of a loop under those of all agents (``--max-steps``)."""
        return replace(self, steps=min(self.steps, bounds.max_proof_steps))


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
        what = f"the settings of {self.called}"
        self.own: S = read_strict(self.settings_kind, dict(options or {}), what=what)
        self._open_web = open_web

    async def ground(self, task: LeafTask) -> Grounding | GroundingFailure:
        """Return the leaf's belief, or why there is none; model errors pass."""
        return await guarded(
            task, self._ground(task, Toolset(task, self._open_web, results=self.own.results))
        )

    async def _ground(self, task: LeafTask, tools: Toolset) -> Grounding:
        raise NotImplementedError


async def submitted(
    loop: AgentLoop[Submission],
    tools: Toolset,
    *,
    plan: str,
    findings: Sequence[str] = (),
    clamp: tuple[float, float] = (0.0, 1.0),
    dates: tuple[str, ...] = (),
) -> Grounding:
    """Run a leaf's own loop to its end and return the grounding of what it submits."""
    submission = await loop.run()
    # The last step is the conclusion: its p is what counts, whatever was believed beside it.
    loop.steps[-1] = replace(loop.steps[-1], p=submission.p)
    asked = [f"Asked for the answer before it came by itself: {loop.forced}."]
    findings = [
        *findings,
        *(asked if loop.forced and not submission.forced else []),
        *consistency(submission),
        *uncited(submission, loop.box.sources),
        *horizon(submission, dates),
        *foreign_orders(loop.steps),
    ]
    evidence = Evidence(
        steps=tuple(loop.steps),
        plan=plan,
        submission=submission,
        sources=tuple(loop.box.sources.values()),
        clamp=clamp,
        dates=dates,
        findings=tuple(findings),
        statistics=statistics(loop.spent, loop.steps),
        web=tools.web_records(),
    )
    return grounding_of(evidence, submission, failed_cells=tools.cell.failed_cells)


def grounding_of(evidence: Evidence, submission: Submission, *, failed_cells: int = 0) -> Grounding:
    """Return the grounding that a trace's submission gives."""
    ending = f"Not submitted by the model: {submission.forced}." if submission.forced else ""
    report = "\n\n".join(filter(None, (submission.reasoning, ending, *evidence.findings)))
    stated = Conclusion(
        p=submission.raw[-1],
        key_factor=submission.key_factor,
        report=submission.reasoning,
        numbers=Accounting.model_validate(dict(submission.numbers)),
    )
    return Grounding(
        belief=Belief(p=submission.p, key_factor=submission.key_factor, report=report),
        evidence=evidence,
        trace={
            "steps": sum(step.reply is not None for step in evidence.steps),
            "failed_cells": failed_cells,
        },
        findings=() if submission.forced else conclusion_findings(stated, None, RunKind(no_kernel=True)),
    )


def consistency(submission: Submission) -> list[str]:
    """Return a finding where something else was submitted than believed (BLF, App. E)."""
    if submission.forced or submission.gap is None or submission.gap <= SAME:
        return []
    return [
        f"Submitted {submission.raw[-1]:g} beside a belief of {submission.stated_belief:g}: they should be the same."
    ]


def uncited(submission: Submission, shown: Collection[str]) -> list[str]:
    """Return a finding where a case that was counted cites what nothing has shown."""
    cases = Accounting.model_validate(dict(submission.numbers)).cases
    unknown = [case.source for case in unshown_cases(cases, {name.casefold(): "" for name in shown})]
    return [f"Counts cases from {', '.join(unknown)}, which nothing showed."] if unknown else []


def horizon(submission: Submission, dates: Sequence[str]) -> list[str]:
    """Return a finding where a later date is held for more certain than an earlier one (BLF, App. J.3)."""
    certain = [abs(p - 0.5) for p in submission.raw]
    later = zip(dates[1:], certain, certain[1:], strict=False)
    surer = [day for day, before, after in later if after > before + SAME]
    return [f"Surer of the later than of the earlier date at {', '.join(surer)}."] if surer else []


def foreign_orders(steps: Sequence[TraceStep]) -> list[str]:
    """Return a finding for each step whose answers held text addressed to the reader, with the belief before and after it."""
    findings = []
    for place, step in enumerate(steps):
        marks = sorted({mark for call in step.calls for mark in call.marks})
        if not marks:
            continue
        # An answer is read in the step after the one that asked for it.
        beliefs = (later.p for later in steps[place + 1 :] if later.stage == step.stage)
        after = next((p for p in beliefs if p is not None), None)
        named = [identity for call in step.calls if call.marks for identity in call.sources]
        moved = "no belief is on record on both sides of it"
        if step.p is not None and after is not None:
            moved = f"p went from {step.p:.4f} to {after:.4f} after it was read"
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
