"""What a figure of a decided leaf shows of its series: the visible past, the reference value, and where like stretches would lead."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.forecasts.past_windows import beside_now
from workbench.questions.decision import value_series
from workbench.questions.series.series_leaf import STAND_IN, SeriesLeaf

if TYPE_CHECKING:
    import pandas as pd

#: Shares of past changes that lie below the five values of ``SeriesFigure.forecast``.
SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
#: Points of the past that are drawn, and how many stretches of the forecast's length they cover.
_POINTS, _STRETCHES = 160, 8
#: Fewer past changes than this say nothing of a distribution.
_FEWEST = 20
#: Patterns whose level is a value of the series, not a change of it.
_OF_VALUES = ("level", "range", "touch", "first")


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesFigure:
    """The points of a figure."""

    #: days, values: The visible past, thinned; the last value visible is the last of it.
    days: tuple[str, ...]
    values: tuple[float, ...]
    #: The day on which the leaf resolves.
    end: str
    #: Values on that day below which 5, 25, 50, 75 and 95 percent of past changes over as many observations would lead from the last
    #: value; empty where the past is too short.
    forecast: tuple[float, ...] = ()
    #: What the claim compares with, where that is a value of the series.
    levels: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for day in (*self.days, self.end):
            date.fromisoformat(day)
        if not self.days or len(self.days) != len(self.values) or len(self.forecast) not in (0, len(SHARES)):
            raise ValueError("a figure has a value for each of its days, and five values ahead or none")
        if not all(map(math.isfinite, (*self.values, *self.forecast, *self.levels))):
            raise ValueError("the values of a figure are finite numbers")


def series_figure(leaf: SeriesLeaf, rows: Sequence[Sequence[Mapping[str, Any]]]) -> SeriesFigure:
    """Return the figure of a leaf from the visible rows of its series; the same rows give the same figure."""
    if leaf.embedded:
        series = value_series(
            leaf.claim.series, {ref.id: part for ref, part in zip(leaf.refs, rows, strict=True)}
        )
    else:
        series = value_series(STAND_IN, {STAND_IN: rows[0]})
    steps = _steps_ahead(series, leaf.claim.end)
    drawn = series.iloc[-max(_POINTS, _STRETCHES * steps) :]
    every = -(-len(drawn) // _POINTS)
    drawn = drawn.iloc[::-1].iloc[::every].iloc[::-1]  # counted from the end, so that the last value stays
    bounds = (leaf.claim.level, leaf.claim.upper) if leaf.claim.pattern in _OF_VALUES else ()
    return SeriesFigure(
        days=tuple(day.date().isoformat() for day in drawn.index),
        values=tuple(round(float(value), 6) for value in drawn),
        end=leaf.claim.end.isoformat(),
        forecast=_forecast(series, steps),
        levels=tuple(float(bound) for bound in bounds if bound is not None),
    )


def _steps_ahead(series: pd.Series, end: date) -> int:
    first, last = series.index[0].date(), series.index[-1].date()
    pace = (len(series) - 1) / max((last - first).days, 1)
    ahead: int = round((end - last).days * pace)
    return max(1, ahead)


def _forecast(series: pd.Series, steps: int) -> tuple[float, ...]:
    values = series.to_numpy(dtype=float)
    if len(values) < steps + _FEWEST:
        return ()
    ahead = np.quantile(beside_now(values, steps, "growth")[:, -1], SHARES)
    return tuple(round(float(value), 6) for value in ahead)
