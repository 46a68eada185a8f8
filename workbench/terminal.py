"""Text as it may reach a terminal.

A statement, a model's words and a stranger's file may hold sequences that move the cursor, set a title, write the clipboard
or turn the direction of writing around. Every line that the command line prints passes `printable` first.
"""

import codecs
import json
import re
from collections.abc import Iterable
from typing import Any

import orjson

from proxies.remedies import option_text
from proxies.secret_registry import SECRETS

_BREAKS = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")


def printable(text: str, *, keep: str = "\n\t") -> str:
    r"""Return the text with U+FFFD for each character that a terminal obeys rather than shows.

    These are control characters (also the one-byte forms of ESC sequences above 0x7f), bidirectional overrides, characters of
    no width, and halves of surrogate pairs, which no stream can encode.

    >>> printable("a\x1b[31mb\u202ec\nd")
    'a\ufffd[31mb\ufffdc\nd'
    """
    if text.isprintable():
        return text
    text = _BREAKS.sub("\n", text)
    # isspace() of what is left: spaces of another width, which isprintable() counts with the controls
    return "".join(
        char if char.isprintable() or char in keep else " " if _is_wide_space(char) else "\ufffd"
        for char in text
    )


def printable_line(text: str, most: int) -> str:
    """Return a text on one line as a terminal may show it, cut at ``most`` characters."""
    return printable(" ".join(text.split()), keep="")[:most]


#: Characters of one line that a terminal is sent; a statement has at most 600, a stranger's millions.
LONGEST_LINE = 4_000


def brief_lines(text: str) -> str:
    r"""Return lines as a person reads them: those that are too long are cut, and a last line says how many and what has all.

    >>> print(brief_lines("short\n" + "x" * 5_000)[-58:])
    …
    cut here: 1 long line, 1,000 characters; --json has them
    """
    lines = text.split("\n")
    long = [line for line in lines if len(line) > LONGEST_LINE]
    if not long:
        return text
    missing = sum(map(len, long)) - LONGEST_LINE * len(long)
    cut = [line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…" for line in lines]
    count = f"{len(long)} long line{'s' if len(long) > 1 else ''}"
    return "\n".join([*cut, f"cut here: {count}, {missing:,} characters; {option_text('json')} has them"])


def json_printable(text: str) -> str:
    r"""Return a JSON document with such characters inside its strings as ``\uXXXX``: the same values, safe to look at.

    >>> json_printable('{"a": "\x9b31m"}')
    '{"a": "\\u009b31m"}'
    """
    if text.replace("\n", "").isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\n" else _escape_sequence(char) for char in text)


def shown_text(text: str) -> str:
    r"""Return a text as the log keeps it and every screen shows it: what a terminal would obey stands as ``\uXXXX``.

    Unlike `printable` it keeps two texts apart that differ in such a character alone: names are told apart by it. A text
    that was written anew once stays as it is.

    >>> shown_text("a\x1b[31mb\tc\nd")
    'a\\u001b[31mb c\nd'
    """
    if text.isprintable():
        return text
    text = _BREAKS.sub("\n", text)
    return "".join(
        char
        if char.isprintable() or char == "\n"
        else " "
        if char == "\t" or _is_wide_space(char)
        else _escape_sequence(char)
        for char in text
    )


def shown_line(text: str) -> str:
    """Return `shown_text` on one line, the same of a text that `shown_text` has made already; statements are lines."""
    return " ".join(part for part in shown_text(text).split("\n") if part)


#: What stands for the signs of our own screens where a terminal's encoding has none for them.
_STAND_INS = str.maketrans(
    {
        **dict.fromkeys("│┃", "|"), **dict.fromkeys("├└┌┬┴┼┐┘╭╮╰╯", "+"), **dict.fromkeys("─━–—−•·", "-"),
        **dict.fromkeys("░▒▓█", "#"), "×": "x", "…": "...", "≤": "<=", "≥": ">=", "→": "->",
        **dict.fromkeys("‘’", "'"), **dict.fromkeys("“”", '"'),
    }
)  # fmt: skip
_STAND_IN = "workbench-stand-in"


def _stand_in(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    text = error.object[error.start : error.end].translate(_STAND_INS)
    # A letter of a name that has no stand-in is written as its number, as in Python's own text.
    return "".join(char if char.isascii() else _escape_sequence(char) for char in text), error.end


codecs.register_error(_STAND_IN, _stand_in)


def write_what_can_be_written(streams: Iterable[Any]) -> None:
    """Have streams put a plain sign for each that their encoding lacks (``PYTHONIOENCODING=ascii``), instead of failing.

    A command fails where it prints what was paid for, otherwise.
    """
    for stream in streams:
        if (reconfigure := getattr(stream, "reconfigure", None)) is not None:
            reconfigure(errors=_STAND_IN)


def json_for(text: str, encoding: str | None) -> str:
    r"""Return a JSON document in characters that an encoding has: the others as ``\uXXXX``, the same values.

    >>> json_for('{"a": "–"}', "ascii"), json_for('{"a": "–"}', "utf-8")
    ('{"a": "\\u2013"}', '{"a": "–"}')
    """
    try:
        text.encode(encoding or "utf-8")
    except UnicodeEncodeError:
        return "".join(char if char.isascii() else _escape_sequence(char) for char in text)
    return text


def _is_wide_space(char: str) -> bool:
    return char.isspace() and not char < " "


def _escape_sequence(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))


def json_text(value: Any, *, indent: bool = False) -> str:
    """Return a value as JSON that may leave this process: no secret in it, and nothing that a terminal obeys."""
    try:
        text = orjson.dumps(value, option=orjson.OPT_INDENT_2 if indent else None).decode()
    except TypeError:
        # A path that is no UTF-8 (Python holds its bytes as halves of pairs); anything else fails here too.
        text = json.dumps(value, indent=2 if indent else None, ensure_ascii=False)
        text = text.encode("utf-8", "replace").decode()
    return json_printable(SECRETS.clean(text))
