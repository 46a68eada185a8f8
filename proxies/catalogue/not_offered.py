"""Vendors' paths that are known and not offered, and what to ask for instead: said where someone asks for one.

`Catalogue.resolve` looks here before it names paths that merely look alike.
"""

from collections.abc import Mapping
from types import MappingProxyType

_LIGHT = "fmp/chart/end-of-day/historical-price-eod/light"
_INCOME = "fmp/statements/financial-statements/income-statement"
_GRADES = "yfinance/upgrades-downgrades"
_DIVIDENDS = "fmp/calendar/dividends/dividends"
_SPLITS = "fmp/calendar/splits/splits"
_FUND = "fmp/etf-&-mutual-funds/fund-disclosures/funds/disclosure"
_CALLS = "fmp/earnings-transcripts/earning-call-transcript-dates"
_PRESENT = "only tells the present"
_NOT_YET = "is not offered yet"

#: By the vendor's own path: why it is not here, and the path to ask for, or "".
NOT_OFFERED: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        **dict.fromkeys(
            (
                "fmp/quote", "fmp/quote-short", "fmp/batch-quote", "fmp/batch-quote-short", "fmp/aftermarket-quote", "fmp/aftermarket-trade",
                "fmp/stock-price-change", "fmp/biggest-gainers", "fmp/biggest-losers", "fmp/most-actives", "fmp/batch-index-quotes",
                "fmp/batch-crypto-quotes", "fmp/batch-forex-quotes", "fmp/batch-commodity-quotes", "fmp/batch-etf-quotes",
            ),
            (_PRESENT, _LIGHT),
        ),
        **dict.fromkeys(
            ("fmp/analyst-estimates", "fmp/price-target-summary", "fmp/price-target-consensus", "fmp/price-target-news", "fmp/grades-consensus", "fmp/grades-news",
             "fmp/ratings-snapshot"),
            (_PRESENT, _GRADES),
        ),
        **dict.fromkeys(("fmp/earnings", "fmp/earnings-calendar", "fmp/earnings-surprises"), (_NOT_YET, "yfinance/earnings-dates")),
        "fmp/dividends-calendar": (_NOT_YET, _DIVIDENDS),
        "fmp/splits-calendar": (_NOT_YET, _SPLITS),
        **dict.fromkeys(
            ("fmp/discounted-cash-flow", "fmp/levered-discounted-cash-flow", "fmp/custom-discounted-cash-flow", "fmp/financial-scores", "fmp/key-metrics-ttm", "fmp/ratios-ttm"),
            (_PRESENT, "fmp/statements/ratios/key-metrics"),
        ),
        **dict.fromkeys(("fmp/delisted-companies", "fmp/symbol-change", "fmp/stock-peers", "fmp/company-screener", "fmp/shares-float"), (_PRESENT, "")),
        **dict.fromkeys(("fmp/etf/holdings", "fmp/etf-holder-bulk", "fmp/funds/holdings"), (_PRESENT, _FUND)),
        **dict.fromkeys(("fmp/market-capitalization", "fmp/market-capitalization-batch"), (_PRESENT, "fmp/company/market-cap/historical-market-capitalization")),
        "fmp/employee-count": (_PRESENT, "fmp/company/employee-count/historical-employee-count"),
        "fmp/earning-call-transcript-latest": (_NOT_YET, _CALLS),
        **dict.fromkeys(
            ("fmp/sec-filings-search", "fmp/sec-filings-financials", "sec/filings", "edgar/filings", "edgar/submissions"),
            ("is another name", "sec/submissions"),
        ),
        **dict.fromkeys(("sec/companyfacts", "edgar/companyfacts"), ("is another name", "sec/company-facts")),
        **dict.fromkeys(("fmp/financial-statement-full-as-reported", "fmp/latest-financial-statements"), (_NOT_YET, _INCOME)),
        **dict.fromkeys(("edgar/search", "sec/full-text-search"),
            ("is another name", "sec/search"),
        ),
        **dict.fromkeys(("newsapi/everything", "google/search", "bing/search"), (_NOT_YET, "exa/search/search")),
        **dict.fromkeys(("gdelt/doc", "gdelt/search"), ("is another name", "gdelt/documents")),
        **dict.fromkeys(("yfinance/info", "yfinance/fast_info", "yfinance/fast-info"), (_PRESENT, "yfinance/fundamentals")),
        "yfinance/prices": ("is another name", "yfinance/history"),
        **dict.fromkeys(("yfinance/option-chain", "yfinance/option_chain"), (_PRESENT, "")),
    }
)  # fmt: skip


def advice(path: str) -> str:
    """What to say of a path that is known and not offered, or an empty text."""
    known = NOT_OFFERED.get(path.strip().strip("/").lower().replace("_", "-")) or NOT_OFFERED.get(
        path.strip("/ ").lower()
    )
    if known is None:
        return ""
    why, instead = known
    return f"{path!r} {why}" + (f": use {instead}" if instead else ", and there is no dated form of it")
