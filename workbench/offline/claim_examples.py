"""Examples of claims, read by the reader itself: ``workbench claims`` and docs/use/claims.md."""

from collections.abc import Mapping
from typing import Any

from proxies.asof.clock import Cutoff
from workbench.models.model_options import OFFLINE
from workbench.offline.claim_coverage import coverage
from workbench.questions.readings.choice import day_of
from workbench.questions.readings.read import read

#: The day that the examples are asked on.
EXAMPLE_CUTOFF = "2018-06-30"
#: By subject, in the order of the page. A test reads each line.
CLAIM_EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "Where it stands on a day": (
        "the S&P 500 closes above 2800 on 2018-12-31",
        "WTI crude ends the year below $60",
        "VIX >= 20 on 2018-09-28",
        "BAA yield above 5 1/4 on 2018-12-31",
        "WTI above 72,50 on 2018-12-31",
        "S&P 500 above 3k at year end",
        "S&P 500 ends Q4 2018 between 2600 and 2800",
        "the S&P 500 closes above its 200-day average on 2018-12-31",
    ),
    "Up or down, and by how much": (
        "the S&P 500 closes 2018 higher",
        "the NASDAQ is lower in three months than today",
        "S&P drops 10% before Christmas",
        "Nasdaq gains more than 5% in Q3 2018",
        "the S&P 500 rises 100 points in July 2018",
        "BAA yield up 25bp by year end",
        "the S&P 500 falls more than 2% on a single day in H2 2018",
        "WTI moves more than 10% either way by year end",
        "S&P 500 closes 2018 above its 2017 close",
        "the Fed hikes twice more this year",
    ),
    "On the way": (
        "will oil go over $80 this year?",
        "VIX touches 30 in the next 3 months",
        "WTI crosses 80 before 2018-10-01",
        "VIX with a 20 handle by the end of August",
        "S&P 500 first above 2800 before 2018-09-01",
        "WTI stays above 60 until year end",
        "S&P 500 falls 10% from its peak in H2 2018",
        "the S&P 500 makes a new all-time high by year end",
        "Nasdaq posts a record close in August 2018",
        "S&P 500 sets a 52-week low in H2 2018",
        "S&P 500 hits 3000 before 2500 by year end",
        "oil: 80 or 60 first, by year end?",
        "the S&P 500 rises 10% before it falls 10% by year end",
    ),
    "Over a window": (
        "WTI averages more than 65 in Q4 2018",
        "the highest close of WTI in H2 2018 is above 80",
        "the lowest VIX close in H2 2018 is below 11",
        "realised volatility of the S&P 500 above 15% in Q4 2018",
        "S&P 500 up on 3 of the next 5 days",
        "S&P 500 up in 3 of the next 4 months",
        "the S&P 500 closes higher 4 days in a row in July 2018",
        "VIX above 20 on at least 5 days in H2 2018",
        "WTI posts three straight weekly gains by the end of August",
    ),
    "Two series, and figures of the economy": (
        "nasdaq beats sp500 in H2 2018",
        "WTI outperforms the S&P 500 by 5 points in H2 2018",
        "credit spreads widen to 120bp by year end",
        "BAA minus AAA above 1.2 on 2018-12-31",
        "core CPI yoy above 2.3% in December 2018",
        "core CPI up 0.2% mom in July 2018",
        "fed funds unchanged at the next FOMC meeting",
        "unemployment rate below 3.8% on the next jobs report",
    ),
    "By when": (
        "VIX closes above 20 on friday",
        "VIX closes above 20 at the end of September",
        "VIX closes above 20 in 6 months",
        "VIX touches 20 next week",
        "VIX touches 20 within 30 days",
        "VIX touches 20 in the next three months",
        "VIX touches 20 by mid-November",
        "VIX touches 20 before Thanksgiving",
        "VIX touches 20 this year",
        "VIX touches 20 in H2 2018",
    ),
    "About any series": (
        "yahoo:AAPL closes above 250 on 2018-12-31",
        "Apple closes above $250 at year end",
        "Bitcoin closes above 10k on 2018-12-31",
        "fred:UNRATE below 3.8 in December 2018",
        "unemployment rate below 3.8% in December 2018",
        "dbnomics:IMF/WEO/FRA.NGDP_RPCH above 1.5 on 2018-12-31",
        "kalshi:FED-24JAN-T5.25 above 0.5 on 2018-12-31",
        "wikipedia:Inflation above 5000 on 2018-12-31",
        "own:orders above 140 on 2018-12-31",
    ),
}


def claim_examples() -> list[dict[str, Any]]:
    """Return a row per example: ``{about, text, readings, answered}``.

    ``readings`` are the sentences it can be read as: one, or several of which the person chooses. ``answered`` is ``any model`` where
    the key-free analyst treats the first of them, ``a language model`` where it does not yet.
    """
    cutoff = Cutoff.parse(EXAMPLE_CUTOFF)
    rows = []
    for about, texts in CLAIM_EXAMPLES.items():
        for text in texts:
            choices = read(text, day_of(cutoff)).choices
            treatable = bool(choices) and coverage(choices[0], cutoff, OFFLINE).treatable
            rows.append(
                {
                    "about": about,
                    "text": text,
                    "readings": [choice.statement for choice in choices],
                    "answered": "any model" if treatable else "a language model",
                }
            )
    return rows
