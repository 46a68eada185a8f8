"""Ask Financial Modeling Prep; who was in an index when is reconstructed from today's list and its changes."""

from dataclasses import dataclass
from datetime import date
from typing import Any

from proxies.asof.clock import parse_day
from proxies.catalogue.schema import Endpoint
from proxies.fetch.cache import RawAnswer
from proxies.json_text import Fields, Row
from proxies.vendors.base import HttpSource


class FmpSource(HttpSource):
    """FMP over HTTP."""

    async def fetch(self, endpoint: Endpoint, params: Fields) -> RawAnswer:
        """Return the raw answer; an index's members come with those that were members before."""
        if endpoint.codec != "members":
            return await super().fetch(endpoint, params)
        self.require_key()
        members = await self.payload(endpoint, params)
        changes, _ = await self.exchange(endpoint, self.build(endpoint, {}, url=f"historical-{endpoint.url}"))
        return self.answer(spells(members, changes))


@dataclass(frozen=True, slots=True)
class _Stay:
    """A company that was in the index up to a day (None: still is), as of the step reached."""

    name: Any
    until: date | None


def spells(members: Any, changes: Any) -> list[Row]:
    """Return one row for each time a company was in the index, as far back as the changes reach.

    `members`: Those of today: ``symbol, name``. The day beside a name (``dateFirstAdded``) is not read: it goes with its row when a member
    leaves, so that who is told by it would say who is to stay.
    """
    dated = [(day, row) for row in _rows(changes) if (day := _joined_day(row.get("date"))) is not None]
    # newest first; rows of one day in the order they came
    dated.sort(key=lambda item: item[0], reverse=True)
    reach = dated[-1][0] if dated else None
    inside = {
        str(row["symbol"]): _Stay(row.get("name"), None)
        for row in _rows(members)
        if _ticker(row.get("symbol"))
    }
    out: list[Row] = []

    def leave(symbol: str, stay: _Stay, joined: date | None) -> None:
        days = {"dateAdded": joined, "since": joined, "until": stay.until, "reach": reach}
        texts = {name: day.isoformat() if day else None for name, day in days.items()}
        out.append({"symbol": symbol, "name": stay.name, **texts})

    for day, row in dated:
        joined, removed = _ticker(row.get("symbol")), _ticker(row.get("removedTicker"))
        # backwards in time: who joined on this day was not inside before it, and who left was
        if joined and (stay := inside.pop(str(joined), None)) is not None:
            leave(str(joined), stay, day)
        if removed:
            again = inside.pop(str(removed), None)
            if again is not None:
                # it left, and is inside later without having joined: since when is not on record
                leave(str(removed), again, None)
            inside[str(removed)] = _Stay(row.get("removedSecurity"), day)
    for symbol, stay in inside.items():
        # whether it joined before the record begins or after the cutoff is on no record
        leave(symbol, stay, None)
    return out


def _rows(value: Any) -> list[Fields]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _ticker(value: Any) -> str:
    # an object written as text would pass for a name
    return value if isinstance(value, str) else ""


def _joined_day(value: Any) -> date | None:
    return parse_day(value) if isinstance(value, str) else None
