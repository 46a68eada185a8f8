"""Which series a numeric question asks for, on which day, and whether its value then or its highest or lowest until then."""

import re
from dataclasses import dataclass
from datetime import date
from typing import Literal

from workbench.questions.errors import ClaimRefused
from workbench.questions.question import Question
from workbench.questions.series.embedded_series import KNOWN, SERIES, replace_names
from workbench.questions.series.series_reference import series_mentioned

QuantityStatistic = Literal["value", "highest", "lowest"]

_EXTREMES: tuple[tuple[QuantityStatistic, str], ...] = (
    ("highest", r"\b(?:highest|maximum|max|peak)\b"),
    ("lowest", r"\b(?:lowest|minimum|min|trough)\b"),
)
#: Words of questions about something else than a value of the series; answering those with its value would be a guess.
_OTHER = re.compile(
    r"\b(?:average|mean|median|change|changes|growth|grow|rise|rises|fall|falls|return|returns|percent|volatility|how many|ratio|"
    r"difference|gain|loss|drawdown|range|days)\b|%",
    re.IGNORECASE,
)
_DAY = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantityReading:
    """A number that a question asks for: ``series`` as `workbench.backtests.series_source` names one, and the last day of its window."""

    series: str
    day: date
    statistic: QuantityStatistic = "value"


def read_quantity_question(question: Question, horizon: str = "") -> QuantityReading:
    """Return what a numeric question asks of a series; nothing is guessed.

    Raises `ClaimRefused`: It names no series that is known, or two; no day; or asks for a change, a mean or the like.

    >>> question = Question(id="q", title="What is the highest close of the VIX by 2018-12-31?", kind="numeric")
    >>> reading = read_quantity_question(question)
    >>> reading.series, reading.statistic, str(reading.day)
    ('VIX', 'highest', '2018-12-31')
    """
    title = replace_names(question.title)
    embedded = list(dict.fromkeys(re.findall(r"<([A-Z0-9_]+)>", title)))
    # By its id in the title, else in what settles the question.
    named = series_mentioned(question.title) or (
        [] if embedded else series_mentioned(f"{question.criteria} {question.resolution_source}")
    )
    names = [str(ref) for ref in named] or [name for name in embedded if name in SERIES]
    if len(names) != 1:
        why = f"it names {', '.join(names)}" if names else "it names none that is known"
        raise ClaimRefused(
            f"no single series answers the question: {why} ({KNOWN}; or one by its id, such as fred/DGS10)"
        )
    words = re.sub(r"<[A-Z0-9_]+>", " ", title)
    for ref in named:
        words = words.replace(ref.id, " ")
    if other := _OTHER.search(words):
        raise ClaimRefused(f"the question asks for more than a value of {names[0]} ({other[0]!r})")
    extremes = [name for name, pattern in _EXTREMES if re.search(pattern, words, re.IGNORECASE)]
    if len(extremes) > 1:
        raise ClaimRefused("the question asks for both the highest and the lowest value")
    in_title = list(dict.fromkeys(_DAY.findall(question.title)))
    day = (
        horizon
        or (in_title[0] if len(in_title) == 1 else "")
        or (question.horizons or (question.closes_on,))[0]
    )
    if len(in_title) > 1 and not horizon:
        raise ClaimRefused(f"the question names several days: {', '.join(in_title)}")
    try:
        last = date.fromisoformat(day)
    except ValueError:
        raise ClaimRefused("the question names no day on which the value counts") from None
    return QuantityReading(series=names[0], day=last, statistic=extremes[0] if extremes else "value")


def quantity_series(question: Question) -> str:
    """Return the series that a numeric question asks for, "" where none is read: what ties the luck of several together."""
    try:
        return read_quantity_question(question, (question.horizons or ("",))[0]).series
    except ClaimRefused:
        return ""
