"""Bound the request in time: windows, single days, windows of searches, vintages and saved revisions."""

import re
from datetime import UTC, date, datetime, timedelta
from typing import Any

from proxies.asof.clock import NEW_YORK, Cutoff, parse_day, parse_instant, start_of_day, zone_of
from proxies.asof.policies.base import (
    LATE,
    UNDATED,
    ApiRequest,
    Judge,
    Plan,
    PolicyContext,
    Reason,
    by_stamp,
    pass_on,
)
from proxies.asof.rows import Change, get
from proxies.catalogue.schema import Window
from proxies.errors import CutoffRefused, ParameterInvalid

_RANGE = re.compile(r"(\d{4}-\d{2}-\d{2})to(\d{4}-\d{2}-\d{2})\Z")
_BACK = {"pd": 1, "pw": 7, "pm": 31, "py": 365}
_FIRST = "1990-01-01"
#: Not sent: the moment at which the source tells pages' titles. It differs from ``rvstart`` where older edits are wanted.
TITLE_AT = "title_at"


def all_later(request: ApiRequest, name: str) -> Plan:
    """Return the plan of a window that begins after the cutoff: an empty answer, for which nobody is asked."""
    return Plan(
        params=dict(request.params), empty=True, clamped=(f"{name}: the whole window lies after the cutoff",)
    )


def clamp(request: ApiRequest, cutoff: Cutoff) -> Plan:
    """Return the request with every bound of its window pulled back to the cutoff.

    A missing end is set to the cutoff without notice; a start on or after the cutoff makes the answer empty; a start after its
    own end is the caller's mistake. The length of the window is never shifted.

    Raises `ParameterInvalid`: The window ends before it starts.
    """
    window = request.as_of.window
    if window is None:
        return pass_on(request, cutoff)
    if window.at:
        return _clamp_day(request, cutoff, window.at)
    params: dict[str, Any] = dict(request.params)
    clamped: list[str] = []
    last = last_bound(cutoff, window)
    wanted_end = [params[name] for name in window.end if params.get(name) is not None]
    for start in window.start:
        value = params.get(start)
        if value is None:
            continue
        if any(_moment(value, window) > _moment(end, window) for end in wanted_end):
            raise ParameterInvalid(f"{start} ({value}) lies after the end of the window ({wanted_end[0]})")
        if _moment(value, window) > _moment(last, window):
            return all_later(request, start)
    for end in window.end:
        value = params.get(end)
        if value is None:
            if window.always:
                params[end] = last
        elif _moment(value, window) > _moment(last, window):
            params[end] = last
            clamped.append(f"{end}: {value} -> {last}")
    return Plan(params=params, clamped=tuple(clamped))


def _clamp_day(request: ApiRequest, cutoff: Cutoff, name: str) -> Plan:
    """Return the request for a single day: the last possible one if none was given; a later one makes the answer empty."""
    last = cutoff.last_moment_day.isoformat()
    value = request.params.get(name)
    if value is None:
        return Plan(params={**request.params, name: last})
    # both are checked ISO days, which sort as text
    if value > last:
        return Plan(params=dict(request.params), empty=True, clamped=(f"{name}: lies after the cutoff",))
    return pass_on(request, cutoff)


def last_bound(cutoff: Cutoff, window: Window) -> Any:
    """Return the latest end a window may have, written in the window's unit."""
    if window.unit == "epoch":
        return int(cutoff.instant.timestamp())
    if window.unit == "instant":
        return cutoff.instant.strftime("%Y-%m-%dT%H:%M:%S.000Z")
    day = cutoff.last_visible_day if window.whole else cutoff.last_moment_day
    return day.strftime("%Y%m%d") if window.unit == "compact" else day.isoformat()


def _moment(value: Any, window: Window) -> datetime:
    """Return a bound as an instant, to compare bounds as times and never as text."""
    if window.unit == "epoch":
        # 2e11 is in the year 8307: a larger number would overflow, and is as late as that for every comparison
        return datetime.fromtimestamp(min(float(value), 2e11), tz=UTC)
    if window.unit == "compact":
        text = str(value)
        value = f"{text[:4]}-{text[4:6]}-{text[6:8]}"
    day: date | None = parse_day(str(value))
    if day is not None:
        return start_of_day(day, NEW_YORK if window.unit == "day" else UTC)  # type: ignore[arg-type]
    stamp = parse_instant(str(value), NEW_YORK)
    if stamp is None:
        raise ParameterInvalid(f"{value!r} is not a time this endpoint understands")
    return stamp


def at_point(request: ApiRequest, cutoff: Cutoff) -> Plan:
    """Return the request for one day, refused unless the day lies before the cutoff.

    Raises `CutoffRefused`: The day is not before the cutoff.
    """
    name = request.window.at
    value = request.params.get(name)
    if value is not None and value > cutoff.last_moment_day.isoformat():
        raise CutoffRefused(f"{name}={value} is not before the cutoff {cutoff.text}: ask for an earlier day")
    return pass_on(request, cutoff)


def dated_before(request: ApiRequest, cutoff: Cutoff) -> Plan:
    """Return the request with every end date pulled back to the cutoff, or with a window that ends on the last visible day.

    Raises `ParameterInvalid`: The window is written in no known form.
    """
    name = request.window.text
    if not name:
        return clamp(request, cutoff)
    requested = request.params.get(name)
    last = cutoff.last_visible_day
    start, end = _FIRST, last.isoformat()
    if requested in _BACK:
        start = (last - timedelta(days=_BACK[requested])).isoformat()
    elif requested:
        match = _RANGE.match(str(requested))
        days = [parse_day(part) for part in match.groups()] if match else [None, None]
        if days[0] is None or days[1] is None or days[0] > days[1]:
            raise ParameterInvalid(
                f"{name}={requested!r} is neither pd, pw, pm, py nor YYYY-MM-DDtoYYYY-MM-DD"
            )
        if days[0] > last:
            return all_later(request, name)
        start, end = days[0].isoformat(), min(days[1], last).isoformat()
    sent = f"{start}to{end}"
    clamped = () if requested in (None, sent) else (f"{name}: {requested} -> {sent}",)
    return Plan(params={**request.params, name: sent}, clamped=clamped)


def as_saved(request: ApiRequest, cutoff: Cutoff) -> Plan:
    """Return the request for the newest revision up to one second before the cutoff, or up to an earlier instant that was asked for."""
    # MediaWiki's stamps have whole seconds and rvstart includes its own
    newest = cutoff.instant - timedelta(seconds=1)
    requested = request.params.get("rvstart")
    wanted_start = parse_instant(str(requested), zone_of("UTC")) if requested else None
    clamped = (
        (f"rvstart: {requested} -> {_written(newest)}",) if wanted_start and wanted_start > newest else ()
    )
    start = wanted_start if wanted_start and wanted_start < newest else newest
    return Plan(
        params={**request.params, "rvstart": _written(start), TITLE_AT: _written(newest)}, clamped=clamped
    )


def _written(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def as_it_stood(request: ApiRequest, cutoff: Cutoff) -> Plan:
    """Return the request with both real-time parameters on or before the last visible day.

    FRED's real-time window has day resolution and a day's releases come out at 08:30, so the day before the cutoff is the last one whose
    state was known. An older window that the caller asks for is kept: all of it was known.

    Raises `ParameterInvalid`: The window asked for ends before it starts.
    """
    (start,), (end, *also) = request.window.start, request.window.end
    last = cutoff.last_visible_day.isoformat()
    wanted_start, wanted_end = request.params.get(start), request.params.get(end)
    if wanted_start and wanted_end and wanted_start > wanted_end:
        raise ParameterInvalid(f"{start} ({wanted_start}) lies after {end} ({wanted_end})")
    # both bounds are always sent: FRED puts today in the place of one that is missing
    new_end = min(wanted_end or last, last)
    new_start = min(wanted_start or new_end, new_end)
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


def by_vintage(context: PolicyContext) -> Judge:
    """Drop rows of a later vintage, and rows whose own period starts after the cutoff."""
    cutoff = context.cutoff
    if context.as_of.stamp is None:
        # a row that carries a vintage stamp although none is promised is still held to it
        return Judge(lambda row: _late_vintage(row, cutoff))
    by_field = by_stamp(context)
    return Judge(lambda row: by_field.reason(row) or _late_vintage(row, cutoff))


def _late_vintage(row: Any, cutoff: Cutoff) -> Reason:
    value = get(row, "realtime_start") if isinstance(row, dict) else None
    if value is None:
        return None
    day = parse_day(value) if isinstance(value, str) else None
    if day is None:
        return UNDATED
    return None if day <= cutoff.last_visible_day else LATE


def until_window_end(context: PolicyContext) -> Change:
    """Return a function that ends a row's real-time period with the window's, whatever became of the value after it."""
    last = str(context.sent.get(context.request.window.end[0]) or "9999-12-31")

    def ended(row: Any) -> Any:
        end = row.get("realtime_end") if isinstance(row, dict) else None
        return {**row, "realtime_end": last} if isinstance(end, str) and end > last else row

    return ended
