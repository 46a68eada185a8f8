"""Copies of pages count from the second at which the archive made them, whatever was asked for."""

import pytest

from proxies.errors import Refused, SourceRejected
from tests.fakes.upstream import Seen, Sent
from tests.proxies.leaks.desk import Desk

PAGE = "https://example.com/a?b=1&c=%20d"
ASKED = {"url": PAGE, "timestamp": "20240115120000"}


def copy(when: str, body: bytes = b"<p>old</p>", **headers: str) -> Sent:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Sent(body, 200, {"content-type": "text/html", "memento-datetime": when, **named})


async def test_a_copy_comes_with_its_own_time_and_is_asked_for_by_the_whole_address() -> None:
    asked: list[str] = []

    def answer(seen: Seen) -> Sent:
        asked.append(seen.path)
        return copy(
            "Mon, 15 Jan 2024 12:00:00 GMT",
            "<p>é</p>".encode("latin-1"),
            content_type="text/html; charset=latin-1",
        )

    (row,) = (await Desk(answer)("wayback/page", **ASKED)).data
    assert (row["captured"], row["html"], row["original"]) == ("2024-01-15T12:00:00Z", "<p>é</p>", PAGE)
    assert asked == ["/wayback/web/20240115120000id_/https://example.com/a"]


@pytest.mark.parametrize("when", ["Sat, 01 Jun 2024 04:00:00 GMT", "Sat, 01 Mar 2025 00:00:00 GMT"])
async def test_a_later_copy_in_place_of_the_one_asked_for_is_not_told(when: str) -> None:
    assert (await Desk(copy(when, b"late"))("wayback/page", **ASKED)).data == []
    assert (await Desk(copy("Sat, 01 Jun 2024 03:59:59 GMT"))("wayback/page", **ASKED)).data


async def test_a_copy_without_a_time_and_a_redirect_are_failures_and_a_picture_is_no_text() -> None:
    for sent in (
        Sent(b"<p>x</p>", 200, {"content-type": "text/html"}),
        Sent(b"", 302, {"location": "https://web.archive.org/web/2026/https://example.com/", "memento-datetime": "Mon, 15 Jan 2024 12:00:00 GMT"}),
        Sent(b"gone", 404),
    ):  # fmt: skip
        with pytest.raises(SourceRejected):
            await Desk(sent)("wayback/page", **ASKED)
    picture = copy("Mon, 15 Jan 2024 12:00:00 GMT", b"\x89PNG", content_type="image/png")
    assert (await Desk(picture)("wayback/page", **ASKED)).data == []


async def test_captures_end_with_the_last_whole_day_and_late_ones_are_left_out() -> None:
    lines = [["timestamp", "original", "statuscode"], ["20240530000000", PAGE, "200"], ["20240601040000", PAGE, "200"], ["junk", PAGE, "200"]]  # fmt: skip
    desk = Desk(lines)
    answer = await desk("wayback/captures", url=PAGE, to="20301231")
    assert [row["timestamp"] for row in answer.data] == ["20240530000000"]
    assert desk.seen[0].query["to"] == "20240531" and desk.seen[0].query["filter"] == "statuscode:200"


async def test_only_addresses_of_the_web_are_taken() -> None:
    for url in ("file:///etc/passwd", "ftp://x.org/a", "https://x y", "https://x.org/\n"):
        with pytest.raises(Refused):
            await Desk([])("wayback/captures", url=url)
