"""Rows as columns of plain memory: what a kernel turns into a frame without parsing a number.

Of the rows of an answer each column becomes a run of bytes: whole numbers as int64, other numbers as float64 (missing:
NaN), texts as int32 places in a list of the different ones (missing: -1). What is none of these, such as lists, stays
JSON. Bytes are little endian. Nothing is left out or rounded: the frame holds what the rows hold.
"""

import json
import sys
from array import array
from collections import defaultdict
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import chain, count
from typing import Any

import orjson

#: Whether the caller will ask for columns of the answer: they can then be made while the ledger writes.
WANTED: ContextVar[bool] = ContextVar("columns_wanted", default=False)

_NUMBERS = ({int, float}, {float}, {int, float, type(None)}, {float, type(None)}, {int, type(None)})
_TEXTS = ({str}, {str, type(None)})
_NAN = float("nan")
_LARGEST = 2**53  # beyond it a float64 no longer holds every whole number


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns of equal length.

    Attributes
    ----------
    told : bytes
        JSON of ``{"rows": n, "columns": [{"name", "kind", "texts" or "values"}]}``; kinds are ``int``, ``float``,
        ``text`` (8, 8 and 4 bytes a row, in this order of columns) and ``json`` (no bytes).
    body : list of bytes-like
        The bytes of the columns that have some.
    """

    told: bytes
    body: list[memoryview]

    @property
    def head(self) -> dict[str, Any]:
        """What ``told`` tells."""
        made: dict[str, Any] = json.loads(self.told)
        return made

    @property
    def size(self) -> int:
        """Bytes of the body."""
        return sum(part.nbytes for part in self.body)


def rows_of(data: Any) -> list[dict[str, Any]] | None:
    """The rows of an answer: the list itself, or the one list in a dict; None where there are none.

    Examples
    --------
    >>> rows_of({"count": 1, "observations": [{"value": "1"}]})
    [{'value': '1'}]
    """
    if isinstance(data, dict):
        lists = [value for value in data.values() if isinstance(value, list)]
        if not lists or (len(lists) > 1 and not _are_rows(lists[0])):
            return None
        data = lists[0]
    return data if isinstance(data, list) and _are_rows(data) else None


def _are_rows(rows: list[Any]) -> bool:
    return bool(rows) and set(map(type, rows)) == {dict}


def to_columns(data: Any) -> Columns | None:
    """The rows of an answer as columns, in the order in which their names come; None where it has no rows.

    Examples
    --------
    >>> made = to_columns([{"date": "2018-06-29", "value": 1.5}, {"date": "2018-06-30", "value": None}])
    >>> made.head["columns"]
    [{'name': 'date', 'kind': 'text', 'texts': ['2018-06-29', '2018-06-30']}, {'name': 'value', 'kind': 'float'}]
    >>> made.size
    24
    """
    rows = rows_of(data)
    if rows is None or sys.byteorder != "little":
        return None
    names = list(rows[0])
    columns: list[list[Any]]
    if list(chain.from_iterable(rows)) == names * len(rows):
        # rows of the same names in the same order, as nearly all are: each is visited once for all of its values
        values = list(chain.from_iterable(map(dict.values, rows)))
        columns = [values[at :: len(names)] for at in range(len(names))]
    else:
        names = list(dict.fromkeys(chain.from_iterable(rows)))
        columns = [[row.get(name) for row in rows] for name in names]
    described: list[dict[str, Any]] = []
    body: list[memoryview] = []
    for name, column in zip(names, columns, strict=True):
        kind, fields, part = _column(column)
        described.append({"name": name, "kind": kind, **fields})
        if part is not None:
            body.append(memoryview(part).cast("B"))
    return Columns(_told({"rows": len(rows), "columns": described}), body)


def _told(head: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(head)
    except TypeError:  # a whole number beyond 64 bits, which no answer that came as JSON through orjson has
        return json.dumps(head).encode()


def _column(column: list[Any]) -> "tuple[str, dict[str, Any], array[Any] | None]":
    kinds = set(map(type, column))
    if kinds == {int}:
        try:
            return "int", {}, array("q", column)
        except OverflowError:
            return "json", {"values": column}, None
    if kinds in _NUMBERS:
        if int in kinds and any(type(value) is int and abs(value) > _LARGEST for value in column):
            return "json", {"values": column}, None
        if type(None) in kinds:
            column = [_NAN if value is None else value for value in column]
        return "float", {}, array("d", column)
    if kinds in _TEXTS:
        # a text that is new gets the next place: one pass, without a line of Python per row
        places: defaultdict[Any, int] = defaultdict(count().__next__)
        if type(None) in kinds:
            places[None] = -1
        made = array("i", list(map(places.__getitem__, column)))
        places.pop(None, None)
        return "text", {"texts": list(places)}, made
    return "json", {"values": column}, None
