"""Policies that only look at rows or fields: static, strip_fields, snapshot_refused, filter_rows, publication_date."""

from dataclasses import replace
from typing import Any

from proxies.asof.clock import Cutoff
from proxies.asof.policies.base import (
    LATE,
    UNDATED,
    Ask,
    Found,
    Judge,
    Plan,
    Policy,
    by_stamp,
    keep_all,
    pass_on,
)
from proxies.asof.policies.windows import clamp
from proxies.asof.rows import get
from proxies.errors import CutoffRefused

OVER = "had ended before the cutoff"
UNCLEAR = "since when or until when it held is not on record"


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


def _filter(ask: Ask, cutoff: Cutoff, found: Found) -> Judge:
    return _in_spell(ask, cutoff) if ask.endpoint.as_of.spell else by_stamp(ask, cutoff)


def _in_spell(ask: Ask, cutoff: Cutoff) -> Judge:
    """A judge that keeps what held at the cutoff: begun before it, and not ended before it.

    The judge raises CutoffRefused where the record of changes does not reach back to the cutoff.
    """
    spell, stamp = ask.endpoint.as_of.spell, ask.endpoint.as_of.stamp
    assert spell is not None and stamp is not None, "the loader checks the stamp"
    begun = by_stamp(ask, cutoff)
    ended = by_stamp(ask, cutoff, replace(stamp, field=spell.until))
    reached = by_stamp(ask, cutoff, replace(stamp, field=spell.reach))

    def one(row: Any) -> str | None:
        if reached(row) is not None:
            raise CutoffRefused(
                f"{ask.endpoint.path} cannot be rolled back to the cutoff: the record of changes does not reach so far"
            )
        reason = begun(row)
        # what is not on record here may be due to a later change, and is not counted as undated
        if reason is not None or get(row, spell.until) is None:
            return UNCLEAR if reason == UNDATED else reason
        return {None: OVER, LATE: None}.get(ended(row), UNCLEAR)

    return one


STATIC = Policy(prepare=pass_on, judge=keep_all)
STRIP_FIELDS = Policy(prepare=pass_on, judge=_dated_if_stamped)
SNAPSHOT_REFUSED = Policy(prepare=refuse_snapshot, judge=keep_all)
FILTER_ROWS = Policy(prepare=clamp, judge=_filter)
PUBLICATION_DATE = Policy(prepare=clamp, judge=lambda ask, cutoff, found: by_stamp(ask, cutoff))
