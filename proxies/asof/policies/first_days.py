"""Judge search hits by the first day of what they name: a search of today finds companies not yet listed at the cutoff.

The day is looked up where the vendor states it (a listing, a first bar, a first report) inside the broker, one lookup a hit, and
kept in the raw cache like any answer. A hit without one is left out: it may be of later.
"""

from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

from proxies.asof.clock import Cutoff
from proxies.asof.policies.base import (
    LATE,
    AskAgain,
    Judge,
    Lookup,
    PolicyContext,
    Reason,
    stamp_of,
)
from proxies.asof.rows import ShapeError, get, rows_at
from proxies.asof.stamps import known_from
from proxies.catalogue.schema import Endpoint, First
from proxies.errors import CutoffRefused

#: How many hits of an answer are dated; the others are left out.
MOST_HITS = 50
UNBORN = "since when it exists is not on record"
_WEEK = timedelta(days=7)


def require_first_days(context: PolicyContext, payload: Any) -> None:
    """Raise AskAgain for the lookups that the rows of an answer call for, before the row filter judges them.

    Raises `AskAgain`: Some are not at hand yet. Raises `CutoffRefused`: There are more hits than are looked up, and all that were began
    later.
    """
    first, endpoint = context.as_of.first, context.request.endpoint
    if first is None:
        return
    assert endpoint.rows is not None, "the loader checks that strip_fields has rows"
    values = (get(row, first.of) for row in rows_at(payload, endpoint.rows))
    hits = dict.fromkeys(value for value in values if isinstance(value, str) and value)
    names = list(islice(hits, MOST_HITS))
    missing = [name for name in names if _name(name) not in context.lookups]
    if missing:
        raise AskAgain(context.sent, [_lookup(first, name, context.cutoff) for name in missing])
    judge = by_first_day(context)
    if len(hits) > MOST_HITS and all(judge.reason(dict.fromkeys([first.of], name)) for name in names):
        raise too_many_hits(endpoint)


def too_many_hits(endpoint: Endpoint) -> CutoffRefused:
    """Build the refusal of a search whose looked-up hits all came after the cutoff, while others may have not."""
    return CutoffRefused(
        f"{endpoint.path} finds more than is looked up, and nothing of its first hits was there at the cutoff: use narrower words"
    )


def _name(value: str) -> str:
    return f"first:{value}"


def _lookup(first: First, value: str, cutoff: Cutoff) -> Lookup:
    params: dict[str, Any] = {first.param: value}
    if first.endpoint == "yfinance/history":
        # any window will do, since the first day stands beside the bars; whole days, so that equal questions share an answer
        day = cutoff.last_visible_day
        end = datetime(day.year, day.month, day.day, tzinfo=UTC)
        params |= {
            "period1": int((end - _WEEK).timestamp()),
            "period2": int(end.timestamp()),
            "interval": "1d",
        }
    return Lookup(name=_name(value), path=first.endpoint, params=params, needed=True)


def by_first_day(context: PolicyContext) -> Judge:
    """Return a judge that lets hits stay whose first day lies before the cutoff."""
    first = context.as_of.first
    assert first is not None, "the policy asks for this judge only then"
    stamp = stamp_of(first.stamp, first.stamp.grain)

    def reason(row: Any) -> Reason:
        value = get(row, first.of)
        payload = context.lookups.get(_name(value)) if isinstance(value, str) else None
        days = _days(payload, first, stamp)
        # not counted as undated: a hit that came into being later without a date would show in the count
        if not days:
            return UNBORN
        return None if context.cutoff.admits(min(days)) else LATE

    return Judge(reason)


def _days(payload: Any, first: First, stamp: Any) -> list[datetime]:
    try:
        known = [known_from(get(row, first.stamp.field), stamp) for row in rows_at(payload, first.rows)]
    except ShapeError:
        return []
    return [day for day in known if day is not None]
