"""Rows of series as any past cutoff showed them: read once through the broker, then cut by the day each became known.

Asking the broker at each of 120 cutoffs would take 10 s. That the cuts are the broker's is checked where they are made.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path

import numpy as np

from proxies.asof.clock import Cutoff
from proxies.broker import Broker
from proxies.errors import ProxyError
from proxies.ledger import Address, MemoryLedger
from proxies.vendors.embedded import series_rows
from workbench.offline.visible_past import Observe, broker_history, open_sources
from workbench.questions.decision import Rows
from workbench.questions.errors import ClaimRefused, LookAhead
from workbench.questions.series.series_reference import SeriesRef
from workbench.questions.series.series_registry import source_of_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownRow:
    """One value, the day it belongs to, and the day on which it became known."""

    date: str
    value: float
    known: str


@dataclass(frozen=True, slots=True)
class KnownRows:
    """Values of some series, oldest first, with when each became known; a day that was revised has a row for each of its states."""

    series: Mapping[str, tuple[KnownRow, ...]]

    def as_of(self, last_day: date) -> dict[str, Rows]:
        """Return what was known at the end of a day; a series of which nothing was known yet has no rows."""
        day = last_day.isoformat()
        return {
            name: _last_states(row for row in rows if row.known <= day) for name, rows in self.series.items()
        }

    def all(self) -> dict[str, Rows]:
        """Return every row, for outcomes alone."""
        return {name: _last_states(rows) for name, rows in self.series.items()}

    def first_day(self, names: Iterable[str]) -> date:
        """Return the day of the first value that all of these series have."""
        return max(date.fromisoformat(self.series[name][0].date) for name in names)

    def altered(self, after: date) -> "KnownRows":
        """Return another world: equal up to the end of a day, and with other values for all that became known later."""
        day, draws = after.isoformat(), np.random.default_rng(after.toordinal())
        return KnownRows(
            {
                name: tuple(
                    row
                    if row.known <= day
                    else replace(row, value=row.value * float(draws.uniform(0.5, 2.0)))
                    for row in rows
                )
                for name, rows in self.series.items()
            }
        )


def _last_states(rows: Iterable[KnownRow]) -> Rows:
    """The last state of each day; states of one day stand in the order in which they became known."""
    values = {row.date: row.value for row in rows}
    return [{"date": day, "value": value} for day, value in values.items()]


#: Sources whose values are known at the end of their own day, and never revised.
_KNOWN_AT_ONCE = ("yfinance", "fmp", "kalshi", "polymarket")
_FIRST_VINTAGE = "1776-07-04"


async def _rows_elsewhere(broker: Broker, ref: SeriesRef, until: Cutoff) -> tuple[KnownRow, ...]:
    """Rows of another source than the embedded one; raises ``ClaimRefused`` where it does not tell when they became known."""
    path, params = ref.call(until.instant)
    if ref.source == "fred":
        # Every state in which a value ever stood.
        params = params | {"realtime_start": _FIRST_VINTAGE}
    elif ref.source not in _KNOWN_AT_ONCE:
        raise ClaimRefused(
            f"{ref.reference} does not tell when each of its values became known, so past forecasts cannot be made again"
        )
    address = Address(run="record", node="P0", trial=1, attempt=1, stage="observe", step=0, retry=0)
    answer = await broker.session(until, MemoryLedger()).call(path, params, address)
    if ref.source != "fred":
        rows = ref.rows(answer.data, until.last_moment_day)
        return tuple(KnownRow(date=row["date"], value=row["value"], known=row["date"]) for row in rows)
    states = [
        KnownRow(date=row["date"], value=float(row["value"]), known=row["realtime_start"])
        for row in answer.data["observations"]
        if row["value"] not in (".", "")
    ]
    return tuple(sorted(states, key=lambda state: (state.date, state.known)))


async def read_known_rows(names: Iterable[str], until: Cutoff, *, root: Path | None = None) -> KnownRows:
    """Return what the broker shows of series at a cutoff, with the day on which each row became known.

    Raises
    ------
    ClaimRefused
        A source does not tell when its values became known, or cannot be read.
    LookAhead
        At a past cutoff the broker shows other rows than those that are cut here.
    """
    names = sorted(set(names))
    broker = open_sources(names, root)
    try:
        observe = broker_history(broker)
        series = {}
        for name in names:
            ref = source_of_rows(name)
            if ref.source != "embedded":
                series[name] = await _rows_elsewhere(broker, ref, until)
                continue
            stamps = {row["date"]: str(row["known"])[:10] for row in series_rows(root, name)}
            visible = await observe(name, until)
            series[name] = tuple(
                KnownRow(date=row["date"], value=float(row["value"]), known=stamps[row["date"]])
                for row in visible
            )
        rows = KnownRows(series)
        await check_rows(rows, observe)
        return rows
    except ProxyError as problem:
        raise ClaimRefused(f"the series cannot be read: {problem}") from None
    finally:
        await broker.aclose()


async def check_rows(rows: KnownRows, observe: Observe) -> None:
    """Refuse rows that are cut otherwise than the broker cuts them, at a few days of each series; raises ``LookAhead``."""
    for name, values in rows.series.items():
        # A weekday each, so that a weekly release is met on both of its sides.
        for place in (0.35, 0.6, 0.85):
            if not values:
                continue
            row = values[int(place * len(values))]
            last_day = date.fromisoformat(row.date) + timedelta(days=2)
            cut = [each["date"] for each in rows.as_of(last_day)[name]]
            seen = await observe(name, Cutoff.parse((last_day + timedelta(days=1)).isoformat()))
            if cut != [each["date"] for each in seen]:
                raise LookAhead(
                    f"{name} is cut at {last_day} otherwise than the broker cuts it: {len(cut)} rows, {len(seen)} were known"
                )
