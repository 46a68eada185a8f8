"""Ask Google Trends through SearchApi; categories, and places under their former names, come from two shipped tables."""

from collections.abc import Mapping
from importlib import resources

import yaml

from proxies.catalogue.schema import Endpoint
from proxies.fetch.cache import RawAnswer
from proxies.json_text import Fields, Row
from proxies.vendors.base import HttpSource

# before every cutoff that anybody asks for
_BEGINNING = "1900-01-01"


class SearchApiSource(HttpSource):
    """SearchApi over HTTP; category and place codes from local tables."""

    async def fetch(self, endpoint: Endpoint, params: Fields) -> RawAnswer:
        """Return the raw answer; local tables need no key."""
        if endpoint.method == "LOCAL":
            return self.answer(read_table(endpoint.path.rpartition("_")[2]))
        return await super().fetch(endpoint, params)


def read_table(name: str) -> list[Row]:
    """Return the rows of a table, ``geo`` or ``categories``."""
    text = (resources.files("proxies.vendors") / "trends_tables.yml").read_text(encoding="utf-8")
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
