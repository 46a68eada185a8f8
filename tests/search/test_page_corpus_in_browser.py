"""What the page corpus says of its pages is what Chromium shows, wherever ``innerText`` decides."""

import re
from typing import Any

import pytest

from tests.search.page_corpus import hidings, honest

pytestmark = [pytest.mark.browser, pytest.mark.soak, pytest.mark.long]
ADDRESS = "http://page.test/"


def test_chromium_shows_what_the_corpus_says(chromium: Any) -> None:
    wrong, served = [], ""

    def answer(route: Any) -> None:
        if route.request.url == ADDRESS:
            route.fulfill(body=served.encode(), content_type="text/html; charset=utf-8")
        else:
            route.abort()

    tab = chromium.new_page()
    tab.route("**/*", answer)
    for page in [*hidings(), *honest()]:
        if not page.inner_text_decides:
            continue
        served = page.html
        tab.goto(ADDRESS)
        text = _spaced(tab.evaluate("document.body.innerText ?? ''"))
        missed = [words for words in page.seen if _spaced(words) not in text]
        missed += [words for words in page.hidden if re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text)]
        wrong += [(page.name, missed)] * bool(missed)
    tab.close()
    assert wrong == []


def _spaced(text: str) -> str:
    return " ".join(text.replace("\u00ad", "").split())
