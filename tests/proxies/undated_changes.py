"""Undated changes, made from a catalogue row's own fields: what a vendor alters without a day that a filter could read.

`CHANGES` makes each of them on the raw answer of an emulated vendor, `possible` says of which rows a vendor can make it, and
`KEPT` where its own record rules it out. `differs` compares what is read before and after. The catalogue's `open_to` must name
just those that are possible and show (test_closed_list.py).
"""

import copy
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any, get_args

from proxies.asof.clock import Cutoff
from proxies.catalogue import Endpoint
from proxies.catalogue.schema import Undated
from tests.fakes.upstream import Seen, Sent
from tests.fakes.upstream_world import World
from tests.proxies.two_worlds import NONE, told_if
from tests.proxies.worlds import shown_fields, texts_of

ALL: tuple[Undated, ...] = get_args(Undated)
#: Fields by which a row is called, and those by which a search asks.
NAMES = [
    "name",
    "title",
    "label",
    "companyName",
    "series_name",
    "registrantName",
    "entityName",
    "shortname",
    "shortName",
]
#: What a vendor's own record rules out: endpoints, changes, why it is believed.
KEPT: tuple[tuple[str, tuple[Undated, ...], str], ...] = (
    (r"fred/", ("restated",), "FRED keeps every vintage of a figure"),
    (r"fred/.*(series|dates|releases|children|related|categories|release|observations)$", ("ranked",), "FRED lists by id or by day"),
    (r"sec/", ("restated", "removed"), "EDGAR keeps what was filed"),
    (r"fred/(categories/category|series/series(/observations|/release)?)$", ("added", "ranked"), "one thing, or figures with their vintage"),
    (r"kalshi/(.*candlesticks|trades)$", ("restated",), "an exchange's record of its trades"),
    (r"kalshi/", ("removed",), "an exchange keeps its markets: settled ones move to the archive"),
    (r"polymarket/(.*prices-history|trades)$", ("restated", "removed"), "trades lie on a public chain"),
    (r"wikipedia/(page|sections|revisions)$", ("renamed",), "a page is found under its title of then"),
    (r"wikipedia/pageviews$", ("restated", "removed"), "views are counted once"),
    (r"wayback/", ("restated",), "a copy never changes"),
    (r"dbnomics/release$", ("restated", "removed", "renamed"), "an edition stays as it came out"),
    (r"fmp/economics/treasury-rates$", ("restated", "removed"), "the Treasury does not revise its par yields"),
    (r"fmp/commitment-of-traders/.*analysis$", ("restated", "removed", "renamed"), "the CFTC's reports stand as published"),
    (r"gt/.*(time|by_|queries)", ("restated", "removed", "renamed"), "search interest is measured anew for each question: rescaled"),
)  # fmt: skip
#: What vendors keep for some time only.
EXPIRES = ("yfinance/fundamentals", "yfinance/history", "yfinance/news")


def rows_in(value: Any) -> Iterator[tuple[Any, Any]]:
    """Where in a raw answer the rows lie that were there before the cutoff: what holds each, and its place in it."""
    places = enumerate(value) if isinstance(value, list) else value.items() if isinstance(value, dict) else ()
    for place, item in list(places):
        if _is_row(item, deep=isinstance(value, list)):
            yield value, place
        else:
            yield from rows_in(item)


def _is_row(value: Any, *, deep: bool) -> bool:
    if isinstance(value, dict):
        # a row whose token lies in a list of its own holds rows itself
        return any(
            (isinstance(item, str) and "earlyx" in item)
            or (deep and isinstance(item, dict) and _is_row(item, deep=True))
            for item in value.values()
        )
    return (
        deep
        and isinstance(value, str)
        and ("earlyx" in value or bool(re.fullmatch(r"20[01]\d-\d\d-\d\d", value)))
    )


def _used(endpoint: Endpoint) -> set[str]:
    """Every word in a row's as-of arguments: a field that a policy reads is no mere value."""
    dated = [item.model_dump() for item in endpoint.as_of.nested if item.stamp]
    read = endpoint.as_of.model_dump() | {"keep": None, "drop": None, "nested": dated}
    return set(re.findall(r"\w+", str(read)))


_IDENTITIES = re.compile(
    r"(?i)date|time|period|year$|quarter$|^month$|id$|^id|symbol|ticker|cik|code|slug|url|link|created|^x$|realtime|known|quoteType|currency|^is[A-Z]|isin|cusip"
)


def value_field(endpoint: Endpoint) -> str:
    """A shown field of a row that is neither its date nor its name: what a vendor restates; "" if there is none."""
    used = _used(endpoint)
    return next(
        (
            name
            for name in shown_fields(endpoint)
            if name not in used and name not in NAMES and not _IDENTITIES.search(name) and "." not in name
        ),
        "",
    )


def name_field(endpoint: Endpoint) -> str:
    """The field by which a row is called, shown or not; "" if it has none."""
    return next((name for name in NAMES if name in endpoint.fields or name in endpoint.as_of.drop), "")


def is_search(endpoint: Endpoint) -> bool:
    """Whether a vendor chooses by relevance which rows it gives."""
    engine = endpoint.source.name in ("brave", "exa", "searxng", "serper", "tavily")
    by_words = re.search(r"search|lookup|autocomplete", endpoint.path.rpartition("/")[2])
    return engine or bool(
        by_words and endpoint.as_of.policy in ("strip_fields", "search_date_filter", "revision_at", "vintage")
    )


def goes_by_ticker(endpoint: Endpoint) -> bool:
    """Whether shares and funds are asked for, or told, by ticker; futures traders' positions go by contract, SEC EDGAR by number."""
    if endpoint.source.name not in ("fmp", "yfinance", "msd") or "commitment-of-traders" in endpoint.path:
        return False
    bears = {"symbol", "removedTicker"} & set(endpoint.fields) and endpoint.as_of.policy != "static"
    return bool({"symbol", "symbols", "ticker", "tickers"} & set(endpoint.params) or bears)


def possible(change: Undated, endpoint: Endpoint) -> bool:
    """Whether a change can be made to an endpoint's rows and nothing in the vendor's record rules it out."""
    kept = any(change in changes and re.match(path, endpoint.path) for path, changes, _ in KEPT)
    return not kept and can_be_made(change, endpoint)


def can_be_made(change: Undated, endpoint: Endpoint) -> bool:
    """Whether rows of this kind have what a change is made to."""
    as_of = endpoint.as_of
    dated = as_of.stamp or any(item.stamp for item in as_of.nested) or as_of.first
    undated = as_of.policy in ("static", "vintage") or (as_of.policy == "strip_fields" and not dated)
    return {
        "restated": bool(value_field(endpoint) or texts_of(endpoint)),
        "removed": True,
        # what bears a date comes in the order of its dates
        "ranked": is_search(endpoint) or undated,
        # a list that ends by the vendor's word before all of it was given, unless the request ends it at the cutoff
        "capped": is_search(endpoint) or (endpoint.page.last > 0 and not (as_of.window and as_of.window.end)),
        "expired": endpoint.path in EXPIRES,
        # of figures that are scaled by splits: test_law_of_splits.py
        "rescaled": as_of.policy == "window_end",
        "added": undated or as_of.spell is not None,
        # the title of a text is part of the text
        "renamed": (
            bool(name_field(endpoint)) or (is_search(endpoint) and as_of.policy != "search_date_filter")
        )
        and not texts_of(endpoint)
        and as_of.policy != "search_date_filter",
        "ticker": goes_by_ticker(endpoint) and not is_search(endpoint),
    }[change]


def _restate(endpoint: Endpoint, body: Any) -> None:
    texts = [name for name in texts_of(endpoint) if name.rpartition(".")[2] not in ("url", "title")]
    field = value_field(endpoint)
    for rows, place in rows_in(body):
        row = rows[place]
        if isinstance(row, dict) and texts:
            for name in texts:
                _write(row, name.replace("[]", "").split("."))
        elif isinstance(row, dict) and field and (field in row or _is_own_row(endpoint, row)):
            row[field] = 7.5
        else:
            # rows as parallel lists, an object inside a row, a plain value
            rows[place] = _retold(row, 7)


def _is_own_row(endpoint: Endpoint, row: Any) -> bool:
    """Whether a row is one of the endpoint's own, and not an object that holds them or lies in one."""
    holds = any(isinstance(item, (dict, list)) for item in row.values())
    return not holds and bool(row.keys() & {*shown_fields(endpoint), "surprise"})


def _write(row: Any, path: list[str]) -> None:
    if isinstance(row, list):
        for item in row:
            _write(item, path)
    elif len(path) > 1 and path[0] in row:
        _write(row[path[0]], path[1:])
    else:
        row[path[-1]] = "As restated since."


def _rename(endpoint: Endpoint, body: Any) -> None:
    if is_search(endpoint):
        # it is found by its name of today
        return _remove(endpoint, body)
    name = name_field(endpoint)
    for rows, place in rows_in(body):
        if isinstance(rows[place], dict):
            rows[place][name] = "A name of today"
    _named(body, name)


def _named(value: Any, name: str) -> None:
    """Renames what holds a name beside its rows."""
    if isinstance(value, dict) and name in value:
        value[name] = "A name of today"
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _named(item, name)


def _remove(endpoint: Endpoint, body: Any) -> None:
    for rows, place in rows_in(body):
        if isinstance(rows[place], str) and isinstance(rows, list):
            _drop_column(body, len(rows), place)
        else:
            del rows[place]
        return


def _drop_column(value: Any, length: int, place: int) -> None:
    """Of parallel lists the elements at one place."""
    if (
        isinstance(value, list)
        and len(value) == length
        and not any(isinstance(item, (dict, list)) for item in value)
    ):
        del value[place]
        return
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _drop_column(item, length, place)


def _rerank(endpoint: Endpoint, body: Any) -> None:
    for rows in {id(rows): rows for rows, _ in rows_in(body) if isinstance(rows, list)}.values():
        rows.reverse()
    if is_search(endpoint):
        # of more hits than the vendor gives others come first
        _remove(endpoint, body)


def _add(endpoint: Endpoint, body: Any) -> None:
    for rows, place in rows_in(body):
        if isinstance(rows, list):
            rows.append(_retold(rows[place], 8))
        return


def _retold(value: Any, digit: int) -> Any:
    if isinstance(value, dict):
        return {key: _retold(item, digit) for key, item in value.items()}
    if isinstance(value, list):
        return [_retold(item, digit) for item in value]
    return value.replace("earlyx0", f"earlyx{digit}") if isinstance(value, str) else value


def _new_ticker(endpoint: Endpoint, body: Any) -> None:
    if {"symbol", "symbols", "ticker", "tickers"} & set(endpoint.params):
        while next(rows_in(body), None) is not None:
            _remove(endpoint, body)
        return
    name = next(name for name in ("symbol", "removedTicker") if name in endpoint.fields)
    for rows, place in rows_in(body):
        rows[place][name] = "TODAY"


#: A change of a raw answer, in place.
ALTER: dict[Undated, Callable[[Endpoint, Any], None]] = {
    "restated": _restate, "removed": _remove, "ranked": _rerank, "capped": _remove, "expired": _remove, "rescaled": _restate,
    "added": _add, "renamed": _rename, "ticker": _new_ticker,
}  # fmt: skip


def told(endpoint: Endpoint, cutoff: Cutoff, change: Undated | None) -> tuple[str, bool]:
    """What is read of a world that ends at the cutoff, with a change of its raw answers; whether there was one."""
    changed = []

    def altered(seen: Seen, sent: Sent) -> Sent:
        if not _is_own(endpoint, seen):
            return sent
        if change == "capped" and not is_search(endpoint):
            changed.append(True)
            return _pages_of_later_rows(endpoint, cutoff, seen)
        none = NONE.get(endpoint.path) or NONE.get(endpoint.source.name) or Sent([])
        if isinstance(sent.body, bytes):
            changed.append(change is not None)
            return none if change else sent
        # an answer may be one row
        body: Any = {"": copy.deepcopy(sent.body)}
        found = list(rows_in(body))
        if len(found) == 1 and isinstance(found[0][0], list) and possible("added", endpoint):
            # a list of one has no order
            found[0][0].append(_retold(found[0][0][0], 5))
        before = copy.deepcopy(body)
        if change:
            ALTER[change](endpoint, body)
            changed.append(body != before)
            if found and next(rows_in(body), None) is None:
                return none
        return Sent(body[""], sent.status, sent.headers)

    return told_if(endpoint, cutoff, altered), any(changed)


def shows(endpoint: Endpoint, cutoff: Cutoff, change: Undated, before: str) -> bool:
    """Whether an agent reads a change of the raw answers, which it must be."""
    text, changed = told(endpoint, cutoff, change)
    assert changed, f"{change} changes nothing in what {endpoint.source.name} answers"
    return text != before


def _pages_of_later_rows(endpoint: Endpoint, cutoff: Cutoff, seen: Seen) -> Sent:
    """A full page of a list whose rows of before the cutoff lie behind the last page that the vendor gives."""
    later = World(cutoff.instant, [cutoff.instant + timedelta(days=400)], [])
    later.path, later.fields = endpoint.path, shown_fields(endpoint)
    # the world itself knows one page
    plain = {name: text for name, text in seen.query.items() if name not in ("page", "offset")}
    return Sent(
        later.answer(replace(seen, query=plain)).body * int(seen.query.get(endpoint.page.size) or 100)
    )


def _is_own(endpoint: Endpoint, seen: Seen) -> bool:
    """Whether an upstream call is for the endpoint's rows, and not a look-up that dates them."""
    if endpoint.source.name == "fmp":
        tail = re.sub(r"\{.*", "", endpoint.url).strip("/").rpartition("/")[2]
        return tail in seen.path and seen.query.get("from", "1950-01-01") == "1950-01-01"
    return "/fmp/" not in seen.path
