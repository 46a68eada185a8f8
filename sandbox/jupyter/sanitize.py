"""Clean what a model or a sealed kernel produced before a trusted screen shows it.

By allow-list only: what is not named here is left out. Scripts, styles, forms, frames, event handlers, widget views, ids
and foreign classes go; nothing that is shown makes the browser ask another machine for anything; SVG is shown as an
image, in which no script runs; markdown becomes sanitised HTML.

A page past the caps on elements and nesting is shown as plain text: a browser's parser, and nh3's, takes time with the square of the
nesting, 200,000 open ``<div>`` kept it busy for minutes. What is left of a style stays within its own box and can be read.
"""

import base64
import binascii
import html as htmllib
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from proxies.json_text import Fields, Row

_BLOCKS = (
    "p div span br hr pre code kbd samp var blockquote h1 h2 h3 h4 h5 h6 ul ol li dl dt dd table caption colgroup col "
    "thead tbody tfoot tr th td a abbr b strong i em u s small sub sup mark q cite del ins img details summary figure "
    "figcaption"
)
TAGS = frozenset(_BLOCKS.split())
_ATTRIBUTES = {
    "a": {"href", "title"},
    "img": {"src", "alt", "title", "width", "height"},
    "th": {"colspan", "rowspan", "scope"},
    "td": {"colspan", "rowspan"},
    "col": {"span"},
    "ol": {"start"},
    "abbr": {"title"},
    "details": {"open"},
    "table": {"border"},
    "*": {"style"},
}
_COLOUR = r"(?:#[0-9a-f]{3,8}|[a-z]{3,30}|(?:rgb|hsl)a?\([0-9.,%/ ]{1,60}\))"
_LENGTH = (
    r"(?:0|\d{1,3}(?:\.\d{1,6})?(?:px|pt)|\d{1,2}(?:\.\d{1,6})?(?:em|rem|ch)|\d{1,2}(?:\.\d{1,6})?%|100%)"
)
_SPACE = r"(?:0|\d{1,2}(?:\.\d{1,6})?(?:px|pt)|\d(?:\.\d{1,6})?r?em)"
_LINE = rf"(?:0|none|\d(?:\.\d{{1,3}})?px(?: (?:solid|dashed|dotted|double|none))?(?: {_COLOUR})?)"
#: The properties a style may set, and what their values look like. None takes a text out of its box, over another one, or
#: out of the picture; lengths are bounded, and margins never negative.
_STYLES = {
    name: re.compile(value, re.IGNORECASE)
    for names, value in (
        ("color background-color", _COLOUR),
        ("text-align", "left|right|center|justify|start|end"),
        ("vertical-align", "top|middle|bottom|baseline|sub|super|text-top|text-bottom"),
        ("font-weight", "normal|bold|bolder|lighter|[1-9]00"),
        ("font-style", "normal|italic|oblique"),
        ("font-size", r"(?:[89]|[1-3]\d)(?:\.\d{1,3})?(?:px|pt)|(?:0\.[6-9]\d{0,3}|[12](?:\.\d{1,3})?)r?em"
         r"|[6-9]\d%|1\d\d%|(?:x-)?small|medium|(?:x-)?large|smaller|larger"),
        ("text-decoration", "none|underline|line-through"),
        ("white-space", "normal|nowrap|pre|pre-wrap|pre-line"),
        ("width max-width height", rf"auto|none|{_LENGTH}"),
        ("padding", rf"{_SPACE}(?: {_SPACE}){{0,3}}"),
        ("padding-left padding-right padding-top padding-bottom", _SPACE),
        ("margin-left margin-top margin-bottom", rf"auto|{_SPACE}"),
        ("border border-top border-bottom border-left border-right", _LINE),
        ("border-collapse", "collapse|separate"),
    )
    for name in names.split()
}  # fmt: skip
_NUMBER = re.compile(r"\d{1,4}%?")
_NUMBERED = {"width", "height", "colspan", "rowspan", "span", "start", "border"}
_READABLE = 1.7  # least contrast of a colour with white and with black, where its background is not known
_CLASSES = {"table": {"dataframe"}}
_DROPPED_WHOLE = {
    "script",
    "style",
    "iframe",
    "object",
    "embed",
    "template",
    "noscript",
    "svg",
    "math",
    "title",
}
_LABEL = re.compile(r'\s*<svg\b[^<>]{0,1000}\baria-label="([^"<>]{1,1000})"')
_IMAGE_URL = re.compile(r"data:image/(png|jpeg|gif|webp|svg\+xml);base64,[A-Za-z0-9+/=\s]*")
_LINK = re.compile(r"(https?://|mailto:|#)", re.IGNORECASE)
_LARGEST_PAGE = 2_000_000  # characters of HTML that are looked at
_LARGEST_MARKDOWN = 300_000  # characters that are rendered; mistune takes more than linear time with some
#: Elements of a page, those open within each other, and of these the ones that a parser opens anew in every paragraph that follows.
_MOST_ELEMENTS, _DEEPEST, _MOST_FORMATTING = 30_000, 100, 20

_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_LARGEST_PLAIN = 2_000_000

_TAG = re.compile(r"<(/?)([a-z][a-z0-9:-]*)", re.IGNORECASE)
#: Elements that hold nothing, or end where the next of their kind begins.
ENDLESS = frozenset(
    ["br", "hr", "img", "input", "meta", "link", "col", "wbr", "p", "li", "dt", "dd", "td", "th", "tr", "thead", "tbody", "tfoot"]
)  # fmt: skip
#: Elements that a parser opens anew in every paragraph that follows.
_FORMATTING = frozenset(
    ["a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"]
)


def clean_html(html: str) -> str:
    """Return `html` without anything that runs, fetches, submits or covers.

    >>> clean_html('<b onclick="x()">fine</b><script>alert(1)</script>')
    '<b>fine</b>'
    >>> clean_html('<img src="https://example.org/beacon.png"><a href="javascript:x()">link</a>')
    '<img><a rel="noopener noreferrer nofollow">link</a>'
    """
    import nh3

    html = html[:_LARGEST_PAGE]
    if not _is_bounded(html):
        return f"<pre>{htmllib.escape(html)}</pre>"
    return nh3.clean(
        html,
        tags=set(TAGS),
        clean_content_tags=set(_DROPPED_WHOLE),
        attributes={tag: set(names) for tag, names in _ATTRIBUTES.items()},
        allowed_classes={tag: set(names) for tag, names in _CLASSES.items()},
        attribute_filter=_filter_attribute,
        filter_style_properties=set(_STYLES),
        url_schemes={"http", "https", "mailto", "data"},
        link_rel="noopener noreferrer nofollow",
        strip_comments=True,
    )


def clean_svg(svg: str, *, alt: str = "image") -> str:
    """Return an `<img>` that shows `svg`; inside an image no script runs and nothing is fetched."""
    data = base64.b64encode(svg.encode("utf-8", "replace")).decode()
    return f'<img alt="{htmllib.escape(alt, quote=True)}" src="data:image/svg+xml;base64,{data}">'


def _label(svg: str) -> str:
    """Return the ``aria-label`` of a drawing, for readers who do not see it."""
    match = _LABEL.match(svg)
    return htmllib.unescape(match[1]) if match else "image"


def clean_markdown(text: str) -> str:
    """Render markdown to sanitised HTML."""
    import mistune

    render = mistune.create_markdown(escape=True, plugins=["table", "strikethrough"])
    try:
        if len(text) <= _LARGEST_MARKDOWN:
            return clean_html(str(render(text)))
    except RecursionError:  # quotes within quotes, by the thousand
        pass
    return f"<pre>{htmllib.escape(text[:_LARGEST_PAGE])}</pre>"


def clean_bundle(data: Fields, metadata: Fields | None = None) -> tuple[Row, Row]:
    """Return a MIME bundle with only what may be shown, and the sizes of its images.

    When nothing is left, a line of plain text says what was left out.
    """
    cleaned: Row = {}
    for mime in _IMAGES:
        image = _base64(data.get(mime))
        if image:
            cleaned[mime] = image
    if isinstance(plain := _joined_text(data.get("text/plain")), str):
        cleaned["text/plain"] = plain[:_LARGEST_PLAIN]
    if (page := _joined_text(data.get("text/html"))) is not None:
        cleaned["text/html"] = clean_html(page)
    elif (words := _joined_text(data.get("text/markdown"))) is not None:
        cleaned["text/html"] = clean_markdown(words)
    elif (drawing := _joined_text(data.get("image/svg+xml"))) is not None:
        cleaned["text/html"] = clean_svg(drawing, alt=_label(drawing))
    if isinstance(data.get("application/json"), (dict, list)):
        cleaned["application/json"] = data["application/json"]
    if not cleaned:
        left_out = ", ".join(sorted(str(mime)[:80] for mime in data)) or "nothing"
        cleaned["text/plain"] = f"[left out: {left_out}]"
    return cleaned, _sizes(metadata or {}, cleaned)


def clean_output(output: Fields) -> Row | None:
    """Return an nbformat output that may be shown, or None if nothing of it may."""
    kind = output.get("output_type")
    if kind == "stream":
        return {
            "output_type": "stream",
            "name": str(output.get("name")),
            "text": _joined_text(output.get("text")) or "",
        }
    if kind == "error":
        frames = output.get("traceback")
        return {
            "output_type": "error",
            "ename": str(output.get("ename")),
            "evalue": str(output.get("evalue")),
            "traceback": [str(line) for line in frames] if isinstance(frames, list) else [],
        }
    if kind in ("display_data", "execute_result") and isinstance(output.get("data"), Mapping):
        data, metadata = clean_bundle(output["data"], output.get("metadata") or {})
        cleaned = {"output_type": kind, "data": data, "metadata": metadata}
        if kind == "execute_result":
            count = output.get("execution_count")
            cleaned["execution_count"] = count if isinstance(count, int) else None
        return cleaned
    return None


def _filter_attribute(tag: str, name: str, value: str) -> str | None:
    if name == "src":
        return value if tag == "img" and _IMAGE_URL.fullmatch(value) else None
    if name == "href":
        return value if _LINK.match(value) else None
    if name == "style":
        return _clean_style(value)
    return value if name not in _NUMBERED or _NUMBER.fullmatch(value) else None


def _clean_style(style: str) -> str | None:
    properties: dict[str, str] = {}
    for part in style[:2000].split(";"):
        name, _, value = part.partition(":")
        name, value = name.strip().lower(), value.strip()
        pattern = _STYLES.get(name)
        if pattern is not None and pattern.fullmatch(value):
            properties[name] = value
    colours = properties.get("color"), properties.get("background-color")
    if not _is_readable(*colours):
        properties.pop("color", None)
        properties.pop("background-color", None)
    return "; ".join(f"{name}: {value}" for name, value in properties.items()) or None


@lru_cache(maxsize=1000)
def _is_readable(colour: str | None, background: str | None) -> bool:
    """Whether a text of this colour can be read: on its own background, else on both white and black.

    A background alone leaves the text its page's colour; it is taken as light enough for black or dark enough for white.
    """
    light, ground = _luminance(colour), _luminance(background)
    if (colour is not None and light is None) or (background is not None and ground is None):
        return False
    if light is None:
        return True
    grounds = (0.0, 1.0) if ground is None else (ground,)
    return all(contrast(light, level) >= _READABLE for level in grounds)


def _luminance(colour: str | None) -> float | None:
    """Return the relative luminance of a colour by WCAG; None for an unknown or transparent one."""
    if colour is None:
        return None
    from PIL import ImageColor

    try:
        parts = ImageColor.getrgb(colour)
    except ValueError:
        return None
    if len(parts) == 4 and parts[3] < 255:
        return None
    return luminance([part / 255 for part in parts[:3]])


def _is_bounded(html: str) -> bool:
    elements = 0
    for opened in open_elements(html):
        elements += opened.begins
        if elements > _MOST_ELEMENTS or opened.depth > _DEEPEST or opened.formatting > _MOST_FORMATTING:
            return False
    return True


def _joined_text(value: Any) -> str | None:
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return "".join(value)
    return value if isinstance(value, str) else None


def _base64(value: Any) -> str | None:
    text = _joined_text(value)
    if not text:
        return None
    try:
        base64.b64decode(text, validate=False)
    except (binascii.Error, ValueError):
        return None
    return re.sub(r"[^A-Za-z0-9+/=]", "", text)


def _sizes(metadata: Fields, data: Fields) -> Row:
    sizes: Row = {}
    for mime, facts in metadata.items():
        if mime in data and mime in _IMAGES and isinstance(facts, Mapping):
            numbers = {key: facts[key] for key in ("width", "height") if isinstance(facts.get(key), int)}
            if numbers:
                sizes[mime] = numbers
    return sizes


@dataclass(frozen=True, slots=True)
class OpenElements:
    """After a tag: how many elements are open, how many of them format text, and whether the tag begins one."""

    depth: int
    formatting: int
    begins: bool


def open_elements(html: str, endless: Collection[str] = ENDLESS) -> Iterator[OpenElements]:
    """Count the open elements after each tag, those of ``endless`` never: what a page will cost a parser, without one."""
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


def luminance(colour: Sequence[float]) -> float:
    """Return the relative luminance of red, green and blue, each in [0, 1] (WCAG 2, 1.4.3)."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: float, second: float) -> float:
    """Return the ratio of two luminances, 1 for equal ones to 21 for black on white."""
    return (max(first, second) + 0.05) / (min(first, second) + 0.05)
