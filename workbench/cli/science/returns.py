"""`returns`: what betting the forecasts against market prices would have brought."""

from pathlib import Path
from typing import Annotated, Any

import typer

from workbench.cli.common import command, emit_json
from workbench.cli.science.options import (
    AsJson,
    EventsFile,
    ForecastsFile,
    Methods,
    Pool,
    Variant,
    chosen_methods,
    listed,
    load,
    numbers,
    raw_values,
    show_table,
)
from workbench.errors import UsageError


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
    price: Annotated[str, typer.Option("--price", help="Column with the price of a Yes share.")] = "crowd",
    tie: Annotated[
        str, typer.Option("--tie", help="Bet at level 0 where forecast equals price: no, yes, half, abstain.")
    ] = "no",
    by: Annotated[str, typer.Option("--by", help="Also within each value of this column.")] = "",
    baseline: Annotated[
        str, typer.Option("--baseline", help="Add baselines: 0.5, crowd, outcome (perfect).")
    ] = "",
    log: Annotated[Path | None, typer.Option("--log", help="Write every position to this CSV.")] = None,
    json: AsJson = False,
) -> None:
    """Average return (1 breaks even) and Sharpe ratio of a dollar on every market event."""
    from workbench.science.pooling.pool import pool as pool_trials
    from workbench.science.scoring.baselines import baseline_forecast
    from workbench.science.scoring.market import TIES

    levels = numbers(risk_aversion, option="--risk-aversion")
    if tie not in TIES:
        raise UsageError(f"--tie must be one of {', '.join(TIES)}, not {tie!r}")
    table, given = load(events, forecasts)
    if not (table.kind == "market").any():
        raise UsageError(f"{events} has no event of question_type market")
    prices = table.probability(price)
    values = {}
    for name in chosen_methods(method, given):
        raw = raw_values(given, name, variant)
        values[name] = raw if raw.ndim == 1 else pool_trials(raw, pool)
    values |= {spec: baseline_forecast(table, spec) for spec in listed(baseline)}
    document, positions = {}, []
    for name, p in values.items():
        document[name] = _entry(name, p, prices, table, levels, tie, by=by)
        if log is not None:
            positions += _positions(name, p, prices, table, levels, tie)
    if log is not None:
        _write_log(log, positions)
    if json:
        emit_json({"methods": document})
        return
    keys = [f"{level:g}" for level in levels]
    header = [
        "method",
        "n",
        *[f"return {key}" for key in keys],
        *[f"sharpe {key}" for key in keys],
        "brier",
        "ece",
        "ties",
    ]
    show_table(
        header,
        [
            [
                name,
                entry["n"],
                *[entry["average_return"][key] for key in keys],
                *[entry["sharpe"][key] for key in keys],
                entry["brier"],
                entry["ece"],
                entry["ties"],
            ]
            for name, entry in document.items()
        ],
    )


def _market_rows(name: str, p: Any, prices: Any, table: Any) -> Any:
    import numpy as np

    rows = np.flatnonzero((table.kind == "market") & np.isfinite(p))
    if not len(rows):
        raise UsageError(f"{name}: no market event has a forecast")
    wrong = ~((prices[rows] > 0) & (prices[rows] < 1))
    if wrong.any():
        event = str(table.event_id[rows][int(np.argmax(wrong))])
        raise UsageError(f"{name}: event {event!r} has no price strictly between 0 and 1")
    return rows


def _block(p: Any, q: Any, o: Any, levels: list[float], tie: Any) -> dict[str, Any]:
    from workbench.science.scoring.calibration_error import calibration_error
    from workbench.science.scoring.market import TIE_WIDTH, market_returns, ties
    from workbench.science.scoring.scores import brier

    found = {f"{level:g}": market_returns(p, q, o, level, tie=tie) for level in levels}
    return {
        "n": len(p),
        "average_return": {key: r.average_return for key, r in found.items()},
        "sharpe": {key: r.sharpe for key, r in found.items()},
        "sharpe_ddof0": {key: r.sharpe_ddof0 for key, r in found.items()},
        "total_payoff": {key: r.total for key, r in found.items()},
        "max_payoff": {key: r.largest for key, r in found.items()},
        "zero_payoffs": {key: r.lost for key, r in found.items()},
        "payoff_sd": {key: r.deviation for key, r in found.items()},
        "brier": brier(p, o),
        "ece": calibration_error(p, o),
        "ece_right_closed": calibration_error(p, o, closed="right"),
        "ties": int(ties(p, q).sum()),
        "yes_bets": int((p - q > TIE_WIDTH).sum()),
    }


def _entry(
    name: str, p: Any, prices: Any, table: Any, levels: list[float], tie: str, *, by: str
) -> dict[str, Any]:
    import numpy as np

    rows = _market_rows(name, p, prices, table)
    entry = _block(p[rows], prices[rows], table.outcome[rows], levels, tie)
    if by:
        labels = table.text(by)[rows]
        entry["by"] = {}
        for label in np.unique(labels):
            at = rows[labels == label]
            entry["by"][str(label)] = _block(p[at], prices[at], table.outcome[at], levels, tie)
    return entry


def _positions(name: str, p: Any, prices: Any, table: Any, levels: list[float], tie: Any) -> list[list[Any]]:
    from workbench.science.scoring.market import position_log

    rows = _market_rows(name, p, prices, table)
    lines: list[list[Any]] = []
    for level in levels:
        log = position_log(
            table.event_id[rows].tolist(), p[rows], prices[rows], table.outcome[rows], level, tie=tie
        )
        for at in log:
            stake = "" if at.on_yes is None else at.on_yes
            lines.append(
                [
                    name,
                    f"{level:g}",
                    at.event,
                    at.forecast,
                    at.price,
                    at.edge,
                    at.side,
                    stake,
                    at.payoff,
                    at.running_total,
                ]
            )
    return lines


def _write_log(path: Path, lines: list[list[Any]]) -> None:
    import csv
    import io

    from workbench.cli.science.files import write_whole

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        [
            "method",
            "risk_aversion",
            "event_id",
            "p",
            "price",
            "edge",
            "side",
            "on_yes",
            "payoff",
            "running_total",
        ]
    )
    writer.writerows(lines)
    write_whole(path, text.getvalue())
