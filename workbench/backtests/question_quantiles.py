"""Forecast the numeric questions of a set by their series: quantiles by the key-free forecaster, and the numbers that came."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from proxies.asof.clock import Cutoff
from proxies.broker import Broker
from proxies.errors import ProxyError
from workbench.backtests.series_source import SeriesSource
from workbench.errors import UsageError
from workbench.forecasts.series.series_history import History
from workbench.forecasts.series_paths import Calendar, SeriesForecaster, weighted_quantiles
from workbench.questions.errors import ClaimRefused
from workbench.questions.question import NumericTarget, Question, targets_of
from workbench.questions.series.asked_quantities import QuantityReading, read_quantity_question
from workbench.questions.series.series_quantity import Quantity
from workbench.science.arrays import FloatArray
from workbench.science.errors import ScienceError

#: The key-free forecaster's method in a file of forecasts.
METHOD = "key-free"
#: Evenly spread, so that their mean loss is the CRPS (`workbench.science.scoring.crps.crps_of_quantiles`).
SHARES = tuple(place / 40 for place in range(1, 40))


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetForecast:
    """Quantiles of one number at `SHARES`, with its series and the cutoff."""

    target: str
    series: str
    statistic: str
    cutoff: str
    values: FloatArray


@dataclass(slots=True)
class SeriesReader:
    """Histories of the series that questions ask for, each read once; Cutoffs that are equal as text are one."""

    broker: Broker
    _read: dict[tuple[str, str], History] = field(default_factory=dict)

    async def history(self, series: str, cutoff: Cutoff) -> History:
        """Return the values of a series known at a cutoff; raises as of `SeriesSource`."""
        key = (series, cutoff.text)
        if key not in self._read:
            self._read[key] = await SeriesSource.of(series).history(self.broker, cutoff)
        return self._read[key]


async def target_forecasts(
    questions: Sequence[Question],
    reader: SeriesReader,
    forecaster: SeriesForecaster,
    *,
    cutoff: Cutoff | None = None,
) -> tuple[list[TargetForecast], list[tuple[str, str]]]:
    """Forecast every number that reads as a quantity of a series, and give the reason for the others."""
    pairs = [(question, target) for question in questions for target in targets_of(question)]
    forecasts: list[TargetForecast] = []
    left_out: list[tuple[str, str]] = []
    for question, target in pairs:
        try:
            forecasts.append(await _target_forecast(question, target, reader, forecaster, cutoff))
        except (ClaimRefused, UsageError, ScienceError, ProxyError) as problem:
            left_out.append((target.id, " ".join(str(problem).split())))
    return forecasts, left_out


async def _target_forecast(
    question: Question,
    target: NumericTarget,
    reader: SeriesReader,
    forecaster: SeriesForecaster,
    cutoff: Cutoff | None,
) -> TargetForecast:
    reading = _reading_of(question, target)
    instant = cutoff or Cutoff.parse(question.asked_on or "now")
    history = await reader.history(reading.series, instant)
    calendar = Calendar.of(history)
    if not len(calendar.stamps(history.days[-1].item(), reading.day)):
        raise UsageError(f"the value on {reading.day} is already known at the cutoff {instant.text}")
    paths = forecaster.paths(history, reading.day, calendar)
    draws = _quantity(reading, history).draws(paths)[reading.statistic]
    if reading.statistic != "value" and question.asked_on:
        # Its window began when it was asked: what came since then is no longer open.
        since = history.values[history.days >= np.datetime64(question.asked_on, "D")]
        if len(since) and reading.statistic == "highest":
            draws = np.maximum(draws, since.max())
        elif len(since):
            draws = np.minimum(draws, since.min())
    # The weight beyond a closed end is put at it: the answer cannot lie there.
    low = question.low if question.low is not None and not question.open_low else -np.inf
    high = question.high if question.high is not None and not question.open_high else np.inf
    return TargetForecast(
        target=target.id,
        series=reading.series,
        statistic=reading.statistic,
        cutoff=instant.text,
        values=np.clip(weighted_quantiles(draws, paths.weights, SHARES), low, high),
    )


async def known_values(
    questions: Sequence[Question], reader: SeriesReader
) -> tuple[dict[str, float], dict[str, str]]:
    """Return the numbers that embedded series have by now, by target, and the day of each; none that came already."""
    values: dict[str, float] = {}
    days: dict[str, str] = {}
    for question in questions:
        if question.kind != "numeric" or not question.asked_on:
            continue
        for target in targets_of(question):
            try:
                reading = _reading_of(question, target)
                if target.value is not None or not SeriesSource.of(reading.series).embedded:
                    continue
                # What was known when it was asked is no part of the window.
                before = await reader.history(reading.series, Cutoff.parse(question.asked_on))
                later = await reader.history(reading.series, Cutoff.parse("now"))
            except (ClaimRefused, UsageError, ProxyError):
                continue  # open, as a question that no series answers
            came = _quantity(reading, before).outcome(later)
            if came is not None:
                values[target.id], days[target.id] = came[reading.statistic], reading.day.isoformat()
    return values, days


def _reading_of(question: Question, target: NumericTarget) -> QuantityReading:
    return read_quantity_question(question, question.horizon_label(target.horizon))


def _quantity(reading: QuantityReading, history: History) -> Quantity:
    return Quantity(
        name=reading.series,
        unit="",
        history=history,
        day=reading.day,
        extremes=reading.statistic != "value",
    )
