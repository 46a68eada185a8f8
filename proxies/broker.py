"""The broker: the one door to data. Allow-list, clamp, call, drop, meta, ledger; fail closed.

A `Broker` holds what is shared (sources, raw cache, calls in flight); a `BrokerSession` holds one cutoff and one
ledger, so that parallel tasks with other dates cannot touch each other's clock.
"""

import asyncio
import contextlib
import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType
from typing import Any

from proxies.asof import pipeline
from proxies.asof.clock import Cutoff
from proxies.asof.policies import Ask, AskAgain
from proxies.catalogue.loader import Catalogue, Endpoint, SourceInfo, load_catalogue
from proxies.errors import CutoffRefused, NoCutoff, NoSuch, Refused, SourceRejected
from proxies.fetch.cache import LARGE, Raw
from proxies.fetch.handling import Done, Handling, Job, More, done, gives_rows, hinted
from proxies.fetch.helper import CannotStart, Helper, Seat
from proxies.fetch.raws import Raws, offload
from proxies.fetch.transport import Wire
from proxies.hashing import canonical_json, sha256_of
from proxies.ledger import UNREAD, Address, Answer, Ledger, LedgerRow, Packer
from proxies.request import as_json, check
from proxies.settings import ProxySettings
from proxies.vendors.base import Source
from proxies.vendors.registry import open_sources

__all__ = ["Broker", "BrokerSession", "ProxySettings", "open_broker"]

log = logging.getLogger(__name__)
_MOST_AGAIN = 4
_MEMO_BYTES = 96_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """An answer that was settled once: shared by equal requests of equal cutoffs."""

    answer: Answer
    sent: list[dict[str, Any]]
    dropped: Mapping[str, int] = field(default_factory=dict)


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
        self._helper = Helper()
        self._raws = Raws(sources, settings, much_comes=self._helper.ready)
        self._telling: dict[bytes, asyncio.Task[_Told]] = {}
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
        """End what is under way; close sources and cache."""
        telling = list(self._telling.values())
        for task in telling:
            task.cancel()
        await asyncio.gather(*telling, return_exceptions=True)
        await self._helper.aclose()
        await self._raws.aclose()

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
        name = canonical_json([endpoint.path, dict(params), cutoff.instant.isoformat(), strict])
        if lasting and name in self._memo:
            self._memo.move_to_end(name)
            return self._memo[name]
        ask = Ask(endpoint=endpoint, params=MappingProxyType(dict(params)))
        if not lasting:
            return await self._tell(ask, cutoff, strict=strict)
        task = self._telling.get(name)
        if task is None:
            task = self._telling[name] = asyncio.create_task(self._tell(ask, cutoff, strict=strict))
            task.add_done_callback(lambda done: self._remember(name, done))
        # equal requests at once are one; a caller that is cancelled must not cancel the others'
        return await asyncio.shield(task)

    def _remember(self, name: bytes, task: asyncio.Task[_Told]) -> None:
        del self._telling[name]
        if task.cancelled() or task.exception() is not None:
            return
        self._memo[name] = told = task.result()
        self._memo_bytes += len(told.answer.encoded())
        while self._memo_bytes > _MEMO_BYTES and self._memo:
            _, old = self._memo.popitem(last=False)
            self._memo_bytes -= len(old.answer.encoded())

    async def _tell(self, ask: Ask, cutoff: Cutoff, *, strict: bool) -> _Told:
        plan = pipeline.plan(ask, cutoff, strict=strict)
        sent: list[dict[str, Any]] = []
        if plan.nothing:
            job = Job(ask=ask, cutoff=cutoff, plan=plan)
            return _Told(answer=_answer(job, done(pipeline.nothing(ask)), None), sent=sent)
        lookups: dict[str, tuple[str, bytes] | None] = {}
        for one in plan.lookups:
            if not one.needless(lookups):
                lookups[one.name] = await self._look_up(one.path, one.params, cutoff, sent)
        job = Job(ask=ask, cutoff=cutoff, plan=plan, lookups=lookups)
        try:
            settled, raw = await self._windows(job, sent)
        except NoSuch:
            if cutoff.live or not gives_rows(ask.endpoint):
                raise
            # an empty list and "no such thing" must look alike: the difference can tell what came later
            empty = done(hinted(job, pipeline.nothing(ask)))
            return _Told(answer=_answer(job, empty, self.settings.now()), sent=sent)
        answer = _answer(job, settled, raw.fetched_at, packer=self.pack)
        return _Told(answer=answer, sent=sent, dropped=settled.dropped)

    async def _windows(self, job: Job, sent: list[dict[str, Any]]) -> tuple[Done, Raw]:
        """The window as planned, or as the policy asks for it again, bounded."""
        for _ in range(1 + _MOST_AGAIN):
            try:
                return await self._pages(job, sent)
            except AskAgain as again:
                job = replace(job, plan=replace(job.plan, params=again.params))
        raise CutoffRefused(
            f"{job.ask.endpoint.path} gives no window that ends before the cutoff: ask for a longer one"
        )

    async def _pages(self, job: Job, sent: list[dict[str, Any]]) -> tuple[Done, Raw]:
        """One page, or as many as it takes until enough rows survive the policy; large ones in the helper."""
        raw: Raw | None = None
        bodies: list[bytes] = []
        here: Handling | None = None
        seat: Seat | None = None
        helps = job.size >= LARGE
        while True:
            step: More | Done | None = None
            with self._raws.reading(*bodies, *job.looked):
                if helps:
                    seat = seat or self._helper.seat()
                    with contextlib.suppress(CannotStart):
                        step = await self._helper.step(seat, job, bodies)
                if step is None:
                    new = bodies[-1:] if here else bodies
                    here = here or await offload(job.size, Handling, job)
                    step = await offload(sum(map(len, new)), here.step, new)
            if isinstance(step, Done):
                assert raw is not None, "a pager asks for at least one page"
                return step, raw
            endpoint = job.ask.endpoint
            raw = await self._raws.get(endpoint, step.params, job.cutoff)
            sent.append({"endpoint": endpoint.path, **step.params})
            bodies.append(raw.body)
            helps = helps or len(raw.body) >= LARGE

    async def pack(self, body: bytes, content_hash: str) -> Any:
        """The columns of a large answer, from the helper; UNREAD: to be made here."""
        if len(body) < LARGE:
            return UNREAD
        try:
            return await self._helper.columns(body, content_hash)
        except CannotStart:
            return UNREAD

    async def _look_up(
        self, path: str, params: Mapping[str, Any], cutoff: Cutoff, sent: list[dict[str, Any]]
    ) -> tuple[str, bytes] | None:
        """Another endpoint's raw answer, for a policy's eyes only; None where it has none."""
        endpoint = self.catalogue.resolve(path)
        try:
            raw = await self._raws.get(endpoint, params, cutoff)
        except (Refused, SourceRejected) as error:
            log.info("no help from %s: %s", path, error)
            return None
        sent.append({"endpoint": endpoint.path, **params})
        return endpoint.source.name, raw.body


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
                recorded.answer.packer = self._broker.pack
                return recorded.answer
            raise Refused(recorded.refused or "refused")
        sent: list[dict[str, Any]] = []
        dropped: Mapping[str, int] = {}
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
            answer, sent, dropped = told.answer, told.sent, told.dropped
        except Refused as error:
            refused = error
        row = LedgerRow(
            address=address,
            at_utc=self._broker.settings.now().isoformat(),
            path=path,
            asked=asked,
            sent=sent,
            cutoff=when if cutoff is None or cutoff.live else cutoff.text,
            answer=answer,
            refused=refused.reason if refused else None,
            request_hash=request_hash,
            audit={"rows_dropped": sum(dropped.values()), "dropped_why": dict(dropped)} if answer else {},
        )
        await offload(len(answer.encoded()) if answer else 0, self._ledger.record, row)
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


def _order(cutoff: Cutoff) -> float:
    return float("inf") if cutoff.live else cutoff.instant.timestamp()


def _hash(value: Any) -> str:
    return sha256_of(canonical_json(value))


def _answer(job: Job, told: Done, fetched_at: datetime | None, *, packer: Packer | None = None) -> Answer:
    meta = {
        **pipeline.meta_of(job.ask, job.cutoff, job.plan, undated=told.undated, notes=told.notes),
        "fetched_at": fetched_at.isoformat() if fetched_at else None,
        "content_hash": told.content_hash,
    }
    return Answer(data=told.data, meta=meta, body=told.body, packer=packer)
