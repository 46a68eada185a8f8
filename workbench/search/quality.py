"""Classify a source by its address: primary, wire, press, blog, unknown. The class orders results and says nothing about truth."""

from __future__ import annotations

import re
from typing import Literal

from workbench.search.urls import host_of, is_below

Quality = Literal["primary", "wire", "press", "blog", "unknown"]
#: From the nearest to the event to the farthest from it.
QUALITIES: tuple[Quality, ...] = ("primary", "wire", "press", "blog", "unknown")

_PRIMARY = (
    "europa.eu", "who.int", "un.org", "imf.org", "worldbank.org", "oecd.org", "bis.org", "wto.org", "iea.org", "opec.org", "nato.int",
    "stlouisfed.org", "newyorkfed.org", "frbsf.org", "chicagofed.org", "clevelandfed.org", "bankofengland.co.uk", "bundesbank.de",
    "ecb.int", "boj.or.jp", "rba.gov.au", "snb.ch", "riksbank.se", "norges-bank.no", "bankofcanada.ca", "destatis.de", "insee.fr",
    "istat.it", "ismworld.org", "conference-board.org", "cmegroup.com", "nyse.com", "nasdaq.com", "bls.gov", "legislation.gov.uk",
    "parliament.uk", "bundestag.de", "icj-cij.org", "supremecourt.uk", "wmo.int", "ipcc.ch",
)  # fmt: skip
_WIRE = (
    "reuters.com", "apnews.com", "afp.com", "upi.com", "dpa.com", "efe.com", "ansa.it", "kyodonews.net", "yna.co.kr", "pti.in", "xinhuanet.com",
    "tass.com", "interfax.com", "dowjones.com", "mni-news.com", "prnewswire.com", "businesswire.com", "globenewswire.com", "accesswire.com",
)  # fmt: skip
_PRESS = (
    "nytimes.com", "washingtonpost.com", "wsj.com", "ft.com", "economist.com", "bloomberg.com", "cnbc.com", "bbc.com", "bbc.co.uk", "theguardian.com",
    "thetimes.com", "telegraph.co.uk", "independent.co.uk", "sky.com", "cnn.com", "nbcnews.com", "abcnews.go.com", "cbsnews.com", "foxnews.com", "npr.org",
    "pbs.org", "politico.com", "politico.eu", "axios.com", "thehill.com", "latimes.com", "usatoday.com", "time.com", "newsweek.com", "theatlantic.com",
    "forbes.com", "fortune.com", "businessinsider.com", "marketwatch.com", "barrons.com", "investing.com", "lemonde.fr", "lefigaro.fr", "lesechos.fr",
    "liberation.fr", "spiegel.de", "faz.net", "sueddeutsche.de", "zeit.de", "handelsblatt.com", "tagesschau.de", "nzz.ch", "elpais.com", "elmundo.es",
    "corriere.it", "repubblica.it", "asahi.com", "nikkei.com", "japantimes.co.jp", "scmp.com", "straitstimes.com", "timesofindia.indiatimes.com",
    "thehindu.com", "aljazeera.com", "haaretz.com", "timesofisrael.com", "abc.net.au", "smh.com.au", "afr.com", "cbc.ca", "theglobeandmail.com", "dw.com",
    "france24.com", "euronews.com", "kyivindependent.com", "themoscowtimes.com", "globo.com", "nature.com", "science.org", "statnews.com", "techcrunch.com",
    "theverge.com", "arstechnica.com", "wired.com",
)  # fmt: skip
_BLOG = (
    "blogspot.com", "wordpress.com", "medium.com", "substack.com", "tumblr.com", "reddit.com", "x.com", "twitter.com", "facebook.com",
    "linkedin.com", "quora.com", "youtube.com", "tiktok.com", "instagram.com", "seekingalpha.com", "zerohedge.com", "ghost.io", "github.io",
    "livejournal.com", "stackexchange.com", "news.ycombinator.com", "telegram.org", "discord.com", "mirror.xyz", "lesswrong.com",
)  # fmt: skip
_OFFICIAL = re.compile(r"(?:\A|\.)(?:gov|mil|gouv|gob|govt|gc)(?:\.[a-z]{2})?\Z")
_BLOG_PATH = re.compile(r"https?://[^/]+/blogs?/|https?://blogs?\.", re.IGNORECASE)


def quality_of(url: str) -> Quality:
    """Classify the source of an address.

    >>> quality_of("https://www.bls.gov/cpi/"), quality_of("https://me.substack.com/p/x"), quality_of("https://a.example/")
    ('primary', 'blog', 'unknown')
    """
    host = host_of(url)
    # a paper's own blog is a blog
    if _is_below_any(host, _BLOG) or _BLOG_PATH.match(url):
        return "blog"
    if _OFFICIAL.search(host) or _is_below_any(host, _PRIMARY):
        return "primary"
    if _is_below_any(host, _WIRE):
        return "wire"
    return "press" if _is_below_any(host, _PRESS) else "unknown"


def _is_below_any(host: str, sites: tuple[str, ...]) -> bool:
    return any(is_below(host, site) for site in sites)
