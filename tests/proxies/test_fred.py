"""FRED through the broker: values as they stood, nothing of later vintages, errors that do not tell."""

from collections.abc import Callable, Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from proxies.broker import Broker
from proxies.catalogue import load_catalogue
from proxies.errors import (
    ParameterInvalid,
)
from tests.fakes.upstream import Seen
from tests.fakes.upstream_fred import KEY, TODAY, FredUpstream, frbny
from tests.proxies.conftest import asker
from tests.proxies.leaks.desk import Desk
from tests.proxies.two_worlds import read

OBS = "fred/series/observations"


def day_after(day: str) -> str:
    return (date.fromisoformat(day) + timedelta(days=1)).isoformat()


# figures from the README beside the vintages: (series, period, known on, value)
CHECKED = [
    ("GDPC1", "2016-03-01", "2016-06-29", 16514.6),
    ("GDPC1", "2016-03-01", "2016-07-29", 16525.0),
    ("GDPC1", "2016-06-01", "2016-07-29", 16575.1),
    ("GDPC1", "2016-06-01", "2016-08-26", 16570.2),
    ("GDPC1", "2016-06-01", "2016-09-29", 16583.1),
    ("GDPC1", "2016-09-01", "2016-10-28", 16702.1),
    ("GDPC1", "2016-09-01", "2016-11-29", 16712.5),
    ("GDPC1", "2016-09-01", "2016-12-22", 16727.0),
    ("PAYEMS", "2016-05-01", "2016-06-29", 143894.0),
    ("PAYEMS", "2016-05-01", "2016-07-08", 143888.0),
    ("PAYEMS", "2016-05-01", "2016-08-05", 143901.0),
]


@pytest.fixture(scope="module")
def real_fred(test_data: Path) -> Iterator[FredUpstream]:
    with FredUpstream(frbny(test_data)) as upstream:
        yield upstream


@pytest.mark.realdata
@pytest.mark.parametrize(("series", "period", "known", "value"), CHECKED)
async def test_real_vintages_come_back_exactly(
    real_fred: FredUpstream,
    broker_of: Callable[..., Broker],
    series: str,
    period: str,
    known: str,
    value: float,
) -> None:
    broker = broker_of(keys={"fred": KEY}, upstreams={"fred": real_fred.url})
    answer = await asker(broker, day_after(known))(OBS, series_id=series)
    by_period = {row["date"]: float(row["value"]) for row in answer.data["observations"]}
    assert by_period[period] == value
    # at the cutoff of the release day itself the release is not yet known
    earlier = [v for s, p, k, v in CHECKED if (s, p) == (series, period) and k < known]
    if earlier:
        before = await asker(broker, known)(OBS, series_id=series)
        assert {r["date"]: float(r["value"]) for r in before.data["observations"]}[period] == earlier[-1]


async def test_metadata_of_today_is_stripped_and_ranking_by_it_refused(fred_broker: Broker) -> None:
    ask = asker(fred_broker, "2016-12-01")
    found = await ask("fred/series/search", search_text="syn")
    assert [row["id"] for row in found.data["seriess"]] == ["SYNGDP", "SYNPAY"]
    one = await ask("fred/series", series_id="SYNGDP")
    for row in (*found.data["seriess"], *one.data["seriess"]):
        assert not {"last_updated", "popularity", "group_popularity", "observation_end"} & set(row)
        assert row["title"]
    assert TODAY not in found.body.decode()
    with pytest.raises(ParameterInvalid):
        await ask("fred/series/search", search_text="syn", order_by="popularity")


@pytest.mark.parametrize("order", [None, "desc"])
async def test_a_window_of_more_than_two_thousand_vintages_comes_in_parts_and_whole(
    broker_of: Callable[..., Broker], order: str | None
) -> None:
    """A daily series: each day's value comes out the day after, each fifth is revised a year later."""
    first = date(2010, 1, 1)
    days = [first + timedelta(days=n) for n in range(5000)]
    rows = [
        ("DAILY", day.isoformat(), (day + timedelta(days=1)).isoformat(), str(n))
        for n, day in enumerate(days)
    ]
    rows += [
        ("DAILY", day.isoformat(), (day + timedelta(days=366)).isoformat(), f"{n}.5")
        for n, day in enumerate(days)
        if n % 5 == 0
    ]
    asked = {
        "series_id": "DAILY",
        "realtime_start": "2009-01-01",
        "realtime_end": "2023-01-01",
        **({"sort_order": order} if order else {}),
    }
    with FredUpstream(rows) as upstream:
        ask = asker(broker_of(keys={"fred": KEY}, upstreams={"fred": upstream.url}), "2023-06-01")
        answer = await ask(OBS, **asked)
        page = await ask(OBS, **asked, limit=10, offset=100)
        parts = len(upstream.seen)
    expected = [
        {
            "realtime_start": value.start,
            "realtime_end": min(value.end, "2023-01-01"),
            "date": value.period,
            "value": value.value,
        }
        for value in upstream.values["DAILY"]
        if value.start <= "2023-01-01"
    ]
    expected.sort(key=lambda row: (row["date"], row["realtime_start"]), reverse=order == "desc")
    assert answer.data["observations"] == expected and answer.data["count"] == len(expected) and parts > 4
    assert page.data["observations"] == expected[100:110]


TAGS = [
    "fred/tags/tags",
    "fred/categories/category/tags",
    "fred/tags/related_tags",
    "fred/series/series/tags",
]


def _tag_vendor(late: int, *, first: bool = True) -> Callable[[Seen], Any]:
    """FRED's own order is by how many series bear a tag today; 1,100 tags of before the cutoff, then later ones among them."""

    def tag(name: str, created: str) -> dict[str, Any]:
        return {
            "name": name,
            "group_id": "gen",
            "notes": "",
            "created": created,
            "popularity": 9,
            "series_count": 9,
        }

    old = [tag(f"{n:04}", "2012-02-27 10:18:19-06") for n in range(1100)]
    new = [tag(f"{n:04}x", "2020-04-27 10:18:19-05") for n in range(late)]

    def answer(seen: Seen) -> Any:
        rows = sorted([*old, *new], key=lambda row: row["name"], reverse=seen.query.get("order_by") != "name")
        size, start = int(seen.query.get("limit", 1000)), int(seen.query.get("offset", 0))
        page = rows if seen.path.endswith("/series/tags") else rows[start : start + size]
        return {
            "realtime_start": "x",
            "order_by": "name",
            "sort_order": "asc",
            "count": len(rows),
            "offset": start,
            "limit": size,
            "tags": page,
        }

    return answer


@pytest.mark.parametrize("path", TAGS)
@pytest.mark.parametrize(
    "asked",
    [{}, {"limit": 3}, {"limit": 5, "offset": 2}, {"order_by": "created", "sort_order": "desc", "limit": 4}],
)
async def test_tags_that_were_made_later_take_no_place_and_change_no_order(
    path: str, asked: dict[str, Any]
) -> None:
    endpoint = load_catalogue().resolve(path)
    params = {**endpoint.example, **{name: value for name, value in asked.items() if name in endpoint.params}}
    told = [read(await Desk(_tag_vendor(late))(path, "2019-06-30", **params)) for late in (0, 40, 1900)]
    assert told == [told[0]] * 3 and '"0002"' in told[0]
    assert f'"limit":{params["limit"]}' in told[0] if "limit" in params else True
