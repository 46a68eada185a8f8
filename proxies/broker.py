"""The broker: the one door to data. Allow-list, clamp, call, drop, meta, ledger; fail closed.

A `Broker` holds what is shared (sources, raw cache, calls in flight); a `BrokerSession` holds one cutoff and one
ledger, so that parallel tasks with other dates cannot touch each other's clock.
"""

import asyncio
import functools
import hashlib
import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import orjson

from proxies import paging, pipeline
from proxies.cache import Raw, RawCache, may_serve, raw_name
from proxies.catalogue.loader import Catalogue, Endpoint, SourceInfo, load_catalogue
from proxies.clock import Cutoff
from proxies.errors import CutoffRefused, NoCutoff, NoSuch, ProxyError, Refused, SourceRejected
from proxies.ledger import Address, Answer, Ledger, LedgerRow, canonical
from proxies.pipeline import Settled
from proxies.policies import POLICY_VERSION, Ask, AskAgain, Found, Plan
from proxies.readjust import aged
from proxies.request import as_json, check
from proxies.rows import count, steps_of
from proxies.settings import ProxySettings
from proxies.sources.base import Source
from proxies.sources.registry import open_sources
from proxies.transport import Wire

__all__ = ["Broker", "BrokerSession", "ProxySettings", "open_broker"]

log = logging.getLogger(__name__)
_IN_THREAD = 200_000
_MOST_AGAIN = 4
_MEMO_BYTES = 96_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """An answer that was settled once: shared by equal requests of equal cutoffs."""

    answer: Answer
    sent: list[dict[str, Any]]


class Broker:
    """What all sessions of a process share.

    Parameters
    ----------
    catalogue : Catalogue
    sources : mapping of source name to Source
    settings : ProxySettings
    """

    def __init__(
        self, *, catalogue: Catalogue, sources: Mapping[str, Source], settings: ProxySettings
    ) -> None:
        self.catalogue = catalogue
        self.settings = settings
        self._sources = sources
        self._cache = RawCache(settings.cache_path, settings.cache_bytes)
        self._flying: dict[str, asyncio.Task[Raw]] = {}
        self._memo: OrderedDict[bytes, _Told] = OrderedDict()
        self._memo_bytes = 0

    def session(self, cutoff: Cutoff | None, ledger: Ledger, *, strict: bool = False) -> "BrokerSession":
        """A session with its own cutoff and ledger.

        Parameters
        ----------
        cutoff : Cutoff or None
            None: every data call is refused until one is pinned.
        ledger : Ledger
        strict : bool
            Refuse endpoints whose residual risk is high.
        """
        return BrokerSession(self, cutoff, ledger, strict=strict)

    async def aclose(self) -> None:
        """Close sources and cache."""
        flying = list(self._flying.values())
        for task in flying:
            task.cancel()
        await asyncio.gather(*flying, return_exceptions=True)
        for source in self._sources.values():
            await source.aclose()
        self._cache.close()

    async def told(
        self, endpoint: Endpoint, params: Mapping[str, Any], cutoff: Cutoff, *, strict: bool
    ) -> _Told:
        """The answer to a checked request as of a cutoff.

        Raises
        ------
        Refused, SourceError
            As BrokerSession.call.
        """
        # a local answer costs little, and its file may change under a running process
        lasting = not cutoff.live and endpoint.method != "LOCAL" and cutoff.instant < self.settings.now()
        name = canonical([endpoint.path, dict(params), cutoff.instant.isoformat(), strict])
        if lasting and name in self._memo:
            self._memo.move_to_end(name)
            return self._memo[name]
        told = await self._tell(
            Ask(endpoint=endpoint, params=MappingProxyType(dict(params))), cutoff, strict=strict
        )
        if lasting:
            self._remember(name, told)
        return told

    def _remember(self, name: bytes, told: _Told) -> None:
        if name not in self._memo:
            self._memo[name] = told
            self._memo_bytes += len(told.answer.encoded())
        while self._memo_bytes > _MEMO_BYTES and self._memo:
            _, old = self._memo.popitem(last=False)
            self._memo_bytes -= len(old.answer.encoded())

    async def _tell(self, ask: Ask, cutoff: Cutoff, *, strict: bool) -> _Told:
        plan = pipeline.plan(ask, cutoff, strict=strict)
        sent: list[dict[str, Any]] = []
        if plan.nothing:
            return _Told(answer=_answer(ask, cutoff, plan, pipeline.nothing(ask), None), sent=sent)
        found: dict[str, Any] = {}
        for lookup in plan.lookups:
            if lookup.needless({name: ("", orjson.dumps(rows)) for name, rows in found.items()}):
                continue
            found[lookup.name] = await self._look_up(lookup.path, lookup.params, cutoff, sent)
        told = Found(sent=plan.params, lookups=found)
        try:
            settled, raw = await self._pages(ask, cutoff, plan, told, sent)
        except NoSuch:
            if cutoff.live or not _many(ask.endpoint):
                raise
            # an empty list and "no such thing" must look alike: the difference can tell what came later
            hinted = replace(pipeline.nothing(ask), notes=("no rows: check the parameters",))
            return _Told(answer=_answer(ask, cutoff, plan, hinted, None), sent=sent)
        if not cutoff.live and _many(ask.endpoint) and not count(settled.data, ask.endpoint.rows or ""):
            settled = replace(settled, notes=(*settled.notes, "no rows: check the parameters"))
        answer = await _offload(len(raw.body), lambda: _answer(ask, cutoff, plan, settled, raw))
        return _Told(answer=answer, sent=sent)

    async def _pages(
        self, ask: Ask, cutoff: Cutoff, plan: Plan, found: Found, sent: list[dict[str, Any]]
    ) -> tuple[Settled, Raw]:
        """One page, or as many as it takes until enough rows survive the policy, bounded."""
        try:
            return await self._some_pages(ask, cutoff, plan, found, sent)
        except AskAgain as again:
            again_params = again.params
        for _ in range(_MOST_AGAIN):
            try:
                asked = Found(sent=again_params, lookups=found.lookups)
                return await self._some_pages(ask, cutoff, replace(plan, params=again_params), asked, sent)
            except AskAgain as again:
                again_params = again.params
        raise CutoffRefused(
            f"{ask.endpoint.path} gives no window that ends before the cutoff: ask for a longer one"
        )

    async def _some_pages(
        self, ask: Ask, cutoff: Cutoff, plan: Plan, found: Found, sent: list[dict[str, Any]]
    ) -> tuple[Settled, Raw]:
        pager = paging.pager(ask, cutoff, plan)
        raw: Raw | None = None
        while (params := pager.next()) is not None:
            raw = await self._raw(ask.endpoint, params, cutoff)
            sent.append({"endpoint": ask.endpoint.path, **params})
            body = raw.body
            payload = await _offload(len(body), lambda body=body: _loads(ask.endpoint, body))
            settled = await _offload(
                len(body), lambda payload=payload: pipeline.settle(ask, cutoff, payload, found)
            )
            pager.take(payload, settled)
        assert raw is not None, "a pager asks for at least one page"
        return pager.result(), raw

    async def _look_up(
        self, path: str, params: Mapping[str, Any], cutoff: Cutoff, sent: list[dict[str, Any]]
    ) -> Any:
        """Another endpoint's raw answer, for a policy's eyes only; None where it has none."""
        endpoint = self.catalogue.resolve(path)
        try:
            raw = await self._raw(endpoint, params, cutoff)
        except (Refused, SourceRejected) as error:
            log.info("no help from %s: %s", path, error)
            return None
        sent.append({"endpoint": endpoint.path, **params})
        return await _offload(len(raw.body), lambda: _loads(endpoint, raw.body))

    async def _raw(self, endpoint: Endpoint, params: Mapping[str, Any], cutoff: Cutoff) -> Raw:
        """A raw answer: from the cache where it may serve, else from the source, once for all who ask now."""
        source = self._sources.get(endpoint.source.name)
        if source is None:
            raise CutoffRefused(f"the source {endpoint.source.name} is not set up")
        if endpoint.method == "LOCAL":
            return await source.fetch(endpoint, params)
        name = raw_name(endpoint.source.name, endpoint.path, params, POLICY_VERSION)
        kept: Raw | None = await self._cached(self._cache.get, name)
        now = self.settings.now()
        serves = kept is not None and may_serve(kept, cutoff, now, self.settings.live_max_age)
        if kept is not None and serves and not aged(endpoint, kept.fetched_at, now):
            return kept
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
            self._cache.put, source=endpoint.source.name, endpoint=endpoint.path, sent=params
        )
        await self._cached(keep, name, raw)
        return raw

    async def _cached(self, work: Callable[..., Any], *args: Any) -> Any:
        """Work on the cache: in a thread where it is a file, at once where it is memory."""
        return work(*args) if self.settings.cache_path is None else await asyncio.to_thread(work, *args)


class BrokerSession:
    """One asker's door: a cutoff, a ledger, and `call`.

    Attributes
    ----------
    cutoff : Cutoff or None
        None: every data call is refused.
    """

    def __init__(self, broker: Broker, cutoff: Cutoff | None, ledger: Ledger, *, strict: bool) -> None:
        self._broker = broker
        self.cutoff = cutoff
        self.strict = strict
        self._ledger = ledger

    def pin(self, cutoff: Cutoff) -> None:
        """Declare the cutoff; once declared it can only move back.

        Raises
        ------
        CutoffRefused
            The new cutoff is later than the pinned one.
        """
        if self.cutoff is not None and _order(cutoff) > _order(self.cutoff):
            raise CutoffRefused(
                f"the cutoff is pinned at {self.cutoff.text}: it can be moved back, not to {cutoff.text}"
            )
        self.cutoff = cutoff

    async def call(self, path: str, params: Mapping[str, Any] | None, address: Address) -> Answer:
        """The answer to a request as of the session's cutoff, from the ledger where it is recorded at this address.

        Parameters
        ----------
        path : str
            A catalogue path or its unambiguous short form.
        params : mapping or None
            Not changed.
        address : Address
            Who asks.

        Raises
        ------
        Refused
            The request cannot be answered as asked.
        SourceError
            The upstream failed; nothing is recorded, so that it can be asked again.
        LedgerMismatch
            Another request is recorded at the address.
        """
        cutoff = self.cutoff
        asked = as_json(params if isinstance(params, Mapping) else {"params": params} if params else {})
        when = "none" if cutoff is None else "live" if cutoff.live else cutoff.instant.isoformat()
        request_hash = _hash([as_json(str(path)), asked, when, self.strict])
        recorded = self._ledger.recall(address, request_hash)
        if recorded is not None:
            if recorded.answer is not None:
                return recorded.answer
            raise Refused(recorded.refused or "refused")
        sent: list[dict[str, Any]] = []
        answer: Answer | None = None
        refused: Refused | None = None
        try:
            if cutoff is None:
                raise NoCutoff(
                    "no cutoff is declared: declare one first (%cutoff 2018-06-30, or %cutoff live)"
                )
            endpoint = self._broker.catalogue.resolve(path)
            checked = check(endpoint, params, cutoff)
            told = await self._broker.told(endpoint, checked, cutoff, strict=self.strict)
            answer, sent = told.answer, told.sent
        except Refused as error:
            refused = error
        self._ledger.record(
            LedgerRow(
                address=address,
                at_utc=self._broker.settings.now().isoformat(),
                path=path,
                asked=asked,
                sent=sent,
                cutoff=when if cutoff is None or cutoff.live else cutoff.text,
                answer=answer,
                refused=refused.reason if refused else None,
                request_hash=request_hash,
            )
        )
        if answer is None:
            assert refused is not None, "a call ends in an answer or a refusal"
            raise refused
        return answer


def open_broker(settings: ProxySettings, *, wire: Callable[[SourceInfo], Wire] | None = None) -> Broker:
    """A broker over the whole catalogue, with every source set up as the settings say.

    ``wire`` makes another wire than each source's own, for tests.
    """
    catalogue = load_catalogue()
    return Broker(catalogue=catalogue, sources=open_sources(catalogue, settings, wire), settings=settings)


def _many(endpoint: Endpoint) -> bool:
    """Whether an endpoint gives rows rather than one thing."""
    return (
        endpoint.rows is not None
        and endpoint.codec == ""
        and any(s.kind != "key" for s in steps_of(endpoint.rows))
    )


def _order(cutoff: Cutoff) -> float:
    return float("inf") if cutoff.live else cutoff.instant.timestamp()


def _hash(value: Any) -> str:
    return "sha256:" + hashlib.sha256(canonical(value)).hexdigest()


def _answer(ask: Ask, cutoff: Cutoff, plan: Plan, settled: Settled, raw: Raw | None) -> Answer:
    content = hashlib.sha256(canonical(settled.data)).hexdigest()
    meta = {
        **pipeline.meta_of(ask, cutoff, plan, settled),
        "fetched_at": raw.fetched_at.isoformat() if raw else None,
        "content_hash": "sha256:" + content,
    }
    return Answer(data=settled.data, meta=meta, body=orjson.dumps(settled.data))


def _loads(endpoint: Endpoint, body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        raise SourceRejected(f"{endpoint.source.name} answered with something that is not JSON") from None


async def _offload(size: int, work: Any) -> Any:
    """Small work at once; large work in a thread, so that one big answer does not hold up the others."""
    return work() if size < _IN_THREAD else await asyncio.to_thread(work)
