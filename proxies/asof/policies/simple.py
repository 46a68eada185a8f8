"""Implement policies that only look at rows or fields: static, strip_fields, snapshot_refused, filter_rows, publication_date."""

from typing import Any

from proxies.asof.clock import Cutoff
from proxies.asof.policies.base import (
    LATE,
    UNDATED,
    ApiRequest,
    Judge,
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
from proxies.asof.policies.windows import clamp
from proxies.asof.rows import get
from proxies.errors import CutoffRefused

OVER = "had ended before the cutoff"
UNCLEAR = "since when or until when it held is not on record"


def refuse_snapshot(request: ApiRequest, cutoff: Cutoff) -> Plan:
    """Refuse an endpoint that only knows the present.

    Raises `CutoffRefused`: A cutoff is set.
    """
    if cutoff.live:
        return pass_on(request, cutoff)
    as_of = request.endpoint.as_of
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
    spell, stamp = context.as_of.spell, context.as_of.stamp
    assert spell is not None and stamp is not None, "the loader checks the stamp"
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


STATIC = Policy(prepare=pass_on, judge=pass_rows)
STRIP_FIELDS = Policy(prepare=clamp, judge=_dated_if_stamped)
SNAPSHOT_REFUSED = Policy(prepare=refuse_snapshot, judge=pass_rows)
FILTER_ROWS = Policy(prepare=clamp, judge=_filter)
PUBLICATION_DATE = Policy(prepare=clamp, judge=by_stamp)
