"""Any series by its reference: the embedded ones by their keys, all others by source and id, as `series_reference` lists them."""

import re
from dataclasses import replace
from datetime import date
from functools import lru_cache
from typing import Any

from workbench.questions.errors import ClaimRefused
from workbench.questions.series.embedded_series import KNOWN, SERIES
from workbench.questions.series.known_series import Series, data_end
from workbench.questions.series.series_reference import EXAMPLES, SeriesRef, Source

_CONTRACT: dict[str, Any] = {
    "kind": "yield",
    "unit": "price of a contract of 1",
    "frequency": "daily",
    "days": "every day",
}
#: What all series of a source have in common; of FRED, DBnomics, own data and services the rows tell the rest.
_TRAITS: dict[Source, dict[str, Any]] = {
    "fred": {"revised": True},
    "yfinance": {"kind": "price", "unit": "price", "frequency": "daily"},
    "fmp": {"kind": "price", "unit": "price", "frequency": "daily"},
    "kalshi": _CONTRACT,
    "polymarket": _CONTRACT,
    "wikipedia": {"unit": "views a day", "frequency": "daily", "days": "every day"},
}
#: Symbols of Yahoo and FMP that are no prices of something.
_VOLATILITIES = re.compile(r"\^(?:VIX\w*|VXN|VXD|RVX|OVX|GVZ|VVIX|MOVE)")
_YIELDS = re.compile(r"\^(?:TNX|TYX|FVX|IRX)")
#: Spreads, real yields, growth rates, indices about zero and balances of FRED.
_SIGNED = re.compile(
    r"T(?:10Y|5Y|1Y|6M|3M)(?:2Y|3M|FF)M?|[DW]?FII\d+|T5YIEM?|A191RL1\w+|A?NFCI|STLFSI\d?|CFNAI|BOPGSTB|FYFSD|MTSDS133FMS"
)
#: Pairs with a currency of a chain trade on every day.
_EVERY_DAY = re.compile(r"[A-Z0-9]{2,10}-(?:USD|EUR|GBP|USDT)|(?:BTC|ETH)USD")


@lru_cache(maxsize=4096)
def series_named(reference: str) -> Series:
    """Return the series that a claim names: a key of the embedded ones (``WTI``), or a reference (``yahoo:AAPL``).

    Nothing is asked of a source: whether it has the series shows when its rows are read.

    Raises `ClaimRefused`: No source of that name, or an id that it cannot have.

    >>> series_named("embedded:WTI").id, series_named("yahoo:aapl").article, series_named("fred:UNRATE").verb
    ('WTI', 'yahoo:AAPL', 'is')
    """
    key = reference.strip().upper().removeprefix("EMBEDDED:")
    if key in SERIES:
        return SERIES[key]
    ref = SeriesRef.of(reference)
    if ref is None or ref.source == "embedded":
        raise ClaimRefused(
            f"{reference!r:.120} names no series: the embedded ones are {KNOWN}; others are named by source and id, "
            f"as in {', '.join(example for source, example in EXAMPLES.items() if source != 'polymarket')}"
        )
    traits = {"kind": "index", "unit": "", "frequency": "", **_TRAITS.get(ref.source, {})}
    series = Series(id=ref.reference, article=ref.reference, sources=(ref.reference,), **traits)
    if ref.source == "fred" and _SIGNED.fullmatch(ref.id):
        return replace(series, signed=True)
    if ref.source in ("yfinance", "fmp"):
        if _VOLATILITIES.fullmatch(ref.id):
            return replace(series, kind="volatility", unit="index points")
        if _YIELDS.fullmatch(ref.id):
            return replace(series, kind="yield", unit="% a year")
        if _EVERY_DAY.fullmatch(ref.id):
            return replace(series, days="every day")
    return series


def going_on(name: str, day: date) -> str:
    """Return the name of a series on a day: of an embedded one that has ended by then, that under which it goes on elsewhere.

    By the calendar alone, so that a claim is forecast, judged and settled from one source, with and without a network.

    >>> going_on("SP500", date(2018, 12, 31)), going_on("SP500", date(2026, 12, 31))
    ('SP500', 'yahoo:^GSPC')
    """
    series = series_named(name)
    ended = data_end(series)
    return series.goes_on if ended is not None and day > ended and series.goes_on else series.id


def source_of_rows(name: str) -> SeriesRef:
    """Return what gives the rows that a series lists among its ``sources``: an embedded identifier, or a reference."""
    return SeriesRef.of(name) or SeriesRef(source="embedded", id=name)
