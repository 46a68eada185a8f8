"""Parse a page into elements as browsers do (HTML5, by Lexbor), in plain objects for matching style rules."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from selectolax.lexbor import LexborHTMLParser, LexborNode

#: Elements nested deeper are not read, and elements past this number make a page unreadable: both bound the work.
DEEPEST, MOST_ELEMENTS = 10_000, 50_000
MOST_LOOKS, MOST_COPIES = 150_000_000, 2_000_000
_TAG = re.compile(r"<(/?)([a-z][a-z0-9:-]*)", re.IGNORECASE)
_ENDLESS = frozenset(
    [
        "br",
        "hr",
        "img",
        "input",
        "meta",
        "link",
        "area",
        "base",
        "col",
        "embed",
        "source",
        "track",
        "wbr",
        "param",
        "p",
        "li",
        "td",
        "th",
        "tr",
        "tbody",
        "thead",
        "tfoot",
        "dd",
        "dt",
        "option",
    ]
)
_FORMATS = frozenset(
    ["a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"]
)
_PICTURES = {"img", "picture", "video", "svg", "canvas", "object", "embed", "iframe"}
_NOSCRIPT = re.compile(r"<(/?)noscript(?=[\s/>])", re.IGNORECASE)
#: Elements whose content is no markup in every mode of the parser.
_RAW = ("noframes", "noembed", "iframe")


class PageTooLarge(ValueError):
    """A page whose visible text cannot be found within the bounds of work."""


@dataclass(slots=True, eq=False)
class Element:
    """An element: ``children`` are elements and texts in order; ``place`` counts elements from 1, ``place_of_type`` those of its tag."""

    tag: str
    attributes: dict[str, str]
    parent: Element | None
    before: Element | None
    place: int
    place_of_type: int
    depth: int
    id: str
    classes: tuple[str, ...]
    children: list[Element | str] = field(default_factory=list)
    #: Elements below it, by tag, and the last of them.
    tags: Counter[str] = field(default_factory=Counter)
    last: Element | None = None
    holds_picture: bool = False
    #: It has a shadow tree: with a slot (True) what stands in it is shown there, without (False) it is not.
    slotted: bool | None = None


@dataclass(frozen=True, slots=True)
class PageTree:
    """A page: its root, all elements in document order, and whether it is in quirks mode, where names ignore case."""

    root: Element
    elements: tuple[Element, ...]
    quirks: bool


def page_tree(html: str) -> PageTree:
    """Parse a page.

    Raises `PageTooLarge`: More elements than are read, or tags nested so deep that the parser itself would take too long.
    """
    _check_cost(html)
    parser = LexborHTMLParser(_as_with_scripts(html))
    node, quirks = parser.root, True
    if node is None:
        empty = Element("html", {}, None, None, 1, 1, 0, "", ())
        return PageTree(empty, (empty,), False)
    first = node.prev
    while first is not None:
        if first.tag == "-doctype":
            name = re.match(r"(?i)(?:\s|<!--.*?-->)*<!doctype\s+html\s*(>|system|public\s*[\"'][^\"']*(?:xhtml|4\.01))", html, re.DOTALL)  # fmt: skip
            quirks = name is None
        first = first.prev
    elements: list[Element] = []
    root = parent = _element(node, None, quirks)
    elements.append(root)
    # Not by recursion: a page may nest as deep as it likes.
    cursor = node.first_child
    while cursor is not None:
        below = None
        if cursor.is_text_node:
            parent.children.append(cursor.text_content or "")
        elif cursor.is_element_node:
            if len(elements) >= MOST_ELEMENTS:
                raise PageTooLarge("it has too many elements")
            element = _element(cursor, parent, quirks)
            shadow = element.attributes.get("shadowrootmode", "").lower()
            if element.tag == "template" and shadow in ("open", "closed"):
                parent.slotted = "<slot" in (cursor.html or "").lower()
            elements.append(element)
            below = cursor.first_child if element.depth < DEEPEST else None
            if below is not None:
                parent = element
        if below is None:
            while cursor is not None and cursor.next is None:
                cursor = cursor.parent
                if cursor is None or parent is root:
                    cursor = None
                    break
                assert parent.parent is not None
                parent = parent.parent
            below = cursor.next if cursor is not None else None
        cursor = below
    return PageTree(root, tuple(elements), quirks)


def _element(node: LexborNode, parent: Element | None, quirks: bool) -> Element:
    tag = (node.tag or "").lower()
    attributes = {name.lower(): value or "" for name, value in node.attributes.items()}
    identity, classes = attributes.get("id", ""), attributes.get("class", "")
    if quirks:
        identity, classes = identity.lower(), classes.lower()
    before = parent.last if parent is not None else None
    element = Element(
        tag, attributes, parent, before, before.place + 1 if before else 1, parent.tags[tag] + 1 if parent else 1,
        parent.depth + 1 if parent else 0, identity, tuple(classes.split()),
    )  # fmt: skip
    if parent is not None:
        parent.tags[tag] += 1
        parent.last = element
        parent.children.append(element)
        above: Element | None = parent
        while tag in _PICTURES and above is not None and not above.holds_picture:
            above.holds_picture = True
            above = above.parent
    return element


def _as_with_scripts(html: str) -> str:
    """Rewrite ``noscript`` so that its content is no markup, as in a browser with scripts; the parser has no such mode."""
    lower = html.lower()
    if "<noscript" not in lower and "</noscript" not in lower:
        return html
    name = next((name for name in _RAW if name not in lower), None)
    if name is None:
        raise PageTooLarge("what its noscript elements hold cannot be known")
    return _NOSCRIPT.sub(rf"<\1{name}", html)


def _check_cost(html: str) -> None:
    """Refuse markup that costs the parser too much: it walks the open elements at every tag, and reopens unclosed formatting in every paragraph."""
    still_open: Counter[str] = Counter()
    depth = formats = looks = copies = 0
    for match in _TAG.finditer(html):
        tag = match[2].lower()
        looks += depth
        copies += formats
        if tag in _ENDLESS or (match[1] and not still_open[tag]):
            continue
        step = -1 if match[1] else 1
        still_open[tag] += step
        depth += step
        if tag in _FORMATS:
            formats += step
    if looks > MOST_LOOKS or copies > MOST_COPIES:
        raise PageTooLarge("its markup is nested too deep")
