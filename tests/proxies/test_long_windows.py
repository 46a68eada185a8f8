"""Windows longer than a vendor answers at once: put together whole, each row once, nothing of later."""

from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxies.errors import CutoffRefused
from proxies.fetch.stretches import MOST_STRETCHES
from tests.fakes.upstream import Seen
from tests.fakes.upstream_fmp import Fmp, Share, weekdays
from tests.proxies.leaks.desk import Desk
from tests.proxies.two_worlds import read
from tests.proxies.worlds import in_loop

RAW = "fmp/chart/end-of-day/historical-price-eod/non-split-adjusted"
ONE_MINUTE = "fmp/forex/interval/historical-chart/1min"
DAYS = weekdays("2014-01-01", "2024-12-31")
CLOSES = {day: 10.0 + number / 100 for number, day in enumerate(DAYS)}
CUTOFF = "2024-06-01"


def known(first: str, last: str = "2024-05-31") -> list[str]:
    return [day for day in DAYS if first <= day <= last]


async def test_a_whole_window_is_asked_for_once() -> None:
    desk = Desk(Fmp({"X": Share(CLOSES)}))
    answer = await desk(RAW, cutoff=CUTOFF, symbol="X", **{"from": "2015-01-01"})
    assert len(desk.seen) == 1 and len(answer.data) == len(known("2015-01-01"))
    assert answer.meta["notes"] == []
    # without a start there is nothing to compare the answer with
    desk = Desk(Fmp({"X": Share(CLOSES)}, most=500))
    assert len((await desk(RAW, cutoff=CUTOFF, symbol="X")).data) == 500 and len(desk.seen) == 1


def minute_bars(first: str, days: int) -> list[dict[str, Any]]:
    start = date.fromisoformat(first)
    return [
        {"date": f"{start + timedelta(days=d)} {9 + m // 60:02d}:{m % 60:02d}:00", "close": float(m)}
        for d in range(days)
        for m in range(30, 420)
    ]


@pytest.mark.long
async def test_a_very_long_window_ends_and_says_so() -> None:
    bars = minute_bars("2023-01-01", 300)
    desk = Desk(Fmp({"EURUSD": Share({})}, most=1000, bars=lambda tail: bars))
    answer = await desk(
        ONE_MINUTE, cutoff=CUTOFF, symbol="EURUSD", **{"from": "2023-01-01", "to": "2024-05-31"}
    )
    assert len(desk.seen) == MOST_STRETCHES
    assert any("not whole" in note for note in answer.meta["notes"])


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(
    st.integers(50, 900), st.sampled_from(["newest", "oldest"]), st.booleans(),
    st.sampled_from(DAYS[:-300]), st.integers(0, 600), st.sets(st.integers(0, len(DAYS) - 1), max_size=40),
)  # fmt: skip
def test_however_it_is_cut_a_window_is_whole(
    most: int, keeps: str, oldest_first: bool, first: str, length: int, holidays: set[int]
) -> None:
    closes = {day: close for number, (day, close) in enumerate(CLOSES.items()) if number not in holidays}
    last = (date.fromisoformat(first) + timedelta(days=length)).isoformat()
    desk = Desk(Fmp({"X": Share(closes)}, most=most, keeps=keeps, oldest_first=oldest_first))
    answer = in_loop(desk(RAW, cutoff=CUTOFF, symbol="X", **{"from": first, "to": last}))
    expected = [day for day in closes if first <= day <= min(last, "2024-05-31")]
    told = sorted(row["date"] for row in answer.data)
    assert told == expected


def minutes_vendor(*, goes_on: bool, most: int, last: str = "15:55") -> Any:
    """Bars of five minutes over eight days of trading, newest first, so many at once; of the last day up to noon, or all."""
    stamps = [
        f"2019-06-{day} {m // 60:02}:{m % 60:02}:00"
        for day in (19, 20, 21, 24, 25, 26, 27, 28)
        for m in range(570, 960, 5)
    ]
    bars = [
        {"date": text, "close": 1.0}
        for text in stamps
        if text[11:16] <= last and (goes_on or text < "2019-06-28 12:00")
    ]

    def answer(seen: Seen) -> Any:
        inside = [bar for bar in bars if seen.query.get("from", "") <= bar["date"][:10] <= seen.query["to"]]
        return inside[::-1][:most]

    return answer


FIVE = "fmp/forex/interval/historical-chart/5min"
NOON = "2019-06-28T12:00-04:00"


@pytest.mark.parametrize("window", [{"from": "2019-06-28"}, {"from": "2019-06-24"}, {}])
@pytest.mark.parametrize("most", [60, 78, 100, 5000])
async def test_bars_after_the_cutoff_push_none_of_its_own_day_out(window: dict[str, str], most: int) -> None:
    """However many bars the vendor gives at once: all of the day up to the cutoff, or none of it and the reason."""
    told = []
    for goes_on in (False, True):
        desk = Desk(minutes_vendor(goes_on=goes_on, most=most))
        try:
            answer = await desk(FIVE, NOON, symbol="EURUSD", to="2019-06-28", **window)
        except CutoffRefused as error:
            told.append(str(error))
            continue
        own = [row["date"] for row in answer.data if row["date"] >= "2019-06-28"]
        assert len(own) == (30 if most > 78 else 0) and answer.data
        assert bool(own) != any("own day are left out" in note for note in answer.meta["notes"])
        told.append(read(answer))
    assert told[0] == told[1]
    assert ("cannot be told" in told[0]) == (most <= 78 and window == {"from": "2019-06-28"})
