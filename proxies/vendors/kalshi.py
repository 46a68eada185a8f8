"""Ask Kalshi over HTTP; settled markets move to an archive with its own paths."""

from typing import Any
from urllib.parse import quote
from zoneinfo import ZoneInfo

from proxies.asof.clock import parse_instant
from proxies.catalogue.schema import Endpoint
from proxies.errors import NoSuch, ParameterInvalid, SourceRejected, no_answer
from proxies.fetch.cache import RawAnswer
from proxies.fetch.paging import WHOLE
from proxies.fetch.transport import HttpResponse
from proxies.json_text import Fields, Row
from proxies.vendors.base import HttpSource

_ARCHIVE = {
    "kalshi/candlesticks": "historical/markets/{ticker}/candlesticks",
    "kalshi/market": "historical/markets/{ticker}",
    "kalshi/trades": "historical/trades",
    "kalshi/markets": "historical/markets",
}
_MARKETS = "historical/markets"
#: Candles of several markets: the live tier leaves archived ones out, and a market that is missing would tell that it has settled.
_CANDLES = ("kalshi/event-candlesticks", "kalshi/batch-candlesticks")
_LISTS = {"kalshi/markets": "markets", "kalshi/events": "events", "kalshi/trades": "trades"}
_FILTERS = ("series_ticker", "event_ticker", "tickers")
#: Pages of a list. Of the archive no time can be asked for, so that it is read to its end: there, only those count that hold a
#: market of before the cutoff, since how many came later must decide nothing.
_MOST_PAGES = 100
_MOST_ARCHIVED = 2000
_CREATED = "max_created_ts"
UTC = ZoneInfo("UTC")
_PAGE = {"markets": 1000, "events": 200, "trades": 1000}


class KalshiSource(HttpSource):
    """Kalshi over HTTP; it asks live tier and archive itself: a caller who saw which answers would know whether a market has settled."""

    async def fetch(self, endpoint: Endpoint, params: Fields) -> RawAnswer:
        """Return the raw answer: of both tiers for a list, else of the one that has it."""
        limit = params.get(WHOLE)
        plain = {name: value for name, value in params.items() if name != WHOLE}
        if limit and endpoint.path == "kalshi/event":
            return self.answer(await self._event(endpoint, plain))
        if limit:
            return self.answer(await self._list(endpoint, plain, limit))
        if endpoint.path in _CANDLES:
            return self.answer(await self._candles(endpoint, plain))
        return await self._single(endpoint, plain)

    def is_answer(self, endpoint: Endpoint, response: HttpResponse, payload: Any) -> bool:
        """Accept the archive's own forms of markets and candles too."""
        name = "candlesticks" if endpoint.path == "kalshi/batch-candlesticks" else "markets"
        of_archive = (
            endpoint.path in ("kalshi/events", "kalshi/event", *_CANDLES)
            and isinstance(payload, dict)
            and isinstance(payload.get(name), list)
        )
        return of_archive or super().is_answer(endpoint, response, payload)

    async def _single(self, endpoint: Endpoint, params: Fields) -> RawAnswer:
        archive = _ARCHIVE.get(endpoint.path) if endpoint.path != "kalshi/markets" else None
        try:
            payload, body = await self.exchange(endpoint, self.http_request(endpoint, params))
            # the live tier answers for a market that was archived with an empty list, or (below) with "not found"
            rows = (
                payload.get("candlesticks", payload.get("trades", True))
                if isinstance(payload, dict)
                else True
            )
            if rows or archive is None or not params.get("ticker"):
                return RawAnswer(body=body, fetched_at=self._settings.now())
        except NoSuch:
            if archive is None:
                raise
            body = b""
        # the archive's paths have no series
        names = {k: v for k, v in params.items() if k != "series_ticker"}
        try:
            _, old = await self.exchange(endpoint, self.build(endpoint, names, url=archive))
        except NoSuch:
            if not body:
                raise
            old = body
        return RawAnswer(body=old, fetched_at=self._settings.now())

    async def _list(self, endpoint: Endpoint, params: Fields, limit: Any) -> Any:
        """List both tiers: every page, or as many trades as wanted. A row's tier does not show."""
        key = _LISTS[endpoint.path]
        if key != "trades" and not any(params.get(name) for name in _FILTERS):
            raise ParameterInvalid(
                f"{endpoint.path} holds too many rows to look through while a cutoff is set: name a series_ticker"
                + (", an event_ticker or tickers" if key == "markets" else "")
            )
        enough = int(limit) if key == "trades" else None
        if key == "events":
            events = await self._pages(endpoint, params, endpoint.url, key)
            of_series = {"series_ticker": params["series_ticker"]}
            old = await self._pages(endpoint, of_series, _MARKETS, "markets")
            return {"events": _with_markets(events, old, str(params["series_ticker"]))}
        # the exchange knows when a market was created: an hourly series has fifty pages of later ones in a year. Lists that
        # are chosen by event or ticker are short, and are not asked by time beside it
        created = params.get(_CREATED)
        plain = {name: value for name, value in params.items() if name != _CREATED}
        live = params if params.get("series_ticker") else plain
        rows = await self._pages(endpoint, live, endpoint.url, key, enough)
        remaining = (
            None if enough is None else enough - sum(_is_before(row, params.get("max_ts")) for row in rows)
        )
        if remaining is None or remaining > 0:
            rows += await self._pages(endpoint, plain, _ARCHIVE[endpoint.path], key, remaining, until=created)
        if created is not None:
            rows = [row for row in rows if not _is_later(row.get("created_time"), int(created))]
        name = "trade_id" if key == "trades" else "ticker"
        # a market is in one of the tiers, and for a moment in both
        return {key: list({str(row.get(name)): row for row in reversed(rows)}.values())}

    async def _event(self, endpoint: Endpoint, params: Fields) -> Any:
        ticker = str(params["event_ticker"])
        event: Row = {}
        try:
            payload = await self.payload(endpoint, params)
            inner = payload.get("event") if isinstance(payload, dict) else None
            event = dict(inner) if isinstance(inner, dict) else {}
            event.setdefault("markets", payload.get("markets") or [] if isinstance(payload, dict) else [])
        except NoSuch:
            event = {}
        old = await self._pages(endpoint, {"event_ticker": ticker}, _MARKETS, "markets")
        if not event and not old:
            raise no_answer(self.name, endpoint.path)
        return {"event": _with_markets([event or {"event_ticker": ticker}], old, "")[0]}

    async def _candles(self, endpoint: Endpoint, params: Fields) -> Any:
        of_event = endpoint.path == "kalshi/event-candlesticks"
        try:
            payload = await self.payload(endpoint, params)
            candles = _by_market(payload)
        except NoSuch:
            candles = {}
        chosen = {"event_ticker": params["ticker"]} if of_event else {"tickers": params["market_tickers"]}
        old = await self._pages(endpoint, chosen, _MARKETS, "markets")
        # an archive that does not know the choice would answer with all that it holds
        tickers = None if of_event else set(str(params["market_tickers"]).upper().split(","))
        window = {name: params[name] for name in ("start_ts", "end_ts", "period_interval") if name in params}
        for ticker in filter(None, (_ticker(market.get("ticker")) for market in old)):
            if not candles.get(ticker) and (tickers is None or ticker.upper() in tickers):
                url = f"{_MARKETS}/{quote(ticker, safe='')}/candlesticks"
                try:
                    part, _ = await self.exchange(endpoint, self.build(endpoint, window, url=url))
                except NoSuch:
                    continue
                candles[ticker] = part.get("candlesticks") if isinstance(part, dict) else []
        if not candles:
            raise no_answer(self.name, endpoint.path)
        names = sorted(candles)
        if of_event:
            return {"market_tickers": names, "market_candlesticks": [candles[name] or [] for name in names]}
        return {"markets": [{"market_ticker": name, "candlesticks": candles[name] or []} for name in names]}

    async def _pages(
        self,
        endpoint: Endpoint,
        params: Fields,
        url: str,
        key: str,
        enough: int | None = None,
        until: Any = None,
    ) -> list[Row]:
        """Return the rows of all pages of one tier, or the first so many, or those created ``until`` a second.

        No rows where the tier knows nothing of them. Of a list that ends with ``max_ts`` the rows of that second do not count: they
        fall to the filter, and there may be pages of them.
        """
        rows: list[Row] = []
        cursor, pages_left, counted = "", _MOST_PAGES, 0
        for _ in range(_MOST_PAGES if until is None and enough is None else _MOST_ARCHIVED):
            sent = {**params, "limit": _PAGE[key]} | ({"cursor": cursor} if cursor else {})
            try:
                payload, _ = await self.exchange(endpoint, self.build(endpoint, sent, url=url))
            except NoSuch:
                return rows
            if not isinstance(payload, dict):
                raise SourceRejected("kalshi answered with something that is no list of its rows")
            page = [row for row in payload.get(key) or () if isinstance(row, dict)]
            if any(not _is_chosen(row, params) for row in page):
                raise SourceRejected("kalshi does not take this choice of markets: ask for their tickers")
            created = page
            if until is not None:
                created = [row for row in page if not _is_later(row.get("created_time"), int(until))]
            rows += created
            before = sum(_is_before(row, params.get("max_ts")) for row in created)
            counted += before
            pages_left -= bool(before)
            cursor = payload.get("cursor") or ""
            if not cursor or not page or (enough is not None and counted >= enough):
                return rows
            if not pages_left:
                break
        raise ParameterInvalid(
            f"{endpoint.path} has more than {_MOST_PAGES} pages here: name an event_ticker or tickers"
        )


def _is_later(stamp: Any, second: int) -> bool:
    """Whether a market was created after a second: the archive cannot be asked for earlier ones alone."""
    moment = parse_instant(stamp, UTC) if isinstance(stamp, str) else None
    return moment is not None and moment.timestamp() > second


def _is_before(row: Fields, second: Any) -> bool:
    """Whether a row is not of the second with which its list ends, or the list has no end."""
    stamp = row.get("created_time")
    moment = parse_instant(stamp, UTC) if second is not None and isinstance(stamp, str) else None
    return moment is None or moment.timestamp() < int(second)


def _by_market(payload: Any) -> Row:
    if isinstance(payload.get("market_tickers"), list):
        pairs = zip(payload["market_tickers"], payload.get("market_candlesticks") or (), strict=False)
        named = {_ticker(name): candles for name, candles in pairs}
    else:
        rows = [row for row in payload.get("markets") or () if isinstance(row, dict)]
        named = {_ticker(row.get("market_ticker")): row.get("candlesticks") for row in rows}
    return {name: candles for name, candles in named.items() if name}


def _ticker(value: Any) -> str:
    # an object written as text would pass for a name
    return value if isinstance(value, str) else ""


def _is_chosen(row: Fields, params: Fields) -> bool:
    """Whether a market was asked for: a tier that ignores the filter answers with all of them."""
    event, ticker = row.get("event_ticker"), row.get("ticker")
    if params.get("event_ticker") and isinstance(event, str):
        return event == str(params["event_ticker"])
    if params.get("series_ticker") and isinstance(event, str) and isinstance(ticker, str):
        series = str(params["series_ticker"])
        return event == series or event.startswith(f"{series}-")
    return True


def _with_markets(events: list[Row], old: list[Row], series: str) -> list[Row]:
    """Join events with their markets of both tiers, by ticker; an event only in the archive has no title."""
    by_event: dict[str, Row] = {str(event.get("event_ticker")): dict(event) for event in events}
    for market in old:
        name = _ticker(market.get("event_ticker"))
        event = by_event.setdefault(
            name, {"event_ticker": name, **({"series_ticker": series} if series else {})}
        )
        event["markets"] = [*(event.get("markets") or []), market]
    for event in by_event.values():
        listed = [row for row in event.get("markets") or () if isinstance(row, dict)]
        markets = {str(row.get("ticker")): row for row in reversed(listed)}
        event["markets"] = sorted(markets.values(), key=lambda row: str(row.get("ticker")))
    return list(by_event.values())
