"""Draw the figure of a leaf's proof: the fan of paths after the known past, past windows by year, and the ranks of past outcomes."""

import textwrap
from datetime import date
from typing import Any

import numpy as np

from workbench.forecasts.leaf_forecast import LeafForecast
from workbench.forecasts.past_windows import ClaimWindows

__all__ = ["proof_figure"]

#: Pairs of shares of the bands, the widest first.
_BANDS = (0.05, 0.1, 0.25)
_BLUE, _RED, _GREY = "#1f4e79", "#c0392b", "#7f8c8d"


def proof_figure(
    forecast: LeafForecast, windows: ClaimWindows, *, title: str, unit: str, last_day: date
) -> Any:
    """Draw the figure of a forecast, three panels side by side."""
    import matplotlib.pyplot as plt

    plt.rcParams["text.parse_math"] = False
    figure, (fan, past, ranks) = plt.subplots(1, 3, figsize=(13, 4.2), width_ratios=[3, 2, 2])
    _draw_fan(fan, forecast, unit, last_day)
    _draw_windows(past, forecast, windows)
    ranks.hist(forecast.ranks, bins=10, range=(0.0, 1.0), color="#9bb7d4")
    ranks.axhline(
        len(forecast.ranks) / 10, color=_GREY, linestyle=":", label="even, as of a pool that is right"
    )
    ranks.set_xlabel(f"rank (PIT) of what came, {len(forecast.ranks)} past cutoffs")
    ranks.set_ylabel("past cutoffs")
    for panel in (fan, past, ranks):
        panel.legend(fontsize=8)
        panel.xaxis.label.set_size(9)
    words = f"{title}: p = {forecast.p:.2f}, base rate {windows.base_rate:.2f}"
    figure.suptitle("\n".join(textwrap.wrap(words, 130)), fontsize=11)
    fan.tick_params(axis="x", rotation=25)
    # Not fitted to its words by a trial drawing: that takes half as long as the figure itself.
    figure.subplots_adjust(left=0.06, right=0.99, top=0.89, bottom=0.17, wspace=0.2)
    return figure


def _draw_fan(axes: Any, forecast: LeafForecast, unit: str, last_day: date) -> None:
    paths, reading = forecast.paths, forecast.reading
    past = paths.known.last(max(60, 3 * len(paths.days)))
    days = np.concatenate([paths.known.days[-1:], paths.days])
    axes.plot(past.days, past.values, color=_BLUE, linewidth=1)
    start = paths.last[1]
    # Once for all lines: sorting the paths takes a fourth of the figure's time.
    *pairs, median = paths.quantiles([end for share in _BANDS for end in (share, 1.0 - share)] + [0.5])
    for share, low, high in zip(_BANDS, pairs[::2], pairs[1::2], strict=True):
        axes.fill_between(
            days,
            [start, *low],
            [start, *high],
            color=_BLUE,
            alpha=0.2,
            linewidth=0,
            label=f"{1 - 2 * share:.0%} of paths",
        )
    axes.plot(days, [start, *median], color=_BLUE, linewidth=1.4, label="median")
    axes.axvline(
        np.datetime64(last_day), color="black", linewidth=1, label=f"cutoff (last seen {past.days[-1]})"
    )
    axes.axvline(
        np.datetime64(reading.end), color=_GREY, linestyle=":", linewidth=1.2, label=f"resolves {reading.end}"
    )
    if reading.transformation == "value" and reading.statistic != "volatility":
        for level in (reading.level, reading.upper):
            if level is not None:
                axes.axhline(level, color=_RED, linestyle="--", linewidth=1, label=f"threshold {level:,.6g}")
    axes.set_ylabel(unit)


def _draw_windows(axes: Any, forecast: LeafForecast, windows: ClaimWindows) -> None:
    weeks = np.flatnonzero(windows.outcomes >= 0)
    began = np.datetime64(windows.first, "D") + 7 * weeks.astype("timedelta64[D]")
    years = began.astype("datetime64[Y]").astype(int) + 1970
    hits = windows.outcomes[weeks]
    distinct_years = np.unique(years)
    axes.bar(distinct_years, [hits[years == year].mean() for year in distinct_years], color="#9bb7d4")
    axes.axhline(
        windows.base_rate,
        color=_GREY,
        linestyle=":",
        label=f"base rate {windows.base_rate:.2f} (no part of p)",
    )
    axes.axhline(forecast.p, color=_RED, linestyle="--", linewidth=1, label=f"p {forecast.p:.2f}")
    axes.set_ylim(0.0, 1.05)
    axes.set_xlabel(f"year in which a past window began ({len(weeks)} weekly windows)")
    axes.set_ylabel("share that came true")
