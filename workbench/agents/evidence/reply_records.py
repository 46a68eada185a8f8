"""Steps against the ledgers: every reply, tool answer, belief and thought of them is found on record and read again.

Nothing is asked and nothing is fetched. A tool answer is found in three places that were written apart from each other: in the
step, in the request that followed it, and, for data, in the answer on the data ledger, from which its text is written again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import orjson

from proxies.hashing import content_hash
from sandbox.record.verify import Difference
from workbench.agents.errors import MalformedReply
from workbench.agents.grounders.thought_replies import (
    Answer,
    NumberAsked,
    Value,
    Vote,
    combine,
    conclusion_text,
    parse_outcomes,
    parse_percentiles,
    query_text,
    read_query,
    read_thoughts,
    thoughts_text,
    value_text,
)
from workbench.agents.loop.agent_loop import short_form
from workbench.agents.loop.belief_state import FIELD, read_probability
from workbench.agents.loop.data_tools import FORECAST_SERIES, answered, text_again
from workbench.agents.loop.moves import calls_of
from workbench.agents.loop.submission import SUBMIT, clamped, read_submission
from workbench.agents.loop.tool_box import ToolPlace, text_hash
from workbench.agents.replies.stage_replies import parse_conclusion
from workbench.errors import UsageError
from workbench.propositions.strict_json import read_strict

if TYPE_CHECKING:
    from proxies.ledger import LedgerRow
    from workbench.agents.evidence.base import Evidence, ProofContext, RecordedReply, TraceCall, TraceStep

Rows = Mapping[str, "LedgerRow"]


def rows_by_hash(rows: Iterable[LedgerRow]) -> Rows:
    """Return the answered data calls by the content hash of their answers."""
    return {str(row.answer.meta.get("content_hash")): row for row in rows if row.answer}


def hash_faults(rows: Iterable[LedgerRow]) -> Iterator[Difference]:
    """Yield the data calls whose answer is not the one of its hash."""
    for row in rows:
        if row.answer is not None and content_hash(row.answer.data) != row.answer.meta.get("content_hash"):
            yield Difference("ledger", None, f"the answer to {row.path} has not its own hash")


def step_id(number: int) -> str:
    """Return the id of a step's cell in the proof notebook."""
    return f"trace-{number:03d}"


def loop_faults(evidence: Evidence, proof: ProofContext, rows: Rows) -> Iterator[Difference]:
    """Yield what of an agent's loop differs from the ledgers."""
    replies = proof.replies()
    yield from step_faults(evidence, replies, rows)
    submission = evidence.submission
    assert submission is not None, "only a loop is compared with replies"
    if submission.p != proof.belief.p:
        yield Difference(
            "conclusion", None, f"{submission.p!r} was submitted, the log holds {proof.belief.p!r}"
        )
    recorded = [reply for step in evidence.steps if (reply := _reply_of(step, replies)) is not None]
    if not recorded:
        yield Difference("conclusion", None, "the ledger holds no reply of this trace")
        return
    submits = [arguments for name, arguments in calls_of_reply(recorded[-1]) if name == SUBMIT]
    try:
        if submits:
            again = read_submission(
                submits[-1], dates=evidence.dates, clamp=evidence.clamp, stated_belief=None
            )
            raw, p = again.raw, again.p
        elif submission.forced:
            belief = evidence.steps[-1].belief
            # BLF, Algorithm 1, line 14; without a belief state 0.5 (App. J.2)
            raw = (0.5 if belief is None else belief.p,) * max(len(evidence.dates), 1)
            p = clamped(raw[0], evidence.clamp)
        else:
            p = parse_conclusion(recorded[-1].reply.text).p
            raw = (p,)
    except MalformedReply as malformed:
        yield Difference("conclusion", None, f"the recorded answer cannot be read: {malformed.reason}")
        return
    if (raw, p) != (submission.raw, submission.p):
        yield Difference(
            "conclusion", None, f"the recorded answer says {raw!r}, the trace {submission.raw!r}"
        )


def step_faults(evidence: Evidence, replies: Sequence[RecordedReply], rows: Rows) -> Iterator[Difference]:
    """Yield what of a loop's steps differs from the ledgers."""
    for number, step in enumerate(evidence.steps, 1):
        if step.reply is None:
            continue
        cell, recorded = step_id(number), _reply_of(step, replies)
        if recorded is None:
            what = f"the ledger holds no reply of {step.stage}, step {step.reply}, with these calls"
            yield Difference("ledger", cell, what)
            continue
        if fault := _belief_fault(step, recorded):
            yield Difference("ledger", cell, fault)
        for call in step.calls:
            if text_hash(call.text) != call.sha256:
                yield Difference("trace", cell, f"the answer of {call.tool} has not its own hash")
            elif not _was_shown(evidence, step, call, replies):
                yield Difference("ledger", cell, f"no request shows this answer of {call.tool}")
            elif missing := [answer for answer in call.answers if answer not in rows]:
                yield Difference("ledger", cell, f"no data call gave the answer {missing[0]}")
            elif _written_again(evidence, step, call, rows) not in (None, call.text):
                yield Difference(
                    "ledger", cell, f"the answer of {call.tool} is not what the ledger's data say"
                )


def calls_of_reply(recorded: RecordedReply, *, end: str = SUBMIT) -> list[tuple[str, dict[str, Any]]]:
    """Return name and arguments of the calls that a recorded reply makes; none where it is no move."""
    try:
        calls, _ = calls_of(recorded.reply, end=end)
    except MalformedReply:
        return []
    return [(call.name, call.arguments) for call in calls]


def _reply_of(step: TraceStep, replies: Sequence[RecordedReply]) -> RecordedReply | None:
    wanted = [(call.tool, dict(call.arguments)) for call in step.calls]
    for recorded in reversed(replies):
        if (recorded.stage, recorded.step) != (step.stage, step.reply):
            continue
        calls = [
            (name, {key: value for key, value in arguments.items() if key != FIELD})
            for name, arguments in calls_of_reply(recorded)
        ]
        if not wanted or calls == wanted:
            return recorded
    return None


def _belief_fault(step: TraceStep, recorded: RecordedReply) -> str | None:
    if step.belief is None:
        return None
    stated = [arguments[FIELD] for _, arguments in calls_of_reply(recorded) if FIELD in arguments]
    value = stated[-1] if stated else None
    if not isinstance(value, dict):
        return None
    try:
        said = read_probability(value.get("probability", value.get("p")), FIELD)
    except MalformedReply:
        return None
    believed = step.belief.p if step.stated is None else step.stated
    return None if said == believed else f"the reply believes {said!r}, the trace {believed!r}"


def _was_shown(
    evidence: Evidence, step: TraceStep, call: TraceCall, replies: Sequence[RecordedReply]
) -> bool:
    """Whether a later request of the dialogue holds the answer; one that nobody was asked after has only its own hash."""
    later = [reply for reply in replies if reply.stage == step.stage and reply.step > (step.reply or 0)]
    # Whole, or shortened for want of room; behind the last answer stands the step's status.
    if call.call_id is None:
        shown = {"\n\n".join([*(other.text for other in step.calls if other.call_id is None), step.status])}
    else:
        titles = {source.id: source.title for source in evidence.sources}
        short = short_form([(identity, titles.get(identity, "")) for identity in call.sources], call.text)
        behind = f"\n\n{step.status}" if call.number == len(step.calls) else ""
        shown = {call.text + behind, short + behind}
    return not later or any(
        message["content"] in shown
        for reply in later
        for message in reply.messages
        if message["role"] in ("tool", "user") and message.get("tool_call_id") == call.call_id
    )


def _written_again(evidence: Evidence, step: TraceStep, call: TraceCall, rows: Rows) -> str | None:
    """The text of a data answer, written again from the ledger; None where that cannot be compared."""
    if not call.answers or call.failed:
        return None
    row = rows[call.answers[0]]
    assert row.answer is not None, "only answered calls have a hash"
    track, number = step_place(evidence, step)
    place = ToolPlace(number, call.number, track)
    if call.tool != FORECAST_SERIES:
        return text_again(call.tool, call.arguments, row.path, row.answer, place)
    # the forecaster is 1 s of numerics, which other proofs do without
    from workbench.agents.loop.forecast_tool import code_mark, text_of_forecast

    if code_mark() not in call.text:
        return None  # computed by other code: its data are compared, its numbers cannot be
    return answered(row.path, row.answer, place, text_of_forecast(row.answer.data, call.arguments)).text


def step_place(evidence: Evidence, step: TraceStep) -> tuple[int, int]:
    """Return the track of a step's loop, and its number within that loop, from 1."""
    track = int(step.stage.removeprefix("sub")) if step.stage.startswith("sub") else 0
    same = [other for other in evidence.steps if other.stage == step.stage]
    return track, next(place for place, other in enumerate(same, 1) if other is step)


def thought_faults(evidence: Evidence, proof: ProofContext) -> Iterator[Difference]:
    """Yield what of a grounder that only thinks differs from the recorded replies: its steps, and how they came to p."""
    # The newest of a stage is the one that could be read: those before it were asked again.
    replies = {each.stage: each.reply.text for each in proof.replies()}
    answers: list[Answer] = []
    known: list[str] = []  # thoughts that were proposed or joined so far: only those can be valued
    for number, step in enumerate(evidence.steps, 1):
        if not step.stage:
            continue
        text = replies.pop(step.stage, None)
        what = ""
        try:
            if text is None:
                what = f"the ledger holds no reply of {step.stage} for this step"
            elif not _says_the_step(evidence, step, text, answers, known):
                what = f"the recorded reply of {step.stage} says something else"
        except MalformedReply as malformed:
            what = f"the recorded reply of {step.stage} cannot be read: {malformed.reason}"
        if what:
            yield Difference("ledger", step_id(number), what)
    try:
        p = combine(str(evidence.combined), answers)
    except ValueError as error:
        yield Difference("conclusion", None, f"the recorded answers come to no probability: {error}")
        return
    if p != proof.belief.p:
        yield Difference(
            "conclusion", None, f"the recorded answers come to {p!r}, the log holds {proof.belief.p!r}"
        )


def _says_the_step(
    evidence: Evidence, step: TraceStep, text: str, answers: list[Answer], known: list[str]
) -> bool:
    """Whether a reply says what its step does; its answer and thoughts are added to the lists."""
    kind = step.stage.partition("-")[0]
    if kind in ("propose", "merge", "refine"):
        most = step.text.count("\n") + 1  # a thought takes a line at least
        for count in range(1, most + 1):
            thoughts = read_thoughts(text, count)
            if step.text == (thoughts_text(thoughts) if kind == "propose" else thoughts[0]):
                known += thoughts
                return True
        return False
    if kind == "query":
        return step.text.startswith(query_text(read_query(text)))
    if kind == "value":
        opening = value_text(Value.read(text).value)
        return step.text.startswith(opening) and step.text.removeprefix(opening) in known
    if kind == "vote":
        vote = Vote.read(text)
        answers.append(vote)
        return step.text == str(vote)
    if kind == "outcomes":
        forecast = parse_outcomes(text, tuple(evidence.outcomes))
        if evidence.outcome not in evidence.outcomes:
            return False
        conclusion = forecast.conclusion(evidence.outcome)
    elif kind == "percentiles":
        try:
            number = read_strict(NumberAsked, orjson.loads(evidence.outcome), what="it")
        except (ValueError, UsageError):
            return False
        forecast = parse_percentiles(text, number.scale())
        conclusion = forecast.number_conclusion(number)
    else:
        forecast, conclusion = None, parse_conclusion(text)
    answers.append(conclusion)
    same = forecast is None or forecast.probabilities == evidence.outcomes
    return same and (step.p, step.text) == (conclusion.p, conclusion_text(conclusion))
