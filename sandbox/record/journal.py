"""Write and read a session's journal: an append-only file of JSON lines, each with the hash of the line before it.

Lines: ``open`` (name, title, metadata), ``kernel`` (a kernel started: level, why), ``markdown``, ``code`` (source, fixes),
``library`` (the hash of the source that cells may import), ``result`` (and in ``shown`` the passive forms of outputs, `sandbox.record.passive`), ``void`` (a code cell that never ended is taken back), ``late`` (so many characters came from a cell's threads after its result was written, and were
dropped), ``stamp`` (what a later check found), ``close``.
Every line carries ``seq``, ``at``, ``prev`` and ``hash`` = SHA-256 of the line without ``hash``, in canonical JSON.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from proxies.atomic import open_private, private_folder
from proxies.hashing import canonical_json
from proxies.json_text import Fields, Row
from sandbox.errors import AnotherWriter, JournalBroken
from sandbox.types import CellError, CellResult, JournalCell

GENESIS = "0" * 64


def seal_line(fields: Fields) -> str:
    """Hash a line's fields without ``hash`` itself."""
    return hashlib.sha256(_canonical(fields)).hexdigest()


def _canonical(fields: Fields) -> bytes:
    body = {key: value for key, value in fields.items() if key != "hash"}
    return canonical_json(body, default=str)


class Journal:
    """An open journal; `append` returns when the line is on the disk.

    Raises `JournalBroken`: The file is there and its lines do not chain. Half a line at its end, as a crash leaves it, is cut off.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        private_folder(path.parent)
        # Unbuffered: what a full disk refused must not come out of a buffer later, behind other lines.
        self._file = open(path, "ab", buffering=0, opener=open_private)  # noqa: SIM115  (lives as long as the session)
        lines = list(_sealed_lines(path, cut_torn_tail=True))
        self.sequence = len(lines)
        self.head = lines[-1]["hash"] if lines else GENESIS
        self._size = path.stat().st_size

    def append(self, kind: str, *, sync: bool = True, **fields: Any) -> str:
        """Write one line and return its hash; without `sync` it survives our death but not the machine's.

        Raises `AnotherWriter`: The file is not as long as we left it. A line of ours after a stranger's would break the chain for ever.
        """
        if os.fstat(self._file.fileno()).st_size != self._size:
            raise AnotherWriter(
                f"another writer appends to {self.path.name}: the run is in work in another process, this one stops"
            )
        body = _canonical(
            {
                "seq": self.sequence,
                "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
                "kind": kind,
                "prev": self.head,
                **fields,
            }
        )
        head = hashlib.sha256(body).hexdigest()
        # the hash is put behind the text that was hashed, so a line is encoded once; `seal_line` leaves it out again
        line = body[:-1] + b',"hash":"' + head.encode() + b'"}\n'
        self._write(line, sync)
        self._size += len(line)
        self.sequence += 1
        self.head = head
        return head

    def _write(self, line: bytes, sync: bool) -> None:
        descriptor = self._file.fileno()
        rest = memoryview(line)
        try:
            while rest:
                rest = rest[os.write(descriptor, rest) :]
            if sync:
                # most of what a line costs: about 0.3 ms, against 0.1 for all the rest
                os.fdatasync(descriptor)
        # A full disk takes a part of a line, or all of it and says so at the sync only. Without the line the journal can
        # go on when there is room again; with it the next one, which follows the same line, would break the chain.
        except OSError:
            os.ftruncate(descriptor, self._size)
            raise

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_lines(path: Path) -> list[Row]:
    """Read all lines of a journal and check the chain.

    Raises `JournalBroken`: A line was changed, added, removed or moved; the message names its number.
    """
    return list(_sealed_lines(path, cut_torn_tail=False))


def read_head(path: Path) -> str | None:
    """Return the hash of the last line, which fixes all lines before it; None where there is no journal.

    Kept by the caller outside the journal, it shows a journal that was written anew whole. Raises `JournalBroken`.
    """
    if not path.exists():
        return None
    lines = read_lines(path)
    return lines[-1]["hash"] if lines else GENESIS


def ends_at(path: Path, head: str) -> bool:
    """Whether a journal ends at `head`, apart from stamps, which show no cell. Raises `JournalBroken`."""
    for line in reversed(read_lines(path)):
        if line["hash"] == head:
            return True
        if line["kind"] != "stamp":
            return False
    return head == GENESIS


def read_journal(path: Path) -> list[JournalCell]:
    """Read the cells of a journal in order, without voided ones. Raises `JournalBroken`."""
    return cells_of(read_lines(path), path.name)


def cells_of(lines: list[Row], name: str) -> list[JournalCell]:
    """Fold the lines of a journal into cells; ``name`` is the journal's, for `JournalBroken`."""
    try:
        return fold(lines)
    except (
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
    ) as error:  # it chains, but nobody of ours wrote it
        raise JournalBroken(f"{name}: a line lacks what its kind needs ({error!r:.80})") from error


def fold(lines: list[Row]) -> list[JournalCell]:
    """Fold journal lines into cells, in order: superseded ones marked, voided ones left out.

    Raises ``KeyError``, ``TypeError``, ``ValueError`` or ``AttributeError`` for lines that no session of ours wrote;
    `read_journal` makes one error of them.
    """
    cells: dict[str, JournalCell] = {}
    for line in lines:
        kind = line["kind"]
        if kind in ("markdown", "code"):
            _check_texts(line["id"], line["source"])
        if kind == "markdown":
            passive = _check_shown(line.get("shown", {}))
            cells[line["id"]] = JournalCell(
                id=line["id"], kind="markdown", source=line["source"], shown=passive
            )
        elif kind == "code":
            cells[line["id"]] = JournalCell(id=line["id"], kind="code", source=line["source"])
            if line.get("fixes") in cells:
                cells[line["fixes"]] = replace(cells[line["fixes"]], superseded=True)
        elif kind == "result":
            passive = _check_shown(line.get("shown", {}))
            result = result_from_json(line["result"])
            cells[line["id"]] = replace(cells[line["id"]], result=result, shown=passive)
        elif kind == "late":
            if line["id"] in cells:
                cell = cells[line["id"]]
                cells[cell.id] = replace(cell, late=cell.late + int(line["characters"]))
        elif kind == "void":
            cells.pop(line["id"], None)
            if line.get("fixes") in cells:
                cells[line["fixes"]] = replace(cells[line["fixes"]], superseded=False)
    return list(cells.values())


def wedging(cells: Sequence[JournalCell]) -> set[str]:
    """Return the cells that left a kernel without answers: none of them is run again."""
    return {
        cell.result.wedged for cell in cells if cell.result is not None and cell.result.wedged is not None
    }


def result_to_json(result: CellResult) -> Row:
    """Write a result as a JSON object."""
    return asdict(result)


def result_from_json(fields: Fields) -> CellResult:
    """Parse a line's result; ``ValueError`` or ``KeyError`` for one that no session wrote."""
    error = fields.get("error")
    _check_result(fields)
    return CellResult(
        cell_id=fields["cell_id"],
        status=fields["status"],
        outputs=tuple(fields["outputs"]),
        error=None
        if error is None
        else CellError(
            ename=error["ename"], evalue=error["evalue"], traceback=tuple(error.get("traceback", ()))
        ),
        duration_s=fields["duration_s"],
        api_calls=fields["api_calls"],
        limit=fields.get("limit"),
        api_hashes=tuple(fields.get("api_hashes", ())),
        replaced=tuple(fields.get("replaced", ())),
        wedged=fields.get("wedged"),
    )


def _check_result(fields: Fields) -> None:
    """Raise ``ValueError`` for a result that no session wrote: a chain without a key proves order, not origin."""
    numbers = (fields["duration_s"], fields["api_calls"])
    if fields["status"] not in ("ok", "error", "timeout", "died") or not all(
        isinstance(number, int | float) for number in numbers
    ):
        raise ValueError("a result without its status, duration or number of calls")
    _check_texts(fields["cell_id"], *fields.get("api_hashes", ()), *filter(None, [fields.get("limit")]))
    _check_texts(*fields.get("replaced", ()), *filter(None, [fields.get("wedged")]))
    error = fields.get("error")
    if error is not None:
        _check_texts(error["ename"], error["evalue"], *error.get("traceback", ()))
    _check_outputs(fields["outputs"])


def _check_shown(passive: Fields) -> Fields:
    _check_texts(*([passive["source"]] if "source" in passive else []))
    _check_outputs([output for place, output in passive.items() if place != "source"])
    return passive


def _check_outputs(outputs: Iterable[Fields]) -> None:
    for output in outputs:
        kind = output["output_type"]
        if kind == "stream":
            _check_texts(output["name"], output["text"])
        elif kind == "error":
            _check_texts(output["ename"], output["evalue"], *output["traceback"])
        elif kind not in ("display_data", "execute_result") or not all(
            isinstance(output[part], dict) for part in ("data", "metadata")
        ):
            raise ValueError("an output that is none")


def _check_texts(*values: object) -> None:
    if not all(isinstance(value, str) for value in values):
        raise ValueError("a number or a list where a text belongs")


def _sealed_lines(path: Path, *, cut_torn_tail: bool) -> Iterator[Row]:
    content = path.read_bytes()
    complete, _, torn = content.rpartition(b"\n")
    if torn:
        # a kill between write and sync leaves half a line; nobody was told of it
        if not cut_torn_tail:
            raise JournalBroken(f"{path.name}: the last line is incomplete")
        # the open file appends, so it goes on at the new end
        os.truncate(path, len(content) - len(torn))
    head = GENESIS
    for number, raw in enumerate(complete.split(b"\n") if complete else []):
        try:
            line = orjson.loads(raw)
            intact = line["prev"] == head and line["hash"] == seal_line(line) and line["seq"] == number
        except (ValueError, KeyError, TypeError) as error:
            raise JournalBroken(f"{path.name}: line {number + 1} is no journal line") from error
        if not intact:
            raise JournalBroken(f"{path.name}: line {number + 1} is not the line that was written")
        head = line["hash"]
        yield line
