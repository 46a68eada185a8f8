"""Policies that only look at rows or fields: static, strip_fields, snapshot_refused, filter_rows, publication_date."""

from proxies.clock import Cutoff
from proxies.errors import CutoffRefused
from proxies.policies.base import Ask, Found, Judge, Plan, Policy, by_stamp, keep_all, pass_on
from proxies.policies.windows import clamp


def refuse_snapshot(ask: Ask, cutoff: Cutoff) -> Plan:
    """Refuse an endpoint that only knows the present.

    Raises
    ------
    CutoffRefused
        A cutoff is set.
    """
    if cutoff.live:
        return pass_on(ask, cutoff)
    instead = ask.endpoint.as_of.instead
    hint = f": use {instead}" if instead else ": there is no dated form of it"
    raise CutoffRefused(
        f"{ask.endpoint.path} only tells the present and is refused while a cutoff is set{hint}"
    )


def _dated_if_stamped(ask: Ask, cutoff: Cutoff, found: Found) -> Judge:
    return by_stamp(ask, cutoff) if ask.endpoint.as_of.stamp else keep_all(ask, cutoff, found)


STATIC = Policy(prepare=pass_on, judge=keep_all)
STRIP_FIELDS = Policy(prepare=pass_on, judge=_dated_if_stamped)
SNAPSHOT_REFUSED = Policy(prepare=refuse_snapshot, judge=keep_all)
FILTER_ROWS = Policy(prepare=clamp, judge=lambda ask, cutoff, found: by_stamp(ask, cutoff))
PUBLICATION_DATE = Policy(prepare=clamp, judge=lambda ask, cutoff, found: by_stamp(ask, cutoff))
