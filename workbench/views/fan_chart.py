"""The fan of a forecast series, drawn from its document: in characters for a terminal, as a picture, and as SVG for pages."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from markupsafe import Markup, escape

from workbench.engine.record.series_fan import SHARES
from workbench.formatting import day_words, number, places_of, quoted

#: The quantiles in a document's fan that bound a band.
_BANDS = (("0.05", "0.95"), ("0.1", "0.9"), ("0.25", "0.75"))


def fan_lines(document: Mapping[str, Any], *, width: int = 60, height: int = 14) -> list[str]:
    """Draw the fan chart in characters: the past as dots, the bands of 90, 80 and 50% as ever darker blocks, the median."""
    fan, past = document["fan"], document["past"]
    ahead = max(width // 2, 1)
    left = width - ahead
    values = [row["value"] for row in past[-max(2 * len(fan), 20) :]]
    columns = [values[int(place * len(values) / left)] for place in range(left)] if values else []
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
        for (share, other), mark in zip(_BANDS, "░▒▓", strict=True):
            for line in range(row_of(quantiles[other]), row_of(quantiles[share]) + 1):
                grid[line][place] = mark
        grid[row_of(quantiles["0.5"])][place] = "█"
    labels = {
        row_of(value): quoted(value, places(document)) for value in (high, low, document["last"]["value"])
    }
    margin = max(map(len, labels.values()))
    lines = [
        f"{labels.get(place, ''):>{margin}} │{''.join(cells).rstrip()}" for place, cells in enumerate(grid)
    ]
    end, start = fan[-1]["day"], document["last"]["day"]
    axis = f"{'':{margin}} └{'─' * width}"
    days = f"{'':{margin}}  {'':{max(0, left - 5)}}{start}{end:>{max(0, ahead - 5)}}"
    return [*lines, axis, days, f"{'':{margin}}  ░ 90%  ▒ 80%  ▓ 50%  █ median"]


def quantile_line(quantiles: Mapping[str, float | str], *, width: int = 60) -> str:
    """Draw the forecast of a number or day (ISO) in one line of characters, between its outermost quantiles."""
    places, cells = _places(quantiles), [" "] * width
    for (share, other), mark in zip(_BANDS, "░▒▓", strict=True):
        first, last = (round(places[name] * (width - 1)) for name in (share, other))
        cells[first : last + 1] = mark * (last + 1 - first)
    cells[round(places["0.5"] * (width - 1))] = "█"
    return f"{_value(quantiles['0.05'])} {''.join(cells)} {_value(quantiles['0.95'])}"


def quantile_svg(quantiles: Mapping[str, float | str]) -> Markup:
    """Draw the same as inline SVG; only numbers, days and escaped words go in."""
    places = {share: 4 + 232 * place for share, place in _places(quantiles).items()}
    bands = "".join(
        f'<rect class="band" x="{places[share]:.1f}" y="3" width="{places[other] - places[share]:.1f}" height="14"/>'
        for share, other in _BANDS
    )
    middle, ends = places["0.5"], [_value(quantiles[share]) for share in ("0.05", "0.5", "0.95")]
    words = escape(f"nine in ten between {ends[0]} and {ends[2]}, the median {ends[1]}")
    return Markup(
        f'<svg class="fan" viewBox="0 0 240 20" width="240" height="20" role="img" aria-label="{words}">{bands}'
        f'<line class="median" x1="{middle:.1f}" x2="{middle:.1f}" y1="1" y2="19"/></svg>'
    )


def _places(quantiles: Mapping[str, float | str]) -> dict[str, float]:
    values = {
        share: date.fromisoformat(value).toordinal() if isinstance(value, str) else value
        for share, value in quantiles.items()
    }
    low, span = values["0.05"], values["0.95"] - values["0.05"]
    return {share: (value - low) / span if span > 0 else 0.5 for share, value in values.items()}


def _value(value: float | str) -> str:
    return value if isinstance(value, str) else quoted(value)


def fan_figure(document: Mapping[str, Any]) -> Any:
    """Draw the fan chart with matplotlib; without a fan the past alone, up to the claim's day."""
    from workbench.science.plots import fan_plot

    fan, past, last_day = document["fan"], _shown_past(document), _last_day(document)
    ahead = (
        [document["last"]["day"], *(row["day"] for row in fan)]
        if fan
        else [document["last"]["day"], last_day]
    )
    days = [date.fromisoformat(day) for day in ahead]
    last = document["last"]["value"]
    outcome = document["outcome"] and document["outcome"].get("value")
    return fan_plot(
        ([date.fromisoformat(row["day"]) for row in past], [row["value"] for row in past]),
        days,
        {float(share): [last, *(row[share] for row in fan)] for share in SHARES} if fan else {},
        title=f"{document['series']} until {last_day}",
        unit=document["unit"],
        outcome=None if not outcome else (days[-1], outcome["value"]),
        levels=document.get("levels", ()),
    )


#: Width and height of the drawing, and its margins: left, right, top, bottom.
#: Between two figures beside the axis, also in the larger letters of a narrow page.
_LINE = 18
_WIDTH, _HEIGHT, _MARGINS = 640.0, 250.0, (80.0, 12.0, 10.0, 34.0)


#: What stands in the place of the chart of a claim that has none.
NO_SERIES = "No chart: the claim names no series that can be read here as of its cutoff."


def fan_key(document: Mapping[str, Any]) -> str:
    """Explain the lines and bands of a fan chart, the same under every picture of one."""
    return f"{'Bands: 50%, 80%, 90%. ' if document['fan'] else ''}Dotted line: cutoff."


def places(document: Mapping[str, Any]) -> int:
    """Return with how many decimals the market quotes the series of a document that holds its past."""
    return places_of(row["value"] for row in document["past"])


def _threshold(document: Mapping[str, Any], level: float) -> str:
    """Return a level that a claim names as it names it, one that was computed as markets quote it."""
    return min(number(level), quoted(level, places(document)), key=len)


def fan_words(document: Mapping[str, Any]) -> str:
    """Describe a fan chart in one sentence: its alternative text, and its line in a note of plain text."""

    def day(text: str) -> str:
        return day_words(text)

    def level(value: float) -> str:
        return quoted(value, places(document))

    unit = f" {document['unit']}" if document["unit"] else ""
    if document["fan"]:
        end = document["fan"][-1]
        sentences = [
            f"Forecast of {document['series']} for {day(end['day'])}: median {level(end['0.5'])}, 90% range "
            f"{level(end['0.05'])} to {level(end['0.95'])}{unit}"
        ]
    else:
        last = document["last"]
        sentences = [f"{document['series']} on {day(last['day'])}: {level(last['value'])}{unit}"]
    if levels := document.get("levels"):
        sentences.append(
            f"Threshold of the claim: {' and '.join(_threshold(document, each) for each in levels)}"
        )
    if outcome := (document["outcome"] or {}).get("value"):
        sentences.append(f"Ended at {level(outcome['value'])}")
    return ". ".join(sentences)


def fan_picture(document: Mapping[str, Any]) -> Markup:
    """Draw the fan chart as inline SVG, with its words and its key below."""
    key = Markup('<p class="wb-key">{}. {}</p>').format(fan_words(document), fan_key(document))
    return fan_svg(document) + key


def _shown_past(document: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    fan = document["fan"]
    past: Sequence[Mapping[str, Any]] = document["past"]
    return past[-max(3 * len(fan), 60) :] if fan else past


def _last_day(document: Mapping[str, Any]) -> str:
    """Return the day at which the drawing ends; a claim may be about a day that is known already."""
    fan = document["fan"]
    return str(fan[-1]["day"] if fan else max(document["on"], document["last"]["day"]))


def _ticks(first: int, last: int, floor: float) -> list[str]:
    """Draw five days on the axis, the first and the last of the drawing among them."""
    left, right, _, _ = _MARGINS
    parts = []
    for step, anchor in enumerate(("start", "middle", "middle", "middle", "end")):
        day, place = (
            date.fromordinal(first + (last - first) * step // 4),
            left + (_WIDTH - left - right) * step / 4,
        )
        parts.append(
            f'<line class="tick" stroke="currentColor" stroke-opacity=".4" x1="{place:.1f}" x2="{place:.1f}" y1="{floor:g}" y2="{floor + 4:g}"/>'
            f'<text class="{"between" if step in (1, 3) else ""}" x="{place:.1f}" y="{floor + 16:g}" text-anchor="{anchor}">{day.day} {day:%b %Y}</text>'
        )
    return parts


def fan_svg(document: Mapping[str, Any]) -> Markup:
    """Draw the fan chart as inline SVG: past, cutoff line, bands, median, level, outcome.

    A page colours it by its classes; the colours at the parts are for a notebook's cell, which has no style sheet of ours.
    Without a fan (a run of a language model) the past is drawn alone, up to the claim's day.
    Only numbers of ours and escaped words go in.
    """
    left, right, top, bottom = _MARGINS
    past, last_day = _shown_past(document), _last_day(document)
    fan = [{"day": document["last"]["day"], **dict.fromkeys(SHARES, document["last"]["value"])}, *document["fan"]]  # fmt: skip
    levels, outcome = document.get("levels", ()), (document["outcome"] or {}).get("value")
    values = [row["value"] for row in past] + [row[share] for row in fan for share in ("0.05", "0.95")]
    values += [*levels, *([outcome["value"]] if outcome else [])]
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    first, end = (date.fromisoformat(day).toordinal() for day in (past[0]["day"], last_day))

    def x(day: str) -> float:
        share: float = (date.fromisoformat(day).toordinal() - first) / max(end - first, 1)
        return left + (_WIDTH - left - right) * share

    def y(value: float) -> float:
        place: float = (high - value) / span
        return top + (_HEIGHT - top - bottom) * place

    def line(rows: Sequence[tuple[str, float]]) -> str:
        return " ".join(f"{x(day):.1f},{y(value):.1f}" for day, value in rows)

    cutoff, floor = x(document["last"]["day"]), _HEIGHT - bottom
    parts = [
        f'<polygon class="band" fill="#1d6fb8" fill-opacity=".18" points="{line([*((row["day"], row[upper]) for row in fan), *((row["day"], row[lower]) for row in reversed(fan))])}"/>'
        for lower, upper in _BANDS
        if document["fan"]
    ]
    parts += [
        f'<polyline class="past" fill="none" stroke="currentColor" stroke-width="1.3" points="{line([(row["day"], row["value"]) for row in past])}"/>',
        f'<polyline class="median" fill="none" stroke="#1d6fb8" stroke-width="1.8" points="{line([(row["day"], row["0.5"]) for row in fan])}"/>',
        f'<line class="cutoff" stroke="currentColor" stroke-dasharray="2 3" x1="{cutoff:.1f}" x2="{cutoff:.1f}" y1="{top:g}" y2="{floor:g}"/>',
        f'<text class="between" x="{cutoff:.1f}" y="{_HEIGHT - 4:g}" text-anchor="middle">cutoff</text>',
        *_ticks(first, end, floor),
    ]
    # Where a level's own figure stands there is no room for the end of the axis.
    for value in (low, high):
        if all(abs(y(level) - y(value)) > _LINE for level in levels):
            parts.append(
                f'<text x="{left - 6:g}" y="{y(value) + 4:.1f}" text-anchor="end">{quoted(value, places(document))}</text>'
            )
    for level in levels:
        parts.append(
            f'<line class="level" stroke="#c0392b" stroke-dasharray="6 4" x1="{left:g}" x2="{_WIDTH - right:g}" y1="{y(level):.1f}" y2="{y(level):.1f}"/>'
            f'<text class="level" x="{left - 6:g}" y="{y(level) + 4:.1f}" text-anchor="end">{_threshold(document, level)}</text>'
        )
    if outcome:
        parts.append(
            f'<circle class="came" fill="#b26a00" cx="{x(last_day):.1f}" cy="{y(outcome["value"]):.1f}" r="4.5"/>'
        )
    words = escape(fan_words(document))
    return Markup(
        f'<svg class="fan" viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" font-size="11" fill="currentColor" role="img" aria-label="{words}">{"".join(parts)}</svg>'
    )
