"""The trace of a grounder that only thinks against the ledger: each step's reply is read again, and the answers are combined again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from workbench.agents.errors import MalformedReply
from workbench.agents.evidence.trace_records import Fault, step_id
from workbench.agents.grounders.thought_replies import (
    Answer,
    combine,
    conclusion_text,
    number_scale,
    parse_outcomes,
    parse_percentiles,
    query_text,
    read_query,
    read_thoughts,
    read_value,
    read_vote,
    thoughts_text,
    value_text,
)
from workbench.agents.replies.stage_replies import parse_conclusion

if TYPE_CHECKING:
    from workbench.agents.evidence.base import ProofContext
    from workbench.agents.evidence.trace_steps import Trace, TraceStep
    from workbench.models.base import ModelReply


def thought_faults(trace: Trace, proof: ProofContext) -> Iterator[Fault]:
    """Yield what of a trace differs from the recorded replies; raises ``StoreCorrupt`` for an altered body."""
    # The newest of a stage is the one that could be read: those before it were asked again.
    replies: Mapping[str, ModelReply] = {each.stage: each.reply for each in proof.replies()}
    answers: list[Answer] = []
    known: list[str] = []  # thoughts that were proposed or joined so far: only those can be valued
    used = set()
    for number, step in enumerate(trace.steps, 1):
        if not step.stage:
            continue
        cell = step_id(number)
        reply = replies.get(step.stage)
        if reply is None or step.stage in used:
            yield "ledger", cell, f"the ledger holds no reply of {step.stage} for this step"
            continue
        used.add(step.stage)
        try:
            fault = _fault(trace, step, reply.text, answers, known)
        except MalformedReply as malformed:
            fault = f"the recorded reply of {step.stage} cannot be read: {malformed.reason}"
        if fault:
            yield "ledger", cell, fault
    try:
        p = combine(str(trace.combined), answers)
    except ValueError as error:
        yield "conclusion", None, f"the recorded answers come to no probability: {error}"
        return
    if p != proof.belief.p:
        yield "conclusion", None, f"the recorded answers come to {p!r}, the log holds {proof.belief.p!r}"


def _fault(trace: Trace, step: TraceStep, text: str, answers: list[Answer], known: list[str]) -> str | None:
    """What of a step is not what its reply says; its answer and thoughts are added to the lists."""
    kind = step.stage.partition("-")[0]
    if kind in ("propose", "merge", "refine"):
        most = step.text.count("\n") + 1  # a thought takes a line at least
        for count in range(1, most + 1):
            thoughts = read_thoughts(text, count)
            if step.text == (thoughts_text(thoughts) if kind == "propose" else thoughts[0]):
                known += thoughts
                return None
        return f"the reply of {step.stage} proposes something else"
    if kind == "query":
        opening = query_text(read_query(text))
        return (
            None if step.text.startswith(opening) else f"the reply of {step.stage} searches for other words"
        )
    if kind == "value":
        opening = value_text(read_value(text))
        if step.text.startswith(opening) and step.text.removeprefix(opening) in known:
            return None
        return f"the reply of {step.stage} gives another value, or values what nobody proposed"
    if kind == "vote":
        vote = read_vote(text)
        answers.append(vote)
        return None if step.text == str(vote) else f"the reply of {step.stage} votes otherwise"
    if kind == "outcomes":
        forecast = parse_outcomes(text, tuple(trace.outcomes))
        if forecast.probabilities != trace.outcomes or trace.outcome not in trace.outcomes:
            return f"the reply of {step.stage} gives the outcomes other probabilities"
        conclusion = forecast.conclusion(trace.outcome)
    elif kind == "percentiles":
        number = json.loads(trace.outcome)
        forecast = parse_percentiles(text, number_scale(number))
        if forecast.probabilities != trace.outcomes:
            return f"the reply of {step.stage} gives other percentiles"
        conclusion = forecast.number_conclusion(number)
    else:
        conclusion = parse_conclusion(text)
    answers.append(conclusion)
    if (step.p, step.text) == (conclusion.p, conclusion_text(conclusion)):
        return None
    return f"the reply of {step.stage} concludes otherwise"
