"""Open pages as of the cutoff: a revision of an article, or the archive's newest copy. Nothing is read from the live web."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from proxies.errors import Refused
from workbench.search.engines import wikipedia_title
from workbench.search.page_text import readable, wikitext
from workbench.search.urls import canonical_url

if TYPE_CHECKING:
    from workbench.search.blocked_places import Blocking
    from workbench.search.web_calls import StepCalls

#: Copies that are tried, the newest first: one may be an error page or hold nothing but a script.
COPIES = 3
#: A copy with less text is none.
LEAST_TEXT = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class DatedCopy:
    """The text of a page at an instant; ``source`` is "revision" or "archive".

    ``refused`` says why there is no text: what the page hides cannot be told within the bounds of work.
    """

    title: str
    published: str
    text: str
    source: str
    answers: tuple[str, ...]
    leads_to: tuple[str, ...] = ()
    refused: str = ""


async def dated_copy(url: str, calls: StepCalls) -> DatedCopy | None:
    """Find the newest dated copy of a page; None if there is none.

    Raises `ProxyError`: The archive could not be asked. Raises `TimeoutError`: It did not answer in time.
    """
    title = wikipedia_title(url)
    return await (_revision(title, calls) if title else _archived(url, calls))


async def _revision(title: str, calls: StepCalls) -> DatedCopy | None:
    try:
        answer = await calls("wikipedia/page", {"title": title})
    except Refused:  # never, or not before the cutoff
        return None
    row = next(iter(_rows(answer.data)), None)
    if row is None or not isinstance(row.get("wikitext"), str):
        return None
    text = await asyncio.to_thread(wikitext, row["wikitext"])
    return DatedCopy(
        title=str(row.get("title") or title),
        published=str(row.get("timestamp") or ""),
        text=text,
        source="revision",
        answers=(answer.meta["content_hash"],),
    )


async def _archived(url: str, calls: StepCalls) -> DatedCopy | None:
    captures = await calls("wayback/captures", {"url": url.partition("#")[0]})
    answers = [captures.meta["content_hash"]]
    tried: set[Any] = set()
    refused: DatedCopy | None = None
    for row in reversed(_rows(captures.data)):
        # copies with one digest are the same page
        if len(tried) == COPIES or row.get("digest") in tried or not isinstance(row.get("timestamp"), str):
            continue
        tried.add(row.get("digest") or row["timestamp"])
        copy = await calls(
            "wayback/page", {"url": str(row.get("original") or url), "timestamp": row["timestamp"]}
        )
        answers.append(copy.meta["content_hash"])
        for page in _rows(copy.data):
            html = page.get("html")
            parsed = await asyncio.to_thread(readable, html) if isinstance(html, str) else None
            if parsed is not None and (len(parsed.text) >= LEAST_TEXT or parsed.leads_to or parsed.refused):
                read = DatedCopy(
                    title=parsed.title,
                    published=str(page.get("captured") or ""),
                    text=parsed.text,
                    source="archive",
                    answers=tuple(answers),
                    leads_to=parsed.leads_to,
                    refused=parsed.refused,
                )
                if not parsed.refused:
                    return read
                refused = refused or read
    return refused


def blocked_lead(copy: DatedCopy, url: str, blocking: Blocking) -> str:
    """Explain why a copy must not be read although its address may: it redirects to, or belongs to, a blocked page."""
    for target in copy.leads_to:
        if canonical_url(target) not in ("", canonical_url(url)) and (reason := blocking.reason(target)):
            return reason
    return ""


def _rows(data: Any) -> list[dict[str, Any]]:
    rows = data.get("rows", [data]) if isinstance(data, dict) else data
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
