"""Write the note as Markdown for a mail or a wiki, without a picture, link or tag of a stranger's."""

import re
from collections.abc import Iterable, Sequence

from sandbox.record.passive import passive_markdown
from workbench.audit.vintages import vintage_words
from workbench.formatting import percent, quoted
from workbench.reports.note_tree import (
    Block,
    Cell,
    Drivers,
    Heading,
    Headline,
    Items,
    Note,
    Picture,
    Report,
    Revisions,
    Series,
    Table,
    Text,
    Verbatim,
    table_rows,
)
from workbench.terminal import printable
from workbench.views.fan_chart import fan_words, places

#: Marks that mean something anywhere in a line; an ampersand only where it begins an entity. GitHub sets $...$ as a formula.
_MARKS = re.compile(r"([\\`*_\[\]<|~$]|&(?=#?\w+;))")
#: Marks that mean something at the start of a line only.
_LINE_START = re.compile(r"^(?:([-+#>=])|(\d{1,9})([.)])(?=\s|$))")
#: Columns and rows of the fan of the series as a table; about so many rows.
FAN_SHARES, _FAN_ROWS = ("0.05", "0.25", "0.5", "0.75", "0.95"), 5
#: Periods of a series in a table of its revisions, the latest.
_VINTAGES = 12
_ADDRESS = re.compile(r"(https?)://", re.IGNORECASE)


def note_markdown(note: Note) -> str:
    """Write the note as Markdown."""
    lines = [f"# {words(note.title)}", ""]
    for block in note.blocks:
        lines += [*_lines(block, note.mark), ""]
    return "\n".join(lines).rstrip() + "\n"


def _lines(block: Block, mark: str) -> Iterable[str]:
    match block:
        case Heading(text, level, node):
            return [f"{'#' * (level + 1)} {words(f'{node} {text}')}"]
        case Text(text, tone):
            return [f"**{words(text)}**" if tone in ("alarm", "strong") else words(text)]
        case Headline(p, facts):
            return [f"**{p}**", "", *(f"- {name}: {words(value)}" for name, value in facts)]
        case Series(fan):
            return [f"{words(fan_words(fan))} [{mark}]", "", *_series(block)]
        case Drivers():
            rows = [
                (f"{row.id} {row.statement}", *map(percent, (row.p, row.if_false, row.if_true)))
                for row in block.rows
            ]
            return [*_table(("driver", "p", "if false", "if true"), table_rows(rows)), "", f"[{mark}]"]
        case Table():
            return _nested(block) if block.kind == "tree" else _table(block.head, block.rows)
        case Items(lines):
            return [f"- {words(line)}" for line in lines]
        case Report(text):
            # A quotation, so that headings and rules of a report stay inside it.
            return [f"> {line}".rstrip() for line in passive_markdown(printable(text)).splitlines()]
        case Picture(plot):
            return [f"Plot in the proof: {words(f'{plot.caption} [{mark}]')}"]
        case Revisions():
            return [f"How its figures were revised: {words(vintage_words(block.vintages))} [{mark}]", "", *_revisions(block)]  # fmt: skip
        case Verbatim(name, text):
            # Indented by four: a block that shows what it holds, whatever marks and fences stand in it.
            return [f"*{words(name)}*", "", *(f"    {line}".rstrip() for line in printable(text).split("\n"))]


def words(text: str) -> str:
    r"""Escape a text for Markdown: every mark is shown, and an address is no link.

    >>> print(words("<b>x</b> [y](javascript:z) 1 + 2"))
    \<b>x\</b> \[y\](javascript:z) 1 + 2
    """
    plain = " ".join(printable(text).split())
    escaped = _LINE_START.sub(_escaped_start, _MARKS.sub(r"\\\1", plain))
    return _ADDRESS.sub(r"\1&#58;//", escaped)  # viewers make a link of a bare address


def _escaped_start(match: re.Match[str]) -> str:
    mark, number, point = match.groups()
    return f"\\{mark}" if mark else f"{number}\\{point}"


def _table(head: Sequence[str], rows: Iterable[Sequence[Cell]]) -> list[str]:
    written = [[_cell(cell) for cell in row] for row in rows]
    head = head or [""] * max(map(len, written), default=1)
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *written)]


def _cell(cell: Cell) -> str:
    parts = [" ".join(filter(None, (cell.id, cell.text))), *cell.below, *(name for name, _ in cell.links)]
    return words("; ".join(filter(None, parts)))


def _nested(table: Table) -> list[str]:
    lines = []
    for statement, p in table.rows:
        indent = "  " * statement.depth
        parts = [f"**{statement.id}** {p.text} {words(statement.text)}", *map(words, statement.below)]
        # A backslash ends a line where two spaces would be lost in an editor.
        lines.append(f"{indent}- " + f"\\\n{indent}  ".join(parts))
    return lines


def _series(block: Series) -> list[str]:
    fan, decimals = block.fan, places(block.fan)
    # The newest last, and from there back in even steps.
    days = fan["fan"] or fan["past"]
    days = days[:: -max(1, len(days) // _FAN_ROWS)][_FAN_ROWS::-1]
    columns = {f"{float(share):.0%}": share for share in FAN_SHARES} if fan["fan"] else {"value": "value"}
    rows = [(row["day"], *(quoted(row[name], decimals) for name in columns.values())) for row in days]
    return _table(("day", *columns), table_rows(rows))


def _revisions(block: Revisions) -> list[str]:
    rows = [
        (str(row.period), f"{row.value:g}", str(row.known), f"{row.last:g}", str(row.last_known))
        for row in block.vintages[-_VINTAGES:]
    ]
    return _table(("period", "first print", "known since", "at the cutoff", "known since"), table_rows(rows))
