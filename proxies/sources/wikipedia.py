"""Wikipedia's action API: the names it wants, errors under status 200, and the first day of found pages."""

from collections.abc import Mapping
from typing import Any

import orjson

from proxies.cache import Raw
from proxies.catalogue.loader import Endpoint
from proxies.errors import ProxyError, SourceRejected, SourceUnavailable, no_answer
from proxies.sources.base import HttpSource
from proxies.transport import Outgoing, Reply

_NAMES = {"title": "titles", "q": "srsearch", "limit": "rvlimit"}


class WikipediaSource(HttpSource):
    """MediaWiki over HTTP."""

    def outgoing(self, endpoint: Endpoint, params: Mapping[str, Any]) -> Outgoing:
        """The request in MediaWiki's own names; a section is cut out here, not there."""
        if endpoint.host != "en":
            compact = {k: str(v).replace("-", "") if k in ("start", "end") else v for k, v in params.items()}
            return self.build(
                endpoint, {**compact, "article": str(compact.get("article", "")).replace(" ", "_")}
            )
        plain = self.build(endpoint, {})
        names = {**_NAMES, "limit": "srlimit"} if endpoint.path.endswith("/search") else _NAMES
        asked = {names.get(name, name): str(value) for name, value in params.items() if name != "section"}
        return Outgoing(method="GET", url=plain.url, query={**plain.query, **asked})

    async def fetch(self, endpoint: Endpoint, params: Mapping[str, Any]) -> Raw:
        """The raw answer; hits of a search are given the day their page was first saved."""
        if not endpoint.path.endswith("/search"):
            return await super().fetch(endpoint, params)
        payload, _ = await self.ask(endpoint, self.outgoing(endpoint, params))
        hits = ((payload.get("query") or {}).get("search") or []) if isinstance(payload, dict) else []
        dated = [
            {**hit, "first_revision": await self._first(endpoint, hit)}
            for hit in hits
            if isinstance(hit, dict)
        ]
        return Raw(body=orjson.dumps({"query": {"search": dated}}), fetched_at=self._settings.now())

    async def _first(self, endpoint: Endpoint, hit: Mapping[str, Any]) -> str | None:
        query = {
            **{k: str(v) for k, v in endpoint.fixed.items() if k in ("format", "formatversion", "maxlag", "action")},
            "prop": "revisions", "rvprop": "timestamp", "rvdir": "newer", "rvlimit": "1", "pageids": str(hit.get("pageid")),
        }  # fmt: skip
        url = self.build(endpoint, {}).url
        payload, _ = await self.ask(endpoint, Outgoing(method="GET", url=url, query=query))
        pages = (payload.get("query") or {}).get("pages") or [] if isinstance(payload, dict) else []
        for page in pages.values() if isinstance(pages, dict) else pages:
            for revision in page.get("revisions") or []:
                stamp = revision.get("timestamp")
                return stamp if isinstance(stamp, str) else None
        return None

    def busy(self, reply: Reply) -> bool:
        """A lagging database says so under status 200, with Retry-After."""
        return (
            reply.status == 200
            and "mediawiki-api-error" in reply.headers
            and "maxlag" in reply.headers["mediawiki-api-error"]
        )

    def complaint(self, endpoint: Endpoint, reply: Reply, payload: Any) -> ProxyError | None:
        """Errors come under status 200, with a code."""
        error = payload.get("error") if isinstance(payload, dict) else None
        if isinstance(error, dict):
            code = str(error.get("code"))
            if code in ("maxlag", "ratelimited", "readonly"):
                return SourceUnavailable("wikipedia is busy: try again later")
            if code in ("missingtitle", "nosuchpageid", "invalidtitle"):
                return no_answer(self.name, endpoint.path)
            return SourceRejected(f"wikipedia refused the request: check the parameters of {endpoint.path}")
        return super().complaint(endpoint, reply, payload)
