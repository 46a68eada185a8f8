"""Tables as people export them: when each row counts, what its numbers are, by which names it is found; or one line that asks."""

import asyncio
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proxies.asof.clock import Cutoff
from proxies.broker import open_broker
from proxies.catalogue import api_doc
from proxies.catalogue.availability import Availability
from proxies.errors import ParameterInvalid
from proxies.settings import ProxySettings
from proxies.vendors.own.own_manifest import DATE, KNOWN, own_folder
from tests.sources.test_add_source import asked, csv
from workbench.errors import TwoReadings, UsageError, WorkbenchError
from workbench.questions.formats.question_tables import read_rows
from workbench.science.errors import ScienceError
from workbench.science.table_cells import read_cells
from workbench.sources.new_source import NewSource
from workbench.sources.own_store import store_source
from workbench.sources.source_check import check_source
from workbench.sources.source_origin import open_source
from workbench.sources.table_files import read_table


def opened(folder: Path, where: Any, **said: Any) -> NewSource:
    """A table as `workbench source add` reads it, with days that end in UTC."""
    place = csv(folder, where) if isinstance(where, str | bytes) else where
    said = {"date": "date", "zone": "UTC", **said}
    if not {"lag", "known", "vintage", "static", "releases"} & {*said}:
        said["lag"] = "0d"
    return asyncio.run(open_source(folder, "orders", place, said, environ={}))


def column(name: str, *cells: object, sep: str = ",") -> str:
    return f"{name}{sep}x\n" + "".join(f"{cell}{sep}{n + 0.5}\n" for n, cell in enumerate(cells))


def midnights(zone: str, start: str, count: int, step: str) -> list[str]:
    return [stamp.isoformat(sep=" ") for stamp in pd.date_range(start, periods=count, freq=step, tz=zone)]


#: The column, the row that is looked at, and the last day (or the last moment) of what it stands for; in UTC.
PERIODS: dict[str, tuple[list[str], int, str]] = {
    "all quarters": ([f"{y}Q{q}" for y in (2016, 2017) for q in (1, 2, 3, 4)], -1, "2018-01-01"),
    "second and fourth quarters": ([f"{y}-Q{q}" for y in range(2012, 2019) for q in (2, 4)], -1, "2019-01-01"),
    "mostly one quarter": ([*(f"{y}Q4" for y in range(2013, 2018)), "2018Q1"], -1, "2018-04-01"),
    "quarters of banks": (["3Q 2018", "4Q 2018"], -1, "2019-01-01"),
    "every second month": (["2018-01", "2018-03", "2018-05"], -1, "2018-06-01"),
    "months with gaps": (["Jan 2018", "Mar 2018"], -1, "2018-04-01"),
    "censuses": (["1990", "2000", "2010"], -1, "2011-01-01"),
    "halves": (["2018H1", "2018-H2"], 0, "2018-07-01"),
    "ISO weeks": (["2018-W01", "2018-W05"], -1, "2018-02-05"),
    "the last ISO week": (["2020W53", "2021W01"], 0, "2021-01-04"),
    "first days of months": (["2018-01-01", "2018-02-01", "2018-03-01"], -1, "2018-04-01"),
    "first days with gaps": (["2018-01-01", "2018-03-01", "2018-08-01"], -1, "2018-09-01"),
    "fiscal quarters": ([f"{y}-{m:02}-01" for y in (2017, 2018) for m in (2, 5, 8, 11)], -1, "2019-02-01"),
    "weeks from Monday": (["2018-01-01", "2018-01-08", "2018-01-15", "2018-02-05"], -1, "2018-02-12"),
    "weeks from Sunday": (["2018-01-07", "2018-01-14", "2018-01-28"], -1, "2018-02-04"),
    "fortnights": (["2018-01-08", "2018-01-22", "2018-02-05"], -1, "2018-02-19"),
    "months of Berlin": (midnights("Europe/Berlin", "2018-01-01", 12, "MS"), 5, "2018-06-30T22:00"),
    "days of Berlin": (midnights("Europe/Berlin", "2018-03-20", 10, "D"), 5, "2018-03-25T22:00"),
    "a day of 25 hours": (midnights("Europe/Berlin", "2018-10-26", 5, "D"), 2, "2018-10-28T23:00"),
    "days of UTC told in Singapore": (["2018-03-07 08:00+08:00", "2018-03-08 08:00+08:00"], -1, "2018-03-09"),
    "quarters of hours": ([f"2018-03-07T{h:02}:{m:02}:00Z" for h in (9, 10) for m in (0, 15, 30, 45)], 0, "2018-03-07T09:15"),
    # neighbours that are what they look like
    "days": (["2018-01-01", "2018-01-02", "2018-01-03"], -1, "2018-01-04"),
    "business days over a weekend": (["2018-03-29", "2018-03-30", "2018-04-02", "2018-04-03"], 2, "2018-04-03"),
    "last days of months": (["2018-01-31", "2018-02-28", "2018-03-31"], 1, "2018-03-01"),
    "meetings": (["2018-01-31", "2018-03-21", "2018-05-02", "2018-06-13"], 1, "2018-03-22"),
    "closes": (["2018-01-02T21:00Z", "2018-01-03T21:00Z", "2018-01-04T21:00Z"], -1, "2018-01-04T21:00:00.000001"),
    "ticks": (["2018-01-02T21:00:03Z", "2018-01-02T21:00:09Z", "2018-01-02T21:04:10Z"], 0, "2018-01-02T21:00:03.000001"),
}  # fmt: skip


@pytest.mark.parametrize("case", PERIODS)
def test_a_row_counts_from_the_end_of_what_its_date_stands_for(case: str, tmp_path: Path) -> None:
    cells, row, end = PERIODS[case]
    rows = opened(tmp_path, column("date", *cells), lag="9d").rows
    assert rows[KNOWN].iloc[row] == pd.Timestamp(end) + timedelta(days=9)


@pytest.mark.parametrize("freq", ["Q", "Q-JAN", "M", "Y", "Y-MAR", "W", "W-WED", "D", "h"])
@pytest.mark.parametrize("every", [1, 2])
def test_periods_of_pandas_keep_their_length(freq: str, every: int, tmp_path: Path) -> None:
    periods = pd.period_range("2016-01-01", periods=8, freq=freq)[::every]
    rows = opened(tmp_path, pd.DataFrame({"date": periods, "x": range(len(periods))})).rows
    ends = [(period + 1).start_time for period in periods]
    assert rows[KNOWN].tolist() == ends
    assert (
        opened(tmp_path, pd.Series(range(len(periods)), index=periods, name="x")).rows[KNOWN].tolist() == ends
    )


#: The first moment of an hour that clocks show no more, or show again; in UTC.
NIGHTS = {
    "America/New_York": "2018-11-04T06:00", "Europe/London": "2018-10-28T01:00", "Australia/Lord_Howe": "2018-03-31T15:00",
    "America/Sao_Paulo": "2018-02-18T02:00", "Europe/Berlin": "2018-03-25T01:00", "Pacific/Auckland": "2019-04-06T14:00",
}  # fmt: skip


@pytest.mark.parametrize("zone", NIGHTS)
@given(
    step=st.sampled_from([15, 30, 60]),
    before=st.integers(9, 40),
    after=st.integers(9, 40),
    newest=st.booleans(),
)
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rows_in_order_say_which_of_two_equal_hours_is_meant(
    zone: str, step: int, before: int, after: int, newest: bool, tmp_path: Path
) -> None:
    stamps = pd.date_range(NIGHTS[zone], periods=before + after, freq=f"{step}min", tz="UTC") - pd.Timedelta(before * step, unit="min")  # fmt: skip
    stamps = stamps[::-1] if newest else stamps
    cells = [f"{stamp.tz_convert(zone):%Y-%m-%d %H:%M}" for stamp in stamps]
    rows = opened(tmp_path, column("date", *cells), zone=zone).rows
    ends = sorted(stamp.tz_localize(None) + pd.Timedelta(step, unit="min") for stamp in stamps)
    assert rows[KNOWN].tolist() == ends


#: Times of a night of clock change that one way mends, which is named, and nothing else is asked.
UNCLEAR: dict[str, tuple[list[str], str]] = {
    "hours of UTC": ([f"2018-03-11 {hour:02}:00" for hour in range(9)], "row 3, which no clock in America/New_York.*--zone"),
    "an hour of London's": (["2018-10-28 00:00", "2018-10-28 01:00", "2018-10-28 01:00", "2018-10-28 02:00"], "rows 2 and 3.*--zone"),
    "four rows": (["2018-11-04 03:00", "2018-11-04 01:00", "2018-11-04 02:00", "2018-11-04 01:00"], "rows 2 and 4.*their offset"),
}  # fmt: skip


@pytest.mark.parametrize("case", UNCLEAR)
def test_a_night_of_clock_change_asks_first_what_mends_it(case: str, tmp_path: Path) -> None:
    cells, words = UNCLEAR[case]
    with pytest.raises(UsageError, match=words) as caught:
        opened(tmp_path, column("date", *cells), zone="")
    assert "--grain" not in str(caught.value)
    if "offset" not in words:
        assert len(opened(tmp_path, column("date", *cells), zone="UTC" if "UTC" in case else "Europe/London").rows) == len(cells)  # fmt: skip


MONTHS = [f"2018-{month:02}-01" for month in range(1, 7)]
#: Tables of which only some dates begin periods.
MIXED: dict[str, list[str]] = {
    "a bar that goes on": [*midnights("Europe/Berlin", "2018-03-05", 4, "D"), "2018-03-09 14:33:00+01:00"],
    "two days of July": [*MONTHS, "2018-07-02", "2018-07-03"],
    "one flash estimate": [*MONTHS, "2018-06-14"],
    "first days far apart, and a speech": ["2016-01-01", "2018-07-01", "2018-07-19"],
    "a Tuesday among Mondays": ["2018-01-08", "2018-01-15", "2018-01-22", "2018-01-30", "2018-02-05"],
    "one date": ["2018-06-01"],
    "hours and a half": ["2018-01-02T10:00Z", "2018-01-02T11:00Z", "2018-01-02T12:00Z", "2018-01-02T12:40Z", "2018-01-02T13:00Z"],
}  # fmt: skip


@pytest.mark.parametrize("case", MIXED)
def test_where_only_some_dates_begin_periods_the_file_is_asked_about(case: str, tmp_path: Path) -> None:
    text = column("date", *MIXED[case])
    with pytest.raises(TwoReadings, match=r"row \d.*--grain") as caught:
        opened(tmp_path, text)
    assert caught.value.option == "grain" and len(caught.value.choices) == 2
    first, second = (opened(tmp_path, text, grain=choice).rows[KNOWN] for choice in caught.value.choices)
    assert first.iloc[0] > second.iloc[0]


#: Places of midnights that a file writes in UTC, and their first day.
UNNAMED = {"Europe/Berlin": "2018-03-20", "Asia/Tokyo": "2018-03-20", "Asia/Kolkata": "2018-06-01", "Australia/Sydney": "2018-03-27", "Europe/London": "2018-06-03"}  # fmt: skip


@pytest.mark.parametrize("where", ["date", "out"])
@pytest.mark.parametrize("zone", UNNAMED)
def test_midnights_of_a_place_that_nobody_names_are_asked_about(
    zone: str, where: str, tmp_path: Path
) -> None:
    days = pd.date_range(UNNAMED[zone], periods=6, freq="D", tz=zone)
    cells = [f"{day.tz_convert('UTC'):%Y-%m-%dT%H:%M:%S.000Z}" for day in days]
    text = f"{where},x\n" + "".join(f"{cell},1\n" for cell in cells)
    said: dict[str, Any] = {"lag": "0d"}
    if where == "out":
        text = "date,x,out\n" + "".join(f"2018-03-{n:02},1,{cell}\n" for n, cell in enumerate(cells, 1))
        said = {"known": "out"}
    with pytest.raises(TwoReadings, match=rf"--zone {zone}.*--zone UTC") as caught:
        opened(tmp_path, text, zone="", **said)
    assert list(caught.value.choices) == [zone, "UTC"]
    ends = [(day + pd.DateOffset(days=1)).tz_convert("UTC").tz_localize(None) for day in days]
    assert opened(tmp_path, text, zone=zone, **said).rows[KNOWN].tolist() == ends


def test_hours_of_closes_are_no_midnights(tmp_path: Path) -> None:
    for hours in (["2018-01-02T21:00Z", "2018-07-03T20:00Z"], ["2018-01-02T16:30Z", "2018-07-03T15:30Z"], ["2018-01-02T06:00Z", "2018-07-03T06:00Z"]):  # fmt: skip
        assert opened(tmp_path, column("date", *hours), zone="").manifest.grain == "instant"


def test_two_days_added_to_a_monthly_file_change_nothing_silently(tmp_path: Path) -> None:
    months = store_source(tmp_path, opened(tmp_path, column("date", *MONTHS), lag="10d"))
    with pytest.raises(TwoReadings):
        opened(tmp_path, column("date", *MIXED["two days of July"]))
    told = opened(tmp_path, column("date", *MIXED["two days of July"]), grain="month", lag="10d")
    assert told.rows[KNOWN].iloc[5] == pd.Timestamp("2018-07-11") and months.grain == "month"
    store_source(tmp_path, told)
    # what was said of a file holds for its next version
    assert (
        opened(
            tmp_path, column("date", *[*MONTHS, *(f"2018-07-{day:02}" for day in range(2, 31))])
        ).manifest.grain
        == "month"
    )


def test_a_release_table_counts_after_the_period(tmp_path: Path) -> None:
    releases = csv(tmp_path, "out\n2018-04-10\n2018-07-10\n", "out.csv")
    rows = opened(tmp_path, column("date", "2017Q4", "2018Q2"), releases=releases).rows
    assert rows[KNOWN].tolist() == [pd.Timestamp("2018-04-11"), pd.Timestamp("2018-07-11")]


async def test_a_claim_settles_by_the_day_that_its_row_names(tmp_path: Path) -> None:
    days = midnights("Europe/Berlin", "2018-03-01", 10, "D")
    text = "Date,Close\n" + "".join(f"{day},{12059 + n}\n" for n, day in enumerate(days))
    new = await open_source(
        tmp_path, "orders", csv(tmp_path, text), {"date": "Date", "lag": "0d"}, environ={}
    )
    store_source(tmp_path, new)
    rows = (await asked(tmp_path, "2018-03-09T12:00:00Z", {"column": "Close"})).data
    assert rows[-1] == {"date": "2018-03-08", "value": 12066.0}


@pytest.mark.parametrize("grain", ["2018Q2", "2018-05", "2018"])
async def test_a_label_that_is_shown_too_early_is_a_leak(grain: str, tmp_path: Path) -> None:
    text = f"date,x,out\n{grain},1,2018-02-01\n"
    new = await open_source(
        tmp_path, "orders", csv(tmp_path, text), {"date": "date", "known": "out"}, environ={}
    )
    store_source(tmp_path, new)
    assert [found["kind"] for found in (await check_source(tmp_path, "orders"))["findings"]] == ["leaks"]


#: A file and what its column x is read as; a sign: what has to be said first.
NUMBERS: dict[str, tuple[str, list[float] | str]] = {
    "points of thousands beside decimal commas": ("date;x;kurs\n2018-01-31;987;1,52\n2018-02-28;1.006;1,53\n", [987, 1006]),
    "all with points": ("date;x;kurs\n2018-01-31;12.345;1,52\n2018-02-28;13.006;1,53\n", [12345, 13006]),
    "no other column": ("date;x\n2018-01-31;987\n2018-02-28;1.006\n", "decimal"),
    "a day beside": ("date;tag;x\n2018-01-31;31.12;1.234\n2018-02-28;30.11;987\n", "decimal"),
    "fuel by three decimals": ("date,x\n2018-01-31,2.537\n2018-02-28,3.104\n", "decimal"),
    "three decimals beside others": ("date,x,y\n2018-01-31,2.537,100.25\n2018-02-28,3.104,7\n", [2.537, 3.104]),
    "three decimals and a zero": ("date,x\n2018-01-31,0.537\n2018-02-28,1.104\n", [0.537, 1.104]),
    "lakhs": ("date;x\n2018-01-31;1,23,456.5\n2018-02-28;12,34,567\n", [123456.5, 1234567]),
    "millions": ("date;x\n2018-01-31;1.234.567\n2018-02-28;1.006\n", [1234567, 1006]),
    "quoted thousands": ('date,x\n2018-01-31,"1,987.25"\n2018-02-28,"1,006"\n', [1987.25, 1006]),
    "quoted decimals": ('date,x\n2018-01-31,"1,5"\n2018-02-28,2\n', [1.5, 2]),
    "a comma late in the file": ("date;x\n" + "".join(f"{d.date()};{n}\n" for n, d in enumerate(pd.date_range("2018-01-01", periods=250))) + "2019-01-01;100,5\n", [*map(float, range(250)), 100.5]),
    "versions beside commas": ("date;version;x\n2018-01-31;1.2;1,5\n2018-02-28;1.10;2,75\n", [1.5, 2.75]),
    "tabs": ("date\tx\n2018-01-31\t1.234,5\n2018-02-28\t987\n", [1234.5, 987]),
    "a long minus": ("date,x\n2018-01-31,\u22121.5\n2018-02-28,2\n", [-1.5, 2]),
    "23 digits": ("date,x\n2018-01-31,10\n2018-02-28,99999999999999999999999\n", [10, 1e23]),
    "exponents": ("date,x\n2018-01-31,1e3\n2018-02-28,2.5E-1\n", [1000, 0.25]),
    "errors of Excel": ("date,x\n2018-01-31,1\n2018-02-28,#N/A\n2018-03-31,#DIV/0!\n2018-04-30,n/a\n", [1.0, None, None, None]),
    "signs of offices": ("date,x\n2018-01-31,1\n2018-02-28,:\n2018-03-31,..\n", [1.0, None, None]),
    "sep=;": ("sep=;\ndate;x\n2018-01-31;1,5\n2018-02-28;2\n", [1.5, 2]),
    "with units": ("date,x\nday,percent\n2018-01-31,1.5\n2018-02-28,2\n", [1.5, 2]),
    "yfinance": ("Price,x,y\nTicker,AAPL,AAPL\ndate,,\n2018-01-31,1.5,2\n2018-02-28,2,3\n", [1.5, 2]),
}  # fmt: skip


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
@pytest.mark.parametrize("case", NUMBERS)
def test_the_whole_column_says_how_its_numbers_are_read(case: str, encoding: str, tmp_path: Path) -> None:
    text, values = NUMBERS[case]
    if isinstance(values, str):
        with pytest.raises(TwoReadings, match=r"row \d.*--decimal") as caught:
            opened(tmp_path, text.encode(encoding))
        assert caught.value.option == values
        small, large = (
            opened(tmp_path, text.encode(encoding), decimal=sign).rows["x"].min() for sign in ".,"
        )
        assert large > 100 * small
        return
    cells = opened(tmp_path, text.encode(encoding), value="x").rows["x"].tolist()
    assert [None if cell != cell else cell for cell in cells] == values


#: Options, a file that is refused without them, and what its column x is read as with them.
SAID: dict[str, tuple[dict[str, Any], str, list[float]]] = {
    "narrow spaces": ({"thousands": " "}, "date;x\n2018-01-31;1\u202f234,5\n2018-02-28;12\u00a0000\n", [1234.5, 12000]),
    "a preamble": ({"skip": 2}, "Bloomberg\nSecurity;SPX;Index\ndate,x\n2018-01-31,1.5\n2018-02-28,2\n", [1.5, 2]),
    "comments": ({"comment": "#"}, "# made today, in haste, by me\ndate,x\n2018-01-31,1.5\n# end\n2018-02-28,2\n", [1.5, 2]),
    "a note at the end": ({"comment": "Source"}, "date,x\n2018-01-31,1.5\n2018-02-28,2\nSource: BLS\n", [1.5, 2]),
    "two digits": ({"date_format": "%m/%d/%y", "last_year": "2026"}, "date,x\n01/31/50,1\n01/31/18,2\n", [1, 2]),
    "a zone": ({"zone": "UTC", "known": "out"}, "date,x,out\n2018-01-31,1,2018-02-01 10:00\n2018-02-28,2,2018-03-01T10:00+02:00\n", [1, 2]),
    "a form for what is written so": ({"date_format": "%d/%m/%Y", "known": "out"}, "date,x,out\n2018-01-31,1,03/04/2018\n2018-02-28,2,05/06/2018\n", [1, 2]),
    "short months": ({"date_format": "%b-%y"}, "date,x\nJan-18,1\nMar-18,2\n", [1, 2]),
}  # fmt: skip


@pytest.mark.parametrize("case", SAID)
def test_what_cannot_be_guessed_can_be_said(case: str, tmp_path: Path) -> None:
    said, text, values = SAID[case]
    without = {name: value for name, value in said.items() if name == "known"}
    with pytest.raises(UsageError) as caught:
        opened(tmp_path, text, value="x", **{"zone": "", **without})
    assert "\n" not in str(caught.value)
    new = opened(tmp_path, text, value="x", **said)
    assert new.rows["x"].tolist() == values
    # what was said need not be said again
    store_source(tmp_path, new)
    assert (
        asyncio.run(open_source(tmp_path, "orders", tmp_path / "orders.csv", {}, environ={}))
        .rows["x"]
        .tolist()
        == values
    )


def test_a_form_of_months_stands_for_months_and_two_digits_end_with_the_year_said(tmp_path: Path) -> None:
    rows = opened(tmp_path, SAID["short months"][1], date_format="%b-%y").rows
    assert rows[KNOWN].tolist() == [pd.Timestamp("2018-02-01"), pd.Timestamp("2018-04-01")]
    rows = opened(tmp_path, SAID["two digits"][1], date_format="%m/%d/%y", last_year="2026").rows
    assert rows[DATE].dt.year.tolist() == [1950, 2018]
    with pytest.raises(TwoReadings, match="2050 or 1950"):
        opened(tmp_path, SAID["two digits"][1], date_format="%m/%d/%y")


#: Names of one day's rows as files hold them, and as they are asked for.
NAMES: dict[str, tuple[list[Any], list[str]]] = {
    "missing in other places": (["NA", "US", "null"], ["NA", "US", "null"]),
    "whole numbers": ([101, 102], ["101", "102"]),
    "zeros": (["007", "07", "010"], ["007", "07", "010"]),
    "ambiguous numbers": (["1.006", "1.106"], ["1.006", "1.106"]),
}


@pytest.mark.parametrize("file", [True, False])
@pytest.mark.parametrize("case", NAMES)
async def test_rows_are_found_by_their_names(case: str, file: bool, tmp_path: Path) -> None:
    cells, names = NAMES[case]
    frame = pd.DataFrame(
        [("2018-03-02", cell, n) for n, cell in enumerate(cells)], columns=["date", "by", "x"]
    )
    where: Any = csv(tmp_path, frame.to_csv(index=False)) if file else frame
    new = await open_source(
        tmp_path, "orders", where, {"date": "date", "by": "by", "lag": "1d", "value": "x"}, environ={}
    )
    store_source(tmp_path, new)
    for number, name in enumerate(names):
        rows = (await asked(tmp_path, "2019-01-01", {"by": name, "column": "x"})).data
        assert rows == [{"date": "2018-03-02", "value": number}]


@pytest.mark.parametrize("cell, way", [("1 234,5", "--thousands ' '"), ("1'234", "--thousands"), ("12.5 p", "row 2"), ("abc", "row 2")])  # fmt: skip
def test_a_column_that_one_cell_makes_text_is_named_with_the_cell(
    cell: str, way: str, tmp_path: Path
) -> None:
    new = opened(tmp_path, f"date;x\n2018-01-31;7\n2018-02-28;{cell}\n2018-03-31;8\n")
    assert any(f"x holds {cell!r} in row 2" in note and way in note for note in new.notes) or (
        "'" in cell and any(way in note for note in new.notes)
    )


def test_a_name_that_occurs_twice_on_a_day_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"occurs 2 times \(rows 1 and 3\)"):
        opened(tmp_path, "date,cc,x\n2018-01-02,NA,1\n2018-01-02,US,2\n2018-01-02,NA,3\n", by="cc", value="x")


DAYS = pd.date_range("2018-01-30", periods=3)
#: Tables of Python's, which all hold 1, 2, 3 on the same days.
FRAMES: dict[str, Any] = {
    "a column": pd.DataFrame({"date": DAYS, "x": [1, 2, 3]}),
    "an index without a name": pd.DataFrame({"x": [1, 2, 3]}, index=DAYS),
    "a series": pd.Series([1, 2, 3], index=DAYS, name="x"),
    "Decimal": pd.DataFrame({"date": DAYS, "x": [Decimal(1), Decimal("2.0"), Decimal(3)]}),
    "two levels": pd.DataFrame({("x", "AAPL"): [1, 2, 3], ("y", "AAPL"): [3, 4, 5]}, index=pd.Index(DAYS, name="date")),
    "with a zone": pd.DataFrame({"x": [1, 2, 3]}, index=pd.DatetimeIndex(DAYS).tz_localize("America/New_York")),
}  # fmt: skip


@pytest.mark.parametrize("case", FRAMES)
def test_tables_of_pythons_come_with_their_index(case: str, tmp_path: Path) -> None:
    new = opened(tmp_path, FRAMES[case], value="x", zone="America/New_York")
    assert new.rows["x"].tolist() == [1, 2, 3] and new.manifest.first == "2018-01-30"
    assert new.rows[KNOWN].iloc[0] == pd.Timestamp("2018-01-31T05:00")


START = datetime(2018, 1, 30)  # noqa: DTZ001
_ROWS: list[list[object]] = [[START + timedelta(days=n), n + 1.5] for n in range(3)]
#: Sheets, what is said of them, what their column x (or its longer name) is read as, and what a note says.
SHEETS: dict[str, tuple[list[list[object]], dict[str, Any], list[float | None], str]] = {
    "plain": ([["date", "x"], *_ROWS], {}, [1.5, 2.5, 3.5], ""),
    "errors": ([["date", "x"], _ROWS[0], [_ROWS[1][0], "#N/A"], [_ROWS[2][0], "#DIV/0!"]], {}, [1.5, None, None], ""),
    "formulas after blank rows": ([["date", "x"], [], _ROWS[0], [], [_ROWS[1][0], "=B3*2"], [_ROWS[2][0], "=SUM(B3:B5)"]], {}, [1.5, None, None], "of 2 formulas, the first in row 5"),
    "a preamble": ([["Report"], ["by", "BLS"], [], ["date", "x"], *_ROWS], {"skip": 3}, [1.5, 2.5, 3.5], ""),
    "a note at the end": ([["date", "x"], *_ROWS, ["Source: BLS"]], {"comment": "Source"}, [1.5, 2.5, 3.5], ""),
    "units": ([["date", "x"], ["day", "percent"], *_ROWS], {}, [1.5, 2.5, 3.5], "2 rows name the columns"),
    "three headers": ([["Price", "x", "x"], ["Ticker", "AAPL", "MSFT"], ["date"], *([*row, 9] for row in _ROWS)], {"value": "x AAPL"}, [1.5, 2.5, 3.5], "3 rows name"),
}  # fmt: skip


@pytest.mark.parametrize("case", SHEETS)
def test_sheets_are_read_like_the_files_that_are_saved_from_them(case: str, tmp_path: Path) -> None:
    cells, said, values, note = SHEETS[case]
    book = openpyxl.Workbook()
    for cells_of_row in cells:
        book.worksheets[0].append(cells_of_row)
    book.save(tmp_path / "book.xlsx")
    new = opened(tmp_path, tmp_path / "book.xlsx", **{"value": "x", **said})
    read = new.rows[said.get("value", "x")].tolist()
    assert [None if cell != cell else cell for cell in read] == values
    assert note in " ".join(new.notes) and ("formula" in " ".join(new.notes)) == ("formula" in note)


#: What is refused, in one line that names the row or the cell, and nothing is added.
BAD: dict[str, tuple[str, dict[str, Any], str]] = {
    "decimal commas without quotes": ("date,x\n2018-01-31,1,5\n2018-02-28,1,6\n", {}, "row 1 .* has 3 cells, the header 2"),
    "an open quote": ('date,x\n2018-01-31,1\n2018-02-28,"2\n2018-03-31,3\n', {}, "row 2"),
    "quarters and months": ("date,x\n2018Q1,1\n2018-05,2\n", {}, "row [12], .*beside"),
    "a month that is none": ("date,x\n2018-13,1\n2018-01,2\n", {}, "'2018-13' in row 1"),
    "no such grain": ("date,x\n2018-01,1\n", {"grain": "eon"}, "--grain is one of"),
    "a grain against the label": ("date,x\n2018-01,1\n", {"grain": "day"}, "--grain day"),
    "no decimal sign": ("date,x\n2018-01-31,1\n", {"decimal": ";"}, "--decimal"),
    "both decimals": ("date;x\n2018-01-31;1,5\n2018-02-28;2.5\n", {"value": "x"}, "'2.5' in row 2.*'1,5' in row 1"),
    "thousands by spaces": ("date;x\n2018-01-31;1 234,5\n", {"value": "x"}, "row 1 .--thousands"),
    "a code": ("date,x\n2018-01-31,007\n2018-02-28,008\n", {"value": "x"}, "codes with leading zeros"),
    "a preamble": ("Bloomberg\n\ndate,x\n2018-01-31,1\n", {}, "--skip"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_read_is_one_line_and_nothing_is_added(case: str, tmp_path: Path) -> None:
    text, said, words = BAD[case]
    with pytest.raises(UsageError, match=words) as caught:
        opened(tmp_path, text, **said)
    assert "\n" not in str(caught.value) and not own_folder(tmp_path).exists()


#: Every reader of tables that people write.
READERS: dict[str, Any] = {
    "own data": lambda path: read_table(path),
    "events and forecasts": lambda path: read_cells(path),
    "questions": lambda path: read_rows(path.read_text()),
}


@pytest.mark.parametrize("sign", [",", ";", "\t"])
@pytest.mark.parametrize("reader", READERS)
def test_every_reader_refuses_a_row_that_is_longer_than_the_header(
    reader: str, sign: str, tmp_path: Path
) -> None:
    read, lines = READERS[reader], ["id,title", "a,1", "b,2", "c,3"]

    def table(*cells: str) -> Path:
        return csv(tmp_path, "\n".join(cells).replace(",", sign) + "\n")

    assert len(read(table(*lines))) == 3
    assert len(read(table(*lines[:3], "c,3,"))) == 3
    for longer in ([*lines[:2], "b,2,5", lines[3]], [lines[0], "a,1,5", "b,2,5", "c,3,5"]):
        with pytest.raises(
            (WorkbenchError, ScienceError), match=r"row \d of .* has 3 cells, the header 2"
        ) as caught:
            read(table(*longer))
        assert "\n" not in str(caught.value)


FIRST = "2018-01-01,10\n2018-02-01,11\n2018-03-01,12\n2018-04-01,13\n"
#: A file as it stood, and as it stands with later rows: what was known before must be told alike.
WORLDS: dict[str, tuple[str, str]] = {
    "a column is added": ("month,x\n" + FIRST, "month,x,fines\n" + FIRST + "2018-08-01,14,5\n"),
    "23 digits": ("month,x\n" + FIRST, "month,x\n" + FIRST + "2018-08-01,99999999999999999999999\n"),
    "decimals": ("month,x\n" + FIRST, "month,x\n" + FIRST + "2018-08-01,14.5\n"),
    "later quarters": ("month,x\n" + FIRST, "month,x\n" + FIRST + "2018-10-01,1\n2019-01-01,1\n"),
}


@pytest.mark.parametrize("case", WORLDS)
async def test_later_rows_change_nothing_of_what_was_known(case: str, tmp_path: Path) -> None:
    answers, pages = [], []
    cutoff = Cutoff.parse("2018-06-30")
    for number, text in enumerate(WORLDS[case]):
        home = tmp_path / str(number)
        home.mkdir()
        said = {"date": "month", "lag": "10d", "value": "x"}
        store_source(home, await open_source(home, "orders", csv(home, text), said, environ={}))
        answers.append([(await asked(home, "2018-06-30", params)).data for params in ({}, {"column": "x"})])
        broker = open_broker(ProxySettings(own_folder=own_folder(home)))
        pages.append(api_doc(broker.catalogue, ["own/orders/rows"], Availability.of([], cutoff)))
        await broker.aclose()
        if "added" in case:
            with pytest.raises(ParameterInvalid) as refused:
                await asked(home, "2018-06-30", {"column": "fines"})
            answers[-1].append(str(refused.value))
    assert answers[0] == answers[1] and len(answers[0][0]) == 4
    assert pages[0] == pages[1]
    if "added" in case:
        later = await asked(home, "2018-12-31", {"column": "fines"})
        assert len(later.data) == 1
