"""The guards that policies call for, as small pure functions.

`clamp_params` lives with the windows, `param_allowlist` in the request check, `overfetch` in the broker's paging,
`readjust` in its own module; plain are the ones that work on a single row, and the notes of those that can only
be told.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from proxies.asof.rows import DROP, RowStep, ShapeError, rewrite, steps_of
from proxies.catalogue.loader import Endpoint

NOTES: Mapping[str, str] = MappingProxyType(
    {
        "restated": "values may have been restated after they were first published",
        "newest_shares": "the share count behind these values may be the newest one",
        "as_scaled": "amounts per share and share counts are in the shares of the cutoff; where they do not fit price and market value they are left out",
        "survivorship": "the list is as of today: names that have gone since may be missing",
        "content_check": "sentences that speak of later days as past, and pages dated later by their address, were left out, by rule",
    }
)


def strip(row: Any, drop: tuple[str, ...]) -> Any:
    """A row without the named fields (dotted paths reach inside)."""
    if not isinstance(row, dict) or not drop:
        return row
    plain = {name for name in drop if "." not in name}
    out = {key: value for key, value in row.items() if key not in plain}
    for name in drop:
        head, _, rest = name.partition(".")
        if rest and isinstance(out.get(head), dict):
            out[head] = strip(out[head], (rest,))
    return out


def keep_only(row: Any, keep: tuple[str, ...]) -> Any:
    """A row with the named fields alone, in its own order."""
    if not isinstance(row, dict):
        return DROP
    return {key: value for key, value in row.items() if key in keep}


def listed_only(row: Any, endpoint: Endpoint) -> Any:
    """A row with the fields the catalogue lists: what the upstream adds unannounced may be of today."""
    if endpoint.open_rows or not endpoint.fields or not isinstance(row, dict):
        return row
    if row.keys() <= endpoint.fields.keys():
        return row
    return {key: value for key, value in row.items() if key in endpoint.fields}


def envelope_only(answer: Any, endpoint: Endpoint) -> Any:
    """An answer that holds, on the whole way to its rows, what the catalogue lists beside them and nothing else.

    The catalogue's names are paths as the rows' own: ``count`` lies beside the rows' list, ``metrics[].label`` in the element
    that holds them.
    """
    if endpoint.rows is None or (endpoint.rows == "" and not endpoint.envelope):
        return answer
    return _on_the_way(answer, steps_of(endpoint.rows), frozenset(endpoint.envelope), "")


def _on_the_way(value: Any, steps: tuple[RowStep, ...], listed: frozenset[str], way: str) -> Any:
    if not steps or not isinstance(value, (dict, list)):
        return value
    step, rest = steps[0], steps[1:]
    if step.kind == "each":
        # the rows themselves, or single values, are the row filter's
        if not rest or not isinstance(value, list):
            return value
        return [_on_the_way(item, rest, listed, f"{way}[]") for item in value]
    if not isinstance(value, dict):
        return value
    if step.kind == "any":
        return {key: _on_the_way(item, rest, listed, f"{way}.*") for key, item in value.items()}
    below = f"{way}.{step.names[0]}".lstrip(".")
    out = {}
    for key, item in value.items():
        if key in step.names:
            out[key] = _on_the_way(item, rest, listed, below)
        elif f"{way}.{key}".lstrip(".") in listed:
            out[key] = item
    return out


def recount(answer: Any, endpoint: Endpoint) -> Any:
    """An answer whose totals say what is in it, not what the upstream holds today."""
    if not endpoint.recount or not isinstance(answer, dict) or endpoint.rows is None:
        return answer
    total = 0

    def count(row: Any) -> Any:
        nonlocal total
        total += 1
        return row

    try:
        rewrite(answer, endpoint.rows, count)
    except ShapeError:
        return answer
    out = dict(answer)
    for name, base in endpoint.recount.items():
        head, _, rest = name.partition(".")
        if rest and isinstance(out.get(head), dict):
            out[head] = {**out[head], **({rest: total} if rest in out[head] else {})}
        elif name in out:
            extra = out.get(base) if base else 0
            out[name] = total + (extra if isinstance(extra, int) else 0)
    return out
