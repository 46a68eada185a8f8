"""How people name series: those of the embedded source, and those that other sources hold; a word may mean one of several."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from workbench.questions.readings.lexicon import compiled, lexicon, words
from workbench.questions.readings.tokens import Text, text_of
from workbench.questions.series.embedded_series import SERIES
from workbench.questions.series.known_series import Frequency, Kind, Series
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
    #: Where its values are, as a claim names it (`series_named`); "" where no source here has them in the unit that people name.
    source: str = ""

    @property
    def embedded(self) -> str:
        """Its key among the embedded series; "" for another."""
        return self.ref.removeprefix(EMBEDDED) if self.ref.startswith(EMBEDDED) else ""

    @property
    def usual(self) -> tuple[float, float] | None:
        """Levels that it has had, where that is known."""
        known = lexicon()
        return known.usual.get("shares" if self.ref.lower() in known.companies.values() else self.ref)

    def has_had(self, level: float) -> bool:
        """Whether a level is not far from any that it has had."""
        return self.usual is None or self.usual[0] <= level <= self.usual[1]

    @property
    def unheld(self) -> Series:
        """It as claims see it where no source here holds it."""
        kind: Kind = {"rate": "yield", "price": "price"}.get(self.kind, "index")  # type: ignore[assignment]
        frequency: Frequency = "monthly" if self.monthly else "daily"
        return Series(id=self.ref, article=self.article, kind=kind, unit="", frequency=frequency, sources=())

    @property
    def described(self) -> str:
        """What it is, for a reader who has to choose among many."""
        unit = series_named(self.source).unit or ("% a year" if self.kind == "rate" else "")
        return ", ".join(filter(None, (self.article, unit, "monthly" if self.monthly else "")))


def embedded_name(name: str) -> SeriesName:
    """Return the name of a series that claims know: an embedded one, or one by its reference."""
    series = series_named(name)
    kind = {"yield": "rate", "volatility": "index"}.get(series.kind, series.kind)
    ref = EMBEDDED + series.id if series.embedded else series.id
    return SeriesName(ref=ref, article=series.article, kind=kind, monthly=series.monthly, source=series.id)


def _known(ref: str) -> SeriesName:
    if ref.startswith(EMBEDDED):
        return embedded_name(ref.removeprefix(EMBEDDED))
    return SeriesName(**{"ref": ref, "article": ref, **lexicon().series[ref]})  # type: ignore[arg-type]


_TAIL = r"(?:'s)?(?: (?:index|levels?|prices?|shares?|stock(?: price)?|value|quote))?(?!\w)"


def _shares() -> Iterator[tuple[str, SeriesName]]:
    """The companies that are known by name, and the series of their shares."""
    known = lexicon()
    for company, ticker in known.companies.items():
        symbol = ticker.upper()
        source = known.listed.get(ticker, f"yahoo:{symbol}")
        yield company, SeriesName(ref=symbol, article=symbol, source=source)


@cache
def _patterns() -> list[tuple[re.Pattern[str], tuple[SeriesName, ...]]]:
    known = lexicon()
    rows = [(pattern, tuple(map(_known, refs))) for row in known.names for pattern, refs in row.items()]
    for company, share in _shares():
        ticker = share.ref.lower()
        name = company if len(ticker) == 1 or ticker in known.wordy else f"{company}|{ticker}"
        rows.append((rf"\$?(?:{name})s?", (share,)))
    return [(re.compile(compiled(pattern).pattern + _TAIL), names) for pattern, names in rows]


def take_series(text: Text) -> None:
    """Take the series that a text names, as pieces ``S`` whose values are the candidates, nearest first."""
    for match in reversed([*re.finditer(r"<(\d+)>(?:'s)?", text.masked)]):
        text.take(match.start(), match.end(), "S", (embedded_name(text.refs[int(match[1])].reference),))
    for pattern, names in _patterns():
        for match in reversed([*pattern.finditer(text.masked)]):
            unlisted = SeriesName(ref=match[0].upper(), article=match[0].upper())
            text.take(match.start(), match.end(), "S", names or (unlisted,))


def reachable_series(text: str) -> dict[str, tuple[SeriesName, str]]:
    """Return every series that a claim can name and what it is, by its reference: the known ones, and those that a text refers to."""
    known = lexicon()
    listed = [
        *((name, name.described) for name in map(embedded_name, SERIES)),
        *((name, name.described) for name in map(_known, known.series) if ":" in name.source),
        *((name, f"shares of {company}") for company, name in _shares() if name.source),
        *((embedded_name(ref.reference), "named in the claim") for ref in text_of(text).refs),
    ]
    return {name.ref if name.embedded else name.source: (name, what) for name, what in listed}


def take_hint(text: Text) -> str:
    """Take the series that the words of a text hint at, where it names none; return a note of it."""
    for row in lexicon().hints:
        ((pattern, ref),) = row.items()
        if match := compiled(pattern).search(text.masked):
            text.take(match.start(), match.end(), "S", (_known(ref),))
            return f"no series is named; {text.words(*match.span())!r} is read as {_known(ref).article}"
    return ""


_DOLLAR = ("US dollar index", "trade-weighted US dollar index")


def reachable(candidates: Sequence[SeriesName], sources: Sequence[str]) -> tuple[SeriesName, ...]:
    """Return those of several candidates that a text may mean here.

    Of two goods that go by one word ("oil") those that a source at hand holds; two measures of one thing (headline and core prices,
    two indexes of one market) stay a choice, because nobody who means the one takes the other for it.
    """
    if any(each.growth or each.kind != "price" for each in candidates) or len({each.embedded for each in candidates} - {""}) > 1:  # fmt: skip
        return tuple(candidates)
    at_hand = tuple(each for each in candidates if ":" in each.ref and each.ref.partition(":")[0] in sources)
    return at_hand or tuple(candidates)


#: A place said of a series: "Mexican silver", "gold in India".
_OF_PLACE = r"(?:{0})(?:'s)? (?:[a-z-]+ )?S+|S+(?: [a-z-]+)? (?:in|of|for)(?: the)? (?:{0})"


def named_place(text: Text, names: Sequence[SeriesName], *, hinted: bool) -> str:
    """Return the words of a place that none of the series is of; "" where there is none.

    What each country has one of is ruled out by a place anywhere in the text; gold, a currency or a share only by one that is said of it.
    """
    anywhere = hinted or any(each.monthly or each.kind in ("rate", "count") for each in names)
    for row in lexicon().places:
        ((place, refs),) = row.items()
        match = compiled(place if anywhere else _OF_PLACE.format(place)).search(text.masked)
        if match and not any(each.ref in refs for each in names):
            return text.words(*match.span())
    return ""


def joined_pair(text: Text, names: list[SeriesName]) -> tuple[list[SeriesName], bool]:
    """Return the series that "the dollar against the yen" names, and whether it rises where that falls."""
    pairs = lexicon().pairs
    refs = [each.ref for each in names]
    others = [each for each in names if each.ref not in _DOLLAR]
    if len(names) == 2 and len(others) == 1 and others[0].ref in pairs:
        if match := re.search(r"\b(?:against|versus|vs\.?|to|with|per)(?: the)?(?= S)", text.masked):
            text.take(match.start(), match.end(), "filler")
        return others, pairs[others[0].ref].per_dollar != (refs[0] in _DOLLAR)
    if refs and set(refs) <= set(_DOLLAR):
        for ref, pair in pairs.items():
            worth = rf"\b(?:more |fewer |less )?((?:against |versus |vs |per )?(?:the )?(?:{pair.words}))\b"
            if pair.words and (match := re.search(worth, text.masked)):
                text.take(match.start(1), match.end(), "filler")
                return [_known(ref)], not pair.per_dollar
    first = next((piece for piece in text.pieces if piece.kind == "S"), None)
    if not names or first is None or names[0].ref not in pairs or not pairs[names[0].ref].per_dollar:
        return names, False
    # Talked of by its own name a currency rises where its quotation for a dollar falls.
    return names, not re.search("usd|dollar", text.plain[first.start : first.end])


def named_otherwise(text: Text) -> SeriesName | None:
    """Take the words before the relation for a name, where no known series is named."""
    phrases = lexicon().phrases
    for match in re.finditer(r"[a-z][a-z0-9&'./-]*(?: [a-z0-9][a-z0-9&'./-]*)*", text.masked):
        said = list(_content(match[0].split(), phrases))
        if not said:
            continue
        phrase = " ".join(said)
        start = match.start() + match[0].index(phrase) if phrase in match[0] else -1
        if start < 0 or len(said) > 5 or {word.partition("'")[0] for word in said} <= words(lexicon().vague):
            return None
        text.take(start, start + len(phrase), "S", None)
        name = text.words(start, start + len(phrase))
        return SeriesName(ref=name, article=name)
    return None


def _content(said: list[str], phrases: dict[str, list[str]]) -> Iterator[str]:
    """The first run of words that say nothing of a relation."""
    begun = False
    for word in said:
        known = phrases.get(word)
        if known is None or (
            begun and word in ("index", "price", "prices", "rate", "rates", "yield", "yields")
        ):
            begun = True
            yield word
        elif begun:
            return
