"""Date rows by the end of their period: a lag after it, or the publication of the period's report.

publication_join: a row counts once the report of its period was published, by a lookup of the report's day. Without a match the lag on
the period end applies. A day of publication that lies before the period it reports is no match: such rows exist, and believing them
would leak.
"""

from collections import defaultdict
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any

from proxies.asof.clock import NEW_YORK, TICK, Cutoff, parse_day, start_of_day, zone_of
from proxies.asof.policies.base import (
    LATE,
    UNDATED,
    ApiRequest,
    Judge,
    Lookup,
    Plan,
    PolicyContext,
    Reason,
    asked_periods,
    stamp_for,
    stamp_of,
)
from proxies.asof.policies.windows import clamp
from proxies.asof.rows import get
from proxies.asof.stamps import known_from, month_end, quarter_end, read
from proxies.catalogue.schema import Join, StampRow

_UTC = zone_of("UTC")
UNENDED = "a period of unknown length"
_MONTHS = {"monthly": 1, "bi-monthly": 2, "quarterly": 3, "bi-annual": 6, "annual": 12}
_PUBLISHED = stamp_of(StampRow(zone="America/New_York"), "instant")
_WIDE = 1000
#: Said of every answer: whether the lag dated one of its rows may depend on what was filed later.
LAG_NOTE = "a row whose report is not on record counts from the end of its period plus a lag"


def period_end(start: date, frequency: str) -> date | None:
    """Return the last day of the period that starts on a day, or None for an unknown frequency."""
    word = frequency.lower()
    if word == "daily":
        return start
    if word == "weekly":
        return start + timedelta(days=6)
    if word not in _MONTHS:
        return None
    ahead = start.month - 1 + _MONTHS[word] - 1
    return month_end(start.year + ahead // 12, ahead % 12 + 1)


def lag_of(lags: Any, kind: str) -> int | None:
    """Return the lag of a kind of period: one number for all, or by name; the longest where the kind is unknown."""
    if isinstance(lags, int):
        return lags
    if kind in lags:
        return int(lags[kind])
    if kind.upper().startswith("Q") and "Q" in lags:
        return int(lags["Q"])
    # the kind of period is unknown: the longest lag cannot leak
    return max(int(days) for days in lags.values())


def anchor_day(request: ApiRequest, row: Any) -> tuple[date | None, str]:
    """Return the day the lag counts from, and the kind of period it ends."""
    as_of, stamp = request.as_of, request.stamp
    if as_of.anchor == "quarter_end":
        year, quarter = (get(row, name) for name in stamp.field.split("+"))
        try:
            return quarter_end(int(year), int(str(quarter).upper().removeprefix("Q"))), "Q"
        except (TypeError, ValueError):
            return None, "Q"
    moment = read(get(row, stamp.field), stamp_for(request, stamp))
    day = moment.date() if hasattr(moment, "hour") else moment  # type: ignore[union-attr]
    if day is None:
        return None, ""
    kind = period_kind(row)
    if as_of.anchor == "period_end":
        return period_end(day, kind), kind
    return day, kind


def why_undated(request: ApiRequest, row: Any) -> str:
    """Explain why the lag has no day to count from: no date, or a period of unknown length."""
    stamp = request.stamp
    starts = request.as_of.anchor == "period_end" and read(get(row, stamp.field), stamp_for(request, stamp))
    return UNENDED if starts else UNDATED


def period_kind(row: Any) -> str:
    """Return the kind of period of a row, as far as it says: FY, Q, or a frequency's name."""
    if not isinstance(row, dict):
        return ""
    for name in ("@frequency", "period", "periodType"):
        word = row.get(name)
        if isinstance(word, str) and word:
            upper = word.upper()
            # the fourth quarter comes out with the annual report
            if upper in ("FY", "Q4", "ANNUAL", "12M") and name != "@frequency":
                return "FY"
            if upper in ("Q1", "Q2", "Q3", "3M", "QUARTER"):
                return "Q"
            return word.lower()
    return ""


def _known_after_lag(day: date | None, days: int | None, request: ApiRequest, row: Any) -> datetime | str:
    """Return the instant from which a row may be used (the lagged day has begun, strictly before the cutoff), or why it may not be."""
    if day is None or days is None:
        return why_undated(request, row)
    # ISO days sort as text
    late = [d.days for d in request.as_of.delays if d.first <= day.isoformat() <= d.last]
    zone = stamp_for(request, request.stamp).zone
    try:
        return start_of_day(day + timedelta(days=max([days, *late])), zone) + TICK
    except OverflowError:
        return LATE


def with_year_ends(request: ApiRequest, cutoff: Cutoff) -> Plan:
    """Return the clamped request; where fiscal years end is looked up if the endpoint wants to know."""
    plan = clamp(request, cutoff)
    path = request.as_of.year_ends
    if not path or plan.empty:
        return plan
    end = start_of_day(cutoff.last_visible_day, _UTC)
    params = {**request.params, "type": "annualTotalAssets", "period1": 0, "period2": int(end.timestamp())}
    return replace(plan, lookups=(Lookup(name="year_ends", path=path, params=params),))


def _year_ends(payload: Any, cutoff: Cutoff) -> set[tuple[int, int]]:
    results = (payload.get("timeseries") or {}).get("result") if isinstance(payload, dict) else None
    out: set[tuple[int, int]] = set()
    for result in results if isinstance(results, list) else ():
        for row in (result.get("annualTotalAssets") if isinstance(result, dict) else None) or ():
            day = parse_day(str(row.get("asOfDate"))) if isinstance(row, dict) else None
            if day is not None and day <= cutoff.last_visible_day:
                out.add((day.month, day.day))
    return out


def _ends_year(day: date, ends: set[tuple[int, int]]) -> bool:
    # 366 days apart is next to each other: a year that ends on 2 January ends on 28 December in another year
    gaps = [abs((date(2000, month, dom) - day.replace(year=2000)).days) for month, dom in ends]
    return any(min(gap, 366 - gap) <= 10 for gap in gaps)


def by_lag(context: PolicyContext) -> Judge:
    """Return a judge by period end plus lag."""
    request, cutoff = context.request, context.cutoff
    lags = context.as_of.lag_days
    ends = _year_ends(context.lookups.get("year_ends"), cutoff) if context.as_of.year_ends else None

    def reason(row: Any) -> Reason:
        day, kind = anchor_day(request, row)
        # a fourth quarter comes with the annual report; where years end is not on record any quarter may be one
        if ends is not None and day is not None and kind == "Q" and (not ends or _ends_year(day, ends)):
            kind = "FY"
        known = _known_after_lag(day, lag_of(lags, kind), request, row)
        if isinstance(known, str):
            return known
        return None if cutoff.admits(known) else LATE

    return Judge(reason)


def with_reports(request: ApiRequest, cutoff: Cutoff) -> Plan:
    """Return the clamped request, with the lookups of the reports."""
    plan = clamp(request, cutoff)
    join = _join(request)
    symbols = request.params.get(join.symbol)
    if isinstance(symbols, list):
        # rows of several companies do not say whose they are: the lag alone dates them
        symbols = symbols[0] if len(symbols) == 1 else None
    if plan.empty or not symbols:
        return plan
    lookups = tuple(
        Lookup(
            name=f"reports:{period}",
            path=join.endpoint,
            params={"symbol": symbols, "limit": _WIDE, "period": period},
            needed=True,
        )
        for period in asked_periods(request)
    )
    return replace(plan, lookups=lookups, notes=(*plan.notes, LAG_NOTE))


def _join(request: ApiRequest) -> Join:
    assert request.as_of.join is not None, "the loader checks it"
    return request.as_of.join


def by_report(context: PolicyContext) -> Judge:
    """Return a judge by the report's publication, else by the lag."""
    request, cutoff, as_of = context.request, context.cutoff, context.as_of
    join = _join(request)
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
        day, kind = anchor_day(request, row)
        days = lag_of(as_of.lag_days, kind)
        undated = day is None or days is None
        known = known_by_report(row) or _known_after_lag(day, days, request, row)
        if isinstance(known, str):
            return known
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
