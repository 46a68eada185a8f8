"""Claims that the key-free analyst can treat, all at one cutoff: the first page offers them, ``demo`` runs the first.

The tests plan each of them, and run the first to its end.
"""

from datetime import date, timedelta

from workbench.formatting import day_words
from workbench.questions.series.embedded_series import DATA_END, SERIES

EXAMPLE_CUTOFF = "2018-06-30"
EXAMPLES = (
    "The S&P 500 closes higher on 2018-12-31 than on 2018-06-29",
    "WTI crude oil touches 80 by 2018-12-31",
    "The BAA corporate bond yield is above 5% in December 2018",
    "The NASDAQ outperforms the S&P 500 from 2018-06-29 to 2018-12-31",
)
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def claim_templates(cutoff: date) -> dict[str, str]:
    """Return claims to begin with, by subject, with dates that fit a cutoff: a person changes series, level and day.

    >>> claim_templates(date(2018, 6, 30))["higher than today"]
    'The S&P 500 closes higher on 2018-12-31 than on 2018-06-29'
    """
    last = _weekday_until(cutoff)
    end = date(cutoff.year, 12, 31) if cutoff.month <= 9 else date(cutoff.year + 1, 6, 30)
    end = _weekday_until(end)
    return {
        "higher than today": f"The S&P 500 closes higher on {end} than on {last}",
        "touches a level": f"WTI crude oil touches 80 by {end}",
        "above a level on a day": f"The VIX closes above 20 on {end}",
        "stays below a level": f"The VIX never closes above 30 through {end}",
        "falls by a share": f"The S&P 500 closes 10% or more below its {last} close by {end}",
        "a spread above a level": f"The BAA-AAA spread is above 1 on {end}",
        "one beats another": f"The NASDAQ outperforms the S&P 500 from {last} to {end}",
        "a monthly figure": f"The BAA corporate bond yield is above 5% in {end:%B %Y}",
    }


def _weekday_until(day: date) -> date:
    return day - timedelta(days=max(0, day.weekday() - 4))


def data_reach() -> str:
    """Say how far the embedded data go.

    >>> data_reach()
    'seven built-in series to 3 January 2019'
    """
    count = len({source for series in SERIES.values() for source in series.sources})
    return f"{_NUMBERS[count]} built-in series to {day_words(DATA_END)}"
