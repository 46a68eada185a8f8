"""Search data by words: endpoints, well-known series and topics, ranked by BM25.

The catalogue is small, so recall comes from what is indexed: next to every endpoint's own sentence stand the words people use
for it, and beside the endpoints some hundred series and topics with their ids (``topics/*.yaml``). Nothing has to match
in full; what cannot be used in the caller's setting comes last. Used by the model's search tool, ``CALL_API.search`` in cells
and ``workbench apis``.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from importlib import resources
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from proxies.catalogue.availability import Availability
from proxies.catalogue.loader import Catalogue
from proxies.catalogue.schema import Endpoint
from proxies.errors import CatalogueError
from proxies.yaml_text import parse_yaml

if TYPE_CHECKING:
    import bm25s

#: Files of topics, and where to search further for what is like them.
_ENTRIES: Mapping[str, tuple[str, ...]] = {
    "us_economy": ("fred/series/series/search", "dbnomics/search"),
    "markets": ("fred/series/series/search", "dbnomics/search"),
    "world": ("dbnomics/search", "fred/series/series/search"),
    "events": ("polymarket/search", "wikipedia/search"),
}
_WORD = re.compile(r"[a-z0-9]+")
# A topic's second, third ... place counts less, so that the first results are not one topic in five sources.
_NEXT_PLACE = 0.8
# A topic's place to search in counts less than a series that is named.
_SEARCH_PLACE = 0.7
_LAST_RESORT = 1e-6
# Among this many first results one source of series and one of events is named that is searched with the question's own words:
# no list of well-known series holds what most questions are about (docs/trust/sources.md has the figures).
_FIRST = 5
# "American" or "French" alone says nothing about the matter; beside another word it chooses the country.
_PLACES_WEIGHT = 0.6
# Names of parameters, fields and cautions are long and say little about what an endpoint is for.
_SMALL_PRINT = 0.25
_SYMBOL = re.compile(r"\b[A-Z]{2,5}(?:[.-][A-Z]{1,2})?\b")
_PRICED = re.compile(r"\b(price|close|closes|stock|stocks|share|shares|trade|trades|ticker|dividend|split)\b")
_SHARE_PLACES = ("yfinance", "fmp_stock")
_MOST_WORDS = 60  # of a question; a longer one is no question


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """One result: an endpoint, and for a series, entity or search by words the parameters that name it."""

    endpoint: Endpoint
    #: One sentence.
    about: str
    score: float
    #: The series or entity; "" for an endpoint as such.
    id: str = ""
    params: Mapping[str, str] = field(default_factory=dict)
    #: Why it cannot be used in the caller's setting; "" if it can.
    obstacle: str = ""
    #: What it finds with the question's own words: "series", "events"; "" if it is no search.
    searches: Literal["", "series", "events"] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """The target of an entry: an endpoint, an id of its source, parameters; ``words`` takes the question's words."""

    endpoint: Endpoint
    id: str = ""
    params: Mapping[str, str] = field(default_factory=dict)
    words: str = ""
    searches: Literal["", "series", "events"] = ""
    weight: float = 1.0
    since: date | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Item:
    """One indexed text: a topic with its places in order, or an endpoint with itself as its only place."""

    about: str
    text: str
    places: tuple[_Place, ...]
    fine_print: str = ""
    ask: str = ""
    since: date | None = None


class Search:
    """Ranks the endpoints of a catalogue, and the topics that lead to them, for a question.

    `catalogue`: Topics whose endpoint it does not have are left out.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        topics = _topics()
        self._catalogue = catalogue
        self._words = topics.words
        self._fallback = [
            place
            for path in topics.places.fallback
            if (place := _words_place(catalogue, topics.places, path))
        ]
        self.items = [*_entries(catalogue, topics), *_endpoints(catalogue, topics.endpoints)]
        self._words.known.update(word for item in self.items for word in _plain(item.text).split())
        # what is about the United States counts half where another country is named
        self._elsewhere = [0.5 if "usa" in item.text.split() else 1.0 for item in self.items]
        self._index = _index([self._words.stems(f"{item.about} {item.text}") for item in self.items])
        self._fine_print = _index([self._words.stems(item.fine_print) for item in self.items])

    def find(self, question: str, availability: Availability) -> list[Match]:
        """Return the matches for a question, usable ones first; never empty if the question has a word.

        The sources that can be searched by words come behind what matched.
        """
        query = self._words.query(question)
        scores = _scores(self._index, query.terms) + _SMALL_PRINT * _scores(self._fine_print, query.terms)
        if query.country:
            scores *= self._elsewhere
        scores += _PLACES_WEIGHT * _scores(self._index, query.places) * (scores > 0)
        best: dict[tuple[str, str], Match] = {}

        def add(match: Match) -> None:
            key = (match.endpoint.path, match.id)
            earlier = best.get(key)
            if earlier is None:
                best[key] = match
                return
            # an endpoint may be found by its own words and as a topic's search: the search says what to send there
            better = max(match, earlier, key=lambda either: (bool(either.searches), either.score))
            best[key] = replace(better, score=max(match.score, earlier.score))

        for score, item in zip(scores.tolist(), self.items, strict=True):
            rank = 0
            is_match = score > 0 and availability.knows(item.since)
            for place in item.places if is_match else ():
                if not (availability.knows(place.since) and availability.knows(place.endpoint.since)):
                    continue
                match = _match(place, item, query, availability, score * place.weight * _NEXT_PLACE**rank)
                add(match)
                rank += not match.obstacle
        for symbol in query.symbols:
            for place in self._shares(symbol):
                add(_match(place, _SHARES, query, availability, 1 + max(scores.max(), 0)))
        # last, so that there is always a next step
        for place in self._fallback if query.plain else ():
            if availability.knows(place.endpoint.since):
                add(_match(place, _ELSE, query, availability, _LAST_RESORT))
        usable = [match for match in best.values() if not match.obstacle]
        unusable = [match for match in best.values() if match.obstacle]
        return _mixed(_ranked(usable)) + _ranked(unusable)

    def _shares(self, symbol: str) -> list[_Place]:
        """Return the places with prices of a symbol in the question that is in no list of ours."""
        places = (_place(self._catalogue, _topics().places, name, symbol) for name in _SHARE_PLACES)
        return [place for place in places if place]


def _ranked(matches: Iterable[Match]) -> list[Match]:
    return sorted(matches, key=lambda match: -match.score)


def _mixed(ranked: list[Match]) -> list[Match]:
    searches = []
    for kind in ("series", "events"):
        searches += [match for match in ranked if match.searches == kind][:1]
    plain = [match for match in ranked if match not in searches]
    top = ranked[:_FIRST]
    early = [match for match in searches if match in top]
    late = [match for match in searches if match not in top]
    first = _ranked([*early, *plain[: _FIRST - len(searches)]])
    return [*first, *late, *plain[_FIRST - len(searches) :]]


@functools.cache
def search_of(catalogue: Catalogue) -> Search:
    """Return the search over a catalogue, built once per process in 0.1 s."""
    return Search(catalogue)


def _match(place: _Place, item: _Item, query: _Query, availability: Availability, score: float) -> Match:
    params = dict(place.params)
    if place.words:
        sought = (
            f"{query.country} {item.ask}".strip() if item.ask and (place.id or query.country) else query.plain
        )
        params[place.words] = sought
    return Match(
        endpoint=place.endpoint,
        # a topic's sentence says nothing about the source that its questions are sent on to
        about=place.endpoint.about if place.searches else item.about,
        score=score,
        id=place.id,
        params=params,
        obstacle=availability.obstacle(place.endpoint),
        searches=place.searches,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Query:
    """A question as it is searched.

    ``terms`` are stems, of what is meant as well; ``places`` those of countries. ``plain`` is for a source's own search,
    ``country`` for one within a dataset. ``symbols`` look like tickers.
    """

    terms: list[str]
    places: list[str]
    plain: str
    country: str
    symbols: tuple[str, ...]


class _Vocabulary:
    """Stems, stop words, and synonyms."""

    def __init__(self, row: _WordsRow) -> None:
        import Stemmer

        self._stemmer = Stemmer.Stemmer("english")
        self._stop = frozenset(row.stop.split())
        self._also = {name: name_also for name, name_also in row.also.items()}
        #: Words that are no tickers: the index adds its own.
        self.known: set[str] = set(self._stop)
        self._countries = {name: names[0] for names in row.countries for name in names}
        longest_first = sorted({*self._also, *self._countries}, key=lambda name: (-len(name), name))
        self._said = re.compile(rf"\b({'|'.join(map(re.escape, longest_first))})\b")

    def stems(self, text: str) -> list[str]:
        words = [word for word in _plain(text).split() if word not in self._stop]
        stems: list[str] = self._stemmer.stemWords(words)
        return stems

    def query(self, question: str) -> _Query:
        plain = " ".join(_plain(question).split()[:_MOST_WORDS])
        also: list[str] = []
        countries: list[str] = []
        for name in self._said.findall(plain):
            also += self._also.get(name, "").split()
            countries += [self._countries[name]] if name in self._countries else []
        countries = list(dict.fromkeys(countries))
        telling = [word for word in plain.split() if word not in self._stop]
        # most questions that name no country are about the United States
        abroad = [*" ".join(countries).split(), "foreign"] if countries else ["usa"]
        names = {"usa", "foreign", *abroad}
        words = [word for word in (*telling, *also) if word not in names]
        return _Query(
            terms=self._stemmer.stemWords(list(dict.fromkeys(words))),
            places=self._stemmer.stemWords(
                list(dict.fromkeys((*abroad, *(word for word in also if word in names))))
            ),
            # a question of stop words alone ("what is it") is searched as it stands
            plain=" ".join(telling or plain.split()),
            country=" ".join(countries),
            symbols=tuple(self._symbols(question)) if _PRICED.search(plain) else (),
        )

    def _symbols(self, question: str) -> Iterable[str]:
        """Return the unknown words in capitals; none if the whole question is in capitals."""
        if question.isupper():
            return
        for symbol in dict.fromkeys(_SYMBOL.findall(question)):
            if symbol.lower() not in self.known:
                yield symbol


def _plain(text: str) -> str:
    """Split into lower-case words; punctuation is a space, so that S&P, 30-year and BLS/ln read as their parts."""
    return " ".join(_WORD.findall(text.lower().replace("'s ", " ").replace("’s ", " ")))


def _index(documents: Sequence[list[str]]) -> bm25s.BM25:
    # imported here: it takes 0.3 s with scipy, which a process that searches nothing need not pay
    import bm25s

    index = bm25s.BM25(k1=1.2, b=0.5)
    # a document without a word is not taken by the library in every release
    index.index([document or ["\x00"] for document in documents], show_progress=False)
    return index


def _scores(index: bm25s.BM25, terms: list[str]) -> Any:
    indexed = list(dict.fromkeys(term for term in terms if term in index.vocab_dict))
    # with no known term the library would return the score of an empty query, in another shape
    import numpy

    return index.get_scores(indexed) if indexed else numpy.zeros(index.scores["num_docs"])


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


_Ids = Annotated[
    tuple[str, ...], BeforeValidator(lambda value: (value,) if isinstance(value, str) else value)
]


class _Entry(_Row):
    about: str
    words: str
    series: dict[str, _Ids] = Field(default_factory=dict)
    use: tuple[str, ...] = ()
    search: tuple[str, ...] = ()
    ask: str = ""
    # the first day of one of its ids; under "" that of the topic itself
    since: dict[str, date] = Field(default_factory=dict)


class _Company(_Row):
    words: str
    # the first day of trading under this ticker, or of this name
    since: date


class _PlaceRow(_Row):
    path: str
    params: tuple[str, ...]
    words: str = ""


class _PlacesRow(_Row):
    series: dict[str, _PlaceRow]
    search: dict[Literal["series", "events"], dict[str, str]]
    fallback: tuple[str, ...] = Field(alias="else")


class _WordsRow(_Row):
    stop: str
    also: dict[str, str]
    countries: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Topics:
    entries: tuple[tuple[_Entry, tuple[str, ...]], ...]
    places: _PlacesRow
    words: _Vocabulary
    endpoints: Mapping[str, str]
    companies: Mapping[str, str | _Company]


_SHARES = _Item(about="Daily prices of this ticker.", text="", places=())
_ELSE = _Item(about="", text="", places=())


def _topic_file(name: str, form: Any) -> Any:
    text = resources.files("proxies.catalogue.topics").joinpath(f"{name}.yaml").read_text(encoding="utf-8")
    try:
        return TypeAdapter(form).validate_python(parse_yaml(text, f"topics/{name}.yaml"))
    except ValidationError as error:
        first = error.errors()[0]
        raise CatalogueError(f"topics/{name}.yaml: {first['loc']}: {first['msg']}") from None


@functools.cache
def _topics() -> _Topics:
    return _Topics(
        entries=tuple(
            (entry, further)
            for name, further in _ENTRIES.items()
            for entry in _topic_file(name, tuple[_Entry, ...])
        ),
        places=_topic_file("places", _PlacesRow),
        words=_Vocabulary(_topic_file("words", _WordsRow)),
        endpoints=_topic_file("endpoints", dict[str, str]),
        companies=_topic_file("companies", dict[str, str | _Company]),
    )


def _entries(catalogue: Catalogue, topics: _Topics) -> Iterable[_Item]:
    for entry, further in topics.entries:
        places = [
            place
            # ids of one source side by side would fill the first results: first ids of all sources, then second ids
            for turn in range(max(map(len, entry.series.values()), default=0))
            for name, ids in entry.series.items()
            if turn < len(ids)
            and (place := _place(catalogue, topics.places, name, ids[turn], entry.since.get(ids[turn])))
        ]
        places += [_Place(endpoint=catalogue.resolve(path)) for path in entry.use if path in catalogue]
        places += [
            place
            for path in dict.fromkeys((*entry.search, *further))
            if (place := _words_place(catalogue, topics.places, path))
        ]
        ids = " ".join(id for ids in entry.series.values() for id in ids)
        # the sentence counts twice, as it is indexed with the item too
        yield _Item(
            about=entry.about + ".",
            text=f"{entry.about} {entry.words} {ids}",
            places=tuple(places),
            ask=entry.ask,
            since=entry.since.get(""),
        )
    for symbol, company in topics.companies.items():
        name, since = (company, None) if isinstance(company, str) else (company.words, company.since)
        shares = [_place(catalogue, topics.places, place, symbol) for place in _SHARE_PLACES]
        # a ticker of one letter is a word of many questions
        symbol_text = symbol if len(symbol) > 1 else ""
        yield _Item(
            about=f"Share price of {name.split()[0]} ({symbol}).",
            text=f"{name} {name} {symbol_text} company shares stock share price",
            places=tuple(place for place in shares if place),
            since=since,
        )


def _place(
    catalogue: Catalogue, places: _PlacesRow, name: str, id: str, since: date | None = None
) -> _Place | None:
    row = places.series.get(name)
    if row is None:
        raise CatalogueError(f"topics: there is no place {name!r}")
    if row.path not in catalogue:
        return None
    values = id.split("/", len(row.params) - 1)
    return _Place(
        endpoint=catalogue.resolve(row.path),
        id=id,
        params=dict(zip(row.params, values, strict=True)),
        words=row.words,
        since=since,
    )


def _words_place(catalogue: Catalogue, places: _PlacesRow, path: str) -> _Place | None:
    if path not in catalogue:
        return None
    for kind, params in places.search.items():
        if path in params:
            return _Place(
                endpoint=catalogue.resolve(path), words=params[path], searches=kind, weight=_SEARCH_PLACE
            )
    raise CatalogueError(f"topics: {path} is no endpoint that is searched by words")


def _endpoints(catalogue: Catalogue, descriptions: Mapping[str, str]) -> Iterable[_Item]:
    for endpoint in catalogue:
        path = " ".join(re.split(r"[/_.-]", endpoint.path))
        yield _Item(
            about=endpoint.about,
            text=f"{endpoint.about} {path} {' '.join(endpoint.group)} {descriptions.get(endpoint.path, '')}",
            fine_print=" ".join(
                (*endpoint.params, *endpoint.fields, endpoint.source.title, endpoint.caution)
            ),
            places=(_Place(endpoint=endpoint),),
        )
