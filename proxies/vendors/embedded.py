"""Serve without a key: seven real series of the installed package ``arch``, each with its publication delay.

The files are found without running the package and read directly; their rows stay in memory, keyed by file and time of
change. Every row says when it became known, and the as-of policy goes by that alone:

- daily index bars (SP500, NASDAQ, VIX): at that session's close, 16:00 New York (VIX 16:15);
- WTI spot: with the weekly release, taken as the end of the first Thursday at least three days later;
- AAA, BAA: five days after the end of their month; CORE_CPI: 45 days after (one final vintage, revised).
"""

import csv
import gzip
import importlib.util
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path

import orjson

from proxies.asof.stamps import month_end
from proxies.catalogue.schema import Endpoint
from proxies.errors import ParameterInvalid, SourceUnavailable
from proxies.fetch.cache import RawAnswer
from proxies.json_text import Fields, Row
from proxies.settings import ProxySettings


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedSeries:
    """One series: its file, and when its values become known."""

    id: str
    title: str
    unit: str
    frequency: str
    folder: str
    column: str
    rule: str
    known: str
    bars: bool = False


_PRICE = "price index without dividends; known at the session's close"
SERIES: Mapping[str, EmbeddedSeries] = {
    item.id: item
    for item in (
        EmbeddedSeries(
            id="SP500", title="S&P 500", unit="index points", frequency="daily", folder="sp500", column="Close",
            rule="close 16:00", known=_PRICE, bars=True,
        ),
        EmbeddedSeries(
            id="NASDAQ", title="NASDAQ Composite", unit="index points", frequency="daily", folder="nasdaq",
            column="Close", rule="close 16:00", known=_PRICE, bars=True,
        ),
        EmbeddedSeries(
            id="VIX", title="CBOE Volatility Index", unit="% a year", frequency="daily", folder="vix", column="vix",
            rule="close 16:15", known="known at the session's close",
        ),
        EmbeddedSeries(
            id="WTI", title="Crude oil, West Texas Intermediate, spot at Cushing", unit="USD per barrel",
            frequency="daily", folder="wti", column="DCOILWTICO", rule="weekly",
            known="known with the weekly release: the first Thursday at least three days later",
        ),
        EmbeddedSeries(
            id="CORE_CPI", title="US consumer prices without food and energy, seasonally adjusted",
            unit="index, 1982-84 = 100", frequency="monthly", folder="core_cpi", column="CPILFESL", rule="month 45",
            known="known 45 days after the month; one final vintage: seasonal factors are of a later day",
        ),
        EmbeddedSeries(
            id="AAA", title="Moody's Aaa corporate bond yield, monthly average", unit="% a year",
            frequency="monthly", folder="default", column="AAA", rule="month 5", known="known 5 days after the month",
        ),
        EmbeddedSeries(
            id="BAA", title="Moody's Baa corporate bond yield, monthly average", unit="% a year",
            frequency="monthly", folder="default", column="BAA", rule="month 5", known="known 5 days after the month",
        ),
    )
}  # fmt: skip

# by path, time of change, size and series: a package that is upgraded beneath a running broker is read anew
_FRAMES: dict[tuple[Path, int, int, str], list[Row]] = {}


class EmbeddedSource:
    """Reads the series; no network."""

    name = "embedded"

    def __init__(self, settings: ProxySettings) -> None:
        self._settings = settings

    async def fetch(self, endpoint: Endpoint, params: Fields) -> RawAnswer:
        """Return the raw rows of a series, or the list of series.

        Raises `ParameterInvalid`: No such series. Raises `SourceUnavailable`: The package's data are not there.
        """
        if endpoint.path.endswith("/list"):
            fields = ("title", "unit", "frequency", "known")
            return self._raw(
                [
                    {"series_id": item.id} | {name: getattr(item, name) for name in fields}
                    for item in SERIES.values()
                ]
            )
        rows = series_rows(self._settings.embedded_root, str(params["series_id"]))
        start, end = params.get("start", ""), params.get("end", "9999-12-31")
        # both bounds are checked ISO days, and so are the rows' dates
        return self._raw([row for row in rows if start <= row["date"] <= end])

    def _raw(self, rows: list[Row]) -> RawAnswer:
        return RawAnswer(body=orjson.dumps(rows), fetched_at=self._settings.now())

    async def aclose(self) -> None:
        """Do nothing."""


def data_root(root: Path | None) -> Path:
    """Return the folder of the series: the one given, else the installed package's, which is not run.

    Raises `SourceUnavailable`: The package is not installed.
    """
    if root is not None:
        return root
    package = importlib.util.find_spec("arch")
    if package is None or not package.submodule_search_locations:
        raise SourceUnavailable("the built-in series are missing: install the package arch")
    return Path(next(iter(package.submodule_search_locations))) / "data"


def series_rows(root: Path | None, series_id: str) -> list[Row]:
    """Return all rows of a series, oldest first, each with its time ``known``. Trusted side only."""
    item = SERIES.get(series_id)
    if item is None:
        raise ParameterInvalid(f"series_id={series_id!r} is not one of {', '.join(SERIES)}")
    folder = data_root(root) / item.folder
    files = sorted(folder.glob("*.csv.gz"))
    if not files:
        raise SourceUnavailable(f"the embedded series {series_id} is not where the package arch keeps it")
    state = files[0].stat()
    key = (files[0], state.st_mtime_ns, state.st_size, item.id)
    if key not in _FRAMES:
        try:
            _FRAMES[key] = _embedded_rows(files[0], item)
        except (OSError, ValueError, KeyError) as error:
            raise SourceUnavailable(
                f"the embedded series {series_id} cannot be read ({type(error).__name__})"
            ) from error
    return _FRAMES[key]


def _embedded_rows(path: Path, item: EmbeddedSeries) -> list[Row]:
    with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
        rows = [row for line in csv.DictReader(lines) if (row := _row(line, item)) is not None]
    return sorted(rows, key=lambda row: str(row["date"]))


def _row(line: Mapping[str, str], item: EmbeddedSeries) -> Row | None:
    """Parse one row; days without a value are left out, as sources leave out holidays."""
    value = _file_number(line.get(item.column))
    day = _day_of_cell(line["Date"])
    if value is None:
        return None
    row: Row = {"date": day.isoformat(), "value": value}
    if item.bars:
        for name in ("open", "high", "low", "volume"):
            row[name] = _file_number(line.get(name.capitalize()))
    row["known"] = known(day, item.rule)
    return row


def _file_number(text: str | None) -> float | int | None:
    try:
        number = float(text or "nan")
    except ValueError:
        return None  # the files write a missing value in several ways
    if not math.isfinite(number):
        return None
    return int(number) if number.is_integer() and abs(number) > 1e6 else number


def _day_of_cell(text: str) -> date:
    if "/" in text:
        month, day, year = text.split("/")
        return date(int(year), int(month), int(day))
    return datetime.fromisoformat(text).date()


def known(day: date, rule: str) -> str:
    """Return when a value of a day or month became known: an instant of New York time, or a whole day.

    >>> known(date(2018, 6, 29), "close 16:00"), known(date(2018, 5, 1), "month 45")
    ('2018-06-29T16:00', '2018-07-15')
    >>> known(date(2018, 6, 25), "weekly"), known(date(2018, 6, 26), "weekly")
    ('2018-06-28', '2018-07-05')
    """
    kind, _, term = rule.partition(" ")
    if kind == "close":
        return f"{day.isoformat()}T{term}"
    if kind == "month":
        end = month_end(day.year, day.month)
        assert end is not None, "a date has a month"
        return (end + timedelta(days=int(term))).isoformat()
    # the release holds prices through that week's Monday; Thursday's end is taken in every week, so that weeks with a
    # holiday do not leak
    soonest = day + timedelta(days=3)
    return (soonest + timedelta(days=(3 - soonest.weekday()) % 7)).isoformat()
