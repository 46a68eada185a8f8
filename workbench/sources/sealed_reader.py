"""Parse files of strangers (Excel, PDF, Word, web pages) in a sealed kernel, with limits.

The process that holds the keys only hands over bytes and takes back JSON. The kernel has no network, no key and no file of this
machine; it ends with the file.
"""

import base64
import json
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from proxies.json_text import Fields
from sandbox import Limits, Sandbox, SessionSpec
from workbench.errors import UsageError

#: Bytes of a file that is parsed; what it holds unpacked is bounded by the kernel's memory.
MOST_BYTES = 50_000_000
_PART = 4_000_000
_LIMITS = Limits(
    cell_seconds=120.0, cpu_seconds=240, memory_mb=1536, output_bytes=60_000_000, journal_bytes=1000, api_calls=50, processes=32,
)  # fmt: skip
#: Begins the one line of output that is the answer; a package may print lines of its own.
_MARK = "analyst-workbench-parsed:"
_RECEIVE = """
import base64, json
def received():
    whole = bytearray()
    while True:
        part = base64.b64decode(CALL_API("file", {"from": len(whole)}))
        if not part:
            return bytes(whole)
        whole += part
data = received()
"""


@dataclass(frozen=True, slots=True)
class _Part:
    data: str
    meta: Fields = field(default_factory=dict)


async def read_sealed(
    data: bytes, name: str, source: str, *, packages: tuple[str, ...], sandbox: Sandbox | None = None
) -> Any:
    """Parse a file's bytes in a sealed kernel and return the parser's JSON value.

    Raises `UsageError`: The file is too large, or cannot be parsed within the limits. Raises `IsolationUnavailable`: Nothing can be sealed
    on this machine: the file is not parsed.
    """
    if len(data) > MOST_BYTES:
        raise UsageError(
            f"{name} has {len(data) / 1e6:.0f} MB, at most {MOST_BYTES // 1_000_000} MB are allowed"
        )

    async def part(path: str, params: Fields, *, cell: int, nth: int) -> _Part:
        start = int(params.get("from", 0))
        return _Part(base64.b64encode(data[start : start + _PART]).decode())

    box = sandbox or Sandbox(packages=packages, warm=0)
    try:
        with tempfile.TemporaryDirectory(prefix="workbench-parse-") as folder:
            place = Path(folder)
            spec = SessionSpec(
                name="parse", journal=place / "journal.jsonl", notebook=place / "parse.ipynb", isolation=await box.level(), limits=_LIMITS,
            )  # fmt: skip
            session = await box.open(spec, part)
            try:
                ending = f"\nprint({_MARK!r} + json.dumps(answer, default=str, allow_nan=False))"
                result = await session.execute(_RECEIVE + source + ending)
            finally:
                await session.close()
    finally:
        if sandbox is None:
            await box.aclose()
    if result.status != "ok":
        why = result.error.ename if result.error else result.limit or result.status
        words = (
            f": {' '.join(result.error.evalue.split())[:120]}" if result.error and result.error.evalue else ""
        )
        raise UsageError(f"{name} cannot be parsed ({why}{words})")
    printed = "".join(
        text if isinstance(text := output.get("text", ""), str) else "".join(text)
        for output in result.outputs
        if output.get("output_type") == "stream" and output.get("name") == "stdout"
    )
    line = next((line for line in printed.splitlines() if line.startswith(_MARK)), None)
    try:
        return json.loads(line.removeprefix(_MARK)) if line else None
    except ValueError:
        raise UsageError(f"{name} is too large to read: split the file") from None
