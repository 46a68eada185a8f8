"""Classify a source by its address: primary, wire, press, blog, unknown. The class orders results and says nothing about truth."""

from __future__ import annotations

import re

from workbench.search.sites import Quality, is_below_any, sites
from workbench.search.urls import host_of

_OFFICIAL = re.compile(r"(?:\A|\.)(?:gov|mil|gouv|gob|govt|gc)(?:\.[a-z]{2})?\Z")
_BLOG_PATH = re.compile(r"https?://[^/]+/blogs?/|https?://blogs?\.", re.IGNORECASE)


def quality_of(url: str) -> Quality:
    """Classify the source of an address.

    >>> quality_of("https://www.bls.gov/cpi/"), quality_of("https://me.substack.com/p/x"), quality_of("https://a.example/")
    ('primary', 'blog', 'unknown')
    """
    host, known = host_of(url), sites().quality
    # a paper's own blog is a blog
    if is_below_any(host, known["blog"]) or _BLOG_PATH.match(url):
        return "blog"
    if _OFFICIAL.search(host):
        return "primary"
    return next((name for name, hosts in known.items() if is_below_any(host, hosts)), "unknown")
