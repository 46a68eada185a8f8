"""Parse a vendor's JSON so that one bad figure or byte does not lose a whole answer; name its objects."""

import codecs
import json
import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import orjson

#: Values by name that are read: the parameters of a request, the parts of an answer. A ``Row`` is one of our own making.
Fields: TypeAlias = Mapping[str, Any]
Row: TypeAlias = dict[str, Any]


def read_json(body: bytes) -> Any:
    """Parse JSON bytes. Invalid figures (NaN, Infinity, 1e999) become null, odd bytes U+FFFD.

    Sources read small answers with it, `proxies.answers` every answer. Deep nesting, truncated text and anything else that
    is no JSON is refused.

    Raises `ValueError`: It is not JSON.

    >>> read_json(b'[{"a": NaN, "b": 1}]'), read_json(codecs.BOM_UTF8 + b"[1e999]")
    ([{'a': None, 'b': 1}], [None])
    """
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return _leniently(body)


def _leniently(body: bytes) -> Any:
    text = body.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace")
    try:
        value = json.loads(text, parse_constant=lambda name: None, parse_float=_finite)
        # once more through bytes: a half surrogate in an escape is a Python text that nothing could encode later on
        return orjson.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _finite(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None
