"""Two worlds that agree on everything before the cutoff and differ after it: an agent reads the same bytes in both.

The law is stronger than hunting planted tokens: counts, notes, totals and error texts are compared too, and the line that
`CALL_API` prints into the cell. Only the time of fetching is left out.
"""

from typing import Any

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
