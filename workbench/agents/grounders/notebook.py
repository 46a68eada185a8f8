"""The notebook grounder: steps of cells, debugging, a conclusion, all in one dialogue (Analytica, App. C.4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from sandbox.errors import JournalBroken, KernelDied, KernelStartFailed
from workbench.agents.base import AgentSettings, Grounding, GroundingFailure, LeafTask, ProofSession
from workbench.agents.dialogue import Dialogue
from workbench.agents.errors import AgentGaveUp
from workbench.agents.evidence.notebook import NotebookEvidence
from workbench.agents.grounders.documentation import DocumentationTool
from workbench.agents.grounders.proof_log import ProofLog, ProofLogMismatch
from workbench.agents.registry import no_options
from workbench.agents.replies import Conclusion, Step, parse_conclusion, parse_debug, parse_step
from workbench.prompts import render
from workbench.propositions import Belief

if TYPE_CHECKING:
    from proxies.asof.clock import Cutoff
    from sandbox.types import CellResult

MAX_IMAGES = 8


class NotebookGrounder:
    """Grounds a leaf by having the model write, run and mend a notebook, then conclude.

    Parameters
    ----------
    settings : AgentSettings
        Not used: a leaf's task carries its own. Accepted because every agent is made from settings.
    options : mapping
        This grounder has no settings of its own.
    """

    def __init__(
        self, settings: AgentSettings | None = None, options: Mapping[str, Any] | None = None
    ) -> None:
        no_options("the notebook grounder", options)
        self.settings = settings

    async def ground(self, task: LeafTask) -> Grounding | GroundingFailure:
        """Return the leaf's belief, or why there is none.

        Raises
        ------
        workbench.models.errors.ModelError
            From the asker; also cancellation passes.
        """
        try:
            proof = _Proof(task, await task.open_notebook())
            conclusion = await proof.run()
        except (AgentGaveUp, _CellStaysBroken, ProofLogMismatch) as error:
            return GroundingFailure(reason=str(error), retryable=True)
        except KernelStartFailed as error:
            return GroundingFailure(reason=str(error), retryable=True)
        except (KernelDied, JournalBroken) as error:
            return GroundingFailure(reason=f"the sandbox failed: {error}", retryable=True)
        belief = Belief(p=conclusion.p, key_factor=conclusion.key_factor, report=conclusion.report)
        return Grounding(
            belief=belief,
            evidence=NotebookEvidence(),
            trace={"steps": proof.steps, "failed_cells": proof.failed_cells},
        )


class _CellStaysBroken(Exception):
    """A cell failed after the last correction that it was allowed."""


@dataclass(slots=True)
class _Shown:
    """What goes back to the model after a step: text per cell, notes on the step, pictures."""

    outputs: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    images: list[bytes] = field(default_factory=list)

    def add(self, label: str, result: CellResult, limit: int) -> None:
        text = result.text(limit).strip("\n")
        self.outputs.append(f"{label} gave:\n{text}" if text else f"{label} gave no output.")
        images = result.images()
        shown = images[: MAX_IMAGES - len(self.images)]
        self.images.extend(shown)
        if len(shown) < len(images):
            self.outputs.append(f"({len(images) - len(shown)} more pictures of {label} are not shown here.)")

    def text(self) -> str:
        return "\n\n".join(self.outputs) or "(no Python cell in this step)"

    def preface(self) -> str:
        return "".join(f"{note}\n\n" for note in self.notes)


class _Proof:
    """One leaf on its way: the dialogue, the notebook, the counters."""

    def __init__(self, task: LeafTask, session: ProofSession) -> None:
        self.task = task
        self.settings = task.settings
        self.steps = 0
        self.failed_cells = 0
        self.proposition = f"{task.node.id}: {task.node.statement}"
        self.log = ProofLog(session)
        system = render(
            "notebook_system",
            cutoff=task.cutoff.text,
            last_day=_last_day(task.cutoff),
            api_map=task.data.overview.strip(),
            output_chars=task.settings.output_chars,
        )
        self.dialogue = Dialogue(
            system=system.text,
            nodes=(task.node,),
            cutoff=task.cutoff,
            ask=task.ask,
            settings=task.settings,
            tools=DocumentationTool(task.data),
        )

    async def run(self) -> Conclusion:
        shown = _Shown()
        while True:
            step = await self._ask_for_step(shown)
            shown = _Shown()
            for cell in step.cells:
                if cell.kind == "markdown":
                    await self.log.markdown(cell.source)
                else:
                    await self._run_cell(cell.source, shown)
            if step.end:
                # An end comes without Python cells, so there are no outputs left to show.
                return await self._conclude("You ended the notebook. ", shown)
            self.steps += 1
            if step.end_ignored:
                shown.notes.append(
                    "You asked to end the notebook in a reply that also brought Python cells. "
                    "The cells were run and the request was ignored."
                )
            if self.steps >= self.settings.max_proof_steps:
                # Unlike at an end, the outputs of this last step have not been shown yet.
                opening = (
                    f"{shown.preface()}Your cells have run. Their outputs:\n\n{shown.text()}\n\n"
                    f"The limit of {self.settings.max_proof_steps} steps is reached. "
                )
                return await self._conclude(opening, shown)

    async def _ask_for_step(self, shown: _Shown) -> Step:
        reply_format = render("step_reply").text
        if self.steps == 0:
            prompt = render(
                "step_first",
                proposition=self.proposition,
                cutoff=self.task.cutoff.text,
                max_steps=self.settings.max_proof_steps,
                reply_format=reply_format,
            )
        else:
            prompt = render(
                "step_next",
                notes=shown.preface(),
                outputs=shown.text(),
                proposition=self.proposition,
                cutoff=self.task.cutoff.text,
                steps_left=self.settings.max_proof_steps - self.steps,
                reply_format=reply_format,
            )
        return await self.dialogue.exchange(
            "step",
            prompt.text,
            partial(parse_step, first=self.steps == 0),
            propositions=self.proposition,
            reply_format=reply_format,
            images=shown.images,
        )

    async def _run_cell(self, source: str, shown: _Shown) -> None:
        before = len(self.dialogue.messages)
        result = await self.log.execute(source)
        first = number = self.log.code_cells
        corrections = 0
        fault = ""
        while result.status != "ok":
            self.failed_cells += 1
            fault = _fault(result)
            if corrections == self.settings.debug_max_retries:
                raise _CellStaysBroken(f"a Python cell still failed after {corrections} corrections: {fault}")
            source = await self._ask_for_correction(number, source, result, corrections)
            corrections += 1
            result = await self.log.execute(source, fixes=result.cell_id)
            number = self.log.code_cells
        label = f"Python cell {number}"
        if corrections:
            shown.notes.append(f"Python cell {first} failed; its correction, cell {number}, works.")
            if self.settings.truncate_debug:
                # The corrected source goes with the episode, so the note repeats it.
                self.dialogue.cut(before)
                shown.notes[-1] += (
                    f" The last error was {fault}. The source that works:\n\n```python\n{source}\n```"
                )
        shown.add(label, result, self.settings.output_chars)

    async def _ask_for_correction(
        self, number: int, source: str, result: CellResult, corrections: int
    ) -> str:
        reply_format = render("debug_reply").text
        prompt = render(
            "debug",
            number=number,
            source_code=source,
            error=_error_text(result, self.settings.output_chars),
            proposition=self.proposition,
            cutoff=self.task.cutoff.text,
            tries_left=self.settings.debug_max_retries - corrections,
            reply_format=reply_format,
        )
        return await self.dialogue.exchange(
            "debug", prompt.text, parse_debug, propositions=self.proposition, reply_format=reply_format
        )

    async def _conclude(self, opening: str, shown: _Shown) -> Conclusion:
        reply_format = render("conclusion_reply").text
        prompt = render(
            "conclude",
            opening=opening,
            proposition=self.proposition,
            cutoff=self.task.cutoff.text,
            reply_format=reply_format,
        )
        return await self.dialogue.exchange(
            "conclude",
            prompt.text,
            parse_conclusion,
            propositions=self.proposition,
            reply_format=reply_format,
            images=shown.images,
        )


def _last_day(cutoff: Cutoff) -> str:
    if cutoff.live:
        return "Data are live: each request sees what is known at that moment."
    return f"The last day that you can see in full is {cutoff.last_visible_day.isoformat()} (New York time)."


def _fault(result: CellResult) -> str:
    if result.error is None:
        return result.status
    return f"{result.error.ename}: {result.error.evalue}"


def _error_text(result: CellResult, limit: int) -> str:
    text = result.text(limit).strip("\n") or _fault(result)
    if result.status == "timeout":
        return f"{text}\n(The cell ran longer than a cell may, and was stopped. Do less, or do it faster.)"
    if result.status == "died":
        return f"{text}\n(The kernel died under this cell, probably for want of memory. Use less of it.)"
    return text
