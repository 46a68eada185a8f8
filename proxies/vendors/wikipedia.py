"""Ask Wikipedia's action API: its parameter names, errors under status 200, redirects of then, first days of search hits.

The service would follow redirects as they are today. Here they are followed as they stood: a revision of the asked time
that is a redirect names its target. Where the page that bore a title then stands today is told by the log of moves, which
bears days and goes by the title that was left: pages that swapped titles, and titles that were deleted since, are found.
Where the log tells nothing, the first edit under an old title may; the page's history went along to the new title.
"""

import re
from collections.abc import Mapping
from typing import Any
from zoneinfo import ZoneInfo

from proxies.asof.clock import parse_instant
from proxies.asof.policies.windows import TITLE_AT
from proxies.catalogue.schema import Endpoint
from proxies.fetch.cache import RawAnswer
from proxies.fetch.transport import HttpRequest
from proxies.json_text import Fields
from proxies.vendors.base import HttpSource
from proxies.vendors.codecs import wiki_pages, wiki_text

_AS_IT_STOOD = ("wikipedia/page", "wikipedia/sections", "wikipedia/revisions")
# two pages that redirect to each other would lead on for ever
_MOST_HOPS = 5
# a page that was moved more often since the cutoff is not followed further
_MOST_MOVES = 20
# lists of 500 edits: a hundred thousand since the cutoff, which no page has
_MOST_LISTS = 200
_UTC = ZoneInfo("UTC")
_REDIRECT = re.compile(r"\s*#REDIRECT\s*:?\s*\[\[\s*:?([^\]|#<>{}\n]{1,255})", re.IGNORECASE)
_MOVE = re.compile(r"moved (?:page )?\[\[:?([^\]|]{1,255})\]\] to \[\[:?([^\]|]{1,255})\]\]")
_NAMES = {"title": "titles", "q": "srsearch", "limit": "rvlimit"}


class WikipediaSource(HttpSource):
    """MediaWiki over HTTP."""

    def http_request(self, endpoint: Endpoint, params: Fields) -> HttpRequest:
        """Return the request in MediaWiki's own names. ``section`` is not sent: the codec cuts sections out of the whole page."""
        if endpoint.host != "en":
            # the other host counts page views: days without hyphens, titles with underscores
            compact = {k: str(v).replace("-", "") if k in ("start", "end") else v for k, v in params.items()}
            return self.build(
                endpoint, {**compact, "article": str(compact.get("article", "")).replace(" ", "_")}
            )
        plain = self.build(endpoint, {})
        names = {**_NAMES, "limit": "srlimit"} if endpoint.path.endswith("/search") else _NAMES
        unsent = {"section", TITLE_AT} | ({"rvstart"} if endpoint.path.endswith("/search") else set())
        renamed = {names.get(name, name): str(value) for name, value in params.items() if name not in unsent}
        return HttpRequest(method="GET", url=plain.url, query={**plain.query, **renamed})

    async def fetch(self, endpoint: Endpoint, params: Fields) -> RawAnswer:
        """Return the raw answer; hits of a search are given the day their page was first saved."""
        if endpoint.path in _AS_IT_STOOD:
            payload = await self._as_it_stood(endpoint, params)
            return self.answer(payload)
        if not endpoint.path.endswith("/search"):
            return await super().fetch(endpoint, params)
        payload = await self.payload(endpoint, params)
        hits = ((payload.get("query") or {}).get("search") or []) if isinstance(payload, dict) else []
        title_at = params.get(TITLE_AT)
        dated = []
        for hit in hits:
            if not isinstance(hit, dict):
                continue
            page = {"pageids": str(hit.get("pageid"))}
            first = (await self._edit(endpoint, rvprop="timestamp", rvdir="newer", **page)).get("timestamp")
            first = first if isinstance(first, str) else None
            title = hit.get("title")
            # a page that was first saved later goes anyway: its moves need not be read
            if title_at is not None and first is not None and first <= str(title_at):
                title = await self._title_at(endpoint, page, title, title_at)
            if title is not None:
                dated.append({**hit, "title": title, "first_revision": first})
        return self.answer({"query": {"search": dated}})

    async def _as_it_stood(self, endpoint: Endpoint, params: Fields) -> Any:
        title, shown_title = str(params["title"]), None
        payload: Any = None
        for _ in range(_MOST_HOPS):
            place, then = await self._stands_today(endpoint, title, params.get(TITLE_AT))
            payload, _ = await self.exchange(
                endpoint, self.http_request(endpoint, {**params, "title": place})
            )
            page = next(iter(wiki_pages(payload)), None)
            if page is None:
                return payload
            name = page.get("title")
            page["title"] = shown_title = shown_title or then or name
            if page.get("revisions"):
                # a page that was moved since is shown under its title of then, a redirect under its target
                following = await self._redirect(endpoint, params, place, page["revisions"][0])
                if following is None:
                    is_known = then is not None or await self._bore(endpoint, page, place, name, params)
                    # asked for under a later title it reads like a page that never was
                    return (
                        payload
                        if is_known
                        else {"query": {"pages": [{"title": shown_title, "missing": True}]}}
                    )
                shown_title = None
            elif then is None:
                following = await self._moved_to(endpoint, title)
            else:
                following = None
            if following is None:
                return payload
            title = following
        return payload

    async def _stands_today(self, endpoint: Endpoint, title: str, moment: Any) -> tuple[str, str | None]:
        """Return today's title of the page that bore a title at a moment, and that title as the log spells it.

        The log of moves is followed from title to title; None in the second place: it tells of no move since.
        """
        place, then, since, last = title, None, moment, -1
        for _ in range(_MOST_MOVES if moment is not None else 0):
            # where moves follow each other within a second their numbers tell which came later
            moves = [
                row
                for row in await self._moves_from(endpoint, place, str(since))
                if (
                    str(row.get("timestamp")) > str(since)
                    if then is None
                    else int(row.get("logid") or 0) > last
                )
            ]
            if not moves:
                break
            then = then or _spaced(str(moves[0]["title"]))
            place = _spaced(moves[0]["params"]["target_title"])
            since, last = moves[0]["timestamp"], int(moves[0].get("logid") or 0)
        return place, then

    async def _moves_from(self, endpoint: Endpoint, title: str, since: str) -> list[Any]:
        query = {
            **self._shared(endpoint), "list": "logevents", "letype": "move", "letitle": title, "ledir": "newer", "lestart": since,
            "leprop": "ids|title|timestamp|details", "lelimit": "50",
        }  # fmt: skip
        payload = await self._query(endpoint, query)
        rows = (payload.get("query") or {}).get("logevents") if isinstance(payload, dict) else None
        return [
            row
            for row in rows or ()
            if isinstance(row, dict)
            and isinstance(row.get("params"), dict)
            and isinstance(row["params"].get("target_title"), str)
            and isinstance(row.get("title"), str)
        ]

    async def _redirect(self, endpoint: Endpoint, params: Fields, title: str, newest: Fields) -> str | None:
        """Return the title that a page redirected to at the asked time, or None if it was no redirect."""
        requested = params.get("rvstart")
        if wiki_text(newest) is None:
            start = {"rvstart": str(requested)} if requested else {}
            newest = await self._edit(
                endpoint, titles=title, rvprop="timestamp|content", rvslots="main", **start
            )
        saved, text = parse_instant(str(newest.get("timestamp")), _UTC), wiki_text(newest)
        # checked here too, though rvstart asked for it: what a redirect says is followed before any policy sees a row
        limit = parse_instant(str(requested), _UTC)
        # a later revision, should one come, must not say where the title led then
        if not isinstance(text, str) or (requested and (saved is None or limit is None or saved > limit)):
            return None
        match = _REDIRECT.match(text)
        return _spaced(match[1]) if match else None

    async def _moved_to(self, endpoint: Endpoint, title: str) -> str | None:
        comment = (await self._edit(endpoint, titles=title, rvprop="comment", rvdir="newer")).get("comment")
        match = _MOVE.search(comment) if isinstance(comment, str) else None
        if match is None or _spaced(match[1]).lower() != _spaced(title).lower():
            return None
        return _spaced(match[2])

    async def _bore(self, endpoint: Endpoint, page: Fields, title: str, name: Any, params: Fields) -> bool:
        """Whether a page bore its shown title at the moment that matters; true of what the policy leaves out anyway."""
        title_at, saved = params.get(TITLE_AT), str(page["revisions"][0].get("timestamp"))
        if title_at is None or saved > str(title_at):
            return True
        then = await self._title_at(endpoint, {"titles": title}, name, title_at)
        return then is not None and _spaced(then).lower() == _spaced(str(page["title"])).lower()

    async def _title_at(
        self, endpoint: Endpoint, page: Mapping[str, str], title: Any, moment: Any
    ) -> str | None:
        """Return the title that a page had at a moment: its title of today, led back through the moves since.

        Moves stand in the page's own history as comments. Whoever edits can write such a comment: one counts only if it leads
        to where the page is next. None: the history since the moment is too long to read.
        """
        if moment is None or not isinstance(title, str):
            return title if isinstance(title, str) else None
        moves: list[tuple[str, str]] = []
        more: Mapping[str, str] = {}
        for _ in range(_MOST_LISTS):
            query = {
                **self._plain(endpoint), "rvprop": "timestamp|comment", "rvdir": "newer", "rvlimit": "500",
                "rvstart": str(moment), **page, **more,
            }  # fmt: skip
            payload = await self._query(endpoint, query)
            for edit in (edit for item in wiki_pages(payload) for edit in item.get("revisions") or []):
                match = _MOVE.search(str(edit.get("comment"))) if isinstance(edit, dict) else None
                # edits of the moment itself were known
                if match is not None and str(edit.get("timestamp")) > str(moment):
                    moves.append((_spaced(match[1]), _spaced(match[2])))
            following = payload.get("continue") if isinstance(payload, dict) else None
            if not isinstance(following, dict) or "rvcontinue" not in following:
                then = title
                for old, new in reversed(moves):
                    then = old if new.lower() == _spaced(then).lower() else then
                return then
            more = {"rvcontinue": str(following["rvcontinue"])}
        return None

    async def _query(self, endpoint: Endpoint, query: Mapping[str, str]) -> Any:
        request = HttpRequest(method="GET", url=self.build(endpoint, {}).url, query=query)
        return (await self.exchange(endpoint, request))[0]

    async def _edit(self, endpoint: Endpoint, **fields: str) -> Fields:
        payload = await self._query(endpoint, {**self._plain(endpoint), **fields, "rvlimit": "1"})
        revisions = [revision for page in wiki_pages(payload) for revision in page.get("revisions") or []]
        return revisions[0] if revisions and isinstance(revisions[0], dict) else {}

    def _shared(self, endpoint: Endpoint) -> dict[str, str]:
        names = ("format", "formatversion", "maxlag", "action")
        return {k: str(v) for k, v in endpoint.fixed.items() if k in names}

    def _plain(self, endpoint: Endpoint) -> dict[str, str]:
        return {**self._shared(endpoint), "prop": "revisions"}


def _spaced(title: str) -> str:
    return title.replace("_", " ").strip()
