"""The JSON value of a reply, in every form that leaves no doubt: fenced or bare, once or several times the same.

A prompt asks for one block in a ``json`` fence. Models also send another fence, none, a quoted block, a draft before the
final one. All of these are read as long as they say one thing (and `lenient_json` reads each). Two values that say different
things are ambiguous: choosing one would be a guess, so the model is asked again.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from workbench.agents.errors import MalformedReply
from workbench.agents.replies.lenient_json import Reader, loads

T = TypeVar("T")

#: Numbers of two blocks that lie nearer than this say the same; prompts ask for three decimals at most.
SAME_WITHIN = 0.02

_BRACKET = re.compile(r"[{\[]")
_QUOTED = re.compile(r"^[ \t]*>[ \t]?", re.MULTILINE)
# Possessive, and below an alternative for the end of the text: what a model sends must not be searched again from each of its places.
_FENCE = re.compile(r"^[ \t]*```[ \t]*+([A-Za-z0-9_+-]*)[ \t]*(?=[\n\[{]|$)", re.MULTILINE)
_FENCE_END = re.compile(r"^[ \t]*```[ \t]*$", re.MULTILINE)
_JSON_LABELS = {"json", "json5", "jsonc", "jsonl"}
# A reply of nothing but brackets must not cost minutes: so many fences are looked into, and so many characters read.
_MOST_PLACES = 200
_LONGEST = 200_000


@dataclass(frozen=True, slots=True)
class Candidate:
    """A JSON value that stands in a reply, between ``start`` and ``stop``, fence included."""

    value: Any
    text: str
    start: int
    stop: int


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


def _bare(text: str) -> Iterator[Candidate]:
    """Values that stand in the prose without a fence, outermost ones only."""
    position, looked_at = 0, 0
    while looked_at < _LONGEST and (match := _BRACKET.search(text, position)):
        position, reader = match.end(), Reader(text, match.start(), most=_LONGEST)
        try:
            value = reader.value()
        except MalformedReply:
            continue
        finally:
            looked_at += reader.at - match.start()
        # A bracket in prose or mathematics is no value: only what can hold an answer counts.
        if re.search("[\"'“]", text[match.start() : reader.at]):
            position = reader.at
            yield Candidate(value, text, match.start(), position)


def _prose(candidates: list[Candidate]) -> str:
    text, position, parts = candidates[0].text, 0, []
    for candidate in candidates:
        parts.append(text[position : candidate.start].strip())
        position = candidate.stop
    parts.append(text[position:].strip())
    return "\n\n".join(part for part in parts if part)


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
