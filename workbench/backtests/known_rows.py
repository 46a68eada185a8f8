"""Rows of embedded series as any past cutoff showed them: read once through the broker, then cut by the day each became known.

Asking the broker at each of 120 cutoffs would take 10 s. That the cuts are the broker's is checked where they are made.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path

import numpy as np

from proxies.asof.clock import Cutoff
from proxies.broker import open_broker
from proxies.settings import ProxySettings
from proxies.vendors.embedded import series_rows
from workbench.offline.visible_past import Observe, broker_history
from workbench.questions.decision import Rows
from workbench.questions.errors import LookAhead


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownRow:
    """One value, the day it belongs to, and the day on which it became known."""

    date: str
    value: float
    known: str


@dataclass(frozen=True, slots=True)
class KnownRows:
    """Values of some series, oldest first, with when each became known."""

    series: Mapping[str, tuple[KnownRow, ...]]

    def as_of(self, last_day: date) -> dict[str, Rows]:
        """Return what was known at the end of a day; a series of which nothing was known yet has no rows."""
        day = last_day.isoformat()
        return {
            name: [{"date": row.date, "value": row.value} for row in rows if row.known <= day]
            for name, rows in self.series.items()
        }

    def all(self) -> dict[str, Rows]:
        """Return every row, for outcomes alone."""
        return {
            name: [{"date": row.date, "value": row.value} for row in rows]
            for name, rows in self.series.items()
        }

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


async def read_known_rows(names: Iterable[str], until: Cutoff, *, root: Path | None = None) -> KnownRows:
    """Return what the broker shows of embedded series at a cutoff, with the day on which each row became known.

    Raises
    ------
    LookAhead
        At a past cutoff the broker shows other rows than those that are cut here.
    """
    broker = open_broker(ProxySettings(embedded_root=root))
    try:
        observe = broker_history(broker)
        series = {}
        for name in sorted(set(names)):
            stamps = {row["date"]: str(row["known"])[:10] for row in series_rows(root, name)}
            visible = await observe(name, until)
            series[name] = tuple(
                KnownRow(date=row["date"], value=float(row["value"]), known=stamps[row["date"]])
                for row in visible
            )
        rows = KnownRows(series)
        await check_rows(rows, observe)
        return rows
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
