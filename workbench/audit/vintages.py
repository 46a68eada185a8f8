"""The revisions of a series: the first print of each period beside the value known at the cutoff, and their plot."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from html import escape
from operator import itemgetter
from typing import Any

from markupsafe import Markup

_WIDTH, _HEIGHT, _MARGIN = 560.0, 170.0, 42.0
#: Periods in a plot; a longer series shows its last ones.
MOST_PERIODS = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class Vintage:
    """One period of a series: a value of it, the day on which that one was published, and the last before the cutoff."""

    period: date
    #: Its first value within the vintages that were asked for, or the one of a day.
    value: float
    known: date
    last: float
    last_known: date


def vintages_of(rows: Sequence[Any] | None) -> tuple[Vintage, ...]:
    """Return each period's first and last value, oldest period first; empty unless some period was published twice.

    ``rows`` are those of an answer; only rows with ``date``, ``realtime_start`` and a number as ``value`` count, which is how FRED
    states a vintage.
    """
    by_period = _states(rows)
    if not any(len({published for published, _ in states}) > 1 for states in by_period.values()):
        return ()
    return tuple(_vintage(period, states[0], states[-1]) for period, states in by_period.items())


def publication_days(rows: Sequence[Any] | None) -> list[date]:
    """Return the days on which an answer's values were published, the newest first."""
    return sorted({day for states in _states(rows).values() for day, _ in states}, reverse=True)


def values_known(rows: Sequence[Any] | None, day: date) -> list[Vintage]:
    """Return the values known at the end of a day, the newest period first; later periods are left out."""
    listed = []
    for period, states in _states(rows).items():
        if until := [state for state in states if state[0] <= day]:
            listed.append(_vintage(period, until[-1], states[-1]))
    return listed[::-1]


_State = tuple[date, float]


def _vintage(period: date, state: _State, last: _State) -> Vintage:
    return Vintage(period=period, value=state[1], known=state[0], last=last[1], last_known=last[0])


def _states(rows: Sequence[Any] | None) -> dict[date, list[_State]]:
    """Days and values as published, by period; both in the order of days."""
    by_period: dict[date, list[_State]] = {}
    for row in rows or ():
        try:
            period, published = (date.fromisoformat(row[name]) for name in ("date", "realtime_start"))
            if math.isfinite(value := float(row["value"])):
                by_period.setdefault(period, []).append((published, value))
        # A missing value is a dot at FRED; what is no vintage is left out.
        except (KeyError, TypeError, ValueError, IndexError):
            continue
    return {period: sorted(states, key=itemgetter(0)) for period, states in sorted(by_period.items())}


def vintage_words(vintages: Sequence[Vintage]) -> str:
    """Describe the plot in words, its alternative text: how many periods, how many revised, the largest revision."""
    revised = [vintage for vintage in vintages if vintage.value != vintage.last]
    line = (
        f"{len(vintages)} periods from {vintages[0].period} to {vintages[-1].period}, first print in colour"
    )
    if not revised:
        return f"{line}; none was revised before the cutoff"
    most = max(revised, key=lambda vintage: abs(vintage.last - vintage.value))
    return (
        f"{line}, the value known at the cutoff in grey; {len(revised)} were revised, {most.period} most, from {most.value:g}"
        f" ({most.known}) to {most.last:g} ({most.last_known})"
    )


def vintage_plot(vintages: Sequence[Vintage], manifest: str = "") -> Markup:
    """Draw the plot as inline SVG: the first print as the line, the revised values greyed; it names the run's manifest.

    Its numbers are ours to format and its words are escaped; nothing of a vendor's text is in it.
    """
    drawn = vintages[-MOST_PERIODS:]
    values = [value for vintage in drawn for value in (vintage.value, vintage.last)]
    low, high = min(values), max(values)
    spread = (high - low) or 1.0
    days = max(1, (drawn[-1].period - drawn[0].period).days)

    def point(period: date, value: float) -> str:
        x = _MARGIN + (_WIDTH - 2 * _MARGIN) * (period - drawn[0].period).days / days
        y = _HEIGHT - 24 - (_HEIGHT - 44) * (value - low) / spread
        return f"{x:.1f},{y:.1f}"

    first = " ".join(point(vintage.period, vintage.value) for vintage in drawn)
    last = " ".join(point(vintage.period, vintage.last) for vintage in drawn)
    dots = "".join(
        f'<circle cx="{place.partition(",")[0]}" cy="{place.partition(",")[2]}" r="2.4" fill="#9aa5b1"/>'
        for vintage in drawn
        if vintage.value != vintage.last
        for place in (point(vintage.period, vintage.last),)
    )
    words = escape(vintage_words(vintages), quote=True)
    text = 'font-size="10" fill="#667583" font-family="sans-serif"'
    return Markup(
        f'<svg class="vintages" viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" role="img" aria-label="{words}" width="100%">'
        f"<title>{words}</title>"
        f'<polyline points="{last}" fill="none" stroke="#9aa5b1" stroke-width="1.4"/>{dots}'
        f'<polyline points="{first}" fill="none" stroke="#1d6fb8" stroke-width="1.8"/>'
        f'<text x="2" y="20" {text}>{high:g}</text><text x="2" y="{_HEIGHT - 24:g}" {text}>{low:g}</text>'
        f'<text x="{_MARGIN:g}" y="{_HEIGHT - 6:g}" {text}>{drawn[0].period}</text>'
        f'<text x="{_WIDTH - _MARGIN:g}" y="{_HEIGHT - 6:g}" text-anchor="end" {text}>{drawn[-1].period}</text>'
        f'<text x="{_WIDTH / 2:g}" y="12" text-anchor="middle" {text}>first print, revised in grey'
        f"{'; manifest ' + escape(manifest) if manifest else ''}</text></svg>"
    )
