"""An agent's trace against the records: every reply, tool answer, belief and cell of it is found in the ledgers and read again.

Nothing is asked and nothing is fetched. A tool answer is found in three places that were written apart from each other: in the
trace, in the request that followed it, and, for data, in the answer on the data ledger, from which its text is written again.
"""

from __future__ import annotations

import asyncio
import dataclasses
import tempfile
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proxies.hashing import content_hash
from sandbox.errors import JournalBroken
from sandbox.record.journal import read_journal
from sandbox.record.session_notebook import render_notebook, write_notebook
from workbench.agents.errors import MalformedReply
from workbench.agents.loop.agent_loop import short_form
from workbench.agents.loop.belief_state import FIELD, read_probability
from workbench.agents.loop.data_tools import FORECAST_SERIES, answered, text_again
from workbench.agents.loop.moves import calls_of
from workbench.agents.loop.submission import SUBMIT, clamped, read_submission
from workbench.agents.loop.tool_box import ToolPlace, text_hash
from workbench.agents.replies.stage_replies import parse_conclusion

if TYPE_CHECKING:
    from proxies.ledger import Answer, LedgerRow
    from sandbox.record.verify import Verification
    from workbench.agents.evidence.base import ProofContext, RecordedReply, Replay
    from workbench.agents.evidence.trace_steps import Trace, TraceCall, TraceStep

Fault = tuple[str, str | None, str]


def ledger_faults(trace: Trace, proof: ProofContext, rows: Sequence[LedgerRow]) -> Iterator[Fault]:
    """Yield what of a trace differs from the ledgers; raises ``StoreCorrupt`` for an altered body."""
    last = yield from step_faults(trace, proof, rows)
    yield from _submission_faults(trace, proof, last)


def step_faults(
    trace: Trace, proof: ProofContext, rows: Sequence[LedgerRow]
) -> Generator[Fault, None, RecordedReply | None]:
    """Yield what of a trace's steps differs from the ledgers, and return the reply of the last one."""
    replies = proof.replies()
    for row in rows:
        if row.answer is not None and content_hash(row.answer.data) != row.answer.meta.get("content_hash"):
            yield "ledger", None, f"the answer to {row.path} has not its own hash"
    by_hash = {str(row.answer.meta.get("content_hash")): row for row in rows if row.answer is not None}
    last: RecordedReply | None = None
    for number, step in enumerate(trace.steps, 1):
        cell = step_id(number)
        if step.reply is None:
            continue
        recorded = _reply_of(step, replies)
        if recorded is None:
            yield (
                "ledger",
                cell,
                f"the ledger holds no reply of {step.stage}, step {step.reply}, with these calls",
            )
            continue
        last = recorded
        yield from _belief_faults(step, recorded, cell)
        for call in step.calls:
            if text_hash(call.text) != call.sha256:
                yield "trace", cell, f"the answer of {call.tool} has not its own hash"
            elif not _was_shown(trace, step, call, replies):
                yield "ledger", cell, f"no request shows this answer of {call.tool}"
            else:
                yield from _data_faults(trace, step, call, by_hash, cell)
    return last


def step_id(number: int) -> str:
    """Return the id of a step's cell in the proof notebook."""
    return f"trace-{number:03d}"


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
        calls = [(name, _without_belief(arguments)) for name, arguments in calls_of_reply(recorded)]
        if not wanted or calls == wanted:
            return recorded
    return None


def _without_belief(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if name != FIELD}


def _belief_faults(step: TraceStep, recorded: RecordedReply, cell: str) -> Iterator[Fault]:
    if step.belief is None:
        return
    held = step.belief.p if step.stated is None else step.stated
    stated = [arguments[FIELD] for _, arguments in calls_of_reply(recorded) if FIELD in arguments]
    value = stated[-1] if stated else None
    try:
        said = (
            read_probability(value.get("probability", value.get("p")), FIELD)
            if isinstance(value, dict)
            else None
        )
    except MalformedReply:
        said = None
    if said is not None and said != held:
        yield "ledger", cell, f"the reply believes {said!r}, the trace {held!r}"


def _was_shown(trace: Trace, step: TraceStep, call: TraceCall, replies: Sequence[RecordedReply]) -> bool:
    """Whether a later request of the dialogue holds the answer; one that nobody was asked after has only its own hash."""
    later = [reply for reply in replies if reply.stage == step.stage and reply.step > (step.reply or 0)]
    if not later:
        return True
    shown = _shown_texts(trace, step, call)
    return any(
        message["content"] in shown
        for reply in later
        for message in reply.messages
        if message["role"] in ("tool", "user") and message.get("tool_call_id") == call.call_id
    )


def _shown_texts(trace: Trace, step: TraceStep, call: TraceCall) -> set[str]:
    """The turns that may hold an answer: whole, or shortened for want of room; behind the last one stands the step's status."""
    if call.call_id is None:
        return {"\n\n".join([*(other.text for other in step.calls if other.call_id is None), step.status])}
    titles = {source.id: source.title for source in trace.sources}
    short = short_form([(identity, titles.get(identity, "")) for identity in call.sources], call.text)
    behind = f"\n\n{step.status}" if call.number == len(step.calls) else ""
    return {call.text + behind, short + behind}


def _data_faults(
    trace: Trace, step: TraceStep, call: TraceCall, by_hash: dict[str, LedgerRow], cell: str
) -> Iterator[Fault]:
    """What differs when the text of a data answer is written again from the ledger; other forms of writing are not compared."""
    for answer in call.answers:
        if answer not in by_hash:
            yield "ledger", cell, f"no data call gave the answer {answer}"
            return
    if not call.answers or call.failed or trace.form != 1:
        return
    track, number = step_place(trace, step)
    row = by_hash[call.answers[0]]
    assert row.answer is not None, "only answered calls have a hash"
    place = ToolPlace(number, call.number, track)
    again = _written_again(call, row.path, row.answer, place)
    if again is not None and again != call.text:
        yield "ledger", cell, f"the answer of {call.tool} is not what the ledger's data say"


def _written_again(call: TraceCall, path: str, answer: Answer, place: ToolPlace) -> str | None:
    if call.tool != FORECAST_SERIES:
        return text_again(call.tool, call.arguments, path, answer, place)
    # the forecaster is 1 s of numerics, which other proofs do without
    from workbench.agents.loop.forecast_tool import code_mark, text_of_forecast

    if code_mark() not in call.text:
        return None  # computed by other code: its data are compared, its numbers cannot be
    return answered(path, answer, place, text_of_forecast(answer.data, call.arguments)).text


def step_place(trace: Trace, step: TraceStep) -> tuple[int, int]:
    """Return the track of a step's loop, and its number within that loop, from 1."""
    track = int(step.stage.removeprefix("sub")) if step.stage.startswith("sub") else 0
    same = [other for other in trace.steps if other.stage == step.stage]
    return track, next(place for place, other in enumerate(same, 1) if other is step)


def _submission_faults(trace: Trace, proof: ProofContext, last: RecordedReply | None) -> Iterator[Fault]:
    submission = trace.submission
    assert submission is not None, "only a loop's trace is compared with replies"
    if submission.p != proof.belief.p:
        yield "conclusion", None, f"{submission.p!r} was submitted, the log holds {proof.belief.p!r}"
    if last is None:
        yield "conclusion", None, "the ledger holds no reply of this trace"
        return
    submits = [arguments for name, arguments in calls_of_reply(last) if name == SUBMIT]
    try:
        if submits:
            again = read_submission(submits[-1], dates=trace.dates, clamp=trace.clamp, stated_belief=None)
            raw, p = again.raw, again.p
        elif submission.forced:
            belief = trace.steps[-1].belief
            # BLF, Algorithm 1, line 14; without a belief state 0.5 (App. J.2)
            raw = (0.5 if belief is None else belief.p,) * max(len(trace.dates), 1)
            p = clamped(raw[0], trace.clamp)
        else:
            said = parse_conclusion(last.reply.text)
            raw, p = (said.p,), said.p
    except MalformedReply as malformed:
        yield "conclusion", None, f"the recorded answer cannot be read: {malformed.reason}"
        return
    if (raw, p) != (submission.raw, submission.p):
        yield "conclusion", None, f"the recorded answer says {raw!r}, the trace {submission.raw!r}"


def cell_faults(trace: Trace, proof: ProofContext) -> Iterator[Fault]:
    """Yield what of a trace's cells differs from their journal."""
    wanted = [call for step in trace.steps for call in step.calls if call.cell is not None]
    if not wanted:
        return

    try:
        cells = {cell.id: cell for cell in read_journal(proof.journal)}
    except (JournalBroken, OSError) as error:
        yield "chain", None, f"the journal of the cells cannot be read: {error}"
        return
    for call in wanted:
        cell = cells.get(str(call.cell))
        if cell is None or cell.source != call.arguments.get("source"):
            yield "chain", call.cell, "the journal holds another cell than the trace ran"


async def rerun_cells(proof: ProofContext, replay: Replay, compared: Verification) -> Verification:
    """Run the cells of a trace again, answered from the ledger; the proof notebook was compared before."""
    with tempfile.TemporaryDirectory(prefix="trace-") as folder:
        # The proof shows more than the session's cells; those alone stand in a notebook of their own.
        own = Path(folder) / "cells.ipynb"

        def write() -> None:
            write_notebook(own, render_notebook(read_journal(proof.journal)))

        await asyncio.to_thread(write)
        ran = await replay(dataclasses.replace(proof, notebook=own), lambda: None)
    return dataclasses.replace(
        compared,
        cells=compared.cells + ran.cells,
        differing=(*compared.differing, *ran.differing),
        advisory=ran.advisory,
        unrepeatable=ran.unrepeatable,
    )
