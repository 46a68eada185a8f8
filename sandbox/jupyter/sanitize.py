"""Makes what a model or a sealed kernel produced fit to be shown on a trusted screen.

By allow-list only: what is not named here is left out. Scripts, styles, forms, frames, event handlers, widget views, ids
and foreign classes go; nothing that is shown makes the browser ask another machine for anything; SVG is shown as an
image, in which no script runs; markdown becomes sanitised HTML.
"""

import base64
import binascii
import html as htmllib
import re
from collections.abc import Mapping
from typing import Any

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
_STYLES = (
    "color background-color text-align vertical-align font-weight font-style font-size text-decoration white-space "
    "width max-width height padding padding-left padding-right padding-top padding-bottom margin-left margin-top "
    "margin-bottom border border-top border-bottom border-left border-right border-collapse"
)
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
_IMAGE_URL = re.compile(r"data:image/(png|jpeg|gif|webp|svg\+xml);base64,[A-Za-z0-9+/=\s]*")
_LINK = re.compile(r"(https?://|mailto:|#)", re.IGNORECASE)
# a style value that could fetch or cover something, or hides its letters
_BAD_STYLE = re.compile(
    r"url|image|expression|import|var\s*\(|attr\s*\(|fixed|absolute|sticky|[\\<>@{}]", re.IGNORECASE
)

_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
SHOWN_TYPES = _IMAGES | {"text/plain", "text/html", "text/markdown", "image/svg+xml", "application/json"}
_LARGEST_PLAIN = 2_000_000


def clean_html(html: str) -> str:
    """Return `html` without anything that runs, fetches, submits or covers.

    Examples
    --------
    >>> clean_html('<b onclick="x()">fine</b><script>alert(1)</script>')
    '<b>fine</b>'
    >>> clean_html('<img src="https://example.org/beacon.png"><a href="javascript:x()">link</a>')
    '<img><a rel="noopener noreferrer nofollow">link</a>'
    """
    import nh3

    return nh3.clean(
        html,
        tags=set(TAGS),
        clean_content_tags=set(_DROPPED_WHOLE),
        attributes={tag: set(names) for tag, names in _ATTRIBUTES.items()},
        allowed_classes={tag: set(names) for tag, names in _CLASSES.items()},
        attribute_filter=_filter_attribute,
        filter_style_properties=set(_STYLES.split()),
        url_schemes={"http", "https", "mailto", "data"},
        link_rel="noopener noreferrer nofollow",
        strip_comments=True,
    )


def clean_svg(svg: str, *, alt: str = "image") -> str:
    """Return an `<img>` that shows `svg`; inside an image no script runs and nothing is fetched."""
    data = base64.b64encode(svg.encode("utf-8", "replace")).decode()
    return f'<img alt="{htmllib.escape(alt, quote=True)}" src="data:image/svg+xml;base64,{data}">'


def clean_markdown(text: str) -> str:
    """Return `text` rendered from markdown to sanitised HTML."""
    import mistune

    render = mistune.create_markdown(escape=True, plugins=["table", "strikethrough"])
    return clean_html(str(render(text)))


def clean_bundle(
    data: Mapping[str, Any], metadata: Mapping[str, Any] | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a MIME bundle with only what may be shown, and its sizes of images.

    When nothing is left, a line of plain text says what was left out.
    """
    cleaned: dict[str, Any] = {}
    for mime in _IMAGES:
        image = _base64(data.get(mime))
        if image:
            cleaned[mime] = image
    if isinstance(plain := _text(data.get("text/plain")), str):
        cleaned["text/plain"] = plain[:_LARGEST_PLAIN]
    if (page := _text(data.get("text/html"))) is not None:
        cleaned["text/html"] = clean_html(page)
    elif (words := _text(data.get("text/markdown"))) is not None:
        cleaned["text/html"] = clean_markdown(words)
    elif (drawing := _text(data.get("image/svg+xml"))) is not None:
        cleaned["text/html"] = clean_svg(drawing)
    if isinstance(data.get("application/json"), (dict, list)):
        cleaned["application/json"] = data["application/json"]
    if not cleaned:
        left_out = ", ".join(sorted(str(mime)[:80] for mime in data)) or "nothing"
        cleaned["text/plain"] = f"[left out: {left_out}]"
    return cleaned, _sizes(metadata or {}, cleaned)


def clean_output(output: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return an nbformat output fit to be shown, or None when nothing of it may be."""
    kind = output.get("output_type")
    if kind == "stream":
        return {
            "output_type": "stream",
            "name": str(output.get("name")),
            "text": _text(output.get("text")) or "",
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
        allowed = [part.strip() for part in value.split(";") if part.strip() and not _BAD_STYLE.search(part)]
        return "; ".join(allowed) or None
    return value


def _text(value: Any) -> str | None:
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return "".join(value)
    return value if isinstance(value, str) else None


def _base64(value: Any) -> str | None:
    text = _text(value)
    if not text:
        return None
    try:
        base64.b64decode(text, validate=False)
    except (binascii.Error, ValueError):
        return None
    return re.sub(r"[^A-Za-z0-9+/=]", "", text)


def _sizes(metadata: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
    sizes: dict[str, Any] = {}
    for mime, facts in metadata.items():
        if mime in data and mime in _IMAGES and isinstance(facts, Mapping):
            numbers = {key: facts[key] for key in ("width", "height") if isinstance(facts.get(key), int)}
            if numbers:
                sizes[mime] = numbers
    return sizes
