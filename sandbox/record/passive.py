"""Replace outputs and texts that would run, fetch or cover something in a viewer of the notebook.

A proof notebook is opened in viewers that we do not know, and some of them run what they find. The journal keeps every
output as the kernel sent it, and beside it the passive form, so that the notebook still is what its journal says when a
later version of the sanitizer would write another form.
"""

import html
import re
from collections.abc import Mapping, Sequence

from proxies.json_text import Fields, Row
from sandbox.jupyter.sanitize import clean_output
from sandbox.types import JournalCell

_PICTURES = {"image/png", "image/jpeg", "image/gif", "image/webp"}
_BASE64 = re.compile(r"[A-Za-z0-9+/=\s]*")
_LARGEST_PAGE = 200_000  # characters of HTML; what has more is shown by its text
# not Markdown's own links in brackets, <https://...> and <mailto:...>
_WORD = re.compile(r"[A-Za-z0-9_/+.-]{0,40}")
# the address is only looked at: what follows one link may be the next
_LINK = re.compile(r"\](?P<opening>[(:])(?=\s{0,20}+(?P<address>[^\n)]{0,300}+))")
_SCHEME = re.compile(r"[^/?#:]*:")
_ADDRESS = re.compile(r"https?://|mailto:", re.IGNORECASE)
_TAG = re.compile(r"<(?=[a-zA-Z/!?])(?!https?://|mailto:)")


def passive_outputs(outputs: Sequence[Fields]) -> Row:
    """Return the passive forms of the outputs that need one, by their index; called for every result."""
    forms: Row = {}
    for place, output in enumerate(outputs):
        if not _is_passive(output):
            forms[str(place)] = clean_output({**output, "data": _without_large_pages(output["data"])})
    return forms


def passive_text(source: str) -> dict[str, str]:
    """Return the passive source of a text cell if it differs, by `passive_markdown`."""
    passive = passive_markdown(source)
    return {"source": passive} if passive != source else {}


def passive_markdown(source: str) -> str:
    """Escape HTML tags, pictures, and links that are no addresses.

    Markdown passes HTML on as it is, viewers fetch pictures when the notebook is opened, and nbconvert lets links run code.

    >>> passive_markdown("<b>x</b> ![x](https://a.example/x.png) [y](javascript:z) [w](https://a.example)")
    '&lt;b>x&lt;/b> &#33;[x](https://a.example/x.png) [y]&#40;javascript:z) [w](https://a.example)'
    """
    return _LINK.sub(_passive_link, _TAG.sub("&lt;", source).replace("![", "&#33;["))


def active_place(cell: JournalCell) -> str | None:
    """Name the place where a notebook of this cell would not be passive, or None; for a stranger's journal.

    The forms in ``shown`` are the word of whoever wrote the journal, so they are made passive again and have to stay as they are.
    """
    if cell.kind == "markdown":
        source = cell.shown.get("source", cell.source)
        return "its text" if passive_markdown(source) != source else None
    for place, output in enumerate(cell.result.outputs if cell.result else ()):
        form = cell.shown.get(str(place), output)
        if not _is_passive(form) and clean_output(form) != form:
            return f"output {place + 1}"
    return None


def _passive_link(match: re.Match[str]) -> str:
    # as a browser reads an address: entities decoded, white space and control characters left out
    address = "".join(
        char for char in html.unescape(match["address"]) if char > " " and char not in "<\\\x7f"
    )
    if not _SCHEME.match(address) or _ADDRESS.match(address):
        return match[0]
    return "]&#40;" if match["opening"] == "(" else "]&#58;"


def _is_passive(output: Fields) -> bool:
    if output["output_type"] in ("stream", "error"):
        return True
    data = output["data"]
    return _is_plain(output["metadata"]) and all(
        kind == "text/plain"
        or (kind in _PICTURES and isinstance(content, str) and _BASE64.fullmatch(content) is not None)
        for kind, content in data.items()
    )


def _is_plain(facts: object) -> bool:
    if isinstance(facts, Mapping):
        return all(_is_plain(key) and _is_plain(value) for key, value in facts.items())
    return isinstance(facts, int | float) or (isinstance(facts, str) and _WORD.fullmatch(facts) is not None)


def _without_large_pages(data: Fields) -> Row:
    return {
        kind: content
        for kind, content in data.items()
        if kind not in ("text/html", "text/markdown", "image/svg+xml") or len(content) <= _LARGEST_PAGE
    } or {"text/plain": f"[left out: {', '.join(sorted(data))}, too large]"}
