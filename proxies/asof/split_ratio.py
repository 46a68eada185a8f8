"""Determine how much a vendor rescaled prices for splits after a cutoff: by its list of splits, of which the last bar tells how many.

`readjust` decides what is looked up and undoes the factor; nothing here fetches or changes a row.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate
from math import inf
from operator import mul
from typing import Any

from proxies.asof.clock import NEW_YORK, Cutoff, parse_day
from proxies.asof.share_figures import is_number
from proxies.json_text import Fields, Row

# vendors compute in binary, some of them in four bytes a number
_DUST = 1e-7
# the ratio of a split that no list tells
_SIMPLE = 20
# a vendor may take some days to rescale its prices
_UNSURE = timedelta(days=5)


@dataclass(frozen=True, slots=True)
class _Ratio:
    """A measured ratio, and the bounds of the true one given the rounding of prices."""

    measured: float
    low: float
    high: float

    def admits(self, value: float | Fraction) -> bool:
        return self.low * (1 - _DUST) <= value <= self.high * (1 + _DUST)


def bar_factor(raw: Any, adjusted: Any, cutoff: Cutoff, events: Any = None) -> float | None:
    """Return the factor that undoes the splits after the cutoff, or None without a day that has both kinds of price.

    `events`: The vendor's splits. A vendor rescales for one after the other, so the factor is the product of those after the cutoff up
    to some day; the last bar tells which. Where none fits, it is the simplest ratio within that bar's rounding error, else the measured
    one: vendors rescale for spin-offs too, which a list need not name.
    """
    ratio = _measured(raw, adjusted, cutoff)
    if ratio is None:
        return None
    products = accumulate(_later(events, cutoff), mul, initial=Fraction(1))
    listed = [product for product in products if ratio.admits(product)]
    if listed:
        return float(listed[-1])
    measured = ratio.measured
    near = Fraction(max(measured, 1 / measured)).limit_denominator(_SIMPLE)
    simple = float(near if measured > 1 else 1 / near)
    return simple if ratio.admits(simple) else measured


def total_factor(raw: Any, adjusted: Any, cutoff: Cutoff) -> float | None:
    """Return the as-traded over the dividend-adjusted close of the last day before the cutoff that has both, or None."""
    ratio = _measured(raw, adjusted, cutoff)
    return None if ratio is None else 1.0 if ratio.admits(1) else ratio.measured


def _measured(raw: Any, adjusted: Any, cutoff: Cutoff) -> _Ratio | None:
    traded, rescaled = closes(raw, cutoff), closes(adjusted, cutoff)
    day = max(traded.keys() & rescaled.keys(), default=None)
    if day is None:
        return None
    above, below = traded[day], rescaled[day]
    above_error, below_error = (rounding_error(places_of(prices.values())) for prices in (traded, rescaled))
    low = max(0.0, above - above_error) / (below + below_error)
    high = (above + above_error) / (below - below_error) if below > below_error else inf
    return _Ratio(above / below, low, high)


def _later(events: Any, cutoff: Cutoff) -> list[Fraction]:
    later = []
    for row in rows_of(events):
        day, ratio = parse_day(str(row.get("date"))), _split_ratio(row)
        if day is not None and ratio is not None and day > cutoff.last_visible_day:
            later.append((day, ratio))
    return [ratio for _, ratio in sorted(later)]


def _split_ratio(row: Fields) -> Fraction | None:
    up, down = row.get("numerator"), row.get("denominator")
    if not (is_number(up) and is_number(down)) or up <= 0 or down <= 0:
        return None
    above, below = (Fraction(part).limit_denominator(10_000) for part in (up, down))
    return above / below if above and below else None


def event_factor(splits: Any, newest: Any, cutoff: Cutoff) -> float | None:
    """Return the factor that undoes a vendor's listed splits after the cutoff, or None if it is unknown.

    `splits`, `newest`: The vendor's split events, and its bars up to the present: only events well before the last bar are surely in its
    prices. A list without a single split of before the cutoff is no evidence that the vendor keeps one for this share: were later splits
    enough, being told at all would say that one came.
    """
    days = [day for row in rows_of(newest) if (day := parse_day(str(row.get("date")))) is not None]
    if not days:
        return None
    factor, listed = Fraction(1), False
    for row in splits if isinstance(splits, list) else ():
        if not isinstance(row, dict):
            return None
        day, ratio = parse_day(str(row.get("date"))), _split_ratio(row)
        if day is None or ratio is None:
            return None
        if day <= cutoff.last_visible_day:
            listed = True
            continue
        if day > max(days) - _UNSURE:
            # announced, just done, or done and its bars cut off the answer: whether the prices know it cannot be told
            return None
        factor *= ratio
    return float(factor) if listed else None


def rounding_error(places: int) -> float:
    """Return the rounding error of a figure with so many places."""
    return 0.5 * 10.0**-places


def places_of(values: Iterable[float]) -> int:
    """Return the decimal places of figures: at least two, else those of the longest."""
    # a float has a finite exponent: NaN and infinity are no JSON
    return max([2, *(-int(Decimal(repr(value)).as_tuple().exponent) for value in values)])


def rows_of(value: Any) -> list[Row]:
    """Return the objects of a list; none for anything else."""
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def closes(rows: Any, cutoff: Cutoff) -> dict[str, float]:
    """Return the closing prices of bars by day, up to the last day visible at a cutoff."""
    out: dict[str, float] = {}
    for row in rows_of(rows):
        day = parse_day(str(row.get("date")))
        if day is None or day > cutoff.last_visible_day:
            continue
        close = next(
            (row[n] for n in ("close", "price", "adjClose") if is_number(row.get(n)) and row[n] > 0), None
        )
        if close is not None:
            out[day.isoformat()] = float(close)
    return out


def chart_factors(payload: Any, cutoff: Cutoff) -> tuple[float | None, float | None]:
    """Return the factor that undoes later splits, and the one that aligns adjclose with the last visible close."""
    results = (payload.get("chart") or {}).get("result") if isinstance(payload, dict) else None
    if not results:
        return None, None
    result = results[0]
    factor = Fraction(1)
    for event in ((result.get("events") or {}).get("splits") or {}).values():
        when, ratio = event.get("date"), _split_ratio(event)
        if not is_number(when) or ratio is None:
            return None, None
        # effective before the cutoff's day began: known and already in everyone's prices
        day = datetime.fromtimestamp(when, tz=UTC).astimezone(NEW_YORK).date()
        if day > cutoff.last_visible_day:
            factor *= ratio
    return float(factor), _total(result, cutoff)


def _total(result: Fields, cutoff: Cutoff) -> float | None:
    indicators = result.get("indicators") or {}
    prices = ((indicators.get("quote") or [{}])[0]).get("close") or []
    adjusted = ((indicators.get("adjclose") or [{}])[0]).get("adjclose") or []
    best: float | None = None
    for stamp, close, adj in zip(result.get("timestamp") or [], prices, adjusted, strict=False):
        if not (is_number(stamp) and is_number(close) and is_number(adj)) or adj <= 0:
            continue
        if datetime.fromtimestamp(stamp, tz=UTC).astimezone(NEW_YORK).date() <= cutoff.last_visible_day:
            best = close / adj
    return best
