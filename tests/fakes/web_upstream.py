"""A small web behind emulated vendors: Exa, Brave, GDELT, EDGAR's search, Wikipedia and the Wayback Machine, in process or on loopback.

Pages are stated once, with what each engine says of them; copies of the archive with the second at which they were made.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

from proxies.asof.clock import Cutoff
from proxies.broker import Broker
from proxies.ledger import Address, Answer, MemoryLedger
from tests.fakes.upstream import Seen, Sent
from tests.fakes.upstream_wikipedia import Wiki
from tests.proxies.worlds import WorldTransport, settings, unpaced_broker

ENGINE_SOURCES = ("exa", "brave", "wikipedia", "gdelt", "sec", "wayback", "serper", "tavily", "searxng")


@dataclass(frozen=True, slots=True)
class WebPage:
    """A page as engines see it; ``published`` is their word for its date, None where they have none."""

    url: str
    title: str
    published: str | None
    text: str = ""
    engines: tuple[str, ...] = ("brave",)


@dataclass
class FakeWeb:
    """The vendors' answers. ``copies`` are (fourteen digits, HTML) by address; ``down`` names vendors that answer 503."""

    pages: list[WebPage] = field(default_factory=list)
    copies: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    wiki: Wiki = field(default_factory=Wiki)
    down: set[str] = field(default_factory=set)
    seen: list[Seen] = field(default_factory=list)

    def answer(self, seen: Seen) -> Sent:
        self.seen.append(seen)
        _, source, rest = (seen.path + "/").split("/", 2)
        if source in self.down:
            return Sent({"error": "down"}, 503)
        answers = {
            "exa": self._exa, "brave": self._brave, "gdelt": self._gdelt, "sec": self._sec, "wayback": self._wayback,
            "serper": self._serper, "tavily": self._tavily, "searxng": self._searxng,
        }  # fmt: skip
        if source == "wikipedia":
            return self.wiki(seen)
        return answers[source](rest.rstrip("/"), seen)

    def _of(self, engine: str) -> list[WebPage]:
        return [page for page in self.pages if engine in page.engines]

    def _exa(self, rest: str, seen: Seen) -> Sent:
        return Sent({"results": [_row(p, "publishedDate", "text") for p in self._of("exa")]})

    def _brave(self, rest: str, seen: Seen) -> Sent:
        return Sent(
            {
                "type": "search",
                "web": {"results": [_row(p, "page_age", "description") for p in self._of("brave")]},
            }
        )

    def _gdelt(self, rest: str, seen: Seen) -> Sent:
        rows = [
            {"url": p.url, "title": p.title, "seendate": f"{p.published}T120000Z".replace("-", "")}
            for p in self._of("gdelt")
        ]
        return Sent({"articles": rows})

    def _sec(self, rest: str, seen: Seen) -> Sent:
        hits = [
            {"_id": "0000320193-24-000001:a10k.htm", "_source": {"adsh": "0000320193-24-000001", "form": "10-K", "file_date": p.published, "ciks": ["0000320193"], "file_description": p.title}}
            for p in self._of("sec")
        ]  # fmt: skip
        return Sent({"hits": {"hits": hits}})

    def _serper(self, rest: str, seen: Seen) -> Sent:
        return Sent(
            {
                "organic": [
                    {"link": p.url, "title": p.title, "snippet": p.text, "date": p.published}
                    for p in self._of("serper")
                ]
            }
        )

    def _tavily(self, rest: str, seen: Seen) -> Sent:
        rows = [{**_row(p, "x", "content"), "published_date": format_datetime(datetime.fromisoformat(str(p.published)).replace(tzinfo=UTC), usegmt=True)} for p in self._of("tavily")]  # fmt: skip
        return Sent({"results": rows})

    def _searxng(self, rest: str, seen: Seen) -> Sent:
        return Sent({"results": [_row(p, "publishedDate", "content") for p in self._of("searxng")]})

    def _wayback(self, rest: str, seen: Seen) -> Sent:
        if rest.startswith("cdx"):
            copies = self.copies.get(seen.query["url"], [])
            lines = [
                [when, seen.query["url"], "text/html", "200", f"D{n}"] for n, (when, _) in enumerate(copies)
            ]
            return Sent(
                [["timestamp", "original", "mimetype", "statuscode", "digest"], *lines] if lines else []
            )
        when, _, url = rest.removeprefix("web/").partition("id_/")
        named = {address.rstrip("/"): copies for address, copies in self.copies.items()}
        for stamp, html in named.get(url, []):
            if stamp == when:
                moment = datetime.strptime(when, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
                return Sent(
                    html.encode(),
                    headers={"content-type": "text/html; charset=utf-8", "memento-datetime": format_datetime(moment, usegmt=True)},
                )  # fmt: skip
        return Sent(b"The Wayback Machine has not archived that URL.", 404)


def _row(page: WebPage, stamp: str, text: str) -> dict[str, Any]:
    return {"url": page.url, "title": page.title, stamp: page.published, text: page.text}


class WebDesk:
    """A broker over a small web, as one leaf's ``call_api``; the ledger outlives it, as it does a killed run."""

    def __init__(
        self,
        web: FakeWeb,
        cutoff: str,
        *,
        ledger: MemoryLedger | None = None,
        keys: bool = True,
        sources: tuple[str, ...] = ENGINE_SOURCES,
    ) -> None:
        made = settings("http://web")
        made = made if keys else replace(made, keys={})
        self.broker: Broker = unpaced_broker(made, WorldTransport(web.answer), *sources)
        self.ledger = ledger or MemoryLedger()
        self._session = self.broker.session(Cutoff.parse(cutoff), self.ledger)

    async def __call__(self, path: str, params: Mapping[str, Any], *, step: int, retry: int = 0) -> Answer:
        address = Address(run="r", node="P1", trial=1, attempt=1, stage="tool", step=step, retry=retry)
        return await self._session.call(path, params, address)
