"""A leaf that one dated series decides: which series a sentence means, and how it is asked for.

Two readers, in this order. A claim about an embedded series is read by the grammar of the house. Any other series has to be named by
its id, so that nothing is guessed from words alone: ``FRED: DGS10``, ``yfinance/AAPL``, ``dbnomics/IMF/WEO/FRA.NGDP``, or the page of the
series at its source. The rest of such a sentence is read by the same grammar, with a stand-in where the series is named.
"""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal

from workbench.questions.claims import Claim
from workbench.questions.errors import ClaimRefused
from workbench.questions.grammar import read_claim

Source = Literal["embedded", "fred", "yfinance", "dbnomics"]

#: What the grammar reads in place of a series that it does not know: a daily series of prices.
STAND_IN = "SP500"
#: Years of prices that are asked for; the models of paper B look back five, those of the house use all they get.
_YEARS = 25

#: Begins the line of past outcomes in a report; the offline synthesizer looks for it (``workbench.offline.report_records``).
RECORD = "offline-analyst/1"

_ID = r"[A-Za-z0-9^][A-Za-z0-9._=^-]{0,39}"
_PLACES: tuple[tuple[Source, str], ...] = (
    ("fred", rf"(?:https?://)?(?:fred|alfred)\.stlouisfed\.org/series/({_ID})"),
    ("yfinance", rf"(?:https?://)?(?:[a-z]+\.)?finance\.yahoo\.com/quote/({_ID})(?:/[a-z]*)?"),
    ("dbnomics", r"(?:https?://)?(?:www\.)?db\.nomics\.world/([A-Za-z0-9_-]+/[^\s/]+/[^\s/,;)?]+)"),
    ("fred", rf"\bfred(?:/|: ?| series )({_ID})"),
    ("yfinance", rf"\b(?:yfinance|yahoo(?: finance)?)(?:/|: ?)({_ID})"),
    ("dbnomics", r"\bdbnomics(?:/|: ?)([A-Za-z0-9_-]+/[^\s/]+/[^\s/,;)?]+)"),
)
_SUBJECT = re.compile(
    r"^(?:will |does |what is the probability that )?(?P<subject>.{1,240}?) "
    r"(?=(?:will |would |does not |do not |never )?(?:be|have|is|closes?|ends?|finish(?:es)?|settles?|stands?|trades?|remains?|stays?|"
    r"ris(?:e|es)|gains?|increases?|climbs?|falls?|drops?|declines?|loses?|decreases?|touch(?:es)?|reach(?:es)?|hits?|exceeds?|"
    r"above|below|over|under|higher|lower)\b)",
    re.IGNORECASE,
)
# The two sentences of ForecastBench: "have increased by D as compared to its value on D0", "'s market close price on D be higher than
# its market close price on D0".
_REWORDED = (
    (
        r"(?:have )?increased (?:by|on) (\S+),? (?:as )?compared (?:to|with) its value on",
        r"is higher on \1 than on",
    ),
    (
        r"(?:have )?decreased (?:by|on) (\S+),? (?:as )?compared (?:to|with) its value on",
        r"is lower on \1 than on",
    ),
    (
        r"(?:'s)? market close price on (\S+) (?:will )?be (higher|lower) than its market close price on",
        r" closes \2 on \1 than on",
    ),
    (r"\bwill be (higher|lower)\b", r"is \1"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesRef:
    """A series by its source and the source's own id (``DGS10``, ``AAPL``, ``IMF/WEO/FRA.NGDP_RPCH``)."""

    source: Source
    id: str

    def __str__(self) -> str:
        return f"{self.source}/{self.id}"

    def call(self, cutoff: datetime) -> tuple[str, dict[str, Any]]:
        """Return the catalogue's path and the parameters that give the series up to a cutoff (an instant in UTC)."""
        if self.source == "embedded":
            return "embedded/series/observations", {"series_id": self.id}
        if self.source == "fred":
            return "fred/series/series/observations", {"series_id": self.id}
        if self.source == "yfinance":
            start = cutoff - timedelta(days=365 * _YEARS)
            window = {"period1": int(start.timestamp()), "period2": int(cutoff.timestamp())}
            return "yfinance/history", {"symbol": self.id, **window, "interval": "1d"}
        provider, dataset, series = self.id.split("/", 2)
        return "dbnomics/series", {
            "provider": provider,
            "dataset": dataset,
            "series": series,
            "observations": 1,
        }

    def rows(self, data: Any) -> list[dict[str, Any]]:
        """Return ``{date, value}`` rows, oldest first and each day once, from an answer in the source's own shape.

        Raises ``ClaimRefused`` for an answer without a usable value.
        """
        try:
            pairs = [(str(day)[:10], float(value)) for day, value in _PAIRS[self.source](data)]
            for day, _ in pairs:
                date.fromisoformat(day)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise ClaimRefused(
                f"the answer for {self} is not built as its source builds series: {error!r:.80}"
            ) from None
        if not pairs:
            raise ClaimRefused(f"no value of {self} is visible at this cutoff; choose a later cutoff")
        return [{"date": day, "value": value} for day, value in sorted(dict(pairs).items())]


def _fred(data: Any) -> list[tuple[Any, Any]]:
    return [(row["date"], row["value"]) for row in data["observations"] if row["value"] not in (".", "")]


def _yahoo(data: Any) -> list[tuple[Any, Any]]:
    result = data["chart"]["result"][0]
    offset = int(result.get("meta", {}).get("gmtoffset", 0))
    closes = result["indicators"]["quote"][0]["close"]
    days = [datetime.fromtimestamp(second + offset, tz=UTC).date() for second in result.get("timestamp", ())]
    return [(day, close) for day, close in zip(days, closes, strict=True) if close is not None]


def _dbnomics(data: Any) -> list[tuple[Any, Any]]:
    series = data["series"]["docs"][0]
    return [
        (day, value)
        for day, value in zip(series["period_start_day"], series["value"], strict=True)
        if value not in (None, "NA")
    ]


_PAIRS = {
    "embedded": lambda data: [(row["date"], row["value"]) for row in data if row["value"] is not None],
    "fred": _fred,
    "yfinance": _yahoo,
    "dbnomics": _dbnomics,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesLeaf:
    """A proposition that one series (two for a spread or a comparison) decides.

    ``claim`` is about the stand-in series where ``refs`` are not embedded: its pattern, dates, side and levels count, its name does not.
    """

    claim: Claim
    refs: tuple[SeriesRef, ...]

    @property
    def embedded(self) -> bool:
        """Whether the grammar of the house knows the series."""
        return all(ref.source == "embedded" for ref in self.refs)

    def to_json(self) -> dict[str, Any]:
        """Return the reading as JSON values."""
        claim = {
            name: value.isoformat() if isinstance(value, date) else value
            for name, value in asdict(self.claim).items()
            if name != "notes"  # words for the reader, and they may change
        }
        return {"claim": claim, "series": [asdict(ref) for ref in self.refs]}


def read_series_leaf(statement: str, hints: str = "") -> SeriesLeaf:
    """Return which series decides a proposition, and how; the statistical grounder and the router read leaves through this.

    Parameters
    ----------
    statement : str
    hints : str
        What settles the leaf according to the analyzer, and the claim's background: a series may be named there in place of the statement.

    Raises
    ------
    ClaimRefused
        No series is named by its id, two are, or the sentence is not one of the patterns.

    Examples
    --------
    >>> leaf = read_series_leaf("The 10-year yield (FRED: DGS10) is above 4.5 on 2024-12-31")
    >>> str(leaf.refs[0]), leaf.claim.pattern, leaf.claim.level
    ('fred/DGS10', 'level', 4.5)
    >>> read_series_leaf("VIX above 20 on 2018-12-31").embedded
    True
    """
    named = series_mentioned(statement)
    if not named:
        try:
            claim = read_claim(statement)
            refs = tuple(SeriesRef(source="embedded", id=name) for name in claim.sources)
            return SeriesLeaf(claim=claim, refs=refs)
        except ClaimRefused as problem:
            named = series_mentioned(hints)
            if not named:
                raise ClaimRefused(
                    f"no dated series matches the driver ({_short(str(problem))}): name one by its id, for example FRED: DGS10, "
                    "yfinance/AAPL or dbnomics/PROVIDER/DATASET/SERIES"
                ) from None
    refs = tuple(dict.fromkeys(named))
    if len(refs) > 1:
        raise ClaimRefused(
            f"the driver names several series ({', '.join(map(str, refs))}): one must decide it"
        )
    claim = read_claim(_with_stand_in(statement))
    if claim.series != STAND_IN or claim.other is not None:
        raise ClaimRefused(
            f"the driver compares {refs[0]} with another series: state it about one series, or about embedded ones"
        )
    return SeriesLeaf(claim=replace(claim, notes=()), refs=refs)


def _short(problem: str) -> str:
    return problem.partition(":")[0].partition(";")[0]


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


def _with_stand_in(statement: str) -> str:
    """The sentence with its subject, which names the series, replaced by one that the grammar knows."""
    text = " ".join(statement.replace("’", "'").split())
    for pattern, words in _REWORDED:
        text = re.sub(pattern, words, text, flags=re.IGNORECASE)
    subject = _SUBJECT.match(text)
    if subject is None:
        return text
    return f"SP500 {text[subject.end() :]}"


def path_words(p: float, record: Mapping[str, Any]) -> str:
    """Return how a report says what a probability is: the share of paths by their models, or the row that decides.

    Parameters
    ----------
    record : mapping
        Of `workbench.forecasts.leaf_forecast.leaf_record`.
    """
    if decided := record.get("decided"):
        said = "true" if p == 1 else "false"
        return f"The value of {decided['day']}, {decided['value']:g}, has decided it: {said}, whatever follows. p = {p:g}."
    weights = record.get("weights", {})
    # By name: a record that was stored and read has another order.
    listed = ", ".join(
        f"{name} {float(value):.3f} (weight {float(weights.get(name, 0.0)):.2f})"
        for name, value in sorted(record["models"].items())
    )
    return (
        f"The estimate is the share of the simulated paths on which it comes true: p = {p:.4f}. {len(record['models'])} models draw "
        f"them, weighted by what they earned at earlier cutoffs of the series: {listed}."
    )
