"""The guards that policies call for, as small pure functions.

`clamp_params` lives with the windows, `param_allowlist` in the request check, `overfetch` in the broker's paging,
`readjust` in its own module; plain are the ones that work on a single row, and the notes of those that can only
be told.
"""

import re
from collections.abc import Mapping
from datetime import date
from types import MappingProxyType
from typing import Any

from proxies.asof.clock import Cutoff, parse_day
from proxies.asof.rows import DROP, ShapeError, get, rewrite
from proxies.catalogue.loader import Endpoint

NOTES: Mapping[str, str] = MappingProxyType(
    {
        "restated": "values may have been restated after they were first published",
        "survivorship": "the list is as of today: names that have gone since may be missing",
        "content_check": "texts that speak of days on or after the cutoff were left out, by rule",
    }
)
LATER_TEXT = "the text speaks of a day on or after the cutoff"

_MONTHS = {
    name: number
    for number, names in enumerate(
        ("january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
         "september sep sept", "october oct", "november nov", "december dec"), start=1,
    )
    for name in names.split()
}  # fmt: skip
_NAME = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DATES = re.compile(
    rf"\b(?P<iso>\d{{4}}-\d{{2}}-\d{{2}})"
    rf"|\b(?P<m1>{_NAME})\.?\s+(?P<d1>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<y1>\d{{4}})\b"
    rf"|\b(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<m2>{_NAME})\.?,?\s+(?P<y2>\d{{4}})\b"
    rf"|\b(?P<m3>{_NAME})\.?,?\s+(?P<y3>\d{{4}})\b"
    r"|\b(?P<n1>\d{1,2})/(?P<n2>\d{1,2})/(?P<y4>\d{4})\b",
    re.IGNORECASE,
)
_LIVE = re.compile(
    r"\blive[ -](?:blog|updates?)\b|\blast updated\b|\bupdated \d+ (?:minutes?|hours?|days?) ago\b",
    re.IGNORECASE,
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
    """An answer whose outer keys are those the catalogue lists, beside the rows."""
    if not isinstance(answer, dict) or endpoint.rows is None or endpoint.rows.startswith("[]"):
        return answer
    head = re.match(r"[^.\[{*]*", endpoint.rows)
    allowed = {*endpoint.envelope, *([head[0]] if head and head[0] else [])}
    if not allowed:
        return answer
    return {key: value for key, value in answer.items() if key in allowed}


def speaks_of_later(text: str, cutoff: Cutoff) -> bool:
    """Whether a text names a day after the last visible one, or looks like a page that is kept up to date."""
    last = cutoff.last_moment_day
    for match in _DATES.finditer(text):
        days = _days(match)
        if any(day > last for day in days):
            return True
    return bool(_LIVE.search(text))


def _days(match: re.Match[str]) -> list[date]:
    """The earliest day of each reading of a match; none if it is no date of the calendar."""
    parts = match.groupdict()
    try:
        if parts["iso"]:
            day = parse_day(parts["iso"])
            return [day] if day else []
        if parts["m1"]:
            return [date(int(parts["y1"]), _MONTHS[parts["m1"].lower()], int(parts["d1"]))]
        if parts["m2"]:
            return [date(int(parts["y2"]), _MONTHS[parts["m2"].lower()], int(parts["d2"]))]
        if parts["m3"]:
            return [date(int(parts["y3"]), _MONTHS[parts["m3"].lower()], 1)]
        month, day_of = int(parts["n1"]), int(parts["n2"])
        year = int(parts["y4"])
        # either order may be meant: a later reading of the two is enough to drop. Days after the 28th are not in every
        # month: such a date counts as the start of its year
        return [
            date(year, a, b) for a, b in ((month, day_of), (day_of, month)) if 1 <= a <= 12 and 1 <= b <= 28
        ] or [date(year, 1, 1)]
    except ValueError:
        return []


def content_check(row: Any, cutoff: Cutoff, fields: tuple[str, ...]) -> str | None:
    """Why a row's texts give it away, or None. Only ever removes."""
    for name in fields:
        for text in _texts(get(row, name)):
            if speaks_of_later(text, cutoff):
                return LATER_TEXT
    return None


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    if isinstance(value, dict):
        return [text for item in value.values() for text in _texts(item)]
    return []


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
