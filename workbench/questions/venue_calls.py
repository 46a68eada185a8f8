"""Asking venues for questions: Kalshi and Polymarket through the broker, as many events as were asked for; Metaculus at its site."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

from proxies.errors import NoSuch
from proxies.vendors.metaculus import MetaculusSite
from workbench.questions.formats import metaculus, venues
from workbench.questions.formats.base import QuestionFile
from workbench.questions.question import QuestionError

VENUES = ("kalshi", "polymarket")
METACULUS = "metaculus"
_MOST_PAGES = 50  # of one series or tag


class BrokerCall(Protocol):
    """One call through the broker: path and parameters in, the answer's data out."""

    def __call__(self, path: str, params: Mapping[str, Any]) -> Awaitable[Any]:
        """Return the data; raises ``proxies.errors.ProxyError``."""
        ...


async def fetch_events(
    call: BrokerCall, venue: str, *, series: Sequence[str] = (), limit: int = 200
) -> QuestionFile:
    """Events of a venue with their markets, as questions.

    Raises `QuestionError`: No such venue, or an answer that holds no events.
    """
    if venue not in VENUES:
        raise QuestionError(f"a venue is one of {', '.join(VENUES)}, not {venue!r:.40}")
    pages: Callable[..., Awaitable[list[Mapping[str, Any]]]] = (
        _kalshi_events if venue == "kalshi" else _polymarket
    )
    events: list[Mapping[str, Any]] = []
    for name in series or (None,):
        events += await pages(call, name, limit)
    return venues.read_kalshi(events) if venue == "kalshi" else venues.read_polymarket(events)


async def fetch_metaculus(site: MetaculusSite, name: str) -> QuestionFile:
    """Open questions of a tournament (its id or slug), or of one post: ``questions/ID``, or an id that no tournament has.

    Raises `ProxyError`: The site has neither, or does not answer.
    """
    name = name.strip("/")
    of_post = name.removeprefix("questions/").partition("/")[0]
    try:
        posts = await (site.open_posts(name) if of_post == name else _posts(site, of_post))
    except NoSuch:
        if of_post != name or not name.isdigit():
            raise
        posts = await _posts(site, name)
    return metaculus.read_questions(posts) if posts else QuestionFile(questions=())


async def _posts(site: MetaculusSite, name: str) -> list[dict[str, Any]]:
    return [await site.post(name)]


async def _kalshi_events(call: BrokerCall, series: str | None, limit: int) -> list[Mapping[str, Any]]:
    events: list[Mapping[str, Any]] = []
    cursor = ""
    for _ in range(_MOST_PAGES):
        params: dict[str, Any] = {"limit": min(200, limit - len(events)), "with_nested_markets": True}
        params |= {"series_ticker": series} if series else {}
        params |= {"cursor": cursor} if cursor else {}
        data = await call("kalshi/events", params)
        page = data.get("events") if isinstance(data, Mapping) else None
        if not isinstance(page, list):
            raise QuestionError("the answer of kalshi/events holds no list of events")
        events += page
        cursor = data.get("cursor") or ""
        if not cursor or not page or len(events) >= limit:
            break
    return events[:limit]


async def _polymarket(call: BrokerCall, tag: str | None, limit: int) -> list[Mapping[str, Any]]:
    events: list[Mapping[str, Any]] = []
    for _ in range(_MOST_PAGES):
        size = min(500, limit - len(events))
        params: dict[str, Any] = {"limit": size, "offset": len(events)}
        params |= {"tag_id": tag} if tag else {}
        page = await call("polymarket/events", params)
        if not isinstance(page, list):
            raise QuestionError("the answer of polymarket/events is no list of events")
        events += page
        if len(page) < size or len(events) >= limit:
            break
    return events[:limit]
