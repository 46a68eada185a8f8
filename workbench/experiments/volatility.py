"""How much what a question is about moved before its cutoff, for the table of what goes with error (paper A, App. D.6).

A column ``volatility`` of the exam stands as it is: `questions long-short` computes it from its price histories, and a file of questions
may bring its own. For claims on series that the workbench knows it is computed here, from what was visible at each claim's cutoff.
"""

from dataclasses import replace

import numpy as np

from proxies.asof.asof_text import NO_TEXT
from proxies.asof.clock import Cutoff
from proxies.settings import ProxySettings
from workbench.engine.blocking import run_blocking
from workbench.errors import UsageError
from workbench.experiments.exam import StudyExam
from workbench.offline.history import broker_history, visible
from workbench.questions.deciding import value_series
from workbench.questions.grammar import read_claim
from workbench.science.series.realised import realised_volatility

#: Rows of a series that its volatility rests on: a year of trading days.
_ROWS = 252


def with_volatility(exam: StudyExam) -> StudyExam:
    """The exam with a column ``volatility``, percent a year, where it has none and some of its statements are claims on known series."""
    if "volatility" in exam.events.frame.columns or not exam.statements:
        return exam
    values = run_blocking(_volatilities(exam))
    if not np.isfinite(values).any():
        return exam
    return replace(exam, events=replace(exam.events, frame=exam.events.frame.assign(volatility=values)))


async def _volatilities(exam: StudyExam) -> np.ndarray:
    from proxies.broker import open_broker

    values = np.full(len(exam), np.nan)
    claims = {}
    for row, event in enumerate(exam.events.event_id.tolist()):
        try:
            claims[row] = (
                read_claim(exam.statements.get(event, NO_TEXT).text),
                Cutoff.parse(exam.cutoffs[event]),
            )
        except (UsageError, KeyError):
            continue  # a question in free words, or one without a day: the report says nothing of it
    if not claims:
        return values
    known: dict[tuple[str, str], float] = {}
    broker = open_broker(ProxySettings())
    try:
        for row, (claim, cutoff) in claims.items():
            place = (claim.series, cutoff.text)
            if place not in known:
                try:
                    rows = await visible(broker_history(broker), claim.sources, cutoff)
                    series = value_series(claim.series, rows).iloc[-_ROWS - 1 :]
                    days = series.index.to_numpy(dtype="datetime64[D]")
                    known[place] = realised_volatility(days, series.to_numpy(dtype=np.float64))
                except UsageError:
                    known[place] = float("nan")
            values[row] = known[place]
    finally:
        await broker.aclose()
    return values
