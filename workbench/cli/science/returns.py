"""`returns`: what betting the forecasts against market prices would have brought."""

from pathlib import Path
from typing import Annotated, Any

import typer

from workbench.cli.common import command, emit_json, unlisted
from workbench.cli.science.science_options import (
    AsJson,
    EventsFile,
    ExamName,
    ForecastsFile,
    Methods,
    Pool,
    Resamples,
    Seed,
    Variant,
    listed,
    load,
    numbers,
    with_exam,
    with_interval,
    write_csv,
)
from workbench.cli.table import show_table
from workbench.science.comparing.mean_intervals import Resampling
from workbench.science.documents import (
    POSITION_COLUMNS,
    BettingRules,
    market_forecasts,
    position_rows,
    returns_document,
)
from workbench.science.scoring.positions import Costs


@command
def returns(
    events: EventsFile,
    forecasts: ForecastsFile,
    method: Methods = "",
    variant: Variant = "forecast",
    pool: Pool = "mean",
    risk_aversion: Annotated[
        str, typer.Option("--risk-aversion", help="Levels by comma; 0 goes all in, 1 bets the forecast.")
    ] = "0,0.25,0.5,0.75,1",
    price: Annotated[str, unlisted("--price", help="Column with the price of a Yes share.")] = "crowd",
    tie: Annotated[
        str,
        unlisted("--tie", help="Bet at level 0 where forecast equals price: no, yes, half, abstain."),
    ] = "no",
    no_price: Annotated[
        str,
        unlisted("--no-price", help="Column with the price of a No share; one minus Yes without it."),
    ] = "",
    fee: Annotated[
        float | None,
        unlisted("--fee", help="Dollars a share; bets are then sized after costs."),
    ] = None,
    cap: Annotated[
        float | None,
        unlisted("--cap", help="Most of the dollar on one market; the rest is kept."),
    ] = None,
    edge_by: Annotated[
        str,
        unlisted(
            "--edge-by",
            help="Column to measure edge by, such as a later price; own forecasts without it.",
        ),
    ] = "",
    by: Annotated[str, unlisted("--by", help="Also within each value of this column.")] = "",
    baseline: Annotated[
        str, unlisted("--baseline", help="Add baselines: 0.5, crowd, outcome (perfect).")
    ] = "",
    log: Annotated[Path | None, unlisted("--log", help="Write every position to this CSV.")] = None,
    resamples: Resamples = 2000,
    seed: Seed = 20261122,
    exam: ExamName = None,
    json: AsJson = False,
) -> None:
    """Average return (1 breaks even) and Sharpe ratio of a dollar on every market event, and what of it was edge and luck.

    Return = 1 + edge + luck: edge was expected when the bet was made, luck came with the outcome; luck z beyond 2 either way
    says that the expectations were off. With --fee, --cap or --no-price bets are of one side, sized after costs, the rest kept.
    Behind the figures stand 95 % intervals: of average returns the paper's bootstrap over events (Prophet Arena, App. C.7), of luck with the
    bets fixed and outcomes at the prices' odds, of ratios over clusters.
    """
    levels = numbers(risk_aversion, option="--risk-aversion")
    table, probabilities, chosen = load(events, forecasts, exam=exam)
    values = market_forecasts(
        probabilities, methods=listed(method), variant=variant, how=pool, baselines=listed(baseline)
    )
    sized = None if fee is None and cap is None else Costs(fee=fee or 0.0, cap=1.0 if cap is None else cap)
    rules = BettingRules(
        price=price, levels=tuple(levels), tie=tie, costs=sized, no_price=no_price, belief=edge_by
    )
    document = returns_document(
        table, values, rules=rules, by=by, resampling=Resampling(resamples=resamples, seed=seed)
    )
    if log is not None:
        write_csv(log, POSITION_COLUMNS, position_rows(table, values, rules=rules))
    if json:
        emit_json(with_exam(document, chosen))
        return
    keys = [f"{level:g}" for level in levels]
    shown = [(figure, key) for figure in _SHOWN for key in keys]
    show_table(
        [
            "method",
            "n",
            "clusters",
            *[f"{_SHOWN[figure]} {key}" for figure, key in shown],
            *("brier", "ece", "ece if calibrated", "ties"),
        ],
        [[name, *_returns_row(entry, shown)] for name, entry in document["methods"].items()],
    )


#: Figures of the table by level of risk aversion, with their names there.
_SHOWN = {
    "average_return": "return",
    "sharpe": "sharpe",
    "edge": "edge",
    "luck": "luck",
    "luck_z": "luck z",
}


def _returns_row(entry: dict[str, Any], shown: list[tuple[str, str]]) -> list[Any]:
    bounds = entry.get("intervals", {})
    figures = [with_interval(entry[figure][key], bounds.get(figure, {}).get(key)) for figure, key in shown]
    scores = [with_interval(entry["brier"], bounds.get("brier")), entry["ece"]]
    return [
        entry["n"],
        entry["clusters"],
        *figures,
        *scores,
        entry["calibrated"]["ece"]["expected"],
        entry["ties"],
    ]
