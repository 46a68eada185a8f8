"""When each row of a table became known, by the policy that its owner named. What cannot be dated is not known."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from proxies.input_files import InputRefused, check_width, read_bytes
from proxies.vendors.own.own_manifest import OwnPolicy
from workbench.errors import UsageError
from workbench.sources.row_dates import DatedColumn, read_dates
from workbench.sources.table_files import read_table

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

_LAG = re.compile(r"(\d{1,5})\s?(min|h|d|w)")
_UNITS: dict[str, Any] = {"min": "min", "h": "h", "d": "D", "w": "W"}
#: Frequency -> what a date at its period's first day stands for, as pandas names the period.
_PERIODS = {"monthly": "M", "quarterly": "Q", "yearly": "Y"}


@dataclass(frozen=True, slots=True)
class KnownTimes:
    """From which instant (UTC, without tzinfo) a row may be used; NaT: never. ``note`` says what a person should know."""

    values: pd.Series[Any]
    note: str = ""


def lag_of(text: str) -> Any:
    """Return a lag such as 3d, 12h, 2w or 30min as a pandas Timedelta.

    Raises
    ------
    UsageError
        It is written otherwise.
    """
    import pandas as pd

    match = _LAG.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"the lag {text!r:.40} is none: write 3d, 2w, 12h or 30min, or 0d")
    return pd.Timedelta(int(match[1]), unit=_UNITS[match[2]])


def known_after(dates: DatedColumn, zone: str) -> pd.Series[Any]:
    """Return when what is stamped so is known: a day when it has ended in its zone, an instant just after itself."""
    import numpy as np
    import pandas as pd

    if dates.grain == "instant":
        return dates.values + pd.Timedelta(1, unit="us")
    ends = (dates.values + pd.Timedelta(1, unit="D")).dt.tz_localize(
        zone, ambiguous=np.zeros(len(dates.values), dtype=bool), nonexistent="shift_forward"
    )
    return ends.dt.tz_convert("UTC").dt.tz_localize(None)


def known_times(
    frame: pd.DataFrame,
    dates: DatedColumn,
    policy: OwnPolicy,
    *,
    frequency: str,
    zone: str,
    form: str = "",
    releases: Path | None = None,
) -> KnownTimes:
    """Return when each row became known.

    Raises
    ------
    UsageError
        The column is not there, holds no dates, or a row has no release.
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
            stamps = read_dates(frame[policy.column], policy.column, zone=zone, form=form)
            known = known_after(stamps, zone)
            missing = int(known.isna().sum())
            note = (
                f"{missing} rows without a {policy.column} are left out: nobody can say when they were known"
                if missing
                else ""
            )
            return KnownTimes(known, note)
        case "lag":
            last, note = _period_ends(dates, frequency)
            return KnownTimes(known_after(last, zone) + lag_of(policy.lag), note)
        case "releases":
            assert releases is not None, "the request checks that there is a file"
            return KnownTimes(_by_releases(dates, releases, zone=zone, form=form, frequency=frequency))
        case "dated":
            raise AssertionError("documents bring their days with them")


def _period_ends(dates: DatedColumn, frequency: str) -> tuple[DatedColumn, str]:
    """Return the last days of the periods that dates name by their first: a month's figure is not known on its first day."""
    import pandas as pd

    if dates.grain == "day" and frequency in _PERIODS:
        periods = dates.values.dt.to_period(_PERIODS[frequency])
        if bool((periods.dt.start_time == dates.values).all()):
            ends = periods.dt.end_time.dt.normalize().astype("datetime64[us]")
            return DatedColumn(
                ends, "day"
            ), f"dates are the first days of {frequency} periods: the lag counts from a period's last day"
    if dates.grain == "day" and frequency == "weekly" and bool((dates.values.dt.weekday == 0).all()):
        ends = dates.values + pd.Timedelta(6, unit="D")
        return DatedColumn(ends, "day"), "dates are Mondays of weekly periods: the lag counts from the Sunday"
    return dates, ""


def _by_releases(dates: DatedColumn, path: Path, *, zone: str, form: str, frequency: str) -> pd.Series[Any]:
    """Return the release of each row out of a file: date and release, or releases alone, of which the next one counts."""
    import pandas as pd

    try:
        data = read_bytes(path)
    except InputRefused as error:
        raise UsageError(str(error)) from None
    if any(sign in data.partition(b"\n")[0] for sign in (b",", b";", b"\t", b"|")):
        table = read_table(path)
    else:
        try:
            check_width(io.TextIOWrapper(io.BytesIO(data), "utf-8", "replace", newline=""), path.name[:80])
            table = pd.read_csv(io.BytesIO(data))
        except InputRefused as error:
            raise UsageError(str(error)) from None
        except (ValueError, OverflowError) as error:  # no text, no column, no table
            raise UsageError(f"{path.name[:80]} holds no column of days ({type(error).__name__})") from None
    columns = list(table.columns)
    if len(columns) == 1:
        times = known_after(
            read_dates(table[columns[0]], str(columns[0]), zone=zone, form=form), zone
        ).sort_values()
        ends = known_after(_period_ends(dates, frequency)[0], zone)
        places = times.searchsorted(ends, side="left")
        padded = [*times.tolist(), pd.NaT]
        known = pd.Series([padded[place] for place in places], index=ends.index)
    else:
        days = read_dates(table[columns[0]], str(columns[0]), zone=zone, form=form)
        times = known_after(read_dates(table[columns[1]], str(columns[1]), zone=zone, form=form), zone)
        if days.values.duplicated().any():
            twice = days.values[days.values.duplicated()].iloc[0]
            raise UsageError(f"{path.name} names two releases of {twice.date()}: keep the first")
        known = dates.values.map(pd.Series(times.to_numpy(), index=days.values.to_numpy()))
    absent = known.isna()
    if absent.all():
        raise UsageError(
            f"{path.name} names no release of any row: its first column holds the rows' dates, its second their releases"
        )
    if absent.any() and len(columns) > 1:
        first = dates.values[absent].min()
        raise UsageError(
            f"{path.name} names no release of {first.date()} ({int(absent.sum())} rows have none): add it, or leave the rows out"
        )
    return known
