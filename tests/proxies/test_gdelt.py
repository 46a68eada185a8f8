"""GDELT's documents: by the instant at which they were first seen, in windows of whole days."""

from tests.proxies.leaks.desk import Desk


def article(name: str, seen: str, title: str = "Rates rise") -> dict[str, str]:
    return {
        "url": f"https://r.com/{name}",
        "title": title,
        "seendate": seen,
        "domain": "r.com",
        "socialimage": "x",
    }


async def test_articles_count_from_the_instant_they_were_seen_and_windows_are_whole_days() -> None:
    rows = [
        article("c", "20240531T235959Z"), article("b", "20240531T120000Z"), article("a", "20240531T120001Z"),
        article("d", "20240530T000000Z", "In 2025 the Fed cut rates"), article("2025/03/01/e", "20240530T000000Z"), article("f", "soon"),
    ]  # fmt: skip
    desk = Desk({"articles": rows})
    answer = await desk("gdelt/documents", "2024-05-31T12:00:01Z", query="rates", startdatetime="2024-05-01")
    assert [row["url"][-1] for row in answer.data["articles"]] == ["b"] and answer.meta["undated"] is None
    assert "socialimage" not in answer.data["articles"][0]
    query = desk.seen[0].query
    assert (query["startdatetime"], query["enddatetime"]) == ("20240501000000", "20240530235959")
    assert (query["mode"], query["format"], query["sort"]) == ("ArtList", "json", "DateDesc")
