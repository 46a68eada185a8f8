"""Declare the search engines: each an entry over an endpoint of the catalogue, whose as-of policy is layer 1.

An engine of one's own is an entry of this table and a YAML file of the catalogue.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from proxies.json_text import Fields, Row
from workbench.search.page_text import plain
from workbench.search.urls import host_of

if TYPE_CHECKING:
    from proxies.asof.clock import Cutoff
    from proxies.catalogue import Availability, Catalogue

#: Longest text of one result that is kept, in characters.
MOST_TEXT = 6000
_WIKIPEDIA = re.compile(r"https?://en\.(?:m\.)?wikipedia\.org/wiki/([^?#]{1,300})\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One result of an engine, on one line each; ``published`` is the engine's date, "" if it gives none."""

    url: str
    title: str
    published: str
    text: str
    engines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A query to an engine: cleaned words, number of results, and the first day that matters, as YYYY-MM-DD."""

    words: str
    count: int
    since: str

    @property
    def plain_words(self) -> str:
        """The words without quotes and signs, for engines that take signs for operators."""
        return " ".join(re.findall(r"[\w&'-]+", self.words))


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchEngine:
    """A search engine."""

    #: As people write it in ``--engines``.
    name: str
    #: The endpoint of the catalogue.
    path: str
    #: The call's parameters for a query.
    params: Callable[[Query], Row]
    #: The results in an answer's data.
    read: Callable[[Any], Iterator[Hit]]
    #: False: asked only where it is named.
    by_default: bool = True

    def hits(self, data: Any) -> list[Hit]:
        """Parse the results of an answer; those without address, title or text are left out."""
        return [
            replace(hit, engines=(self.name,)) for hit in self.read(data) if host_of(hit.url) and hit.title
        ]


def _hit(url: Any, title: Any, published: Any, *texts: Any) -> Hit:
    parts = [part for text in texts for part in (text if isinstance(text, list) else [text])]
    text = " … ".join(dict.fromkeys(plain(part) for part in parts if isinstance(part, str) and part))
    return Hit(
        url=url.strip() if isinstance(url, str) else "",
        title=plain(title)[:300] if isinstance(title, str) else "",
        published=published if isinstance(published, str) else "",
        text=text[:MOST_TEXT],
        engines=(),
    )


def _result_rows(data: Any, *keys: str) -> Iterable[Fields]:
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return [row for row in data if isinstance(row, dict)] if isinstance(data, list) else []


def _exa(data: Any) -> Iterator[Hit]:
    for row in _result_rows(data, "results"):
        yield _hit(row.get("url"), row.get("title"), row.get("publishedDate"), row.get("text") or row.get("highlights"))  # fmt: skip


def _brave(*keys: str) -> Callable[[Any], Iterator[Hit]]:
    def read(data: Any) -> Iterator[Hit]:
        for row in _result_rows(data, *keys):
            texts = row.get("description"), row.get("extra_snippets")
            yield _hit(row.get("url"), row.get("title"), row.get("page_age"), *texts)

    return read


def _wikipedia(data: Any) -> Iterator[Hit]:
    for row in _result_rows(data, "search"):
        title = row.get("title")
        if isinstance(title, str):
            yield _hit(wikipedia_url(title), title, "")


def _gdelt(data: Any) -> Iterator[Hit]:
    for row in _result_rows(data, "articles"):
        yield _hit(row.get("url"), row.get("title"), _spread_stamp(row.get("seendate")))


def _spread_stamp(digits: Any) -> str:
    match = (
        re.fullmatch(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z", digits) if isinstance(digits, str) else None
    )
    return "{}-{}-{}T{}:{}:{}Z".format(*match.groups()) if match else ""


def _sec(data: Any) -> Iterator[Hit]:
    for row in data if isinstance(data, list) else []:
        ciks, number, document = row.get("ciks"), row.get("adsh"), row.get("document")
        if not (isinstance(ciks, list) and ciks and isinstance(number, str) and isinstance(document, str)):
            continue
        folder = f"{str(ciks[0]).lstrip('0')}/{number.replace('-', '')}"
        about = row.get("file_description") or row.get("file_type") or ""
        yield _hit(
            f"https://www.sec.gov/Archives/edgar/data/{folder}/{quote(document)}",
            f"Form {row.get('form')} of company {ciks[0]}: {about or document}",
            row.get("file_date"),
            f"Period ending {row['period_ending']}." if row.get("period_ending") else "",
        )


def _named(content: str, published: str) -> Callable[[Any], Iterator[Hit]]:
    def read(data: Any) -> Iterator[Hit]:
        rows = (
            _result_rows(data, "results") if isinstance(data, dict) else _result_rows({"rows": data}, "rows")
        )
        for row in rows:
            yield _hit(row.get("url"), row.get("title"), row.get(published), row.get(content))

    return read


_ALL = (
    SearchEngine(name="exa", path="exa/search/search", read=_exa,
           params=lambda q: {"query": q.words, "numResults": min(q.count, 25)}),
    SearchEngine(name="brave", path="brave/web", read=_brave("web", "results"),
           params=lambda q: {"q": q.words, "count": 20, "extra_snippets": True}),
    SearchEngine(name="wikipedia", path="wikipedia/search", read=_wikipedia,
           params=lambda q: {"q": q.plain_words, "limit": 4}),
    SearchEngine(name="gdelt", path="gdelt/documents", read=_gdelt,
           params=lambda q: {"query": f"{q.plain_words} sourcelang:english", "startdatetime": q.since, "maxrecords": 50}),
    SearchEngine(name="sec", path="sec/search", read=_sec,
           params=lambda q: {"q": q.plain_words, "startdt": q.since}),
    SearchEngine(name="brave-news", path="brave/news", read=_brave("results"), by_default=False,
           params=lambda q: {"q": q.words, "count": 20, "extra_snippets": True}),
    SearchEngine(name="serper", path="serper/search", read=_named("snippet", "published"), by_default=False,
           params=lambda q: {"q": q.words, "num": min(2 * q.count, 40)}),
    SearchEngine(name="tavily", path="tavily/search", read=_named("content", "published"), by_default=False,
           params=lambda q: {"query": q.words, "max_results": 20, "start_date": q.since}),
    SearchEngine(name="searxng", path="searxng/search", read=_named("content", "publishedDate"), by_default=False,
           params=lambda q: {"q": q.words}),
)  # fmt: skip
#: By name, in the order in which they are asked and named.
ENGINES: Mapping[str, SearchEngine] = MappingProxyType({engine.name: engine for engine in _ALL})


def since(cutoff: Cutoff, days: int) -> str:
    """Return the first day of the window for engines that take one."""
    return (cutoff.last_visible_day - timedelta(days=days)).isoformat()


def usable_engines(catalogue: Catalogue, availability: Availability) -> tuple[str, ...]:
    """List the engines that work with the present keys, network and cutoff.

    Engines that are asked only by name are in it where a key was set for them: a key says that they are wanted.
    """
    names = []
    for engine in ENGINES.values():
        endpoint = catalogue.resolve(engine.path)
        keyed = endpoint.source.key is not None and engine.name != "brave-news"
        if (engine.by_default or keyed) and not availability.obstacle(endpoint):
            names.append(engine.name)
    return tuple(names)


def wikipedia_url(title: str) -> str:
    """Return the address of an article of the English Wikipedia."""
    return "https://en.wikipedia.org/wiki/" + quote(title.replace(" ", "_"), safe="/:(),'!*")


def wikipedia_title(url: str) -> str:
    """Parse the title from an address of the English Wikipedia; "" for any other address."""
    match = _WIKIPEDIA.match(url)
    return unquote(match[1]).replace("_", " ").strip() if match else ""
