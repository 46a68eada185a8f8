"""What companies, lists and pages are called today (A4 to A7, A13)."""

import pytest

from proxies.errors import (
    Refused,
)
from tests.fakes.upstream_wikipedia import Wiki
from tests.proxies.leaks.desk import Desk

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
            return (await Desk(floyd())(path, "2021-04-01", title=title)).encoded().decode()
        except Refused as error:
            return error.reason

    assert await told("Murder of George Floyd") == await told("Arson of George Floyd")
    assert await told("Killing of George Floyd") != await told("Arson of George Floyd")
