"""List vendors' paths that are known and not offered, each with a substitute.

`Catalogue.resolve` looks here before it names paths that merely look alike.
"""

from collections.abc import Mapping

#: Why paths are not here, the path to ask for instead, or "", and the vendors' own paths.
_ADVICE = {
    "only tells the present": {
        "fmp/chart/end-of-day/historical-price-eod/light": (
            "fmp/quote fmp/quote-short fmp/batch-quote fmp/batch-quote-short fmp/aftermarket-quote "
            "fmp/aftermarket-trade fmp/stock-price-change fmp/biggest-gainers fmp/biggest-losers fmp/most-actives "
            "fmp/batch-index-quotes fmp/batch-crypto-quotes fmp/batch-forex-quotes fmp/batch-commodity-quotes "
            "fmp/batch-etf-quotes "
        ),
        "yfinance/upgrades-downgrades": (
            "fmp/analyst-estimates fmp/price-target-summary fmp/price-target-consensus fmp/price-target-news "
            "fmp/grades-consensus fmp/grades-news fmp/ratings-snapshot "
        ),
        "fmp/statements/ratios/key-metrics": (
            "fmp/discounted-cash-flow fmp/levered-discounted-cash-flow fmp/custom-discounted-cash-flow "
            "fmp/financial-scores fmp/key-metrics-ttm fmp/ratios-ttm "
        ),
        "": (
            "fmp/delisted-companies fmp/symbol-change fmp/stock-peers fmp/company-screener fmp/shares-float "
            "yfinance/option-chain yfinance/option_chain "
        ),
        "fmp/etf-&-mutual-funds/fund-disclosures/funds/disclosure": "fmp/etf/holdings fmp/etf-holder-bulk fmp/funds/holdings",
        "fmp/company/market-cap/historical-market-capitalization": "fmp/market-capitalization fmp/market-capitalization-batch",
        "fmp/company/employee-count/historical-employee-count": "fmp/employee-count",
        "yfinance/fundamentals": "yfinance/info yfinance/fast_info yfinance/fast-info",
    },
    "is not offered yet": {
        "yfinance/earnings-dates": "fmp/earnings fmp/earnings-calendar fmp/earnings-surprises",
        "fmp/calendar/dividends/dividends": "fmp/dividends-calendar",
        "fmp/calendar/splits/splits": "fmp/splits-calendar",
        "fmp/earnings-transcripts/earning-call-transcript-dates": "fmp/earning-call-transcript-latest",
        "fmp/statements/financial-statements/income-statement": (
            "fmp/financial-statement-full-as-reported fmp/latest-financial-statements "
        ),
        "exa/search/search": "newsapi/everything google/search bing/search",
    },
    "is another name": {
        "sec/submissions": (
            "fmp/sec-filings-search fmp/sec-filings-financials sec/filings edgar/filings edgar/submissions "
        ),
        "sec/company-facts": "sec/companyfacts edgar/companyfacts",
        "sec/search": "edgar/search sec/full-text-search",
        "gdelt/documents": "gdelt/doc gdelt/search",
        "yfinance/history": "yfinance/prices",
    },
}
NOT_OFFERED: Mapping[str, tuple[str, str]] = {
    path: (why, instead)
    for why, advised in _ADVICE.items()
    for instead, paths in advised.items()
    for path in paths.split()
}


def advice(path: str) -> str:
    """Write the hint for a path that is known and not offered; "" for any other."""
    entry = NOT_OFFERED.get(path.strip().strip("/").lower().replace("_", "-")) or NOT_OFFERED.get(
        path.strip("/ ").lower()
    )
    if entry is None:
        return ""
    why, instead = entry
    return f"{path!r} {why}" + (f": use {instead}" if instead else ", and there is no dated form of it")
