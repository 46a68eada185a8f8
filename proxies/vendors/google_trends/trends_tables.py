"""Read the shipped tables of Google Trends: categories, and places under their former names."""

from collections.abc import Mapping
from importlib import resources
from typing import Any

import yaml

from proxies.json_text import Fields, Row

# before every cutoff that anybody asks for
_BEGINNING = "1900-01-01"


def read_table(name: str) -> list[Row]:
    """Return the rows of a table, ``geo`` or ``categories``."""
    text = (resources.files("proxies.vendors.google_trends") / "trends_tables.yml").read_text(
        encoding="utf-8"
    )
    tables: dict[str, Row] = yaml.safe_load(text)
    if name == "geo":
        return _places(tables["geo"], tables["renamed"])
    return [
        {"category_id": code, "category_description": words} for code, words in tables["categories"].items()
    ]


def _places(names: Mapping[str, str], renamed: Mapping[str, Mapping[str, str]]) -> list[Row]:
    rows = []
    for code, name in names.items():
        change = renamed.get(code)
        if change:
            rows.append(_named_place(code, change["before"], _BEGINNING, change["since"]))
        rows.append(_named_place(code, name, change["since"] if change else _BEGINNING, None))
    return rows


def _named_place(code: str, name: str, since: str, until: str | None) -> Row:
    days = {"since": since, "until": until, "reach": _BEGINNING}
    return {"geo_id": code, "geo_description": name, **days}


def pack_places(data: Any, params: Fields) -> Any:
    """Return codes and names; live without the names that ended."""
    return [
        {name: row[name] for name in ("geo_id", "geo_description")}
        for row in data
        if row.get("until") is None
    ]
