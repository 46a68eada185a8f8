"""search_date_filter: only results dated before the cutoff; the request asks for no later ones either."""

import re
from datetime import timedelta

from proxies.asof.clock import Cutoff, parse_day
from proxies.asof.policies.base import ApiRequest, Plan, Policy, by_stamp
from proxies.asof.policies.windows import clamp
from proxies.errors import ParameterInvalid

_RANGE = re.compile(r"(\d{4}-\d{2}-\d{2})to(\d{4}-\d{2}-\d{2})\Z")
_BACK = {"pd": 1, "pw": 7, "pm": 31, "py": 365}
_FIRST = "1990-01-01"


def prepare(request: ApiRequest, cutoff: Cutoff) -> Plan:
    """Return the request with every end date pulled back to the cutoff, or with a window that ends on the last visible day.

    Raises `ParameterInvalid`: The window is written in no known form.
    """
    window = request.endpoint.as_of.window
    assert window is not None, "the loader checks that search_date_filter has a window"
    if cutoff.live or not window.text:
        return clamp(request, cutoff)
    requested = request.params.get(window.text)
    last = cutoff.last_visible_day
    start, end = _FIRST, last.isoformat()
    if requested in _BACK:
        start = (last - timedelta(days=_BACK[requested])).isoformat()
    elif requested:
        match = _RANGE.match(str(requested))
        days = [parse_day(part) for part in match.groups()] if match else [None, None]
        if days[0] is None or days[1] is None or days[0] > days[1]:
            raise ParameterInvalid(
                f"{window.text}={requested!r} is neither pd, pw, pm, py nor YYYY-MM-DDtoYYYY-MM-DD"
            )
        if days[0] > last:
            return Plan(
                params=dict(request.params),
                empty=True,
                clamped=(f"{window.text}: the whole window lies after the cutoff",),
            )
        start, end = days[0].isoformat(), min(days[1], last).isoformat()
    sent = f"{start}to{end}"
    clamped = () if requested in (None, sent) else (f"{window.text}: {requested} -> {sent}",)
    return Plan(params={**request.params, window.text: sent}, clamped=clamped)


SEARCH_DATE_FILTER = Policy(prepare=prepare, judge=by_stamp)
