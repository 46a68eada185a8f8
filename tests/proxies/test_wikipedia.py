"""Pages as they stood: redirects and moves of then, not of today."""

import pytest

from proxies.errors import Refused
from tests.fakes.upstream_wikipedia import Edit, Wiki
from tests.proxies.leaks.desk import Desk
from tests.proxies.two_worlds import read


def wiki() -> Wiki:
    made = Wiki()
    made.edit("Slump of 2020", "2020-03-15T10:00:00Z", "A slump.\n== Causes ==\nMany.")
    made.edit("Slump of 2020", "2021-01-01T10:00:00Z", "A slump that ended.")
    # a redirect that once led elsewhere
    made.edit("The slump", "2019-01-01T00:00:00Z", "#REDIRECT [[Slump of 2008]]")
    made.edit("The slump", "2022-01-01T00:00:00Z", "#redirect: [[Slump_of_2020#Causes|slump]]")
    made.edit("Slump of 2008", "2009-01-01T00:00:00Z", "An old slump.")
    # a page of its own that was later merged into another
    made.edit("Causes of the slump", "2020-05-01T00:00:00Z", "The causes.")
    made.edit("Causes of the slump", "2023-01-01T00:00:00Z", "#REDIRECT [[Slump of 2020]]")
    # a page under another title than today's, moved twice
    made.edit("Bank A", "2018-01-01T00:00:00Z", "A bank.")
    made.move("Bank A", "Bank B", "2023-03-01T00:00:00Z")
    made.move("Bank B", "Bank C after the collapse", "2023-09-01T00:00:00Z")
    # a name that was made up only later
    made.edit("Great slump", "2023-05-05T00:00:00Z", "#REDIRECT [[Slump of 2020]]")
    made.edit("Loop", "2019-01-01T00:00:00Z", "#REDIRECT [[Pool]]")
    made.edit("Pool", "2019-01-01T00:00:00Z", "#REDIRECT [[Loop]]")
    return made


async def page(title: str, cutoff: str) -> tuple[str, str]:
    desk = Desk(wiki())
    answer = await desk("wikipedia/page", cutoff=cutoff, title=title)
    assert not any("redirects" in seen.query for seen in desk.seen)
    return answer.data["title"], answer.data["wikitext"]


@pytest.mark.parametrize(
    ("title", "cutoff", "told"),
    [
        ("Slump of 2020", "2020-06-01", ("Slump of 2020", "A slump.\n== Causes ==\nMany.")),
        ("slump_of_2020", "2022-06-01", ("Slump of 2020", "A slump that ended.")),
        ("The slump", "2021-06-01", ("Slump of 2008", "An old slump.")),
        ("The slump", "2022-06-01", ("Slump of 2020", "A slump that ended.")),
        ("Causes of the slump", "2022-06-01", ("Causes of the slump", "The causes.")),
        ("Causes of the slump", "2023-06-01", ("Slump of 2020", "A slump that ended.")),
    ],
)
async def test_a_title_leads_where_it_led_then(title: str, cutoff: str, told: tuple[str, str]) -> None:
    assert await page(title, cutoff) == told


async def test_redirects_that_run_in_a_circle_end() -> None:
    desk = Desk(wiki())
    answer = await desk("wikipedia/page", cutoff="2022-06-01", title="Loop")
    assert answer.data["wikitext"].startswith("#REDIRECT") and len(desk.seen) <= 10


async def test_sections_and_edits_are_those_of_the_page_of_then() -> None:
    desk = Desk(wiki())
    sections = await desk("wikipedia/sections", cutoff="2020-06-01", title="Slump of 2020")
    assert sections.data == [{"level": 2, "title": "Causes"}]
    edits = await desk("wikipedia/revisions", cutoff="2022-06-01", title="Bank A")
    assert [row["timestamp"] for row in edits.data["revisions"]] == ["2018-01-01T00:00:00Z"]
    through = await desk("wikipedia/revisions", cutoff="2022-06-01", title="The slump")
    assert [row["timestamp"] for row in through.data["revisions"]] == [
        "2021-01-01T10:00:00Z",
        "2020-03-15T10:00:00Z",
    ]


def swapped(times: int, at: str = "2023-04-01T00:00:00Z") -> Wiki:
    """Two banks that change places, by way of a third title as editors do it, all within a second."""
    made = wiki()
    made.edit("Bank X", "2017-01-01T00:00:00Z", "The first.")
    made.edit("Bank Y", "2017-01-01T00:00:00Z", "The second.")
    for number in range(times):
        for old, new in (("Bank X", f"Draft {number}"), ("Bank Y", "Bank X"), (f"Draft {number}", "Bank Y")):
            made.move(old, new, at.replace("04", f"0{4 + number}", 1))
    return made


@pytest.mark.parametrize("times", [0, 1, 2, 3])
async def test_pages_that_swapped_titles_since_are_told_as_they_stood(times: int) -> None:
    told = []
    for title in ("Bank X", "Bank Y"):
        told.append(read(await Desk(swapped(times))("wikipedia/page", cutoff="2022-06-01", title=title)))
        assert told[-1] == read(await Desk(swapped(0))("wikipedia/page", cutoff="2022-06-01", title=title))
    assert "The first." in told[0] and "The second." in told[1]
    # and after a swap that is known the other way round
    if times == 1:
        later = await Desk(swapped(times))("wikipedia/page", cutoff="2024-01-01", title="Bank X")
        assert later.data["wikitext"] == "The second."


async def test_a_page_with_very_many_later_edits_is_told_all_the_same() -> None:
    told = []
    for later in (0, 26_000):
        made = wiki()
        edits = [Edit("2024-01-01T00:00:00Z", "e")] * later
        made.pages["Slump of 2020"] += edits
        told.append(read(await Desk(made)("wikipedia/page", cutoff="2022-06-01", title="Slump of 2020")))
    assert told[0] == told[1] and "A slump that ended." in told[0]


# -- A7: the title of then ----------------------------------------------------------------------------------


def floyd() -> Wiki:
    wiki = Wiki()
    wiki.edit("Killing of George Floyd", "2020-05-26T10:00:00Z", "Killing text")
    wiki.edit("Killing of George Floyd", "2021-03-01T10:00:00Z", "The trial starts")
    wiki.move("Killing of George Floyd", "Murder of George Floyd", "2021-04-21T02:00:00Z")
    wiki.edit(
        "Murder of George Floyd",
        "2021-05-01T00:00:00Z",
        "Found guilty",
        "moved [[Somewhere]] to [[Elsewhere]]",
    )
    return wiki


@pytest.mark.parametrize("path", ["wikipedia/page", "wikipedia/sections", "wikipedia/revisions"])
async def test_a7_a_later_title_reads_like_one_that_never_was(path: str) -> None:
    async def told(title: str) -> str:
        try:
            return (await Desk(floyd())(path, "2021-04-01", title=title)).body.decode()
        except Refused as error:
            return error.reason

    assert await told("Murder of George Floyd") == await told("Arson of George Floyd")
    assert await told("Killing of George Floyd") != await told("Arson of George Floyd")
