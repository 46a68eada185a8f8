"""Serve a worker's calls for one job on the owner's side, which alone has store, budget and the provider's pace.

A lease is one worker's hold on the job. It ends when its worker is gone, when the job begins on another worker, and with the
job. What the worker did until then stands in the ledgers and in the journal, and the next one goes on from there.
"""

import asyncio
import os
from dataclasses import dataclass, replace
from pathlib import Path

from proxies.atomic import open_private, private_folder, replace_file
from proxies.ledger import LedgerRow
from sandbox.cell_library import CellLibrary, named_library
from sandbox.record.journal import read_lines
from workbench.engine.leaves.grounding import Sitting, session_spec
from workbench.engine.leaves.job import GroundJob
from workbench.errors import WorkbenchError
from workbench.models.base import ModelReply, ModelRequest
from workbench.search.leak_filter import STAGE, Verdict
from workbench.store import ApiLedger
from workbench.workers.calls import CallLine

#: What a worker may call.
OFFERS = frozenset({"begin", "ask", "record", "journal", "level", "notebook", "ping"})
#: Verdicts of the run's leak filter, by their key.
FreshVerdicts = list[tuple[str, Verdict]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """The start of a job on a worker: the job, and the journal, rows and verdicts of its earlier leases.

    ``library`` is the source that the journal's cells import, where that is not today's.
    """

    job: GroundJob
    journal: str
    library: str | None
    rows: tuple[LedgerRow, ...]
    verdicts: FreshVerdicts


class JobService:
    """Serves the calls of the worker that holds the job now."""

    def __init__(self, job: GroundJob, owner: Sitting) -> None:
        self.job = job
        self.line: CallLine | None = None
        self.worker = ""  # the address of who holds the lease, or held the last one
        self._owner = owner
        self._ledger = ApiLedger(owner.store)
        self._spec = session_spec(job, owner.store.folder(job.run), "none")  # the paths only
        self._verdicts_sent = 0  # to the lease of now

    def lease_to(self, line: CallLine, worker: str) -> None:
        """Lease the job to a worker; an earlier lease ends."""
        self.end()
        self.line, self.worker, self._verdicts_sent = line, worker, 0

    def end(self) -> None:
        """End the lease; a model call that is under way is charged at its worst case."""
        if self.line is not None:
            self.line.close()
        self.line = None

    async def begin(self) -> Begun:
        """Return the job, with the journal, rows and verdicts of its earlier leases."""
        return await asyncio.to_thread(self._begun)

    async def ask(
        self, request: ModelRequest, stage: str, step: int, retry: int
    ) -> tuple[ModelReply, FreshVerdicts]:
        """Return the ledger's reply, or record and return that of the worker's model."""
        line = self.line
        assert line is not None, "whoever asks holds the lease"

        async def complete(full_request: ModelRequest) -> ModelReply:
            # Whole, as the gateway made it: with the day, the question, and what the budget leaves room for.
            reply, limits = await line.call("send", full_request)
            if limits:
                self._owner.gateway.pace.learn(limits)
            if isinstance(reply, BaseException):
                raise reply
            return reply  # type: ignore[no-any-return]

        reply = await self._owner.gateway.ask(
            self.job.address(stage, step, retry),
            # An agent may hand a request to another role; without a word it is the grounder's, as `AttemptAsker` has it.
            request if request.role is not None else replace(request, role="grounder"),
            on_reply=self._owner.on_reply,
            complete=complete,
        )
        if stage == STAGE and len(request.nodes) == 1:
            self._owner.verdicts.keep_recorded(
                request.messages[-1].content,
                reply,
                question=request.nodes[0].statement,
                cutoff=self.job.cutoff,
            )
        return reply, self._fresh_verdicts()

    async def record(self, row: LedgerRow) -> None:
        """Record a data call."""
        self._ledger.record(row)

    async def journal(self, offset: int, lines: bytes) -> None:
        """Append the journal's next lines and sync them to disk."""
        await asyncio.to_thread(append_lines, self._spec.journal, offset, lines)
        # A worker's cells import the same text: it runs the owner's version of the code, or gets no work.
        if self._spec.library is not None:
            await asyncio.to_thread(self._spec.library.file_in, self._spec.journal.parent)

    async def level(self) -> str:
        """Return the isolation level of this sitting's kernels."""
        return await self._owner.level()

    async def notebook(self, text: str) -> None:
        """Write the attempt's notebook."""
        await asyncio.to_thread(replace_file, self._spec.notebook, text.encode(), private=True)

    async def ping(self) -> None:
        """Answer that the owner is alive."""

    def _begun(self) -> Begun:
        job = self.job
        return Begun(
            job=job,
            journal=whole_lines(self._spec.journal),
            library=self._earlier_library(),
            rows=tuple(
                row
                for row in self._ledger.rows(job.run, job.node)
                if (row.address.trial, row.address.attempt) == (job.trial, job.attempt)
            ),
            verdicts=self._fresh_verdicts(),
        )

    def _earlier_library(self) -> str | None:
        """Return the library that the cells so far import if it is not today's; raises ``JournalBroken`` if it is lost."""
        journal = self._spec.journal
        named = named_library(read_lines(journal)) if journal.exists() else None
        if named is None or (self._spec.library is not None and self._spec.library.digest == named):
            return None
        return CellLibrary.read(journal.parent, named).text.decode()

    def _fresh_verdicts(self) -> FreshVerdicts:
        """Return the run's verdicts that this lease has not been sent: a worker asks before it searches."""
        fresh = list(self._owner.verdicts.since(self._verdicts_sent))
        self._verdicts_sent += len(fresh)
        return fresh


def whole_lines(journal: Path) -> str:
    """Return a journal's lines and cut half a line, which a kill may leave, off the file's end."""
    if not journal.exists():
        return ""
    content = journal.read_bytes()
    whole, newline, torn = content.rpartition(b"\n")
    if torn:
        os.truncate(journal, len(content) - len(torn))
    return (whole + newline).decode()


def append_lines(journal: Path, offset: int, lines: bytes) -> None:
    """Append lines to a journal and sync them to disk.

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
        while rest:
            # A disk that is nearly full takes a part; the half line is cut off when the job begins again.
            rest = rest[file.write(rest) :]
        os.fdatasync(file.fileno())
