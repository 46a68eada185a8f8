"""Define an agent's view of the web: dated search results and pages that passed the four layers, each with an id."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPage:
    """One search result that an agent may see.

    ``id`` ("S3.2": third search, second result), url, title, ``published`` (ISO day or instant, or ""), ``text`` (snippet or stored
    text), engines that gave it, quality ("primary", "wire", "press", "blog", "unknown").
    """

    id: str
    url: str
    title: str
    published: str
    text: str
    engines: tuple[str, ...] = ()
    quality: str = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchAnswer:
    """Results of one search, best first.

    ``answers``: content hashes of the broker answers it rests on. ``failed``: engines that could not be asked, by name and reason.
    """

    words: str
    results: tuple[FoundPage, ...]
    answers: tuple[str, ...] = ()
    failed: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PageText:
    """A page as of the cutoff. ``source``: where the dated copy came from ("archive", "revision", "engine")."""

    id: str
    url: str
    title: str
    published: str
    text: str
    source: str
    answers: tuple[str, ...] = ()


class Web(Protocol):
    """The web of one leaf: search and pages as of the cutoff. Equal steps of a resumed leaf are answered from the ledger."""

    async def search(self, words: str, *, step: int, k: int = 10, retry: int = 0) -> SearchAnswer:
        """Return the results of a search, best first."""
        ...

    async def open_page(self, url: str, *, step: int, retry: int = 0) -> PageText:
        """Return a page; raises ``proxies.errors.ProxyError`` where there is no dated copy or the page is blocked."""
        ...
