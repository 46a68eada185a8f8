"""``forecast SET --quantiles FILE``: the key-free forecaster's quantiles of numeric questions, as ``questions score`` reads them."""

import os
from collections.abc import Sequence
from pathlib import Path

from proxies.asof.clock import Cutoff
from proxies.broker import open_broker
from workbench.backtests.question_quantiles import (
    METHOD,
    SHARES,
    SeriesReader,
    TargetForecast,
    target_forecasts,
)
from workbench.blocking import run_blocking
from workbench.cli.common import echo, emit_json, open_store, say
from workbench.cli.table import show_table
from workbench.environment import proxy_settings
from workbench.errors import UsageError
from workbench.forecasts.ensemble import Ensemble
from workbench.formatting import figure
from workbench.operations.forecast_files import write_csv
from workbench.questions.question import Question
from workbench.questions.sets.question_sets import load_set
from workbench.science.quantile_tables import QUANTILE_COLUMNS, quantile_rows

_SHOWN = (0.05, 0.5, 0.95)


def write_quantiles(references: Sequence[str], path: Path, cutoff: str, *, as_json: bool) -> None:
    """Forecast the numeric questions of sets (or single ones, SET/QUESTION), write the file, and say what was left out and why.

    Raises
    ------
    UsageError
        No set is named, or none of the questions reads as a quantity of a series.
    """
    if not references:
        raise UsageError("whose numbers are to be forecast? name SET or SET/QUESTION before --quantiles FILE")
    store = open_store()
    questions: list[Question] = []
    for reference in references:
        set_name, _, question = reference.partition("/")
        entry = load_set(store, set_name)
        questions += [entry[question]] if question else entry.questions.values()
    instant = Cutoff.parse(cutoff) if cutoff else None

    async def forecast() -> tuple[list[TargetForecast], list[tuple[str, str]]]:
        broker = open_broker(proxy_settings(os.environ, store.home))
        try:
            return await target_forecasts(questions, SeriesReader(broker), Ensemble(), cutoff=instant)
        finally:
            await broker.aclose()

    forecasts, left_out = run_blocking(forecast())
    if not forecasts:
        why = f": {left_out[0][0]}: {left_out[0][1]}" if left_out else ": no question is numeric"
        raise UsageError(f"no question reads as a quantity of a series{why}")
    rows = [row for each in forecasts for row in quantile_rows(METHOD, each.target, SHARES, each.values)]
    write_csv(path, QUANTILE_COLUMNS, rows)
    if as_json:
        emit_json(
            {
                "method": METHOD,
                "file": str(path),
                "forecasts": [
                    {
                        "event_id": each.target,
                        "series": each.series,
                        "statistic": each.statistic,
                        "cutoff": each.cutoff,
                        "quantiles": {
                            f"{share:g}": float(value)
                            for share, value in zip(SHARES, each.values, strict=True)
                        },
                    }
                    for each in forecasts
                ],
                "left_out": [{"id": name, "reason": reason} for name, reason in left_out],
            }
        )
        return
    places = [SHARES.index(share) for share in _SHOWN]
    show_table(
        ["number", "series", "statistic", "cutoff", *(f"{share:.0%}" for share in _SHOWN)],
        [
            [
                each.target,
                each.series,
                each.statistic,
                each.cutoff,
                *(figure(float(each.values[place])) for place in places),
            ]
            for each in forecasts
        ],
    )
    for name, reason in left_out:
        say(f"left out: {name}: {reason}")
    echo(f"{path}: {len(forecasts)} forecasts at {len(SHARES)} shares each, method {METHOD}")
