"""Text in a CSV file that a spreadsheet opens: shown as it is, never run as a formula.

Statements, reports and names of methods are a model's or a stranger's words. A cell that begins with one of ``= + - @``, a
tab or a carriage return is a formula to a spreadsheet. An apostrophe before it makes it text.
"""

import re

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
