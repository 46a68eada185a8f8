"""Normalise addresses of pages, and find addresses hidden inside others (archives, redirects)."""

from __future__ import annotations

import ipaddress
import re
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList

#: Longest address that is looked at; browsers and servers end near 2,000.
MOST_CHARACTERS = 2000
_TRACKING = re.compile(
    r"(?:utm_\w+|fbclid|gclid|dclid|msclkid|yclid|igshid|mc_cid|mc_eid|_ga|ref_src|cmpid|ocid|smid|guccounter|__twitter_impression|amp)\Z",
    re.IGNORECASE,
)
_DOORS = re.compile(r"(?:www\d?|m|mobile|amp)\.(?=[^.]+\.)")
_INSIDE = re.compile(
    r"(?:https?:/{1,2}|https?%3a|(?<=[/=]))(?:[\w-]+\.)+[a-z]{2,24}(?=[/:?#&]|\Z)", re.IGNORECASE
)
# wrappers are wrapped in wrappers; what is quoted more often is nobody's address
_LAYERS = 3


def canonical_url(url: str) -> str:
    """Normalise an address so that equal pages are one result; "" for anything but http(s).

    Scheme, ``www.`` and ``m.``, default ports, fragments, tracking parameters, the order of parameters and a last slash say
    nothing about which page it is.

    >>> canonical_url("http://www.Example.com:80/a/?utm_source=x&b=2&a=1#top")
    'https://example.com/a?a=1&b=2'
    """
    parts = split(url)
    if parts is None:
        return ""
    host, path, query = parts
    while _DOORS.match(host):
        host = _DOORS.sub("", host, count=1)
    pairs = sorted(
        (name, value) for name, value in parse_qsl(query, keep_blank_values=True) if not _TRACKING.match(name)
    )
    path = re.sub(r"/(?:amp|index\.html?)/?\Z", "/", re.sub(r"/{2,}", "/", path))
    return urlunsplit(("https", host, path.rstrip("/"), urlencode(pairs), ""))


def split(url: str) -> tuple[str, str, str] | None:
    """Split an http(s) address into host, path and query; None for anything else, a user's name or no host."""
    if len(url) > MOST_CHARACTERS or re.search(r"[\x00-\x20\\]", url):
        return None
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    host = (parts.hostname or "").rstrip(".").lower()
    if parts.scheme.lower() not in ("http", "https") or not host or parts.username is not None:
        return None
    try:
        host = host.encode("idna").decode() if not host.isascii() else host
    except UnicodeError:
        return None
    return (host if port in (None, 80, 443) else f"{host}:{port}"), parts.path, parts.query


def host_of(url: str) -> str:
    """Return the host of an http(s) address in lower case, without its port; "" for anything else."""
    parts = split(url)
    return parts[0].partition(":")[0] if parts else ""


def is_public(url: str) -> bool:
    """Whether an address is on the open web: http(s), a name with a dot, no bare IP number."""
    host = host_of(url)
    if "." not in host or host.endswith((".local", ".internal", ".localhost")):
        return False
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return not re.fullmatch(r"[\d.]+|0x[\da-f.x]+", host)
    return False


def is_below(host: str, domain: str) -> bool:
    """Whether a host is a domain or one of its subdomains."""
    return host == domain or host.endswith("." + domain)


def hosts_inside(url: str) -> list[str]:
    """List the hosts inside an address's path and query, quoted or not, the outermost first.

    An archive, a cache, a translator or a link that redirects holds the page's own address in its own.

    >>> hosts_inside("https://web.archive.org/web/2024/https://polymarket.com/event/x")
    ['polymarket.com']
    >>> hosts_inside("https://r.example/go?u=https%3A%2F%2Fwww.kalshi.com%2Fmarkets")
    ['www.kalshi.com']
    """
    parts = split(url)
    if parts is None:
        return []
    hosts: dict[str, None] = {}
    text = f"{parts[1]}?{parts[2]}"
    for _ in range(_LAYERS):
        for match in _INSIDE.finditer(text):
            hosts[re.sub(r"(?i)^https?:/{1,2}", "", match[0]).lower()] = None
        plain = unquote(text)
        if plain == text:
            break
        text = plain
    return list(hosts)


def urls_in(text: str) -> list[str]:
    """Find the http(s) addresses in a text, without the full stop or bracket behind them."""
    return [match[0].rstrip(".,;:!?)]}>'\"") for match in re.finditer(r"https?://[^\s<>\"]{4,2000}", text)]


def registrable_domain(url: str) -> str:
    """Return the name that an owner registered, "" for no address of a named host; pages below one name have one owner.

    By the public suffix list, its private part included: each blog of a host of blogs has an owner of its own.

    >>> registrable_domain("https://edition.cnn.com/a"), registrable_domain("http://news.bbc.co.uk/b"), registrable_domain("http://10.0.0.1/")
    ('cnn.com', 'bbc.co.uk', '')
    """
    host = host_of(url)
    return "" if host.rpartition(".")[2].isdigit() else _public_suffixes().privatesuffix(host) or ""


@cache
def _public_suffixes() -> PublicSuffixList:
    from publicsuffixlist import PublicSuffixList  # reads 16,000 rows, which only outcomes by sources need

    return PublicSuffixList()
