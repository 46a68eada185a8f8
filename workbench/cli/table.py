"""Tables of text on stdout: fitted to a terminal, and off one a plain file that other programs can cut up."""

import sys
from collections.abc import Sequence
from typing import Any


def show_table(header: Sequence[str], rows: Sequence[Sequence[Any]], *, left: Sequence[str] = ()) -> None:
    """Print columns on stdout: numbers with 4 decimals, ``-`` for None.

    The first column and those named in ``left`` are left-aligned, the others right-aligned.

    Off a terminal there is neither colour nor wrapping nor cutting, whatever the environment says (rich would take
    ``FORCE_COLOR`` and ``COLUMNS`` for orders), so that a pipe gets every value whole.
    """
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    lines = [[_cell(value) for value in row] for row in rows]
    columns = [_cell(name) for name in header]
    terminal = sys.stdout.isatty()
    widest = [max(map(cell_len, column)) for column in zip(columns, *lines, strict=True)]
    console = Console(
        file=sys.stdout,
        force_terminal=terminal,
        force_jupyter=False,
        no_color=None if terminal else True,
        width=None if terminal else sum(widest) + 2 * len(widest),
    )
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for index, name in enumerate(columns):
        table.add_column(
            Text(name),
            justify="left" if index == 0 or header[index] in left else "right",
            overflow="fold",
            no_wrap=not terminal,
        )
    for line in lines:
        # Text, not str: a method named "[red]x" in a stranger's file is no markup.
        table.add_row(*map(Text, line))
    if terminal:
        console.print(table)
        return
    with console.capture() as capture:
        console.print(table)
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in capture.get().splitlines()))
    sys.stdout.flush()


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    text = f"{value:.4f}" if isinstance(value, float) else str(value)
    # Line ends would break the table; escape sequences from a stranger's file would reach the terminal.
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)
