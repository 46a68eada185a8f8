"""Extract the visible text of HTML and wikitext in bounded work and length.

Scripts, comments, descriptions of pictures and what the page's own style hides are left out: late facts and instructions to models
hide there. What stays is text and never becomes markup, a link or an instruction of ours again. What is not looked at stands
in SECURITY.md, 14.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape

from workbench.quoting import seen
from workbench.search.page.computed_style import Style
from workbench.search.page.page_tree import Element, PageTooLarge, PageTree, page_tree
from workbench.search.page.visibility import PageStyle

#: Characters of a page that are read, and of its text that are given back.
MOST_HTML, MOST_TEXT = 600_000, 200_000
_BLOCKS = {
    "p", "div", "br", "li", "ul", "ol", "tr", "table", "h1", "h2", "h3", "h4", "h5", "h6", "section", "article", "main", "blockquote", "pre",
    "dt", "dd", "dl", "td", "th", "figure", "figcaption", "header", "hr", "summary", "details", "center", "address", "hgroup",
}  # fmt: skip
# never shown; what stands around an article (navigation, footers, forms) says nothing about it
_GONE = {
    "noscript", "template", "svg", "annotation", "annotation-xml", "object", "select", "button", "nav", "footer", "aside", "video", "audio", "canvas",
    "head", "datalist", "script", "style", "title", "textarea", "iframe", "noembed", "noframes", "option", "optgroup", "rp", "progress", "meter",
    "applet", "frameset",
}  # fmt: skip
# a form that holds one of these is the frame of the whole page
_OF_AN_ARTICLE = {"h1", "article", "main"}
_REFRESH = re.compile(r"url\s*=\s*[\"']?([^\"'>\s]{1,1000})", re.IGNORECASE)
_RAW_MARKUP = ("noscript", "noframes", "noembed")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadableText:
    """The readable part of a page: its title, its text, and the addresses that it redirects to or names as its own.

    ``refused`` says why there is no text though there is a page: what it hides cannot be told within the bounds of work.
    """

    title: str
    text: str
    leads_to: tuple[str, ...] = ()
    refused: str = ""


def readable(html: str) -> ReadableText:
    """Extract the readable text of a page.

    >>> readable("<title>A</title><style>.x {display: none}</style><p>Seen.<p class=x>Not seen.<!-- nor this --><img alt='nor that'>").text
    'Seen.'
    """
    try:
        tree = page_tree(html[:MOST_HTML])
        text = _lines("".join(_shown(tree)))[:MOST_TEXT]
    except PageTooLarge as refusal:
        return ReadableText(title="", text="", refused=str(refusal))
    title = next((item for item in tree.elements if item.tag == "title" and item.parent and item.parent.tag != "svg"), None)  # fmt: skip
    return ReadableText(
        title=" ".join(seen(_own_text(title)).split())[:300] if title else "",
        text=text,
        leads_to=tuple(dict.fromkeys(_leads(tree))),
    )


def plain(text: str) -> str:
    """Reduce a snippet or title to one line without tags, entities, control and unseen characters."""
    return " ".join(seen(unescape(re.sub(r"<[^<>]{0,300}>", "", text))).split())


def _shown(tree: PageTree) -> Iterator[str]:
    styles = PageStyle(tree)
    # elements that are open, each with its style and what is still to be looked at in it; not by recursion, as a page nests at will
    waiting = [(tree.root, style := styles.of(tree.root, Style()), iter(_read_children(tree.root, style)))]
    while waiting:
        element, style, children = waiting[-1]
        child = next(children, None)
        if child is None:
            waiting.pop()
            if element.tag in _BLOCKS:
                yield "\n"
        elif isinstance(child, str):
            if style.shown:
                yield child
        else:
            inner = styles.of(child, style)
            if child.tag in _BLOCKS:
                yield "\n"
            waiting.append((child, inner, iter(_read_children(child, inner))))


def _read_children(element: Element, style: Style) -> list[Element | str]:
    if style.hidden or element.tag in _GONE or element.slotted is False:
        return []
    if element.attributes.get("aria-hidden", "").strip().lower() == "true":
        return []
    if element.tag == "form" and not _holds(element, _OF_AN_ARTICLE):
        return []
    if element.tag == "details" and "open" not in element.attributes:
        summary = next((item for item in element.children if isinstance(item, Element) and item.tag == "summary"), None)  # fmt: skip
        return [summary] if summary is not None else []
    return element.children


def _holds(element: Element, tags: set[str]) -> bool:
    waiting = [element]
    while waiting:
        item = waiting.pop()
        if tags & item.tags.keys():
            return True
        waiting += [child for child in item.children if isinstance(child, Element)]
    return False


def _own_text(element: Element) -> str:
    return "".join(child for child in element.children if isinstance(child, str))


def _leads(tree: PageTree) -> Iterator[str]:
    raw = []
    for element in tree.elements:
        attributes = element.attributes
        if element.tag == "meta" and attributes.get("http-equiv", "").strip().lower() == "refresh":
            yield from _REFRESH.findall(attributes.get("content", "")[:2000])[:1]
        elif element.tag == "link" and "canonical" in attributes.get("rel", "").lower().split():
            yield attributes.get("href", "").strip()[:1000]
        elif element.tag in _RAW_MARKUP:
            raw.append(_own_text(element))
    if raw and ("canonical" in (markup := "".join(raw).lower()) or "refresh" in markup):
        yield from _leads(page_tree("".join(raw)))


def _lines(text: str) -> str:
    lines = (" ".join(line.split()) for line in seen(text).split("\n"))
    return "\n".join(line for line in lines if line)


_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_REF = re.compile(r"<ref\b[^>/]{0,300}/>|<ref\b[^>]{0,300}>.{0,500}?</ref>", re.DOTALL | re.IGNORECASE)
_FILE = re.compile(r"\[\[(?:File|Image|Category)\s*:[^\[\]]*(?:\[\[[^\[\]]*\]\][^\[\]]*)*\]\]", re.IGNORECASE)
_LINK = re.compile(r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]")
_OUTSIDE = re.compile(r"\[https?://[^\s\[\]]{1,500}(?:\s+([^\[\]]{0,500}))?\]")


def wikitext(source: str) -> str:
    """Extract the prose of a revision's wikitext, without templates, tables, notes, files and comments.

    >>> wikitext("'''Oil''' is a [[liquid|fluid]].{{cite|x}}<ref>n</ref>")
    'Oil is a fluid.'
    """
    text = _REF.sub("", _COMMENT.sub("", source[:MOST_HTML]))
    text = _without_nested(_without_nested(text, "{{", "}}"), "{|", "|}")
    text = _LINK.sub(r"\1", _FILE.sub("", text))
    text = _OUTSIDE.sub(lambda match: match[1] or "", text)
    text = re.sub(r"'{2,5}|__[A-Z]+__", "", text)
    text = "\n".join(line.strip("= ") if line.startswith("=") else line for line in text.split("\n"))
    return _lines(unescape(re.sub(r"<[^<>]{0,300}>", "", text)))[:MOST_TEXT]


def _without_nested(text: str, start: str, end: str) -> str:
    """Remove the stretches between two marks, which may be nested; an unclosed one goes to the end."""
    out, depth, last = [], 0, 0
    for match in re.finditer(f"{re.escape(start)}|{re.escape(end)}", text):
        if match[0] == start:
            if depth == 0:
                out.append(text[last : match.start()])
            depth += 1
        elif depth:
            depth -= 1
            last = match.end()
    if not depth:
        out.append(text[last:])
    return "".join(out)
