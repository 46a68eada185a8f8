"""Whether a run's models may know how its claim turned out: a back-test of a later model is recall, not forecasting."""

from datetime import date
from functools import lru_cache

from proxies.asof.clock import Cutoff
from workbench.engine.run_settings import RunSettings
from workbench.models.training_ends import UnknownTrainingEnd, training_cutoff


def training_end(model: str) -> date | str:
    """Return the last day in a model's training data, ``never`` for a model without any, ``unknown`` off the table.

    >>> training_end("offline/analyst"), training_end("openai/gpt-4o"), training_end("openai/mine")
    ('never', datetime.date(2023, 10, 31), 'unknown')
    """
    try:
        end = training_cutoff(model)
    except UnknownTrainingEnd:
        return "unknown"
    return "never" if end is None else end


def hindsight(settings: RunSettings, cutoff: Cutoff) -> list[str]:
    """Return a warning for each model of a run whose training ends after the cutoff, or nobody knows when; empty for none."""
    if cutoff.live:
        return []
    names = dict.fromkeys(
        (settings.model, *settings.direct_models, *settings.models.values(), *settings.fallback)
    )
    return [line for name in names if (line := _hindsight_line(name, cutoff.last_moment_day, cutoff.text))]


@lru_cache(maxsize=256)
def _hindsight_line(model: str, last_day: date, cutoff: str) -> str:
    end = training_end(model)
    if end == "never":
        return ""
    if isinstance(end, date):
        if end < last_day:
            return ""
        return (
            f"Hindsight: {model} was trained on texts up to {end}, after the cutoff {cutoff}: it may know how this turned out."
            " The result is recall as much as a forecast"
        )
    return (
        f"Hindsight: when the training of {model} ended is unknown: if after the cutoff {cutoff}, the result is recall as much"
        " as a forecast"
    )
