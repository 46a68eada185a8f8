"""Get raw answers: from the cache if one may serve, else from the source, once for all who ask simultaneously."""

import asyncio
import functools
import logging
import sqlite3
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeVar

from proxies.asof.clock import Cutoff
from proxies.asof.policies import POLICY_VERSION
from proxies.asof.readjust import aged
from proxies.catalogue.schema import Endpoint
from proxies.errors import CutoffRefused, ProxyError, SourceRejected, SourceUnavailable
from proxies.fetch.cache import RawAnswer, RawCache, may_serve
from proxies.fetch.single_flight import SingleFlight
from proxies.fetch.source import Source
from proxies.hashing import canonical_json, sha256_of
from proxies.settings import ProxySettings

log = logging.getLogger(__name__)
T = TypeVar("T")


class RawStore:
    """The sources of a broker behind its raw cache."""

    def __init__(self, sources: Mapping[str, Source], settings: ProxySettings) -> None:
        self.sources = sources
        self.cache = RawCache(settings.cache_path, settings.cache_bytes)
        self._settings = settings
        self._fetches: SingleFlight[RawAnswer] = SingleFlight()

    async def get(self, endpoint: Endpoint, params: Mapping[str, Any], cutoff: Cutoff) -> RawAnswer:
        """Return the raw answer to a request as it is sent. The broker asks for pages and for a policy's lookups.

        Raises `CutoffRefused`: The endpoint's source is not set up. Raises `SourceUnavailable`: The network is switched off, and the cache
        has nothing that may serve. Raises `ProxyError`: As `Source.fetch`.
        """
        source = self.sources.get(endpoint.source.name)
        if source is None:
            raise CutoffRefused(f"the source {endpoint.source.name} is not set up")
        if endpoint.method == "LOCAL":
            # files on this machine: a copy in the cache would save no request
            return await source.fetch(endpoint, params)
        now = self._settings.now()

        def usable(fetched_at: datetime) -> bool:
            serves = may_serve(fetched_at, cutoff, now, self._settings.live_max_age)
            return serves and not aged(endpoint, fetched_at, now)

        name = _name(endpoint, params)
        cached = await self._on_disk(self.cache.find, name, now, usable)
        if cached is not None:
            return cached
        if endpoint.source.hosts and not self._settings.network:
            raise SourceUnavailable(
                f"{source.name} was not asked: WORKBENCH_NETWORK=off switches the network off; unset it, or ask an embedded or own source"
            )
        return await self._fetches.run(name, lambda: self._fetch(name, source, endpoint, dict(params)))

    async def _fetch(
        self, name: str, source: Source, endpoint: Endpoint, params: dict[str, Any]
    ) -> RawAnswer:
        try:
            raw = await source.fetch(endpoint, params)
        except ProxyError:
            raise
        except Exception as error:
            # an answer of a wild shape must not reach the caller as a traceback of ours
            log.warning("%s: unreadable answer (%s)", endpoint.path, type(error).__name__, exc_info=error)
            raise SourceRejected(f"{source.name} answered in a form that cannot be read") from error
        put = functools.partial(
            self.cache.put, source=endpoint.source.name, endpoint=endpoint.path, sent=params
        )
        # stored inside the shared task, so that a caller who asks just after its end finds it in the cache
        await self._on_disk(put, name, raw)
        return raw

    async def _on_disk(self, work: Callable[..., T], *arguments: Any) -> T | None:
        """Run the cache's work in a thread; at once if the cache is in memory, where a thread would take longer.

        None where it fails: a cache that is damaged or full costs a request, and never an answer that came.
        """
        if self._settings.cache_path is None:
            return work(*arguments)
        try:
            return await asyncio.to_thread(work, *arguments)
        except (sqlite3.Error, OSError) as error:
            log.warning("the cache of answers is not used (%s)", error)
            return None

    async def discard(self, endpoint: Endpoint, params: Mapping[str, Any]) -> None:
        """Remove a cached answer that turned out wrong. Answers are parsed after they were cached, so this comes late."""
        await self._on_disk(self.cache.discard, _name(endpoint, params))

    async def aclose(self) -> None:
        """Cancel what is being fetched; close sources and cache."""
        await self._fetches.aclose()
        for source in self.sources.values():
            await source.aclose()
        self.cache.close()


def _name(endpoint: Endpoint, params: Mapping[str, Any]) -> str:
    """Hash what decides an answer, the upstream call included: a service's file may change under its path. Never a key."""
    source = endpoint.source
    call = [endpoint.method, source.hosts.get(endpoint.host, ""), endpoint.url, dict(endpoint.fixed), dict(source.always), endpoint.answer]  # fmt: skip
    return sha256_of(canonical_json([source.name, endpoint.path, call, dict(params), POLICY_VERSION]))
