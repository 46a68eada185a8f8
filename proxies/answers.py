"""From raw pages to an answer: decode, filter, page on, encode. No I/O, so that the broker and its worker run the same code.

Small answers are read in the broker's process by a `PageReader`, page by page. Large ones are read by `read_pages` in the
worker (`proxies.fetch.worker`), which starts anew from all pages: nothing of a job is left there between two calls.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import orjson

from proxies.asof.clock import Cutoff
from proxies.asof.policies import ApiRequest, AskAgain, Context, Plan
from proxies.asof.row_filter import Filtered, RowFilter
from proxies.asof.rows import any_row, empty_answer, steps_of
from proxies.catalogue.loader import Endpoint
from proxies.errors import CutoffRefused, NotJson, Refused
from proxies.fetch import paging
from proxies.hashing import content_hash
from proxies.ledger import Answer
from proxies.vendors.codecs import CODECS


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """All that is needed to read a request's raw pages; it is pickled for the worker.

    Attributes
    ----------
    lookups : mapping of name to (source, raw answer) or None
        What the policy wanted to know beside the rows, unparsed; None: the source had nothing.
    """

    request: ApiRequest
    cutoff: Cutoff
    plan: Plan
    lookups: Mapping[str, tuple[str, bytes] | None] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Bytes of the lookups."""
        return sum(len(lookup[1]) for lookup in self.lookups.values() if lookup)


@dataclass(frozen=True, slots=True, kw_only=True)
class NextPage:
    """Another page is needed: its parameters."""

    params: Mapping[str, Any]


class PageReader:
    """Reads the pages of one job as they come; the broker fetches what `step` asks for.

    Raises
    ------
    NotJson
        A lookup's answer is not JSON.
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        lookups = {name: parse(*lookup) if lookup else None for name, lookup in job.lookups.items()}
        self._context = Context(sent=job.plan.params, lookups=lookups)
        self._pager = paging.pager(job.request, job.cutoff, job.plan)
        self._params = self._pager.next()

    def add(self, body: bytes) -> None:
        """Read the page that the last step asked for.

        Raises
        ------
        Refused, AskAgain
            As `apply_cutoff`.
        NotJson
            The page is not JSON.
        """
        request = self._job.request
        payload = parse(request.endpoint.source.name, body)
        self._pager.add(payload, apply_cutoff(request, self._job.cutoff, payload, self._context))
        self._params = self._pager.next()

    def step(self, fetched_at: datetime | None) -> NextPage | Answer:
        """The page that is needed next, or the answer. ``fetched_at`` is the last page's."""
        # what is still needed follows from the rows that survived, so paging cannot be planned before a page was filtered
        if self._params is not None:
            return NextPage(params=self._params)
        return answer_of(self._job, _with_hint(self._job, self._pager.result()), fetched_at)


def read_pages(job: Job, bodies: Sequence[bytes], fetched_at: datetime | None) -> NextPage | Answer:
    """As a `PageReader` that was given all pages so far. The worker runs this for large answers."""
    reader = PageReader(job)
    for body in bodies:
        reader.add(body)
    return reader.step(fetched_at)


def apply_cutoff(request: ApiRequest, cutoff: Cutoff, payload: Any, context: Context) -> Filtered:
    """What may be shown of a raw answer, in the upstream's shape; the raw answer itself is not changed.

    Raises
    ------
    CutoffRefused
        The answer is not built as the catalogue says, or the policy errs: nothing is shown.
    """
    codec = CODECS[request.endpoint.codec]
    if cutoff.live and not codec.live_too:
        return Filtered(data=payload)
    try:
        rows = codec.unpack(payload, request.params)
        filtered = Filtered(data=rows) if cutoff.live else RowFilter(request, cutoff, context).apply(rows)
        return replace(filtered, data=codec.pack(filtered.data, request.params))
    except (Refused, AskAgain):
        raise
    except Exception as error:  # fail closed, whatever a hostile answer does to a policy
        raise CutoffRefused(
            f"{request.endpoint.path} answered in a form that cannot be dated ({type(error).__name__}): nothing is told"
        ) from error


def empty(job: Job, fetched_at: datetime | None, *, hint: bool) -> Answer:
    """The answer without rows: of a window after the cutoff, or (with a hint) of a name that the vendor does not know."""
    endpoint = job.request.endpoint
    data = CODECS[endpoint.codec].pack(empty_answer(endpoint.rows or "[]"), job.request.params)
    filtered = Filtered(data=data)
    return answer_of(job, _with_hint(job, filtered) if hint else filtered, fetched_at)


def answer_of(job: Job, filtered: Filtered, fetched_at: datetime | None) -> Answer:
    """The answer of filtered data: encoded, hashed, with its meta. An agent reads all of it, so late rows must not show."""
    as_of, endpoint, cutoff = job.request.endpoint.as_of, job.request.endpoint, job.cutoff
    meta = {
        "as_of": "live" if cutoff.live else cutoff.instant.isoformat().replace("+00:00", "Z"),
        "policy": as_of.policy,
        "clamped": [] if cutoff.live else list(job.plan.clamped),
        # no counts of dropped rows here: they told agents that a split, a deal or a report was coming
        "undated": len(filtered.undated),
        "residual": "none" if cutoff.live else as_of.residual,
        "source": endpoint.source.name,
        "endpoint": endpoint.path,
        "notes": [*job.plan.notes, *filtered.notes],
        "fetched_at": fetched_at.isoformat() if fetched_at else None,
        "content_hash": content_hash(filtered.data),
    }
    return Answer(
        data=filtered.data, body=orjson.dumps(filtered.data), meta=meta, dropped=dict(filtered.dropped)
    )


def _with_hint(job: Job, filtered: Filtered) -> Filtered:
    endpoint = job.request.endpoint
    if job.cutoff.live or not gives_rows(endpoint) or any_row(filtered.data, endpoint.rows or ""):
        return filtered
    # the same words whether there never were rows or all of them are late
    return replace(filtered, notes=(*filtered.notes, "no rows: check the parameters"))


def gives_rows(endpoint: Endpoint) -> bool:
    """Whether an endpoint gives rows rather than one thing."""
    return (
        endpoint.rows is not None
        and endpoint.codec == ""
        and any(s.kind != "key" for s in steps_of(endpoint.rows))
    )


def parse(source: str, body: bytes) -> Any:
    """The value of a raw answer.

    Raises
    ------
    NotJson
        It is not JSON.
    """
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        raise NotJson(f"{source} answered with something that is not JSON") from None
