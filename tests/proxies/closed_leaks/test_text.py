"""What texts say of later days (A12)."""

from typing import Any

import pytest

from proxies.asof.asof_text import without_later
from proxies.asof.clock import Cutoff
from proxies.asof.later_text import dated_later
from tests.proxies.leaks.desk import Desk

SUMMER = Cutoff.parse("2024-06-01")


@pytest.mark.parametrize(
    "text",
    [
        "As of 2025-03 the rate was 4.3%", "In 2025 the Fed cut twice", "Q1 2025 revenue rose", "am 01.03.2025 gewann", "am 1. März 2025 gewann",
        "2025 March 1: he won", "Updated 2025/03/01", "by summer 2025 it had fallen", "Mar-25: 4.3", "Sales in 4Q24 jumped", "le 3 juillet 2024 il gagna",
        "As of 03/07/2024 it rose", "In the third quarter of 2024 sales fell", "On Dec. 5, 2024 it won", "In 2025 the Fed cut rates twice, as analysts expected",
    ],
)  # fmt: skip
def test_a12_a_sentence_that_speaks_of_a_later_day_as_past_is_cut(text: str) -> None:
    assert without_later(f"An old sentence. {text}.", SUMMER) == "An old sentence."


@pytest.mark.parametrize(
    "text",
    [
        "The Fed next meets on July 31, 2024, economists expect no change.", "The EU targets 2030; the plan runs to December 2030.",
        "The note matures 2034-02-15.", "live updates from Iowa", "Officials said the Fed will cut rates in December 2024.",
        "This market resolves to Yes if it happens by December 31, 2024, 11:59 PM ET.", "The meeting was scheduled for 5 December 2024.",
        "Economists expect the rate, now 5%, to fall to 4% in December 2024.", "In March 2024 it rose.", "As of 03/05/2024 it rose.",
        "The 2,025 shares cost $2030 and 2026.5 points.",
    ],
)  # fmt: skip
def test_a12_what_was_ahead_or_past_at_the_time_stays(text: str) -> None:
    assert without_later(text, SUMMER) == text


def test_a12_an_address_of_a_later_day_gives_a_page_away() -> None:
    for later in (
        "https://r.com/world/2025/03/01/x",
        "https://r.com/20250301-x",
        "https://r.com/2025/03/x",
        "https://r.com/2025-03-01-x",
        "https://r.com/2025/x",
    ):
        assert dated_later(later, SUMMER)
    for fine in (
        "https://r.com/2024/05/31/x",
        "https://r.com/outlook-2030",
        "https://r.com/id/98202503",
        "https://r.com/a",
    ):
        assert not dated_later(fine, SUMMER)


async def test_a12_a_search_loses_sentences_and_pages_of_later_and_keeps_what_looks_ahead() -> None:
    def hit(name: str, text: str, title: str = "A page") -> dict[str, Any]:
        return {
            "title": title,
            "url": f"https://r.com/{name}",
            "publishedDate": "2024-01-01T00:00:00.000Z",
            "text": text,
        }

    hits = [
        hit("2025/03/01/x", "plain"), hit("b", "Fine. On 3 July 2024 it won."), hit("c", "x", "Q1 2025 results beat"),
        hit("d", "The Fed will meet on July 31, 2024."), hit("e", "Updated 3 hours ago. News."),
    ]  # fmt: skip
    answer = await Desk({"results": hits})("exa/search/search", query="q")
    assert {row["url"][14:]: row["text"] for row in answer.data["results"]} == {
        "b": "Fine.",
        "d": "The Fed will meet on July 31, 2024.",
    }
    assert any("as past" in note for note in answer.meta["notes"])


async def test_a12_a_search_asks_for_no_day_of_crawling() -> None:
    desk = Desk({"results": []})
    await desk("exa/search/search", "2015-01-01", query="q")
    assert "endCrawlDate" not in desk.seen[0].body and desk.seen[0].body["endPublishedDate"].startswith(
        "2015-01-01"
    )
