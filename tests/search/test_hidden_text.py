"""What a page hides does not reach a model: the page corpus, in bounded work, and what honest pages say stays."""

import re

import pytest
from selectolax.lexbor import LexborHTMLParser

from tests.fakes.processor_time import processor_seconds
from tests.search.page_corpus import Page, hidings, honest
from workbench.quoting import seen
from workbench.search import hidden_parts, page_text
from workbench.search.page_text import readable

#: What says nothing of a page's matter is left out though it is shown; so it was before (tests/search/test_texts.py).
FURNITURE = "nav, button, select, textarea, svg, template, [aria-hidden=true]"
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


def test_ordinary_pages_lose_nothing_and_hostile_ones_are_seen_through() -> None:
    found = {name: faults(page) for name, page in PAGES.items()}
    wrong = {name for name, fault in found.items() if fault != ([], [])}
    assert len(wrong) <= 0.08 * len(PAGES), sorted(wrong)
    assert [name for name, (lost, _) in found.items() if lost and " in " in name.partition(":")[0]] == []
    assert sum(bool(lost) for lost, _ in found.values()) <= 1


def test_without_the_styles_the_corpus_finds_the_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_text.PageStyle, "look", lambda self, node, around: around)
    wrong = [name for name, page in PAGES.items() if faults(page) != ([], [])]
    assert len(wrong) > 0.2 * len(PAGES)


@pytest.mark.parametrize(
    "html",
    [
        "<p>İstanbul</p><div style='display:none'>SECRET</div>",
        "<noembed></noscript><!--</noembed><div hidden>--></noembed>SECRET",
        "<p hidden class=a>SECRET</p><style media=print>.a{display:block}</style>",
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
    "descendants": f"<style>{'div ' * 300}{{color:red}}</style>{'<div>' * 900}x",
    "functions": f"<style>{':not(' * 3000}a{')' * 3000}{{color:red}}</style><p>x",
    "variables in each": "".join(f"<div style='--a{n}:1'>" for n in range(4_000)),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_page_is_refused_or_read_in_bounded_work(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hidden_parts, "MOST_TRIES", 6_000_000)  # a tenth, so that the test is quick
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
