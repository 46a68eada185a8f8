"""Tables of text on stdout: fitted to a terminal, and off one a plain file that other programs can cut up."""

import sys
from collections.abc import Sequence
from typing import Any

from rich.cells import cell_len

from workbench.operations.blocks import NUMBER
from workbench.terminal import LONGEST_LINE, printable

_TEXT_WIDTH = 24  # a column of longer text may be folded down to this on a narrow terminal


def show_fields(facts: Sequence[tuple[str, Any]]) -> None:
    """Print names and values in two columns without a header, text to the left; numbers with six digits."""
    show_table(None, [(name, _fact(value)) for name, value in facts])


def _fact(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def show_table(header: Sequence[str] | None, rows: Sequence[Sequence[Any]]) -> None:
    """Print columns on stdout: numbers to the right with 4 decimals, ``-`` for None, text to the left.

    Off a terminal there is neither colour nor wrapping nor cutting, whatever the environment says (rich would take
    ``FORCE_COLOR`` and ``COLUMNS`` for orders), so that a pipe gets every value whole. On a terminal long text is folded;
    a number never is: half a number is a wrong number, so a line that is still too long runs over. Without a header there is
    no first line.
    """
    lines = [[_cell(value) for value in row] for row in rows]
    if header is None and not lines:
        return
    names = [_cell(name) for name in (header or [""] * len(lines[0]))]
    columns = [[name, *cells] for name, *cells in zip(names, *lines, strict=True)]
    numeric = [
        index > 0 and all(NUMBER.match(cell) for cell in cells) for index, (_, *cells) in enumerate(columns)
    ]
    widths = [max(map(cell_len, column)) for column in columns]
    if sys.stdout.isatty():
        _show_on_terminal(columns, lines, numeric, widths, show_header=header is not None)
        return
    for line in lines if header is None else [names, *lines]:
        cells = []
        for cell, width, right in zip(line, widths, numeric, strict=True):
            text = cell.rstrip() if right else cell
            gap = " " * (width - cell_len(text))
            cells.append(gap + text if right else text + gap)
        sys.stdout.write("  ".join(cells).rstrip() + "\n")
    sys.stdout.flush()


def _show_on_terminal(
    columns: Sequence[Sequence[str]],
    lines: Sequence[Sequence[str]],
    numeric: Sequence[bool],
    widths: list[int],
    *,
    show_header: bool,
) -> None:
    # Rich takes as long to load as the list of runs to make, and a pipe has no use for it.
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=sys.stdout, force_terminal=True, force_jupyter=False)
    table = Table(
        box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", show_header=show_header
    )
    # The widest column gives way first. Rich's own way would shrink numbers too.
    least = [_least_width(column, number) for column, number in zip(columns, numeric, strict=True)]
    while sum(widths) + 2 * len(widths) > console.width and widths != least:
        spare = [width - low for width, low in zip(widths, least, strict=True)]
        widths[spare.index(max(spare))] -= 1
    for (name, *_), width, number in zip(columns, widths, numeric, strict=True):
        table.add_column(Text(name), width=width, justify="right" if number else "left", overflow="fold")
    for line in lines:
        # Text, not str: a method named "[red]x" in a stranger's file is no markup.
        table.add_row(*map(Text, line))
    console.width = max(console.width, sum(widths) + 2 * len(widths))
    console.print(table)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    text = f"{value:.4f}" if isinstance(value, float) else str(value)
    if len(text) > LONGEST_LINE:
        text = f"{text[:LONGEST_LINE]}… [cut here: {len(text) - LONGEST_LINE:,} characters; --json has them]"
    return printable(text, keep="")  # line ends too: they would break the table


def _least_width(column: Sequence[str], numeric: bool) -> int:
    name, *cells = column
    word = max(map(cell_len, name.split()), default=0)
    cell = max(map(cell_len, cells), default=0)
    return max(word, cell if numeric else min(cell, _TEXT_WIDTH))
