"""The key-free series: read from the installed package, each row from the moment it was known."""

import gzip
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from proxies.broker import Broker
from proxies.errors import (
    MissingParameter,
    ParameterInvalid,
    ParameterNotListed,
    SourceUnavailable,
)
from proxies.vendors.embedded import known
from tests.proxies.conftest import asker

PATH = "embedded/series/observations"


@pytest.mark.parametrize(
    ("series", "cutoff", "last", "value"),
    [
        # closes of the installed package's files; a bar of D is not visible at the cutoff D
        ("SP500", "2018-06-30", "2018-06-29", 2718.370117),
        ("SP500", "2018-06-29", "2018-06-28", 2716.310059),
        ("SP500", "2018-06-29T15:59-04:00", "2018-06-28", 2716.310059),
        ("SP500", "2018-06-29T16:00-04:00", "2018-06-29", 2718.370117),
        ("VIX", "2018-06-29T16:14-04:00", "2018-06-28", 16.85),
        ("VIX", "2018-06-30", "2018-06-29", 16.09),
        ("CORE_CPI", "2018-07-15", "2018-04-01", 256.45),
        ("CORE_CPI", "2018-07-16", "2018-05-01", 256.889),
        ("AAA", "2018-06-05", "2018-04-01", 3.85),
        ("AAA", "2018-06-06", "2018-05-01", 4.0),
        ("WTI", "2018-06-29", "2018-06-25", 69.91),
        ("WTI", "2018-06-28", "2018-06-18", 65.91),
    ],
)
async def test_the_last_visible_row_is_the_last_one_known_before_the_cutoff(
    broker_of: Callable[..., Broker], series: str, cutoff: str, last: str, value: float
) -> None:
    answer = await asker(broker_of(), cutoff)(PATH, series_id=series, start="2018-01-01")
    assert (answer.data[-1]["date"], answer.data[-1]["value"]) == (last, value)
    assert [row["date"] for row in answer.data] == sorted(row["date"] for row in answer.data)


async def test_rows_after_the_cutoff_do_not_matter_and_the_last_visible_close_does(
    broker_of: Callable[..., Broker], tmp_path: Path
) -> None:
    def folder(name: str, last: float, later: float) -> Path:
        root = tmp_path / name
        (root / "sp500").mkdir(parents=True)
        lines = [
            "Date,Open,High,Low,Close,Adj Close,Volume",
            "6/28/2018,1,1,1,2700.0,1,1",
            f"6/29/2018,1,1,1,{last},1,1",
            f"7/2/2018,1,1,1,{later},1,1",
        ]
        with gzip.open(root / "sp500" / "sp500.csv.gz", "wt") as file:
            file.write("\n".join(lines))
        return root

    answers = [
        await asker(broker_of(embedded_root=folder(name, *values)), "2018-06-30")(PATH, series_id="SP500")
        for name, values in {"a": (2718.0, 1.0), "b": (2718.0, 99.0), "c": (2719.0, 1.0)}.items()
    ]
    assert answers[0].body == answers[1].body != answers[2].body
    assert (
        answers[0].meta["content_hash"] == answers[1].meta["content_hash"] != answers[2].meta["content_hash"]
    )


@pytest.mark.parametrize(
    ("params", "error"),
    [
        ({"series_id": "DOW"}, ParameterInvalid),
        ({"series_id": "SP500", "start": "2018/01/01"}, ParameterInvalid),
        ({"series_id": "SP500", "start": "2018-05-01", "end": "2018-04-01"}, ParameterInvalid),
        ({"series_id": "SP500", "limit": 5}, ParameterNotListed),
        ({}, MissingParameter),
    ],
)
async def test_a_request_that_does_not_fit_is_refused(
    broker_of: Callable[..., Broker], params: dict[str, object], error: type[Exception]
) -> None:
    with pytest.raises(error):
        await asker(broker_of(), "2018-06-30")(PATH, **params)


async def test_a_folder_without_the_data_says_so(broker_of: Callable[..., Broker], tmp_path: Path) -> None:
    with pytest.raises(SourceUnavailable, match="SP500"):
        await asker(broker_of(embedded_root=tmp_path), "2018-06-30")(PATH, series_id="SP500")


def test_reading_the_series_does_not_run_the_package() -> None:
    code = "import sys; from proxies.vendors.embedded import series_rows; series_rows(None, 'SP500'); sys.exit('arch' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", code], check=False, cwd=Path(__file__).parents[2]).returncode
        == 0
    )


def test_no_weekly_value_is_known_sooner_than_three_days_or_later_than_nine() -> None:
    from datetime import date, timedelta

    for offset in range(14):
        day = date(2018, 6, 18) + timedelta(days=offset)
        release = date.fromisoformat(known(day, "weekly"))
        assert release.weekday() == 3 and 3 <= (release - day).days <= 9
