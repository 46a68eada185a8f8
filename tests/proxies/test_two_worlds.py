"""Two worlds that agree on everything before the cutoff and differ after it: an agent reads the same bytes in both.

The law is stronger than hunting planted tokens: counts, notes, totals and error texts are compared too, and the line that
`CALL_API` prints into the cell. Only the time of fetching is left out.
"""

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
