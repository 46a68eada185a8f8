"""Undo (readjust guard) what splits and dividends after the cutoff did to earlier prices.

A vendor rescales all earlier bars at every split, so that old levels tell of later splits. Splits after the cutoff
lie after every visible row; they scaled all of them by one and the same factor, and undoing them is one
multiplication. At FMP the last bars before the cutoff, as traded beside as adjusted, tell that prices were rescaled,
and its list of splits by how much: prices are rounded, the ratios on the list are not. Where there is no price as
traded, and at Yahoo, the events alone tell it. The broker reads them and never tells them. Without either the answer
is refused.
"""

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from proxies.asof.clock import Cutoff
from proxies.asof.market_hours import never_splits
from proxies.asof.policies.base import ApiRequest, Lookup, PolicyContext, asked_periods
from proxies.asof.rows import Change
from proxies.asof.share_figures import VALUES, is_number, scaled_fields, share_scaler
from proxies.asof.split_ratio import (
    bar_factor,
    chart_factors,
    closes,
    event_factor,
    places_of,
    rounding_error,
    rows_of,
    total_factor,
)
from proxies.asof.stamps import Stamp, known_from
from proxies.asof.statement_lines import CHART, kind_of_line, line_lookups, line_scaler
from proxies.catalogue.schema import Endpoint, State
from proxies.errors import CutoffRefused

RAW = "fmp/chart/end-of-day/historical-price-eod/non-split-adjusted"
ADJUSTED = "fmp/chart/end-of-day/historical-price-eod/light"
TOTAL = "fmp/chart/end-of-day/historical-price-eod/dividend-adjusted"
SPLITS = "fmp/calendar/splits/splits"
# one bar is enough; three weeks hold some over any run of holidays
_BACK = timedelta(days=21)
_FAR = "2100-01-01"
#: How long a rescaled answer may be kept.
FRESH = timedelta(hours=1)

# which fields scale with the price, which against it
_WITH = frozenset(
    {"open", "high", "low", "close", "price", "vwap", "change", "adjOpen", "adjHigh", "adjLow", "adjClose"}
    | {"sma", "ema", "wma", "dema", "tema", "standardDeviation"}
)
_AGAINST = frozenset({"volume"})


def adjust_lookups(request: ApiRequest, cutoff: Cutoff) -> tuple[Lookup, ...]:
    """Return the lookups of bars and events that prices need."""
    kind = request.as_of.adjust
    if kind in ("", "drop", "state"):
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
    events = {"symbol": symbol, "limit": 1000}
    return (
        *bars,
        # asked whether or not the bars differ: the number of requests would tell that a split is coming
        Lookup(name="events", path=SPLITS, params=events),
        Lookup(
            name="splits",
            path=SPLITS,
            params=events,
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
    """Whether a cached answer is too old to stand beside fresh ones: each split or dividend changes its old rows.

    Rescaled prices and what undoes their scale must stem from one state of the vendor; prices as traded do not age.
    """
    moves = endpoint.as_of.adjust not in ("", "drop", "state") or endpoint.path == SPLITS
    return moves and now - fetched_at > FRESH


def adjuster(context: PolicyContext) -> Change:
    """Return a function that restores a row as of the cutoff; it refuses rows if the factor is unknown."""
    request, cutoff, kind = context.request, context.cutoff, context.as_of.adjust
    if kind in ("", "drop"):
        return unchanged
    if kind == "state":
        state = context.as_of.state
        assert state is not None, "the loader checks that there are fields"
        return market_at(state, cutoff)
    if kind in ("lines", "earnings"):
        per_share = context.as_of.per_share
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
    raw, adjusted = (context.lookups.get(name) for name in ("raw", "adjusted"))
    if kind == "total":
        factor = total_factor(raw, adjusted, cutoff)
    else:
        factor = bar_factor(raw, adjusted, cutoff, context.lookups.get("events"))
        if factor is None:
            factor = event_factor(context.lookups.get("splits"), context.lookups.get("newest"), cutoff)
    if kind == "shares":
        values = [
            row
            for name, rows in context.lookups.items()
            if name.startswith("values:")
            for row in rows_of(rows)
        ]
        return share_scaler(request, factor, values)
    if factor is None:
        return _refuse(request)
    places = places_of(closes(adjusted or context.lookups.get("newest"), cutoff).values())
    return lambda row: scale(row, factor, None if kind == "total" else places)


def unchanged(row: Any) -> Any:
    """Return the row as it is."""
    return row


def _refuse(request: ApiRequest) -> Change:
    """Return a function that refuses any row; an answer without rows needs no factor."""

    def refuse(row: Any) -> Any:
        raise CutoffRefused(
            f"{request.endpoint.path} cannot be computed as of the cutoff: the source gives neither prices as traded nor a list of splits"
        )

    return refuse


def scale(row: Any, factor: float, places: int | None = None) -> Any:
    """Multiply a row's prices and divide its volume.

    ``places`` is to how many places its vendor rounds prices. A full cent that was rounded after the split is told as that cent
    again; without ``places`` nothing is.
    """
    if factor == 1 or not isinstance(row, dict):
        return row
    out = dict(row)
    for name, value in row.items():
        if is_number(value):
            if name in _WITH:
                # a difference of prices is rounded by itself
                decimals = places_of([value]) if places and name == "change" else places
                out[name] = _price(value, factor, decimals)
            elif name in _AGAINST:
                out[name] = round(value / factor)
    return out


def scaled(value: float, factor: float) -> float:
    """Multiply a price by a factor and remove the dust of floating point."""
    return float(f"{value * factor:.10g}")


def _price(value: float, factor: float, places: int | None) -> float:
    price, cent = scaled(value, factor), round(value * factor, 2)
    if places is None or cent == price:
        return price
    # an average among prices has more places than they: what it was rounded to leaves no cent open
    for count in (places, max(places, places_of([value]))):
        if abs(cent - value * factor) > rounding_error(count) * factor + 1e-9:
            return price
    return cent


def _scale_chart(row: Any, splits: float, total: float | None) -> Any:
    out: dict[str, Any] = scale(row, splits)
    if is_number(out.get("amount")):
        out = {**out, "amount": scaled(out["amount"], splits)}
    if "adjclose" in out:
        if total is None:
            return {name: value for name, value in out.items() if name != "adjclose"}
        value = out["adjclose"]
        out = {**out, "adjclose": scaled(value, splits * total) if is_number(value) else None}
    return out


_INSTANT = Stamp(zone=ZoneInfo("UTC"))


def market_at(state: State, cutoff: Cutoff) -> Change:
    """Return a function that sets ``status`` of a market, or of an event's markets, as of the cutoff.

    ``status`` is ``unopened`` (listed, trading had not begun), ``open``, ``past its planned end`` (no end of trading is
    known by the cutoff, the planned one had passed) or ``closed``. A settled market's record says "settled", with its result; what was
    known at the cutoff follows from when it opened and when trading ended. An end after the cutoff is not shown either: exchanges bring
    it forward when the outcome is out.
    """

    def over(value: Any) -> bool | None:
        known_at = known_from(value, _INSTANT)
        return None if known_at is None else cutoff.admits(known_at)

    def status(row: dict[str, Any]) -> str:
        # a record without an end of trading reads like one whose end came later: the difference would tell today's state
        if over(row.get(state.closes)):
            return "closed"
        if over(row.get(state.opens)) is False:
            return "unopened"
        return "past its planned end" if state.planned and over(row.get(state.planned)) else "open"

    def changed(row: Any) -> Any:
        if not isinstance(row, dict):
            return row
        # gone whatever it says: shown only where it lies before the cutoff, its absence would say that the end came later
        out = {name: value for name, value in row.items() if name != state.closes}
        if state.of in row:
            out["status"] = status(row)
        if isinstance(out.get("markets"), list):
            out["markets"] = [changed(market) for market in out["markets"]]
        return out

    return changed
