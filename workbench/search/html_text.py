"""HTML and wikitext as plain text: what a reader would have seen, in bounded time and length, and nothing that is hidden.

Scripts, comments, descriptions of pictures and elements that are not shown are left out: late facts and instructions to models
hide there. What stays is text and never becomes markup, a link or an instruction of ours again.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape

#: Characters of a page that are read, and of its text that are given back.
MOST_HTML, MOST_TEXT = 600_000, 200_000
_BLOCKS = {
    "p", "div", "br", "li", "ul", "ol", "tr", "table", "h1", "h2", "h3", "h4", "h5", "h6", "section", "article", "main", "blockquote", "pre",
    "dt", "dd", "dl", "td", "th", "figure", "figcaption", "header", "hr",
}  # fmt: skip
# never shown; what stands around an article (navigation, footers, forms) says nothing about it
_GONE = {
    "noscript", "template", "svg", "math", "object", "select", "button", "form", "nav", "footer", "aside", "video", "audio", "canvas", "dialog",
    "head", "datalist",
}  # fmt: skip
# no markup inside
_RAW = {"script", "style", "title", "textarea", "iframe", "xmp", "noembed", "noframes"}
_VOID = {
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
}
_TAG = re.compile(r"<(/?)([a-z][a-z0-9:-]{0,30})")
_HIDDEN = re.compile(r"(?<![\w-])hidden(?![\w-])|aria-hidden\s*=\s*[\"']?true", re.IGNORECASE)
_LONGEST_TAG = 2000
# an end tag is looked for among this many open elements
_DEEPEST = 100
_HIDING = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|opacity\s*:\s*0(?:\.0+)?(?![\d.])|font-size\s*:\s*0|color\s*:\s*transparent"
    r"|(?:left|top|right|text-indent|margin-left)\s*:\s*-\d{3,}|clip(?:-path)?\s*:\s*(?:rect\(\s*0|inset\(\s*(?:50|100)%)"
    r"|(?:max-)?(?:height|width)\s*:\s*[01]px|transform\s*:\s*scale\(\s*0\s*\)",
    re.IGNORECASE,
)
# no reader sees these; texts for models are hidden in them
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]"
)
_REFRESH = re.compile(
    r"<meta[^>]{0,300}http-equiv\s*=\s*[\"']?refresh[^>]{0,600}?url\s*=\s*[\"']?([^\"'>\s]{1,1000})",
    re.IGNORECASE,
)
_CANONICAL = re.compile(
    r"<link[^>]{0,300}rel\s*=\s*[\"']?canonical[\"']?[^>]{0,300}?href\s*=\s*[\"']?([^\"'>\s]{1,1000})",
    re.IGNORECASE,
)
_CANONICAL_BACK = re.compile(
    r"<link[^>]{0,300}?href\s*=\s*[\"']?([^\"'>\s]{1,1000})[\"']?[^>]{0,300}rel\s*=\s*[\"']?canonical",
    re.IGNORECASE,
)
_TITLE = re.compile(r"<title[^>]{0,200}>([^<]{0,1000})", re.IGNORECASE)
_HEAD = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadableText:
    """What is readable of a page: its title, its text, and the addresses to which it says that it leads or belongs."""

    title: str
    text: str
    leads_to: tuple[str, ...] = ()


def readable(html: str) -> ReadableText:
    """Return the readable text of a page.

    Examples
    --------
    >>> readable("<title>A</title><p>Seen.<p hidden>Not seen.</p><!-- nor this --><img alt='nor that'>").text
    'Seen.'
    """
    html = html[:MOST_HTML]
    head = html[:_HEAD]
    title = _TITLE.search(head)
    leads = [
        match[1] for pattern in (_REFRESH, _CANONICAL, _CANONICAL_BACK) for match in pattern.finditer(head)
    ]
    return ReadableText(
        title=plain(title[1])[:300] if title else "",
        text=_lines(unescape("".join(_shown(html))))[:MOST_TEXT],
        leads_to=tuple(dict.fromkeys(unescape(url) for url in leads)),
    )


def plain(text: str) -> str:
    """Return a snippet or title on one line: without tags, entities, control and unseen characters."""
    return " ".join(seen(unescape(re.sub(r"<[^<>]{0,300}>", "", text))).split())


def seen(text: str) -> str:
    """Return a text without characters that no reader sees."""
    clean = _UNSEEN.sub("", text)
    if clean.isascii() and clean.isprintable():
        return clean
    return "".join(
        char
        for char in clean
        if char in "\n\t " or unicodedata.category(char) not in ("Cc", "Cs", "Co", "Cn")
    )


def _shown(html: str) -> Iterator[str]:
    """The text of the elements that are shown, in one pass over the page; hostile markup costs no more than honest markup.

    Where the markup leaves it open whether a text is shown, it is not taken.
    """
    lower = html.lower()
    hidden: list[str] = []  # open elements from the first hidden one on
    place = 0
    while place < len(html):
        start = html.find("<", place)
        if start < 0:
            start = len(html)
        if not hidden:
            yield html[place:start]
        if start == len(html):
            return
        if html.startswith("<!--", start):
            end = html.find("-->", start + 4)
            if end < 0:
                return
            place = end + 3
            continue
        match = _TAG.match(lower, start)
        if match is None:  # a sign "less than", a declaration
            skipped = html.startswith(("<!", "<?"), start)
            end = html.find(">", start) if skipped else start
            if end < 0:
                return
            if not skipped and not hidden:
                yield "<"
            place = end + 1
            continue
        end = _end_of_tag(html, match.end())
        if end < 0:
            return
        tag, opens, attributes = match[2], not match[1], html[match.end() : end]
        place = end + 1
        if tag in _BLOCKS and not hidden:
            yield "\n"
        if tag in _RAW and opens:
            place = lower.find("</" + tag, place)
            if place < 0:
                return
        elif opens and tag not in _VOID:
            if tag == "body" and hidden[:1] == ["head"]:
                hidden.clear()  # the end tag of a head may be left out
            if hidden and hidden[-1] == "p" and tag in _BLOCKS:
                hidden.pop()  # a paragraph ends where the next block begins
            if hidden or tag in _GONE or _HIDDEN.search(attributes) or _HIDING.search(attributes):
                hidden.append(tag)
        elif not opens and tag in hidden[-_DEEPEST:]:
            while hidden.pop() != tag:
                pass


def _end_of_tag(html: str, start: int) -> int:
    """The place of the sign that ends a tag, those inside quotes left out as far as quotes are sound; -1 where there is none."""
    end = html.find(">", start)
    attributes = html[start : min(end, start + _LONGEST_TAG)]
    for quote in ('"', "'"):
        if end >= 0 and attributes.count(quote) % 2 and "=" + quote in attributes:
            close = html.find(quote, end, end + _LONGEST_TAG)
            return html.find(">", close) if close >= 0 else end
    return end


def _lines(text: str) -> str:
    lines = (" ".join(line.split()) for line in seen(text).split("\n"))
    return "\n".join(line for line in lines if line)


_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_REF = re.compile(r"<ref\b[^>/]{0,300}/>|<ref\b[^>]{0,300}>.{0,500}?</ref>", re.DOTALL | re.IGNORECASE)
_FILE = re.compile(r"\[\[(?:File|Image|Category)\s*:[^\[\]]*(?:\[\[[^\[\]]*\]\][^\[\]]*)*\]\]", re.IGNORECASE)
_LINK = re.compile(r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]")
_OUTSIDE = re.compile(r"\[https?://[^\s\[\]]{1,500}(?:\s+([^\[\]]{0,500}))?\]")


def wikitext(source: str) -> str:
    """Return the prose of a revision's wikitext: without templates, tables, notes, files and comments.

    Examples
    --------
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
    """Return a text without the stretches between two marks, which may be nested; one that never ends goes to the end."""
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
