"""Make the data calls of searches and pages, each at a ledger address that follows from the request, and record each result's fate."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal, Protocol

import orjson

from proxies.json_text import Fields, Row

if TYPE_CHECKING:
    from proxies.ledger import Answer


class DataCaller(Protocol):
    """Makes one date-clamped data call on behalf of a grounder that has no notebook.

    Called with the last two parts of the call's ledger address: equal steps of a resumed leaf are answered from the ledger.
    """

    async def __call__(self, path: str, params: Fields, *, step: int, retry: int = 0) -> Answer:
        """Return the broker's answer; raises ``proxies.errors.ProxyError``."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCalls:
    """The data calls of one tool call of an agent.

    One search makes a dozen calls, and which ones depends on what the first of them give. Numbered in order, a resumed search
    whose engines answer otherwise would find another request at its address; so the last part of the address is a hash of
    endpoint and parameters.
    """

    call_api: DataCaller
    step: int
    retry: int
    seconds: float

    async def __call__(self, path: str, params: Fields) -> Answer:
        """Return the broker's answer; raises ``ProxyError``, and ``TimeoutError`` after the seconds allowed."""
        text = orjson.dumps([path, dict(params), self.retry], option=orjson.OPT_SORT_KEYS)
        # 48 bits: exact in JSON and in every database, and above all numbers that count retries
        place = (1 << 48) | int.from_bytes(hashlib.sha256(text).digest()[:6])
        async with asyncio.timeout(self.seconds) as limit:
            token = _LIMIT.set(limit)
            try:
                return await self.call_api(path, params, step=self.step, retry=place)
            finally:
                _LIMIT.reset(token)


#: The time limit of the data call that is being made.
_LIMIT: ContextVar[asyncio.Timeout | None] = ContextVar("_LIMIT", default=None)


@contextmanager
def waiting_for_a_person() -> Iterator[None]:
    """Stop the clock of the data call around it: its seconds are the source's, not a reader's."""
    limit, clock = _LIMIT.get(), asyncio.get_running_loop().time
    ends = limit.when() if limit is not None else None
    if limit is None or ends is None:
        yield
        return
    left = ends - clock()
    limit.reschedule(None)
    yield
    limit.reschedule(clock() + left)


#: Who removed it: ``blocking`` (layer 4), ``rules`` and ``model`` (layer 2), ``rest`` (what was over the number asked for),
#: ``copy`` (no dated copy of a page); ``kept``.
Fate = Literal["kept", "blocking", "rules", "model", "rest", "copy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WebRecord:
    """The fate of one search result, or of one requested page.

    ``search`` is the search's id ("S3") or the page's ("W2"); ``id`` that of a result which the agent saw, else "".
    """

    search: str
    url: str
    title: str
    published: str
    engines: tuple[str, ...]
    fate: Fate
    reason: str = ""
    id: str = ""
    model: str = ""
    text_hash: str = ""

    def to_json(self) -> Row:
        """Return the record as JSON values."""
        return {**asdict(self), "engines": list(self.engines)}
