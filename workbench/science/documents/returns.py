"""The document that `returns` prints, and the rows of its log."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from workbench.errors import UsageError
from workbench.science.arrays import FloatArray, IntArray
from workbench.science.documents.forecasts import Document, method_names, pooled_forecasts
from workbench.science.scoring.baselines import baseline_forecast
from workbench.science.scoring.calibration_error import calibration_error
from workbench.science.scoring.market import TIE_WIDTH, TIES, Tie, market_returns, position_log, ties
from workbench.science.scoring.scores import brier
from workbench.science.tables import Events, Forecasts

#: Header of the position log that `returns --log` writes.
POSITION_COLUMNS = (
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
)


def market_forecasts(
    forecasts: Forecasts,
    *,
    methods: Sequence[str] = (),
    variant: str = "forecast",
    how: str = "mean",
    baselines: Sequence[str] = (),
) -> dict[str, FloatArray]:
    """Forecasts to bet on, one array of shape (n,) per method and baseline; both functions below take them."""
    values = {
        name: pooled_forecasts(forecasts, name, variant=variant, how=how)
        for name in method_names(forecasts, methods)
    }
    return values | {spec: baseline_forecast(forecasts.events, spec) for spec in baselines}


def returns_document(
    events: Events,
    values: Mapping[str, FloatArray],
    *,
    price: str = "crowd",
    levels: Sequence[float] = (0.0, 0.25, 0.5, 0.75, 1.0),
    tie: str = "no",
    by: str = "",
) -> Document:
    """What a dollar on every market event would have brought, per method: what `returns` prints.

    Parameters
    ----------
    events : Events
    values : mapping of str to ndarray of shape (n,)
        As from `market_forecasts`.
    price : str
        Column with the price of a Yes share.
    levels : sequence of float
        Risk aversions; 0 goes all in, 1 bets the forecast.
    tie : {"no", "yes", "half", "abstain"}
        The bet at level 0 where forecast equals price.
    by : str
        A column: also within each of its values.

    Raises
    ------
    UsageError
        No market event, no such column, or a price that cannot be bet at.

    Examples
    --------
    >>> events = Events.of([1, 0], kind="market", crowd=[0.5, 0.5])
    >>> document = returns_document(events, {"m": np.array([0.7, 0.2])}, levels=[0.0])
    >>> document["methods"]["m"]["average_return"]
    {'0': 2.0}
    """
    if tie not in TIES:
        raise UsageError(f"--tie must be one of {', '.join(TIES)}, not {tie!r}")
    if not (events.kind == "market").any():
        raise UsageError(f"{events.path} has no event of question_type market")
    prices = events.probability(price)
    entries: Document = {}
    for name, p in values.items():
        rows = _market_rows(name, p, prices, events)
        entries[name] = _returns(p, prices, events, rows, levels, cast(Tie, tie))
        if by:
            labels = events.text(by)[rows]
            entries[name]["by"] = {
                str(label): _returns(p, prices, events, rows[labels == label], levels, cast(Tie, tie))
                for label in np.unique(labels)
            }
    return {"methods": entries}


def position_rows(
    events: Events,
    values: Mapping[str, FloatArray],
    *,
    price: str = "crowd",
    levels: Sequence[float] = (0.0, 0.25, 0.5, 0.75, 1.0),
    tie: str = "no",
) -> list[list[Any]]:
    """Every bet behind `returns_document`, one row of `POSITION_COLUMNS` each; an empty stake means no bet."""
    prices = events.probability(price)
    lines: list[list[Any]] = []
    for name, p in values.items():
        rows = _market_rows(name, p, prices, events)
        ids, outcome = events.event_id[rows].tolist(), events.outcome[rows]
        for level in levels:
            for bet in position_log(ids, p[rows], prices[rows], outcome, level, tie=cast(Tie, tie)):
                stake = "" if bet.on_yes is None else bet.on_yes
                figures = [bet.forecast, bet.price, bet.edge, bet.side, stake, bet.payoff, bet.running_total]
                lines.append([name, f"{level:g}", bet.event, *figures])
    return lines


def _market_rows(name: str, p: FloatArray, prices: FloatArray, events: Events) -> IntArray:
    rows = np.flatnonzero((events.kind == "market") & np.isfinite(p))
    if not len(rows):
        raise UsageError(f"{name}: no market event has a forecast")
    unusable = ~((prices[rows] > 0) & (prices[rows] < 1))
    if unusable.any():
        event = str(events.event_id[rows][int(np.argmax(unusable))])
        raise UsageError(f"{name}: event {event!r} has no price strictly between 0 and 1")
    return rows


def _returns(
    forecast: FloatArray,
    prices: FloatArray,
    events: Events,
    rows: IntArray,
    levels: Sequence[float],
    tie: Tie,
) -> Document:
    p, q, o = forecast[rows], prices[rows], events.outcome[rows]
    results = {f"{level:g}": market_returns(p, q, o, level, tie=tie) for level in levels}
    return {
        "n": len(p),
        "average_return": {key: r.average_return for key, r in results.items()},
        "sharpe": {key: r.sharpe for key, r in results.items()},
        "sharpe_ddof0": {key: r.sharpe_ddof0 for key, r in results.items()},
        "total_payoff": {key: r.total for key, r in results.items()},
        "max_payoff": {key: r.largest for key, r in results.items()},
        "zero_payoffs": {key: r.lost for key, r in results.items()},
        "payoff_sd": {key: r.deviation for key, r in results.items()},
        "brier": brier(p, o),
        "ece": calibration_error(p, o),
        "ece_right_closed": calibration_error(p, o, closed="right"),
        "ties": int(ties(p, q).sum()),
        "yes_bets": int((p - q > TIE_WIDTH).sum()),
    }
