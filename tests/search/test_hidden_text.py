"""What a page hides does not reach a model: the page corpus, in bounded work, and what honest pages say stays."""

import re

import pytest
from selectolax.lexbor import LexborHTMLParser

from tests.fakes.processor_time import processor_seconds
from tests.search.page_corpus import Page, hidings, honest
from workbench.quoting import seen
from workbench.search.page import html_text, style_sheets, visibility
from workbench.search.page.html_text import readable

#: What says nothing of a page's matter is left out though it is shown; so it was before (tests/search/test_texts.py).
FURNITURE = "nav, button, select, textarea, svg, template, [aria-hidden=true]"
#: What no style of the text itself tells: SECURITY.md 14 says that it is not looked at.
NOT_LOOKED_AT = "covered"
PAGES = {page.name: page for page in (*hidings(), *honest())}


def stands_in(word: str, text: str) -> bool:
    if re.fullmatch("(SHOWN|SECRET)[A-Z]*", word):
        return re.search(f"{word}(?=SHOWN|SECRET|[^A-Z]|$)", text) is not None
    return word in text or " ".join(word.split()) in " ".join(text.split())


def faults(page: Page) -> tuple[list[str], list[str]]:
    """What of a page is lost, beside its furniture, and what it shows of what it hides."""
    text = readable(page.html).text
    lost = [word for word in page.seen if not stands_in(word, text)]
    if lost:
        furniture = " ".join(node.html or "" for node in LexborHTMLParser(page.html).css(FURNITURE))
        lost = [word for word in lost if not stands_in(word, furniture)]
    return lost, [word for word in page.hidden if stands_in(word, text)]


def test_the_corpus_is_read_as_a_reader_sees_it() -> None:
    found = {name: faults(page) for name, page in PAGES.items()}
    wrong = {name: fault for name, fault in found.items() if fault != ([], [])}
    assert {name for name in wrong if not name.startswith(NOT_LOOKED_AT)} == set()
    assert all(not lost for lost, _ in wrong.values()) and len(wrong) <= 3


def test_without_the_styles_the_corpus_finds_the_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html_text.PageStyle, "of", lambda self, element, around: around)
    page = next(page for name, page in PAGES.items() if name.startswith("style sheet 1:"))
    assert faults(page)[1]


@pytest.mark.parametrize(
    "html",
    [
        "<p>İstanbul</p><div style='display:none'>SECRET</div>",
        "<link rel=stylesheet href='data:text/css,.a%7Bdisplay:none%7D'><p class=a>SECRET</p>",
        "<style>@import url('data:text/css,.a{display:none}');</style><p class=a>SECRET</p>",
        # a browser with scripts ends the element at its first end tag, one without reads an attribute there
        "<noscript><p title='</noscript><div hidden>'></noscript>SECRET",
        "<noembed></noscript><!--</noembed><div hidden>--></noembed>SECRET",
        "<div><template shadowrootmode=open></template>SECRET</div>",
        "<p hidden class=a>SECRET</p><style media=print>.a{display:block}</style>",
        "<p hidden class=a>SECRET</p><meta http-equiv=Content-Security-Policy content=\"style-src 'none'\"><style>.a{display:block}</style>",
        "<p style='color:contrast-color(black)'>SECRET</p>",
    ],
)
def test_ways_that_the_corpus_does_not_hold(html: str) -> None:
    assert "SECRET" not in readable(html + "<p>SHOWN</p>").text


HOSTILE = {
    "rules for all": "<style>" + "".join(f"*{{left:{n}px}}" for n in range(10_000)) + "</style>" + "<p>x" * 10_000,
    "rules for some": "<style>" + "".join(f".c .d{n}{{color:red}}" for n in range(10_000)) + "</style>" + "<p class=c>x" * 10_000,
    "nested": "<div>" * 100_000,
    "formats": "".join(f"<b id={n}>" for n in range(9_000)) + "<p>x" * 9_000,
    "brackets": "<style>p{width:calc(" + "(" * 50_000,
    "variables": "<style>:root{--a:x x x x;" + "".join(f"--a{n}:var(--a{n - 1}) var(--a{n - 1});" for n in range(40)) + "}p{color:var(--a39)}</style>" + "<p>x" * 300,
    "variables in each": "".join(f"<div style='--a{n}:1'>" for n in range(4_000)),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_page_is_refused_or_read_in_bounded_work(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(style_sheets, "MOST_TRIES", 150_000)  # a tenth, so that the test is quick
    monkeypatch.setattr(visibility, "MOST_DECLARATIONS", 60_000)
    answers = []
    # far less; the machine may be slow
    assert processor_seconds(lambda: answers.append(readable(HOSTILE[name])), below=5) < 5
    assert answers[0].refused or len(answers[0].text) < 1000


def test_a_deep_page_is_read() -> None:
    html = "<style>div div b{display:none}</style>" + "<div>" * 5000 + "<b>SECRET</b>SHOWN"
    assert readable(html).text == "SHOWN"


def test_joiners_stay_where_letters_and_pictures_need_them_and_carry_nothing_elsewhere() -> None:
    for text in ("می\u200cخواهم", "क्\u200dया", "👩🏽\u200d🚀", "❤\ufe0f\u200d🔥", "1\ufe0f\u20e3"):
        assert seen(text) == text
    assert seen("a\u200cb\u200d\u200cc\ufe0f Bundes\u00adtag می\u200c\u200d\u200cخ") == "abc Bundestag میخ"
