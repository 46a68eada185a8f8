"""The notebook as the grounder sees it: append, run, and on resume find what is there already.

A resumed leaf goes through its dialogue again from the start; the replies come from the ledger and bring the same cells
in the same order. Those that the journal holds are taken from it with their recorded results, so nothing runs twice and
every prompt is rebuilt as it was.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sandbox.types import CellResult, JournalCell
    from workbench.agents.base import ProofSession


class ProofLogMismatch(Exception):
    """The journal holds other cells than the dialogue brings; this attempt cannot go on."""


class ProofLog:
    """Appends cells to a session, or takes them from its journal as long as that lasts."""

    def __init__(self, session: ProofSession) -> None:
        self._session = session
        self._past = deque(session.cells)
        self.code_cells = 0

    async def markdown(self, source: str) -> None:
        """Append a text cell, or find it on record.

        Raises `ProofLogMismatch`: Another cell is on record at this place.
        """
        if self._recall("markdown", source) is None:
            await self._session.markdown(source)

    async def execute(self, source: str, *, fixes: str | None = None) -> CellResult:
        """Run a cell, or find its result on record; a cell that was started but has no result is run again.

        Raises `ProofLogMismatch`: Another cell is on record at this place.
        """
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
            raise ProofLogMismatch(
                f"the journal holds another {cell.kind} cell ({cell.id}) where the dialogue brings a {kind} cell"
            )
        return cell
