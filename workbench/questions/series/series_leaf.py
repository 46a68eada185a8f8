"""A leaf that one dated series decides: which series a sentence means, and how it is asked for.

Two readers, in this order. A claim about an embedded series is read by the grammar of the house. Any other series has to be named by
its id, so that nothing is guessed from words alone: ``FRED: DGS10``, ``yfinance/AAPL``, ``dbnomics/IMF/WEO/FRA.NGDP``, or the page of the
series at its source. The rest of such a sentence is read by the same grammar, with a stand-in where the series is named.
"""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import date
from typing import Any

from workbench.formatting import counted, percent
from workbench.questions.claims import Claim
from workbench.questions.errors import ClaimRefused
from workbench.questions.grammar import read_claim
from workbench.questions.series.series_reference import SeriesRef, series_mentioned
from workbench.questions.series.series_registry import source_of_rows

#: What the grammar reads in place of a series that it does not know: a daily series of prices.
STAND_IN = "SP500"
#: Begins the line of past outcomes in a report; the offline synthesizer looks for it (``workbench.offline.report_records``).
RECORD = "offline-analyst/1"

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
            if name not in ("notes", "observed")  # words for the reader, and what rows told: they may change
        }
        return {"claim": claim, "series": [asdict(ref) for ref in self.refs]}


def read_series_leaf(statement: str, hints: str = "") -> SeriesLeaf:
    """Return which series decides a proposition, and how; the statistical grounder and the router read leaves through this.

    Raises `ClaimRefused`: No series is named by its id, two are, or the sentence is not one of the patterns.

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
            refs = tuple(map(source_of_rows, claim.sources))
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
        raise ClaimRefused(f"the driver names several series ({', '.join(map(str, refs))}): name one")
    claim = read_claim(_with_stand_in(statement))
    if claim.series != STAND_IN or claim.other is not None:
        raise ClaimRefused(
            f"the driver compares {refs[0]} with another series: state it about one series, or about embedded ones"
        )
    return SeriesLeaf(claim=replace(claim, notes=()), refs=refs)


def _short(problem: str) -> str:
    return problem.partition(":")[0].partition(";")[0]


def _with_stand_in(statement: str) -> str:
    text = " ".join(statement.replace("’", "'").split())
    for pattern, words in _REWORDED:
        text = re.sub(pattern, words, text, flags=re.IGNORECASE)
    subject = _SUBJECT.match(text)
    if subject is None:
        return text
    return f"SP500 {text[subject.end() :]}"


#: What the models of a report are, by the names under which a proof prints them; others go by their names.
_MODELS = {
    "walk": "random walk",
    "filtered shocks": "filtered shocks (past moves drawn again)",
    "HAR": "HAR (volatility of the last day, week and month)",
    "GJR-GARCH": "GJR-GARCH (volatility that falls raise more than rises)",
    "implied": "implied volatility",
    "reverting": "reverting to its mean",
    "local level": "level that drifts",
    "smoothed": "smoothed, with a trend that fades",
    "theta": "theta (half the trend)",
    "ongoing": "changes that go on",
    "analogues": "analogues (past stretches that began like now)",
}


def path_words(p: float, record: Mapping[str, Any], *, explained: bool = True) -> str:
    """Return how a report says what a probability is: the share of paths by their models, or the row that decides."""
    if decided := record.get("decided"):
        said = "true" if p == 1 else "false"
        return f"The value of {decided['day']}, {decided['value']:g}, decides the statement: {said}, {percent(p)}."
    weights = record.get("weights", {})
    # By name: a record that was stored and read has another order.
    listed = ", ".join(
        f"{_MODELS.get(name, name) if explained else name} {percent(float(value))} (weight {float(weights.get(name, 0.0)):.2f})"
        for name, value in sorted(record["models"].items())
    )
    return (
        f"{counted(len(record['models']), 'model simulates', 'models simulate')} the series; the statement is true in {percent(p)} of "
        f"simulations. Models that forecast well at earlier cutoffs count for more: {listed}."
    )
