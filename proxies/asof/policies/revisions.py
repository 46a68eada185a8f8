"""revision_at: the newest revision saved before the cutoff, under the title of then."""

from datetime import datetime, timedelta

from proxies.asof.clock import Cutoff, parse_instant, zone_of
from proxies.asof.policies.base import ApiRequest, Plan, Policy, by_stamp

#: Not sent: the moment at which the source tells pages' titles. It differs from ``rvstart`` where older edits are wanted.
TITLE_AT = "title_at"


def prepare(request: ApiRequest, cutoff: Cutoff) -> Plan:
    """Return the request for the newest revision up to one second before the cutoff, or up to an earlier instant that was asked for."""
    if cutoff.live:
        return Plan(params=dict(request.params))
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


REVISION_AT = Policy(prepare=prepare, judge=by_stamp)
