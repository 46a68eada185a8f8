"""Cut the texts in rows as of a cutoff: those of pages by their fields, those of markets by one list, which imported questions use too."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import orjson

from proxies.asof.asof_text import as_of, without_later
from proxies.asof.clock import Cutoff, parse_day
from proxies.asof.later_text import dated_later
from proxies.asof.named_days import REPEATED

#: The texts of a market by the name of their field, each with the kind that `as_of` cuts it as: the one list for the broker, which cuts
#: them as they come from a venue, and for the door of questions, which cuts what it read of them out of a file. A ``label`` may also be
#: a list of labels.
MARKET_TEXTS: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(("title", "question"), "title")
    | {"outcomes": "label"}
    | dict.fromkeys(("rules_primary", "rules_secondary", "description"), "text")
)
#: Labels, slugs and addresses that a venue replaces whole: one that was cut could not be told from one that never was. Title and rules
#: say as much, and tickers and ids name markets and events for good, so that the broker tells none of these at a cutoff.
REPLACED_WHOLE = frozenset(
    ("subtitle", "sub_title", "yes_sub_title", "no_sub_title", "groupItemTitle", "slug", "resolutionSource", "image", "icon")
)  # fmt: skip
LATER_PAGE = "the page speaks of a later day as past, or its address is dated later"
_AGO = re.compile(r"\bupdated \d+ (?:minutes?|hours?|days?) ago\b", re.IGNORECASE)
# when a market was first published
_OPENED = ("createdAt", "created_time", "open_time", "startDate")


def cut_market(value: Any, cutoff: Cutoff, name: str = "", opened: str = "") -> Any:
    """Cut the texts of `MARKET_TEXTS` in a venue's row, at any depth, and drop those that are replaced whole."""
    if isinstance(value, dict):
        days = (str(value[field])[:10] for field in _OPENED if value.get(field))
        opened = next((day for day in days if parse_day(day)), opened)
        fields = value.keys() - REPLACED_WHOLE
        return {key: cut_market(item, cutoff, key, opened) for key, item in value.items() if key in fields}
    if isinstance(value, list):
        return [cut_market(item, cutoff, name, opened) for item in value]
    if isinstance(value, str) and name in MARKET_TEXTS:
        return _market_text(value, MARKET_TEXTS[name], cutoff, opened) or None
    return value


@lru_cache(maxsize=REPEATED)
def _market_text(text: str, kind: str, cutoff: Cutoff, opened: str) -> str:
    if kind == "label" and text.startswith("["):
        try:
            labels = orjson.loads(text)
        except ValueError:
            labels = None
        if isinstance(labels, list):
            # the list runs beside those of tokens and prices, so that an emptied label keeps its place; in one form, cut or not
            cut = [as_of(str(label), cutoff, opened=opened, kind="label").text for label in labels]
            return json.dumps(cut, ensure_ascii=False)
    return as_of(text, cutoff, opened=opened, kind=kind).text.strip()  # type: ignore[arg-type]


def cut_page(row: Any, cutoff: Cutoff, fields: tuple[str, ...]) -> tuple[Any, str | None]:
    """Cut later sentences from a row's texts; return the row and the reason to drop it whole, or None.

    Fields may lead through lists. A field ``url`` is an address, a field ``title`` speaks for the whole page. A text of which nothing
    is left reads like one that never was.
    """
    for name in fields:
        for text in _texts(row, name.split(".")):
            if _gives_away(name.rpartition(".")[2], text, cutoff):
                return row, LATER_PAGE
    bodies = [name.split(".") for name in fields if name.rpartition(".")[2] not in ("url", "title")]
    changed = row
    for parts in bodies:
        changed = _changed(changed, parts, cutoff)
    # of a page that says nothing else not even the title is told
    had, has = (any(text for parts in bodies for text in _texts(item, parts)) for item in (row, changed))
    if had and not has and len(bodies) < len(fields):
        return row, LATER_PAGE
    return changed, None


def _gives_away(kind: str, text: str, cutoff: Cutoff) -> bool:
    if kind == "url":
        return dated_later(text, cutoff)
    if kind == "title":
        return without_later(text, cutoff) != text.strip()
    return bool(_AGO.search(text))


def _texts(value: Any, parts: list[str]) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _texts(item, parts)
    elif parts and isinstance(value, dict):
        yield from _texts(value.get(parts[0]), parts[1:])
    elif not parts and isinstance(value, str):
        yield value


def _changed(value: Any, parts: list[str], cutoff: Cutoff) -> Any:
    if parts and isinstance(value, list):
        return [_changed(item, parts, cutoff) for item in value]
    if parts and isinstance(value, dict):
        return {**value, parts[0]: _changed(value.get(parts[0]), parts[1:], cutoff)}
    if isinstance(value, list):
        # an empty place would tell that something was written later
        return [
            item for item in (_changed(item, parts, cutoff) for item in value) if item is not None
        ] or None
    return (without_later(value, cutoff) or None) if isinstance(value, str) else value
