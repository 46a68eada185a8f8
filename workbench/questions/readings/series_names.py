"""How people name series: those of the embedded source, and those that other sources hold.

A text that says "oil" means one of several; each of them is a candidate, and a note says which one was taken.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from proxies.yaml_text import parse_yaml
from workbench.questions.readings.plain_text import with_parts, words
from workbench.questions.series.series_registry import series_named

EMBEDDED = "embedded:"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesName:
    """A series as texts name it."""

    #: ``SOURCE:NAME``, or the plain name of a series that no source of this product holds yet.
    ref: str
    #: The name inside a sentence.
    article: str
    #: Of a rate, percent and basis points are levels; of the others they are changes.
    kind: str = "price"
    #: Has a value a month (or a quarter), which stands for that month.
    monthly: bool = False
    #: What it is talked of in: "yoy" for inflation, "" for its own values.
    growth: str = ""
    #: Where its values are, as a claim names it (`series_named`): ``SP500``, ``yahoo:BTC-USD``; "" where no source here has them in the
    #: unit that people name.
    source: str = ""

    @property
    def embedded(self) -> str:
        """Its key among the embedded series; "" for another."""
        return self.ref.removeprefix(EMBEDDED) if self.ref.startswith(EMBEDDED) else ""


def embedded_name(name: str) -> SeriesName:
    """Return the name of a series that claims know: an embedded one, or one by its reference."""
    series = series_named(name)
    kind = {"yield": "rate", "volatility": "index"}.get(series.kind, series.kind)
    ref = EMBEDDED + name if series.embedded else series.id
    return SeriesName(ref=ref, article=series.article, kind=kind, monthly=series.monthly, source=name)


_TAIL = r"(?:'s)?(?: (?:index|levels?|prices?|shares?|stock(?: price)?|value|quote))?"


@cache
def _table() -> dict[str, Any]:
    text = (files("workbench.questions.readings") / "series_names.yaml").read_text(encoding="utf-8")
    table: dict[str, Any] = parse_yaml(text, "series_names.yaml")
    return table


def known_name(ref: str) -> SeriesName:
    """Return a name of the table, or of an embedded series, by its reference."""
    if ref.startswith(EMBEDDED):
        return embedded_name(ref.removeprefix(EMBEDDED))
    return SeriesName(**{"ref": ref, "article": ref, **_table()["series"][ref]})


@cache
def _patterns() -> list[tuple[re.Pattern[str], tuple[SeriesName, ...]]]:
    """Return how each series is written, and which may be meant; the names of companies come last."""
    table = _table()
    written = []
    for row in table["names"]:
        ((pattern, refs),) = row.items()
        pattern = with_parts(pattern, table["parts"])
        written.append((rf"(?<![\w.&])(?:{pattern})(?![\w&])", tuple(map(known_name, refs))))
    for company, ticker in table["companies"].items():
        name = company if len(ticker) == 1 or ticker in table["wordy"] else f"{company}|{ticker}"
        source = table["listed"].get(ticker, f"yahoo:{ticker.upper()}")
        share = SeriesName(ref=ticker.upper(), article=ticker.upper(), source=source)
        written.append((rf"(?<![\w.&])\$?(?:{name})s?(?![\w&])", (share,)))
    return [(re.compile(rf"{pattern}{_TAIL}(?!\w)"), series) for pattern, series in written]


#: Names under which nobody can tell a series.
VAGUE = words(
    """
    it they things thing everything something economy the situation world prices price rates yields bonds
    sentiment risk commodities currencies crypto tech volatility the in company firm stock shares share its our short long buy sell
    """
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesMention:
    """Where a text names a series, and which ones may be meant, nearest first."""

    start: int
    end: int
    candidates: tuple[SeriesName, ...]


def mentions(plain: str) -> tuple[SeriesMention, ...]:
    """Return the series that a plain text names, in the order of the text.

    >>> [each.candidates[0].ref for each in mentions("nasdaq beats sp500 in h2 2018")]
    ['embedded:NASDAQ', 'embedded:SP500']
    """
    matched: list[SeriesMention] = []
    for pattern, candidates in _patterns():
        for match in pattern.finditer(plain):
            if all(match.end() <= each.start or match.start() >= each.end for each in matched):
                named = candidates or (SeriesName(ref=match[0].upper(), article=match[0].upper()),)
                matched.append(SeriesMention(start=match.start(), end=match.end(), candidates=named))
    return tuple(sorted(matched, key=lambda each: each.start))


#: Quoted as so much for a dollar, and talked of by their own names: they rise where the quotation falls.
PER_DOLLAR = (
    "USD/JPY",
    "USD/CNY",
    "USD/TRY",
    "USD/CAD",
    "USD/CHF",
    "USD/MXN",
    "USD/INR",
    "USD/BRL",
    "USD/RUB",
    "USD/ZAR",
)


def hinted(plain: str) -> tuple[SeriesMention, ...]:
    """Return the series that the words of a text hint at, where it names none.

    >>> [each.candidates[0].ref for each in hinted("powell and co raise by december")]
    ['federal funds rate']
    """
    for row in _table()["hints"]:
        ((pattern, ref),) = row.items()
        if match := re.search(rf"(?<![\w'])(?:{pattern})(?![\w'])", plain):
            return (SeriesMention(start=match.start(), end=match.end(), candidates=(known_name(ref),)),)
    return ()


def reachable(candidates: Sequence[SeriesName], sources: Sequence[str]) -> tuple[SeriesName, ...]:
    """Return those of several candidates that a text may mean here.

    Of two goods that go by one word ("oil") those that a source at hand holds; two measures of one thing (headline and core prices,
    two indexes of one market) stay a choice, because nobody who means the one takes the other for it.
    """
    if (
        any(each.growth or each.kind != "price" for each in candidates)
        or len({each.embedded for each in candidates} - {""}) > 1
    ):
        return tuple(candidates)
    at_hand = tuple(each for each in candidates if ":" in each.ref and each.ref.partition(":")[0] in sources)
    return at_hand or tuple(candidates)
