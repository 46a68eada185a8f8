"""The readjust guard: undoing what splits and dividends after the cutoff did to earlier prices.

A vendor rescales all earlier bars at every split, so that old levels tell of later splits. Splits after the cutoff
lie after every visible row; they scaled all of them by one and the same factor, and undoing them is one
multiplication. The factor comes from the last bars before the cutoff, as traded beside as adjusted (FMP), else from
the split events themselves, which the broker reads and never tells (Yahoo; FMP where it has no price as traded).
Without either the answer is refused.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from statistics import median
from typing import Any, TypeGuard

from proxies.asof.clock import NEW_YORK, Cutoff, parse_day
from proxies.asof.market_hours import never_splits
from proxies.asof.market_status import market_at
from proxies.asof.policies.base import ApiRequest, Lookup, PolicyContext, asked_periods
from proxies.asof.share_figures import VALUES, scaled_fields, share_scaler
from proxies.asof.statement_lines import CHART, kind_of_line, line_lookups, line_scaler
from proxies.catalogue.loader import Endpoint
from proxies.errors import CutoffRefused

RAW = "fmp/chart/end-of-day/historical-price-eod/non-split-adjusted"
ADJUSTED = "fmp/chart/end-of-day/historical-price-eod/light"
TOTAL = "fmp/chart/end-of-day/historical-price-eod/dividend-adjusted"
SPLITS = "fmp/calendar/splits/splits"
# the last three bars are enough (`bar_factor`); three weeks hold them over any run of holidays
_BACK = timedelta(days=21)
_FAR = "2100-01-01"
# a vendor may take some days to rescale its prices
_UNSURE = timedelta(days=5)
#: How long a rescaled answer may be kept.
FRESH = timedelta(hours=1)

# which fields scale with the price, which against it
_WITH = frozenset(
    {"open", "high", "low", "close", "price", "vwap", "change", "adjOpen", "adjHigh", "adjLow", "adjClose"}
    | {"sma", "ema", "wma", "dema", "tema", "standardDeviation"}
)
_AGAINST = frozenset({"volume"})


def adjust_lookups(request: ApiRequest, cutoff: Cutoff) -> tuple[Lookup, ...]:
    """The bars and events that must be read before prices can be told."""
    kind = request.endpoint.as_of.adjust
    if cutoff.live or kind in ("", "drop", "state"):
        return ()
    if kind == "lines" and not any(map(kind_of_line, str(request.params["type"]).split(","))):
        return ()
    if kind in ("chart", "actions", "lines", "earnings"):
        first = int((cutoff.instant - _BACK).timestamp())
        # the later events are read inside the broker only; rounded to days so that equal questions share an answer
        ahead = int(datetime(2100, 1, 1, tzinfo=UTC).timestamp())
        compared = line_lookups(request, cutoff) if kind == "lines" else ()
        return (
            *compared,
            Lookup(
                name="chart",
                path=CHART,
                params={
                    "symbol": request.params["symbol"], "period1": first // 86400 * 86400, "period2": ahead,
                    "interval": "1d", "events": "div,splits",
                },
                needed=True,
            ),
        )  # fmt: skip
    if kind == "prices" and never_splits(str(request.params["symbol"])):
        return ()
    last = cutoff.last_visible_day
    symbol, since = request.params["symbol"], (last - _BACK).isoformat()
    window = {"symbol": symbol, "from": since, "to": last.isoformat()}
    bars: tuple[Lookup, ...] = (
        Lookup(name="raw", path=RAW, params=window),
        Lookup(name="adjusted", path=TOTAL if kind == "total" else ADJUSTED, params=window),
    )
    if kind == "total":
        # the events tell of splits only: what later dividends did cannot be undone with them
        return bars
    if kind == "shares" and request.endpoint.path != VALUES:
        bars += tuple(
            Lookup(
                name=f"values:{period}",
                path=VALUES,
                params={"symbol": symbol, "period": period, "limit": 1000},
            )
            for period in asked_periods(request)
        )
    # a list that cannot be looked into is a failure, not a price without a scale; a statement is told without its shares, since
    # the plans of many do not have these lists
    last_resort = kind == "prices"
    return (
        *bars,
        Lookup(
            name="splits",
            path=SPLITS,
            params={"symbol": symbol, "limit": 1000},
            unless=("raw", "adjusted"),
            needed=last_resort,
        ),
        # past every bar there is: the last one's day says up to when the vendor's prices know of splits
        Lookup(
            name="newest",
            path=ADJUSTED,
            params={**window, "to": _FAR},
            unless=("raw", "adjusted"),
            needed=last_resort,
        ),
    )


def aged(endpoint: Endpoint, fetched_at: datetime, now: datetime) -> bool:
    """Whether a kept answer is too old to stand beside fresh ones, since each split or dividend changes its old rows.

    Rescaled prices and what undoes their scale must stem from one state of the vendor; prices as traded do not age.
    """
    moves = endpoint.as_of.adjust not in ("", "drop", "state") or endpoint.path == SPLITS
    return moves and now - fetched_at > FRESH


def adjuster(request: ApiRequest, cutoff: Cutoff, context: PolicyContext) -> Callable[[Any], Any]:
    """A function from a row to the row as it read at the cutoff; it refuses rows if the factor cannot be known."""
    kind = request.endpoint.as_of.adjust
    if cutoff.live or kind in ("", "drop"):
        return unchanged
    if kind == "state":
        state = request.endpoint.as_of.state
        assert state is not None, "the loader checks that there are fields"
        return market_at(state, cutoff)
    if kind in ("lines", "earnings"):
        per_share = request.endpoint.as_of.per_share
        undo, _ = chart_factors(context.lookups.get("chart"), cutoff)
        if kind == "lines":
            return line_scaler(context.lookups, undo)
        return lambda row: scaled_fields(row, per_share, undo)
    if kind in ("chart", "actions"):
        splits, total = chart_factors(context.lookups.get("chart"), cutoff)
        if splits is None:
            return _refuse(request)
        return lambda row: _scale_chart(row, splits, total)
    if kind == "prices" and never_splits(str(request.params["symbol"])):
        return unchanged
    factor = bar_factor(
        context.lookups.get("raw"), context.lookups.get("adjusted"), cutoff, snap=kind != "total"
    )
    if factor is None and kind != "total":
        factor = event_factor(context.lookups.get("splits"), context.lookups.get("newest"), cutoff)
    if kind == "shares":
        values = [
            row for name, rows in context.lookups.items() if name.startswith("values:") for row in _rows(rows)
        ]
        return share_scaler(request, factor, values)
    if factor is None:
        return _refuse(request)
    return lambda row: scale(row, factor)


def unchanged(row: Any) -> Any:
    """The row as it is."""
    return row


def _refuse(request: ApiRequest) -> Callable[[Any], Any]:
    """A function that refuses any row. An answer without rows never calls it, and needs no factor."""

    def refuse(row: Any) -> Any:
        raise CutoffRefused(
            f"{request.endpoint.path} cannot be told as of the cutoff: there is neither an as-traded price beside it nor a list of splits to undo later ones"
        )

    return refuse


def scale(row: Any, factor: float) -> Any:
    """A row with its prices multiplied and its volume divided."""
    if factor == 1 or not isinstance(row, dict):
        return row
    out = dict(row)
    for name, value in row.items():
        if _number(value):
            if name in _WITH:
                out[name] = scaled(value, factor)
            elif name in _AGAINST:
                out[name] = round(value / factor)
    return out


def scaled(value: float, factor: float) -> float:
    """A price times a factor, without the dust of floating point."""
    return float(f"{value * factor:.10g}")


def bar_factor(raw: Any, adjusted: Any, cutoff: Cutoff, *, snap: bool) -> float | None:
    """As-traded over adjusted close on the last days before the cutoff, or None where no day has both.

    Parameters
    ----------
    raw, adjusted : lists of rows
        As the upstream gives them.
    snap : bool
        Split ratios are simple fractions: take the nearest one, so that rounding in the prices does no harm.
    """
    left, right = _closes(raw, cutoff), _closes(adjusted, cutoff)
    days = sorted(set(left) & set(right))[-3:]
    if not days:
        return None
    # a split among these days changes the as-traded level: only the last day's ratio holds at the cutoff
    ratios = [left[day] / right[day] for day in days]
    factor = ratios[-1] if max(ratios) > 1.02 * min(ratios) else median(ratios)
    if not snap:
        return 1.0 if abs(factor - 1) < 1e-6 else factor
    # prices are rounded to cents: half a percent is rounding, not a split
    if abs(factor - 1) < 0.005:
        return 1.0
    near = Fraction(factor if factor > 1 else 1 / factor).limit_denominator(20)
    simple = float(near) if factor > 1 else 1 / float(near)
    # no simple ratio lies near (a spin-off counted as a split, say): the measured factor stands
    return simple if abs(simple / factor - 1) < 0.005 else factor


def event_factor(splits: Any, newest: Any, cutoff: Cutoff) -> float | None:
    """What undoes the splits that a vendor's list dates after the cutoff, or None where that cannot be known.

    Parameters
    ----------
    splits, newest : lists of rows
        The vendor's split events, and its bars up to the present: only events well before the last bar are surely in its
        prices. A list without a single split of before the cutoff is no evidence that the vendor keeps one for this share: were
        later splits enough, being told at all would say that one came.
    """
    days = [day for row in _rows(newest) if (day := parse_day(str(row.get("date")))) is not None]
    if not days:
        return None
    factor, listed = Fraction(1), False
    for row in splits if isinstance(splits, list) else ():
        if not isinstance(row, dict):
            return None
        day, up, down = parse_day(str(row.get("date"))), row.get("numerator"), row.get("denominator")
        if day is None or not (_number(up) and _number(down)) or up <= 0 or down <= 0:
            return None
        if day <= cutoff.last_visible_day:
            listed = True
            continue
        if day > max(days) - _UNSURE:
            # announced, just done, or done and its bars cut off the answer: whether the prices know it cannot be told
            return None
        factor *= Fraction(up).limit_denominator(10_000) / Fraction(down).limit_denominator(10_000)
    return float(factor) if listed else None


def _rows(value: Any) -> list[dict[str, Any]]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _closes(rows: Any, cutoff: Cutoff) -> dict[str, float]:
    out: dict[str, float] = {}
    for row in rows if isinstance(rows, list) else ():
        day = parse_day(str(row.get("date"))) if isinstance(row, dict) else None
        if day is None or day > cutoff.last_visible_day:
            continue
        close = next(
            (row[n] for n in ("close", "price", "adjClose") if _number(row.get(n)) and row[n] > 0), None
        )
        if close is not None:
            out[day.isoformat()] = float(close)
    return out


def chart_factors(payload: Any, cutoff: Cutoff) -> tuple[float | None, float | None]:
    """What undoes later splits, and what scales adjclose so that it meets the close on the last visible day."""
    results = (payload.get("chart") or {}).get("result") if isinstance(payload, dict) else None
    if not results:
        return None, None
    result = results[0]
    factor = Fraction(1)
    for event in ((result.get("events") or {}).get("splits") or {}).values():
        when, up, down = event.get("date"), event.get("numerator"), event.get("denominator")
        if not (_number(when) and _number(up) and _number(down)) or up <= 0 or down <= 0:
            return None, None
        # effective before the cutoff's day began: known and already in everyone's prices
        day = datetime.fromtimestamp(when, tz=UTC).astimezone(NEW_YORK).date()
        if day > cutoff.last_visible_day:
            factor *= Fraction(up).limit_denominator(10_000) / Fraction(down).limit_denominator(10_000)
    return float(factor), _total(result, cutoff)


def _total(result: Mapping[str, Any], cutoff: Cutoff) -> float | None:
    """Close over adjclose on the last day visible at the cutoff: undoes later dividends."""
    indicators = result.get("indicators") or {}
    closes = ((indicators.get("quote") or [{}])[0]).get("close") or []
    adjusted = ((indicators.get("adjclose") or [{}])[0]).get("adjclose") or []
    best: float | None = None
    for stamp, close, adj in zip(result.get("timestamp") or [], closes, adjusted, strict=False):
        if not (_number(stamp) and _number(close) and _number(adj)) or adj <= 0:
            continue
        if datetime.fromtimestamp(stamp, tz=UTC).astimezone(NEW_YORK).date() <= cutoff.last_visible_day:
            best = close / adj
    return best


def _scale_chart(row: Any, splits: float, total: float | None) -> Any:
    out: dict[str, Any] = scale(row, splits)
    if _number(out.get("amount")):
        out = {**out, "amount": scaled(out["amount"], splits)}
    if "adjclose" in out:
        if total is None:
            return {name: value for name, value in out.items() if name != "adjclose"}
        value = out["adjclose"]
        out = {**out, "adjclose": scaled(value, splits * total) if _number(value) else None}
    return out


def _number(value: Any) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
