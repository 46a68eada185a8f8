"""List the closed set of as-of policies by name, for one dispatch."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from proxies.asof.clock import Cutoff
from proxies.asof.policies.base import (
    LATE,
    UNDATED,
    ApiRequest,
    AskAgain,
    Judge,
    Lookup,
    Plan,
    Policy,
    PolicyContext,
    Reason,
    by_stamp,
    by_stamp_if_any,
    pass_on,
    pass_rows,
)
from proxies.asof.policies.first_days import by_first_day
from proxies.asof.policies.periods import by_lag, by_report, with_reports, with_year_ends
from proxies.asof.policies.trends import before_cutoff, whole_buckets
from proxies.asof.policies.windows import as_it_stood, as_saved, at_point, by_vintage, clamp, dated_before
from proxies.asof.rows import get
from proxies.catalogue.schema import Endpoint
from proxies.errors import CutoffRefused

OVER = "had ended before the cutoff"
UNCLEAR = "since when or until when it held is not on record"


def refuse_snapshot(request: ApiRequest, cutoff: Cutoff) -> Plan:
    """Refuse an endpoint that only knows the present.

    Raises `CutoffRefused`: A cutoff is set.
    """
    as_of = request.as_of
    hint = f": use {as_of.instead}" if as_of.instead else ": there is no dated form of it"
    for value in request.params.values():
        if isinstance(value, str) and value in as_of.instead_names:
            hint += f" with series_id={as_of.instead_names[value]}"
    raise CutoffRefused(
        f"{request.endpoint.path} holds present values only and is refused while a cutoff is set{hint}"
    )


def _dated_if_stamped(context: PolicyContext) -> Judge:
    return by_first_day(context) if context.as_of.first else by_stamp_if_any(context)


def _filter(context: PolicyContext) -> Judge:
    return _in_spell(context) if context.as_of.spell else by_stamp(context)


def _in_spell(context: PolicyContext) -> Judge:
    """Return a judge that keeps what held at the cutoff: begun before it, and not ended before it.

    The judge raises CutoffRefused where the record of changes does not reach back to the cutoff.
    """
    spell, stamp = context.as_of.spell, context.request.stamp
    assert spell is not None, "asked for only then"
    begun = by_stamp(context)
    ended = by_stamp(context, stamp.model_copy(update={"field": spell.until}))
    reached = by_stamp(context, stamp.model_copy(update={"field": spell.reach}))

    def reason_of(row: Any) -> Reason:
        if reached.reason(row) is not None:
            raise CutoffRefused(
                f"{context.request.endpoint.path} cannot be rolled back to the cutoff, because its record of changes begins later"
            )
        reason = begun.reason(row)
        # what is not on record here may be due to a later change, and is not counted as undated
        if reason is not None or get(row, spell.until) is None:
            return UNCLEAR if reason == UNDATED else reason
        return {None: OVER, LATE: None}.get(ended.reason(row), UNCLEAR)

    return Judge(reason_of)


POLICIES: Mapping[str, Policy] = MappingProxyType(
    {
        "static": Policy(pass_on, pass_rows),
        "strip_fields": Policy(clamp, _dated_if_stamped),
        "snapshot_refused": Policy(refuse_snapshot, pass_rows),
        "request_range": Policy(clamp, by_stamp_if_any),
        "request_point": Policy(at_point, by_stamp),
        "filter_rows": Policy(clamp, _filter),
        "publication_date": Policy(clamp, by_stamp),
        "publication_join": Policy(with_reports, by_report),
        "publication_lag": Policy(with_year_ends, by_lag),
        "vintage": Policy(as_it_stood, by_vintage),
        "window_end": Policy(before_cutoff, whole_buckets),
        "search_date_filter": Policy(dated_before, by_stamp),
        "revision_at": Policy(as_saved, by_stamp),
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
