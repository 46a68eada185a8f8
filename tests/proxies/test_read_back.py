"""Lists that begin with what is newest, read back to the cutoff however much came later: found, or refused, never empty."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from proxies.catalogue import load_catalogue
from proxies.errors import CutoffRefused, SchemaDrift
from proxies.fetch import read_back
from tests.fakes.upstream import Seen, Sent
from tests.proxies.leaks.desk import Desk
from tests.proxies.two_worlds import read

CUTOFF = "2019-06-30"
END = datetime(2019, 6, 30, tzinfo=UTC)
INSIDERS = "fmp/insider-trades/search/insider-trading/search"
RATINGS = "fmp/analyst/ratings/ratings-historical"
TRADES = "polymarket/trades"
MARKETS = "polymarket/markets"
#: A list's path, its parameters, and the fields of the row that came out at a moment.
LISTS: dict[str, tuple[dict[str, Any], Callable[[datetime, int], dict[str, Any]]]] = {
    INSIDERS: ({"symbol": "X"}, lambda at, n: {"symbol": "X", "filingDate": f"{at:%Y-%m-%d}", "reportingName": f"r{n}"}),
    "fmp/company/mergers/mergers-acquisitions-latest": ({}, lambda at, n: {"symbol": f"S{n}", "acceptedDate": f"{at:%Y-%m-%d %H:%M:%S}"}),
    "fmp/form-13f/holder/institutional-ownership/holder-performance-summary": ({"cik": "1"}, lambda at, n: {"cik": "1", "date": f"{at:%Y-%m-%d}", "portfolioSize": n}),
    TRADES: ({"market": "0x1"}, lambda at, n: {"timestamp": int(at.timestamp()), "price": 0.5, "asset": str(n)}),
    MARKETS: ({"tag_id": 2}, lambda at, n: {"id": str(n), "question": f"q{n}", "createdAt": f"{at:%Y-%m-%dT%H:%M:%SZ}"}),
    "polymarket/events": ({"tag_id": 2}, lambda at, n: {"id": str(n), "title": f"t{n}", "createdAt": f"{at:%Y-%m-%dT%H:%M:%SZ}", "markets": []}),
}  # fmt: skip


class Computed:
    """A list that holds no rows: each is computed from its place, newest first. Numbers count from the oldest."""

    def __init__(self, early: int, late: int, every: timedelta = timedelta(days=1)) -> None:
        self.early, self.late, self.every = early, late, every

    def rows(self, path: str, first: int, last: int) -> list[Any]:
        row = LISTS[path][1]
        total = self.early + self.late
        return [self._row(row, place) for place in range(max(0, first), min(last, total))]

    def _row(self, row: Callable[[datetime, int], dict[str, Any]], place: int) -> Any:
        number = self.early + self.late - 1 - place
        if number < self.early:
            return row(END - timedelta(days=120) - (self.early - 1 - number) * timedelta(hours=7), number)
        return row(END + timedelta(days=2) + (number - self.early) * self.every, number)


def keyset(seen: Seen) -> str:
    """The key of the rows in an answer of Polymarket's lists, "" for other lists."""
    names = {"markets/keyset": "markets", "events/keyset": "events", "v2/trades": "data"}
    return next((key for end, key in names.items() if seen.path.endswith(end)), "")


def vendor(
    world: Computed,
    path: str,
    *,
    most: int = 10**9,
    last: int = 10**9,
    beyond: str = "error",
    orders: bool = True,
) -> Any:
    """A vendor of a list in pages of at most ``most`` rows; past page or offset ``last`` it errs, is empty, or repeats.

    With ``orders`` it takes the order that Polymarket documents.
    """

    def answer(seen: Seen) -> Any:
        if key := keyset(seen):
            # lists with cursors, which know no offset
            place = int(seen.query.get("after_cursor") or seen.query.get("cursor") or 0)
            plain = {name: text for name, text in seen.query.items() if "cursor" not in name}
            rows = answer(replace(seen, path="", query={**plain, "offset": str(place)}))
            if not isinstance(rows, list):
                return rows
            beside = {"next_cursor": str(place + len(rows))} if rows else {}
            return {key: rows, "pagination": beside} if key == "data" else {key: rows, **beside}
        size = min(int(seen.query.get("limit", 100)), most)
        value = int(seen.query.get("page") or seen.query.get("offset") or 0)
        if value > last:
            if beyond == "error":
                return Sent({"error": "max historical activity offset exceeded"}, 400)
            if beyond == "empty":
                return []
            value = last
        first = value if "offset" in seen.query else value * size
        if seen.query.get("ascending") == "true" and orders:
            end = world.early + world.late - first
            return world.rows(path, end - size, end)[::-1]
        return world.rows(path, first, first + size)

    return answer


async def told(handler: Any, path: str, **params: Any) -> tuple[str, int]:
    """What an agent reads, and from how many requests."""
    desk = Desk(handler)
    try:
        text = read(await desk(path, CUTOFF, **{**LISTS[path][0], **params}))
    except CutoffRefused as error:
        text = f"refused: {error}"
    finally:
        await desk.broker.aclose()
    return text, len(desk.seen)


@pytest.mark.parametrize("late", [140, 10**6])
@pytest.mark.parametrize("path", LISTS)
async def test_however_many_rows_came_later_a_list_tells_the_same(path: str, late: int) -> None:
    params = {} if "13f" in path else {"limit": 10}
    if path == TRADES and late > 3000:
        return  # trades go by the vendor's cursors, and so far back they are refused: `capped`
    hour = timedelta(hours=1)
    one, _ = await told(vendor(Computed(60, 0), path), path, **params)
    other, requests = await told(vendor(Computed(60, late, hour), path), path, **params)
    assert one == other and not one.startswith("refused") and '"n' not in one[:1]
    assert requests <= 2 + read_back.MOST_SEARCHED and len(one) > 300


async def test_a_vendor_that_ignores_the_order_it_documents_is_not_believed() -> None:
    one, _ = await told(vendor(Computed(60, 0), MARKETS), MARKETS, limit=60)
    assert one.count("createdAt") == 60
    with pytest.raises(SchemaDrift, match="order"):
        await Desk(vendor(Computed(60, 2600), MARKETS, orders=False))(MARKETS, CUTOFF, tag_id=2)


@pytest.mark.parametrize("beyond", ["error", "empty", "repeats"])
@pytest.mark.parametrize("path", [INSIDERS, TRADES])
async def test_a_list_that_the_vendor_cuts_before_the_cutoff_is_refused_and_never_empty(
    path: str, beyond: str
) -> None:
    last = load_catalogue().resolve(path).page.last
    full = await told(vendor(Computed(60, 10**5), path, last=last, beyond=beyond), path, limit=10)
    assert full[0].startswith("refused") and "does not mean that there was nothing" in full[0]
    # with the cutoff inside what the vendor gives it answers
    near = await told(vendor(Computed(60, 2000), path, last=last, beyond=beyond), path, limit=10)
    assert (
        not near[0].startswith("refused")
        and near[0] == (await told(vendor(Computed(60, 0), path), path, limit=10))[0]
    )
    # and where nothing was known before the cutoff that is what is told
    none = await told(vendor(Computed(0, 2010), path, last=last, beyond=beyond), path, limit=10)
    assert none[0].startswith("[]") and "no rows" in none[0]


async def test_so_many_rows_as_the_vendor_does_not_reach_are_refused_and_fewer_are_told() -> None:
    world = vendor(Computed(600, 100 * 250), INSIDERS, last=100, beyond="empty")
    text, _ = await told(world, INSIDERS, limit=600)
    assert text.startswith("refused") and "ask for fewer" in text
    assert not (await told(world, INSIDERS, limit=200))[0].startswith("refused")


async def test_a_list_in_no_order_is_walked_and_refused_if_it_does_not_end() -> None:
    world = Computed(60, 5000)

    def shuffled(total: int) -> Any:
        def answer(seen: Seen) -> Any:
            first = int(seen.query["page"]) * 250
            places = [(place * 2503) % total for place in range(first, min(first + 250, total))]
            return [
                row
                for place in places
                for row in world.rows(INSIDERS, 5060 - total + place, 5061 - total + place)
            ]

        return answer

    text, requests = await told(shuffled(3000), INSIDERS, limit=250)
    assert not text.startswith("refused") and text.count("reportingName") == 60 and requests <= 14
    world = Computed(60, 50_000)
    world_all = world.early + world.late

    def endless(seen: Seen) -> Any:
        first = int(seen.query["page"]) * 250
        places = [(place * 25_033) % world_all for place in range(first, first + 250)]
        return [row for place in places for row in world.rows(INSIDERS, place, place + 1)]

    text, requests = await told(endless, INSIDERS, limit=250)
    assert text.startswith("refused") and requests <= 2 * read_back.MOST_READ


async def test_a_little_disorder_moves_the_edge_and_loses_no_row() -> None:
    """Ordered by the day of filing, judged by the minute of acceptance: some rows stand a few days out of order."""
    path = "fmp/company/mergers/mergers-acquisitions-latest"

    def rows(late: int) -> list[Any]:
        out = []
        for n in range(late + 400):
            moment = END + timedelta(days=late - n, hours=-80 if (n - late) % 5 == 0 else 0)
            out.append({"symbol": f"E{n - late}", "acceptedDate": f"{moment:%Y-%m-%d %H:%M:%S}"})
        return out

    def answers(listed: Sequence[Any]) -> Any:
        return lambda seen: listed[int(seen.query["page"]) * 1000 :][:1000]

    texts = []
    for late in (4, 1003, 2500, 7300):
        texts.append(await told(answers(rows(late)), path, limit=200))
    assert len({text for text, _ in texts}) == 1 and max(n for _, n in texts) <= 8


async def test_a_list_of_one_page_that_the_vendor_cuts_is_refused() -> None:
    rows = [
        {"symbol": "X", "date": f"{END + timedelta(days=2600 - n):%Y-%m-%d}", "rating": "A"}
        for n in range(4000)
    ]
    desk = Desk(lambda seen: rows[: min(1000, int(seen.query["limit"]))])
    with pytest.raises(CutoffRefused, match="does not reach back"):
        await desk(RATINGS, CUTOFF, symbol="X", limit=5)
    assert (await desk(RATINGS, "2025-06-30", symbol="X", limit=5)).data
