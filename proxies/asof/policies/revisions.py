"""revision_at: the newest revision saved before the cutoff."""

from datetime import timedelta

from proxies.asof.clock import Cutoff
from proxies.asof.policies.base import ApiRequest, Plan, Policy, by_stamp


def prepare(request: ApiRequest, cutoff: Cutoff) -> Plan:
    """The request for the newest revision up to one second before the cutoff."""
    if cutoff.live:
        return Plan(params=dict(request.params))
    # MediaWiki's stamps have whole seconds and rvstart includes its own
    newest = cutoff.instant - timedelta(seconds=1)
    return Plan(params={**request.params, "rvstart": newest.strftime("%Y-%m-%dT%H:%M:%SZ")})


REVISION_AT = Policy(prepare=prepare, judge=lambda request, cutoff, context: by_stamp(request, cutoff))
