"""FRED vintages: answer with values as of the last visible day.

The real-time window has day resolution and a day's releases come out at 08:30, so the day before the cutoff is
the last one whose state was known. An older window that the caller asks for is kept: all of it was known.
"""

from typing import Any

from proxies.asof.clock import Cutoff, parse_day
from proxies.asof.policies.base import (
    LATE,
    UNDATED,
    ApiRequest,
    Judge,
    Plan,
    Policy,
    PolicyContext,
    Reason,
    by_stamp,
)
from proxies.asof.rows import Change, get
from proxies.errors import ParameterInvalid


def as_it_stood(request: ApiRequest, cutoff: Cutoff) -> Plan:
    """Return the request with both real-time parameters on or before the last visible day.

    Raises `ParameterInvalid`: The window asked for ends before it starts.
    """
    if cutoff.live:
        return Plan(params=dict(request.params))
    window = request.endpoint.as_of.window
    assert window is not None, "the loader checks that vintage has a window"
    (start,), (end, *also) = window.start, window.end
    last = cutoff.last_visible_day.isoformat()
    wanted_start, wanted_end = request.params.get(start), request.params.get(end)
    if wanted_start and wanted_end and wanted_start > wanted_end:
        raise ParameterInvalid(f"{start} ({wanted_start}) lies after {end} ({wanted_end})")
    first_of: str = wanted_end if wanted_end and wanted_end < last else last
    # both bounds are always sent: FRED puts today in the place of one that is missing
    new_end = first_of
    new_start = min(wanted_start, new_end) if wanted_start else new_end
    params: dict[str, Any] = {**request.params, start: new_start, end: new_end}
    clamped = [
        f"{n}: {v} -> {params[n]}"
        for n, v in ((start, wanted_start), (end, wanted_end))
        if v and v > params[n]
    ]
    for name in also:
        value = params.get(name)
        if value is None or value > last:
            params[name] = last
            if value is not None:
                clamped.append(f"{name}: {value} -> {last}")
    return Plan(params=params, clamped=tuple(clamped))


def judge(context: PolicyContext) -> Judge:
    """Drop rows of a later vintage, and rows whose own period starts after the cutoff."""
    cutoff = context.cutoff
    if context.as_of.stamp is None:
        # a row that carries a vintage stamp although none is promised is still held to it
        return Judge(lambda row: _late_vintage(row, cutoff))
    by_field = by_stamp(context)
    return Judge(lambda row: by_field.reason(row) or _late_vintage(row, cutoff))


def _late_vintage(row: Any, cutoff: Cutoff) -> Reason:
    value = get(row, "realtime_start") if isinstance(row, dict) else None
    if value is None or cutoff.live:
        return None
    day = parse_day(value) if isinstance(value, str) else None
    if day is None:
        return UNDATED
    return None if day <= cutoff.last_visible_day else LATE


def until_window_end(context: PolicyContext) -> Change:
    """Return a function that ends a row's real-time period with the window's, whatever became of the value after it."""
    window = context.as_of.window
    assert window is not None, "the loader checks that vintage has a window"
    last = str(context.sent.get(window.end[0]) or "9999-12-31")

    def ended(row: Any) -> Any:
        end = row.get("realtime_end") if isinstance(row, dict) else None
        return {**row, "realtime_end": last} if isinstance(end, str) and end > last else row

    return ended


VINTAGE = Policy(prepare=as_it_stood, judge=judge)
