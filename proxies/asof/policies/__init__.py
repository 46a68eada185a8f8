"""List the closed set of as-of policies by name, for one dispatch."""

from collections.abc import Mapping
from types import MappingProxyType

from proxies.asof.policies.base import ApiRequest, AskAgain, Judge, Lookup, Plan, Policy, PolicyContext
from proxies.asof.policies.joins import PUBLICATION_JOIN
from proxies.asof.policies.lags import PUBLICATION_LAG
from proxies.asof.policies.revisions import REVISION_AT
from proxies.asof.policies.search_policy import SEARCH_DATE_FILTER
from proxies.asof.policies.simple import FILTER_ROWS, PUBLICATION_DATE, SNAPSHOT_REFUSED, STATIC, STRIP_FIELDS
from proxies.asof.policies.trends import WINDOW_END
from proxies.asof.policies.vintage import VINTAGE
from proxies.asof.policies.windows import REQUEST_POINT, REQUEST_RANGE
from proxies.catalogue.schema import Endpoint
from proxies.errors import CutoffRefused

POLICIES: Mapping[str, Policy] = MappingProxyType(
    {
        "static": STATIC,
        "strip_fields": STRIP_FIELDS,
        "snapshot_refused": SNAPSHOT_REFUSED,
        "request_range": REQUEST_RANGE,
        "request_point": REQUEST_POINT,
        "filter_rows": FILTER_ROWS,
        "publication_date": PUBLICATION_DATE,
        "publication_join": PUBLICATION_JOIN,
        "publication_lag": PUBLICATION_LAG,
        "vintage": VINTAGE,
        "window_end": WINDOW_END,
        "search_date_filter": SEARCH_DATE_FILTER,
        "revision_at": REVISION_AT,
    }
)

# part of every cached answer's name: raise it when what a policy lets through changes
POLICY_VERSION = 6


def policy_of(endpoint: Endpoint) -> Policy:
    """Return the policy of an endpoint: the one place where both halves are looked up.

    Raises `CutoffRefused`: There is none of this name; nothing is fetched without one.
    """
    policy = POLICIES.get(endpoint.as_of.policy)
    if policy is None:
        raise CutoffRefused(f"{endpoint.path} has no working as-of policy")
    return policy


__all__ = [
    "POLICIES",
    "POLICY_VERSION",
    "ApiRequest",
    "AskAgain",
    "Judge",
    "Lookup",
    "Plan",
    "Policy",
    "PolicyContext",
    "policy_of",
]
