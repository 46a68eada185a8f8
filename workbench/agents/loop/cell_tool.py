"""``cell``: code in the leaf's sealed notebook, which starts with the first cell and with none before it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from workbench.agents.grounders.proof_log import ProofLog
from workbench.agents.loop.tool_box import Observation, Tool, ToolPlace, ToolSource, tool_spec
from workbench.quoting import quote

if TYPE_CHECKING:
    from sandbox.types import CellResult
    from workbench.agents.base import ProofSession

#: Characters of a cell's output that a model reads.
CHARACTERS = 6000


class CellTool(Tool):
    """Runs cells one after another; a failed one stays on record, and the next may say that it corrects it."""

    independent = False
    spec = tool_spec("cell")

    def __init__(self, open_notebook: Callable[[], Awaitable[ProofSession]]) -> None:
        self._open_notebook = open_notebook
        self._log: ProofLog | None = None
        self._failed: str | None = None
        self.cells = 0
        self.failed_cells = 0

    async def call(self, arguments: Mapping[str, Any], place: ToolPlace) -> Observation:
        """Run the cell, or take its result from the journal where an earlier sitting ran it.

        Raises `ProofFailed`: The journal holds another cell at this place. Raises `SandboxError`: No kernel can be started, or it
        died for good.
        """
        if self._log is None:
            self._log = ProofLog(await self._open_notebook())
        fixes = self._failed if arguments.get("corrects_last") else None
        result = await self._log.execute(str(arguments["source"]), fixes=fixes)
        self.cells += 1
        ok = result.status == "ok"
        self._failed = None if ok else result.cell_id
        self.failed_cells += not ok
        return self._observed(result, place)

    def _observed(self, result: CellResult, place: ToolPlace) -> Observation:
        identity = place.id("C")
        shown = quote(result.text(CHARACTERS).strip("\n") or "(no output)", CHARACTERS)
        ok = result.status == "ok"
        state = "" if ok else f", {result.status}: mend it in a new cell with corrects_last"
        return Observation(
            text=f"[{identity}] cell {self.cells}{state}\n{shown.text}",
            # Its data answers are compared with the journal when the cells are run again.
            sources=(ToolSource(id=identity, title=f"cell {self.cells}", origin=result.cell_id),)
            if ok
            else (),
            marks=shown.marks,
            failed=not ok,
            cell=result.cell_id,
            seconds=result.duration_s,
        )
