"""Addresses: one form for equal pages, and what is blocked whatever way leads there."""

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.search.blocked_places import (
    blocking_for,
    is_archive,
    unwrapped,
)
from workbench.search.engines import wikipedia_title, wikipedia_url
from workbench.search.quality import quality_of
from workbench.search.sites import QUALITIES, sites
from workbench.search.urls import canonical_url, host_of, is_public

words = st.text(alphabet="abcdefghijklmnopqrstuvwxyz0123456789-", min_size=1, max_size=12).filter(
    lambda w: w.strip("-") == w
)
hosts = st.lists(words, min_size=2, max_size=4).map(".".join).map(lambda host: f"{host}.org")


@given(hosts, st.lists(words, max_size=4), st.dictionaries(words, words, max_size=3))
def test_the_canonical_form_is_one_and_stays(host: str, path: list[str], query: dict[str, str]) -> None:
    pairs = "&".join(f"{name}={value}" for name, value in query.items())
    url = f"https://{host}/{'/'.join(path)}" + (f"?{pairs}" if pairs else "")
    canonical = canonical_url(url)
    assert canonical_url(canonical) == canonical
    for other in (
        url.replace("https://", "HTTP://www."), url.replace(host, host.upper()), f"{url}#top",
        f"{url}{'&' if pairs else '?'}utm_source=x&fbclid=1", url.replace(host, f"{host}:443"),
    ):  # fmt: skip
        assert canonical_url(other) == canonical


@given(st.text(max_size=60))
def test_no_text_is_an_error(text: str) -> None:
    for url in (text, f"https://{text}", f"https://x.org/{text}"):
        (
            canonical_url(url),
            host_of(url),
            is_public(url),
            quality_of(url),
            unwrapped(url),
            wikipedia_title(url),
        )
        blocking_for(["fred"], [text]).reason(url)
        blocking_for().query(text)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://x.org/",
        "javascript:alert(1)",
        "https://user:pw@x.org/",
        "https://x.org:99999/",
        "https://x y.org/",
        "//x.org",
        "https://x.org\\@polymarket.com/",
        "https:///a",
    ],
)
def test_what_is_no_address_of_the_web_has_no_form(url: str) -> None:
    assert canonical_url(url) == ""


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost/",
        "http://127.0.0.1/",
        "http://[::1]/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://printer.local/x",
        "http://10.0.0.5/a",
    ],
)
def test_no_machine_of_ones_own_is_a_page(url: str) -> None:
    assert not is_public(url) and blocking_for().reason(url)


TARGET = "https://polymarket.com/event/x"
WAYS = [
    TARGET, "https://www.polymarket.com/", "http://POLYMARKET.com:80/", "https://gamma-api.polymarket.com/events", "https://polymarket.com./event/x",
    f"https://web.archive.org/web/20240101/{TARGET}", f"https://web.archive.org/web/2024id_/{TARGET}", "https://web.archive.org/web/2024/polymarket.com/event/x",
    f"https://webcache.googleusercontent.com/search?q=cache:{TARGET}", f"https://r.jina.ai/{TARGET}", "https://12ft.io/polymarket.com/event/x",
    f"https://example.org/go?u={quote(TARGET, safe='')}", f"https://example.org/go?u={quote(quote(TARGET, safe=''), safe='')}",
    "https://www.google.com/url?q=https://polymarket.com/event/x&sa=D", "https://www.google.com/amp/s/polymarket.com/event/x",
    "https://polymarket-com.translate.goog/event/x?_x_tr_sl=en", "https://polymarket-com.cdn.ampproject.org/c/s/event",
    "https://duckduckgo.com/l/?uddg=https%3A%2F%2Fpolymarket.com%2Fx", "https://example.org/go?u=bit.ly/abc",
    "https://archive.ph/AbCdE", "https://bit.ly/abc", "https://t.co/abc", "https://news.google.com/rss/articles/CBM",
]  # fmt: skip
NEIGHBOURS = [
    "https://notpolymarket.com/a", "https://polymarket.com.example.org/a", "https://www.reuters.com/markets/polymarket-odds", "https://example.org/?q=polymarket",
    "https://web.archive.org/web/2024/https://www.bls.gov/cpi/", "https://bbc.co.uk/news/1", "https://rbit.ly.example.org/", "https://fred.stlouisfed.org/series/X",
]  # fmt: skip


@pytest.mark.parametrize("url", WAYS)
def test_every_way_to_a_blocked_site_is_blocked(url: str) -> None:
    assert blocking_for().reason(url)


@pytest.mark.parametrize("url", NEIGHBOURS)
def test_a_neighbour_is_not_blocked(url: str) -> None:
    assert blocking_for().reason(url) == ""


@pytest.mark.parametrize("source", sorted(sites().resolution))
def test_the_sites_of_a_source_are_blocked_for_its_questions(source: str) -> None:
    for site in sites().resolution[source]:
        assert blocking_for([source.upper()]).reason(f"https://sub.{site}/x")
        assert bool(blocking_for().reason(f"https://{site}/x")) == (site in sites().always_blocked)


def test_the_questions_own_address_is_blocked_with_what_lies_below_it_and_its_copies() -> None:
    blocking = blocking_for(
        texts=["Resolves by https://www.agency.org/data/cpi?utm_source=x. See (http://small.org)."]
    )
    for url in (
        "https://agency.org/data/cpi", "http://www.agency.org/data/cpi/", "https://agency.org/data/cpi/2024", "https://agency.org/data/cpi?page=2",
        "https://web.archive.org/web/2024/http://agency.org/data/cpi", "https://x.org/?u=https%3A%2F%2Fagency.org%2Fdata%2Fcpi", "https://small.org/any/page",
    ):  # fmt: skip
        assert blocking.reason(url), url
    for url in (
        "https://agency.org/data/cpi-u",
        "https://agency.org/data",
        "https://other.org/data/cpi",
        "https://notsmall.org/",
    ):
        assert blocking.reason(url) == "", url


def test_archives_are_unwrapped_and_known() -> None:
    assert unwrapped("https://web.archive.org/web/2024id_/https://x.org/a?b=1") == "https://x.org/a?b=1"
    assert unwrapped("https://web.archive.org/web/20240101000000/x.org/a") == "http://x.org/a"
    assert unwrapped("https://x.org/web/2024/y") == "https://x.org/web/2024/y"
    assert is_archive("https://archive.ph/x") and not is_archive("https://archive.example.org/x")
    assert all(host == host.lower() and "." in host for host in sites().shorteners)


@given(
    st.text(alphabet=st.characters(blacklist_categories=("Cs", "Cc")), min_size=1, max_size=40).filter(
        lambda t: t.strip() == t and "_" not in t and not set(t) & set("#?|[]{}<>")
    )
)
def test_an_articles_title_survives_its_address(title: str) -> None:
    plain = " ".join(title.split(" "))
    assert wikipedia_title(wikipedia_url(plain)) in (plain, plain.strip(), "") and (
        len(plain) > 30 or wikipedia_title(wikipedia_url(plain))
    )


@pytest.mark.parametrize(
    ("url", "quality"),
    [
        ("https://www.bls.gov/a", "primary"), ("https://www.gov.uk/x", "primary"), ("https://ec.europa.eu/x", "primary"), ("https://finances.gouv.fr/", "primary"),
        ("https://www.reuters.com/a", "wire"), ("https://www.bbc.co.uk/news", "press"), ("https://blogs.wsj.com/x", "blog"), ("https://www.ft.com/blog/x", "blog"),
        ("https://me.substack.com/p/x", "blog"), ("https://nobody.example/", "unknown"), ("https://fake-bls.gov.example.com/", "unknown"), ("https://reuters.com.evil.org/", "unknown"),
    ],
)  # fmt: skip
def test_the_class_of_a_source_follows_from_its_host(url: str, quality: str) -> None:
    assert quality_of(url) == quality and quality in QUALITIES
