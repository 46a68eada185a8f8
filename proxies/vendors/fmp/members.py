"""Who was in an index when: today's list unrolled backwards through its changes."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from proxies.asof.clock import parse_day


@dataclass(frozen=True, slots=True)
class _Stay:
    """A company that was in the index up to a day (None: still is), as far as the walk has come.

    ``first`` is the day of joining as it stands beside its name today, empty where there is none.
    """

    name: Any
    until: date | None
    first: Any = ""


def spells(members: Any, changes: Any) -> list[dict[str, Any]]:
    """One row for each time a company was in the index, as far back as the changes reach.

    Parameters
    ----------
    members : list of rows
        Those of today: ``symbol, name, dateFirstAdded``.
    changes : list of rows
        ``date, symbol`` (joined), ``removedTicker, removedSecurity`` (left).

    Returns
    -------
    list of dict
        ``symbol, name, dateAdded`` (None where no change tells it), ``since`` (the day from which it surely belonged, None where that
        cannot be told), ``until`` (None: to this day), ``reach`` (the first day of the record, None without one).
    """
    known = [(day, row) for row in _rows(changes) if (day := _day(row.get("date"))) is not None]
    # newest first; rows of one day in the order they came
    known.sort(key=lambda item: item[0], reverse=True)
    reach = known[-1][0] if known else None
    inside = {
        str(row["symbol"]): _Stay(row.get("name"), None, row.get("dateFirstAdded"))
        for row in _rows(members)
        if _ticker(row.get("symbol"))
    }
    out: list[dict[str, Any]] = []

    def leave(symbol: str, stay: _Stay, joined: date | None, since: date | None) -> None:
        days = {"dateAdded": joined, "since": since, "until": stay.until, "reach": reach}
        texts = {name: day.isoformat() if day else None for name, day in days.items()}
        out.append({"symbol": symbol, "name": stay.name, **texts})

    for day, row in known:
        joined, left = _ticker(row.get("symbol")), _ticker(row.get("removedTicker"))
        # backwards in time: who joined on this day was not inside before it, and who left was
        if joined and (stay := inside.pop(str(joined), None)) is not None:
            leave(str(joined), stay, day, day)
        if left:
            again = inside.pop(str(left), None)
            if again is not None:
                # it left, and is inside later without having joined: since when is not on record
                leave(str(left), again, None, None)
            inside[str(left)] = _Stay(row.get("removedSecurity"), day)
    for symbol, stay in inside.items():
        # no joining on record: in the index before the record begins, unless a day stands beside its name. Who left has none any
        # more, so that who is inside without one must read alike
        since = reach if stay.first in (None, "") else _day(stay.first)
        # the day it joined is told from the record of changes alone: of who left later there is no other
        leave(symbol, stay, None, since)
    return out


def _rows(value: Any) -> list[Mapping[str, Any]]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _ticker(value: Any) -> str:
    # an object written as text would pass for a name
    return value if isinstance(value, str) else ""


def _day(value: Any) -> date | None:
    return parse_day(value) if isinstance(value, str) else None


def pack_members(data: Any, params: Mapping[str, Any]) -> Any:
    """The members of an index, by ticker. Spells that ended are left out: only the policy needs them."""
    # a live answer has the names too; under a cutoff the catalogue lets the ticker and the day of joining through alone
    rows = [
        {name: row[name] for name in ("symbol", "name", "dateAdded") if name in row}
        for row in data
        if row.get("until") is None
    ]
    return sorted(rows, key=lambda row: str(row["symbol"]))
