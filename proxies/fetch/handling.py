"""From raw bytes to what may be told, without I/O: what the broker does here or in its helper process.

A `Handling` goes with one request: it names the pages to fetch, takes their bytes, and ends in a `Done`. It can be
done again from the same bytes anywhere, so that large answers are handled in another process (`proxies.fetch.helper`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from proxies.asof import pipeline
from proxies.asof.clock import Cutoff
from proxies.asof.pipeline import Settled
from proxies.asof.policies import Ask, Found, Plan
from proxies.asof.rows import any_row, steps_of
from proxies.catalogue.loader import Endpoint
from proxies.errors import SourceRejected
from proxies.fetch import paging
from proxies.hashing import canonical_json, sha256_of
from proxies.ledger import UNREAD


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """All that is needed to handle a request's answer.

    Attributes
    ----------
    lookups : mapping of name to (source, raw answer) or None
        What the policy asked for beside the rows, unread; None where there was none.
    """

    ask: Ask
    cutoff: Cutoff
    plan: Plan
    lookups: Mapping[str, tuple[str, bytes] | None] = field(default_factory=dict)

    @property
    def looked(self) -> list[bytes]:
        """The lookups' raw answers."""
        return [looked[1] for looked in self.lookups.values() if looked]

    @property
    def size(self) -> int:
        """Bytes of the lookups."""
        return sum(map(len, self.looked))


@dataclass(frozen=True, slots=True, kw_only=True)
class More:
    """Another page is needed: its parameters."""

    params: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What may be told.

    Attributes
    ----------
    body : bytes
        The data as JSON, in the upstream's order of keys.
    content_hash : str
        Of the data's canonical JSON.
    data : JSON value
        `UNREAD` where it was made in another process.
    """

    body: bytes
    content_hash: str
    dropped: Mapping[str, int]
    undated: int
    notes: tuple[str, ...]
    data: Any = UNREAD


class Handling:
    """The handling of one request's pages.

    Raises
    ------
    SourceRejected
        A lookup's answer is not JSON.
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        lookups = {name: loads(*looked) if looked else None for name, looked in job.lookups.items()}
        self._found = Found(sent=job.plan.params, lookups=lookups)
        self._pager = paging.pager(job.ask, job.cutoff, job.plan)
        self._named = False

    def step(self, bodies: Sequence[bytes]) -> More | Done:
        """Take in the pages that came since, and say what is next.

        Raises
        ------
        Refused, AskAgain
            As `pipeline.settle`.
        SourceRejected
            A page is not JSON.
        """
        ask = self._job.ask
        for body in bodies:
            if not self._named:
                self._pager.next()  # it goes from page to page, also when several come at once
            self._named = False
            payload = loads(ask.endpoint.source.name, body)
            settled = pipeline.settle(ask, self._job.cutoff, payload, self._found)
            self._pager.take(payload, settled)
        params = self._pager.next()
        self._named = True
        return More(params=params) if params is not None else done(hinted(self._job, self._pager.result()))


def hinted(job: Job, settled: Settled) -> Settled:
    """Settled data with a hint where rows were asked for and none may be told."""
    endpoint = job.ask.endpoint
    if job.cutoff.live or not gives_rows(endpoint) or any_row(settled.data, endpoint.rows or ""):
        return settled
    return replace(settled, notes=(*settled.notes, "no rows: check the parameters"))


def done(settled: Settled) -> Done:
    """What is told of settled data: encoded and hashed."""
    return Done(
        body=orjson.dumps(settled.data),
        content_hash=sha256_of(canonical_json(settled.data)),
        dropped=dict(settled.dropped),
        undated=len(settled.undated),
        notes=settled.notes,
        data=settled.data,
    )


def loads(source: str, body: bytes) -> Any:
    """The value of a raw answer.

    Raises
    ------
    SourceRejected
        It is not JSON.
    """
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        raise SourceRejected(f"{source} answered with something that is not JSON") from None


def gives_rows(endpoint: Endpoint) -> bool:
    """Whether an endpoint gives rows rather than one thing."""
    return (
        endpoint.rows is not None
        and endpoint.codec == ""
        and any(s.kind != "key" for s in steps_of(endpoint.rows))
    )
