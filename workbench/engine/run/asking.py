"""How an agent's question reaches the model: ledger first, then the budget, then the wire, then the ledger again."""

import asyncio
from dataclasses import dataclass, field

from proxies.ledger import Address
from workbench.errors import BudgetStop
from workbench.models.base import Model, ModelReply, ModelRequest
from workbench.store import ModelLedger


@dataclass(slots=True)
class Budget:
    """US dollars a run may cost; ``limit`` of None is no budget.

    A reply of unknown price under a budget stops the run: a limit that cannot be kept is not kept silently.
    """

    limit: float | None
    spent: float = 0.0

    def check(self) -> None:
        """Raise ``BudgetStop`` when nothing is left."""
        if self.limit is not None and self.spent >= self.limit:
            raise BudgetStop(f"the budget of ${self.limit:g} is used up (${self.spent:.4f} spent)")

    def add(self, reply: ModelReply) -> None:
        """Add the price of a reply; raises ``BudgetStop`` if there is a limit and the price is unknown."""
        if reply.cost_usd is not None:
            self.spent += reply.cost_usd
        elif self.limit is not None:
            raise BudgetStop(
                f"the price of {reply.model} is unknown, so the budget of ${self.limit:g} cannot be kept:"
                " resume without --budget-usd, or with a model whose price LiteLLM knows"
            )


@dataclass(slots=True)
class ModelGateway:
    """The one way from a run's agents to its model; it counts what is paid for."""

    model: Model
    ledger: ModelLedger
    budget: Budget
    calls: int = field(default=0, init=False)

    def asker(self, *, run: str, node: str, trial: int, attempt: int) -> "AttemptAsker":
        """Return the asker of one dialogue's place in the run."""
        return AttemptAsker(self, run, node, trial, attempt)

    async def ask(self, address: Address, request: ModelRequest) -> ModelReply:
        """Return the recorded reply at this address, or ask for one and record it before it is used."""
        digest = request.canonical_hash(self.model.name)
        recorded = self.ledger.recall(address, digest)
        if recorded is not None:
            return recorded
        # After the ledger, so a resumed run replays what it paid for even with the budget used up. Leaves side by side may
        # all pass here before one of them is charged: a limit can be overrun by the requests that are under way.
        self.budget.check()
        reply = await self.model.complete(request)
        # The reply is paid for: no cancellation may come between it and the ledger.
        # Recorded before it is charged: add() may stop the run, and the reply must be on the ledger by then.
        self.ledger.record(address, request, digest, reply)
        self.calls += 1
        self.budget.add(reply)
        # A model that answers without waiting would otherwise never let another leaf run. A cancellation may come here.
        await asyncio.sleep(0)
        return reply


@dataclass(frozen=True, slots=True)
class AttemptAsker:
    """The ``Asker`` of one agent.

    Agents know only (stage, step, retry); this adapter fills in (run, node, trial, attempt), so the reply is stored and
    replayed under its full ledger address.
    """

    gateway: ModelGateway
    run: str
    node: str
    trial: int
    attempt: int

    async def __call__(self, request: ModelRequest, *, stage: str, step: int, retry: int) -> ModelReply:
        """Return the model's reply at (run, node, trial, attempt, stage, step, retry)."""
        address = Address(
            run=self.run,
            node=self.node,
            trial=self.trial,
            attempt=self.attempt,
            stage=stage,
            step=step,
            retry=retry,
        )
        return await self.gateway.ask(address, request)
