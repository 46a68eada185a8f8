"""The fan of a forecast series, drawn from its document: in characters for a terminal, and as a picture."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from workbench.backtests.series_quantity import SHARES, share_name
from workbench.formatting import figure
from workbench.science.plots import fan_plot


def fan_lines(document: Mapping[str, Any], *, width: int = 60, height: int = 14) -> list[str]:
    """Return the fan chart as lines of text: the known past as dots, the bands of 90, 80 and 50 % as ever darker blocks, the median.

    Parameters
    ----------
    width, height : int
        Characters of the chart without its axis.
    """
    fan, past = document["fan"], document["past"]
    ahead = max(width // 2, 1)
    left = width - ahead
    known = [row["value"] for row in past[-max(2 * len(fan), 20) :]]
    columns = [known[int(place * len(known) / left)] for place in range(left)] if known else []
    steps = [
        fan[min(len(fan) - 1, int((place + 1) * len(fan) / ahead) - 1)]
        if len(fan) >= ahead
        else fan[int(place * len(fan) / ahead)]
        for place in range(ahead)
    ]
    low = min([*columns, *(row["0.05"] for row in steps)])
    high = max([*columns, *(row["0.95"] for row in steps)])
    span = (high - low) or 1.0

    def row_of(value: float) -> int:
        return min(height - 1, max(0, int((high - value) / span * height)))

    grid = [[" "] * width for _ in range(height)]
    for place, value in enumerate(columns):
        grid[row_of(value)][place] = "•"
    for place, quantiles in enumerate(steps, left):
        for share, mark in (("0.05", "░"), ("0.1", "▒"), ("0.25", "▓")):
            other = share_name(1 - float(share))
            for line in range(row_of(quantiles[other]), row_of(quantiles[share]) + 1):
                grid[line][place] = mark
        grid[row_of(quantiles["0.5"])][place] = "█"
    labels = {
        0: figure(high),
        height - 1: figure(low),
        row_of(document["last"]["value"]): figure(document["last"]["value"]),
    }
    margin = max(map(len, labels.values()))
    lines = [
        f"{labels.get(place, ''):>{margin}} │{''.join(cells).rstrip()}" for place, cells in enumerate(grid)
    ]
    end, start = fan[-1]["day"], document["last"]["day"]
    axis = f"{'':{margin}} └{'─' * width}"
    days = f"{'':{margin}}  {'':{max(0, left - 5)}}{start}{end:>{max(0, ahead - 5)}}"
    return [*lines, axis, days, f"{'':{margin}}  ░ 90 %  ▒ 80 %  ▓ 50 %  █ median"]


def fan_figure(document: Mapping[str, Any]) -> Any:
    """Return the fan chart of a document as a matplotlib figure."""
    fan = document["fan"]
    shown = document["past"][-max(3 * len(fan), 60) :]
    days = [date.fromisoformat(document["last"]["day"]), *(date.fromisoformat(row["day"]) for row in fan)]
    last = document["last"]["value"]
    outcome = document["outcome"] and document["outcome"].get("value")
    return fan_plot(
        ([date.fromisoformat(row["day"]) for row in shown], [row["value"] for row in shown]),
        days,
        {share: [last, *(row[share_name(share)] for row in fan)] for share in SHARES},
        title=f"{document['series']} until {fan[-1]['day']}",
        unit=document["unit"],
        outcome=None if not outcome else (days[-1], outcome["value"]),
    )
