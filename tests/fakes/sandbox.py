"""A scripted session: cells answer from a queue, and a cell that nobody scripted is a failure of the test."""

import base64
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from sandbox.types import ApiCaller, CellError, CellResult, JournalCell, SessionSpec

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)

Step = CellResult | Callable[["FakeSession", str], CellResult]


def printed(text: str, *, image: bool = False, api_calls: int = 1) -> CellResult:
    """A cell that printed `text` (and drew one small image)."""
    outputs: list[dict[str, Any]] = [{"output_type": "stream", "name": "stdout", "text": text + "\n"}]
    if image:
        data = {"text/plain": "<Figure>", "image/png": base64.b64encode(PNG).decode()}
        outputs.append({"output_type": "display_data", "data": data, "metadata": {}})
    return CellResult(cell_id="", status="ok", outputs=tuple(outputs), duration_s=0.01, api_calls=api_calls)


def raised(ename: str, evalue: str) -> CellResult:
    """A cell whose code raised."""
    frames = (f"Traceback (most recent call last)\n{ename}: {evalue}",)
    output = {"output_type": "error", "ename": ename, "evalue": evalue, "traceback": list(frames)}
    error = CellError(ename=ename, evalue=evalue, traceback=frames)
    return CellResult(cell_id="", status="error", outputs=(output,), error=error, duration_s=0.01)


def timed_out() -> CellResult:
    """A cell that the clock stopped."""
    return dataclasses.replace(raised("KeyboardInterrupt", ""), status="timeout", limit="cell_seconds")


def died(exit_code: int = -9) -> CellResult:
    """A cell under which the kernel went away."""
    result = raised("KernelDied", f"the kernel ended with exit code {exit_code}")
    return dataclasses.replace(result, status="died")


class FakeSession:
    """Like `sandbox.Session`; `script` is shared by reference, so several sessions may draw from one queue."""

    def __init__(self, spec: SessionSpec, call_api: ApiCaller, script: list[Step]) -> None:
        self.spec = spec
        self.call_api = call_api
        self.script = script
        self.cells: Sequence[JournalCell] = []
        self.closed = False
        self.interrupted = 0

    async def markdown(self, source: str) -> JournalCell:
        cell = JournalCell(id=f"c{len(self.cells)}", kind="markdown", source=source)
        self.cells = [*self.cells, cell]
        return cell

    async def execute(self, source: str, *, fixes: str | None = None) -> CellResult:
        assert not self.closed, "execute on a closed session"
        assert self.script, f"no scripted result left for the cell:\n{source}"
        step = self.script.pop(0)
        result = step if isinstance(step, CellResult) else step(self, source)
        cell_id = f"c{len(self.cells)}"
        result = dataclasses.replace(result, cell_id=cell_id)
        if fixes is not None:
            assert any(cell.id == fixes for cell in self.cells), f"no cell {fixes} to fix"
        kept = [dataclasses.replace(c, superseded=True) if c.id == fixes else c for c in self.cells]
        self.cells = [*kept, JournalCell(id=cell_id, kind="code", source=source, result=result)]
        return result

    async def interrupt(self) -> None:
        self.interrupted += 1

    async def close(self) -> None:
        self.closed = True
