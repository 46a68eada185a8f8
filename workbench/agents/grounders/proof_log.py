"""The notebook as the grounder sees it: append, run, and on resume find what is there already; and how an attempt may end without a belief.

A resumed leaf goes through its dialogue again from the start; the replies come from the ledger and bring the same cells
in the same order. Those that the journal holds are taken from it with their recorded results, so nothing runs twice and
every prompt is rebuilt as it was.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable
from dataclasses import replace
from typing import TYPE_CHECKING

from sandbox.errors import JournalBroken, KernelDied
from workbench.agents.base import Grounding, GroundingFailure
from workbench.agents.errors import AgentGaveUp

if TYPE_CHECKING:
    from sandbox.types import CellResult, JournalCell
    from workbench.agents.base import LeafTask, ProofSession


class ProofFailed(Exception):
    """An attempt cannot go on; ``retryable``: a new one may."""

    def __init__(self, reason: str, *, retryable: bool = True) -> None:
        super().__init__(reason)
        self.retryable = retryable


async def guarded(task: LeafTask, work: Awaitable[Grounding]) -> Grounding | GroundingFailure:
    """Return what the work gives; what ends an attempt and is no bug becomes a value."""
    try:
        return await work
    except AgentGaveUp as error:
        # A new attempt would buy the whole notebook again to meet the same reply; the paper does just that.
        again = task.settings.extra_ask_share is None
        return GroundingFailure(reason=str(error), retryable=again, gave_up=None if again else error.place)
    except (KernelDied, JournalBroken) as error:
        return GroundingFailure(reason=f"the sandbox failed: {error}", retryable=True)
    except ProofFailed as error:
        return GroundingFailure(reason=str(error), retryable=error.retryable)


class ProofLog:
    """Appends cells to a session, or takes them from its journal as long as that lasts; raises `ProofFailed` where that holds others."""

    def __init__(self, session: ProofSession) -> None:
        self._session = session
        self._past = deque(session.cells)
        self.code_cells = 0

    async def markdown(self, source: str) -> None:
        """Append a text cell, or find it on record."""
        if self._recall("markdown", source) is None:
            await self._session.markdown(source)

    async def execute(self, source: str, *, fixes: str | None = None) -> CellResult:
        """Run a cell, or find its result on record; a cell that was started but has no result is run again."""
        # Recalled cells count as well: prompts name cells by number and must be rebuilt as they were.
        self.code_cells += 1
        cell = self._recall("code", source)
        if cell is not None and cell.result is None and self._past and self._past[0].source == source:
            # its second run was journalled behind it by an earlier resume
            cell = self._recall("code", source)
        # A cell on record without a result: the process ended while it ran.
        if cell is None or cell.result is None:
            return await self._session.execute(source, fixes=fixes)
        return replace(cell.result, cell_id=cell.id)

    def _recall(self, kind: str, source: str) -> JournalCell | None:
        if not self._past:
            return None
        cell = self._past.popleft()
        if (cell.kind, cell.source) != (kind, source):
            raise ProofFailed(
                f"the journal holds another {cell.kind} cell ({cell.id}) where the dialogue brings a {kind} cell"
            )
        return cell
