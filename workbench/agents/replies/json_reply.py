"""The JSON value of a reply, in every form that leaves no doubt: fenced or bare, once or several times the same.

A prompt asks for one block in a ``json`` fence. Models also send another fence, none, a quoted block, a draft before the
final one, comments, trailing commas, Python's spelling. All of these are read as long as they say one thing. Two values
that say different things are ambiguous: choosing one would be a guess, so the model is asked again.
"""

import ast
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from workbench.agents.errors import MalformedReply

T = TypeVar("T")

#: Numbers of two blocks that lie nearer than this say the same; prompts ask for three decimals at most.
SAME_WITHIN = 0.02

_BRACKET = re.compile(r"[{\[]")
_QUOTED = re.compile(r"^[ \t]*>[ \t]?", re.MULTILINE)
# Possessive, and below an alternative for the end of the text: what a model sends must not be searched again from each of its places.
_FENCE = re.compile(r"^[ \t]*```[ \t]*+([A-Za-z0-9_+-]*)[ \t]*(?=[\n\[{]|$)", re.MULTILINE)
_FENCE_END = re.compile(r"^[ \t]*```[ \t]*$", re.MULTILINE)
_JSON_LABELS = {"json", "json5", "jsonc", "jsonl"}
# A reply of nothing but brackets must not cost minutes: so many places are tried, and so many characters of each.
_MOST_PLACES = 200
_LONGEST = 200_000
# Deeper values have no place in any answer, and a reader of them that calls itself would fail.
_DEEPEST = 100
# Digits of the longest whole number that means something; a float of 309 and more is none.
_MOST_DIGITS = 40

_STRING = r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)'
_COMMENT = re.compile(rf"({_STRING})|//[^\n]*|/\*.*?(?:\*/|\Z)|(?<=[\s,{{\[])#[^\n]*", re.DOTALL)
_TRAILING = re.compile(rf"({_STRING})|,(?=\s*[}}\]])", re.DOTALL)
_BARE_POINT = re.compile(rf"({_STRING})|(?<=[\s:,\[])([+-]?)(\.\d)", re.DOTALL)
_PLUS = re.compile(rf"({_STRING})|(?<=[\s:,\[])\+(?=[\d.])", re.DOTALL)
#: A decimal comma where a number stands; in a list of numbers it would be read as two of them.
_COMMA = re.compile(r":\s*[+-]?\d+,\d+\s*[,}%\n]")
DECIMAL_POINT = "write numbers with a decimal point: 0.62, not 0,62"
_PERCENT = re.compile(rf"({_STRING})|(?<=[\s:,\[])(-?\d+(?:\.\d+)?)[ ]?%", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A JSON value that stands in a reply, between ``start`` and ``stop``, fence included."""

    value: Any
    text: str
    start: int
    stop: int


class _Contradiction(MalformedReply):
    """It can be read, and says two things; no other spelling mends that."""


def read_json(
    text: str, read: Callable[[Any], T], *, what: str, merge: Callable[[list[T]], T] | None = None
) -> tuple[T, str]:
    """Return the one thing that a reply's JSON says, as ``read`` makes it, and the prose around it.

    `text`: The reply without thoughts.

    Raises `MalformedReply`: There is no JSON, none of the shape asked for, or several values that say different things.
    """
    fault: MalformedReply | None = None
    for tier in (_fenced(text, labelled=True), _fenced(text, labelled=False), _bare(text)):
        readings: list[tuple[T, Candidate]] = []
        for candidate in tier:
            if isinstance(candidate, MalformedReply):
                # The last complaint of the best tier is sent back: it is about what the model meant as its answer.
                fault = fault or candidate
                continue
            try:
                readings.append((read(candidate.value), candidate))
            except MalformedReply as malformed:
                fault = malformed
        if readings:
            return _only(readings, merge)
    raise fault or MalformedReply(f"found no {what}; send the JSON in exactly one, its fence on a new line")


def _only(readings: list[tuple[T, Candidate]], merge: Callable[[list[T]], T] | None) -> tuple[T, str]:
    value, last = readings[-1]
    prose = _prose([candidate for _, candidate in readings])
    if all(say_the_same(candidate.value, last.value) for _, candidate in readings):
        return value, prose
    if merge is not None:
        return merge([value for value, _ in readings]), prose
    numbers = ", ".join(
        f"{stated:g}" for _, candidate in readings if (stated := _stated_p(candidate.value)) is not None
    )
    raise MalformedReply(
        f"found {len(readings)} JSON blocks that say different things"
        + (f" (p_true {numbers})" if numbers else "")
        + "; send exactly one, the one you stand by"
    )


def _stated_p(value: Any) -> float | None:
    p = value.get("p_true") if isinstance(value, dict) else None
    return float(p) if isinstance(p, int | float) and not isinstance(p, bool) else None


def say_the_same(left: Any, right: Any) -> bool:
    """Whether two JSON values agree: numbers within 0.02 of each other, the same keys; wording is free where p is stated.

    >>> say_the_same({"p_true": 0.62, "key_factor": "a"}, {"p_true": 0.63, "key_factor": "b"})
    True
    >>> say_the_same({"p_true": 0.5}, {"p_true": 0.62})
    False
    """
    if _stated_p(left) is not None and _stated_p(right) is not None:
        left = {key: value for key, value in left.items() if not isinstance(value, str)}
        right = {key: value for key, value in right.items() if not isinstance(value, str)}
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    match left, right:
        case int() | float(), int() | float():
            return abs(left - right) <= SAME_WITHIN + 1e-9
        case dict(), dict():
            return left.keys() == right.keys() and all(say_the_same(left[key], right[key]) for key in left)
        case list(), list():
            return len(left) == len(right) and all(map(say_the_same, left, right))
        case _:
            return bool(left == right)


# --- where JSON may stand -----------------------------------------------------------------------------------------


def _fenced(text: str, *, labelled: bool) -> Iterator[Candidate | MalformedReply]:
    """Values in fences: those labelled as JSON, or all others; a block that cannot be read comes as the complaint."""
    for source in (text, _QUOTED.sub("", text)) if labelled else (text,):
        position, count = 0, 0
        while opening := _FENCE.search(source, position):
            count += 1
            if count > _MOST_PLACES:
                return
            is_json = opening[1].lower() in _JSON_LABELS
            end = _FENCE_END.search(source, opening.end())
            if end is None:
                # No closing fence on a line of its own: the last one on any line, because a text in the JSON may hold
                # backticks; else the end of the reply, where the value may be whole all the same.
                tail = source.rfind("```", opening.end())
                stop, after = (tail, tail + 3) if tail != -1 else (len(source), len(source))
            else:
                stop, after = end.start(), end.end()
            position = after
            if is_json is not labelled:
                continue
            block = source[opening.end() : stop]
            try:
                yield Candidate(loads(block), source, opening.start(), after)
            except MalformedReply as unreadable:
                complaint = unreadable
                if end is None and stop == len(source):
                    complaint = MalformedReply(
                        "the ```json block is not closed; end it with ``` on a line of its own"
                    )
                if labelled:
                    yield complaint
        # Quoted lines are looked at only where nothing stood in a fence of its own.
        if count:
            return


def _bare(text: str) -> Iterator[Candidate | MalformedReply]:
    """Values that stand in the prose without a fence, outermost ones only."""
    position, looked_at = 0, 0
    while looked_at < _LONGEST and (match := _BRACKET.search(text, position)):
        stop = _balanced(text, match.start())
        looked_at += (stop or min(len(text), match.start() + _LONGEST)) - match.start()
        position = match.end()
        if stop is None:
            continue
        block = text[match.start() : stop]
        # A bracket in prose or mathematics is no value: only what can hold an answer counts.
        if '"' not in block and "'" not in block:
            continue
        try:
            value = loads(block)
        except MalformedReply:
            continue
        position = stop
        yield Candidate(value, text, match.start(), stop)


def _balanced(text: str, start: int) -> int | None:
    """The position behind the bracket that closes the one at ``start``; brackets in strings do not count."""
    depth, quoted, position = 0, False, start
    for position in range(start, min(len(text), start + _LONGEST)):
        letter = text[position]
        if quoted:
            if letter == '"' and not _escaped(text, position):
                quoted = False
        elif letter == '"':
            quoted = True
        elif letter in "{[":
            depth += 1
        elif letter in "}]":
            depth -= 1
            if depth == 0:
                return position + 1
    return None


def _escaped(text: str, position: int) -> bool:
    slashes = 0
    while position - slashes > 0 and text[position - slashes - 1] == "\\":
        slashes += 1
    return slashes % 2 == 1


def _prose(candidates: list[Candidate]) -> str:
    text, position, parts = candidates[0].text, 0, []
    for candidate in candidates:
        parts.append(text[position : candidate.start].strip())
        position = candidate.stop
    parts.append(text[position:].strip())
    return "\n\n".join(part for part in parts if part)


# --- reading one block --------------------------------------------------------------------------------------------


def loads(source: str) -> Any:
    """Return the JSON value of a text, strict JSON first, then with the slips that leave no doubt.

    Comments, trailing commas, raw line ends in texts, ``.62``, ``+0.62``, ``62%`` and Python's spelling are such slips. A
    percentage is read as a fraction only where it is marked as one. A key that comes twice with different values, NaN and
    infinity are refused.

    Raises `MalformedReply`: It cannot be read; the reason is about the text as the model wrote it.
    """
    try:
        return _strict(source)
    except _Contradiction:
        raise
    except MalformedReply as malformed:
        for attempt in (_repaired(source), _repaired(source.replace("“", '"').replace("”", '"'))):
            try:
                return _strict(attempt)
            except _Contradiction:
                raise
            except MalformedReply:
                continue
        value = _python_literal(source)
        if value is not None:
            return value
        if _COMMA.search(source):
            raise MalformedReply(f"{malformed.reason}; {DECIMAL_POINT}") from None
        raise malformed from None


def _repaired(source: str) -> str:
    def keep(replacement: str) -> Callable[[re.Match[str]], str]:
        return lambda match: match[1] if match[1] is not None else match.expand(replacement)

    if len(source) > _LONGEST:
        return source
    source = _COMMENT.sub(keep(""), source)
    source = _TRAILING.sub(keep(""), source)
    source = _PERCENT.sub(lambda match: match[1] or f'"{match[2]}%"', source)
    source = _PLUS.sub(keep(""), source)
    return _BARE_POINT.sub(lambda match: match[1] or f"{match[2]}0{match[3]}", source)


def _strict(source: str) -> Any:
    try:
        # By default json.loads takes NaN and Infinity, and the last of equal keys. strict=False takes raw line ends in texts.
        value = json.loads(
            source,
            object_pairs_hook=_no_contradiction,
            parse_constant=_no_constant,
            parse_float=_finite_number,
            parse_int=_whole_number,
            strict=False,
        )
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column {error.colno}"
        raise MalformedReply(f"the JSON cannot be read: {error.msg} at {place} of the block") from error
    except RecursionError as error:
        raise MalformedReply("the JSON is nested too deeply") from error
    # It is a ValueError too, so it must pass before the next clause.
    except MalformedReply:
        raise
    except ValueError as error:  # an integer of thousands of digits
        raise MalformedReply("the JSON holds a number that is too long") from error
    if _is_deep(value):
        raise MalformedReply("the JSON is nested too deeply")
    return value


def _is_deep(value: Any) -> bool:
    # Level by level: a reader that calls itself fails on just the values that this is to refuse.
    level = [value]
    for _ in range(_DEEPEST):
        if not level:
            return False
        level = [
            below
            for each in level
            for below in (each.values() if isinstance(each, dict) else each if isinstance(each, list) else ())
            if isinstance(below, dict | list)
        ]
    return True


def _python_literal(source: str) -> Any:
    """A dict or list in Python's spelling, as JSON values; None if it is none."""
    if len(source) > _LONGEST or not source.lstrip().startswith(("{", "[")):
        return None
    try:
        value = ast.literal_eval(source.strip())
        # Through JSON, which refuses what a model cannot have meant: sets, tuples as keys, NaN.
        return _strict(json.dumps(value, allow_nan=False))
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return None


def _no_contradiction(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    seen: dict[str, Any] = {}
    for key, value in pairs:
        if key in seen and seen[key] != value:
            raise _Contradiction(f'the JSON has the key "{first_line(key, 60)}" twice in one object')
        seen[key] = value
    return seen


def _no_constant(name: str) -> Any:
    raise _Contradiction(f"the JSON holds {name}; write a finite number")


def _finite_number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        _no_constant(first_line(text, 40))
    return number + 0.0  # -0.0 is shown with its sign


def _whole_number(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise ValueError("more digits than any count has")
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


def every_text(value: object) -> Iterator[str]:
    """Yield every text of a JSON value, its objects' names left out, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from every_text(item)
    elif isinstance(value, list):
        for item in value:
            yield from every_text(item)
