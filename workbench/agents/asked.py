"""What stands before every request: the day it is asked on, the days that are left, and all that is known of the question.

The way to the model (``engine.access.model_gateway``) puts it there, so no stage and no agent of a stranger can leave a part out.
The day is no part of what a ledger compares: a run that goes on tomorrow finds the replies of today.
"""

import re
from calendar import monthrange
from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from proxies.asof.clock import Cutoff
from proxies.asof.mentions import mentions
from workbench.models.base import ModelRequest

_PART_OF_YEAR = re.compile(r"quarter|spring|summer|autumn|fall|winter|\bq\d|\dq|\bh[12]", re.IGNORECASE)


def with_words(request: ModelRequest, words: str) -> ModelRequest:
    """Return the request with these words before its first user message."""
    place = next((n for n, message in enumerate(request.messages) if message.role == "user"), None)
    if not words or place is None:
        return request
    messages = list(request.messages)
    messages[place] = replace(messages[place], content=f"{words}\n\n{messages[place].content}")
    return replace(request, messages=tuple(messages))


def day_words(cutoff: Cutoff, today: date, end: date | None) -> str:
    """Return the sentences that say what day it is and how many days are left.

    >>> day_words(Cutoff.parse("2018-06-30"), date(2018, 6, 29), date(2018, 7, 1))
    'The last day that you can see in full is 2018-06-29 (New York time). 2 days are left from then until 2018-07-01.'
    """
    words = (
        f"Today is {today.isoformat()} (New York). Data are live: each request sees what is known at that moment."
        if cutoff.live
        else f"The last day that you can see in full is {today.isoformat()} (New York time)."
    )
    if end is None or end < today:
        return words
    left, since = (end - today).days, "" if cutoff.live else " from then"
    return f"{words} {left} day{' is' if left == 1 else 's are'} left{since} until {end.isoformat()}."


def last_day_named(texts: Sequence[str]) -> date | None:
    """Return the last day that the first of these texts with a day or month names; a month means its end, a year alone says too little."""
    for text in texts:
        days = []
        for mention in mentions(text):
            written, day = text[mention.start : mention.end], mention.day
            parts = len(re.findall(r"\d+|[^\W\d]{3,}", written))
            if _PART_OF_YEAR.search(written) or parts < 2:
                continue
            days.append(day if parts > 2 else day.replace(day=monthrange(day.year, day.month)[1]))
        if days:
            return max(days)
    return None
