"""Steps that wait for a person: ``--approve``. The question and the decision are events, so any screen can show and answer them.

A cell that is rejected ends its attempt. The next attempt goes on from there: what the model replied before is recalled from the
ledger, the cells before run again, and the model is told of the rejection where the cell would have stood.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from proxies.errors import ANOTHER_WAY, Refused
from proxies.hashing import sha256_of
from proxies.ledger import Address, Answer, Ledger, LedgerRow
from sandbox.types import CellError, CellResult, JournalCell
from workbench.agents.base import ProofSession
from workbench.engine.leaves.job import GroundJob
from workbench.engine.record.fold import load_state
from workbench.engine.record.recorder import Recorder
from workbench.engine.record.state import RunState
from workbench.engine.run_settings import RunSettings
from workbench.errors import Option, UsageError
from workbench.propositions import NodeId
from workbench.store import Store, utc_now
from workbench.store import events as ev
from workbench.terminal import printable

#: Sources whose answers are texts of the web, and single such endpoints: ``--approve pages`` asks about calls to these.
WEB_SOURCES = frozenset(
    {"brave", "exa", "gdelt", "searxng", "serper", "tavily", "wayback", "wikipedia", "sec/search"}
)
#: Seconds between two looks for a decision while one is waited for.
_LOOK = 0.3
_LONGEST_REASON, _LONGEST_EDIT, _LONGEST_NAME = 2_000, 64_000, 200
#: Seconds that a cell may take while its data calls wait for a person; its processor time stays bounded.
PATIENT_CELL_SECONDS = 86_400.0


class CellRejected(Exception):
    """A person rejected a cell that an attempt was about to run: the attempt ends, another one goes on from there."""

    def __init__(self, decision: ev.ApprovalGiven) -> None:
        super().__init__(_rejection(decision))


def check_answerable(settings: RunSettings, *, answered: bool, workers: bool = False) -> None:
    """Refuse a run whose steps would wait for ever, or could be run without waiting; raises ``UsageError``.

    ``answered`` says that somebody can answer: a terminal, or a screen that started this process.
    """
    if settings.approve == "none":
        return
    if workers:
        raise UsageError(
            Option("approve", settings.approve),
            " needs cells in this process: leave out ",
            Option("workers"),
            ", or ",
            Option("approve", "none"),
        )
    if not answered:
        raise UsageError(
            Option("approve", settings.approve),
            " waits for a person, and nobody can answer: start it at a terminal, or from the page; ",
            Option("approve", "none"),
            " does without",
        )


class Approvals:
    """The questions of one sitting and the wait for their answers, for the process that owns the run."""

    def __init__(self, recorder: Recorder, *, look_seconds: float | None = None) -> None:
        self._recorder = recorder
        self._look_seconds = _LOOK if look_seconds is None else look_seconds
        self._seen = recorder.store.last_seq()
        self._look: asyncio.Task[None] | None = None

    def rejected(self, node: NodeId, trial: int) -> tuple[int, ...]:
        """Return the attempts that the newest one goes on from."""
        return self._recorder.state.trial(node, trial).rejected

    async def ask(self, job: GroundJob, what: ev.ApprovalSubject, text: str) -> ev.ApprovalGiven:
        """Return what a person decided on a step, asked now unless it was decided in this trial before."""
        key = (job.node, job.trial, what, sha256_of(text.encode()))
        if (decision := self._recorder.state.decided.get(key)) is not None:
            return decision
        if key not in self._recorder.state.undecided:
            self._recorder.record(
                lambda put: ev.ApprovalAsked(
                    node=job.node, trial=job.trial, attempt=job.attempt, what=what, subject=put(text)
                )
            )
        await self._recorder.committed()  # an answer may come from elsewhere only when the question is there
        while (decision := self._recorder.state.decided.get(key)) is None:
            if self._look is None or self._look.done():
                self._look = asyncio.create_task(self._look_once())
            await asyncio.shield(self._look)
        return decision

    async def _look_once(self) -> None:
        """Take in the decisions that came since the last look; all who wait share one look."""
        await asyncio.sleep(self._look_seconds)
        store, run_id = self._recorder.store, self._recorder.state.run_id
        for stored in store.events(run_id, after=self._seen, kinds=("approval.given",)):
            self._seen = stored.seq
            self._recorder.take_in(stored)

    def body(self, digest: str) -> str:
        """Return a body as text: what a person wrote in place of a cell."""
        return self._recorder.store.text(digest)

    def cells(self, job: GroundJob) -> Callable[[ProofSession], ProofSession]:
        """Return what puts a job's notebook behind this gate; nothing where cells need no word."""
        if job.settings.approve != "cells":
            return lambda session: session
        return lambda session: ApprovedSession(session, self, job)

    def data(self, job: GroundJob, source: Any, ledger: Ledger) -> Any:
        """Return a job's way to data behind this gate; as it is where calls need no word."""
        if job.settings.approve not in ("calls", "pages"):
            return source
        return ApprovedData(source, self, job, ledger)

    def decisions_on_cells(self, job: GroundJob) -> dict[str, ev.ApprovalGiven]:
        """Return the decisions of a trial on its cells, by the hash of the source."""
        return {
            subject: decision
            for (node, trial, what, subject), decision in self._recorder.state.decided.items()
            if (node, trial, what) == (job.node, job.trial, "cell")
        }


class ApprovedSession:
    """A session whose code cells wait for a person; the ``ProofSession`` that a grounder gets under ``--approve cells``.

    The notebook says what a person did, in text cells. The grounder is shown its own cells: an edited one with a note above its
    output, a rejected one as failed, so that it writes another, also when the leaf is resumed.
    """

    def __init__(self, session: ProofSession, approvals: Approvals, job: GroundJob) -> None:
        self._session = session
        self._approvals = approvals
        self._job = job

    @property
    def cells(self) -> Sequence[JournalCell]:
        """Cells on record as the grounder wrote them, oldest first."""
        notes = {
            _note(decision, self._original(digest)): (digest, decision)
            for digest, decision in self._approvals.decisions_on_cells(self._job).items()
            if decision.verdict != "yes"
        }
        shown: list[JournalCell] = []
        edit: tuple[str, ev.ApprovalGiven] | None = None
        for cell in self._session.cells:
            noted = notes.get(cell.source) if cell.kind == "markdown" else None
            if noted is not None and noted[1].verdict == "edit":
                edit = noted
            elif noted is not None:
                failed = _failed_result(cell.id, noted[1])
                shown.append(
                    replace(cell, kind="code", source=self._original(noted[0]), result=failed, shown={})
                )
            elif cell.kind == "code" and edit is not None:
                result = None if cell.result is None else _with_note(cell.result, edit[1])
                shown.append(replace(cell, source=self._original(edit[0]), result=result))
                edit = None
            else:
                shown.append(cell)
        return shown

    async def markdown(self, source: str) -> JournalCell:
        """Append a text cell; it runs nothing and needs no word."""
        return await self._session.markdown(source)

    async def execute(self, source: str, *, fixes: str | None = None) -> CellResult:
        """Run a code cell when a person has let it; raises ``CellRejected`` for one that is rejected now."""
        decision = await self._approvals.ask(self._job, "cell", source)
        if decision.verdict == "yes":
            return await self._session.execute(source, fixes=fixes)
        if decision.verdict == "no" and decision.attempt == self._job.attempt:
            raise CellRejected(decision)
        note = await self._session.markdown(_note(decision, source))
        if decision.verdict == "no":  # in an earlier attempt, which this one goes on from
            return _failed_result(note.id, decision)
        assert decision.edited is not None
        result = await self._session.execute(self._approvals.body(decision.edited), fixes=fixes)
        return _with_note(result, decision)

    def _original(self, digest: str) -> str:
        return self._approvals.body(digest)


class ApprovedData:
    """Data calls that wait for a person, under ``--approve calls`` and ``pages``; a refused one is a refusal of the broker's kind."""

    def __init__(self, source: Any, approvals: Approvals, job: GroundJob, ledger: Ledger) -> None:
        self._source = source
        self._approvals = approvals
        self._job = job
        self._ledger = ledger

    async def call(self, path: str, params: Mapping[str, Any] | None, address: Address) -> Answer:
        """Return the answer of a call that a person let through; raises ``Refused`` for one that nobody wants."""
        what: ev.ApprovalSubject = "page" if _is_page(path) else "call"
        if what == "call" and self._job.settings.approve == "pages":
            return await self._source.call(path, params, address)  # type: ignore[no-any-return]
        text = call_text(path, params)
        decision = await self._approvals.ask(self._job, what, text)
        if decision.verdict == "yes":
            return await self._source.call(path, params, address)  # type: ignore[no-any-return]
        reason = f"{decision.author} refused this {what}: {decision.reason} ({ANOTHER_WAY})"
        # On record like every refusal, so that the cell fails the same way when the proof is run again.
        self._ledger.record(
            LedgerRow(
                address=address,
                at_utc=utc_now(),
                path=path,
                asked=dict(params or {}),
                sent=[],
                cutoff=self._job.cutoff,
                answer=None,
                refused=reason,
                request_hash=sha256_of(text.encode()),
            )
        )
        raise Refused(reason)


def call_text(path: str, params: Mapping[str, Any] | None) -> str:
    """Return a data call as a person is shown it: the path, and all parameters as JSON."""
    options = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS
    return f"{path}\n{orjson.dumps(dict(params or {}), option=options, default=str).decode()}"


def _is_page(path: str) -> bool:
    # As the catalogue reads a path: white space and slashes around it mean nothing, nor does case.
    plain = str(path).strip().strip("/").lower()
    return plain in WEB_SOURCES or plain.partition("/")[0] in WEB_SOURCES


def _rejection(decision: ev.ApprovalGiven) -> str:
    return f"{decision.author} rejected this cell before it ran: {decision.reason}"


def _note(decision: ev.ApprovalGiven, source: str) -> str:
    """The text cell of the proof that says what a person did; the same for the same decision, so that it is known again."""
    if decision.verdict == "edit":
        why = f": {decision.reason}" if decision.reason else ""
        return f"**The next cell was changed by {decision.author} before it ran{why}.** The agent had written:\n\n{_fenced_code(source)}"
    return f"**{_rejection(decision)}**\n\n{_fenced_code(source)}"


def _fenced_code(source: str) -> str:
    fence = "```"
    while fence in source:
        fence += "`"
    return f"{fence}python\n{source}\n{fence}"


def _failed_result(cell_id: str, decision: ev.ApprovalGiven) -> CellResult:
    error = CellError(ename="RejectedByAnalyst", evalue=_rejection(decision))
    return CellResult(cell_id=cell_id, status="error", error=error)


def _with_note(result: CellResult, decision: ev.ApprovalGiven) -> CellResult:
    why = f" ({decision.reason})" if decision.reason else ""
    text = f"[{decision.author} changed this cell before it ran{why}; what follows is the changed cell's output]\n"
    note = {"output_type": "stream", "name": "stdout", "text": text}
    return replace(result, outputs=(note, *result.outputs))


# --- the other side: who is asked ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Undecided:
    """A step that waits: its name for an answer, where it stands, and all that would be run or sent."""

    name: str
    event: ev.ApprovalAsked
    text: str

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        event = self.event
        return {
            "name": self.name,
            "node": event.node,
            "trial": event.trial,
            "attempt": event.attempt,
            "what": event.what,
            "text": self.text,
        }


def undecided_steps(store: Store, state: RunState) -> list[Undecided]:
    """Return the steps of a run that wait for a person, oldest first."""
    return [
        Undecided(name=step_name(event), event=event, text=store.text(event.subject))
        for event in state.undecided.values()
    ]


def step_name(event: ev.ApprovalAsked) -> str:
    """Return the name of a step: of what it holds, so that nobody approves another one by its place in a list."""
    return f"{event.node}.{event.trial}-{event.subject.removeprefix('sha256:')[:8]}"


def decide(
    store: Store,
    run_id: str,
    name: str,
    verdict: str,
    *,
    author: str,
    reason: str = "",
    edited: str | None = None,
) -> ev.ApprovalGiven:
    """Put a person's decision on the log; the process that works on the run goes on from it.

    Raises `UsageError`: No step of this name waits, nobody answers for it, a rejection without a reason, an edit of what is no cell.
    """
    author, reason = printable(" ".join(author.split()), keep=""), printable(reason.strip())
    if not author or len(author) > _LONGEST_NAME:
        raise UsageError(f"a decision needs the name of who decides, of at most {_LONGEST_NAME} characters")
    if verdict not in ("yes", "no", "edit"):
        raise UsageError(f"a decision is yes, no or edit, not {verdict!r:.40}")
    if verdict == "no" and not reason:
        raise UsageError("a rejection needs a reason: the agent is told it and goes on from there")
    if len(reason) > _LONGEST_REASON:
        raise UsageError(f"a reason has at most {_LONGEST_REASON} characters, this has {len(reason)}")
    if (verdict == "edit") != (edited is not None and bool(edited.strip())):
        raise UsageError("an edit is a text in place of the cell, and comes with the verdict edit alone")
    if edited is not None and len(edited) > _LONGEST_EDIT:
        raise UsageError(f"a cell has at most {_LONGEST_EDIT} characters, this has {len(edited)}")
    with store.transaction():
        state = load_state(store, run_id)
        step = next((each for each in undecided_steps(store, state) if each.name == name), None)
        if step is None:
            waiting = ", ".join(each.name for each in undecided_steps(store, state)) or "none"
            raise UsageError(f"no step {name!r:.60} of run {run_id} waits for approval; waiting: {waiting}")
        if verdict == "edit" and step.event.what != "cell":
            raise UsageError(
                f"a {step.event.what} cannot be edited, since its cell would not know: reject it and say what to ask instead"
            )
        asked_for = step.event
        event = ev.ApprovalGiven(
            node=asked_for.node,
            trial=asked_for.trial,
            attempt=asked_for.attempt,
            what=asked_for.what,
            subject=asked_for.subject,
            verdict=verdict,
            reason=reason,
            edited=None if edited is None else store.put_body(edited),
            author=author,
        )
        store.append(run_id, event)
    return event
