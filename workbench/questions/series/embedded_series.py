"""The embedded series a claim may be about: how people name them, how they are sampled, how far they reach.

The last dates are those the package's documentation states; they are a calendar fact, not a value, so a claim
can be turned down for resolving too late without a look at any datum.
"""

import re
from datetime import date

from workbench.questions.series.known_series import Series

# The order matters: `replace_names` goes through it, and the spread names both yields, so it has to come before them.
SERIES: dict[str, Series] = {
    series.id: series
    for series in (
        Series(
            id="SPREAD",
            article="the BAA-AAA spread",
            kind="yield",
            unit="percentage points",
            frequency="monthly",
            sources=("BAA", "AAA"),
            first=date(1919, 1, 1),
            last=date(2018, 12, 1),
            pattern=(
                r"(?:moody'?s )?(?:baa\s*(?:-|–|to|minus|over|/)\s*aaa|aaa\s*(?:-|–|/)\s*baa)"
                r"(?: corporate)?(?: bond)?(?: yield| credit| default)? spread|(?:the )?spread between baa and aaa(?: yields)?"
                r"|(?:corporate )?credit spread"
            ),
            wide=True,
        ),
        Series(
            id="SP500",
            goes_on="yahoo:^GSPC",
            article="the S&P 500",
            kind="price",
            unit="index points",
            frequency="daily",
            sources=("SP500",),
            first=date(1999, 1, 4),
            last=date(2018, 12, 31),
            pattern=r"(?:s\s*&\s*p|s and p|standard (?:&|and) poor'?s)\s*-?500(?: index)?|\bsp\s?500\b|\bspx\b|\^gspc",
        ),
        Series(
            id="NASDAQ",
            goes_on="yahoo:^IXIC",
            article="the NASDAQ Composite",
            kind="price",
            unit="index points",
            frequency="daily",
            sources=("NASDAQ",),
            first=date(1999, 1, 4),
            last=date(2018, 12, 31),
            # The NASDAQ-100 is another index, so its name must not be read as the Composite.
            pattern=r"\bnasdaq(?: composite)?(?: index)?(?!-?\s?100)\b|\^ixic",
        ),
        Series(
            id="VIX",
            goes_on="yahoo:^VIX",
            article="the VIX",
            kind="volatility",
            unit="index points",
            frequency="daily",
            sources=("VIX",),
            first=date(2014, 1, 3),
            last=date(2019, 1, 3),
            pattern=r"(?:cboe )?\bvix\b(?: index)?|cboe volatility index",
        ),
        Series(
            id="WTI",
            goes_on="fred:DCOILWTICO",
            article="WTI crude oil",
            kind="price",
            unit="USD per barrel",
            frequency="daily",
            sources=("WTI",),
            first=date(1986, 1, 2),
            last=date(2019, 1, 3),
            pattern=r"\bwti\b(?: crude)?(?: oil)?(?: spot)?(?: price)?|\bcrude oil\b(?: spot)?(?: price)?",
        ),
        Series(
            id="CORE_CPI",
            goes_on="fred:CPILFESL",
            article="US core CPI",
            kind="index",
            unit="index, 1982-84 = 100",
            frequency="monthly",
            sources=("CORE_CPI",),
            first=date(1957, 1, 1),
            last=date(2018, 11, 1),
            pattern=r"(?:the )?(?:us |u\.s\. )?\bcore[ _]cpi\b(?: index)?",
        ),
        Series(
            id="AAA",
            goes_on="fred:AAA",
            article="the AAA corporate bond yield",
            kind="yield",
            unit="% a year",
            frequency="monthly",
            sources=("AAA",),
            first=date(1919, 1, 1),
            last=date(2018, 12, 1),
            pattern=r"(?:moody'?s )?\baaa\b(?: corporate)?(?: bond)?(?: yield)?",
        ),
        Series(
            id="BAA",
            goes_on="fred:BAA",
            article="the BAA corporate bond yield",
            kind="yield",
            unit="% a year",
            frequency="monthly",
            sources=("BAA",),
            first=date(1919, 1, 1),
            last=date(2018, 12, 1),
            pattern=r"(?:moody'?s )?\bbaa\b(?: corporate)?(?: bond)?(?: yield)?",
        ),
    )
}

#: The last day on which any of them has a value.
DATA_END = max(series.last for series in SERIES.values() if series.last)

KNOWN = "S&P 500, NASDAQ, VIX, WTI, the BAA-AAA spread, AAA and BAA yields, core CPI"

_NAMES = [(series.id, re.compile(series.pattern, re.IGNORECASE)) for series in SERIES.values()]


def replace_names(text: str) -> str:
    """Return the text with every known series written as ``<ID>``, an article before it swallowed.

    >>> replace_names("The S&P 500 outperforms the Nasdaq")
    '<SP500> outperforms <NASDAQ>'
    """
    for name, pattern in _NAMES:
        text = re.sub(rf"(?:\bthe )?(?:{pattern.pattern})", f"<{name}>", text, flags=re.IGNORECASE)
    return text
