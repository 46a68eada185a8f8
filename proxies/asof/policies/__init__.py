"""The closed set of as-of policies, by name: one dispatch."""

from collections.abc import Mapping
from types import MappingProxyType

from proxies.asof.policies.base import Ask, AskAgain, Found, Judge, Lookup, Plan, Policy
from proxies.asof.policies.joins import PUBLICATION_JOIN
from proxies.asof.policies.lags import PUBLICATION_LAG
from proxies.asof.policies.revisions import REVISION_AT
from proxies.asof.policies.search import SEARCH_DATE_FILTER
from proxies.asof.policies.simple import FILTER_ROWS, PUBLICATION_DATE, SNAPSHOT_REFUSED, STATIC, STRIP_FIELDS
from proxies.asof.policies.trends import WINDOW_END
from proxies.asof.policies.vintage import VINTAGE
from proxies.asof.policies.windows import REQUEST_POINT, REQUEST_RANGE

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

# part of every request's hash and of every cached answer's name: raise it when what a policy lets through changes
POLICY_VERSION = 3

__all__ = ["POLICIES", "POLICY_VERSION", "Ask", "AskAgain", "Found", "Judge", "Lookup", "Plan", "Policy"]
