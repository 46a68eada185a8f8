"""Claims that the key-free analyst can treat, all at one cutoff: the first page offers them, ``demo`` runs the first.

The tests plan each of them, and run the first to its end.
"""

from datetime import date

from workbench.questions.series.embedded_series import DATA_END, SERIES

EXAMPLE_CUTOFF = "2018-06-30"
EXAMPLES = (
    "The S&P 500 closes higher on 2018-12-31 than on 2018-06-29",
    "WTI crude oil touches 80 by 2018-12-31",
    "The BAA corporate bond yield is above 5 % in December 2018",
    "The NASDAQ outperforms the S&P 500 from 2018-06-29 to 2018-12-31",
)
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def data_reach() -> str:
    """Return how far the embedded data go, as screens say it.

    >>> data_reach()
    'history up to 3 Jan 2019, seven series'
    """
    count = len({source for series in SERIES.values() for source in series.sources})
    return f"history up to {_in_words(DATA_END)}, {_NUMBERS[count]} series"


def _in_words(day: date) -> str:
    return f"{day.day} {day:%b %Y}"
