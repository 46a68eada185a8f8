"""Raw answers: from the cache where one may serve, else from the source, once for all who ask at the same time."""

import asyncio
import contextlib
import functools
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from proxies.asof.clock import Cutoff
from proxies.asof.policies import POLICY_VERSION, AskAgain
from proxies.asof.readjust import aged
from proxies.catalogue.loader import Endpoint
from proxies.errors import CutoffRefused, ProxyError, Refused, SourceRejected
from proxies.fetch.cache import Packed, Raw, RawCache, may_serve, raw_name
from proxies.fetch.transport import MUCH_COMES
from proxies.settings import ProxySettings
from proxies.vendors.base import Source

log = logging.getLogger(__name__)
_IN_THREAD = 200_000


@dataclass(slots=True)
class _Fresh:
    """A large answer that just came and is not in the cache yet, and how it gets there."""

    raw: Raw
    keep: Callable[[str, Raw], None]
    task: asyncio.Task[Any] | None = None


class Raws:
    """The sources of a broker, behind its raw cache.

    Parameters
    ----------
    sources : mapping of source name to Source
    settings : ProxySettings
    much_comes : callable
        Called while a large answer comes in.
    """

    def __init__(
        self, sources: Mapping[str, Source], settings: ProxySettings, *, much_comes: Callable[[], None]
    ) -> None:
        self.sources = sources
        self.cache = RawCache(settings.cache_path, settings.cache_bytes)
        self._settings = settings
        self._much_comes = much_comes
        self._keeping: dict[str, _Fresh] = {}
        self._flying: dict[str, asyncio.Task[Raw]] = {}

    async def aclose(self) -> None:
        """Close sources and cache; what is on its way into the cache gets there."""
        flying = list(self._flying.values())
        for task in flying:
            task.cancel()
        keeping = [fresh.task for fresh in self._keeping.values() if fresh.task]
        await asyncio.gather(*flying, *keeping, return_exceptions=True)
        for source in self.sources.values():
            await source.aclose()
        self.cache.close()

    async def get(self, endpoint: Endpoint, params: Mapping[str, Any], cutoff: Cutoff) -> Raw:
        """A raw answer: from the cache where it may serve, else from the source, once for all who ask now."""
        source = self.sources.get(endpoint.source.name)
        if source is None:
            raise CutoffRefused(f"the source {endpoint.source.name} is not set up")
        if endpoint.method == "LOCAL":
            return await source.fetch(endpoint, params)
        name = raw_name(endpoint.source.name, endpoint.path, params, POLICY_VERSION)
        now = self._settings.now()
        fresh = self._keeping.get(name)
        kept: Raw | Packed | None = fresh.raw if fresh else await self._cached(0, self.cache.find, name, now)
        serves = kept is not None and may_serve(kept, cutoff, now, self._settings.live_max_age)
        if kept is not None and serves and not aged(endpoint, kept.fetched_at, now):
            return kept if isinstance(kept, Raw) else await offload(8 * len(kept.body), kept.open)
        task = self._flying.get(name)
        if task is None:
            task = asyncio.create_task(self._fetch(name, source, endpoint, dict(params)))
            self._flying[name] = task
            task.add_done_callback(lambda done: self._landed(name, done))
        # a caller that is cancelled must not cancel the others' call
        return await asyncio.shield(task)

    def _landed(self, name: str, task: asyncio.Task[Raw]) -> None:
        self._flying.pop(name, None)
        if not task.cancelled():
            task.exception()

    async def _fetch(self, name: str, source: Source, endpoint: Endpoint, params: dict[str, Any]) -> Raw:
        MUCH_COMES.set(self._much_comes)
        try:
            raw = await source.fetch(endpoint, params)
        except ProxyError:
            raise
        except (
            Exception
        ) as error:  # an answer of a wild shape must not reach the caller as a traceback of ours
            log.warning("%s: unreadable answer (%s)", endpoint.path, type(error).__name__, exc_info=error)
            raise SourceRejected(f"{source.name} answered in a form that cannot be read") from error
        keep = functools.partial(
            self.cache.put, source=endpoint.source.name, endpoint=endpoint.path, sent=params
        )
        if raw.read and len(raw.body) < _IN_THREAD:
            await self._cached(0, keep, name, raw)
        else:
            self._keeping[name] = fresh = _Fresh(raw, keep)
            if raw.read:
                self._keep(name, fresh)
        return raw

    @contextlib.contextmanager
    def reading(self, *bodies: bytes) -> Iterator[None]:
        """Large answers go to the cache when they have been read: what is not JSON must be asked for again."""
        good = False
        try:
            yield
            good = True
        except (Refused, AskAgain):
            good = True
            raise
        finally:
            for name, fresh in list(self._keeping.items()):
                if any(fresh.raw.body is body for body in bodies):
                    if good:
                        self._keep(name, fresh)
                    else:
                        del self._keeping[name]

    def _keep(self, name: str, fresh: _Fresh) -> None:
        """Cache a large answer while others go on; until it is there it serves from memory."""
        if fresh.task is None:
            fresh.task = asyncio.create_task(self._cached(len(fresh.raw.body), fresh.keep, name, fresh.raw))
            fresh.task.add_done_callback(lambda done: self._kept(name, fresh, done))

    def _kept(self, name: str, fresh: _Fresh, task: asyncio.Task[Any]) -> None:
        if self._keeping.get(name) is fresh:
            del self._keeping[name]
        if not task.cancelled() and task.exception() is not None:
            log.warning("a raw answer could not be kept", exc_info=task.exception())

    async def _cached(self, size: int, work: Callable[..., Any], *args: Any) -> Any:
        """Work on the cache: in a thread where it is a file or large, at once where it is memory."""
        return await offload(_IN_THREAD if self._settings.cache_path else size, work, *args)


async def offload(size: int, work: Callable[..., Any], *args: Any) -> Any:
    """Small work at once; larger work in a thread, so that others get their turns between its steps."""
    return work(*args) if size < _IN_THREAD else await asyncio.to_thread(work, *args)
