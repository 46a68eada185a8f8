"""Where the rows lie in an answer, and rewriting them without touching the rest.

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
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

DROP: Any = object()
_TOKEN = re.compile(r"\[\]|\{[^}]*\}|\*|[^.\[\]{}]+")


class ShapeError(ValueError):
    """The answer is not built as the catalogue says."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a row path: ``each`` element, ``any`` value, ``columns`` in parallel, or a ``key``."""

    kind: str
    names: tuple[str, ...] = ()


@lru_cache(maxsize=1024)
def steps_of(path: str) -> tuple[Step, ...]:
    """The steps of a row path.

    Examples
    --------
    >>> [s.kind for s in steps_of("series.docs[].{period,value}")]
    ['key', 'key', 'each', 'columns']
    """
    steps = []
    for token in _TOKEN.findall(path):
        if token == "[]":
            steps.append(Step("each"))
        elif token == "*":
            steps.append(Step("any"))
        elif token.startswith("{"):
            steps.append(Step("columns", tuple(name.strip() for name in token[1:-1].split(","))))
        else:
            steps.append(Step("key", (token,)))
    return tuple(steps)


def rewrite(value: Any, path: str, change: Callable[[Any], Any]) -> Any:
    """A copy of an answer in which every row went through ``change``; rows it maps to DROP are left out.

    Parameters
    ----------
    value : JSON value
        The answer; not changed.
    path : str
        Row path.
    change : callable
        Row to row, or to DROP.

    Raises
    ------
    ShapeError
        The answer is not built as the path says. A key that is absent or null counts as no rows.
    """
    return _rewrite(value, steps_of(path), 0, change)


def _rewrite(value: Any, steps: tuple[Step, ...], depth: int, change: Callable[[Any], Any]) -> Any:
    if depth == len(steps):
        return change(value)
    step = steps[depth]
    if step.kind == "each":
        if not isinstance(value, list):
            raise ShapeError(f"expected a list, got {type(value).__name__}")
        if depth + 1 == len(steps):
            return [new for new in map(change, value) if new is not DROP]
        return [new for item in value if (new := _rewrite(item, steps, depth + 1, change)) is not DROP]
    if not isinstance(value, dict):
        raise ShapeError(f"expected an object, got {type(value).__name__}")
    if step.kind == "any":
        changed = {key: _rewrite(item, steps, depth + 1, change) for key, item in value.items()}
        return {key: item for key, item in changed.items() if item is not DROP}
    if step.kind == "columns":
        return _columns(value, step.names, change)
    key = step.names[0]
    if value.get(key) is None:
        return {k: v for k, v in value.items() if k != key}
    new = _rewrite(value[key], steps, depth + 1, change)
    rest = {k: (new if k == key else v) for k, v in value.items()}
    if new is DROP:
        if depth + 1 < len(steps):
            return DROP
        del rest[key]
    return rest


def _columns(value: dict[str, Any], names: tuple[str, ...], change: Callable[[Any], Any]) -> dict[str, Any]:
    """Rewrites rows that lie across parallel lists. A list of another length is left out: its values belong to no row."""
    present = [name for name in names if isinstance(value.get(name), list)]
    if not present:
        return {k: v for k, v in value.items() if k not in names}
    length = len(value[names[0]]) if names[0] in present else -1
    if length < 0:
        raise ShapeError(f"the list {names[0]!r} is missing")
    even = [name for name in present if len(value[name]) == length]
    rows: list[dict[str, Any]] = []
    for cells in zip(*(value[name] for name in even), strict=True):
        new = change(dict(zip(even, cells, strict=True)))
        if new is not DROP:
            rows.append(new)
    rest = {k: v for k, v in value.items() if k not in names}
    return rest | {name: [row[name] for row in rows] for name in even if all(name in row for row in rows)}


class _RowFound(Exception):
    """A row: the search is over."""


def any_row(value: Any, path: str) -> bool:
    """Whether an answer holds a row, without a walk through all of them.

    Examples
    --------
    >>> any_row({"observations": [1, 2]}, "observations[]"), any_row({"observations": []}, "observations[]")
    (True, False)
    """

    def stop(row: Any) -> Any:
        raise _RowFound

    try:
        rewrite(value, path, stop)
    except _RowFound:
        return True
    return False


def get(row: Any, field: str) -> Any:
    """The value at a dotted field inside a row, or None if it is absent; the row itself for ``""``."""
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
    """The answer that holds no rows, in the shape of the path."""
    steps = steps_of(path)
    return _empty(steps)


def _empty(steps: tuple[Step, ...]) -> Any:
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
