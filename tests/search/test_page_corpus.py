"""The page corpus itself is large enough, and says of each page what is looked for."""

from collections import Counter

from tests.search.page_corpus import hidings, honest


def test_the_corpus_holds_what_it_says() -> None:
    hiding, fair = list(hidings()), list(honest())
    names = Counter(page.name for page in hiding + fair)
    assert len(hiding) >= 200
    assert len(fair) >= 200
    assert [name for name, times in names.items() if times > 1] == []
    assert len({page.html for page in hiding + fair}) == len(names)
    assert all(page.technique and page.hidden for page in hiding)
    assert all(page.technique and page.seen for page in fair)
