"""Extract the visible text of HTML and wikitext in bounded work and length.

Scripts, comments, descriptions of pictures and what the page's own style hides (`hidden_parts`) are left out: late facts and
instructions to models hide there. What stays is text and never becomes markup, a link or an instruction of ours again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape

from selectolax.lexbor import LexborHTMLParser, LexborNode

from sandbox.jupyter.sanitize import ENDLESS, open_elements
from workbench.quoting import seen
from workbench.search.hidden_parts import Look, PageStyle, PageTooLarge

#: Characters of a page that are read, and of its text that are given back.
MOST_HTML, MOST_TEXT = 600_000, 200_000
#: How deep elements are nested, and how many the parser may have to look at or open again.
DEEPEST, MOST_LOOKS = 10_000, 150_000_000
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
_REFRESH = re.compile(r"url\s*=\s*[\"']?([^\"'>\s]{1,1000})", re.IGNORECASE)
#: What is never open in a page of the web: beside `ENDLESS`, elements without a place in outputs of cells.
_ENDLESS = ENDLESS | {"area", "base", "embed", "source", "track", "param", "option"}


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
    html = html[:MOST_HTML]
    try:
        _check_cost(html)
        tree = LexborHTMLParser(html)
        text = _lines("".join(_shown(tree)))[:MOST_TEXT]
    except PageTooLarge as refusal:
        return ReadableText(title="", text="", refused=str(refusal))
    except RecursionError:
        return ReadableText(title="", text="", refused="its style is nested too deep")
    title = tree.css_first("head title")
    return ReadableText(
        title=" ".join(seen(title.text()).split())[:300] if title else "",
        text=text,
        leads_to=tuple(dict.fromkeys(_leads(tree))),
    )


def plain(text: str) -> str:
    """Reduce a snippet or title to one line without tags, entities, control and unseen characters."""
    return " ".join(seen(unescape(re.sub(r"<[^<>]{0,300}>", "", text))).split())


def _shown(tree: LexborHTMLParser) -> Iterator[str]:
    styles = PageStyle(tree)
    node, looks = tree.root, [Look()]
    # not by recursion, as a page nests at will
    while node is not None:
        if node.is_text_node and looks[-1].shown:
            yield node.text_content or ""
        below = None
        if node.is_element_node:
            if node.tag in _BLOCKS:
                yield "\n"
            look = styles.look(node, looks[-1])
            below = None if look.hidden or _is_left_out(node) or len(looks) > DEEPEST else node.first_child
            if below is not None:
                looks.append(look)
        while below is None and node is not None:
            below = node.next
            if below is None:
                node = node.parent
                looks.pop()
                if node is None or len(looks) < 2:
                    return
                if node.tag in _BLOCKS:
                    yield "\n"
        node = below


def _is_left_out(node: LexborNode) -> bool:
    attributes = node.attributes
    if node.tag in _GONE or (attributes.get("aria-hidden") or "").strip().lower() == "true":
        return True
    if node.tag == "form":  # one that holds an article is the frame of the whole page
        return node.css_first("h1, article, main") is None
    around = node.parent
    return (
        node.tag != "summary"
        and around is not None
        and around.tag == "details"
        and "open" not in around.attributes
    )


def _leads(tree: LexborHTMLParser) -> Iterator[str]:
    for meta in tree.css("meta[http-equiv=refresh i]"):
        yield from _REFRESH.findall((meta.attributes.get("content") or "")[:2000])[:1]
    for link in tree.css("link[rel~=canonical i]"):
        yield (link.attributes.get("href") or "").strip()[:1000]


def _check_cost(html: str) -> None:
    """Refuse markup that costs the parser too much: it walks the open elements at every tag, and reopens formatting in every paragraph."""
    depth = formatting = looks = 0
    for opened in open_elements(html, _ENDLESS):
        looks += depth + 75 * formatting
        depth, formatting = opened.depth, opened.formatting
    if looks > MOST_LOOKS:
        raise PageTooLarge("its markup is nested too deep")


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
