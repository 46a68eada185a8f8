"""publication_lag: a row is known a fixed number of days after the end of its period."""

from dataclasses import replace
from datetime import date, timedelta
from typing import Any

from proxies.asof.clock import TICK, Cutoff, parse_day, start_of_day, zone_of
from proxies.asof.policies.base import (
    LATE,
    UNDATED,
    ApiRequest,
    Judge,
    Lookup,
    Plan,
    Policy,
    PolicyContext,
    Reason,
    stamp_for,
)
from proxies.asof.policies.windows import clamp
from proxies.asof.rows import get
from proxies.asof.stamps import month_end, quarter_end, read

_UTC = zone_of("UTC")
UNENDED = "a period of unknown length"
_MONTHS = {"monthly": 1, "bi-monthly": 2, "quarterly": 3, "bi-annual": 6, "annual": 12}


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
    as_of = request.endpoint.as_of
    assert as_of.stamp is not None, "the loader checks that a lag has a stamp"
    if as_of.anchor == "quarter_end":
        year, quarter = (get(row, name) for name in as_of.stamp.field.split("+"))
        try:
            return quarter_end(int(year), int(str(quarter).upper().removeprefix("Q"))), "Q"
        except (TypeError, ValueError):
            return None, "Q"
    value = get(row, as_of.stamp.field)
    moment = read(value, stamp_for(request, as_of.stamp))
    day = moment.date() if hasattr(moment, "hour") else moment  # type: ignore[union-attr]
    if day is None:
        return None, ""
    kind = period_kind(row)
    if as_of.anchor == "period_end":
        return period_end(day, kind), kind
    return day, kind


def why_undated(request: ApiRequest, row: Any) -> str:
    """Explain why the lag has no day to count from: no date, or a period of unknown length."""
    as_of = request.endpoint.as_of
    assert as_of.stamp is not None, "the loader checks that a lag has a stamp"
    if (
        as_of.anchor == "period_end"
        and read(get(row, as_of.stamp.field), stamp_for(request, as_of.stamp)) is not None
    ):
        return UNENDED
    return UNDATED


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


def known_after_lag(day: date, days: int, request: ApiRequest) -> Any:
    """Return the instant from which a row may be used: the lagged day has begun, strictly before the cutoff."""
    # ISO days sort as text
    late = [d.days for d in request.endpoint.as_of.delays if d.first <= day.isoformat() <= d.last]
    days = max(days, *late) if late else days
    stamp = request.endpoint.as_of.stamp
    assert stamp is not None, "the loader checks that a lag has a stamp"
    return start_of_day(day + timedelta(days=days), stamp_for(request, stamp).zone) + TICK


def prepare(request: ApiRequest, cutoff: Cutoff) -> Plan:
    """Return the clamped request; where fiscal years end is looked up if the endpoint wants to know."""
    plan = clamp(request, cutoff)
    path = request.endpoint.as_of.year_ends
    if not path or cutoff.live or plan.empty:
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


def judge(context: PolicyContext) -> Judge:
    """Return a judge by period end plus lag."""
    request, cutoff = context.request, context.cutoff
    lags = context.as_of.lag_days
    ends = _year_ends(context.lookups.get("year_ends"), cutoff) if context.as_of.year_ends else None

    def reason(row: Any) -> Reason:
        day, kind = anchor_day(request, row)
        # a fourth quarter comes with the annual report; where years end is not on record any quarter may be one
        if ends is not None and day is not None and kind == "Q" and (not ends or _ends_year(day, ends)):
            kind = "FY"
        days = lag_of(lags, kind)
        if day is None or days is None:
            return why_undated(request, row)
        try:
            known_at = known_after_lag(day, days, request)
        except OverflowError:
            return LATE
        return None if cutoff.admits(known_at) else LATE

    return Judge(reason)


PUBLICATION_LAG = Policy(prepare=prepare, judge=judge)
