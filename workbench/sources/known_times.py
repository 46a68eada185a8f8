"""Compute when each row of a table became known, by its owner's policy. An undated row is unknown."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from proxies.vendors.own.own_manifest import OwnPolicy
from workbench.errors import UsageError
from workbench.sources.row_dates import DatedColumn, DateReading, known_after, read_dates
from workbench.sources.table_files import read_table

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

_LAG = re.compile(r"(\d{1,5})\s?(min|h|d|w)")
_UNITS: dict[str, Any] = {"min": "min", "h": "h", "d": "D", "w": "W"}


@dataclass(frozen=True, slots=True)
class KnownTimes:
    """The instant (UTC, without tzinfo) from which each row may be used; NaT: never. ``note`` is for a person."""

    values: pd.Series[Any]
    note: str = ""


def lag_of(text: str) -> Any:
    """Parse a lag such as 3d, 12h, 2w or 30min into a pandas Timedelta.

    Raises `UsageError`: It is written otherwise.
    """
    import pandas as pd

    match = _LAG.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"the lag {text!r:.40} is not a length of time: write 3d, 2w, 12h or 30min, or 0d")
    return pd.Timedelta(int(match[1]), unit=_UNITS[match[2]])


def known_times(
    frame: pd.DataFrame,
    dates: DatedColumn,
    policy: OwnPolicy,
    *,
    reading: DateReading,
    releases: Path | None = None,
) -> KnownTimes:
    """Compute when each row became known.

    Raises `UsageError`: The column is not there, holds no dates, or a row has no release.
    """
    import pandas as pd

    match policy.kind:
        case "static":
            return KnownTimes(pd.Series(pd.NaT, index=frame.index))
        case "known" | "vintage":
            if policy.column not in frame:
                raise UsageError(
                    f"there is no column {policy.column!r}: the columns are {', '.join(frame.columns[:12])}"
                )
            stamps = read_dates(frame[policy.column], policy.column, reading)
            times = known_after(stamps, reading.place)
            missing = int(times.isna().sum())
            note = (
                f"{missing} rows without a {policy.column} are left out: nobody can say when they were known"
                if missing
                else ""
            )
            return KnownTimes(times, note)
        case "lag":
            return KnownTimes(known_after(dates, reading.place) + lag_of(policy.lag))
        case "releases":
            assert releases is not None, "the request checks that there is a file"
            return KnownTimes(_by_releases(dates, releases, reading))
        case "dated":
            raise AssertionError("documents bring their days with them")


def _by_releases(dates: DatedColumn, path: Path, reading: DateReading) -> pd.Series[Any]:
    import pandas as pd

    table = read_table(path, one_column=True)
    columns = list(table.columns)
    if len(columns) == 1:
        stamps = read_dates(table[columns[0]], str(columns[0]), reading)
        times = known_after(stamps, reading.place).sort_values()
        places = times.searchsorted(known_after(dates, reading.place), side="left")
        padded = [*times.tolist(), pd.NaT]
        release_times = pd.Series([padded[place] for place in places], index=dates.values.index)
    else:
        times = known_after(read_dates(table[columns[1]], str(columns[1]), reading), reading.place)
        days = read_dates(table[columns[0]], str(columns[0]), reading)
        if days.values.duplicated().any():
            twice = days.values[days.values.duplicated()].iloc[0]
            raise UsageError(f"{path.name} names two releases of {twice.date()}: keep the first")
        release_times = dates.values.map(pd.Series(times.to_numpy(), index=days.values.to_numpy()))
    absent = release_times.isna()
    if absent.all():
        raise UsageError(
            f"{path.name} matches no row: put the rows' dates in its first column and their releases in its second"
        )
    if absent.any() and len(columns) > 1:
        first = dates.values[absent].min()
        raise UsageError(
            f"{path.name} names no release of {first.date()} ({int(absent.sum())} rows have none): add it, or leave the rows out"
        )
    return release_times
