"""Reads a JSON value as models write it: with every slip that leaves no doubt, and never guessing at what was meant.

Comments, trailing commas, raw line ends in texts, curly quotes, ``.62``, ``+0.62``, ``62%`` and Python's spelling are such slips. A key
that comes twice with different values, NaN and infinity are refused whatever the spelling.
"""

import json
import math
import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NoReturn

from workbench.agents.errors import MalformedReply

DECIMAL_POINT = "write numbers with a decimal point: 0.62, not 0,62"
# Deeper values have no place in any answer, and a reader of them that calls itself would fail.
_DEEPEST = 100
# Digits of the longest whole number that means something; a float of 309 and more is none.
_MOST_DIGITS = 40

# Possessive: what a model sends must not be searched again from each of its places. Never a group, which Python before 3.11.5
# matches wrongly (gh-106052).
_BLANK = re.compile(r"(?:\s++|//[^\n]*+|/\*.*?(?:\*/|\Z)|(?<=[\s,{\[])#[^\n]*+)*", re.DOTALL)
_STRING = re.compile(r""""(?:[^"\\]++|\\.)*"|'(?:[^'\\]++|\\.)*'|[“”](?:[^"“”\\]++|\\.)*["“”]""", re.DOTALL)
_NUMBER = re.compile(
    r"(?P<sign>[+-]?)(?P<digits>(?:0|[1-9]\d*+)(?:\.\d*+)?|\.\d++)(?P<power>[eE][+-]?\d++)?(?P<share>[ ]?%)?"
)
_WORD = re.compile(r"[A-Za-z]++")
_WORDS = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}
_QUOTE = re.compile(r"""\\.|\"""", re.DOTALL)
#: A decimal comma where a number stands; in a list of numbers it would be read as two of them.
_COMMA = re.compile(r":\s*[+-]?\d+,\d+\s*[,}%\n]")


class _Refused(MalformedReply):
    """A value that is readable and refused, whatever its spelling."""


def loads(source: str) -> Any:
    """Return the JSON value of a text.

    Raises `MalformedReply`: It cannot be read; the reason is about the text as the model wrote it.
    """
    reader = Reader(source)
    try:
        value = reader.value()
        if reader.ended():
            return value
    except _Refused:
        raise
    except MalformedReply:
        pass
    try:
        json.loads(source, strict=False)  # which says best what is wrong
        reason = "the JSON cannot be read"
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column {error.colno}"
        reason = f"the JSON cannot be read: {error.msg} at {place} of the block"
    raise MalformedReply(f"{reason}; {DECIMAL_POINT}" if _COMMA.search(source) else reason)


class Reader:
    """Read a value that begins at ``at`` in a text, spelled as JSON, as Python or as a mix; ``at`` then is its end."""

    def __init__(self, text: str, at: int = 0, *, most: int | None = None) -> None:
        self.text, self.at, self._end = text, at, len(text) if most is None else at + most

    def value(self, depth: int = 0) -> Any:
        """Return the value; raises `MalformedReply`."""
        if depth > _DEEPEST:
            raise _Refused("the JSON is nested too deeply")
        self._take(_BLANK)
        opening = self.text[self.at : self.at + 1]
        if opening == "{":
            return _object(list(self._items("}", lambda: self._pair(depth))))
        if opening == "[":
            return list(self._items("]", lambda: self.value(depth + 1)))
        if (written := self._take(_STRING)) is not None:
            return _text(written[0])
        if (number := self._take(_NUMBER)) is not None:
            return _number(number)
        if (word := self._take(_WORD)) is not None:
            if word[0] in _WORDS:
                return _WORDS[word[0]]
            if word[0].lower() in ("nan", "infinity", "inf"):
                _no_constant(word[0])
        raise MalformedReply("no value stands here")

    def _items(self, closing: str, item: Callable[[], Any]) -> Iterator[Any]:
        self.at += 1
        while not self._sign(closing):
            yield item()
            if not self._sign(","):
                if self._sign(closing):
                    return
                raise MalformedReply(f"neither a comma nor {closing} stands here")

    def _pair(self, depth: int) -> tuple[str, Any]:
        key = self.value(depth + 1)
        if not isinstance(key, str) or not self._sign(":"):
            raise MalformedReply("no key stands here")
        return key, self.value(depth + 1)

    def _sign(self, sign: str) -> bool:
        self._take(_BLANK)
        found = self.text.startswith(sign, self.at, self._end)
        self.at += found
        return found

    def ended(self) -> bool:
        """Whether nothing but blanks and comments is left."""
        self._take(_BLANK)
        return self.at == len(self.text)

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        match = pattern.match(self.text, self.at, self._end)
        if match is not None:
            self.at = match.end()
        return match


def _text(written: str) -> str:
    """The text between two quotes of any kind; escapes are JSON's."""
    spelled = {"\\'": "'", '"': '\\"'}
    try:
        text: str = json.loads(
            f'"{_QUOTE.sub(lambda match: spelled.get(match[0], match[0]), written[1:-1])}"', strict=False
        )
    except ValueError:
        raise MalformedReply("a text of the JSON has an escape that means nothing") from None
    return text


def _number(match: re.Match[str]) -> Any:
    sign, digits, power, share = match.group("sign", "digits", "power", "share")
    written = f"{sign.removeprefix('+')}{digits}{power or ''}"
    if share:
        return (
            f"{written}%"  # a percentage is a fraction only where it is marked as one: `number_of` reads it
        )
    return _float(written) if power or "." in digits else _whole_number(written)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    seen: dict[str, Any] = {}
    for key, value in pairs:
        if key in seen and seen[key] != value:
            raise _Refused(f'the JSON has the key "{first_line(key, 60)}" twice in one object')
        seen[key] = value
    return seen


def _no_constant(name: str) -> NoReturn:
    raise _Refused(f"the JSON holds {name}; write a finite number")


def _float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        _no_constant(first_line(text, 40))
    return number + 0.0  # -0.0 is shown with its sign


def _whole_number(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise _Refused("the JSON holds a number that is too long")
    return int(text)


def number_of(value: Any) -> Any:
    """Return the number that a text is, a marked percentage as a fraction; anything else as it came.

    >>> number_of("0.62"), number_of("62 %"), number_of("about 0.6"), number_of(62)
    (0.62, 0.62, 'about 0.6', 62)
    """
    if not isinstance(value, str) or len(value) > 40:
        return value
    match = re.fullmatch(
        r"\s*([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)\s*(%|percent|per cent)?\s*", value
    )
    if match is None:
        return value
    number = float(match[1])
    # Rounded: 62 / 100 is 0.62 to the last digit, but 7 / 100 is not 0.07 of the text in every spelling.
    return round(number / 100, 12) if match[2] else number


def first_line(text: str, length: int = 120) -> str:
    """Return the beginning of a text on one line, for complaints and errors."""
    return " ".join("".join(islice(text, length * 2)).split())[:length]
