"""A leaf that a review takes over from the run before: its data, asked again at the new cutoff, are what they were, or its day is over.

No model is asked. What was asked again is on the ledger of the new run, so that anybody can see that nothing changed.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from proxies.errors import Refused
from workbench.agents.base import Grounding, GroundingFailure, LeafTask
from workbench.agents.evidence.answer_content import answer_content
from workbench.agents.evidence.carried import carried_evidence
from workbench.agents.evidence.carried_values import CarriedLeaf
from workbench.propositions import Belief
from workbench.questions.errors import ClaimRefused


class CarriedGrounder:
    """Takes a leaf over; the engine uses it in place of the run's grounder for leaves that a review carries."""

    def __init__(self, leaf: CarriedLeaf, trial: int) -> None:
        self._leaf, self._trial = leaf, trial

    async def ground(self, task: LeafTask) -> Grounding | GroundingFailure:
        """Return the belief of the run before, or how the leaf came out; its data are asked for once more."""
        leaf = self._leaf
        earlier = leaf.trials.get(str(self._trial))
        if earlier is None:
            return _failure(f"run {leaf.run} has no trial {self._trial} of it")
        calls: list[tuple[str, str]] = []
        answers: list[tuple[str, dict[str, Any], Any]] = []
        for step, call in enumerate(leaf.calls):
            try:
                answer = await task.call_api(call.path, call.params, step=step)
            except Refused as refusal:
                return _failure(f"asked again: {refusal}")
            answers.append((call.path, call.params, answer.data))
            if answer_content(answer.data) != call.content:
                return _failure(f"{call.path} has changed since this review looked")
            calls.append((call.path, str(answer.meta["content_hash"])))
        p, report, factor = earlier.p, earlier.report, earlier.key_factor
        if leaf.settled_from:
            # pandas loads for a driver that came out, and for no screen
            from workbench.questions.series.recorded_rows import recorded_outcome

            try:
                p = float(recorded_outcome(task.node.statement, answers, leaf.settled_from))
            except ClaimRefused as problem:
                return _failure(f"closed: {problem}")
            factor = f"It came out {'true' if p else 'false'}."
            report = f"**{task.node.statement}**\n\nIts day is over: it came out {'true' if p else 'false'}.\n\n{_outcome_line(task, earlier, p)}"
        evidence = carried_evidence(leaf.run, leaf.reason, p, calls, leaf.settled_from)
        belief = Belief(p=p, key_factor=factor, report=report)
        return Grounding(belief=belief, evidence=evidence, trace={"steps": len(calls)})


def _failure(reason: str) -> GroundingFailure:
    return GroundingFailure(reason=reason[:500], retryable=False)


def _outcome_line(task: LeafTask, earlier: Belief, p: float) -> str:
    for line in earlier.report.splitlines():
        with suppress(ValueError):
            record = json.loads(line) if line.startswith('{"record"') else {}
            if record.get("statement") == task.node.statement:
                # what came out is known: no member of an ensemble, and no error, stands beside it
                decided = {**record, "p": p, "models": {}, "weights": {}, "error": 0.0}
                decided.pop("forecast", None)
                return json.dumps(decided, ensure_ascii=False, allow_nan=False)
    return ""
