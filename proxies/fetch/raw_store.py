"""Get raw answers: from the cache if one may serve, else from the source, once for all who ask simultaneously."""

import asyncio
import functools
import logging
import sqlite3
from collections.abc import Callable, Coroutine, Hashable, Mapping
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar

from proxies.asof.clock import Cutoff
from proxies.asof.policies import POLICY_VERSION
from proxies.asof.readjust import aged
from proxies.catalogue.schema import Endpoint
from proxies.errors import CutoffRefused, ProxyError, SourceRejected, SourceUnavailable
from proxies.fetch.cache import RawAnswer, RawCache, may_serve
from proxies.hashing import canonical_json, sha256_of
from proxies.json_text import Fields, Row
from proxies.settings import ProxySettings

log = logging.getLogger(__name__)
T = TypeVar("T")


class Source(Protocol):
    """One vendor. The raw store calls `fetch` when its cache cannot serve; implementations lie in `proxies.vendors`."""

    name: str

    async def fetch(self, endpoint: Endpoint, params: Fields) -> RawAnswer:
        """Return the vendor's answer to checked parameters as JSON bytes, or raise a ProxyError."""
        ...

    async def aclose(self) -> None:
        """Close connections. Called once, by the broker's `aclose`."""
        ...


class SingleFlight(Generic[T]):
    """Runs one task per key: whoever asks for a key during its task gets the same result.

    The broker uses one for answers and one for raw answers, so that twenty kernels with one question are one request.
    Nothing is remembered once the task has ended.
    """

    def __init__(self) -> None:
        self._running: dict[Hashable, asyncio.Task[T]] = {}

    async def run(self, key: Hashable, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return the result of ``work()``, or of the equal work that is running; errors are shared too."""
        task = self._running.get(key)
        if task is None:
            task = self._running[key] = asyncio.create_task(work())
            task.add_done_callback(lambda ended: self._forget(key, ended))
        # a caller that is cancelled must not cancel the others' work
        return await asyncio.shield(task)

    def _forget(self, key: Hashable, task: asyncio.Task[T]) -> None:
        # a failure is not remembered either: the next caller asks anew
        self._running.pop(key, None)
        if not task.cancelled():
            task.exception()  # read here, so that asyncio does not complain when every caller was cancelled

    async def aclose(self) -> None:
        """Cancel what is running and wait for its end."""
        running = list(self._running.values())
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


class RawStore:
    """The sources of a broker behind its raw cache."""

    def __init__(self, sources: Mapping[str, Source], settings: ProxySettings) -> None:
        self.sources = sources
        self.cache = RawCache(settings.cache_path, settings.cache_bytes)
        self._settings = settings
        self._fetches: SingleFlight[RawAnswer] = SingleFlight()

    async def get(self, endpoint: Endpoint, params: Fields, cutoff: Cutoff) -> RawAnswer:
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
                f"{source.name} was not called because WORKBENCH_NETWORK=off; unset that variable, or use a built-in or own source"
            )
        return await self._fetches.run(name, lambda: self._fetch(name, source, endpoint, dict(params)))

    async def _fetch(self, name: str, source: Source, endpoint: Endpoint, params: Row) -> RawAnswer:
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

    async def discard(self, endpoint: Endpoint, params: Fields) -> None:
        """Remove a cached answer that turned out wrong. Answers are parsed after they were cached, so this comes late."""
        await self._on_disk(self.cache.discard, _name(endpoint, params))

    async def aclose(self) -> None:
        """Cancel what is being fetched; close sources and cache."""
        await self._fetches.aclose()
        for source in self.sources.values():
            await source.aclose()
        self.cache.close()


def _name(endpoint: Endpoint, params: Fields) -> str:
    """Hash what decides an answer, the upstream call included: a service's file may change under its path. Never a key."""
    source = endpoint.source
    call = [endpoint.method, source.hosts.get(endpoint.host, ""), endpoint.url, dict(endpoint.fixed), dict(source.always), endpoint.answer]  # fmt: skip
    return sha256_of(canonical_json([source.name, endpoint.path, call, dict(params), POLICY_VERSION]))
