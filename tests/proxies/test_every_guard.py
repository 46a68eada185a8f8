"""Every guard of the catalogue, switched off, is caught by a pair of worlds that agree on all that is dated before the cutoff."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from proxies import answers, broker
from proxies.asof import guards, row_filter, row_texts
from proxies.asof.clock import Cutoff
from proxies.asof.policies import Plan, windows
from proxies.asof.readjust import unchanged
from proxies.catalogue import Endpoint
from proxies.errors import Refused
from proxies.fetch import paging
from tests.fakes.upstream import Seen
from tests.fakes.upstream_fmp import Fmp, Share, weekdays
from tests.proxies.leaks.desk import Desk
from tests.proxies.test_over_refusal import ONE_THING, Paged
from tests.proxies.two_worlds import read
from tests.proxies.worlds import ASKED, in_loop, params_of, tell

pytestmark = pytest.mark.usefixtures("one_loop")
CUT = Cutoff.parse("2021-03-15")
LISTS = [
    endpoint
    for endpoint in ASKED
    if "overfetch" in endpoint.as_of.guards
    and endpoint.page.style in ("page", "offset", "limit")
    and not endpoint.as_of.first
    and endpoint.path not in ONE_THING
]


def in_small_pages(endpoint: Endpoint, *, ends: bool) -> str:
    """What is read of a list in pages of four rows, which ends with the cutoff or has 120 rows of after it before the others."""
    world = Paged(CUT.instant, endpoint)
    world.widest, world.ends = 4, ends
    world.moments = [CUT.instant + timedelta(days=400 + 41 * n) for n in range(120, 0, -1)]
    world.moments += [CUT.instant - timedelta(days=500 + 41 * n) for n in range(9)]
    return read(in_loop(tell(endpoint, CUT, world, params_of(endpoint, world))))


@pytest.mark.parametrize("endpoint", LISTS, ids=lambda e: e.path)
def test_later_rows_crowd_none_out_of_a_list(endpoint: Endpoint) -> None:
    one, other = in_small_pages(endpoint, ends=True), in_small_pages(endpoint, ends=False)
    assert one == other and "earlyx" in one


async def told(vendor: Any, path: str, cutoff: str, **params: Any) -> str:
    desk = Desk(vendor)
    try:
        return read(await desk(path, cutoff, **params))
    except Refused as error:
        return str(error)
    finally:
        await desk.broker.aclose()


Pair = Callable[[], Awaitable[list[str]]]


async def capped_at_the_end_of_the_window() -> list[str]:
    def gdelt(days: list[str]) -> Any:
        def answer(seen: Seen) -> Any:
            last = seen.query.get("ENDDATETIME") or seen.query.get("enddatetime") or "99991231"
            inside = [day for day in days if day <= last[:8]]
            return {
                "articles": [{"url": day, "title": "t", "seendate": f"{day}T000000Z"} for day in inside[:3]]
            }

        return answer

    early, late = ["20210301", "20210210", "20210105"], ["20220105", "20220104"]
    return [
        await told(gdelt(days), "gdelt/documents", "2021-03-15", query="x", startdatetime="2020-01-01")
        for days in (early, [*late, *early])
    ]


async def chosen_by_what_is_known_today() -> list[str]:
    def polymarket(volume: int) -> Any:
        market = {
            "id": "1",
            "question": "q",
            "slug": "s",
            "createdAt": "2020-01-01T00:00:00Z",
            "startDate": "2020-01-01T00:00:00Z",
        }
        return lambda seen: [market] if volume >= int(seen.query.get("volume_num_max", 0)) else []

    return [
        await told(polymarket(v), "polymarket/markets", "2021-03-15", slug="s", volume_num_max=5)
        for v in (9, 1)
    ]


async def fields_of_today() -> list[str]:
    def fred(notes: str) -> Any:
        row = {
            "id": "X",
            "title": "t",
            "notes": notes,
            "realtime_start": "2021-03-14",
            "realtime_end": "2021-03-14",
        }
        return lambda seen: {"seriess": [row], "realtime_start": "2021-03-14", "realtime_end": "2021-03-14"}

    return [
        await told(fred(notes), "fred/series/series", "2021-03-15", series_id="X")
        for notes in ("n", "It ended.")
    ]


async def a_later_split() -> list[str]:
    days = weekdays("2023-01-02", "2024-12-31")
    worlds = (("2024-05-31", {}), ("2024-12-31", {"2024-06-10": (10, 1)}))
    path = "fmp/chart/end-of-day/historical-price-eod/light"
    return [
        await told(
            Fmp(shares={"X": Share({day: 900.0 for day in days if day <= last}, splits)}),
            path, "2024-06-01", symbol="X", **{"from": "2023-06-01"},
        )
        for last, splits in worlds
    ]  # fmt: skip


async def a_text_edited_later() -> list[str]:
    def exa(more: str) -> Any:
        return {
            "results": [
                {"title": "t", "url": "u", "publishedDate": "2020-01-01T00:00:00Z", "text": f"Old.\n{more}"}
            ]
        }

    return [await told(exa(more), "exa/search/search", "2021-03-15", query="q") for more in ("", "Update 2022-02-01: it ended.")]  # fmt: skip


async def a_list_in_pages() -> list[str]:
    def trades(later: int) -> Any:
        stamps = [1640995200 - n for n in range(later)] + [1600000000 - n for n in range(9)]
        rows = [{"timestamp": stamp, "price": 0.5, "asset": "1"} for stamp in stamps]

        def answer(seen: Any) -> Any:
            place, size = int(seen.query.get("cursor") or 0), int(seen.query.get("limit", 100))
            return {"data": rows[place : place + size], "pagination": {"next_cursor": str(place + size)}}

        return answer

    return [await told(trades(later), "polymarket/trades", "2021-03-15", market="0x1") for later in (0, 1200)]


#: A guard, its pair of worlds, and what stands in its place when it is off.
GUARDS: dict[str, tuple[Pair, Any, str, Any]] = {
    "clamp_params": (capped_at_the_end_of_the_window, windows, "clamp", lambda request, cutoff: Plan(params=dict(request.params))),
    "param_allowlist": (chosen_by_what_is_known_today, broker, "check", lambda endpoint, params, cutoff: dict(params)),
    "overfetch": (a_list_in_pages, answers.paging, "pager", lambda request, cutoff, plan: paging.SinglePage(plan.params)),
    "strip": (fields_of_today, guards, "strip", lambda row, drop: row),
    "readjust": (a_later_split, row_filter, "adjuster", lambda context: unchanged),
    "content_check": (a_text_edited_later, row_texts, "cut_page", lambda row, cutoff, fields: (row, None)),
}  # fmt: skip


@pytest.mark.parametrize("guard", sorted(GUARDS))
async def test_a_guard_switched_off_is_caught(guard: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pair, place, name, off = GUARDS[guard]
    one, other = await pair()
    assert one == other
    monkeypatch.setattr(place, name, off)
    one, other = await pair()
    assert one != other
