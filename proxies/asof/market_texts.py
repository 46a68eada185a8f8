"""The texts of markets as of a cutoff, by one list of fields: for the broker, and for the door of questions."""

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import orjson

from proxies.asof.asof_text import as_of
from proxies.asof.clock import Cutoff, parse_day
from proxies.asof.later_text import REPEATED, dated_later

#: The texts of a market by the name of their field, each with the kind that `as_of` cuts it as: the one list for the broker, which cuts
#: them as they come from a venue, and for the door of questions, which cuts what it read of them out of a file. A ``label`` may also be
#: a list of labels; of an ``address`` and a ``slug`` all goes or nothing.
MARKET_TEXTS: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(("title", "question"), "title")
    | dict.fromkeys(
        ("subtitle", "sub_title", "yes_sub_title", "no_sub_title", "groupItemTitle", "outcomes"), "label"
    )
    | dict.fromkeys(("rules_primary", "rules_secondary", "description"), "text")
    | {"slug": "slug", "resolutionSource": "address", "image": "address", "icon": "address"}
)
# between the words of a slug, not inside a day
_HYPHEN = re.compile(r"(?<!\d)-|-(?!\d)")
# when a market was first published
_OPENED = ("createdAt", "created_time", "open_time", "startDate")


def cut_market(value: Any, cutoff: Cutoff, name: str = "", opened: str = "") -> Any:
    """A row of a venue with the texts of `MARKET_TEXTS` as of a cutoff, at any depth; an emptied one reads like one that never was."""
    if isinstance(value, dict):
        days = (str(value[field])[:10] for field in _OPENED if value.get(field))
        opened = next((day for day in days if parse_day(day)), opened)
        return {key: cut_market(item, cutoff, key, opened) for key, item in value.items()}
    if isinstance(value, list):
        return [cut_market(item, cutoff, name, opened) for item in value]
    if isinstance(value, str) and name in MARKET_TEXTS:
        return _market_text(value, MARKET_TEXTS[name], cutoff, opened) or None
    return value


@lru_cache(maxsize=REPEATED)
def _market_text(text: str, kind: str, cutoff: Cutoff, opened: str) -> str:
    match kind:
        case "address":
            return "" if dated_later(text, cutoff) else text
        case "slug":
            return "" if as_of(_HYPHEN.sub(" ", text), cutoff, kind="label").cut else text
        case "label" if text.startswith("["):
            try:
                labels = orjson.loads(text)
            except ValueError:
                labels = None
            if isinstance(labels, list):
                # the list runs beside those of tokens and prices, so that an emptied label keeps its place
                cut = [as_of(str(label), cutoff, opened=opened, kind="label").text for label in labels]
                return text if cut == labels else json.dumps(cut, ensure_ascii=False)
    return as_of(text, cutoff, opened=opened, kind=kind).text.strip()  # type: ignore[arg-type]
