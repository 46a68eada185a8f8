"""Forecast one claim about a series, with the parts of its proof: past windows, windows that began like now, past ranks.

The cells of a leaf's notebook call this very text in their kernel, where it is mounted under the name ``forecaster``
(`workbench.engine.leaves.forecast_library`); so it reads nothing but its arguments.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal

import numpy as np
import pandas as pd

from workbench.forecasts.chance_error import chance_error
from workbench.forecasts.ensemble import Ensemble, nearest_horizon
from workbench.forecasts.joint_paths import difference_ranks, joint_paths
from workbench.forecasts.members.scaled_past import ScaledPast
from workbench.forecasts.past_windows import P_MAX, P_MIN, ClaimWindows, places_at, reading_windows
from workbench.forecasts.reading import Chance, Decision, Reading, above_zero, chance, percent_over
from workbench.forecasts.series.series_history import History
from workbench.forecasts.series_paths import Calendar, Paths, combined_history
from workbench.science.arrays import FloatArray

__all__ = [
    "LeafForecast",
    "Reading",
    "combined_history",
    "forecast_reading",
    "known_series",
    "leaf_record",
    "like_windows",
    "reading_windows",
]

State = Literal["level", "move", "volatility", "average"]
#: Share of the past windows that count as having begun like now, and their least number.
_ALIKE, _FEWEST = 0.1, 30


def known_series(rows: Sequence[Mapping[str, Any]], last_day: date, *, monthly: bool = False) -> History:
    """Read the history in rows of ``date`` and ``value``; a row of after the last visible day is an ``AssertionError``."""
    observed = [row for row in rows if row["value"] is not None]
    history = History.of([row["date"] for row in observed], [row["value"] for row in observed])
    # A month bears its first day, and is known once it is over.
    end = history.days[-1].astype("datetime64[M]") + 1 if monthly else history.days[-1] + 1
    assert end.astype("datetime64[D]") - 1 <= np.datetime64(last_day, "D"), (
        f"{history.days[-1]} lies after the cutoff"
    )
    return history


def held(answer: Chance) -> float:
    """Bound the probability of a chance: 0 or 1 where it is decided, else within [0.02, 0.98].

    No number of paths shows that nothing else can come.
    """
    return answer.p if answer.decided is not None else float(np.clip(answer.p, P_MIN, P_MAX))


@dataclass(frozen=True, slots=True, kw_only=True)
class LeafForecast:
    """A claim's probability, and its basis."""

    reading: Reading
    #: Of its series, through its end.
    paths: Paths
    #: The share of their weight on which the claim comes true (`held`).
    p: float
    #: The row that decides it already.
    decided: Decision | None
    #: models, weights: The share on the paths of each member alone, and the weight of its paths.
    models: dict[str, float]
    weights: dict[str, float]
    #: Standard deviation of ``p`` about the true chance (`chance_error`).
    error: float
    #: Share of the pool below what came, at past cutoffs of this horizon (PIT): even between 0 and 1 where the pool was right. The weights
    #: were learned there; its width and place were then corrected by them.
    ranks: FloatArray

    def lines(self) -> str:
        """Write the probability by member, as a notebook prints it."""
        rows = [
            f"{name:<16} {self.models[name]:.4f}   weight {weight:.2f}"
            for name, weight in self.weights.items()
        ]
        if self.decided is not None:
            outcome = "true" if self.decided.true else "false"
            rows = [f"decided by the value of {self.decided.day}, {self.decided.value:,.4f}: {outcome}"]
        steps, count = len(self.paths.days), len(self.paths.weights)
        through = f"{count} paths of {steps} steps, {self.paths.days[0]} to {self.paths.days[-1]}"
        return "\n".join([through, *rows, f"{'p':<16} {self.p:.4f}"])


def forecast_reading(
    reading: Reading,
    history: History,
    *,
    together: Sequence[History] = (),
    ensemble: Ensemble | None = None,
    paths: Paths | None = None,
) -> LeafForecast:
    """Forecast a reading from the known values of its series, by the ensemble with its weights learned on them.

    Raises `ScienceError`: Too little is known, or no value is to come through the reading's end.

    >>> days = np.arange("2008-01", "2018-07", dtype="datetime64[M]").astype("datetime64[D]")
    >>> history = History.of(days, 50 + np.cumsum(np.random.default_rng(0).normal(size=len(days))))
    >>> above = Reading(series=("X",), comparison="above", level=50.0, end=date(2018, 9, 30))
    >>> forecast = forecast_reading(above, history)
    >>> 0.02 <= forecast.p <= 0.98, sum(forecast.weights.values()) > 0.999
    (True, True)
    """
    ensemble = ensemble or Ensemble()
    paths = paths or reading_paths(ensemble, reading, history, together)
    answer = chance(reading, paths)
    weights = {
        name: float(paths.weights[paths.drawn_by == place].sum()) for place, name in enumerate(paths.members)
    }
    return LeafForecast(
        reading=reading,
        paths=paths,
        p=held(answer),
        decided=answer.decided,
        models={name: answer.by_member[name] for name in weights},
        weights=weights,
        error=chance_error(answer, reading, paths, ensemble),
        ranks=_pooled_ranks(ensemble, paths, weights, reading, together),
    )


def reading_paths(
    ensemble: Ensemble, reading: Reading, history: History, together: Sequence[History] = ()
) -> Paths:
    """Return the paths for a reading: of its series, or of its two as they move together; see `forecast_reading`."""
    calendar = Calendar.of(history)
    if reading.combination is None:
        return ensemble.paths(history, reading.end, calendar)
    first, second = joint_paths(ensemble, together, reading.end, calendar)
    return first.combine(second, reading.combination)


def _pooled_ranks(
    ensemble: Ensemble,
    paths: Paths,
    weights: Mapping[str, float],
    reading: Reading,
    together: Sequence[History],
) -> FloatArray:
    steps = len(paths.days)
    if reading.combination == "difference":
        ranks = difference_ranks(ensemble, together, steps, paths.calendar)
    else:
        # Scored for the weights already, and remembered.
        scores = ensemble.past_scores(ScaledPast.of(paths.known, paths.calendar), steps)
        ranks = scores[nearest_horizon(steps, paths.calendar)][:, 1]
    shares = np.where(np.isfinite(ranks), [weights.get(name, 0.0) for name in ensemble.members], 0.0)
    total = shares.sum(axis=1)
    pooled = (shares * np.nan_to_num(ranks)).sum(axis=1)[total > 0] / total[total > 0]
    return np.asarray(pooled)


@dataclass(frozen=True, slots=True, kw_only=True)
class LikeWindows:
    """Past windows that began in a state like now's."""

    #: The state in words.
    state: str
    #: now, low, high: The present state, and the bounds of theirs.
    now: float
    low: float
    high: float
    #: true, count: In how many of them the claim came true.
    true: int
    count: int

    def line(self) -> str:
        """Write it as a notebook prints it."""
        return (
            f"starting from {self.state} of {self.low:.4g} to {self.high:.4g} (now {self.now:.4g}): "
            f"true in {self.true} of {self.count}"
        )


_STATES: dict[State, str] = {
    "level": "a level",
    "move": "a move over the half year before, in %,",
    "volatility": "a volatility of the month before, in % a year,",
    "average": "a distance to the 200-day average, in %,",
}


def like_windows(history: History, windows: ClaimWindows, last_day: date, *, by: State) -> LikeWindows | None:
    """Find the past windows that began in a state nearest to now's: a tenth of all, 30 at least; None where there are fewer."""
    calendar = Calendar.of(history)
    weeks = np.flatnonzero(windows.outcomes >= 0)
    starts = np.datetime64(windows.first, "D") + 7 * weeks.astype("timedelta64[D]")
    states = _states(history, by, calendar)
    began_at = states[places_at(history, starts, last_day, calendar)]
    usable = np.flatnonzero(np.isfinite(began_at))
    count = max(_FEWEST, int(_ALIKE * len(usable)))
    if len(usable) < count or not np.isfinite(states[-1]):
        return None
    nearest = usable[np.argsort(np.abs(began_at[usable] - states[-1]), kind="stable")[:count]]
    return LikeWindows(
        state=_STATES[by],
        now=float(states[-1]),
        low=float(began_at[nearest].min()),
        high=float(began_at[nearest].max()),
        true=int(windows.outcomes[weeks[nearest]].sum()),
        count=count,
    )


def _states(history: History, by: State, calendar: Calendar) -> FloatArray:
    x = history.values
    if by == "level":
        return x
    states = np.full(len(x), np.nan)
    if by == "move":
        back = max(1, round(calendar.steps_a_year / 2))
        states[back:] = percent_over(x[back:], x[:-back])
    elif by == "average":
        states = percent_over(x, pd.Series(x).rolling(200).mean().to_numpy())
    else:
        back = max(3, round(calendar.steps_a_year / 12))
        squares = pd.Series(np.diff(np.log(above_zero(x))) ** 2).rolling(back).mean().to_numpy()
        states[1:] = 100.0 * np.sqrt(calendar.steps_a_year * squares)
    return states


def leaf_record(
    forecast: LeafForecast, windows: ClaimWindows | None, like: LikeWindows | None
) -> dict[str, Any]:
    """Return the numbers of a leaf as JSON values: its report carries them, and later stages compute from them.

    Those of `ClaimWindows.record` are left out where there are no windows.
    """
    decided = forecast.decided
    record: dict[str, Any] = {
        "p": round(forecast.p, 6),
        "models": {name: round(value, 6) for name, value in forecast.models.items()},
        "weights": {name: round(value, 6) for name, value in forecast.weights.items()},
        "error": round(forecast.error, 6),
        "like": None if like is None else {"words": like.line(), "true": like.true, "count": like.count},
        "decided": None if decided is None else {"day": decided.day.isoformat(), "value": decided.value},
    }
    return record if windows is None else record | windows.record()
