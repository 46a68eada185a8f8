"""Rows of series as any past cutoff showed them: read once through the broker, then cut by the day each became known.

Asking the broker at each of 120 cutoffs would take 10 s. `check_rows` compares the cuts with the broker's.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path

import numpy as np

from proxies.asof.clock import Cutoff
from proxies.broker import Broker
from proxies.errors import ProxyError
from proxies.vendors.embedded import series_rows
from workbench.offline.visible_past import Observe, broker_history, open_sources, source_answer
from workbench.questions.decision import Rows
from workbench.questions.errors import ClaimRefused, LookAhead
from workbench.questions.series.series_reference import SeriesRef
from workbench.questions.series.series_registry import source_of_rows
from workbench.questions.series.value_states import (
    KnownRow,
    SeriesStates,
    last_states,
    states_of,
    untold,
)


@dataclass(frozen=True, slots=True)
class KnownRows:
    """Values of some series, oldest first, with the day each became known; a revised day has a row for each of its states."""

    series: Mapping[str, tuple[KnownRow, ...]]

    def as_of(self, last_day: date) -> dict[str, Rows]:
        """Return the rows known at the end of a day; a series of which nothing was known yet has no rows."""
        day = last_day.isoformat()
        return {
            name: last_states(row for row in rows if row.known <= day) for name, rows in self.series.items()
        }

    def all(self) -> dict[str, Rows]:
        """Return every row in its last state."""
        return {name: last_states(rows) for name, rows in self.series.items()}

    def settled(self, day: date) -> dict[str, Rows]:
        """Return the rows that decide a claim ending on a day: as they stood when the last of its values first came out.

        A value that is revised years later settles nothing again, and a rebased series is compared with itself. Rows of later days
        follow in their last state.
        """
        return {name: _settled_rows(rows, day.isoformat()) for name, rows in self.series.items()}

    def first_day(self, names: Iterable[str]) -> date:
        """Return the day of the first value that all of these series have."""
        return max(date.fromisoformat(self.series[name][0].date) for name in names)

    def first_known(self, names: Iterable[str]) -> date:
        """Return the first day on which each of these series had a known value; an archive may begin after its series."""
        return max(date.fromisoformat(min(row.known for row in self.series[name])) for name in names)

    def altered(self, after: date, seed: int = 0) -> "KnownRows":
        """Return another world: equal up to the end of a day, and with other values for all that became known later."""
        day, draws = after.isoformat(), np.random.default_rng([after.toordinal(), seed])
        return KnownRows(
            {
                name: tuple(
                    row
                    if row.known <= day or row.value is None
                    else replace(row, value=row.value * float(draws.uniform(0.5, 2.0)))
                    for row in rows
                )
                for name, rows in self.series.items()
            }
        )


def _settled_rows(rows: tuple[KnownRow, ...], day: str) -> Rows:
    if len({row.date for row in rows}) == len(
        rows
    ):  # nothing was revised: ten thousand rows at each of 120 cutoffs
        return last_states(rows)
    first = SeriesStates(rows).first_known()
    end = max((date for date in first if date <= day), default="")
    return last_states(row for row in rows if row.date > end or row.known <= first[end])


async def _rows_elsewhere(broker: Broker, ref: SeriesRef, until: Cutoff) -> tuple[KnownRow, ...]:
    """Read rows of another source than the embedded one; raises ``ClaimRefused`` where it does not date their publication."""
    if reason := untold(ref):
        raise ClaimRefused(reason)
    answer = await source_answer(broker, ref, until, states=True)
    if (states := states_of(ref, answer)) is not None:
        return states.rows
    rows = ref.rows(answer, until.last_moment_day)
    return tuple(KnownRow(date=row["date"], value=row["value"], known=row["date"]) for row in rows)


async def read_known_rows(names: Iterable[str], until: Cutoff, *, root: Path | None = None) -> KnownRows:
    """Read series at a cutoff through the broker, with the day on which each row became known.

    Raises `ClaimRefused`: A source does not tell when its values became known, or cannot be read. Raises `LookAhead`: At a past cutoff the
    broker shows other rows than those that are cut here.
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
    """Refuse cuts that differ from the broker's, at a few days of each series; raises ``LookAhead``."""
    for name, values in rows.series.items():
        if not values:
            continue
        archive = rows.first_known([name])
        # A weekday each, so that a weekly release is met on both of its sides.
        for place in (0.35, 0.6, 0.85):
            row = values[int(place * len(values))]
            last_day = max(archive, date.fromisoformat(row.date) + timedelta(days=2))
            cut = rows.as_of(last_day)[name]
            visible = await observe(name, Cutoff.parse((last_day + timedelta(days=1)).isoformat()))
            if [row["date"] for row in cut] != [row["date"] for row in visible]:
                raise LookAhead(
                    f"{name} is cut at {last_day} otherwise than the broker cuts it: {len(cut)} rows, {len(visible)} were known"
                )
            later = [
                ours["date"]
                for ours, theirs in zip(cut, visible, strict=True)
                if ours["value"] != float(theirs["value"])
            ]
            # Splits of a share scale its past alike; what FRED revised since is another value.
            if later and source_of_rows(name).source in ("embedded", "fred"):
                raise LookAhead(
                    f"{name} has at {last_day} values that were revised later, the first of {later[0]}"
                )
