"""Unpack and pack MediaWiki's shapes: a page, its sections, its edits, search hits."""

import re
from typing import Any

from proxies.errors import Refused
from proxies.json_text import Fields


def unpack_wiki(payload: Any, params: Fields) -> Any:
    """Return the revisions of a page as rows with title, id, time and wikitext."""
    if "rows" in payload:
        return payload
    rows = []
    for page in _pages(payload):
        for revision in page.get("revisions") or []:
            slot = (revision.get("slots") or {}).get("main") or {}
            text = slot.get("content", revision.get("content", slot.get("*")))
            if text is not None:
                rows.append(
                    {
                        "title": page.get("title"),
                        "revid": revision.get("revid"),
                        "timestamp": revision.get("timestamp"),
                        "wikitext": text,
                    }
                )
    return {"rows": rows}


def _pages(payload: Any) -> list[Any]:
    pages = (payload.get("query") or {}).get("pages") or []
    # an object by page id in MediaWiki's formatversion 1, a list in 2
    return list(pages.values()) if isinstance(pages, dict) else list(pages)


def pack_page(data: Any, params: Fields) -> Any:
    """Return one page, or one of its sections.

    Raises `Refused`: No revision, or no such heading: the same words whether the page came later or never.
    """
    rows = data["rows"]
    if not rows:
        raise Refused("wikipedia has no page of this title as of the cutoff: check the title")
    row = rows[0]
    section = params.get("section")
    if section:
        text = _section(row["wikitext"], str(section))
        if text is None:
            headings = ", ".join(title for _, title in headings_of(row["wikitext"])) or "none"
            raise Refused(f"the page has no section {section!r}: its headings are {headings[:300]}")
        row = {**row, "wikitext": text}
    return row


_HEADING = re.compile(r"^(={2,6})\s*(.+?)\s*\1\s*$", re.MULTILINE)


def headings_of(wikitext: str) -> list[tuple[int, str]]:
    r"""Return level and title of each heading of a wikitext.

    >>> headings_of("a\n== B ==\n=== C ===")
    [(2, 'B'), (3, 'C')]
    """
    return [(len(match[1]), match[2]) for match in _HEADING.finditer(wikitext)]


def _section(wikitext: str, title: str) -> str | None:
    start, level = None, 0
    for match in _HEADING.finditer(wikitext):
        if start is None and match[2].strip().lower() == title.strip().lower():
            start, level = match.start(), len(match[1])
        elif start is not None and len(match[1]) <= level:
            return wikitext[start : match.start()].strip()
    return None if start is None else wikitext[start:].strip()


def pack_sections(data: Any, params: Fields) -> Any:
    """Return the headings of the page as a list."""
    row = pack_page(data, {})
    return [{"level": level, "title": title} for level, title in headings_of(row["wikitext"])]


def unpack_revisions(payload: Any, params: Fields) -> Any:
    """Return the edits of a page."""
    if "revisions" in payload:
        return {"revisions": payload["revisions"]}
    return {"revisions": [row for page in _pages(payload) for row in page.get("revisions") or []]}


def unpack_search(payload: Any, params: Fields) -> Any:
    """Unpack search hits, each with the day of its page's first revision if the source found it."""
    query = payload.get("query") if isinstance(payload.get("query"), dict) else payload
    return {"search": (query or {}).get("search") or []}
