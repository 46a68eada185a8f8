"""HTML from a sealed kernel or a model, reduced to what an allow-list knows."""

import re

import nh3

_TAGS = {
    *(
        "a",
        "abbr",
        "b",
        "blockquote",
        "br",
        "caption",
        "code",
        "col",
        "colgroup",
        "dd",
        "del",
        "details",
        "div",
        "dl",
        "dt",
    ),
    *(
        "em",
        "figcaption",
        "figure",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "hr",
        "i",
        "img",
        "ins",
        "kbd",
        "li",
        "mark",
        "ol",
    ),
    *(
        "p",
        "pre",
        "s",
        "samp",
        "small",
        "span",
        "strong",
        "sub",
        "summary",
        "sup",
        "table",
        "tbody",
        "td",
        "tfoot",
        "th",
    ),
    *("thead", "tr", "u", "ul", "var"),
}
_ATTRIBUTES = {
    "a": {"href", "title"},
    "img": {"src", "alt", "title", "width", "height"},
    "ol": {"start"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan", "scope"},
}
# Their text is code or a foreign document, not words for a reader: it goes with the tag.
_WITH_CONTENT = {
    "script",
    "style",
    "iframe",
    "object",
    "embed",
    "noscript",
    "template",
    "svg",
    "math",
    "title",
    "textarea",
}

_IMAGE = re.compile(r"data:image/(png|jpeg|gif|webp|svg\+xml);base64,[A-Za-z0-9+/=\s]*\Z")
_LINK = re.compile(r"(https?:|mailto:|#)", re.IGNORECASE)


def clean_html(fragment: str) -> str:
    """Return the fragment with allowed tags and attributes only.

    No script, style, class, id, form, frame or inline SVG survives; links go to ``http``, ``https``, ``mailto`` or an
    anchor; images are base64 data URLs (an SVG there is an image, its scripts do not run), so nothing is fetched.
    """
    return nh3.clean(
        fragment,
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        clean_content_tags=_WITH_CONTENT,
        url_schemes={"http", "https", "mailto", "data"},
        attribute_filter=_keep,
    )


def _keep(tag: str, attribute: str, value: str) -> str | None:
    if tag == "img" and attribute == "src":
        return value if _IMAGE.match(value) else None
    if tag == "a" and attribute == "href":
        return value if _LINK.match(value) else None
    return value
