"""What is filed, traded or copied after the cutoff does not change what is told of before, though it lies nearer or fills the page."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.fakes.upstream import Seen, Sent
from tests.proxies.leaks.desk import Desk
from tests.proxies.two_worlds import read


def statement(day: str, accepted: str) -> dict[str, Any]:
    return {
        "date": day,
        "symbol": "A",
        "acceptedDate": accepted,
        "filingDate": accepted[:10],
        "period": "Q2",
        "fiscalYear": "2021",
    }


@pytest.mark.parametrize(
    "end, accepted, shown",
    [
        ("2021-03-31", "2022-06-28", True),
        ("2021-04-10", "2022-02-01", True),
        ("2021-03-31", "2021-12-01", True),
    ],
)
@pytest.mark.parametrize("first", ["2021-04-28 18:00:00", "2022-02-28 18:00:00"])
async def test_a_value_counts_from_the_first_report_of_its_period_that_was_out(
    first: str, end: str, accepted: str, shown: bool
) -> None:
    """Whichever period end lies nearer: a report that is filed after the cutoff is not known at it."""

    async def told(*reports: dict[str, Any]) -> list[Any]:
        company = {
            "company": {"ticker": "A"},
            "metrics": [{"name": "m", "values": [{"x": "2021-03-31", "y": 1}]}],
        }
        answer = await Desk(lambda seen: list(reports) if "income-statement" in seen.path else company)(
            "msd/companies/companies/{ticker}", "2022-01-03", ticker="A"
        )
        return [value for metric in answer.data["metrics"] for value in metric["values"]]

    early = statement("2021-03-27", first)
    late = statement(end, f"{accepted} 18:00:00")
    out = first < "2022" or accepted < "2022"
    assert bool(await told(early, late)) == out
    assert await told(late, early) == await told(early, late)


@pytest.mark.parametrize("end", ["2021-12-31", "2022-03-01", "9999-12-31"])
async def test_the_day_on_which_a_value_was_replaced_is_told_inside_the_window_alone(end: str) -> None:
    row = {"realtime_start": "2021-12-10", "realtime_end": end, "date": "2021-10-01", "value": "5.0"}
    body = {
        "realtime_start": "2022-01-02",
        "realtime_end": "2022-01-02",
        "observations": [row],
        "count": 1,
        "offset": 0,
        "limit": 9,
    }
    (told,) = (await Desk(body)("fred/series/series/observations", "2022-01-03", series_id="A")).data[
        "observations"
    ]
    assert told["realtime_end"] == min(end, "2022-01-02") and told["value"] == "5.0"


CUT = int(datetime(2024, 1, 15, 5, tzinfo=UTC).timestamp())


def trade(name: str, second: float) -> dict[str, Any]:
    stamp = datetime.fromtimestamp(second, UTC).isoformat().replace("+00:00", "Z")
    return {
        "trade_id": name,
        "ticker": "X",
        "created_time": stamp,
        "yes_price_dollars": "0.40",
        "count_fp": "1.00",
    }


@pytest.mark.parametrize("late", [1, 999, 1000, 2500, 7001])
async def test_trades_of_the_cutoffs_own_second_do_not_crowd_out_those_of_before(late: int) -> None:
    early = [trade("half", CUT - 0.5), *(trade(f"t{n}", CUT - 1 - n) for n in range(30))]

    async def told(count: int) -> str:
        rows = [trade(f"l{n}", CUT) for n in range(count)] + early

        def answer(seen: Seen) -> Any:
            if "historical" in seen.path:
                return {"trades": [], "cursor": ""}
            begin, size = int(seen.query.get("cursor") or 0), int(seen.query["limit"])
            return {
                "trades": rows[begin : begin + size],
                "cursor": str(begin + size) if begin + size < len(rows) else "",
            }

        return read(await Desk(answer)("kalshi/trades", "2024-01-15", ticker="X", limit=40))

    assert await told(late) == await told(0) and "half" in await told(late)


async def test_a_page_with_later_copies_alone_reads_like_one_that_was_never_copied() -> None:
    asked = {"url": "https://example.com/a", "timestamp": "20240110120000"}

    async def told(sent: Sent) -> str:
        return read(await Desk(sent)("wayback/page", "2024-01-15", **asked))

    never = Sent(b"<p>Wayback Machine has not archived that URL.</p>", 404)
    assert await told(
        Sent(b"", 302, {"location": "/web/20240301120000id_/https://example.com/a"})
    ) == await told(never)
