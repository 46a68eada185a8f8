"""Merge results of several engines into one list: equal pages once, the best match first.

Engines' own ranks are of today and are not looked at: the order follows from what may be seen alone, so that two worlds that agree
before the cutoff give the same list.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from workbench.search.engines import Hit
from workbench.search.quality import quality_of
from workbench.search.sites import QUALITIES
from workbench.search.urls import canonical_url, host_of

#: Results of one host among the first; more of them come behind all others.
PER_HOST = 3
# Weights beside how well the words fit, which is 1 at best: a second engine, and the class of the source.
_ENGINE = 0.05
_QUALITY = dict(zip(QUALITIES, (0.12, 0.08, 0.06, 0.0, 0.0), strict=True))
# Okapi BM25's usual constants
_K1, _B = 1.2, 0.75
_STOP = frozenset(
    ("a", "an", "the", "of", "in", "on", "at", "to", "for", "and", "or", "is", "are", "was", "were", "be", "will", "by", "with", "from", "as", "that", "this", "it", "its", "not", "than")
)  # fmt: skip


def merged(hits: Iterable[Hit]) -> list[Hit]:
    """Merge equal pages into one result: the longest text, the latest date (a text may have been written then), all engines.

    Pages are equal by their canonical address, or by host, title and day.
    """
    by_page: dict[str, Hit] = {}
    by_title: dict[tuple[str, str, str], str] = {}
    for hit in hits:
        page = canonical_url(hit.url)
        if not page:
            continue
        title = (host_of(page), " ".join(_terms(hit.title)), hit.published[:10])
        key = page if page in by_page else by_title.get(title, page)
        by_title.setdefault(title, key)
        earlier = by_page.get(key)
        by_page[key] = hit if earlier is None else _merged_hit(earlier, hit)
    return list(by_page.values())


def _merged_hit(first: Hit, second: Hit) -> Hit:
    longer = max(first, second, key=lambda hit: len(hit.text))
    return replace(
        first,
        text=longer.text,
        published=max(first.published, second.published),
        engines=tuple(dict.fromkeys((*first.engines, *second.engines))),
    )


def ranked(hits: Sequence[Hit], words: str) -> list[Hit]:
    """Rank results by BM25 over title and text, with at most three of a host in front.

    Ties go to the newer page, then by address.
    """
    documents = [Counter(_terms(f"{hit.title} {hit.title} {hit.text}")) for hit in hits]
    fits = _bm25(documents, dict.fromkeys(_terms(words)))
    best = max(fits, default=0.0) or 1.0

    def weight(place: int) -> float:
        hit = hits[place]
        return fits[place] / best + _ENGINE * (len(hit.engines) - 1) + _QUALITY[quality_of(hit.url)]

    places = sorted(range(len(hits)), key=lambda place: hits[place].url)
    places.sort(key=lambda place: hits[place].published, reverse=True)
    places.sort(key=lambda place: round(weight(place), 9), reverse=True)
    count: Counter[str] = Counter()
    front: list[Hit] = []
    behind: list[Hit] = []
    for place in places:
        host = host_of(hits[place].url)
        count[host] += 1
        (front if count[host] <= PER_HOST else behind).append(hits[place])
    return [*front, *behind]


def _bm25(documents: Sequence[Counter[str]], terms: Iterable[str]) -> list[float]:
    lengths = [sum(document.values()) for document in documents]
    mean = sum(lengths) / len(lengths) if lengths and sum(lengths) else 1.0
    scores = [0.0] * len(documents)
    for term in terms:
        holding = sum(term in document for document in documents)
        rarity = math.log(1 + (len(documents) - holding + 0.5) / (holding + 0.5))
        for place, document in enumerate(documents):
            if often := document.get(term, 0):
                norm = _K1 * (1 - _B + _B * lengths[place] / mean)
                scores[place] += rarity * often * (_K1 + 1) / (often + norm)
    return scores


def _terms(text: str) -> list[str]:
    words = re.findall(r"[^\W_]+", text.lower())
    return [
        word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
        for word in words
        if word not in _STOP
    ]
