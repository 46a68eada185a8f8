"""The market of a question as of a cutoff: last price and asks, asked of its venue through the broker, or as the question states them.

What a question was imported with may be of later: a quote counts only where it says when it stood, or where the question was
asked by then.
"""

from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from proxies.asof.clock import Cutoff
from proxies.errors import ProxyError
from workbench.errors import UsageError
from workbench.questions.market_price import MarketRef, Venue, candle_close, read_price
from workbench.questions.question import Question, Quote, events_of

#: Markets of one question that are asked for; an event with more is quoted as it was imported.
MOST_MARKETS = 20

#: One data call: path, parameters and a number that tells it from the others of its context.
SnapshotCall = Callable[[str, Mapping[str, Any], int], Awaitable[Any]]


async def market_snapshot(
    question: Question, cutoff: Cutoff, call: SnapshotCall
) -> tuple[dict[str, Quote], tuple[tuple[str, str], ...]]:
    """Quotes by event as of the cutoff, and what could not be asked with its reason."""
    events = [event.id for event in events_of(question)]
    tickers = [ticker for ticker in question.extra.get("tickers", "").split("|") if ticker]
    quotes: dict[str, Quote] = {}
    failed: list[tuple[str, str]] = []
    if question.source in ("kalshi", "polymarket") and len(tickers) == len(events) <= MOST_MARKETS:
        venue: Venue = "kalshi" if question.source == "kalshi" else "polymarket"
        for number, (event, ticker) in enumerate(zip(events, tickers, strict=True)):
            try:
                quotes[event] = await _quote(MarketRef(venue=venue, id=ticker), cutoff, call, 2 * number)
            except (UsageError, ProxyError, TimeoutError) as error:
                failed.append((f"{venue}/{ticker}", " ".join(str(error).split()) or "no answer"))
    for event in events:
        if event not in quotes and (stated := _stated(question, event, cutoff)) is not None:
            quotes[event] = stated
    return quotes, tuple(failed)


async def _quote(ref: MarketRef, cutoff: Cutoff, call: SnapshotCall, number: int) -> Quote:
    path, params = ref.rules_call()
    market = await call(path, params, number)
    path, params = ref.price_call(cutoff.instant, market)
    prices = await call(path, params, number + 1)
    price = read_price(ref, market, prices, cutoff.instant)
    yes_ask, no_ask = _asks(prices, price.quoted) if ref.venue == "kalshi" else (None, None)
    stamp = price.quoted.strftime("%Y-%m-%dT%H:%M:%SZ")
    return Quote(last=price.p, yes_ask=yes_ask, no_ask=no_ask, instant=stamp)


def _asks(prices: Any, quoted: datetime) -> tuple[float | None, float | None]:
    """Kalshi's closing asks at an instant; a No share is bought at one minus what is bid for Yes."""
    for row in prices["candlesticks"]:
        if int(row["end_period_ts"]) == int(quoted.timestamp()):
            ask, bid = (_inside(candle_close(row.get(side))) for side in ("yes_ask", "yes_bid"))
            return ask, None if bid is None else round(1 - bid, 6)
    return None, None


def _inside(price: float | None) -> float | None:
    return price if price is not None and 0 < price < 1 else None


def _stated(question: Question, event: str, cutoff: Cutoff) -> Quote | None:
    quote = question.quotes.get(event)
    if quote is not None and (cutoff.live or _by(quote.instant, cutoff)):
        return quote
    crowd = question.crowd.get(event)
    if crowd is not None and question.asked_on and (cutoff.live or _by(question.asked_on, cutoff)):
        return Quote(last=crowd, instant=question.asked_on)
    return None


def _by(stamp: str, cutoff: Cutoff) -> bool:
    """Whether a day or instant lies before the cutoff; a cutoff that is that very day admits what a question was asked with."""
    if not stamp:
        return False
    if stamp == cutoff.text:
        return True
    try:
        moment = datetime.fromisoformat(stamp)
    except ValueError:
        return False
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) < cutoff.instant
