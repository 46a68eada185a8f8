"""What a notebook shows in place of outputs and texts that would run, fetch or cover something in a viewer.

A proof notebook is opened in viewers that we do not know, and some of them run what they find. The journal keeps every
output as the kernel sent it, and beside it the passive form, so that the notebook still is what its journal says when a
later version of the sanitizer would write another form.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sandbox.jupyter.sanitize import clean_output

_PICTURES = {"image/png", "image/jpeg", "image/gif", "image/webp"}
_BASE64 = re.compile(r"[A-Za-z0-9+/=\s]*")
_LARGEST_PAGE = 200_000  # characters of HTML; what has more is shown by its text
# not Markdown's own links in brackets, <https://...> and <mailto:...>
_TAG = re.compile(r"<(?=[a-zA-Z/!?])(?!https?://|mailto:)")


def passive_outputs(outputs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The passive forms of those outputs that need one, by their place. The session calls this for every result."""
    forms: dict[str, Any] = {}
    for place, output in enumerate(outputs):
        if not _is_passive(output):
            forms[str(place)] = clean_output({**output, "data": _without_large_pages(output["data"])})
    return forms


def passive_text(source: str) -> dict[str, str]:
    """The source of a text cell with its HTML tags as text, if it has any: Markdown passes HTML on as it is."""
    passive = _TAG.sub("&lt;", source)
    return {"source": passive} if passive != source else {}


def _is_passive(output: Mapping[str, Any]) -> bool:
    if output["output_type"] in ("stream", "error"):
        return True
    data = output["data"]
    return all(
        kind == "text/plain"
        or (kind in _PICTURES and isinstance(content, str) and _BASE64.fullmatch(content) is not None)
        for kind, content in data.items()
    )


def _without_large_pages(data: Mapping[str, Any]) -> dict[str, Any]:
    return {
        kind: content
        for kind, content in data.items()
        if kind not in ("text/html", "text/markdown", "image/svg+xml") or len(content) <= _LARGEST_PAGE
    } or {"text/plain": f"[left out: {', '.join(sorted(data))}, too large]"}
