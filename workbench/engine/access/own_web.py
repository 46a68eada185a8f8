"""A person's own look at the web as of a cutoff, outside any run: ``workbench search`` and ``page``, and whoever serves the same.

Calls and replies are kept in the ledgers under a run of their own, ``search``, that no event log belongs to; the raw answers of
engines lie in the raw cache. So every result stands on record with what became of it.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING, Any

from proxies.atomic import replace_file
from proxies.catalogue import Availability
from proxies.ledger import Address, Answer
from workbench.agents.relayed import Relayed
from workbench.engine.access.budget import Budget, BudgetLimits, Spending
from workbench.engine.access.model_gateway import ModelGateway
from workbench.models.base import (
    Asker,
    ModelReply,
    ModelRequest,
    NodeRef,
)
from workbench.models.roles import open_models
from workbench.prompts import PromptSet
from workbench.quoting import Marks
from workbench.search.engines import usable_engines
from workbench.search.leaf_web import LeafWeb, open_web
from workbench.search.leak_filter import Verdicts
from workbench.search.web_options import WebOptions
from workbench.store import ApiLedger, ModelLedger, Store

if TYPE_CHECKING:
    from proxies.asof.clock import Cutoff
    from proxies.broker import Broker
    from workbench.search.base import PageText, SearchAnswer
    from workbench.search.web_calls import WebRecord

#: The run under which a person's searches are kept.
RUN = "search"


@dataclass(slots=True, kw_only=True)
class OwnWeb:
    """A web at a cutoff and the count of looks at it: each look is a step of its own, so that a person gets a fresh answer."""

    web: LeafWeb
    steps: Iterator[int] = field(default_factory=count)

    async def search(self, words: str, k: int) -> tuple[SearchAnswer, list[WebRecord]]:
        """Return what is found, and what became of every result."""
        answer = await self.web.search(words, step=next(self.steps), k=k)
        return answer, self.taken_records()

    async def open_page(self, url: str) -> PageText:
        """Return a page; raises ``ProxyError`` where there is no dated copy or the page is blocked."""
        return await self.web.open_page(url, step=next(self.steps))

    def taken_records(self) -> list[WebRecord]:
        """Return what became of the results since this was asked, and forget it."""
        records = [*self.web.records]
        self.web.records.clear()
        return records


def open_own_web(
    store: Store,
    broker: Broker,
    cutoff: Cutoff,
    *,
    question: str = "",
    options: WebOptions | None = None,
    model: str | None = None,
    api_base: str | None = None,
) -> OwnWeb:
    """Return a web at a cutoff over an open broker. Raises `UsageError`: No model answers to the name."""
    options = options or WebOptions()
    if options.engines is None:
        settings = broker.settings
        setting = Availability.of(settings.keys, cutoff, network=settings.network)
        options = replace(options, engines=usable_engines(broker.catalogue, setting))
    ledger = ApiLedger(store)
    session = broker.session(cutoff, ledger)
    begun = ledger.count(RUN)

    async def call_api(path: str, params: Mapping[str, Any], *, step: int, retry: int = 0) -> Answer:
        return await session.call(path, params, _address("tool", begun + step, retry))

    return OwnWeb(
        web=open_web(
            call_api=call_api,
            ask=own_asker(store, model, api_base) if model else None,
            node=NodeRef(id="-", statement=question),
            cutoff=cutoff,
            options=options,
            verdicts=Verdicts(model=model or "", prompts=own_prompts(store)),
        )
    )


def own_asker(
    store: Store,
    name: str,
    api_base: str | None,
    *,
    run: str = RUN,
    budget_usd: float | None = None,
    spent_usd: float = 0.0,
    prices: Mapping[str, Sequence[float]] | None = None,
) -> Asker:
    """The way to a model by a person's own key, outside any run. What it was asked before, word for word, it is not asked again.

    Raises `UsageError`: No model answers to the name, or a budget is set and the price is not known.
    """
    budget = Budget(BudgetLimits(usd=budget_usd), spent=lambda node: Spending(usd=spent_usd))
    if run != RUN:
        # As messages name whose budget it is; "night" is what a round's stream is called.
        sort, _, stream = run.partition(":")
        budget.run.name = f"{'round' if sort == 'night' else sort} {stream}".strip()
    gateway = ModelGateway(
        open_models(name, api_base=api_base),
        ModelLedger(store),
        budget,
        prices=prices or {},
        # Charged by the person's own prices, and at worst where a kill left a request unanswered. No log belongs to RUN.
        announce=None if run == RUN else store,
    )
    gateway.require_price()

    async def ask(request: ModelRequest, *, stage: str, step: int, retry: int) -> ModelReply:
        digest = hashlib.sha256(f"{request.canonical_hash(name)} {retry}".encode()).digest()
        place = replace(_address(stage, 0, int.from_bytes(digest[:6])), run=run)
        return await gateway.ask(place, request)

    return Relayed(own_prompts(store), ask)


def own_prompts(store: Store) -> PromptSet:
    """Return what is asked with outside any run: today's prompts, and marks of this home, the same at every call."""
    path = store.home / "quote.key"
    if not path.is_file():
        replace_file(path, secrets.token_hex(16).encode(), private=True)
    return PromptSet(marks=Marks(path.read_text(encoding="ascii")))


def _address(stage: str, step: int, retry: int) -> Address:
    return Address(run=RUN, node="-", trial=0, attempt=0, stage=stage, step=step, retry=retry)
