"""publication_join: a row counts once the report of its period was published, by a lookup of the report's day.

Without a match the lag on the period end applies. A day of publication that lies before the period it reports is
no match: such rows exist, and believing them would leak.
"""

from collections import defaultdict
from datetime import date, datetime, timedelta
from typing import Any

from proxies.asof.clock import NEW_YORK, Cutoff, parse_day
from proxies.asof.policies.base import (
    LATE,
    ApiRequest,
    Judge,
    Lookup,
    Plan,
    Policy,
    PolicyContext,
    Reason,
    asked_periods,
    stamp_of,
)
from proxies.asof.policies.lags import anchor_day, known_after_lag, lag_of, why_undated
from proxies.asof.policies.windows import clamp
from proxies.asof.rows import get
from proxies.asof.stamps import known_from
from proxies.catalogue.schema import StampRow

_PUBLISHED = stamp_of(StampRow(zone="America/New_York"), "instant")
_WIDE = 1000
#: Said of every answer: whether the lag dated one of its rows may depend on what was filed later.
LAG_NOTE = "a row whose report is not on record counts from the end of its period plus a lag"


def prepare(request: ApiRequest, cutoff: Cutoff) -> Plan:
    """Return the clamped request, with the lookups of the reports."""
    plan = clamp(request, cutoff)
    join = request.endpoint.as_of.join
    assert join is not None, "the loader checks that publication_join has a join"
    if cutoff.live or plan.empty:
        return plan
    symbols = request.params.get(join.symbol)
    if isinstance(symbols, list):
        # rows of several companies do not say whose they are: the lag alone dates them
        symbols = symbols[0] if len(symbols) == 1 else None
    if not symbols:
        return plan
    periods = asked_periods(request)
    lookups = tuple(
        Lookup(
            name=f"reports:{period}",
            path=join.endpoint,
            params={"symbol": symbols, "limit": _WIDE, "period": period},
            needed=True,
        )
        for period in periods
    )
    return Plan(params=plan.params, clamped=plan.clamped, lookups=lookups, notes=(*plan.notes, LAG_NOTE))


def judge(context: PolicyContext) -> Judge:
    """Return a judge by the report's publication, else by the lag."""
    request, cutoff, as_of = context.request, context.cutoff, context.as_of
    join = as_of.join
    assert join is not None, "the loader checks that publication_join has a join"
    published: dict[tuple[str, ...], list[tuple[date | None, datetime]]] = defaultdict(list)
    # by the end of its period the first report on record: an amended one that is filed years later does not unsay it
    ends: dict[date, datetime] = {}
    for rows in context.lookups.values():
        for report in rows if isinstance(rows, list) else ():
            published_at = known_from(get(report, join.field) or get(report, "filingDate"), _PUBLISHED)
            end = _joined_day(get(report, "date"))
            if published_at is None or (end is not None and published_at <= _end(end)):
                continue
            key = _key(report, join.on)
            if key is not None:
                published[key].append((end, published_at))
            if end is not None:
                ends[end] = min(published_at, ends.get(end, published_at))

    def known_by_report(row: Any) -> datetime | None:
        if join.nearest_days:
            day, _ = anchor_day(request, row)
            # of several the first that was out: that a nearer one is filed after the cutoff is not known at it
            return min(
                (known for end, known in ends.items() if day and abs((end - day).days) <= join.nearest_days),
                default=None,
            )
        key = _key(row, join.on)
        hits = published.get(key, []) if key is not None else []
        row_day = _joined_day(get(row, "date"))
        if row_day is not None:
            # the same label on another period is not a match
            hits = [(end, known) for end, known in hits if end is None or abs((end - row_day).days) <= 7]
        # that the row may hold the figures of an amended report is what `restated` says
        return min((known for _, known in hits), default=None)

    def reason(row: Any) -> Reason:
        known = known_by_report(row)
        day, kind = anchor_day(request, row)
        days = lag_of(as_of.lag_days, kind)
        undated = day is None or days is None
        if known is None:
            if day is None or days is None:
                return why_undated(request, row)
            try:
                known = known_after_lag(day, days, request)
            except OverflowError:
                return LATE
        if cutoff.admits(known):
            return None
        # a row that bears no date of its own is undated before its report comes out, so it must be so after
        return why_undated(request, row) if undated else LATE

    return Judge(reason)


def _key(row: Any, names: tuple[str, ...]) -> tuple[str, ...] | None:
    values = [get(row, name) for name in names]
    if any(value is None or value == "" for value in values):
        return None
    return tuple(str(value) for value in values)


def _joined_day(value: Any) -> date | None:
    return parse_day(value[:10]) if isinstance(value, str) else None


def _end(day: date) -> datetime:
    return datetime.combine(day, datetime.min.time(), tzinfo=NEW_YORK) + timedelta(days=1)


PUBLICATION_JOIN = Policy(prepare=prepare, judge=judge)
