"""Compute a market's status at the cutoff from the instants on its record, never from fields of today.

A settled market's record says "settled", with its result; under a cutoff none of that is shown. What was known then
follows from when it opened and when trading ended. An end after the cutoff is not shown either: exchanges bring it
forward when the outcome is out.
"""

from typing import Any
from zoneinfo import ZoneInfo

from proxies.asof.clock import Cutoff
from proxies.asof.rows import Change
from proxies.asof.stamps import Stamp, known_from
from proxies.catalogue.schema import State

_INSTANT = Stamp(zone=ZoneInfo("UTC"))


def market_at(state: State, cutoff: Cutoff) -> Change:
    """Return a function that sets ``status`` of a market, or of an event's markets, as of the cutoff.

    ``status`` is ``unopened`` (listed, trading had not begun), ``open``, ``past its planned end`` (no end of trading is
    known by the cutoff, the planned one had passed) or ``closed``. The field that tells the end of trading goes.
    """

    def over(value: Any) -> bool | None:
        known_at = known_from(value, _INSTANT)
        return None if known_at is None else cutoff.admits(known_at)

    def status(row: dict[str, Any]) -> str:
        # a record without an end of trading reads like one whose end came later: the difference would tell today's state
        if over(row.get(state.closes)):
            return "closed"
        if over(row.get(state.opens)) is False:
            return "unopened"
        return "past its planned end" if state.planned and over(row.get(state.planned)) else "open"

    def changed(row: Any) -> Any:
        if not isinstance(row, dict):
            return row
        # gone whatever it says: shown only where it lies before the cutoff, its absence would say that the end came later
        out = {name: value for name, value in row.items() if name != state.closes}
        if state.of in row:
            out["status"] = status(row)
        if isinstance(out.get("markets"), list):
            out["markets"] = [changed(market) for market in out["markets"]]
        return out

    return changed
