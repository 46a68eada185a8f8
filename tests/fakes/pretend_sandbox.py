"""A sandbox without kernels: what a cell gives follows from what stands in its source. For tests of the models' side."""

import asyncio
import base64
import re
from typing import Any

from sandbox.types import CellError, CellResult, JournalCell, SessionSpec
from tests.fakes.sandbox import PNG

#: Text in a cell -> what it raises.
ERRORS = {
    r"fred/": ("ApiRefused", "fred needs a key: set FRED_API_KEY"),
    r"no/such/path": (
        "ApiRefused",
        "no endpoint has the path no/such/path; did you mean embedded/series/list?",
    ),
    r"undefined_name|still_undefined": ("NameError", "name 'undefined_name' is not defined"),
    r"thought": ("RuntimeError", "a thought was run"),
}


class PretendSession:
    """Like `sandbox.Session`."""

    def __init__(self, spec: SessionSpec) -> None:
        self.spec = spec
        self.cells: list[JournalCell] = []
        self.sources: list[str] = []

    async def markdown(self, source: str) -> JournalCell:
        cell = JournalCell(id=f"c{len(self.cells)}", kind="markdown", source=source)
        self.cells.append(cell)
        return cell

    async def execute(self, source: str, *, fixes: str | None = None) -> CellResult:
        await asyncio.sleep(0)
        self.sources.append(source)
        result = outcome(source, cell_id=f"c{len(self.cells)}")
        self.cells.append(JournalCell(id=result.cell_id, kind="code", source=source, result=result))
        return result

    async def close(self) -> None:
        return


def outcome(source: str, *, cell_id: str) -> CellResult:
    """What a cell gives: an error of `ERRORS`, or printed text and a picture where it draws."""
    for pattern, (ename, evalue) in ERRORS.items():
        if re.search(pattern, source):
            error = CellError(ename=ename, evalue=evalue, traceback=(f"{ename}: {evalue}",))
            output = {"output_type": "error", "ename": ename, "evalue": evalue, "traceback": [evalue]}
            return CellResult(cell_id=cell_id, status="error", outputs=(output,), error=error)
    size = re.search(r"print\('x' \* (\d+)\)", source)
    text = "x" * int(size[1]) if size else "rows 250, last 2718.37, base rate 0.62"
    outputs: list[dict[str, Any]] = [{"output_type": "stream", "name": "stdout", "text": text + "\n"}]
    if "plt.show" in source:
        data = {"image/png": base64.b64encode(PNG).decode()}
        outputs.append({"output_type": "display_data", "data": data, "metadata": {}})
    return CellResult(
        cell_id=cell_id, status="ok", outputs=tuple(outputs), api_calls=source.count("CALL_API(")
    )


class _Report:
    refused: tuple[str, ...] = ()


class PretendSandbox:
    """Like `sandbox.Sandbox`; ``sessions`` keeps what was opened."""

    def __init__(self) -> None:
        self.sessions: list[PretendSession] = []

    def warm(self) -> None:
        return

    async def probe(self) -> Any:
        return _Report()

    async def level(self) -> str:
        return "none"

    async def open(self, spec: SessionSpec, caller: Any) -> PretendSession:
        session = PretendSession(spec)
        self.sessions.append(session)
        return session

    async def aclose(self) -> None:
        return
