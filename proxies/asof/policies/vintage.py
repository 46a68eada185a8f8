"""FRED vintages: values as they stood on the last visible day.

The real-time window has day resolution and a day's releases come out at 08:30, so the day before the cutoff is
the last one whose state was known. An older window that the caller asks for is kept: all of it was known.
"""

from typing import Any

from proxies.asof.clock import Cutoff, parse_day
from proxies.asof.policies.base import LATE, UNDATED, Ask, Found, Judge, Plan, Policy, by_stamp
from proxies.asof.rows import get
from proxies.errors import ParameterInvalid


def as_it_stood(ask: Ask, cutoff: Cutoff) -> Plan:
    """The request with both real-time parameters on or before the last visible day.

    Raises
    ------
    ParameterInvalid
        The window asked for ends before it starts.
    """
    if cutoff.live:
        return Plan(params=dict(ask.params))
    window = ask.endpoint.as_of.window
    assert window is not None, "the loader checks that vintage has a window"
    (start,), (end, *also) = window.start, window.end
    last = cutoff.last_visible_day.isoformat()
    asked_start, asked_end = ask.params.get(start), ask.params.get(end)
    if asked_start and asked_end and asked_start > asked_end:
        raise ParameterInvalid(f"{start} ({asked_start}) lies after {end} ({asked_end})")
    first_of: str = asked_end if asked_end and asked_end < last else last
    new_end = first_of
    new_start = min(asked_start, new_end) if asked_start else new_end
    params: dict[str, Any] = {**ask.params, start: new_start, end: new_end}
    clamped = [
        f"{n}: {v} -> {params[n]}" for n, v in ((start, asked_start), (end, asked_end)) if v and v > params[n]
    ]
    for name in also:
        value = params.get(name)
        if value is None or value > last:
            params[name] = last
            if value is not None:
                clamped.append(f"{name}: {value} -> {last}")
    return Plan(params=params, clamped=tuple(clamped))


def judge(ask: Ask, cutoff: Cutoff, found: Found) -> Judge:
    """Rows of a later vintage go, and rows whose own period starts after the cutoff."""
    stamped = ask.endpoint.as_of.stamp
    if stamped is None:
        # a row that carries a vintage stamp although none is promised is still held to it
        return lambda row: _late_vintage(row, cutoff)
    by_field = by_stamp(ask, cutoff)

    def both(row: Any) -> str | None:
        return by_field(row) or (_late_vintage(row, cutoff) if isinstance(row, dict) else None)

    return both


def _late_vintage(row: Any, cutoff: Cutoff) -> str | None:
    value = get(row, "realtime_start") if isinstance(row, dict) else None
    if value is None or cutoff.live:
        return None
    day = parse_day(value) if isinstance(value, str) else None
    if day is None:
        return UNDATED
    return None if day <= cutoff.last_visible_day else LATE


VINTAGE = Policy(prepare=as_it_stood, judge=judge)
