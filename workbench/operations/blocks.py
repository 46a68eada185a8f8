"""What a person reads of a document: lines, tables, facts and remarks. One printer writes them for terminals, one as HTML."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import Any, TypeAlias

from workbench.formatting import MINUS, percent, point_change, quoted
from workbench.terminal import printable


@dataclass(frozen=True, slots=True)
class Table:
    """Rows below a header; numbers stand to the right, None is written ``-``."""

    header: Sequence[str]
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Facts:
    """Names with their values."""

    pairs: Sequence[tuple[str, Any]]


@dataclass(frozen=True, slots=True)
class Drawing:
    """Lines drawn in characters, which are shown whole; ``picture`` is the HTML in their place on a page with our style sheet."""

    lines: Sequence[str]
    picture: str = ""


@dataclass(frozen=True, slots=True)
class Remark:
    """A line beside the answer: a terminal shows it apart, so that no program takes it for a row."""

    text: str


@dataclass(frozen=True, slots=True)
class Json:
    """A value that is read best as it is."""

    value: Any


@dataclass(frozen=True, slots=True)
class Csv:
    """Rows for another program: a terminal's output can be a file of theirs."""

    header: Sequence[str]
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Raw:
    """Bytes as they are: what a pipe or a file gets is what was stored; a terminal shows their text."""

    data: bytes


Block: TypeAlias = str | Table | Facts | Drawing | Remark | Json | Csv | Raw


def blocks_of(document: Any) -> Iterator[Block]:
    """Show a document that has no words of its own: its facts, a table of each list of rows, then what it comes to (``summary``)."""
    if isinstance(document, list):
        if document:
            yield table_of(document)
    elif not isinstance(document, dict):
        yield str(document)
    else:
        if facts := [*_facts(document)]:
            yield Facts(facts)
        for name, value in document.items():
            if _is_table(value):
                yield table_of(value, name)
        if "summary" in document:
            yield document["summary"]


def _is_table(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value) and isinstance(value[0], dict)


def _facts(document: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in document.items():
        label = words_of(name)
        if isinstance(value, dict):
            yield from ((f"{label}: {inner}", fact) for inner, fact in _facts(value))
        elif isinstance(value, list | tuple) and not _is_table(value):
            # One line each: an entry may be a sentence.
            yield from ((label if place == 0 else "", item) for place, item in enumerate(value or ["none"]))
        elif not _is_table(value) and name != "summary":
            yield label, cell_of(value)


def words_of(name: str) -> str:
    """Write the name of a field for a person."""
    return name.replace("_", " ")


def table_of(rows: Sequence[Mapping[str, Any]], name: str = "") -> Table:
    """Return rows as a table of the fields that hold a value in any of them; ``name`` stands above the first."""
    names = [
        each
        for each in dict.fromkeys(key for row in rows for key in row)
        if any(row.get(each) not in (None, "", [], {}) for row in rows)
    ]
    header = [words_of(each) for each in names]
    if name and header:
        header[0] = f"{words_of(name)}: {header[0]}"
    return Table(header, [[cell_of(row.get(each)) for each in names] for row in rows])


def cell_of(value: Any) -> Any:
    """Write what one cell can hold: a list by commas, a mapping by its pairs, a flag as yes or no."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return " ".join(f"{name}={cell_of(item)}" for name, item in value.items())
    return ", ".join(str(cell_of(item)) for item in value) if isinstance(value, list | tuple) else value


def columns(rows: Iterable[Mapping[str, Any]], **shown: str) -> Table:
    """Return a table of chosen fields: title (``_`` for a blank) -> field, with dots into it, and how it is written.

    How is ``%`` for a probability, ``points`` for a change of one, ``level`` for a value of a series, or a format of Python's.

    >>> columns([{"id": "P1", "p": 0.25, "n": {"all": 3}}], driver="id", p="p %", runs="n.all")
    Table(header=['driver', 'p', 'runs'], rows=[['P1', '25.0%', 3]])
    """
    fields = [each.partition(" ") for each in shown.values()]
    return Table(
        [words_of(title) for title in shown],
        [[_written(_inside(row, path), how) for path, _, how in fields] for row in rows],
    )


def named(rows: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return rows by name as a list, the name in the field ``name``."""
    return [{"name": name, **row} for name, row in rows.items()]


def _inside(row: Any, path: str) -> Any:
    if path in row:
        return row[path]
    for name in path.split("."):
        row = None if row is None else row.get(name)
    return row


def _written(value: Any, how: str) -> Any:
    if value is None or not how:
        return cell_of(value)
    ways: dict[str, Callable[[float], str]] = {
        "%": percent,
        "points": partial(point_change, 0.0),
        "level": quoted,
    }
    if how in ways:
        return ways[how](value)
    text = format(value, how)
    return text if isinstance(value, str) else text.replace("-", MINUS)


#: How a cell begins whose column stands to the right.
NUMBER = re.compile(r"[-+−]?\d|[-–]$|nan$")
#: Rows of a table that a page shows.
MOST_SHOWN = 100


def html_of(blocks: Iterable[Block], *, pictures: bool = False) -> str:
    """Write blocks as HTML; everything in them is escaped. A page of ours, which has styles for them, shows ``pictures``."""
    return "".join(_html(block, pictures) for block in blocks)


def _html(block: Block, pictures: bool) -> str:
    match block:
        case str():
            return f"<p>{_text(block)}</p>"
        case Remark():
            return f"<p><small>{_text(block.text)}</small></p>"
        case Drawing():
            return (pictures and block.picture) or f"<pre>{_text(chr(10).join(block.lines))}</pre>"
        case Facts():
            return _table(block.pairs)
        case Table() | Csv():
            more = len(block.rows) - MOST_SHOWN
            rest = f"<p>{more} more rows</p>" if more > 0 else ""
            return _table(block.rows[:MOST_SHOWN], block.header) + rest
        case Json():
            return f"<pre>{_text(str(block.value))}</pre>"
        case Raw():
            return f"<pre>{_text(block.data.decode('utf-8', 'replace'))}</pre>"


def _table(rows: Sequence[Sequence[Any]], header: Sequence[str] = ()) -> str:
    texts = [[_text(cell) for cell in row] for row in rows]
    # Words to the left: the style sheet of a page puts every other cell to the right.
    kinds = [
        "" if all(map(NUMBER.match, filter(None, column))) else ' class="wb-text"'
        for column in zip(*texts, strict=True)
    ] or [""] * len(header)
    # No <th> for a column without a name: a screen reader would read out an empty heading.
    names = (
        f"<th{kind}>{_text(name)}</th>" if name else "<td></td>"
        for kind, name in zip(kinds, header, strict=False)
    )
    lines = (
        "".join(f"<td{kind}>{text}</td>" for kind, text in zip(kinds, row, strict=True)) for row in texts
    )
    head = f"<thead><tr>{''.join(names)}</tr></thead>" if header else ""
    return f'<table class="wb-table">{head}<tbody>{"".join(f"<tr>{line}</tr>" for line in lines)}</tbody></table>'


def _text(value: Any) -> str:
    value = f"{value:.4g}" if isinstance(value, float) else cell_of(value)
    return "" if value is None else escape(printable(str(value)))
