"""Bound the request in time: request_range, request_point, and the clamp that they share."""

from datetime import UTC, date, datetime
from typing import Any

from proxies.asof.clock import NEW_YORK, Cutoff, parse_day, parse_instant, start_of_day
from proxies.asof.policies.base import ApiRequest, Plan, Policy, by_stamp, by_stamp_if_any
from proxies.catalogue.schema import Window
from proxies.errors import CutoffRefused, ParameterInvalid


def clamp(request: ApiRequest, cutoff: Cutoff) -> Plan:
    """Return the request with every bound of its window pulled back to the cutoff.

    A missing end is set to the cutoff without notice; a start on or after the cutoff makes the answer empty; a start after its
    own end is the caller's mistake. The length of the window is never shifted.

    Raises `ParameterInvalid`: The window ends before it starts.
    """
    window = request.endpoint.as_of.window
    if window is None or cutoff.live:
        return Plan(params=dict(request.params))
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
            return Plan(
                params=params, empty=True, clamped=(f"{start}: the whole window lies after the cutoff",)
            )
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
    return Plan(params=dict(request.params))


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
    window = request.endpoint.as_of.window
    assert window is not None, "the loader checks that request_point has a window"
    if cutoff.live:
        return Plan(params=dict(request.params))
    value = request.params.get(window.at)
    if value is not None and value > cutoff.last_moment_day.isoformat():
        raise CutoffRefused(
            f"{window.at}={value} is not before the cutoff {cutoff.text}: ask for an earlier day"
        )
    return Plan(params=dict(request.params))


REQUEST_RANGE = Policy(prepare=clamp, judge=by_stamp_if_any)
REQUEST_POINT = Policy(prepare=at_point, judge=by_stamp)
