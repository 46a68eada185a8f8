"""Cut the texts of markets as of a cutoff, by one list of fields, for the broker and for imported questions."""

import json
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import orjson

from proxies.asof.asof_text import as_of
from proxies.asof.clock import Cutoff, parse_day
from proxies.asof.later_text import REPEATED

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
