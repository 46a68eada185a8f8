"""How many requests a vendor sees for one answered call: ten lists that begin with what is newest, at three cutoffs.

``python -m benchmarks.list_requests`` prints a table. The vendors are emulated; each list grows at its own pace. A cell reads
"before: now": requests and rows before lists were read back to the cutoff (counted at 86f167d by this file), and today.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from tests.fakes.upstream import Seen
from tests.proxies.leaks.desk import Desk
from tests.proxies.worlds import NOW

CUTOFFS = ("2026-08-01", "2024-11-01", "2018-11-01")
Row = Callable[[datetime], dict[str, Any]]
#: Requests and rows of each list at the three cutoffs before lists were read back; an empty list stood where rows were crowded out.
BEFORE = {
    "fmp/insider-trades/search/insider-trading/search": ("12 (10 rows)", "25 (0 rows)", "25 (0 rows)"),
    "fmp/company/mergers/mergers-acquisitions-latest": ("25 (0 rows)", "25 (0 rows)", "25 (0 rows)"),
    "fmp/company/employee-count/historical-employee-count": ("2 (5 rows)", "2 (5 rows)", "3 (5 rows)"),
    "fmp/form-13f/holder/institutional-ownership/holder-performance-summary": ("1 (58 rows)", "1 (51 rows)", "1 (27 rows)"),
    "fmp/analyst/ratings/ratings-historical": ("2 (5 rows)", "3 (5 rows)", "3 (0 rows)"),
    "fmp/analyst/grades/grades": ("1 (20 rows)", "2 (20 rows)", "2 (20 rows)"),
    "fmp/statements/financial-statements/cash-flow-statement": ("1 (8 rows)", "1 (8 rows)", "2 (8 rows)"),
    "kalshi/markets": ("45 (100 rows)", "45 (100 rows)", "45 (0 rows)"),
}  # fmt: skip


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


async def table() -> str:
    """The table."""
    lines = ["| list | " + " | ".join(CUTOFFS) + " |", "| --- |" + " --- |" * len(CUTOFFS)]
    for path in LISTS:
        now = [await requests_of(path, cutoff) for cutoff in CUTOFFS]
        cells = [f"{before}: {after}" for before, after in zip(BEFORE[path], now, strict=True)]
        lines.append(f"| `{path}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


async def main() -> None:
    """Print it."""
    print(await table())


if __name__ == "__main__":
    asyncio.run(main())
