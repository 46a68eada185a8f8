"""Search the pages of own documents by BM25, counting only pages known at the cutoff.

A later document is no part of the collection, so it changes neither an order nor a score.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import bm25s
    import Stemmer

_WORD = re.compile(r"\w+")
#: Characters of a page that a result shows: the part with most of the words that were asked for.
EXCERPT = 600
#: Words of a question that count.
_MOST_WORDS = 60


class PageIndex:
    """The index of some pages."""

    def __init__(self, pages: Sequence[str]) -> None:
        # imported here: 0.3 s, which a process that searches nothing need not pay
        import bm25s
        import Stemmer

        self._stemmer: Stemmer.Stemmer = Stemmer.Stemmer("english")
        self._count = len(pages)
        self._index: bm25s.BM25 = bm25s.BM25(k1=1.2, b=0.75)
        # a page without a word is not taken by the library in every release
        self._index.index([self._stems(text) or ["\x00"] for text in pages], show_progress=False)

    def best(self, query: str, most: int) -> list[int]:
        """Return the places of the pages with a word of the question, best first; ties in the pages' own order."""
        stems = [stem for stem in self._query_stems(query) if stem in self._index.vocab_dict]
        if not stems or not self._count:
            return []
        scores = self._index.get_scores(stems)
        order = sorted(range(self._count), key=lambda place: (-float(scores[place]), place))
        return [place for place in order[:most] if scores[place] > 0]

    def excerpt(self, text: str, query: str) -> str:
        """Return the part of a page with most of the question's words, whole words only."""
        if len(text) <= EXCERPT:
            return text
        stems = set(self._query_stems(query))
        starts = [
            match.start() for match in _WORD.finditer(text) if stems.intersection(self._stems(match[0]))
        ]
        start = max(
            starts,
            key=lambda first: (sum(first <= start < first + EXCERPT for start in starts), -first),
            default=0,
        )
        start = 0 if start < 80 else text.rfind(" ", 0, start - 60) + 1
        end = start + EXCERPT
        cut = text[start:end] if end >= len(text) else text[start:end].rsplit(None, 1)[0]
        return ("... " if start else "") + cut.strip() + (" ..." if end < len(text) else "")

    def _stems(self, text: str) -> list[str]:
        stems: list[str] = self._stemmer.stemWords(_WORD.findall(text.casefold()))
        return stems

    def _query_stems(self, query: str) -> list[str]:
        return list(dict.fromkeys(self._stems(query)))[:_MOST_WORDS]
