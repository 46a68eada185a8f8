"""Read a folder of documents as dated pages, parsed behind the seal."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args
from zoneinfo import ZoneInfo

from proxies.json_text import Fields, Row
from proxies.vendors.own.own_manifest import (
    DATE,
    KNOWN,
    NAME,
    PLACE,
    OwnColumn,
    OwnManifest,
    OwnPolicy,
    Share,
    own_folder,
    own_sources,
)
from sandbox import Sandbox
from workbench.errors import Option, UsageError
from workbench.formatting import counted
from workbench.sources.document_parsers import PACKAGES, PAGE, PARSERS
from workbench.sources.new_source import NewSource, zone_of_name
from workbench.sources.row_dates import DatedColumn, known_after
from workbench.sources.sealed_reader import MOST_BYTES, read_sealed
from workbench.sources.table_files import read_table

if TYPE_CHECKING:
    import pandas as pd

MOST_FILES = 5_000
#: Pages of all documents together.
MOST_PAGES = 90_000
#: A day, or a month, in the name of a file: 2018-05-03, 20180503, 2018_05.
_DAY = re.compile(r"(?<!\d)((?:19|20)\d\d)([-_.]?)(0[1-9]|1[0-2])(?:\2([0-2]\d|3[01]))?(?!\d)")
_SAID = {"filename": "its file name", "metadata": "the file itself (the latest of written and changed)"}


@dataclass(frozen=True, slots=True)
class _Document:
    """A parsed file: its pages, and the time of writing that it states."""

    name: str
    title: str
    pages: tuple[str, ...]
    written: str


async def open_documents(
    home: Path, name: str, folder: Path, *, dated: str, share: str = "", zone: str = ""
) -> NewSource:
    """Open the documents of a folder as a source and store nothing; a known name keeps its earlier options.

    `folder`: PDF, Word, Excel, HTML, Markdown and text files in it and below it. Links are not followed.

    Raises `UsageError`: One line: no such folder, no document with a day, too many. A file that cannot be read or dated is left out and
    named. Raises `IsolationUnavailable`: Nothing can be sealed on this machine: no document is parsed.
    """
    import pandas as pd

    if not NAME.fullmatch(name):
        raise UsageError(
            f"{name!r:.60} cannot name a source: use at most 40 small letters, digits, - and _, beginning with a letter"
        )
    before = own_sources(own_folder(home)).get(name)
    if before is not None and before.kind == "rows":
        raise UsageError(f"{name} holds rows: give the documents another name")
    share = share or (before.share if before else "models")
    if share not in get_args(Share):
        raise UsageError(Option("share"), f" is one of {', '.join(get_args(Share))}, not {share!r:.40}")
    zone = zone or (before.zone if before else "America/New_York")
    zone_of_name(zone)
    days = _days_of_list(Path(dated).expanduser()) if dated not in _SAID else None
    files = _files(folder.expanduser())
    documents, left_out = await _read_files(files)
    rows: list[Row] = []
    for document in documents:
        day, grain = _day_of(document, dated, days, zone)
        if day is None:
            left_out.append(f"{document.name}: {_WHY_UNDATED.get(dated, 'the list does not name it')}")
            continue
        known_at = known_after(DatedColumn(pd.Series([day]), grain), zone).iloc[0]
        rows += [
            {DATE: day.normalize(), KNOWN: known_at, "document": document.name, "page": float(number), "title": document.title, "text": text, "written": document.written}
            for number, text in enumerate(document.pages, start=1)
        ]  # fmt: skip
        if len(rows) > MOST_PAGES:
            raise UsageError(
                f"{folder.name} has more than {MOST_PAGES:,} pages: add its parts under names of their own"
            )
    if not rows:
        raise UsageError(
            f"no document of {folder.name[:80]} can be added: {_first_lines(left_out) or 'there is none (pdf, docx, xlsx, html, md, txt)'}"
        )
    if unknown := sorted(set(days or ()) - {path for path, _ in files}):
        raise UsageError(
            f"{Path(dated).name} names {unknown[0]!r:.80}, which is no document of {folder.name[:80]}"
        )
    return _document_source(name, folder, rows, left_out, dated=dated, share=share, zone=zone)


_WHY_UNDATED = {"filename": "no single date in its name", "metadata": "the file names no day"}


def _document_source(
    name: str,
    folder: Path,
    rows: list[Row],
    left_out: list[str],
    *,
    dated: str,
    share: Any,
    zone: str,
) -> NewSource:
    import pandas as pd

    now = datetime.now(UTC)
    table = pd.DataFrame(rows).sort_values(
        [DATE, KNOWN, "document", "page"], kind="stable", ignore_index=True
    )
    table.insert(2, PLACE, range(len(table)))
    content = hashlib.sha256(pd.util.hash_pandas_object(table, index=False).to_numpy().tobytes()).hexdigest()
    count = table["document"].nunique()
    manifest = OwnManifest(
        name=name,
        kind="documents",
        version=hashlib.sha256(f"{content} {name} {dated} {share} {now.isoformat()}".encode()).hexdigest(),
        added_at=now,
        origin=folder.name[:80],
        policy=OwnPolicy(kind="dated", column=_SAID.get(dated, f"the list {Path(dated).name[:60]}")),
        date="date",
        zone=zone,
        share=share,
        columns=(
            OwnColumn(name="document", type="text"),
            OwnColumn(name="page", type="number"),
            OwnColumn(name="title", type="text"),
            OwnColumn(name="text", type="text"),
            OwnColumn(name="written", type="text"),
        ),
        rows=len(table),
        frequency=counted(count, "document"),
        first=str(table[DATE].iloc[0].date()),
        last=str(table[DATE].iloc[-1].date()),
        data_hash=content,
    )
    notes = (f"left out: {_first_lines(left_out)}",) if left_out else ()
    return NewSource(manifest=manifest, rows=table, notes=notes)


def _first_lines(lines: list[str], most: int = 8) -> str:
    more = f"; and {len(lines) - most} more" if len(lines) > most else ""
    return "; ".join(line[:200] for line in lines[:most]) + more


def _files(folder: Path) -> list[tuple[str, Path]]:
    """List the documents below a folder by relative name, without links, devices and hidden files."""
    if not folder.is_dir():
        raise UsageError(f"no folder {str(folder)[:200]}")
    files: list[tuple[str, Path]] = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.suffix.lower() not in PARSERS or any(
            part.startswith((".", "~$")) for part in name.split("/")
        ):
            continue
        if any(part.is_symlink() for part in (path, *path.parents[: name.count("/")])) or not path.is_file():
            continue
        files.append((name, path))
        if len(files) > MOST_FILES:
            raise UsageError(
                f"{folder.name} has more than {MOST_FILES:,} documents: add its parts under names of their own"
            )
    return files


async def _read_files(files: list[tuple[str, Path]]) -> tuple[list[_Document], list[str]]:
    """Parse the documents; return a line for each that cannot be read."""
    documents: list[_Document] = []
    left_out: list[str] = []
    box = Sandbox(packages=PACKAGES, warm=1)
    try:
        for name, path in files:
            if not name.isprintable() or len(name) > 200:
                left_out.append(f"{ascii(name)[:60]}: give it a plain name of at most 200 characters")
                continue
            try:
                if path.stat().st_size > MOST_BYTES:
                    raise UsageError(f"it has more than {MOST_BYTES // 1_000_000} MB")
                answer = await read_sealed(
                    path.read_bytes(), name, PARSERS[path.suffix.lower()], packages=PACKAGES, sandbox=box
                )
                documents.append(_document(name, answer))
            except UsageError as error:
                left_out.append(str(error) if str(error).startswith(name) else f"{name}: {error}")
            except OSError as error:
                left_out.append(f"{name}: {error.strerror or type(error).__name__}")
    finally:
        await box.aclose()
    return documents, left_out


def _document(name: str, answer: Any) -> _Document:
    """Check a parser's answer, which a hostile file may have forged: text and nothing else."""
    fields = answer if isinstance(answer, dict) else {}
    listed, moments_listed = fields.get("pages"), fields.get("moments")
    if not isinstance(listed, list) or not isinstance(moments_listed, list):
        listed = moments_listed = []
    pages = tuple(_printable_text(text)[: 5 * PAGE] for text in listed[:MOST_PAGES] if isinstance(text, str))
    if not any(text.strip() for text in pages):
        raise UsageError(f"{name}: no text in it (a scan?)")
    moments = [text for text in moments_listed if isinstance(text, str)]
    written = max(filter(None, map(_written_moment, moments)), default=None)
    title = fields.get("title")
    return _Document(
        name,
        _printable_text(title)[:200] if isinstance(title, str) else "",
        pages,
        written.isoformat() if written is not None else "",
    )


def _printable_text(text: str) -> str:
    return "".join(sign if sign in "\n\t" or sign.isprintable() else " " for sign in text)


def _written_moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def _day_of(
    document: _Document, dated: str, days: Fields | None, zone: str
) -> tuple[pd.Timestamp | None, Any]:
    """Return a document's day and its grain; None for an undated one."""
    import pandas as pd

    if days is not None:
        return days.get(document.name), "day"
    if dated == "metadata":
        # a clock's time without a zone may be anywhere on earth: the day where the owner is, as a whole
        moment = _written_moment(document.written) if document.written else None
        if moment is None:
            return None, "day"
        return pd.Timestamp(moment.astimezone(ZoneInfo(zone)).date()), "day"
    stem = document.name.rpartition("/")[2].rpartition(".")[0]
    dates = {match.groups() for match in _DAY.finditer(stem)}
    if len(dates) != 1:
        return None, "day"
    ((year, _, month, day),) = dates
    try:
        if day is None:  # of a month: what it says was known when the month was over
            return pd.Timestamp(int(year), int(month), 1) + pd.offsets.MonthEnd(0), "day"
        return pd.Timestamp(int(year), int(month), int(day)), "day"
    except ValueError:
        return None, "day"


def _days_of_list(path: Path) -> Row:
    import pandas as pd

    if path.suffix.lower() not in (".csv", ".tsv", ".txt"):
        raise UsageError(
            Option("dated"), f" is filename, metadata or a CSV file of names and days, not {str(path)[:60]!r}"
        )
    table = read_table(path)
    if len(table.columns) < 2:
        raise UsageError(f"{path.name} needs two columns: the documents' names and their days")
    days: Row = {}
    for number, (name, day) in enumerate(zip(table.iloc[:, 0], table.iloc[:, 1], strict=True), start=2):
        try:
            days[str(name).strip()] = pd.Timestamp(date.fromisoformat(str(day).strip()[:10]))
        except ValueError:
            raise UsageError(
                f"{path.name}: line {number}: {str(day)[:40]!r} is no day: write YYYY-MM-DD"
            ) from None
    return days
