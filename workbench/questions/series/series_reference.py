"""A series by its source and the source's own id: how it is written, which call gives it, and its rows in the answer.

What stands here is the list of sources that a claim may be about. A reference is written ``yahoo:AAPL``, ``fred:UNRATE``,
``dbnomics:IMF/WEO/FRA.NGDP_RPCH``, ``fmp:AAPL``, ``kalshi:FED-24JAN-T5.25``, ``polymarket:TOKEN``, ``wikipedia:Inflation`` (how often
the page was read), ``own:NAME``, ``service:NAME/ENDPOINT&PARAM=VALUE`` (a REST service of the user's), ``embedded:WTI``.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Literal

from proxies.vendors.own.own_manifest import VALUE
from workbench.forecasts.source_rows import source_rows
from workbench.questions.errors import ClaimRefused

Source = Literal[
    "embedded", "fred", "yfinance", "dbnomics", "fmp", "kalshi", "polymarket", "wikipedia", "own", "service"
]

#: Years of prices that are asked for; the models of paper B look back five, those of the house use all they get.
_YEARS = 25
#: Page views are counted since then; a venue's market is seldom older.
_VIEWS_FROM, _MARKET_YEARS = date(2015, 7, 1), 5

_ID = r"[A-Za-z0-9^][A-Za-z0-9._=^-]{0,39}"
_DBNOMICS = r"[A-Za-z0-9_-]+/[^\s/]+/[^\s/,;)?]+"
#: By source: the word before the colon, and what may stand behind it.
_REFERENCES: Mapping[Source, tuple[str, str]] = {
    "embedded": ("embedded", r"[A-Za-z0-9_]{1,20}"),
    "fred": ("fred", _ID),
    "yfinance": ("yahoo", r"[A-Za-z0-9^][A-Za-z0-9._=^&-]{0,39}"),  # M&M.NS
    "dbnomics": ("dbnomics", _DBNOMICS),
    "fmp": ("fmp", _ID),
    "kalshi": ("kalshi", r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}"),
    "polymarket": ("polymarket", r"[0-9]{1,90}"),
    "wikipedia": ("wikipedia", r"[^\s<>|{}\[\]#]{1,200}"),
    "own": ("own", r"[A-Za-z0-9_-]{1,64}(?:/[^\s/<>]{1,100})?"),
    "service": (
        "service",
        r"[A-Za-z0-9_-]{1,64}(?:/[A-Za-z0-9._-]{1,64}){1,2}(?:&\w{1,40}=[^\s&<>/]{1,100}){0,9}",
    ),
}
#: Sources whose ids tell upper case from lower case.
_CASED: tuple[Source, ...] = ("dbnomics", "wikipedia", "own", "service")
_WORDS: Mapping[str, Source] = {word: source for source, (word, _) in _REFERENCES.items()} | {
    "yfinance": "yfinance"
}
_REFERENCE = re.compile(
    rf"(?<![\w/:.])(?P<word>{'|'.join(_WORDS)}):(?=\S)(?P<id>{'|'.join(f'(?:{form})' for form in dict.fromkeys((_DBNOMICS, _REFERENCES['wikipedia'][1])))})",
    re.IGNORECASE,
)

_PLACES: tuple[tuple[Source, str], ...] = (
    ("fred", rf"(?:https?://)?(?:fred|alfred)\.stlouisfed\.org/series/({_ID})"),
    ("yfinance", rf"(?:https?://)?(?:[a-z]+\.)?finance\.yahoo\.com/quote/({_ID})(?:/[a-z]*)?"),
    ("dbnomics", rf"(?:https?://)?(?:www\.)?db\.nomics\.world/({_DBNOMICS})"),
    ("fred", rf"\bfred(?:/|: ?| series )({_ID})"),
    ("yfinance", rf"\b(?:yfinance|yahoo(?: finance)?)(?:/|: ?)({_ID})"),
    ("dbnomics", rf"\bdbnomics(?:/|: ?)({_DBNOMICS})"),
)


#: Path and parameters of a request to the catalogue.
CallOfData = tuple[str, dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesRef:
    """A series by its source and the source's own id (``DGS10``, ``AAPL``, ``IMF/WEO/FRA.NGDP_RPCH``)."""

    source: Source
    id: str

    def __str__(self) -> str:
        return f"{self.source}/{self.id}"

    @property
    def reference(self) -> str:
        """As claims write it: ``yahoo:AAPL``."""
        return f"{_REFERENCES[self.source][0]}:{self.id}"

    @classmethod
    def of(cls, reference: str) -> "SeriesRef | None":
        """Return the series that a reference names; None for a text that is none.

        Raises `ClaimRefused`: A known source, and an id that it cannot have.

        >>> str(SeriesRef.of("Yahoo:aapl")), SeriesRef.of("AAPL")
        ('yfinance/AAPL', None)
        """
        word, colon, name = reference.strip().partition(":")
        source = _WORDS.get(word.lower()) if colon else None
        if source is None:
            return None
        if not re.fullmatch(_REFERENCES[source][1], name) or (source == "dbnomics" and name.count("/") != 2):
            raise ClaimRefused(
                f"{reference!r:.120} names no series of {word}: an example is {EXAMPLES[source]}"
            )
        return cls(source=source, id=name if source in _CASED else name.upper())

    def call(self, cutoff: datetime) -> CallOfData:
        """Return the catalogue's path and the parameters that give the series up to a cutoff (an instant in UTC)."""
        return _CALLS[self.source](self.id, cutoff)

    def rows(self, data: Any, through: date | None = None) -> list[dict[str, Any]]:
        """Return ``{date, value}`` rows, oldest first and each day once, from an answer in the source's own shape.

        Raises ``ClaimRefused`` for an answer without a usable value.
        """
        try:
            rows = source_rows(self.source, data, through)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise ClaimRefused(
                f"the answer for {self} is not built as its source builds series: {error!r:.80}"
            ) from None
        if not rows:
            raise ClaimRefused(f"no value of {self} is visible at this cutoff; choose a later cutoff")
        return rows


def _window(cutoff: datetime, years: int) -> tuple[int, int]:
    return int((cutoff - timedelta(days=365 * years)).timestamp()), int(cutoff.timestamp())


def _bars_of_days(symbol: str, cutoff: datetime) -> CallOfData:
    first, last = _window(cutoff, _YEARS)
    return "yfinance/history", {"symbol": symbol, "period1": first, "period2": last, "interval": "1d"}


def _dataset(id: str, cutoff: datetime) -> CallOfData:
    provider, dataset, series = id.split("/", 2)
    named = {"provider": provider, "dataset": dataset, "series": series}
    return "dbnomics/series", {**named, "observations": 1}


def _closes(symbol: str, cutoff: datetime) -> CallOfData:
    first = (cutoff - timedelta(days=365 * _YEARS)).date()
    window = {"from": first.isoformat(), "to": cutoff.date().isoformat()}
    return "fmp/chart/end-of-day/historical-price-eod/light", {"symbol": symbol, **window}


def _candles(ticker: str, cutoff: datetime) -> CallOfData:
    first, last = _window(cutoff, _MARKET_YEARS)
    # A market's ticker begins with its series'.
    named = {"series_ticker": ticker.partition("-")[0], "ticker": ticker}
    return "kalshi/candlesticks", {**named, "start_ts": first, "end_ts": last, "period_interval": 1440}


def _outcome_prices(token: str, cutoff: datetime) -> CallOfData:
    first, last = _window(cutoff, _MARKET_YEARS)
    return "polymarket/prices-history", {"market": token, "startTs": first, "endTs": last, "fidelity": 1440}


def _page_views(article: str, cutoff: datetime) -> CallOfData:
    window = {"start": _VIEWS_FROM.isoformat(), "end": cutoff.date().isoformat()}
    return "wikipedia/pageviews", {"article": article, **window}


def _own_rows(id: str, cutoff: datetime) -> CallOfData:
    name, _, column = id.partition("/")
    return f"own/{name}/rows", {"column": column or VALUE}


def _service_series(id: str, cutoff: datetime) -> CallOfData:
    path, *params = id.split("&")
    return f"{path}/series", dict(param.split("=", 1) for param in params)


_CALLS: Mapping[Source, Callable[[str, datetime], CallOfData]] = {
    "embedded": lambda id, cutoff: ("embedded/series/observations", {"series_id": id}),
    "fred": lambda id, cutoff: ("fred/series/series/observations", {"series_id": id}),
    "yfinance": _bars_of_days,
    "dbnomics": _dataset,
    "fmp": _closes,
    "kalshi": _candles,
    "polymarket": _outcome_prices,
    "wikipedia": _page_views,
    "own": _own_rows,
    "service": _service_series,
}
#: A reference of each source, for refusals and manuals.
EXAMPLES: Mapping[Source, str] = {
    "embedded": "embedded:WTI",
    "fred": "fred:UNRATE",
    "yfinance": "yahoo:AAPL",
    "dbnomics": "dbnomics:IMF/WEO/FRA.NGDP_RPCH",
    "fmp": "fmp:AAPL",
    "kalshi": "kalshi:FED-24JAN-T5.25",
    "polymarket": "polymarket:21742633143463906290569050155826241533067272736897614950488156847949938836455",
    "wikipedia": "wikipedia:Inflation",
    "own": "own:NAME",
    "service": "service:NAME/ENDPOINT&PARAM=VALUE",
}


def replace_references(text: str) -> tuple[str, list[SeriesRef]]:
    """Return the text with each reference written as ``<0>``, ``<1>``, and the series they name; raises ``ClaimRefused``.

    Done before anything is lowered: ids of some sources tell upper from lower case.

    >>> text, refs = replace_references("Will yahoo:AAPL's close be above fred:DGS10?")
    >>> text, [ref.reference for ref in refs]
    ("Will <0>'s close be above <1>?", ['yahoo:AAPL', 'fred:DGS10'])
    """
    refs: list[SeriesRef] = []

    def placed(match: re.Match[str]) -> str:
        word, written = match["word"], match["id"]
        source = _WORDS[word.lower()]
        # A page's name may hold any of these; another id ends before them.
        name = written if source == "wikipedia" else re.split(r"'s?$|[,;:?!)]", written)[0].rstrip(".'\"")
        name = name.rstrip(',;?!"')
        ref = SeriesRef.of(f"{word}:{name}")
        assert ref is not None, "the word is a source's"
        if ref not in refs:
            refs.append(ref)
        return f"<{refs.index(ref)}>{written[len(name) :]}"

    return _REFERENCE.sub(placed, text), refs


def series_mentioned(text: str) -> list[SeriesRef]:
    """Return the series that a text names by their ids, each once.

    >>> [str(ref) for ref in series_mentioned("FRED: DGS10")]
    ['fred/DGS10']
    """
    refs = []
    for source, pattern in _PLACES:
        for match in re.finditer(pattern, text, re.IGNORECASE):
            name = match[1].rstrip(".,;)")
            refs.append(SeriesRef(source=source, id=name if source == "dbnomics" else name.upper()))
    return list(dict.fromkeys(refs))
