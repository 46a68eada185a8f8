"""Nothing that a vendor adds inside an object gets out: a field nobody listed, and an object where a value is listed.

Both are planted in every answer of every endpoint, at any depth.
"""

import copy
import re
from collections.abc import Iterator
from typing import Any

import pytest

from proxies.asof import guards
from proxies.asof.clock import Cutoff
from proxies.catalogue import Endpoint, load_catalogue
from tests.fakes.upstream import Seen, Sent
from tests.proxies.two_worlds import told_if
from tests.proxies.worlds import ASKED

pytestmark = pytest.mark.usefixtures("one_loop")
CUT = Cutoff.parse("2021-03-15")
PLANT = "planted9inside"


def objects_in(value: Any) -> Iterator[dict[str, Any]]:
    """Every object of an answer."""
    if isinstance(value, dict):
        yield value
    for item in list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from objects_in(item)


def add_a_field(body: Any) -> None:
    """To every object a field that nobody listed, plain and with an object in it."""
    for item in list(objects_in(body)):
        item["unlisted"] = {"inside": PLANT, "list": [{"deep": PLANT}]}
        item["unlistedText"] = PLANT


def add_an_object(body: Any) -> None:
    """Every text and number of a row that tells something comes as an object, with that text and more in it."""
    for item in list(objects_in(body)):
        for name, value in item.items():
            if isinstance(value, str) and "earlyx" in value:
                item[name] = {"raw": value, "inside": PLANT, "list": [{"deep": PLANT}]}


def name_by_an_object(body: Any) -> None:
    """What a source writes into its answers as a name comes as an object."""
    for item in list(objects_in(body)):
        for name in {"market_ticker", "ticker", "event_ticker", "symbol", "removedTicker", "_id", "code"} & {
            *item
        }:
            item[name] = {"raw": item[name], "inside": PLANT}


def told(endpoint: Endpoint, plant: Any) -> tuple[str, bool]:
    """What is read of a world whose answers hold more, and whether they do."""
    changed = []

    def planted(seen: Seen, sent: Sent) -> Sent:
        if isinstance(sent.body, bytes):
            return sent
        body = copy.deepcopy(sent.body)
        plant(body)
        changed.append(body != sent.body)
        return Sent(body, sent.status, sent.headers)

    return told_if(endpoint, CUT, planted), any(changed)


#: Where names are data themselves, so that any may come: what bears them, and which names these are.
NAMES_ARE_DATA = {
    r"fmp/statements/segmentation/": "segments of a company, as it reports them",
    r"fmp/statements/as-reported/": "tags of a filing",
    r"dbnomics/(series|dataset-series|datasets)$": "dimensions of a dataset",
    r"kalshi/.*candlesticks$": "names that Kalshi's codec wrote",
    r"yfinance/(history|fundamentals)$": "names that Yahoo's codec wrote",
}


def any_name(endpoint: Endpoint) -> bool:
    return any(not item.keep for item in (*endpoint.as_of.nested, *endpoint.as_of.beside) if not item.stamp)


@pytest.mark.parametrize("plant", [add_a_field, add_an_object, name_by_an_object])
def test_what_nobody_listed_does_not_come_out_at_any_depth(plant: Any) -> None:
    for endpoint in ASKED:
        text, changed = told(endpoint, plant)
        if any_name(endpoint) and endpoint.source.name == "fmp":
            assert text.count(PLANT) == text.count(f'"inside":"{PLANT}"'), (
                "a name of its own and no object below it"
            )
            continue
        assert PLANT not in text, endpoint.path
        if plant is add_a_field and "wayback" not in endpoint.path:
            assert changed, endpoint.path
            # where names are data an object under a new one is no row, or one that cannot be read
            assert (
                "early" in text
                or re.match("SchemaDrift|CutoffRefused", text)
                or endpoint.path.endswith("vintagedates")
            )


def test_any_name_may_come_only_where_names_are_data() -> None:
    anything = {endpoint.path for endpoint in ASKED if any_name(endpoint) or endpoint.open_rows}
    listed = {pattern: {path for path in anything if re.match(pattern, path)} for pattern in NAMES_ARE_DATA}
    assert set().union(*listed.values()) == anything and all(listed.values())


GUARDS: dict[str, tuple[str, Any, str, Any]] = {
    "objects in a row": ("gt/google-trends/google_trends_overtime", add_a_field, "inside", lambda row, shape: row),
    "an object for a value": ("fmp/news/articles/news/stock-latest", add_an_object, "inside", lambda row, shape: row),
}  # fmt: skip


@pytest.mark.parametrize("guard", sorted(GUARDS))
def test_without_its_guard_what_nobody_listed_comes_out(guard: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path, plant, name, off = GUARDS[guard]
    endpoint = load_catalogue().resolve(path)
    assert PLANT not in told(endpoint, plant)[0]
    monkeypatch.setattr(guards, name, off)
    assert PLANT in told(endpoint, plant)[0]
