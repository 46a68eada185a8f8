"""How deep the elements of a page are nested, without parsing it: what it will cost a parser, whose time grows with the square of that."""

import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass

_TAG = re.compile(r"<(/?)([a-z][a-z0-9:-]*)", re.IGNORECASE)
#: Elements that hold nothing, or end where the next of their kind begins.
ENDLESS = frozenset(
    ["br", "hr", "img", "input", "meta", "link", "col", "wbr", "p", "li", "dt", "dd", "td", "th", "tr", "thead", "tbody", "tfoot"]
)  # fmt: skip
#: Elements that a parser opens anew in every paragraph that follows.
_FORMATTING = frozenset(
    ["a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"]
)


@dataclass(frozen=True, slots=True)
class OpenElements:
    """After a tag: how many elements are open, how many of them format text, and whether the tag begins one."""

    depth: int
    formatting: int
    begins: bool


def open_elements(html: str, endless: Collection[str] = ENDLESS) -> Iterator[OpenElements]:
    """Count the open elements after each tag; those of ``endless`` are never open."""
    still_open: Counter[str] = Counter()
    depth = formatting = 0
    for match in _TAG.finditer(html):
        name = match[2].lower()
        if name not in endless and (not match[1] or still_open[name]):
            step = -1 if match[1] else 1
            still_open[name] += step
            depth += step
            formatting += step * (name in _FORMATTING)
        yield OpenElements(depth, formatting, not match[1])
