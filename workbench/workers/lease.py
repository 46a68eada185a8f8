"""The owner's side of one job: what a worker may ask for, and that only the newest lease on the job is heard.

A lease ends when its worker is gone, when the job begins on another worker, and with the job. What the worker did until then
stands in the ledgers and in the journal, and the next one goes on from there, at the same addresses.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from proxies.atomic import open_private, private_folder, replace_file
from proxies.errors import ProxyError
from sandbox.cell_library import CellLibrary, named_library
from sandbox.errors import SandboxError
from sandbox.record.journal import read_lines
from workbench.agents.base import Grounding, GroundingFailure
from workbench.agents.evidence.base import EvidenceBroken, MissingEvidence, read_evidence
from workbench.agents.findings.check_table import ReplyFinding
from workbench.engine.leaves.grounding import session_spec
from workbench.engine.leaves.job import GroundJob, JobOwner
from workbench.errors import WorkbenchError
from workbench.models.base import ModelReply, ModelRequest, reply_from_json, reply_to_json
from workbench.models.errors import ModelError
from workbench.propositions import Belief
from workbench.search.leak_filter import STAGE
from workbench.store import ApiLedger
from workbench.workers.messages import (
    WorkerBug,
    error_from_json,
    error_to_json,
    request_from_json,
    request_to_json,
    row_from_json,
    row_to_json,
)
from workbench.workers.worker_words import BadWord

#: Workers that may die of one job in one sitting; then its leaf waits for another.
MAX_LEASES = 3

#: Sends a message to the worker that holds a lease.
Reply = Callable[..., Awaitable[None]]


class WorkersLost(ModelError):
    """Every worker that took the job died of it; the leaf waits for another sitting."""


class JobService:
    """Serves one job: answers the messages of whichever worker holds it now.

    Parameters
    ----------
    job : GroundJob
    owner : JobOwner
    """

    def __init__(self, job: GroundJob, owner: JobOwner) -> None:
        self.job = job
        self.outcome: asyncio.Future[Grounding | GroundingFailure] = (
            asyncio.get_running_loop().create_future()
        )
        self.lease: str | None = None
        self.worker: str | None = None  # the address of who holds the lease, or held the last one
        self.again = asyncio.Event()  # set when its worker is not listened to any more
        self._owner = owner
        self._ledger = ApiLedger(owner.recorder.store)
        self._spec = session_spec(job, owner.recorder.store.folder(job.run), "none")  # the paths only
        self._leases = self._losses = 0
        self._answers: set[asyncio.Task[None]] = set()
        self._sends: dict[int, asyncio.Future[ModelReply]] = {}
        self._verdicts_sent = 0  # to the lease of now

    def receive(self, lease: str, message: dict[str, Any], reply: Reply) -> None:
        """Take a message of the lease that holds the job; called by the pool for each, in the order they came."""
        if message["what"] == "begin":
            self._begin(lease, message["worker"])
        elif message["what"] == "sent":
            self._sent(message)
            return
        # Each in a task of its own: a request may wait for its provider while a data call of the same leaf goes on.
        task = asyncio.ensure_future(self._answer(message, reply))
        self._answers.add(task)
        task.add_done_callback(self._answers.discard)

    def _begin(self, lease: str, worker: str) -> None:
        self.end()
        self.lease, self.worker = lease, worker
        self._leases += 1
        self._verdicts_sent = 0
        if self._leases > MAX_LEASES and not self.outcome.done():
            self.outcome.set_exception(
                WorkersLost(f"{MAX_LEASES} workers died at the evidence for {self.job.node}: see their logs")
            )

    def count_loss(self) -> None:
        """Count that the job has to be done again; a scheduler that lies must not have it done again for ever."""
        self._losses += 1
        if self._losses > MAX_LEASES and not self.outcome.done():
            self.outcome.set_exception(
                WorkersLost(f"the evidence for {self.job.node} was begun {self._losses} times and never came")
            )

    @property
    def waiting(self) -> int:
        """How many messages of its worker are still being answered."""
        return len(self._answers)

    def end(self) -> None:
        """End the lease: what it asked for is called off, and a request under way is charged at its worst case."""
        self.lease = None
        for task in self._answers:
            task.cancel()
        self._sends.clear()

    async def _answer(self, message: dict[str, Any], reply: Reply) -> None:
        number = message["n"]
        try:
            fields = await self._do(message, reply)
        except (WorkbenchError, ProxyError, SandboxError) as error:
            # An agent may catch what a model raises (a context that is full). What no agent catches comes back in `end`,
            # and stops the leaf or the run as it would in this process.
            await reply(n=number, what="error", error=error_to_json(error))
        except Exception as error:
            if not self.outcome.done():
                self.outcome.set_exception(error)
        else:
            await reply(n=number, what="answer", **fields)

    async def _do(self, message: dict[str, Any], reply: Reply) -> dict[str, Any]:
        match message["what"]:
            case "begin":
                content = await asyncio.to_thread(self._content)
                return {**content, "verdicts": self._new_verdicts()}
            case "ask":
                return await self._ask(message, reply)
            case "row":
                self._ledger.record(row_from_json(message["row"], self.job.address("", 0, 0)))
            case "journal":
                await asyncio.to_thread(
                    append_lines, self._spec.journal, message["offset"], message["lines"].encode()
                )
                # A worker's cells import the same text: it runs the owner's version of the code, or gets no work.
                if self._spec.library is not None:
                    await asyncio.to_thread(self._spec.library.file_in, self._spec.journal.parent)
            case "level":
                return {"level": await self._owner.level()}
            case "end":
                self._conclude(message)
            case "ping":
                pass  # the answer is all it wants
        return {}

    def _content(self) -> dict[str, Any]:
        job = self.job
        rows = [
            row_to_json(row)
            for row in self._ledger.rows(job.run, job.node)
            if (row.address.trial, row.address.attempt) == (job.trial, job.attempt)
        ]
        return {
            "content": job.to_json(),
            "journal": whole_lines(self._spec.journal),
            "library": self._library_text(),
            "rows": rows,
        }

    def _library_text(self) -> str | None:
        """The source that the cells so far import, where they were begun with another than today's: a worker has no other way to it.

        Raises ``JournalBroken`` where it is gone from beside the journal, or altered.
        """
        journal = self._spec.journal
        named = named_library(read_lines(journal)) if journal.exists() else None
        if named is None or (self._spec.library is not None and self._spec.library.digest == named):
            return None
        return CellLibrary.read(journal.parent, named).text.decode()

    async def _ask(self, message: dict[str, Any], reply: Reply) -> dict[str, Any]:
        number, (stage, step, retry) = message["n"], message["place"]

        async def complete(request: ModelRequest) -> ModelReply:
            sent: asyncio.Future[ModelReply] = asyncio.get_running_loop().create_future()
            self._sends[number] = sent
            # Whole, as the gateway made it: with the day, the question, and what the budget leaves room for.
            await reply(n=number, what="send", request=request_to_json(request))
            return await sent

        gateway = self._owner.gateway
        try:
            request = request_from_json(message["request"])
        except (ValueError, TypeError, KeyError) as error:  # of the right form and of no sense
            raise BadWord(f"ask: {error!s:.100}") from None
        answer = await gateway.ask(
            self.job.address(stage, step, retry),
            # An agent may hand a request to another role; without a word it is the grounder's, as `AttemptAsker` has it.
            request if request.role is not None else replace(request, role="grounder"),
            on_reply=self._owner.on_reply,
            complete=complete,
        )
        verdicts = self._owner.verdicts
        if verdicts is not None and stage == STAGE and len(request.nodes) == 1:
            verdicts.keep_recorded(
                request.messages[-1].content,
                answer,
                question=request.nodes[0].statement,
                cutoff=self.job.parsed_cutoff(),
            )
        return {"reply": reply_to_json(answer), "verdicts": self._new_verdicts()}

    def _new_verdicts(self) -> list[list[Any]]:
        """The run's verdicts that this lease has not been sent: it asks before it searches, so they come in time for most of it."""
        if self._owner.verdicts is None:
            return []
        fresh = self._owner.verdicts.since(self._verdicts_sent)
        self._verdicts_sent += len(fresh)
        return [[key, verdict.keep, verdict.reason, verdict.model] for key, verdict in fresh]

    def _sent(self, message: dict[str, Any]) -> None:
        if message["limits"]:
            self._owner.gateway.pace.learn(message["limits"])
        sent = self._sends.pop(message["n"], None)
        if sent is None or sent.done():
            return
        if "error" in message:
            sent.set_exception(error_from_json(message["error"]))
        else:
            sent.set_result(reply_from_json(message["reply"]))

    def _conclude(self, message: dict[str, Any]) -> None:
        if self.outcome.done():
            return
        if "notebook" in message:
            replace_file(self._spec.notebook, message["notebook"].encode(), private=True)
        try:
            self.outcome.set_result(self._outcome(message))
        except Exception as error:
            self.outcome.set_exception(error)

    def _outcome(self, message: dict[str, Any]) -> Grounding | GroundingFailure:
        if "error" in message:
            raise error_from_json(message["error"])
        if "bug" in message:
            bug = WorkerBug(message["bug"]["line"])
            bug.add_note(message["bug"]["message"])
            raise bug
        if "failure" in message:
            failure = message["failure"]
            place = failure["gave_up"]
            return GroundingFailure(
                reason=failure["reason"],
                retryable=failure["retryable"],
                gave_up=None if place is None else (place[0], place[1]),
            )
        content = message["grounding"]
        try:
            evidence = read_evidence(content["kind"], content["evidence"])
        except (MissingEvidence, EvidenceBroken, ValueError, TypeError, KeyError, AttributeError) as error:
            return GroundingFailure(
                reason=f"the worker gave evidence that cannot be read back: {error}"[:500], retryable=False
            )
        return Grounding(
            belief=Belief(p=content["p"], key_factor=content["key_factor"], report=content["report"]),
            evidence=evidence,
            trace=content["trace"],
            findings=tuple(map(ReplyFinding.from_json, content["findings"])),
        )


def whole_lines(journal: Path) -> str:
    """Return a journal's lines, after half a line at its end, which a kill may leave, is cut off the file."""
    if not journal.exists():
        return ""
    content = journal.read_bytes()
    whole, newline, torn = content.rpartition(b"\n")
    if torn:
        os.truncate(journal, len(content) - len(torn))
    return (whole + newline).decode()


def append_lines(journal: Path, offset: int, lines: bytes) -> None:
    """Append lines to a journal and return when they are on the disk.

    Raises ``WorkbenchError`` where it does not end at ``offset``: a line more or less would break its chain for ever.
    """
    private_folder(journal.parent)
    with open(journal, "ab", buffering=0, opener=open_private) as file:
        size = os.fstat(file.fileno()).st_size
        if size != offset:
            raise WorkbenchError(
                f"a worker sends lines of {journal.name} from byte {offset}, it ends at {size}: another worker wrote it"
            )
        rest = memoryview(lines)
        while (
            rest
        ):  # a disk that is nearly full takes a part; the half line is cut off when the job begins again
            rest = rest[file.write(rest) :]
        os.fdatasync(file.fileno())
