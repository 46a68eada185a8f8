"""A small reader of the packaged series, clamped at a cutoff by the same publication lags as the broker."""

import csv
import gzip
import importlib.util
from bisect import bisect_right
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from typing import Any

_FILES = {
    "SP500": ("sp500/sp500.csv.gz", "Close"),
    "NASDAQ": ("nasdaq/nasdaq.csv.gz", "Close"),
    "VIX": ("vix/vix.csv.gz", "vix"),
    "WTI": ("wti/wti.csv.gz", "DCOILWTICO"),
    "CORE_CPI": ("core_cpi/core-cpi.csv.gz", "CPILFESL"),
    "AAA": ("default/default.csv.gz", "AAA"),
    "BAA": ("default/default.csv.gz", "BAA"),
}
_LAG = {"WTI": 7, "CORE_CPI": 45, "AAA": 5, "BAA": 5}


@cache
def full_rows(name: str) -> tuple[dict[str, Any], ...]:
    """Every row of a series, newest last."""
    spec = importlib.util.find_spec("arch")
    assert spec is not None and spec.origin is not None
    file, column = _FILES[name]
    rows = []
    with gzip.open(Path(spec.origin).parent / "data" / file, "rt", encoding="utf-8-sig") as handle:
        for row in csv.DictReader(handle):
            month, day, year = (int(part) for part in row["Date"].split("/"))
            if row[column] not in ("", "."):
                rows.append({"date": date(year, month, day).isoformat(), "value": float(row[column])})
    return tuple(rows)


def visible_rows(name: str, last_day: date) -> list[dict[str, Any]]:
    """The rows that were known at the end of a day."""
    return [dict(row) for row in full_rows(name)[: bisect_right(_published(name), last_day)]]


@cache
def _published(name: str) -> list[date]:
    return [_known(name, date.fromisoformat(row["date"])) for row in full_rows(name)]


def _known(name: str, day: date) -> date:
    if name in ("AAA", "BAA", "CORE_CPI"):
        following = date(day.year + (day.month == 12), day.month % 12 + 1, 1)
        return following + timedelta(days=_LAG[name] - 1)
    return day + timedelta(days=_LAG.get(name, 0))
