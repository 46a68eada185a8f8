"""Text in a CSV file that a spreadsheet opens: shown as it is, never run as a formula.

Statements, reports and names of methods are a model's or a stranger's words. A cell that begins with one of ``= + - @``, a
tab or a carriage return is a formula to a spreadsheet. An apostrophe before it makes it text.
"""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import Any

# Apostrophes before it too: a text that has one there already gets another, so that every text comes back as it was.
# The wide forms are read as formulas by spreadsheets in East Asian languages; a line feed and spaces before are skipped.
_FORMULA = re.compile(r"'*[ \n]*[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]")


def guard_formula(text: str) -> str:
    """Return the text as a cell that no spreadsheet takes for a formula; `unguard_formula` gives it back.

    >>> guard_formula("=1+1"), guard_formula("plain"), unguard_formula(guard_formula("'=1"))
    ("'=1+1", 'plain', "'=1")
    """
    return f"'{text}" if _FORMULA.match(text) else text


def unguard_formula(cell: str) -> str:
    """Return the text that `guard_formula` made this cell of."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def csv_text(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Write rows as CSV with a header, no text a formula; lines end in a plain newline on every platform."""
    lines = []
    for row in (header, *rows):
        text = io.StringIO()
        # \r\n, because the writer quotes only the line ends that it writes itself, and a lone \r would end a row
        guarded = [guard_formula(value) if isinstance(value, str) else value for value in row]
        csv.writer(text, lineterminator="\r\n").writerow(guarded)
        lines.append(text.getvalue().removesuffix("\r\n") + "\n")
    return "".join(lines)
