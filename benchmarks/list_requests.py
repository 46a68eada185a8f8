"""How many requests a vendor sees for one answered call: ten lists that begin with what is newest, at three cutoffs.

``python -m benchmarks.list_requests`` prints a table. The vendors are emulated; each list grows at its own pace.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from tests.fakes.upstream import Seen, Sent
from tests.proxies.leaks.desk import Desk
from tests.proxies.worlds import NOW

CUTOFFS = ("2026-08-01", "2024-11-01", "2018-11-01")
Row = Callable[[datetime], dict[str, Any]]


def day(*names: str) -> Row:
    """Rows that bear their day under some names."""
    return lambda at: dict.fromkeys(names, f"{at:%Y-%m-%d}") | {"symbol": "X", "cik": "1"}


def stamp(name: str, form: str = "%Y-%m-%d %H:%M:%S") -> Row:
    """Rows that bear their instant."""
    return lambda at: {
        name: f"{at:{form}}",
        "symbol": "X",
        "id": f"{at:%s}",
        "ticker": f"S-{at:%s}",
        "event_ticker": "S-1",
    }


#: A list's path, its parameters, its rows a year and a row.
LISTS: dict[str, tuple[dict[str, Any], float, Row]] = {
    "fmp/insider-trades/search/insider-trading/search": ({"symbol": "X", "limit": 10}, 400, day("filingDate")),
    "fmp/company/mergers/mergers-acquisitions-latest": ({"limit": 20}, 3000, stamp("acceptedDate")),
    "fmp/company/employee-count/historical-employee-count": ({"symbol": "X", "limit": 5}, 1, stamp("acceptanceTime")),
    "fmp/form-13f/holder/institutional-ownership/holder-performance-summary": ({"cik": "1"}, 4, day("date")),
    "fmp/analyst/ratings/ratings-historical": ({"symbol": "X", "limit": 5}, 252, day("date")),
    "fmp/analyst/grades/grades": ({"symbol": "X", "limit": 20}, 60, day("date")),
    "fmp/statements/financial-statements/cash-flow-statement": ({"symbol": "X", "limit": 8}, 4, stamp("acceptedDate")),
    "polymarket/trades": ({"market": "0x1"}, 1500, lambda at: {"timestamp": int(at.timestamp()), "price": 0.5}),
    "polymarket/markets": ({"tag_id": 2}, 2000, stamp("createdAt", "%Y-%m-%dT%H:%M:%SZ")),
    "kalshi/markets": ({"series_ticker": "S"}, 8760, stamp("open_time", "%Y-%m-%dT%H:%M:%SZ")),
}  # fmt: skip


def vendor(path: str) -> Callable[[Seen], Any]:
    """A vendor of one list, newest first, whose rows are computed from their place."""
    _, yearly, row = LISTS[path]
    # Kalshi opened later than the others
    years = 5 if path.startswith("kalshi") else 15
    total = int(years * yearly)

    def at(place: int) -> datetime:
        return NOW - timedelta(days=365 * years) * (place / total) - timedelta(hours=5)

    def answer(seen: Seen) -> Any:
        query = seen.query
        size = int(query.get("limit", 100))
        first = int(query.get("offset") or query.get("cursor") or 0) or int(query.get("page", 0)) * size
        end = int(query.get("max_created_ts", 2**40))
        if "historical/" in seen.path:
            return {"markets": [], "cursor": ""}
        if path == "kalshi/markets":
            first += (
                next((n for n in range(total) if at(n).timestamp() <= end), total)
                if not query.get("cursor")
                else 0
            )
        if path == "polymarket/trades" and first > 3000:
            return Sent({"error": "max historical activity offset of 3000 exceeded"}, 400)
        places = range(first, min(first + size, total))
        if query.get("ascending") == "true":
            places = range(total - 1 - first, max(-1, total - 1 - first - size), -1)
        rows = [row(at(place)) for place in places]
        if path == "kalshi/markets":
            return {"markets": rows, "cursor": str(first + size) if first + size < total else ""}
        return rows

    return answer


async def requests_of(path: str, cutoff: str) -> str:
    """The requests of one call, and what came of it."""
    desk = Desk(vendor(path))
    params = LISTS[path][0]
    try:
        answer = await desk(path, cutoff, **params)
        rows = answer.data["markets"] if isinstance(answer.data, dict) else answer.data
        return f"{len(desk.seen)} ({len(rows)} rows)"
    except Exception as error:
        return f"{len(desk.seen)} ({type(error).__name__})"
    finally:
        await desk.broker.aclose()


async def main() -> None:
    """Print the table."""
    print("| list |", " | ".join(CUTOFFS), "|\n| --- |", "--- | " * len(CUTOFFS))
    for path in LISTS:
        print(f"| `{path}` |", " | ".join([await requests_of(path, cutoff) for cutoff in CUTOFFS]), "|")


if __name__ == "__main__":
    asyncio.run(main())
