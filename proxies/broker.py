"""The broker, the one door to data: allow-list, clamp, fetch, filter, meta, ledger; fail closed.

A `Broker` holds what is shared (sources, raw cache, calls in flight); a `BrokerSession` holds one cutoff and one
ledger, so that parallel tasks with other dates cannot touch each other's clock.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from proxies.answers import Job, PageReader, empty, gives_rows
from proxies.asof.clock import Cutoff
from proxies.asof.policies import ApiRequest, AskAgain, Lookup
from proxies.catalogue.availability import Availability
from proxies.catalogue.docs import READING, read_catalogue
from proxies.catalogue.loader import Catalogue
from proxies.catalogue.schema import Endpoint, Residual, SourceInfo, residual_limit
from proxies.errors import (
    ANOTHER_WAY,
    CutoffRefused,
    MissingKey,
    NoCutoff,
    NoSuch,
    NotJson,
    Refused,
    SchemaDrift,
    SourceRejected,
)
from proxies.fetch.raw_store import RawStore, SingleFlight, Source
from proxies.fetch.read_back import is_beyond
from proxies.fetch.transport import LARGE, Transport
from proxies.hashing import canonical_json, content_hash
from proxies.json_text import Fields, Row
from proxies.ledger import Address, Answer, Ledger, LedgerRow
from proxies.request import as_json, check, plan_request
from proxies.settings import ProxySettings
from proxies.vendors.vendor_registry import check_codecs, open_sources

__all__ = ["Broker", "BrokerSession", "ProxySettings", "open_broker"]

log = logging.getLogger(__name__)
T = TypeVar("T")
# only window_end asks again, each time for an earlier end, and each try is one of the plan's searches
_MOST_AGAIN = 4
_IN_THREAD = 200_000  # bytes
# of all pages of an answer: as Python values they take up to ten times this
_MOST_BYTES = 192_000_000


class Exchange(NamedTuple):
    """An answer and the requests that were sent for it."""

    answer: Answer
    sent: list[Row]


class Broker:
    """Fetches and filters for all sessions of a process, sending equal requests once. Made by `open_broker`."""

    def __init__(
        self, *, catalogue: Catalogue, sources: Mapping[str, Source], settings: ProxySettings
    ) -> None:
        self.catalogue = catalogue
        self.settings = settings
        self._raw = RawStore(sources, settings)
        self._exchanges: SingleFlight[Exchange] = SingleFlight()

    def session(
        self,
        cutoff: Cutoff | None,
        ledger: Ledger,
        *,
        strict: bool = False,
        max_residual: Residual | None = None,
    ) -> "BrokerSession":
        """Open a session with its own cutoff and ledger."""
        return BrokerSession(self, cutoff, ledger, most=residual_limit(max_residual, strict=strict))

    async def aclose(self) -> None:
        """Cancel what is under way; close sources and cache."""
        await self._exchanges.aclose()
        await self._raw.aclose()

    async def exchange(
        self, endpoint: Endpoint, params: Fields, cutoff: Cutoff, *, most: Residual
    ) -> Exchange:
        """Answer a checked request as of a cutoff; simultaneous equal requests are sent and read once.

        Raises `Refused, SourceError`: As BrokerSession.call.
        """
        request = ApiRequest(endpoint=endpoint, params=dict(params))
        # with the residual risk a session allows: what one is refused another may have
        key = endpoint.path, canonical_json(request.params), cutoff.live, cutoff.instant, most
        return await self._exchanges.run(key, lambda: self._ask(request, cutoff, most=most))

    async def _ask(self, request: ApiRequest, cutoff: Cutoff, *, most: Residual) -> Exchange:
        plan = plan_request(request, cutoff, most=most)
        sent: list[Row] = []
        if plan.empty:
            job = Job(request=request, cutoff=cutoff, plan=plan)
            return Exchange(empty(job, None, hint=False), sent)
        lookups: dict[str, tuple[str, bytes] | None] = {}
        for lookup in plan.lookups:
            if not lookup.spared_by(lookups):
                lookups[lookup.name] = await self._look_up(lookup, cutoff, sent)
        job = Job(request=request, cutoff=cutoff, plan=plan, lookups=lookups)
        try:
            answer = await self._windows(job, sent)
        except NoSuch:
            # an endpoint that gives one thing has no empty form: there "no such thing" is the neutral answer
            if cutoff.live or not gives_rows(request.endpoint):
                raise
            # an empty list and "no such thing" must look alike: the difference can tell what came later
            # and a time of fetching is set: without one a name that never was differs from one whose rows are all late
            answer = empty(job, self.settings.now(), hint=True)
        return Exchange(answer, sent)

    async def _windows(self, job: Job, sent: list[Row]) -> Answer:
        for _ in range(1 + _MOST_AGAIN):
            try:
                return await self._pages(job, sent)
            except AskAgain as again:
                answers = await asyncio.gather(
                    *(self._look_up(item, job.cutoff, sent) for item in again.lookups)
                )
                more = dict(zip((item.name for item in again.lookups), answers, strict=True))
                plan = replace(job.plan, params=again.params)
                job = replace(job, plan=plan, lookups={**job.lookups, **more})
        raise CutoffRefused(
            f"{job.request.endpoint.path} gives no window that ends before the cutoff: ask for a longer one"
        )

    async def _pages(self, job: Job, sent: list[Row]) -> Answer:
        """Answer from one page, or from as many as it takes until enough rows survive the policy."""
        endpoint, size = job.request.endpoint, job.size
        body: bytes | None = None
        fetched_at: datetime | None = None
        try:
            reader = await _off_the_loop(size, PageReader, job)
            while not isinstance(step := await _off_the_loop(size, reader.step, body, fetched_at), Answer):
                sent.append({"endpoint": endpoint.path, **step})
                try:
                    raw = await self._raw.get(endpoint, step, job.cutoff)
                    body, fetched_at = raw.body, raw.fetched_at
                except SourceRejected:
                    if not is_beyond(endpoint, step):
                        raise
                    # past the last page that the vendor documents an error says that there are no more pages
                    body = b"[]"
                size += len(body)
                if size > _MOST_BYTES:
                    raise SourceRejected(
                        f"the answer has {size // 1_000_000} MB in all, too many to read: ask for less"
                    )
        except (NotJson, SchemaDrift):
            # every answer of the job leaves the cache, lookups too: which of them was broken is not known here
            for request in sent:
                params = {name: value for name, value in request.items() if name != "endpoint"}
                await self._raw.discard(self.catalogue.resolve(request["endpoint"]), params)
            raise
        return step

    async def _look_up(self, lookup: Lookup, cutoff: Cutoff, sent: list[Row]) -> tuple[str, bytes] | None:
        """Return another endpoint's raw answer, for the policy and never for the caller; None if there is none."""
        endpoint = self.catalogue.resolve(lookup.path)
        try:
            raw = await self._raw.get(endpoint, lookup.params, cutoff)
        # an outage or a used-up plan is raised: taken for "has none" it would be recorded as the answer for good
        except (Refused, SourceRejected) as error:
            # a list without rows is an answer, so that "no such thing" in its place is a source that could not be asked
            unknown = isinstance(error, NoSuch)
            if lookup.needed and not unknown:
                raise
            if lookup.needed and endpoint.rows == "[]":
                raise SourceRejected(
                    f"{endpoint.source.name} does not answer {endpoint.path}, without which these rows cannot be dated"
                ) from error
            log.info("no help from %s: %s", lookup.path, error)
            return None
        sent.append({"endpoint": endpoint.path, **lookup.params})
        return endpoint.source.name, raw.body


class BrokerSession:
    """Answers one caller's requests as of one cutoff and records each in one ledger. Made by `Broker.session`."""

    def __init__(self, broker: Broker, cutoff: Cutoff | None, ledger: Ledger, *, most: Residual) -> None:
        self._broker = broker
        self.cutoff = cutoff
        self.most = most
        self._ledger = ledger

    def pin(self, cutoff: Cutoff) -> None:
        """Declare the cutoff; afterwards it can only move back.

        Raises `CutoffRefused`: The new cutoff is later than the pinned one.
        """
        if self.cutoff is not None and _order(cutoff) > _order(self.cutoff):
            raise CutoffRefused(
                f"the cutoff is {self.cutoff.text} and can only be moved to an earlier time, not to {cutoff.text}"
            )
        self.cutoff = cutoff

    async def call(self, path: str, params: Fields | None, address: Address) -> Answer:
        """Answer a request as of the session's cutoff, from the ledger if it is recorded at this address.

        Raises `Refused`: The request cannot be answered as asked. Raises `SourceError`: The upstream failed; nothing is recorded, so that
        it can be asked again. Raises `LedgerMismatch`: Another request is recorded at the address.
        """
        cutoff = self.cutoff
        # before the check, and of anything that was passed: refusals are recorded and replayed too
        raw_params = as_json(params if isinstance(params, Mapping) else {"params": params} if params else {})
        instant = "none" if cutoff is None else "live" if cutoff.live else cutoff.instant.isoformat()
        request_hash = content_hash([as_json(str(path)), raw_params, instant, self.most])
        recorded = self._ledger.recall(address, request_hash)
        if recorded is not None:
            if recorded.answer is not None:
                return recorded.answer
            raise Refused(recorded.refused or "refused")
        exchange: Exchange | None = None
        refused: Refused | None = None
        begun = time.monotonic()
        try:
            if path in READING:
                exchange = Exchange(self._read(path, raw_params), [])
            elif cutoff is None:
                raise NoCutoff(
                    "no cutoff is declared: declare one first (%cutoff 2018-06-30, or %cutoff live)"
                )
            else:
                endpoint = self._broker.catalogue.resolve(path)
                checked = check(endpoint, params, cutoff)
                exchange = await self._broker.exchange(endpoint, checked, cutoff, most=self.most)
        except (MissingKey, CutoffRefused) as error:
            refused = type(error)(f"{error.reason} ({ANOTHER_WAY})")
        except Refused as error:
            refused = error
        answer = exchange.answer if exchange else None
        row = LedgerRow(
            address=address,
            at_utc=self._broker.settings.now().isoformat(),
            path=path,
            asked=raw_params,
            sent=exchange.sent if exchange else [],
            cutoff=instant if cutoff is None or cutoff.live else cutoff.text,
            answer=answer,
            refused=refused.reason if refused else None,
            request_hash=request_hash,
            audit=_audit(answer, time.monotonic() - begun) if answer else {},
        )
        # before the answer is returned: a run that dies in between is answered from the ledger, the vendor asked once
        await self._record(row)
        if answer is None:
            assert refused is not None, "a call ends in an answer or a refusal"
            raise refused
        return answer

    def _read(self, path: str, params: Fields) -> Answer:
        """Answer `CALL_API.search` or `.doc`; recorded like data, so that a cell can be run again."""
        settings = self._broker.settings
        setting = Availability.of(settings.keys, self.cutoff, most=self.most)
        text = read_catalogue(self._broker.catalogue, path, params, setting)
        return Answer(data=text, meta={"endpoint": path, "content_hash": content_hash(text)})

    async def _record(self, row: LedgerRow) -> None:
        """Store a row; a large one in a thread, since compressing it would block the loop for 20 ms and more."""
        if row.answer is not None and len(row.answer.body) >= _IN_THREAD:
            await asyncio.to_thread(self._ledger.record, row)
        else:
            self._ledger.record(row)


def open_broker(
    settings: ProxySettings, *, transport: Callable[[SourceInfo], Transport] | None = None
) -> Broker:
    """Open a broker over the whole catalogue, with every source set up by the settings.

    ``transport`` makes another transport than each source's own, for tests.
    """
    catalogue = settings.catalogue()
    check_codecs(catalogue)
    return Broker(
        catalogue=catalogue, sources=open_sources(catalogue, settings, transport), settings=settings
    )


async def _off_the_loop(size: int, work: Callable[..., T], *arguments: Any) -> T:
    """Do some work on answers of so many bytes: of large ones in a thread, so that other kernels are served meanwhile."""
    return await asyncio.to_thread(work, *arguments) if size >= LARGE else work(*arguments)


def _order(cutoff: Cutoff) -> float:
    # live shows everything, so it is the latest cutoff of all: a session can leave it and never come back
    return float("inf") if cutoff.live else cutoff.instant.timestamp()


def _audit(answer: Answer, seconds: float) -> Row:
    if not answer.dropped:
        return {"rows_dropped": 0, "dropped_why": {}, "seconds": round(seconds, 4)}
    dropped = dict(answer.dropped)
    return {"rows_dropped": sum(dropped.values()), "dropped_why": dropped, "seconds": round(seconds, 4)}
