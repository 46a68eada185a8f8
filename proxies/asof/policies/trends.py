"""window_end: rewrite the window to end before the cutoff and ask again; the answer is never trimmed afterwards.

Values run from 0 to 100 within the window, so that a peak after the cutoff would shrink everything before it. Long
windows come in weeks or months, whose last bucket must end before the cutoff too: the window ends on the edge of one,
and an answer whose last bucket still overruns is wanted again with an earlier end.
"""

import re
from datetime import UTC, date, datetime, timedelta
from typing import Any

from proxies.asof.clock import Cutoff, parse_day
from proxies.asof.policies.base import (
    ApiRequest,
    AskAgain,
    Judge,
    Plan,
    PolicyContext,
    Reason,
    pass_rows,
)
from proxies.asof.policies.windows import all_later
from proxies.asof.rows import get
from proxies.asof.stamps import month_end
from proxies.errors import CutoffRefused, ParameterInvalid

_RELATIVE = re.compile(r"(?:now (\d+)-(H|d)|today (\d+)-(d|m|y))\Z")
_EXPLICIT = re.compile(r"(\d{4}-\d{2}-\d{2})(?:T\d{2})? (\d{4}-\d{2}-\d{2})(?:T\d{2})?\Z")
# Google's data begin here
_FIRST = date(2004, 1, 1)
# up to nine months come by day, up to about five years by week, longer by month
_DAILY, _WEEKLY = 269, 1890


def before_cutoff(request: ApiRequest, cutoff: Cutoff) -> Plan:
    """Return the request with an explicit window that ends on the last visible day or before.

    Raises `ParameterInvalid`: The window is written in no known form.
    """
    name = request.window.text
    requested = str(request.params.get(name) or request.endpoint.params[name].default)
    last = cutoff.last_visible_day
    start, end = bounds(requested, last)
    if start > end:
        return all_later(request, name)
    end = edge(start, end, last)
    sent = f"{start.isoformat()} {end.isoformat()}"
    clamped = () if sent == requested else (f"{name}: {requested} -> {sent}",)
    return Plan(params={**request.params, name: sent}, clamped=clamped)


def bounds(text: str, last: date) -> tuple[date, date]:
    """Return the first and last day of a window, ending on ``last`` at the latest; relative ones keep their length.

    Raises `ParameterInvalid`: No known form.
    """
    if text == "all":
        return _FIRST, last
    match = _RELATIVE.match(text)
    if match:
        number, unit = int(match[1] or match[3]), match[2] or match[4]
        if number > 10_000:
            raise ParameterInvalid(f"the window {text!r} is too long")
        return max(_FIRST, back(last, number, unit)), last
    match = _EXPLICIT.match(text)
    days = [parse_day(part) for part in match.groups()] if match else [None, None]
    if days[0] is None or days[1] is None:
        raise ParameterInvalid(
            f"the window {text!r} is neither 'today 12-m' and its like nor two dates with a space between"
        )
    if days[0] > days[1]:
        raise ParameterInvalid(f"the window {text!r} ends before it starts")
    return max(_FIRST, days[0]), min(days[1], last)


def back(last: date, number: int, unit: str) -> date:
    """Return the day some days, months or years earlier; hours become the last day alone, whose hours are all known.

    >>> back(date(2024, 5, 31), 3, "m").isoformat()
    '2024-02-29'
    """
    if unit in ("H", "d"):
        return last - timedelta(days=number if unit == "d" else 0)
    months = last.year * 12 + last.month - 1 - number * (12 if unit == "y" else 1)
    if months < 12:
        return _FIRST
    end = month_end(months // 12, months % 12 + 1)
    assert end is not None, "the month exists"
    return end.replace(day=min(last.day, end.day))


def edge(start: date, end: date, last: date) -> date:
    """Move the end back so that the last week or month of a long window is whole; short windows stay."""
    days = (end - start).days
    if days <= _DAILY:
        return end
    if days <= _WEEKLY:
        # weeks run from Sunday to Saturday
        back = (end.weekday() - 5) % 7
        saturday = end - timedelta(days=back)
        return end if saturday + timedelta(days=7) <= last else saturday
    last_day_of_month = month_end(end.year, end.month)
    if last_day_of_month is not None and last_day_of_month <= last:
        return end
    return end.replace(day=1) - timedelta(days=1)


def whole_buckets(context: PolicyContext) -> Judge:
    """Return a judge that lets whole answers through, and otherwise asks again with an earlier end."""
    cutoff, path = context.cutoff, context.request.endpoint.path
    stamp, name = context.as_of.stamp, context.request.window.text
    if stamp is None:
        return pass_rows(context)
    before: list[datetime] = []

    def reason(row: Any) -> Reason:
        value = get(row, stamp.field)
        seconds = float(value) if isinstance(value, (int, float)) or str(value).isdigit() else None
        if seconds is None or isinstance(value, bool):
            raise CutoffRefused(f"{path} sent a value without a date, so its answer is withheld")
        start = datetime.fromtimestamp(seconds, tz=UTC)
        width = start - before[-1] if before and start > before[-1] else timedelta(0)
        before.append(start)
        if start + width > cutoff.instant:
            sent = bounds(str(context.sent[name]), cutoff.last_visible_day)
            earlier = min(start.date(), sent[1]) - timedelta(days=1)
            if earlier <= sent[0]:
                raise CutoffRefused(
                    f"{path} has no bucket that ends before the cutoff: ask for a longer window"
                )
            raise AskAgain({**context.sent, name: f"{sent[0].isoformat()} {earlier.isoformat()}"})
        return None

    return Judge(reason)
