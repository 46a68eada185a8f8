"""A leaf's web over a small emulated one, with scripted models."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from proxies.asof.clock import Cutoff
from proxies.ledger import MemoryLedger
from tests.fakes.web_upstream import FakeWeb, WebDesk
from workbench.models.base import ModelReply, ModelRequest, NodeRef
from workbench.search.leaf_web import LeafWeb, open_web
from workbench.search.leak_filter import Verdicts
from workbench.search.web_options import WebOptions

CUTOFF = "2024-06-01"
QUESTION = "The Fed cuts its rate by 2024-09-30"
Opener = Callable[..., LeafWeb]
Scripted = str | Callable[[ModelRequest], str]


@dataclass(frozen=True, slots=True)
class Call:
    """One ask, with its address."""

    request: ModelRequest
    stage: str
    step: int
    retry: int


class ScriptedReader:
    """An ``Asker`` for the filter and the reader: replies off a queue, and no two asks at one address."""

    def __init__(self, *replies: Scripted) -> None:
        self.replies = list(replies)
        self.calls: list[Call] = []

    async def __call__(self, request: ModelRequest, *, stage: str, step: int, retry: int) -> ModelReply:
        call = Call(request, stage, step, retry)
        assert stage == request.stage and not any(
            (other.stage, other.step, other.retry) == (stage, step, retry) for other in self.calls
        )
        self.calls.append(call)
        assert self.replies, "the script ran out"
        scripted = self.replies.pop(0)
        return ModelReply(text=scripted(request) if callable(scripted) else scripted, model="scripted")


@pytest.fixture
async def leaf_web() -> Any:
    desks: list[WebDesk] = []

    def open_it(
        web: FakeWeb,
        *,
        cutoff: str = CUTOFF,
        ask: ScriptedReader | None = None,
        ledger: MemoryLedger | None = None,
        keys: bool = True,
        verdicts: Verdicts | None = None,
        question: str = QUESTION,
        **options: Any,
    ) -> LeafWeb:
        desk = WebDesk(web, cutoff, ledger=ledger, keys=keys)
        desks.append(desk)
        return open_web(
            call_api=desk, ask=ask, node=NodeRef(id="P1", statement=question), cutoff=Cutoff.parse(cutoff),
            options=WebOptions(**options), verdicts=verdicts,
        )  # fmt: skip

    yield open_it
    for desk in desks:
        await desk.broker.aclose()
