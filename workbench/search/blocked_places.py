"""Block (layer 4) the places where a question's answer can be read, whatever address leads there.

Blocked are the sites by which the question is resolved (a table per source of questions), prediction markets and collections of
resolved questions always, the addresses that the question itself names, and every way round them: subdomains, archives and caches
of them, translators, links that redirect there, and shorteners, which do not say where they lead.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import unquote

from workbench.search.sites import is_below_any, sites
from workbench.search.urls import canonical_url, host_of, hosts_inside, is_public, split, urls_in

_WAYBACK = re.compile(
    r"https?://(?:web|wayback)\.archive\.org/web/[0-9*]{1,14}[a-z_]{0,4}/(.+)\Z", re.IGNORECASE | re.DOTALL
)
_OPERATOR = re.compile(
    r"(?<!\w)-?(?:site|inurl|allinurl|cache|related|link|before|after|url|domain|host|daterange):\S*",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"(?:https?://|www\.)\S+", re.IGNORECASE)
#: Longest query that engines take.
MOST_QUERY = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocking:
    """The sites and pages that are blocked for one question."""

    #: Hosts, with all their subdomains.
    sites: frozenset[str]
    #: Canonical addresses, with all that lies below them.
    pages: frozenset[str] = frozenset()

    def reason(self, url: str) -> str:
        """Explain why an address is blocked, for the audit; "" if it is not. An agent is never told."""
        host = host_of(url)
        if not is_public(url):
            return "no address of the open web"
        if is_below_any(host, self.sites):
            return f"a site that tells outcomes ({host})"
        if host in sites().shorteners:
            return f"a short link of {host}, which does not say where it leads"
        if is_below_any(host, sites().opaque):
            return f"a copy at {host}, which does not say of which page"
        for inner in (*hosts_inside(url), *_hyphenated(host)):
            if is_below_any(inner.partition(":")[0], self.sites):
                return f"leads to a site that tells outcomes ({inner})"
            if inner in sites().shorteners:
                return f"leads to a short link of {inner}"
        return self._own_page(url)

    def _own_page(self, url: str) -> str:
        plain = _bare_address(unquote(unquote(url)))
        for page in self.pages:
            bare = _bare_address(page)
            # anywhere in the address, so that an archive's copy or a redirect to it counts too
            if re.search(rf"(?<![\w.-]){re.escape(bare)}(?![\w-])", plain):
                return "an address that the question names"
        return ""

    def query(self, words: str) -> str:
        """Strip a query of addresses, engines' operators and names of blocked sites."""
        plain = _OPERATOR.sub(" ", _ADDRESS.sub(" ", words))
        for site in self.sites:
            plain = re.sub(rf"(?<![\w.]){re.escape(site)}(?!\w)\S*", " ", plain, flags=re.IGNORECASE)
        return " ".join(plain.split())[:MOST_QUERY].strip()


def blocking_for(sources: Iterable[str] = (), texts: Iterable[str] = ()) -> Blocking:
    """List what is blocked for a question.

    `sources`: Where the question comes from (``polymarket``, ``fred``, ...); names that the table does not have block nothing more.

    >>> blocking_for(["fred"]).reason("https://fred.stlouisfed.org/series/UNRATE")
    'a site that tells outcomes (fred.stlouisfed.org)'
    >>> blocking_for().reason("https://www.reuters.com/markets/")
    ''
    """
    known = sites()
    resolving = {site for name in sources for site in known.resolution.get(name.strip().lower(), ())}
    pages = {canonical_url(url) for text in texts for url in urls_in(text)} - {""}
    # a bare host is a whole site
    whole_sites = {host_of(page) for page in pages if (split(page) or ("", "", ""))[1:] == ("", "")}
    return Blocking(
        sites=known.always_blocked | resolving | whole_sites,
        pages=frozenset(page for page in pages if host_of(page) not in whole_sites),
    )


def unwrapped(url: str) -> str:
    """Extract the page's own address from one of the Wayback Machine's; any other stays as it is."""
    match = _WAYBACK.match(url)
    if match is None:
        return url
    inner = match[1]
    return (
        inner if re.match(r"https?://", inner, re.IGNORECASE) else "http://" + re.sub(r"^https?:/", "", inner)
    )


def is_archive(url: str) -> bool:
    """Whether an address is an archive's or a cache's copy of a page."""
    return is_below_any(host_of(url), (*sites().archives, *sites().opaque))


def _bare_address(url: str) -> str:
    return re.sub(r"^https?:/{1,2}|(?<![\w.-])www\.", "", url, flags=re.IGNORECASE).lower()


def _hyphenated(host: str) -> list[str]:
    for end in sites().hyphenated:
        if host.endswith("." + end):
            label = host.removesuffix("." + end)
            # a doubled hyphen stands for one of the name's own
            return [label.replace("--", "\0").replace("-", ".").replace("\0", "-")]
    return []
