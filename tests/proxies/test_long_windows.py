"""Windows longer than a vendor answers at once: put together whole, each row once, nothing of later."""

from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxies.asof.row_filter import Filtered
from proxies.errors import CutoffRefused
from proxies.fetch.stretches import MOST_STRETCHES, Stretches
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


async def test_a_share_younger_than_the_window_costs_one_more_request() -> None:
    young = {day: close for day, close in CLOSES.items() if day >= "2023-01-02"}
    desk = Desk(Fmp({"X": Share(young)}))
    answer = await desk(RAW, cutoff=CUTOFF, symbol="X", **{"from": "2015-01-01"})
    assert len(desk.seen) == 2 and len(answer.data) == len(known("2023-01-02"))
    few = dict(list(young.items())[:20])
    desk = Desk(Fmp({"X": Share(few)}))
    await desk(RAW, cutoff=CUTOFF, symbol="X", **{"from": "2015-01-01"})
    assert len(desk.seen) == 1, "so few rows were not cut"


@pytest.mark.parametrize("most", [120, 500, 5000])
async def test_a_vendor_that_ignores_the_end_of_a_window_gets_nothing_of_later_out(most: int) -> None:
    for keeps in ("newest", "oldest"):
        vendor = Fmp({"X": Share(CLOSES)}, most=most, keeps=keeps, ignores_end=True)
        answer = await Desk(vendor)(
            RAW, cutoff=CUTOFF, symbol="X", **{"from": "2024-01-01", "to": "2024-12-31"}
        )
        told = [row["date"] for row in answer.data]
        assert set(told) <= set(known("2024-01-01")) and len(told) == len(set(told))
        assert most < 300 or len(told) == len(known("2024-01-01")), "what lies before the cutoff comes"


def minute_bars(first: str, days: int) -> list[dict[str, Any]]:
    start = date.fromisoformat(first)
    return [
        {"date": f"{start + timedelta(days=d)} {9 + m // 60:02d}:{m % 60:02d}:00", "close": float(m)}
        for d in range(days)
        for m in range(30, 420)
    ]


async def test_minutes_cut_in_the_middle_of_a_day_lose_and_double_no_bar() -> None:
    bars = minute_bars("2024-05-20", 20)
    vendor = Fmp({"EURUSD": Share({})}, most=1000, bars=lambda tail: bars)
    desk = Desk(vendor)
    answer = await desk(
        ONE_MINUTE, cutoff=CUTOFF, symbol="EURUSD", **{"from": "2024-05-01", "to": "2024-06-30"}
    )
    told = [row["date"] for row in answer.data]
    assert told == [row["date"] for row in bars if row["date"] < "2024-06-01"][::-1]


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


def fed(stretches: Stretches, *pages: list[dict[str, Any]]) -> list[Any]:
    """The joined rows of pages fed by hand; there are as many stretches as pages."""
    for page in pages:
        assert stretches.next() is not None
        stretches.add(page, Filtered(data=page))
    assert stretches.next() is None
    return list(stretches.result().data)


def test_what_a_vendor_sends_outside_the_window_does_not_keep_it_going() -> None:
    # the window's first weeks hold no bars, and rows from before it came: nothing was cut
    rows = [{"date": day} for day in DAYS if not "2020-01-01" <= day < "2020-01-20"]
    year = {"from": "2020-01-01", "to": "2020-12-31"}
    assert fed(Stretches(year, "from", "to", "date"), rows) == rows


def test_a_day_told_twice_is_the_fuller_of_the_two() -> None:
    window = {"from": "2020-01-01", "to": "2020-01-31"}
    whole = [{"date": f"2020-01-{31 - n // 10:02d}", "n": n} for n in range(100)]
    older = [{"date": "2020-01-22", "n": 90}] + [{"date": "2020-01-01", "n": 200 + n} for n in range(9)]
    told = fed(Stretches(window, "from", "to", "date"), whole, older)
    assert [row["n"] for row in told] == [*range(100), *range(200, 209)]


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


async def test_a_cutoff_between_two_days_and_longer_bars_cost_no_request_more() -> None:
    for path, cutoff, count in (
        (FIVE, "2019-06-28", 1),
        (FIVE, NOON, 2),
        ("fmp/forex/interval/historical-chart/1hour", NOON, 1),
        (RAW, NOON, 1),
    ):
        desk = Desk(minutes_vendor(goes_on=True, most=5000))
        await desk(path, cutoff, symbol="EURUSD", **{"from": "2019-06-19"})
        assert len([seen for seen in desk.seen if "from" in seen.query]) == count, path


@pytest.mark.parametrize("most", [100, 5000])
async def test_without_a_start_a_bar_of_the_cutoffs_day_pushes_none_out(most: int) -> None:
    days = [day for day in DAYS if day <= "2024-05-31"]
    told = [
        read(
            await Desk(Fmp({"X": Share({day: 1.0 for day in days[:last]})}, most=most))(
                RAW, "2024-05-31T14:00-04:00", symbol="X"
            )
        )
        for last in (-1, None)
    ]
    assert told[0] == told[1] and "2024-05-30" in told[0]


async def test_in_which_order_later_rows_stand_changes_no_byte() -> None:
    """A vendor that ignores the window, in an order of its own: the joined rows come as those of before the cutoff stand."""
    early, own = "2019-06-26 10:00:00", "2019-06-28 10:00:00"
    told = []
    for late in ([], ["2019-07-02 10:00:00"]):
        bars = [{"date": text, "close": 1.0} for text in (own, early, *late)]

        def vendor(seen: Seen, bars: Any = bars) -> Any:
            probe = seen.query["to"] != seen.query["from"] != "2019-06-20"
            return minutes_vendor(goes_on=True, most=5000)(seen) if probe else bars

        told.append(
            read(await Desk(vendor)(FIVE, NOON, symbol="EURUSD", to="2019-06-28", **{"from": "2019-06-20"}))
        )
    assert told[0] == told[1] and early in told[0] and own in told[0]
