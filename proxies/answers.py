"""Turn raw pages into an answer: decode, filter, page on, encode. No I/O: the broker fetches what a `PageReader` asks for."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import orjson

from proxies.asof.clock import Cutoff
from proxies.asof.policies import ApiRequest, AskAgain, Plan, PolicyContext
from proxies.asof.policies.base import stamp_of
from proxies.asof.row_filter import Filtered, RowFilter, is_search
from proxies.asof.rows import ShapeError, empty_answer, get, in_order, rows_at, steps_of
from proxies.asof.stamps import known_from
from proxies.catalogue.schema import Endpoint
from proxies.errors import CutoffRefused, NotJson, Refused, SchemaDrift
from proxies.fetch import paging
from proxies.hashing import content_hash
from proxies.json_text import Fields, read_json
from proxies.ledger import Answer
from proxies.remedies import command
from proxies.vendors.codecs import CODECS

# of an answer's rows without a readable date and visible rows: the share of the first from which the dates are not to be
# trusted, and how many it takes to say so
_MOST_UNDATED = 0.8
_LEAST_UNDATED = 5
_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The input for reading a request's raw pages."""

    request: ApiRequest
    cutoff: Cutoff
    plan: Plan
    #: What the policy wanted to know beside the rows, unparsed; None: the source had nothing.
    lookups: Mapping[str, tuple[str, bytes] | None] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Bytes of the lookups."""
        return sum(len(lookup[1]) for lookup in self.lookups.values() if lookup)


class PageReader:
    """Reads the pages of one job as they come.

    Raises `NotJson`: A lookup's answer is not JSON.
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        lookups = {name: parse(*lookup) if lookup else None for name, lookup in job.lookups.items()}
        self._context = PolicyContext(
            request=job.request, cutoff=job.cutoff, sent=job.plan.params, lookups=lookups
        )
        self._pager = paging.pager(job.request, job.cutoff, job.plan)

    def step(self, body: bytes | None = None, fetched_at: datetime | None = None) -> Fields | Answer:
        """Read the page that the last step asked for; return the parameters of the page that is needed next, or the answer.

        Raises `Refused, AskAgain`: As `apply_cutoff`. Raises `NotJson`: The page is not JSON. Raises `SchemaDrift`: It has not the form
        that the catalogue says, or hardly a row of the answer bears a date that can be read.
        """
        if body is not None:
            payload = parse(self._job.request.endpoint.source.name, body)
            self._pager.add(payload, apply_cutoff(payload, self._context))
        # what is still needed follows from the rows that survived, so paging cannot be planned before a page was filtered
        if (params := self._pager.next()) is not None:
            return params
        filtered, endpoint = self._pager.result(), self._job.request.endpoint
        _refuse_drift(endpoint, filtered)
        if not self._job.cutoff.live:
            # an order of the vendor's that is not by date follows what is known today
            rows = in_order(filtered.data, endpoint.rows or "[]", endpoint.as_of.order)
            filtered = _emptied(self._job, replace(filtered, data=rows))
        return answer_of(self._job, _with_hint(self._job, filtered), fetched_at)


def apply_cutoff(payload: Any, context: PolicyContext) -> Filtered:
    """Return the part of a raw answer that may be shown, in the upstream's shape; the raw answer is not changed.

    Raises `SchemaDrift`: The answer is not built as the catalogue says. Raises `CutoffRefused`: The policy errs: nothing is shown.
    """
    request, endpoint, cutoff = context.request, context.request.endpoint, context.cutoff
    codec = CODECS[endpoint.codec]
    if cutoff.live and not codec.live_too:
        return Filtered(data=payload)
    try:
        rows = codec.unpack(payload, request.params)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise _drifted(endpoint) from error
    try:
        filtered = Filtered(data=rows) if cutoff.live else RowFilter(context).apply(rows)
        return replace(filtered, data=codec.pack(filtered.data, request.params))
    except (Refused, AskAgain):
        raise
    except ShapeError as error:
        # the vendor's fault, so it must not be recorded as the answer
        raise _drifted(endpoint) from error
    except Exception as error:  # fail closed, whatever a hostile answer does to a policy
        raise CutoffRefused(
            f"{endpoint.path} sent an answer without readable dates ({type(error).__name__}): nothing is told"
        ) from error


def _drifted(endpoint: Endpoint) -> SchemaDrift:
    return SchemaDrift(
        f"{endpoint.source.name} answered {endpoint.path} in a form that the catalogue does not know: nothing is told"
    )


def _refuse_drift(endpoint: Endpoint, filtered: Filtered) -> None:
    """Raise SchemaDrift if the dates are gone: the vendor renamed their field or writes them in another form.

    Late rows are not counted, though they would show that dates can be read: the error would then tell that there are some.
    """
    undated = len(filtered.undated)
    if undated >= _LEAST_UNDATED and undated > _MOST_UNDATED * (undated + filtered.visible):
        raise SchemaDrift(
            f"{endpoint.source.name} answered {endpoint.path} with hardly a readable date, so its rows are withheld; "
            "see what still works with ",
            command("doctor", live=True),
        )


def empty(job: Job, fetched_at: datetime | None, *, hint: bool) -> Answer:
    """Return the answer without rows: of a window after the cutoff, or (with a hint) of a name that the vendor does not know."""
    filtered = Filtered(data=_no_rows(job))
    return answer_of(job, _with_hint(job, filtered) if hint else filtered, fetched_at)


def _no_rows(job: Job) -> Any:
    endpoint = job.request.endpoint
    return CODECS[endpoint.codec].pack(empty_answer(endpoint.rows or "[]"), job.request.params)


def _emptied(job: Job, filtered: Filtered) -> Filtered:
    """Return an answer of which no row is left, in the form of one to a name that never was.

    What stands beside the rows (a ticker, a section that Brave leaves out where it finds nothing) would tell that rows come later.
    """
    endpoint = job.request.endpoint
    if (
        filtered.visible
        or not gives_rows(endpoint)
        or any(True for _ in rows_at(filtered.data, endpoint.rows or ""))
    ):
        return filtered
    return replace(filtered, data=_no_rows(job))


def answer_of(job: Job, filtered: Filtered, fetched_at: datetime | None) -> Answer:
    """Return the answer of filtered data: encoded, hashed, with its meta. An agent reads all of it, so late rows must not show."""
    as_of, endpoint, cutoff = job.request.endpoint.as_of, job.request.endpoint, job.cutoff
    filtered = replace(filtered, data=_as_series(endpoint, filtered.data))
    try:
        body, data_hash = orjson.dumps(filtered.data), content_hash(filtered.data)
    except TypeError as error:
        # reading JSON goes a thousand levels deep, writing it 254
        raise SchemaDrift(f"{endpoint.source.name} answered with JSON that is nested too deeply") from error
    meta = {
        "as_of": "live" if cutoff.live else cutoff.instant.isoformat().replace("+00:00", "Z"),
        "policy": as_of.policy,
        "clamped": [] if cutoff.live else list(job.plan.clamped),
        # no counts of dropped rows here: they told agents that a split, a deal or a report was coming
        "undated": None if is_search(as_of) and not cutoff.live else len(filtered.undated),
        "residual": "none" if cutoff.live else as_of.residual,
        "source": endpoint.source.name,
        "endpoint": endpoint.path,
        "notes": [*job.plan.notes, *filtered.notes],
        "fetched_at": fetched_at.isoformat() if fetched_at else None,
        "content_hash": data_hash,
    }
    return Answer(body=body, meta=meta, dropped=dict(filtered.dropped))


def _as_series(endpoint: Endpoint, data: Any) -> Any:
    """Return the data of an endpoint that gives a series as {date, value} rows; of several rows of one day the last known one is the last."""
    fields, stamp = endpoint.series, endpoint.as_of.stamp
    if fields is None:
        return data
    if endpoint.page.cursor and isinstance(data, dict) and get(data, endpoint.page.cursor):
        raise CutoffRefused(f"{endpoint.path} has more rows than one answer holds: ask for fewer")
    try:
        rows = list(rows_at(data, endpoint.rows or "[]"))
        if stamp is not None:
            how = stamp_of(stamp, stamp.grain)
            rows.sort(key=lambda row: known_from(get(row, stamp.field), how) or _NEVER)
        return [
            {
                "date": datetime.strptime(str(get(row, fields.date)), fields.written).date().isoformat()  # noqa: DTZ007 - a day
                if fields.written
                else get(row, fields.date),
                "value": get(row, fields.value),
            }
            for row in rows
        ]
    except (ShapeError, ValueError) as error:
        raise _drifted(endpoint) from error


def _with_hint(job: Job, filtered: Filtered) -> Filtered:
    endpoint = job.request.endpoint
    # counted before a codec packed them into the vendor's own form
    if job.cutoff.live or not gives_rows(endpoint) or filtered.visible:
        return filtered
    # the same words whether there never were rows or all of them are late
    hint = "no rows: check the parameters"
    if is_search(endpoint.as_of):
        hint += " (hits without a date are left out, and not counted)"
    return replace(filtered, notes=(*filtered.notes, hint))


def gives_rows(endpoint: Endpoint) -> bool:
    """Whether an endpoint gives rows rather than one thing."""
    return (
        endpoint.rows is not None
        and not CODECS[endpoint.codec].single
        and any(s.kind != "key" for s in steps_of(endpoint.rows))
    )


def parse(source: str, body: bytes) -> Any:
    """Return the value of a raw answer.

    Raises `NotJson`: It is not JSON.
    """
    try:
        return read_json(body)
    except ValueError:
        raise NotJson(f"{source} answered with something that is not JSON") from None
