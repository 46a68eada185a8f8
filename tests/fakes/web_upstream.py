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
from tests.fakes.upstream import SHAPES, Seen, Sent, fill
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

    def holes(self) -> dict[str, Any]:
        """What an engine's row says of the page, its day in the forms that engines write."""
        stated = {"url": self.url, "title": self.title, "text": self.text, "day": self.published}
        return {**stated, "compact": f"{self.published}T120000Z".replace("-", ""), "mailed": self._mailed}

    def _mailed(self) -> str:
        return format_datetime(datetime.fromisoformat(str(self.published)).replace(tzinfo=UTC), usegmt=True)


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
        if source == "wikipedia":
            return self.wiki(seen)
        if source == "wayback":
            return self._wayback(rest.rstrip("/"), seen)
        shape = SHAPES[f"web/{source}"]
        rows = [fill(shape["item"], page.holes()) for page in self.pages if source in page.engines]
        return Sent(fill(shape["answer"], {"rows": rows}))

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
