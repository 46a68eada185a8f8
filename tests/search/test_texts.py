"""HTML and wikitext as text, quotations, merging, ranking, rules and verdicts: laws first."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from proxies.asof import named_days
from proxies.asof.clock import Cutoff
from proxies.asof.later_text import late_words
from tests.fakes.processor_time import processor_seconds
from tests.search.day_sentences import FRESH_HONEST, FRESH_LATE, HONEST, LATE, sentences
from workbench.quoting import seen
from workbench.search.engines import Hit
from workbench.search.leak_filter import read_verdicts
from workbench.search.leak_rules import was_published
from workbench.search.merged_results import merged, ranked
from workbench.search.page_text import MOST_TEXT, plain, readable, wikitext

CUTOFF = Cutoff.parse("2024-06-01")
HIDDEN = [
    "<!-- {} -->", "<script>{}</script>", "<style>{}</style>", "<p hidden>{}</p>", "<div style='display: none'>{}</div>", '<div style="visibility:hidden">{}</div>',
    "<span style='font-size:0px'>{}</span>", "<img alt='{}'>", "<div aria-hidden='true'><p>{}</p></div>", "<template>{}</template>", "<noscript>{}</noscript>",
    "<p style='position:absolute;left:-9999px'>{}</p>", "<textarea>{}</textarea>", "<p title='{}'></p>", "<meta name='description' content='{}'>",
    "<div hidden><div>a</div>{}</div>", "<svg><text>{}</text></svg>", "<p style='opacity:0'>{}</p>", "<p style='color:transparent'>{}</p>", "<DIV STYLE='DISPLAY:NONE'>{}</DIV>",
    "<nav>{}</nav>", "<div\nhidden\n>{}</div>", "<p data-x='>' hidden>{}</p>", "<!-- > -- > {} -->",
]  # fmt: skip


@pytest.mark.parametrize("form", HIDDEN)
def test_what_a_reader_does_not_see_is_not_read_and_what_follows_is(form: str) -> None:
    text = readable(
        f"<html><head><title>T</title></head><body><p>Before.</p>{form.format('SECRET')}<p>After.</p></body></html>"
    )
    assert text.text == "Before.\nAfter." and text.title == "T"


def test_seen_text_stays_also_in_broken_markup() -> None:
    broken = readable("<head><title>x</title><body><p>a < b & c &amp; d<p>e</i></b>f<ul><li>g<li>h")
    assert broken.text == "a < b & c & d\nef\ng\nh" and broken.title == "x"
    assert readable("<p>a</p></div></div><p>b</p>").text == "a\nb"
    assert readable("no markup at all").text == "no markup at all"
    assert readable("<p hidden>x<p>seen").text == "seen"
    assert readable("<a href='x>y'>link</a> text").text == "link text"


@given(st.text(alphabet="<>!-/ahidenpscrt='\" &;\n", max_size=300))
def test_no_markup_is_an_error(html: str) -> None:
    text = readable(html).text
    assert len(text) <= MOST_TEXT and wikitext(html) is not None and "\n" not in plain(html)


@pytest.mark.parametrize(
    "piece",
    [
        "<",
        "<!",
        "<!--",
        "<div>",
        "<div hidden>",
        "<a b='",
        "</p>",
        "{{",
        "[[",
        "[[File:",
        "<ref>",
        "[https://",
        "&#",
        "<p style='",
        "'''",
    ],
)
def test_hostile_markup_takes_no_more_time_than_honest_markup(piece: str) -> None:
    html = piece * (100_000 // len(piece))
    assert (
        processor_seconds(lambda: (readable(html), wikitext(html), plain(html[:20_000])), below=5) < 5
    )  # a quadratic reader takes minutes


@given(st.text(max_size=200))
def test_seen_is_idempotent_and_leaves_no_unseen_sign(text: str) -> None:
    clean = seen(text)
    assert seen(clean) == clean
    assert seen(f"a\u200b\u202e\U000e0041\x07b{text}").startswith("ab")
    assert plain(text) == plain(plain(text)) or set(text) & set("&<")


# -- merging and ranking -----------------------------------------------------------------------------------
hits = st.lists(
    st.builds(
        Hit,
        url=st.sampled_from(["https://x.org/a", "http://www.x.org/a/?utm_source=y", "https://x.org/b", "https://y.org/c", "https://y.org/d"]),
        title=st.sampled_from(["Fed holds", "Fed cuts", "Weather"]),
        published=st.sampled_from(["2024-05-01", "2024-05-02T00:00:00Z", ""]),
        text=st.text(alphabet="fed rate x", max_size=30),
        engines=st.sampled_from([("brave",), ("exa",)]),
    ),
    max_size=12,
)  # fmt: skip


@given(hits, st.randoms())
def test_ranking_keeps_every_result_once_whatever_order_they_came_in(
    found_hits: list[Hit], random: object
) -> None:
    once = merged(found_hits)
    assert len({hit.url for hit in once}) == len(once)
    order = ranked(once, "fed rate")
    assert sorted(map(repr, order)) == sorted(map(repr, once))
    shuffled = list(once)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert ranked(shuffled, "fed rate") == order or len({hit.url for hit in once}) < len(once)


# -- layer 2 -----------------------------------------------------------------------------------------------


def test_a_date_counts_only_if_it_lies_before_the_cutoff() -> None:
    for text, is_early in (
        ("2024-05-31", True), ("2024-06-01", False), ("2024-06-01T03:59:59Z", True), ("2024-06-01T04:00:00Z", False), ("", False),
        ("3 days ago", False), ("2024-05-31T23:00:00-05:00", False),
    ):  # fmt: skip
        assert was_published(text, CUTOFF) is is_early, text


@pytest.mark.parametrize(
    "text",
    [
        "On July 5, 2024 Labour won.",
        "The market has been resolved.",
        "Outcome: YES",
        "Updated 3 hours ago",
        "modified=1726700000",
        "Comment by Ann, July 5, 2024: so it was",
        "posted on 2024-07-05, by Bo",
    ],
)
def test_words_of_later_are_late(text: str) -> None:
    assert late_words(text, CUTOFF)


@pytest.mark.parametrize(
    "text",
    [
        "Labour is expected to win on July 5, 2024.",
        "The vote of July 5, 2024 will be close.",
        "It resolved to wait.",
        "On May 5, 2024 Labour won.",
        "Order 1710000000",
        "Readers may comment until 5 July 2024.",
        "Comment by Ann, May 5, 2024: so it was",
        "",
    ],
)
def test_their_neighbours_are_not(text: str) -> None:
    assert late_words(text, CUTOFF) == ""


def lost(forms: str) -> float:
    texts = list(sentences(forms))
    return sum(bool(late_words(text, CUTOFF)) for text in texts) / len(texts)


def test_a_sentence_that_merely_names_a_later_day_stays_and_one_that_tells_of_it_goes() -> None:
    # before a named day counted as no more than that: 0.95, 0.97, 0.88, 0.90
    assert lost(HONEST) < 0.30 and lost(LATE) > 0.965
    assert lost(FRESH_HONEST) < 0.75 and lost(FRESH_LATE) > 0.89


def test_without_the_look_at_names_of_days_most_honest_sentences_are_lost_and_no_more_late_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    late = lost(LATE), lost(FRESH_LATE)
    monkeypatch.setattr(named_days, "merely_names", lambda *_: False)
    named_days.names_a_day.cache_clear()
    assert lost(HONEST) > 0.9 and (lost(LATE), lost(FRESH_LATE)) == late
    monkeypatch.setattr(named_days, "merely_names", lambda *_: True)
    named_days.names_a_day.cache_clear()
    assert lost(LATE) < 0.2
    named_days.names_a_day.cache_clear()


@example(1, [(1, "KEEP"), (1, "DROP")])
@example(1, [(1, "DROP"), (1, "keep")])
@example(2, [(2, "KEEP"), (1, "KEEP"), (1, "MAYBE"), (2, "drop")])
@example(1, [(1, "KEEP"), (1, "keep")])  # the same word twice is one word
@given(
    st.integers(1, 6),
    st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["KEEP", "DROP", "keep", "MAYBE"])), max_size=12),
)
def test_a_verdict_keeps_only_what_is_named_once_and_clearly(
    count: int, lines: list[tuple[int, str]]
) -> None:
    verdicts = read_verdicts("\n".join(f"{n}: {word} - why" for n, word in lines), count, model="m")
    named = {n: {word.upper() for m, word in lines if m == n} - {"MAYBE"} for n in range(1, count + 1)}
    if not any(named.values()):
        assert verdicts is None
    else:
        assert verdicts is not None and [v.keep for v in verdicts] == [
            named[n] == {"KEEP"} for n in range(1, count + 1)
        ]


@pytest.mark.parametrize(
    "line", ["1: KEEP - old", "**1**: KEEP", "- 1. keep — old", "1) KEEP: fine", "> 1: KEEP"]
)
def test_forms_of_a_verdict_that_leave_no_doubt_count(line: str) -> None:
    verdicts = read_verdicts(f"<think>1: DROP</think>\n{line}", 1)
    assert verdicts is not None and verdicts[0].keep


@pytest.mark.parametrize("line", ["1: KEEPER", "Result one: KEEP", "1 KEEP", "KEEP 1", "1: I would KEEP it"])
def test_other_forms_do_not(line: str) -> None:
    assert read_verdicts(line, 1) is None
