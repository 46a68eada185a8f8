"""Values that callers of the sandbox pass in and get back: limits, specifications, cells, results, isolation reports."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Protocol

from proxies.json_text import Fields, Row
from proxies.remedies import Option
from sandbox.cell_library import CellLibrary
from sandbox.errors import IsolationUnavailable

LEVELS: tuple[str, ...] = ("namespaces", "landlock", "none")

#: Limits that a watch enforces: it stops the cell, which then did not fail by itself.
WATCHED = ("memory", "disk")

CellKind = Literal["code", "markdown"]
CellStatus = Literal["ok", "error", "timeout", "died"]


class ApiAnswer(Protocol):
    """A cell's answer: `proxies.ledger.Answer` has this shape."""

    @property
    def data(self) -> Any:
        """A JSON value in the upstream's shape."""

    @property
    def meta(self) -> Fields:
        """What was clamped and dropped, and the source."""


class ApiCaller(Protocol):
    """Answers a cell's `CALL_API`; the engine supplies it, the wire server calls it.

    `cell` is the 0-based index of the code cell in the session, `nth` the 0-based count of calls in that cell.
    May raise `proxies.errors.ProxyError`; the cell then sees `ApiRefused` or `ApiUnavailable` with its message.
    """

    async def __call__(self, path: str, params: Fields, *, cell: int, nth: int) -> ApiAnswer:
        """Answer one call."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one session. Each limit that is hit becomes a result that the agent can read."""

    cell_seconds: float = 120.0
    grace_seconds: float = 5.0
    start_seconds: float = 60.0
    cpu_seconds: int = 3600
    memory_mb: int = 2048
    output_bytes: int = 2_000_000
    journal_bytes: int = 20_000_000
    api_calls: int = 500
    api_bytes: int = 256_000_000
    processes: int = 128
    disk_mb: int = 256
    files: int = 20_000
    open_files: int = 512

    def memory_bytes(self, level: str) -> int:
        """Return the bytes for kernel and children; in a private root, files live in memory and are added."""
        folders = 2 if level == "namespaces" else 0  # /tmp and /dev/shm
        return (self.memory_mb + folders * self.disk_mb) << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSpec:
    """The session to open: name, paths of journal and notebook, isolation level, and limits."""

    name: str
    journal: Path
    notebook: Path
    isolation: str = "namespaces"
    limits: Limits = field(default_factory=Limits)
    title: str = ""
    metadata: Fields = field(default_factory=dict)
    clock: datetime | None = None
    library: CellLibrary | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CellError:
    """The exception that ended a cell."""

    ename: str
    evalue: str
    traceback: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CellResult:
    """The result of one cell."""

    cell_id: str
    status: CellStatus
    outputs: tuple[Row, ...] = ()
    error: CellError | None = None
    duration_s: float = 0.0
    api_calls: int = 0
    #: ``disk`` for disk_mb and files, or None
    limit: str | None = None
    api_hashes: tuple[str, ...] = ()
    #: deleted; they were put back. Advice: a hostile cell can keep it from being seen.
    replaced: tuple[str, ...] = ()
    #: processor time: a fresh kernel has run the cells again, without that one
    wedged: str | None = None

    def text(self, limit: int = 6000) -> str:
        """Return the outputs as a model reads them, at most `limit` characters (head and tail are kept)."""
        parts = [part for output in self.outputs if (part := _readable(output))]
        if self.error and not any(output.get("output_type") == "error" for output in self.outputs):
            parts.append(f"{self.error.ename}: {self.error.evalue}")
        return _shorten("\n".join(parts), limit)

    @property
    def stopped(self) -> bool:
        """Whether the sandbox ended the cell: it is not run again, it would only be stopped again."""
        by_itself = self.error is None or self.error.ename in ("MemoryError", "OSError")
        by_watch = self.limit in WATCHED and not by_itself
        return self.status in ("timeout", "died") or by_watch

    def images(self) -> tuple[bytes, ...]:
        """Return the PNG images among the outputs, decoded, in order."""
        images = []
        for output in self.outputs:
            png = output.get("data", {}).get("image/png")
            if png:
                images.append(base64.b64decode("".join(png) if isinstance(png, list) else png))
        return tuple(images)


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalCell:
    """A cell of a journal; `result` is None for text and for a cell that never finished."""

    id: str
    kind: CellKind
    source: str
    result: CellResult | None = None
    superseded: bool = False
    replayed: bool = False
    shown: Fields = field(default_factory=dict)
    late: int = 0

    @property
    def findings(self) -> tuple[str, ...]:
        """Sentences that a reader of the proof should know of this cell; empty for nearly all."""
        sentences = []
        if self.result is not None and self.result.replaced:
            names = ", ".join(self.result.replaced)
            sentences.append(f"It replaced or deleted {names} of the kernel, which was put back.")
        if self.result is not None and self.result.wedged is not None:
            sentences.append(
                f"The kernel answered nothing any more after {self.result.wedged}; it was started anew without that cell."
            )
        if self.late:
            sentences.append(f"Threads showed {self.late} characters after it had ended; they were dropped.")
        return tuple(sentences)


@dataclass(frozen=True, slots=True, kw_only=True)
class IsolationReport:
    """The isolation levels of this machine, found by trying."""

    level: str
    available: tuple[str, ...]
    refused: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    memory: str = "watched"

    def require(self, level: str) -> None:
        """Raise `IsolationUnavailable` when `level` does not work here."""
        if level in self.available:
            return
        why = (
            "; ".join(line for line in self.refused if line.startswith(f"{level}:"))
            or f"{level}: unknown level"
        )
        raise IsolationUnavailable(
            f"no sandbox at level {level!r} on this machine ({why}); "
            "mend the cause, or run without a sandbox: ",
            Option("isolation", "none"),
        )

    def choose(self, requested: str | None) -> str:
        """Return the level for new kernels: the one requested by name, or the best sealed one that works here.

        Called wherever kernels are about to start. `requested` is what the person at this machine wrote; a level that
        stands in a run's records is never passed in, since whoever wrote the run would then choose it.

        Raises `IsolationUnavailable`: The requested level does not work, or none was requested and no sealed level works.
        """
        if requested is not None:
            self.require(requested)
            return requested
        sealed = [level for level in self.available if level != "none"]
        if sealed:
            return sealed[0]
        raise IsolationUnavailable(
            f"no sealed level works on this machine ({'; '.join(self.refused) or 'none was found'}); "
            "mend the cause, or run without a sandbox: ",
            Option("isolation", "none"),
        )


def _readable(output: Fields) -> str:
    kind = output.get("output_type")
    if kind == "stream":
        return _one_text(output.get("text", "")).rstrip("\n")
    if kind == "error":
        frames = "\n".join(output.get("traceback", ()))
        return frames or f"{output.get('ename')}: {output.get('evalue')}"
    data: Fields = output.get("data", {})
    lines = [_one_text(data["text/plain"])] if "text/plain" in data else []
    for mime, content in data.items():
        if mime.startswith("image/"):
            # base64 writes 3 bytes as 4 characters
            lines.append(f"[{mime}, {max(1, len(_one_text(content)) * 3 // 4 // 1000)} kB]")
    return "\n".join(lines)


def _one_text(text: str | Sequence[str]) -> str:
    return text if isinstance(text, str) else "".join(text)


def _shorten(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    # 60: room for the note in between
    tail = max(0, limit - head - 60)
    return (
        f"{text[:head]}\n[... {len(text) - head - tail} characters left out ...]\n{text[len(text) - tail :]}"
    )
