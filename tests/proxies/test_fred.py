"""FRED through the broker: values as they stood, nothing of later vintages, errors that do not tell."""

import logging
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from proxies.broker import Broker
from proxies.catalogue import load_catalogue
from proxies.errors import (
    CutoffRefused,
    ParameterInvalid,
    ParameterNotListed,
    SourceError,
    SourceRejected,
)
from tests.fakes.upstream import Seen, Sent
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


@pytest.mark.realdata
async def test_a_day_before_the_first_vintage_is_refused(
    real_fred: FredUpstream, broker_of: Callable[..., Broker]
) -> None:
    broker = broker_of(keys={"fred": KEY}, upstreams={"fred": real_fred.url})
    for cutoff in ("2016-06-29", "2015-01-01"):
        with pytest.raises(CutoffRefused):
            await asker(broker, cutoff)(OBS, series_id="GDPC1")


async def test_both_ends_of_the_window_are_the_last_visible_day(
    fred: FredUpstream, fred_broker: Broker
) -> None:
    answer = await asker(fred_broker, "2016-07-08")(OBS, series_id="SYNPAY")
    sent = fred.seen[-1].query
    assert sent["realtime_start"] == sent["realtime_end"] == sent["observation_end"] == "2016-07-07"
    assert [(r["date"], r["value"]) for r in answer.data["observations"]] == [("2016-05-01", "1000")]


async def test_an_older_window_is_kept_and_a_later_one_clamped(
    fred: FredUpstream, fred_broker: Broker
) -> None:
    ask = asker(fred_broker, "2017-01-01")
    older = await ask(OBS, series_id="SYNGDP", realtime_start="2016-05-01", realtime_end="2016-05-01")
    assert [r["value"] for r in older.data["observations"]] == ["100.0"] and older.meta["clamped"] == []
    later = await ask(OBS, series_id="SYNGDP", realtime_start="1776-07-04", realtime_end="9999-12-31")
    assert fred.seen[-1].query["realtime_end"] == "2016-12-31"
    assert {r["value"] for r in later.data["observations"]} == {"100.0", "101.5", "102.0", "103.0"}
    assert all(r["realtime_end"] <= "2016-12-31" for r in later.data["observations"])
    assert later.meta["clamped"] == ["realtime_end: 9999-12-31 -> 2016-12-31"]
    ahead = await ask(OBS, series_id="SYNGDP", realtime_start="2020-01-01")
    assert fred.seen[-1].query["realtime_start"] == "2016-12-31" and len(ahead.data["observations"]) == 3
    only_end = await ask(OBS, series_id="SYNGDP", realtime_end="2016-06-01")
    assert [r["value"] for r in only_end.data["observations"]] == ["101.5"]
    with pytest.raises(ParameterInvalid):
        await ask(OBS, series_id="SYNGDP", realtime_start="2016-06-01", realtime_end="2016-05-01")


async def test_vintage_dates_and_output_type_are_not_taken(fred: FredUpstream, fred_broker: Broker) -> None:
    for name, value in (("vintage_dates", "2030-01-01"), ("output_type", 2)):
        with pytest.raises(ParameterNotListed, match=name):
            await asker(fred_broker, "2017-01-01")(OBS, series_id="SYNGDP", **{name: value})
    assert fred.seen == []


async def test_metadata_of_today_is_stripped_and_ranking_by_it_refused(fred_broker: Broker) -> None:
    ask = asker(fred_broker, "2016-12-01")
    found = await ask("fred/series/search", search_text="syn")
    assert [row["id"] for row in found.data["seriess"]] == ["SYNGDP", "SYNPAY"]
    one = await ask("fred/series", series_id="SYNGDP")
    for row in (*found.data["seriess"], *one.data["seriess"]):
        assert not {"last_updated", "popularity", "group_popularity", "observation_end"} & set(row)
        assert row["title"]
    assert TODAY not in found.encoded().decode()
    with pytest.raises(ParameterInvalid):
        await ask("fred/series/search", search_text="syn", order_by="popularity")


async def test_vintage_days_end_before_the_cutoff(fred_broker: Broker) -> None:
    answer = await asker(fred_broker, "2016-07-29")("fred/series/vintagedates", series_id="SYNGDP")
    assert answer.data["vintage_dates"] == ["2016-04-28", "2016-05-27"] and answer.data["count"] == 2


async def test_live_asks_as_asked(fred: FredUpstream, fred_broker: Broker) -> None:
    answer = await asker(fred_broker, "now")(OBS, series_id="SYNGDP")
    assert answer.data["observations"][0]["value"] == "99.0" and answer.meta["as_of"] == "live"
    assert "realtime_start" not in fred.seen[-1].query


async def test_unknown_and_not_yet_published_are_refused_in_the_same_words(fred_broker: Broker) -> None:
    texts = set()
    for series, cutoff in (("NOSUCH", "2017-01-01"), ("SYNGDP", "2016-01-01")):
        with pytest.raises(CutoffRefused) as caught:
            await asker(fred_broker, cutoff)(OBS, series_id=series)
        texts.add(caught.value.reason)
    assert len(texts) == 1 and "ALFRED" not in texts.pop()


async def test_the_key_is_in_the_query_and_nowhere_else(
    fred: FredUpstream, broker_of: Callable[..., Broker], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    cache = tmp_path / "cache" / "raw.db"
    broker = broker_of(keys={"fred": KEY}, upstreams={"fred": fred.url}, cache_path=cache)
    ask = asker(broker, "2017-01-01")
    answer = await ask(OBS, series_id="SYNGDP")
    assert fred.seen[-1].query["api_key"] == KEY
    fred.faults.append(Sent({"error_message": f"trouble with api_key={KEY}"}, 403))
    with pytest.raises(SourceError) as caught:
        await ask(OBS, series_id="SYNPAY")
    await broker.aclose()
    stored = b"".join(path.read_bytes() for path in cache.parent.iterdir())
    for text in (str(answer), str(caught.value), caplog.text, repr(ask.ledger.rows), repr(broker.settings)):
        assert KEY not in text
    assert KEY.encode() not in stored and stored


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


async def test_tags_are_told_by_name_and_no_order_of_today_is_taken() -> None:
    desk = Desk(_tag_vendor(7))
    answer = await desk("fred/tags/tags", "2019-06-30", limit=3, offset=1)
    assert [row["name"] for row in answer.data["tags"]] == ["0001", "0002", "0003"]
    assert (answer.data["count"], answer.data["offset"], answer.data["limit"]) == (1100, 1, 3)
    for order in ("popularity", "series_count"):
        with pytest.raises(ParameterInvalid, match="present state"):
            await desk("fred/tags/tags", "2019-06-30", order_by=order)
    # live it is the vendor's page, in the vendor's order
    live = await desk("fred/tags/tags", "now", limit=3, order_by="popularity")
    assert [row["name"] for row in live.data["tags"]] == ["1099", "1098", "1097"] and len(desk.seen) == 3


async def test_a_list_of_tags_without_an_end_is_refused() -> None:
    def endless(seen: Seen) -> Any:
        tag = {"name": "a", "created": "2012-02-27 10:18:19-06"}
        return {"count": 10**9, "offset": 0, "limit": 1000, "tags": [tag] * int(seen.query["limit"])}

    with pytest.raises(SourceRejected, match="more tags"):
        await Desk(endless)("fred/tags/tags", "2019-06-30")
