"""Figures of proofs that no cell draws: a dated line with what is measured against it, as SVG and in words."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 640, 260, 64, 24, 34, 34
_INK, _FAINT, _MARK = "#1f4e79", "#9fb8d0", "#a23b00"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """A dated line."""

    #: title, words: Above the figure, and what it shows for whoever does not see it.
    title: str
    words: str
    #: Oldest first; days are ordinal numbers, parts of a day as decimals.
    points: Sequence[tuple[float, float]]
    #: Levels across the whole width.
    marks: Sequence[tuple[float, str]] = ()
    #: The day on which the fan stands.
    end: float | None = None
    #: Its five values, lowest first.
    fan: Sequence[float] = ()
    #: low, high: Bounds of the vertical axis; None: those of what is drawn.
    low: float | None = None
    high: float | None = None


def svg_of(drawing: Drawing) -> str:
    """Return the drawing as SVG; the same drawing gives the same text, and its label says what it shows."""
    heights = [
        *(value for _, value in drawing.points),
        *(value for value, _ in drawing.marks),
        *drawing.fan,
    ]
    low = min(heights) if drawing.low is None else drawing.low
    high = max(heights) if drawing.high is None else drawing.high
    first = drawing.points[0][0]
    last = max(drawing.points[-1][0], drawing.end or drawing.points[-1][0])
    span, height = max(last - first, 1e-9), max(high - low, 1e-9)

    def across(day: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (day - first) / span

    def up(value: float) -> float:
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * (value - low) / height

    label = html.escape(drawing.words, quote=True)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{label}" '
        'font-family="sans-serif" font-size="11">',
        f"<title>{label}</title>",
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        f'<text x="{_LEFT}" y="18">{html.escape(drawing.title)}</text>',
    ]
    for value in (low, (low + high) / 2, high):
        lines.append(
            f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{up(value):.1f}" y2="{up(value):.1f}" stroke="#ddd"/>'
            f'<text x="{_LEFT - 6}" y="{up(value) + 4:.1f}" text-anchor="end">{value:.4g}</text>'
        )
    if drawing.fan and drawing.end is not None:
        start = f"{across(drawing.points[-1][0]):.1f},{up(drawing.points[-1][1]):.1f}"
        edge = f"{across(drawing.end):.1f}"
        for below, above in ((0, 4), (1, 3)):
            lines.append(
                f'<polygon points="{start} {edge},{up(drawing.fan[above]):.1f} {edge},{up(drawing.fan[below]):.1f}" '
                f'fill="{_FAINT}" fill-opacity="0.5"/>'
            )
        lines.append(
            f'<polyline points="{start} {edge},{up(drawing.fan[2]):.1f}" fill="none" stroke="{_INK}" stroke-dasharray="4 3"/>'
        )
    path = " ".join(f"{across(day):.1f},{up(value):.1f}" for day, value in drawing.points)
    lines.append(f'<polyline points="{path}" fill="none" stroke="{_INK}" stroke-width="1.5"/>')
    for value, words in drawing.marks:
        lines.append(
            f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{up(value):.1f}" y2="{up(value):.1f}" stroke="{_MARK}" '
            f'stroke-dasharray="2 3"/><text x="{_LEFT + 4}" y="{up(value) - 4:.1f}" fill="{_MARK}">{html.escape(words)}</text>'
        )
    for day, anchor in ((first, "start"), (last, "end")):
        lines.append(
            f'<text x="{across(day):.1f}" y="{_HEIGHT - 14}" text-anchor="{anchor}">{day_of(day)}</text>'
        )
    lines.append("</svg>")
    return "\n".join(lines)


def day_of(ordinal: float) -> str:
    """Return the ISO day of an ordinal number."""
    return date.fromordinal(int(ordinal)).isoformat()
