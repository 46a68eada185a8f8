"""Two worlds that agree on everything before the cutoff and differ after it: an agent reads the same bytes in both.

The law is stronger than hunting planted tokens: counts, notes, totals and error texts are compared too, and the line that
`CALL_API` prints into the cell. Only the time of fetching is left out.
"""

from collections.abc import Callable
from typing import Any

import pytest

from tests.fakes.upstream import Seen
from tests.fakes.upstream_fmp import Change, Fmp, Index
from tests.proxies.leaks.desk import Desk
from tests.proxies.two_worlds import MEMBERS, read


async def _asked(handler: Any, path: str, cutoff: str, **params: Any) -> str:
    desk = Desk(handler)
    try:
        return read(await desk(path, cutoff, **params))
    finally:
        await desk.broker.aclose()


async def test_who_joins_or_leaves_an_index_later_changes_no_byte() -> None:
    before = [Change("1999-12-31", "B", "Z"), Change("2016-05-02", "C", "A")]
    later = [Change("2019-07-01", "D", "C"), Change("2021-01-04", "C", "B"), Change("2022-03-01", "", "C")]
    began = {"A": "1990-01-02", "K": "1990-01-02", "Z": "1990-01-02"}
    told = [
        await _asked(Fmp(index=Index(began, changes)), MEMBERS + "sp500-constituent", "2018-06-30")
        for changes in (before, [*before, *later], [*before, Change("2019-07-01", "", "K"), *later])
    ]
    assert '"symbol":"C"' in told[0] and told == [told[0]] * 3


async def test_a_member_that_comes_back_without_a_record_of_it_changes_no_byte() -> None:
    """Today's list holds a name whose second joining nobody wrote down: since when is not on record, and not counted."""

    def answers(came_back: bool) -> Callable[[Seen], Any]:
        members = [{"symbol": "A", "name": "A", "dateFirstAdded": "1990-01-02"}]
        record = [{"date": "2001-01-02", "symbol": "Q", "removedTicker": "R", "removedSecurity": "R"}]
        if came_back:
            record.append({"date": "2020-01-02", "symbol": "", "removedTicker": "A", "removedSecurity": "A"})
        return lambda seen: record if "historical" in seen.path else members

    told = [
        await _asked(answers(back), MEMBERS + "sp500-constituent", "2018-06-30") for back in (False, True)
    ]
    assert told[0] == told[1] and '"undated":0' in told[1]


@pytest.mark.parametrize("late", [30, 2600])
async def test_pages_full_of_later_rows_change_no_byte(late: int) -> None:
    """Undated rows count only before the last row that is handed out: where pages end follows from late rows."""
    rows: list[Any] = [{"symbol": "X", "title": f"n{n}", "publishedDate": "2025-01-01 10:00:00"} for n in range(late)]  # fmt: skip
    for n in range(60):
        rows.append({"symbol": "X", "title": f"e{n}", "publishedDate": f"2023-05-{1 + n % 28:02} 10:00:00"})
        if n % 7 == 0:
            rows.append({"symbol": "X", "title": "?", "publishedDate": "soon"})

    def news(seen: Seen) -> Any:
        page, size = int(seen.query["page"]), int(seen.query["limit"])
        return rows[page * size : (page + 1) * size]

    desk = Desk(news)
    first = await desk("fmp/news/symbol/news/stock", symbols="X", limit=10, page=0)
    second = await desk("fmp/news/symbol/news/stock", symbols="X", limit=10, page=1)
    await desk.broker.aclose()
    assert [row["title"] for row in first.data] == [f"e{n}" for n in range(10)]
    assert [row["title"] for row in second.data] == [f"e{n}" for n in range(10, 20)]
    assert (first.meta["undated"], second.meta["undated"]) == (2, 1)
    assert first.meta["notes"] == second.meta["notes"] and "rows_dropped" not in first.meta
    calls = list(desk.ledger.rows.values())
    # of many pages those are passed over that hold later rows alone
    dropped = calls[0].dropped_why.get("known on or after the cutoff", 0)
    assert dropped == late if late <= 250 else 250 <= dropped < late


@pytest.mark.parametrize("late", [0, 35])
async def test_a_size_that_grows_past_later_rows_changes_no_byte(late: int) -> None:
    stamped = [f"2025-01-{1 + n % 28:02}" for n in range(late)] + [
        day
        for n in range(40)
        for day in (["2022-02-0x"] if n % 9 == 4 else []) + [f"2022-01-{1 + n % 28:02}"]
    ]
    rows = [{"symbol": "X", "date": day, "dividend": n, "declarationDate": day} for n, day in enumerate(stamped)]  # fmt: skip
    desk = Desk(lambda seen: rows[: int(seen.query["limit"])])
    answer = await desk("fmp/calendar/dividends/dividends", symbol="X", limit=10)
    await desk.broker.aclose()
    assert len(answer.data) == 10 and answer.meta["undated"] == 1
