"""Find the rows in an answer and rewrite them without touching the rest.

A row path is written as in the catalogue::

    []                                   the answer is a list of rows
    observations[]                       rows under a key
    metrics[].values[]                   rows in every element
    history.*[]                          rows under every key
    series.docs[].{period,value}         parallel lists: one row per position
    vintage_dates[]                      plain values as rows
    market                               one row

Nothing is changed in place: raw answers are shared.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from proxies.json_text import Row

#: Makes a new row of a row; the raw one is shared.
Change: TypeAlias = Callable[[Any], Any]
DROP: Any = object()
_TOKEN = re.compile(r"\[\]|\{[^}]*\}|\*|[^.\[\]{}]+")


class ShapeError(ValueError):
    """The answer does not have the catalogue's shape."""


@dataclass(frozen=True, slots=True)
class RowStep:
    """One step of a row path: ``each`` element, ``any`` value, ``columns`` in parallel, or a ``key``."""

    kind: str
    names: tuple[str, ...] = ()


@lru_cache(maxsize=1024)
def steps_of(path: str) -> tuple[RowStep, ...]:
    """Parse a row path into steps.

    >>> [s.kind for s in steps_of("series.docs[].{period,value}")]
    ['key', 'key', 'each', 'columns']
    """
    steps = []
    for token in _TOKEN.findall(path):
        if token == "[]":
            steps.append(RowStep("each"))
        elif token == "*":
            steps.append(RowStep("any"))
        elif token.startswith("{"):
            steps.append(RowStep("columns", tuple(name.strip() for name in token[1:-1].split(","))))
        else:
            steps.append(RowStep("key", (token,)))
    return tuple(steps)


def rewrite(value: Any, path: str, change: Change, *, prune: bool = False) -> Any:
    """Copy an answer with ``change`` applied to every row; rows that it maps to DROP are left out.

    `value`: The answer; not changed.

    Raises `ShapeError`: The answer is not built as the path says. A key that is absent or null counts as no rows.
    """
    if not prune:
        return _rewrite(value, steps_of(path), 0, change)
    stayed = 0

    def counted(row: Any) -> Any:
        nonlocal stayed
        new = change(row)
        stayed += new is not DROP
        return new

    def hollow(item: Any, depth: int) -> Any:
        before = stayed
        new = _rewrite(item, steps_of(path), depth, counted, hollow)
        return new if stayed > before else DROP

    return _rewrite(value, steps_of(path), 0, counted, hollow)


def _rewrite(
    value: Any,
    steps: tuple[RowStep, ...],
    depth: int,
    change: Change,
    hollow: Callable[[Any, int], Any] | None = None,
) -> Any:
    # an element or a value under any key is what may be left hollow
    inner = hollow or (lambda item, level: _rewrite(item, steps, level, change))
    if depth == len(steps):
        return change(value)
    step = steps[depth]
    if step.kind == "each":
        if not isinstance(value, list):
            raise ShapeError(f"expected a list, got {type(value).__name__}")
        if depth + 1 == len(steps):
            return [new for new in map(change, value) if new is not DROP]
        return [new for item in value if (new := inner(item, depth + 1)) is not DROP]
    if not isinstance(value, dict):
        raise ShapeError(f"expected an object, got {type(value).__name__}")
    if step.kind == "any":
        changed = {key: inner(item, depth + 1) for key, item in value.items()}
        return {key: item for key, item in changed.items() if item is not DROP}
    if step.kind == "columns":
        return _columns(value, step.names, change)
    key = step.names[0]
    if value.get(key) is None:
        return {k: v for k, v in value.items() if k != key}
    new = _rewrite(value[key], steps, depth + 1, change, hollow)
    out = {k: (new if k == key else v) for k, v in value.items()}
    if new is DROP:
        if depth + 1 < len(steps):
            return DROP
        del out[key]
    return out


def _columns(value: Row, names: tuple[str, ...], change: Change) -> Row:
    """Rewrite rows that lie across parallel lists."""
    even = _even_columns(value, names)
    rows = [change(dict(zip(even, cells, strict=True))) for cells in zip(*even.values(), strict=True)]
    rows = [row for row in rows if row is not DROP]
    others = {k: v for k, v in value.items() if k not in names}
    return others | {name: [row[name] for row in rows] for name in even if all(name in row for row in rows)}


def _even_columns(value: Row, names: tuple[str, ...]) -> dict[str, list[Any]]:
    """Return the parallel lists of an object; a list of another length belongs to no row and is left out."""
    present = {name: value[name] for name in names if isinstance(value.get(name), list)}
    if present and names[0] not in present:
        raise ShapeError(f"the list {names[0]!r} is missing")
    return {name: column for name, column in present.items() if len(column) == len(present[names[0]])}


def in_order(answer: Any, path: str, names: tuple[str, ...]) -> Any:
    """Sort the rows of an answer by some fields, for vendors whose order follows facts of today."""
    *way, last = steps_of(path)
    if not names or last.kind != "each" or any(step.kind != "key" for step in way):
        return answer

    def place(row: Any) -> tuple[tuple[bool, float, str], ...]:
        values = [get(row, name) for name in names]
        # numbers among themselves, texts among themselves: a vendor may mix them
        return tuple(
            (
                isinstance(v, str),
                float(v) if isinstance(v, (int, float)) else 0.0,
                v if isinstance(v, str) else "",
            )
            for v in values
        )

    def ordered(value: Any, depth: int) -> Any:
        if depth == len(way):
            return sorted(value, key=place) if isinstance(value, list) else value
        key = way[depth].names[0]
        if not isinstance(value, dict) or key not in value:
            return value
        return {**value, key: ordered(value[key], depth + 1)}

    return ordered(answer, 0)


def rows_at(value: Any, path: str) -> Iterator[Any]:
    """Yield the rows of an answer. Raises `ShapeError`, as `rewrite` does.

    >>> list(rows_at({"observations": [1, 2]}, "observations[]")), list(rows_at({}, "observations[]"))
    ([1, 2], [])
    """
    return _rows_at(value, steps_of(path))


def _rows_at(value: Any, steps: tuple[RowStep, ...]) -> Iterator[Any]:
    if not steps:
        yield value
        return
    step, further = steps[0], steps[1:]
    if step.kind == "each":
        if not isinstance(value, list):
            raise ShapeError(f"expected a list, got {type(value).__name__}")
        parts = value
    elif not isinstance(value, dict):
        raise ShapeError(f"expected an object, got {type(value).__name__}")
    elif step.kind == "columns":
        even = _even_columns(value, step.names)
        parts = [dict(zip(even, cells, strict=True)) for cells in zip(*even.values(), strict=True)]
    else:
        parts = list(value.values()) if step.kind == "any" else [value.get(step.names[0])]
        parts = parts if step.kind == "any" or parts != [None] else []
    for part in parts:
        yield from _rows_at(part, further)


def get(row: Any, field: str) -> Any:
    """Return the value at a dotted field inside a row, or None if it is absent; the row itself for ``""``."""
    if not field:
        return row
    # a key that holds a dot itself goes before the path
    if isinstance(row, dict) and field in row:
        return row[field]
    for part in field.split("."):
        if not isinstance(row, dict):
            return None
        row = row.get(part)
    return row


def empty_answer(path: str) -> Any:
    """Return the answer that holds no rows, in the shape of the path."""
    return _empty(steps_of(path))


def _empty(steps: tuple[RowStep, ...]) -> Any:
    if not steps:
        return {}
    step = steps[0]
    if step.kind == "each":
        return []
    if step.kind == "any":
        return {}
    if step.kind == "columns":
        return {name: [] for name in step.names}
    return {step.names[0]: _empty(steps[1:])}
