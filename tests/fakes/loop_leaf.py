"""A leaf for an agent loop without an engine: a scripted model, a web in memory, data from a dictionary."""

import asyncio
from collections.abc import Mapping
from typing import Any

from proxies.asof.clock import Cutoff
from proxies.errors import Refused
from proxies.ledger import Answer
from tests.fakes.leaf import FakeGuide
from workbench.agents.base import AgentSettings, LeafTask
from workbench.models.base import Model, ModelReply, ModelRequest, NodeRef
from workbench.search.base import FoundPage, PageText, SearchAnswer

CUTOFF = Cutoff.parse("2018-06-30")
NODE = NodeRef(id="P1", statement="The committee raises its target before 2018-12-31")


class MemoryWeb:
    """Two results to every search, their pages, and what was asked, in order."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.at_once = self._now = 0

    async def search(self, words: str, *, step: int, k: int = 10, retry: int = 0) -> SearchAnswer:
        await self._wait("search", words)
        results = tuple(
            FoundPage(id=f"R{n}", url=f"https://example.org/{n}", title=f"{words} {n}", published="2018-06-01", text=f"snippet {n}")
            for n in (1, 2)
        )  # fmt: skip
        return SearchAnswer(words=words, results=results, answers=(f"sha256:{words}",))

    async def open_page(self, url: str, *, step: int, retry: int = 0) -> PageText:
        await self._wait("open_page", url)
        if "blocked" in url:
            raise Refused("this address settles questions")
        return PageText(
            id="x", url=url, title="A page", published="2018-06-02", text="its text", source="archive"
        )

    async def _wait(self, what: str, of: str) -> None:
        self.asked.append((what, of))
        self._now += 1
        self.at_once = max(self.at_once, self._now)
        await asyncio.sleep(0)
        self._now -= 1


class AskedModel:
    """An ``Asker`` over a model; two asks at one address fail the test."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.addresses: list[tuple[str, int, int]] = []
        self.requests: list[ModelRequest] = []

    async def __call__(self, request: ModelRequest, *, stage: str, step: int, retry: int) -> ModelReply:
        assert (stage, step, retry) not in self.addresses
        self.addresses.append((stage, step, retry))
        self.requests.append(request)
        return await self.model.complete(request)


def leaf(
    ask: Any, *, cutoff: Cutoff = CUTOFF, rows: Mapping[str, Any] | None = None, **more: Any
) -> LeafTask:
    async def call_api(path: str, params: Mapping[str, Any], *, step: int, retry: int = 0) -> Answer:
        if rows is None or path not in rows:
            raise Refused(f"no endpoint has the path {path}")
        return Answer(data=rows[path], meta={"content_hash": f"sha256:{path}", "as_of": "2018-06-29"})

    async def no_notebook() -> Any:
        raise AssertionError("no notebook is opened here")

    parts = {"open_notebook": no_notebook, "data": FakeGuide(), "settings": AgentSettings(), **more}
    return LeafTask(node=NODE, cutoff=cutoff, ask=ask, call_api=call_api, **parts)
