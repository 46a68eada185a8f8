"""Verify a proof: five comparisons of its records with each other and with a re-run.

1. ``chain``: the journal's lines are the lines that were written, and the source that its cells import is the one it names.
2. ``notebook``: the .ipynb shows the journal's cells (ids, kinds, sources, outputs).
3. ``ledger``: every answer in the ledger has its own hash, and the hash that the journal's cell received.
4. ``conclusion``: the caller's own check of the stored conclusion.
5. ``rerun``: all cells, run again in order in a fresh kernel that is answered from the ledger, show the same.

The first four only read. Where one of them differs, nothing is re-run: the cells are not those that were recorded, so
there is nothing to repeat, and whoever changed them would choose what runs.
"""

import base64
import importlib
import io
import math
import re
import tempfile
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

import orjson

from proxies.errors import Refused
from proxies.hashing import content_hash
from proxies.json_text import Fields, Row
from proxies.ledger import Answer, LedgerRow
from sandbox.cell_library import CellLibrary, named_library
from sandbox.errors import JournalBroken, SandboxError
from sandbox.kernels.folders import run_folder
from sandbox.manager import Sandbox
from sandbox.record.journal import cells_of, read_lines, wedging
from sandbox.record.session_notebook import render_notebook
from sandbox.types import CellResult, JournalCell, Limits, SessionSpec

_ADDRESS = re.compile(r"0x[0-9a-fA-F]{4,}")
_DURATION = re.compile(r"\b\d+(?:\.\d+)?(?:e[+-]?\d+)? ?(?:ns|us|µs|μs|ms|s|sec|secs|seconds|min|minutes)\b")
_TEMPORARY = re.compile(r"/tmp/[^\s'\":,)\]]+")
_CUT = re.compile(r"\[output cut: [^\n]*\]\n$")

#: Outputs of a cell for comparison: name of a stream or kind of data, and its content.
_Parts: TypeAlias = list[tuple[str, Any]]
#: Returns what is wrong with the stored conclusion, or None.
CheckConclusion = Callable[[], str | None]


#: A number with a decimal point; the digits of whole numbers all count.
_DECIMAL = re.compile(r"-?\d+\.\d+(?:[eE][-+]?\d+)?")
#: How far a decimal number may move between processors, of 1 or of itself where that is more.
_ROUNDING = 2e-5
#: Lines of a re-run that are handed on: its conclusion stands at the end.
_LAST_LINES = 200


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference: the comparison that saw it, the id of its cell if it has one, and a description."""

    check: str
    cell: str | None
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """The result of `compare_proof` and `rerun_proof`.

    `unrepeatable` holds the cells that show another result each time they are run (the time, chance, ids of the machine), as
    two re-runs side by side show it; they do not count.
    `advisory` holds the differences of a re-run with other package versions than the run's, and numbers that came out the same
    but for rounding, as optimisers' do on another processor; they do not count. `printed` holds
    the last lines that the re-run's cells printed; empty where nothing was re-run.
    """

    cells: int = 0
    differing: tuple[Difference, ...] = ()
    advisory: tuple[Difference, ...] = ()
    unrepeatable: tuple[Difference, ...] = ()
    printed: tuple[str, ...] = ()

    @property
    def verified(self) -> bool:
        """Whether nothing differs."""
        return not self.differing


@dataclass(slots=True)
class LedgerReplay:
    """Answers `CALL_API` from recorded rows, by path, parameters and n-th use."""

    rows: Sequence[LedgerRow]
    _used: dict[str, int] = field(default_factory=dict)

    async def __call__(self, path: str, params: Fields, *, cell: int, nth: int) -> Answer:
        """Answer from the ledger; raises `Refused` for a call that it does not hold."""
        key = _key(path, params)
        number = self._used.get(key, 0)
        self._used[key] = number + 1
        same = [row for row in self.rows if _key(row.path, row.asked) == key]
        if number >= len(same):
            raise Refused(f"the ledger holds no answer number {number + 1} to {path} with these parameters")
        row = same[number]
        if row.answer is None:
            raise Refused(row.refused or "refused")
        return row.answer


async def rerun_proof(
    sandbox: Sandbox,
    *,
    journal: Path,
    rows: Sequence[LedgerRow],
    isolation: str = "namespaces",
    limits: Limits | None = None,
    same_packages: bool = True,
) -> Verification:
    """Run the cells of a journal again, whose records have been compared, and compare what they show."""
    lines = read_lines(journal)
    cells = cells_of(lines, journal.name)
    # the order of the calls: equal calls are answered by their n-th use
    rows = sorted(rows, key=lambda row: row.address)
    place = (sandbox, cells, rows, isolation, limits or Limits(), *_began(journal, lines))
    first = await _rerun(*place)
    differences, rounded, printed = first.compared(cells)
    unrepeatable: list[Difference] = []
    if any(item.cell is not None for item in differences):
        # The first one's kernel has ended by then: what the second shows in its own is compared with what the first did.
        second = await _rerun(*place)
        unlike = {
            cell
            for cell, result in first.results.items()
            if cell in second.results and compare_results(result, second.results[cell])
        }
        unrepeatable = [
            Difference(check="repeats", cell=item.cell, what=_UNREPEATABLE)
            for item in differences
            if item.cell in unlike
        ]
        differences = [item for item in differences if item.cell not in unlike]
    rerun = tuple(differences)
    return Verification(
        cells=len(cells),
        differing=rerun if same_packages else (),
        advisory=tuple(rounded) if same_packages else (*rerun, *rounded),
        unrepeatable=tuple(unrepeatable),
        printed=tuple(printed),
    )


def compare_proof(
    *, journal: Path, notebook: Path, rows: Sequence[LedgerRow], conclusion: CheckConclusion | None = None
) -> Verification:
    """Compare a proof's records with each other; no code of it is run.

    Called before every re-run, and on every package that is imported.
    """
    try:
        lines = read_lines(journal)
        cells = cells_of(lines, journal.name)
        # for what it raises: a re-run would need them
        _began(journal, lines)
    except (JournalBroken, OSError) as error:
        return Verification(cells=0, differing=(Difference(check="chain", cell=None, what=str(error)),))
    rows = sorted(rows, key=lambda row: row.address)
    differing = [*compare_notebook(cells, notebook), *compare_ledger(cells, rows)]
    fault = conclusion() if conclusion is not None else None
    if fault:
        differing.append(Difference(check="conclusion", cell=None, what=fault))
    return Verification(cells=len(cells), differing=tuple(differing))


def compare_notebook(cells: Sequence[JournalCell], notebook: Path) -> list[Difference]:
    """List differences between the .ipynb and the journal; counts, times and front-end metadata do not matter."""
    try:
        expected = render_notebook(cells).cells
    except (
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
    ) as error:  # outputs that nbformat has no place for
        fault = f"the journal's cells fit no notebook ({error!r:.80})"
        return [Difference(check="chain", cell=None, what=fault)]
    return compare_cells(expected, notebook)


def compare_cells(expected: Sequence[Fields], notebook: Path) -> list[Difference]:
    """List differences between cells and those of the .ipynb; it is read without validation, as valid ones are compared with it."""
    nbformat: Any = importlib.import_module("nbformat")
    try:
        cells = nbformat.convert(nbformat.reader.reads(notebook.read_text(encoding="utf-8")), 4).cells
        by_id = {cell.get("id"): cell for cell in cells}
        differences = []
        if [cell.get("id") for cell in cells] != [cell["id"] for cell in expected]:
            differences.append(Difference("notebook", None, "cells were added, removed or moved"))
        for cell in expected:
            saved = by_id.get(cell["id"])
            before, after = _reader_sees(cell), _reader_sees(saved) if saved is not None else {}
            differences += [
                Difference("notebook", cell["id"], f"{part} changed")
                for part in after
                if before[part] != after[part]
            ]
        return differences
    except Exception as error:  # nbformat raises many kinds for a broken file
        return [Difference("notebook", None, f"cannot be read: {error}")]


def _reader_sees(cell: Fields) -> Row:
    facts = (cell.get("metadata") or {}).get("analyst")
    return {
        "cell_type was": cell.get("cell_type"),
        "source was": cell.get("source"),
        "its findings were": facts.get("findings") if isinstance(facts, Mapping) else None,
        "outputs were": [
            {key: value for key, value in output.items() if key != "execution_count"}
            for output in cell.get("outputs", [])
        ],
    }


def compare_ledger(cells: Sequence[JournalCell], rows: Sequence[LedgerRow]) -> list[Difference]:
    """List differences between the ledger's hashes, its data, and the hashes that the journal's cells received."""
    differences = []
    by_cell: dict[int, list[str]] = {}
    for row in rows:
        if row.answer is None:
            continue
        digest = str(row.answer.meta.get("content_hash", ""))
        address = f"{row.path} (cell {row.address.step}, call {row.address.retry})"
        if content_hash(row.answer.data) != digest:
            differences.append(
                Difference(check="ledger", cell=None, what=f"the answer to {address} has not its own hash")
            )
        by_cell.setdefault(row.address.step, []).append(digest)
    code = [cell for cell in cells if cell.kind == "code"]
    for index, cell in enumerate(code):
        received = list(cell.result.api_hashes) if cell.result else []
        if received != by_cell.get(index, []):
            differences.append(
                Difference(
                    check="ledger", cell=cell.id, what="the ledger holds other answers than the cell got"
                )
            )
    return differences


def _began(journal: Path, lines: Sequence[Fields]) -> tuple[datetime | None, CellLibrary | None]:
    """Return the session's start on its simulated clock, if it had one, and its library; raises `JournalBroken`."""
    began = lines[0].get("clock") if lines else None
    named = named_library(lines)
    library = None if named is None else CellLibrary.read(journal.parent, named)
    try:
        return None if began is None else datetime.fromisoformat(began), library
    except (TypeError, ValueError):
        raise JournalBroken(f"{journal.name}: its clock {str(began)[:40]!r} is no instant") from None


_UNREPEATABLE = "it shows another result each time it is run (the time, chance, an id of the machine), so its output cannot be checked"


@dataclass(frozen=True, slots=True)
class _Rerun:
    """The results of a re-run; `failure` is the error that stopped it."""

    results: Mapping[str, CellResult]
    failure: str = ""

    def compared(self, cells: Sequence[JournalCell]) -> tuple[list[Difference], list[Difference], deque[str]]:
        differences: list[Difference] = []
        rounded: list[Difference] = []
        printed: deque[str] = deque(maxlen=_LAST_LINES)
        for cell in cells:
            again = self.results.get(cell.id)
            if again is None or cell.result is None:
                continue
            for output in again.outputs:
                if output["output_type"] == "stream" and output["name"] == "stdout":
                    printed.extend(output["text"].splitlines()[-_LAST_LINES:])
            difference = compare_results(cell.result, again)
            if difference:
                near = differ_by_rounding(cell.result, again)
                (rounded if near else differences).append(
                    Difference(
                        check="rerun",
                        cell=cell.id,
                        what=f"{difference}, in the last digits of numbers" if near else difference,
                    )
                )
        if self.failure:
            differences.append(Difference(check="rerun", cell=None, what=self.failure))
        return differences, rounded, printed


async def _rerun(
    sandbox: Sandbox,
    cells: Sequence[JournalCell],
    rows: Sequence[LedgerRow],
    isolation: str,
    limits: Limits,
    clock: datetime | None,
    library: CellLibrary | None,
) -> _Rerun:
    with tempfile.TemporaryDirectory(prefix="verify-", dir=run_folder()) as folder:
        spec = SessionSpec(
            name="verify",
            journal=Path(folder) / "verify.jsonl",
            notebook=Path(folder) / "verify.ipynb",
            isolation=isolation,
            limits=limits,
            clock=clock,
            library=library,
        )
        results: dict[str, CellResult] = {}
        left_out, failure = wedging(cells), ""
        session = await sandbox.open(spec, LedgerReplay(rows))
        try:
            for cell in cells:
                if cell.kind != "code" or cell.result is None or cell.result.stopped or cell.id in left_out:
                    continue
                results[cell.id] = await session.execute(cell.source)
        except SandboxError as error:
            failure = str(error)
        finally:
            await session.close()
        return _Rerun(results, failure)


def compare_results(before: CellResult, after: CellResult) -> str | None:
    """Describe the difference between two runs of a cell, or return None."""
    if before.status != after.status:
        return f"it ended with {after.status}, not with {before.status}"
    if before.error is not None and after.error is not None and before.error.ename != after.error.ename:
        return f"it raised {after.error.ename}, not {before.error.ename}"
    first, second = _comparable(before), _comparable(after)
    if before.limit == after.limit == "output_bytes":
        first, second = _shown_by_both(first, second)
    if len(first) != len(second):
        return f"it showed {len(second)} outputs, not {len(first)}"
    for (name, content), repeated in zip(first, second, strict=True):
        if (name, content) != repeated:
            return f"its {name} is another"
    return None


def _shown_by_both(first: _Parts, second: _Parts) -> tuple[_Parts, _Parts]:
    """Shorten the outputs of two runs that were cut to what both show: which stream reaches the limit first is chance."""
    texts, rest = _streams_and_rest(first)
    others, more = _streams_and_rest(second)
    both = sorted(texts.keys() & others.keys())
    return (
        [(name, texts[name][: len(others[name])]) for name in both] + rest[: len(more)],
        [(name, others[name][: len(texts[name])]) for name in both] + more[: len(rest)],
    )


def _streams_and_rest(parts: _Parts) -> tuple[dict[str, str], _Parts]:
    streams = {name: _CUT.sub("", text) for name, text in parts if name in ("stdout", "stderr")}
    return streams, [part for part in parts if part[0] not in streams]


def differ_by_rounding(before: CellResult, after: CellResult) -> bool:
    """Whether two runs of a cell differ only in numbers, by no more than a fit does on another processor.

    The same optimiser stops elsewhere in the fifth digit where a processor multiplies and adds in another order. Whole numbers,
    dates and words have to be equal.
    """
    first, second = _comparable(before), _comparable(after)
    if before.status != after.status or len(first) != len(second):
        return False
    return all(
        name == other_name
        and (
            content == other
            or (isinstance(content, str) and isinstance(other, str) and _near(content, other))
        )
        for (name, content), (other_name, other) in zip(first, second, strict=True)
    )


def _near(before: str, after: str) -> bool:
    words, numbers = _DECIMAL.split(before), _DECIMAL.findall(before)
    if words != _DECIMAL.split(after):
        return False
    return all(
        a == b or math.isclose(float(a), float(b), rel_tol=_ROUNDING, abs_tol=_ROUNDING)
        for a, b in zip(numbers, _DECIMAL.findall(after), strict=True)
    )


def _comparable(result: CellResult) -> _Parts:
    """Return a cell's outputs for comparison: each stream whole, then the rest in order.

    stdout and stderr are flushed by time, so where one breaks off for the other is chance and not evidence.
    """
    streams: dict[str, str] = {}
    parts: _Parts = []
    for output in result.outputs:
        kind = output["output_type"]
        if kind == "stream":
            streams[output["name"]] = streams.get(output["name"], "") + output["text"]
        elif (
            kind != "error"
        ):  # errors are compared by name alone, in `compare_results`: their tracebacks show paths
            for mime, content in sorted(output["data"].items()):
                parts.append((mime, _pixels(content) if mime == "image/png" else _normalised(content)))
    return [(name, normalise(text)) for name, text in sorted(streams.items())] + parts


def normalise(text: str) -> str:
    """Replace addresses, durations and temporary paths by placeholders."""
    return _TEMPORARY.sub("<path>", _DURATION.sub("<time>", _ADDRESS.sub("<address>", text)))


def _normalised(content: Any) -> Any:
    return normalise(content) if isinstance(content, str) else content


def _pixels(content: str) -> Any:
    from PIL import Image

    try:
        with Image.open(io.BytesIO(base64.b64decode(content))) as image:
            # pixels, not bytes: matplotlib writes its version into each file
            return image.size, image.convert("RGBA").tobytes()
    except OSError:
        return content


def _key(path: str, params: Fields) -> str:
    return orjson.dumps([path, dict(params)], option=orjson.OPT_SORT_KEYS).decode()
