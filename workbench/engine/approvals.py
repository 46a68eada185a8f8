"""Steps that wait for a person: data calls under ``--approve``, and claims that another program proposes.

The question and the decision are events, so any screen can show and answer them.
"""

import asyncio
import getpass
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from proxies.errors import ANOTHER_WAY, Refused
from proxies.hashing import sha256_of
from proxies.ledger import Address, Answer, Ledger, LedgerRow
from workbench.engine.leaves.job import GroundJob
from workbench.engine.record.fold import load_state
from workbench.engine.record.recorder import Recorder
from workbench.engine.record.state import RunState
from workbench.engine.run_settings import RunSettings
from workbench.errors import Option, UsageError
from workbench.search.web_calls import waiting_for_a_person
from workbench.store import Store, utc_now
from workbench.store import events as ev
from workbench.terminal import printable

#: Sources whose answers are texts of the web, and single such endpoints: ``--approve pages`` asks about calls to these.
WEB_SOURCES = frozenset(
    {"brave", "exa", "gdelt", "searxng", "serper", "tavily", "wayback", "wikipedia", "sec/search"}
)
#: Seconds between two looks for a decision while one is waited for.
_LOOK = 0.3
_LONGEST_REASON, _LONGEST_NAME = 2_000, 200
#: Seconds that a cell may take while its data calls wait for a person; its processor time stays bounded.
PATIENT_CELL_SECONDS = 86_400.0


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
            " waits for a person to answer: start the run at a terminal or from the page; ",
            Option("approve", "none"),
            " does without",
        )


class Approvals:
    """Asks about the steps of one sitting and waits for the answers, for the process that owns the run."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._seen = recorder.store.last_seq()
        self._look: asyncio.Task[None] | None = None

    async def ask(self, job: GroundJob, what: ev.ApprovalSubject, text: str) -> ev.ApprovalGiven:
        """Return what a person decided on a step, asked now unless it was decided in this trial before."""
        key = (job.node, job.trial, what, sha256_of(text.encode()))
        state = self._recorder.state
        if key not in state.decided and key not in state.undecided:
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
        await asyncio.sleep(_LOOK)
        store, run_id = self._recorder.store, self._recorder.state.run_id
        for stored in store.events(run_id, after=self._seen, kinds=("approval.given",)):
            self._seen = stored.seq
            self._recorder.take_in(stored)


@dataclass(frozen=True, slots=True)
class ApprovedData:
    """A job's data calls, each of which waits for a person; under ``--approve pages`` only those for texts of the web."""

    source: Any
    approvals: Approvals
    job: GroundJob
    ledger: Ledger

    async def call(self, path: str, params: Mapping[str, Any] | None, address: Address) -> Answer:
        """Return the answer of a call that a person let through; raises ``Refused``, as the broker does, for another."""
        # As the catalogue reads a path: white space and slashes around it mean nothing, nor does case.
        plain = str(path).strip().strip("/").lower()
        is_page = plain in WEB_SOURCES or plain.partition("/")[0] in WEB_SOURCES
        if self.job.settings.approve == "pages" and not is_page:
            return await self.source.call(path, params, address)  # type: ignore[no-any-return]
        options = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS
        text = f"{path}\n{orjson.dumps(dict(params or {}), option=options, default=str).decode()}"
        with waiting_for_a_person():
            decision = await self.approvals.ask(self.job, "page" if is_page else "call", text)
        if decision.verdict == "yes":
            return await self.source.call(path, params, address)  # type: ignore[no-any-return]
        reason = f"{decision.author} refused this {decision.what}: {decision.reason} ({ANOTHER_WAY})"
        # On record like every refusal, so that the cell fails the same way when the proof is run again.
        self.ledger.record(
            LedgerRow(
                address=address,
                at_utc=utc_now(),
                path=path,
                asked=dict(params or {}),
                sent=[],
                cutoff=self.job.cutoff.text,
                answer=None,
                refused=reason,
                request_hash=sha256_of(text.encode()),
            )
        )
        raise Refused(reason)


# --- the other side: who is asked ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Undecided:
    """A step that waits: its name for an answer, where it stands, and all that would be sent."""

    name: str
    event: ev.ApprovalAsked
    text: str

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        place = self.event.model_dump(include={"node", "trial", "attempt", "what"})
        return {"name": self.name, **place, "text": self.text}


def person() -> str:
    """Return the login name of who sits here."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a user id without a name
        return f"user {os.getuid()}"


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
    store: Store, run_id: str, name: str, verdict: str, *, author: str, reason: str = ""
) -> ev.ApprovalGiven:
    """Put a person's decision on the log; the process that works on the run goes on from it.

    Raises `UsageError`: No step of this name waits, nobody answers for it, or a rejection has no reason.
    """
    author, reason = printable(" ".join(author.split()), keep=""), printable(reason.strip())
    if not author or len(author) > _LONGEST_NAME:
        raise UsageError(f"a decision needs the name of who decides, of at most {_LONGEST_NAME} characters")
    if verdict not in ("yes", "no"):
        raise UsageError(f"a decision is yes or no, not {verdict!r:.40}")
    if verdict == "no" and not reason:
        raise UsageError("a rejection needs a reason, which the agent reads before its next step")
    if len(reason) > _LONGEST_REASON:
        raise UsageError(f"a reason has at most {_LONGEST_REASON} characters, this has {len(reason)}")
    with store.transaction():
        waiting = {step_name(event): event for event in load_state(store, run_id).undecided.values()}
        if name not in waiting:
            names = ", ".join(waiting) or "none"
            raise UsageError(f"no step {name!r:.60} of run {run_id} waits for approval; waiting: {names}")
        place = waiting[name].model_dump(include={"node", "trial", "attempt", "what", "subject"})
        event = ev.ApprovalGiven(**place, verdict=verdict, reason=reason, author=author)
        store.append(run_id, event)
    return event
