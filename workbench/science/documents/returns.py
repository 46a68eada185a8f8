"""The document that `returns` prints, and the rows of its log."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from workbench.errors import UsageError
from workbench.science.arrays import FloatArray, IntArray
from workbench.science.comparing.clusters import event_clusters
from workbench.science.comparing.return_intervals import return_intervals
from workbench.science.comparing.score_intervals import PLAIN, Resampling
from workbench.science.documents.forecasts import Document, method_names, pooled_forecasts
from workbench.science.scoring.baselines import baseline_forecast
from workbench.science.scoring.calibration_error import calibration_error
from workbench.science.scoring.luck import EdgeAndLuck
from workbench.science.scoring.market import TIE_WIDTH, TIES, Tie, returns_of, ties
from workbench.science.scoring.positions import Costs, Positions, position_log, whole_dollar, with_costs
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
    "stake",
    "expected",
    "luck",
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


@dataclass(frozen=True, slots=True, kw_only=True)
class BettingRules:
    """How forecasts are bet on.

    Parameters
    ----------
    price : str
        Column with the price of a Yes share.
    levels : tuple of float
        Risk aversions; 0 goes all in, 1 bets the forecast.
    tie : {"no", "yes", "half", "abstain"}
        The bet at level 0 where forecast equals price.
    costs : Costs or None
        With costs a bet is of one side and sized after them, and what it leaves is kept; without, as paper P, the whole dollar is bet.
    no_price : str
        Column with the price of a No share, where that is not one minus the other: the spread.
    belief : str
        Column by which the edge of the results is measured, such as a later price; "" is the forecaster's own.
    """

    price: str = "crowd"
    levels: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)
    tie: str = "no"
    costs: Costs | None = None
    no_price: str = ""
    belief: str = ""

    def __post_init__(self) -> None:
        if self.tie not in TIES:
            raise UsageError(f"--tie must be one of {', '.join(TIES)}, not {self.tie!r}")
        if self.no_price and self.costs is None:
            # Paper P's bets are of both sides at prices that sum to 1.
            object.__setattr__(self, "costs", Costs())

    def positions(self, events: Events, p: FloatArray, rows: IntArray, level: float) -> Positions:
        """The bets of one level on the events at ``rows``, whose forecasts are ``p``."""
        price = events.probability(self.price)[rows]
        if self.costs is None:
            return whole_dollar(p, price, level, tie=cast(Tie, self.tie))
        no_ask = events.probability(self.no_price)[rows] if self.no_price else None
        return with_costs(p, price, no_ask, level, self.costs)

    def beliefs(self, events: Events, p: FloatArray, rows: IntArray) -> FloatArray:
        """Probabilities by which edge is measured; one line on an event that has none."""
        if not self.belief:
            return p
        belief = events.probability(self.belief)[rows]
        if np.isnan(belief).any():
            event = str(events.event_id[rows][int(np.argmax(np.isnan(belief)))])
            raise UsageError(f"event {event!r} has no {self.belief} to measure the edge by")
        return belief


PAPER = BettingRules()


def returns_document(
    events: Events,
    values: Mapping[str, FloatArray],
    *,
    rules: BettingRules = PAPER,
    by: str = "",
    resampling: Resampling = PLAIN,
) -> Document:
    """What a dollar on every market event would have brought, per method: what `returns` prints.

    Parameters
    ----------
    events : Events
    values : mapping of str to ndarray of shape (n,)
        As from `market_forecasts`.
    rules : BettingRules
    by : str
        A column: also within each of its values.
    resampling : Resampling
        Behind ``intervals``, one of each figure that is no count; none with 0 resamples.

    Raises
    ------
    UsageError
        No market event, no such column, or a price that cannot be bet at.

    Examples
    --------
    >>> events = Events.of([1, 0], kind="market", crowd=[0.5, 0.5])
    >>> document = returns_document(events, {"m": np.array([0.7, 0.2])}, rules=BettingRules(levels=(0.0,)))
    >>> document["methods"]["m"]["average_return"]
    {'0': 2.0}
    """
    if not (events.kind == "market").any():
        raise UsageError(f"{events.path} has no event of question_type market")
    entries: Document = {}
    for name, p in values.items():
        rows = _market_rows(name, p, rules, events)
        entries[name] = _returns(p, events, rows, rules, resampling)
        if by:
            labels = events.text(by)[rows]
            entries[name]["by"] = {
                str(label): _returns(p, events, rows[labels == label], rules, resampling)
                for label in np.unique(labels)
            }
    return {"methods": entries} | resampling.note()


def position_rows(
    events: Events, values: Mapping[str, FloatArray], *, rules: BettingRules = PAPER
) -> list[list[Any]]:
    """Every bet behind `returns_document`, one row of `POSITION_COLUMNS` each; an empty share on Yes means no bet."""
    lines: list[list[Any]] = []
    for name, p in values.items():
        rows = _market_rows(name, p, rules, events)
        ids, outcome, price = (
            events.event_id[rows].tolist(),
            events.outcome[rows],
            events.probability(rules.price)[rows],
        )
        belief = rules.beliefs(events, p[rows], rows)
        for level in rules.levels:
            bets = rules.positions(events, p[rows], rows, level)
            for line in position_log(ids, p[rows], price, outcome, bets, belief):
                figures = [line.forecast, line.price, line.edge, line.side]
                figures += ["" if line.on_yes is None else line.on_yes, line.payoff, line.running_total]
                lines.append([name, f"{level:g}", line.event, *figures, line.stake, line.expected, line.luck])
    return lines


def _market_rows(name: str, p: FloatArray, rules: BettingRules, events: Events) -> IntArray:
    rows = np.flatnonzero((events.kind == "market") & np.isfinite(p))
    if not len(rows):
        raise UsageError(f"{name}: no market event has a forecast")
    for column in filter(None, (rules.price, rules.no_price)):
        prices = events.probability(column)[rows]
        unusable = ~((prices > 0) & (prices < 1))
        if unusable.any():
            event = str(events.event_id[rows][int(np.argmax(unusable))])
            raise UsageError(f"{name}: event {event!r} has no price strictly between 0 and 1 in {column}")
    return rows


def _returns(
    forecast: FloatArray, events: Events, rows: IntArray, rules: BettingRules, resampling: Resampling
) -> Document:
    p, q, o = forecast[rows], events.probability(rules.price)[rows], events.outcome[rows]
    belief = rules.beliefs(events, p, rows)
    bets = {f"{level:g}": rules.positions(events, p, rows, level) for level in rules.levels}
    splits: dict[str, EdgeAndLuck] = {key: each.split(o, belief) for key, each in bets.items()}
    results = {
        key: returns_of(split.gain + 1.0, level)
        for (key, split), level in zip(splits.items(), rules.levels, strict=True)
    }
    entry: Document = {
        "n": len(p),
        "average_return": {key: r.average_return for key, r in results.items()},
        "sharpe": {key: r.sharpe for key, r in results.items()},
        "sharpe_ddof0": {key: r.sharpe_ddof0 for key, r in results.items()},
        "total_payoff": {key: r.total for key, r in results.items()},
        "max_payoff": {key: r.largest for key, r in results.items()},
        "zero_payoffs": {key: r.lost for key, r in results.items()},
        "payoff_sd": {key: r.deviation for key, r in results.items()},
        "edge": {key: float(split.edge.mean()) for key, split in splits.items()},
        "luck": {key: float(split.luck.mean()) for key, split in splits.items()},
        "luck_z": {key: split.luck_z for key, split in splits.items()},
        "staked": {key: float(each.stake.mean()) for key, each in bets.items()},
        "brier": brier(p, o),
        "ece": calibration_error(p, o),
        "ece_right_closed": calibration_error(p, o, closed="right"),
        "ties": int(ties(p, q).sum()),
        "yes_bets": int((p - q > TIE_WIDTH).sum()),
    }
    if resampling.resamples:
        entry["intervals"] = return_intervals(entry, splits, p, o, event_clusters(events)[rows], resampling)
    return entry
