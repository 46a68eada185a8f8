"""Text cells of a proof notebook: what a viewer would run or fetch is text, and what an author writes stays."""

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.record.passive import passive_markdown
from tests.fakes.hostile_text import active, links

CANARY = "http://127.0.0.1:9"
_LINK_OR_PICTURE = re.compile(r"<a href=\"([^\"]*)\"|<img|<script|<iframe|<[a-z]+ on")


def shown(text: str) -> str:
    """The text as a viewer renders it that believes everything, as nbconvert does."""
    import mistune

    renderer = mistune.HTMLRenderer(escape=False, allow_harmful_protocols=True)
    return str(mistune.create_markdown(renderer=renderer, plugins=["table"])(text))


def runs(rendered: str) -> bool:
    for match in _LINK_OR_PICTURE.finditer(rendered):
        address = "".join(char for char in html.unescape(match[1] or "x:") if char > " ")
        if match[1] is None or re.match(r"(javascript|vbscript|data):", address, re.IGNORECASE):
            return True
    return False


@pytest.mark.parametrize("name", links(CANARY))
def test_no_link_of_a_text_cell_runs(name: str) -> None:
    assert not runs(shown(passive_markdown(links(CANARY)[name])))


@pytest.mark.parametrize("name", active(CANARY))
def test_nothing_in_a_text_cell_runs_or_fetches(name: str) -> None:
    assert not runs(shown(passive_markdown(active(CANARY)[name])))


@pytest.mark.parametrize("space", ["\n", "\x01", "\t", "&#9;", "&Tab;", " \n "], ids=ascii)
@pytest.mark.parametrize("link", ["[y]({}javascript:z)", "[y](java{}script:z)", "[y]\n\n[y]:{}javascript:z"])
def test_white_space_before_or_in_an_address_hides_nothing(link: str, space: str) -> None:
    passive = passive_markdown(link.format(space))
    assert not runs(shown(passive))


def test_the_corpus_runs_where_nothing_stops_it() -> None:
    assert sum(runs(shown(text)) for text in links(CANARY).values()) > 10
    assert sum(runs(shown(text)) for text in active(CANARY).values()) > 10


@pytest.mark.parametrize(
    "text",
    [
        "**bold** and `code`", "[source](https://example.org/a_(b))", "[source](&#32;https://example.org)", "<https://example.org>", "[mail](mailto:a@example.org)",
        "[above](#conclusion)", "$p[i](x) < 0.5$ and a[0]: 3", "| a | b |\n|---|---|\n| 1 | 2 |", "2 < 3 > 1",
    ],
)  # fmt: skip
def test_what_an_author_writes_stays_as_it_is(text: str) -> None:
    assert passive_markdown(text) == text


@given(
    st.lists(
        st.sampled_from(
            [*links(CANARY).values(), *active(CANARY).values(), "](", "]:", "![", "<", "\n", " ", "&", "x"]
        )
    )
)
def test_no_mixture_runs_and_passive_text_stays_as_it_is(parts: list[str]) -> None:
    passive = passive_markdown("".join(parts))
    assert passive_markdown(passive) == passive
    assert not runs(shown(passive))  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "[x](https://a.example/y)",
        "[x](<https://a.example/y z>)",
        "[x]( mailto:a@a.example)",
        "[x](#below)",
        "[x](other.md)",
    ],
)
def test_an_honest_address_stays_however_it_is_written(text: str) -> None:
    assert passive_markdown(text) == text
