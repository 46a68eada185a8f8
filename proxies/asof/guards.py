"""Implement the guards that policies call for, as small pure functions.

`clamp_params` lives with the windows, `param_allowlist` in the request check, `overfetch` in the broker's paging,
`readjust` in its own module; plain are the ones that work on a single row, and the notes of those that can only
be told.
"""

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from proxies.asof.rows import DROP, RowStep, ShapeError, rows_at, steps_of
from proxies.catalogue.schema import Endpoint, Nested

#: What may stand in an object: its names, each with what may stand in the objects below it; "*" is any name.
Shape = Mapping[str, "Shape"]
_NO_OBJECT: Shape = MappingProxyType({})

NOTES: Mapping[str, str] = MappingProxyType(
    {
        "restated": "values may have been restated after they were first published",
        "newest_shares": "the share count behind these values may be the newest one",
        "as_scaled": "amounts per share and share counts are in the shares of the cutoff; where they do not fit price and market value they are left out",
        "survivorship": "the list is as of today: names that have gone since may be missing",
        "on_record": "members whose joining is on no record are left out",
        "content_check": "sentences that speak of later days as past, and pages dated later by their address, were left out, by rule",
    }
)


def strip(row: Any, drop: tuple[str, ...]) -> Any:
    """Remove the named fields from a row (dotted paths reach inside)."""
    if not isinstance(row, dict) or not drop:
        return row
    plain = {name for name in drop if "." not in name}
    out = {key: value for key, value in row.items() if key not in plain}
    for name in drop:
        head, _, inner = name.partition(".")
        if inner and isinstance(out.get(head), dict):
            out[head] = strip(out[head], (inner,))
    return out


def keep_only(row: Any, keep: tuple[str, ...]) -> Any:
    """Keep only the named fields of a row, in its own order."""
    if not isinstance(row, dict):
        return DROP
    return {key: value for key, value in row.items() if key in keep}


def listed_only(row: Any, endpoint: Endpoint) -> Any:
    """Keep only the fields that the catalogue lists: an unannounced one may be of today."""
    if endpoint.open_rows or not endpoint.fields or not isinstance(row, dict):
        return row
    if row.keys() <= endpoint.fields.keys():
        return row
    return {key: value for key, value in row.items() if key in endpoint.fields}


@lru_cache(maxsize=1024)
def shape_of(inner: tuple[Nested, ...]) -> Shape:
    """Return the shape that may stand inside a row's objects or beside the rows, by the catalogue's nested fields.

    >>> shape_of((Nested(rows="values[]", keep=("query", "value")), Nested(rows="data")))
    {'values': {'query': {}, 'value': {}}, 'data': {'*': {}}}
    """
    shape: dict[str, Any] = {}
    for item in inner:
        place = shape
        for name in item.rows.replace("[]", "").split("."):
            place = place.setdefault(name, {})
        for name in item.keep or ("*",):
            place.setdefault(name, {})
    return shape


def inside(row: Any, shape: Shape) -> Any:
    """Reduce a row's objects to the fields that the catalogue lists in them; an object in place of a value goes."""
    if not isinstance(row, dict) or not any(isinstance(value, (dict, list)) for value in row.values()):
        return row
    values = {name: _as_listed(value, shape.get(name, _NO_OBJECT)) for name, value in row.items()}
    return {name: value for name, value in values.items() if value is not DROP}


def _as_listed(value: Any, shape: Shape) -> Any:
    if isinstance(value, list):
        return [new for item in value if (new := _as_listed(item, shape)) is not DROP]
    if not isinstance(value, dict):
        # a text in the place of an object has gone through no check of what is in it
        return value if value is None or not shape or "*" in shape else DROP
    if not shape:
        return DROP
    values = {
        name: _as_listed(item, shape.get(name, shape.get("*", _NO_OBJECT)))
        for name, item in value.items()
        if name in shape or "*" in shape
    }
    return {name: item for name, item in values.items() if item is not DROP}


def envelope_only(answer: Any, endpoint: Endpoint) -> Any:
    """Reduce an answer to its rows and the fields beside them that the catalogue lists.

    The catalogue's names are paths as the rows' own: ``count`` lies beside the rows' list, ``metrics[].label`` in the element
    that holds them.
    """
    if endpoint.rows is None or (endpoint.rows == "" and not endpoint.envelope):
        return answer
    shape = shape_of(endpoint.as_of.beside)
    return _on_the_way(answer, steps_of(endpoint.rows), frozenset(endpoint.envelope), "", shape)


def _on_the_way(
    value: Any, steps: tuple[RowStep, ...], listed: frozenset[str], way: str, shape: Shape
) -> Any:
    if not steps or not isinstance(value, (dict, list)):
        return value
    step, further = steps[0], steps[1:]
    if step.kind == "each":
        # the rows themselves, or single values, are the row filter's
        if not further or not isinstance(value, list):
            return value
        return [_on_the_way(item, further, listed, f"{way}[]", shape) for item in value]
    if not isinstance(value, dict):
        return value
    if step.kind == "any":
        below = shape.get("*", _NO_OBJECT)
        return {key: _on_the_way(item, further, listed, f"{way}.*", below) for key, item in value.items()}
    out = {}
    for key, item in value.items():
        place, below = f"{way}.{key}".lstrip("."), shape.get(key, _NO_OBJECT)
        if key in step.names:
            out[key] = _on_the_way(item, further, listed, place, below)
        elif place in listed and (plain := _as_listed(item, below)) is not DROP:
            out[key] = plain
    return out


def recount(answer: Any, endpoint: Endpoint) -> Any:
    """Recompute an answer's totals from its own rows, not from the upstream of today."""
    if not endpoint.recount or not isinstance(answer, dict) or endpoint.rows is None:
        return answer
    try:
        total = sum(1 for _ in rows_at(answer, endpoint.rows))
    except ShapeError:
        return answer
    out = dict(answer)
    for name, base in endpoint.recount.items():
        head, _, inner = name.partition(".")
        if inner and isinstance(out.get(head), dict):
            out[head] = {**out[head], **({inner: total} if inner in out[head] else {})}
        elif name in out:
            extra = out.get(base) if base else 0
            out[name] = total + (extra if isinstance(extra, int) else 0)
    return out
