"""How an agent's question reaches the model: ledger first, then the budget, then the wire, then the ledger again."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Protocol, runtime_checkable

from proxies.asof.clock import Cutoff
from proxies.fetch.pacing import Pace
from proxies.ledger import Address
from workbench.agents.asked import day_words, last_day_named, with_words
from workbench.agents.base import KnownContext
from workbench.engine.access.budget import Budget, BudgetLimits, Hold, Spending
from workbench.engine.access.outage import Outage, Timing
from workbench.engine.rebuy import Rebuy, RebuyNeeded, is_paid
from workbench.engine.record.state import RunState
from workbench.errors import Option, UsageError
from workbench.models.base import Model, ModelReply, ModelRequest, ModelRole
from workbench.models.costs import (
    Price,
    longest_reply,
    price_of,
    reasons,
    thinking_room,
    with_sound_usage,
    worst_input_tokens,
)
from workbench.models.errors import ModelError, ModelUnavailable
from workbench.models.model_options import OFFLINE
from workbench.models.roles import model_names, name_for, names_for
from workbench.prompts import TODAY, PromptSet
from workbench.store import Event, ModelLedger, Store
from workbench.store import events as ev
from workbench.store.writer import BatchWriter

#: Seconds for the replies that are under way where the disk is full.
_LAST_REPLIES = 300.0
#: Of a reply without a limit.
_USUAL_TOKENS = 8_000


@runtime_checkable
class ReportsLimits(Protocol):
    """A model whose provider states its limits in headers."""

    def report_limits(self, listener: Callable[[Mapping[str, str]], None]) -> None:
        """Call ``listener`` with the headers of every answer, in lower case."""
        ...


@dataclass(slots=True)
class ModelGateway:
    """The one way from a run's agents to its model; it counts what is paid for."""

    model: Model
    ledger: ModelLedger
    budget: Budget
    #: Models that the run asked in earlier sittings: what they replied is not asked again of another one.
    names: Sequence[str] = ()
    #: A person's own prices per million tokens, by model.
    prices: Mapping[str, Sequence[float]] = field(default_factory=dict)
    #: pace, outage: The limits of the provider, and what is done while it does not answer.
    pace: Pace = field(default_factory=lambda: Pace(1000))
    outage: Outage | None = None
    #: Where a request is put on record before it is sent; None for a model that costs nothing.
    announce: Store | None = None
    #: Writes for a run whose leaves ask side by side; without it each write is a commit of its own.
    writer: BatchWriter | None = None
    #: What agents of the run render with.
    prompts: PromptSet = TODAY
    #: Whether a changed request may be asked at an address where another's reply is on record.
    rebuy: bool = True
    #: What is known of the claim; it stands before every request.
    context: KnownContext = field(default_factory=KnownContext)
    #: Its statement, whose day is the end of each part that names none.
    claim: str = ""
    #: Gives the present, which says on what day a live question is asked.
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    #: Set where a request had changed: nothing more is bought then.
    blocked: RebuyNeeded | None = field(default=None, init=False)
    #: Where this sitting has asked: an agent may ask two things in one place, and then the second is no changed one.
    _met: set[Address] = field(default_factory=set, init=False)
    #: Set where the machine gives no more: nothing more is asked then, and what is under way is waited for.
    out_of_room: BaseException | None = field(default=None, init=False)
    calls: int = field(default=0, init=False)
    _prices: dict[str, Price | None] = field(default_factory=dict, init=False)
    _longest: dict[str, int] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        # The list of prices takes a second to load, so it is looked at only where it decides something.
        if self.budget.needs_price or self.prices:
            self._prices = {name: price_of(name, self.prices) for name in model_names(self.model)}
        if self.budget.bounded:
            self._longest = {name: longest_reply(name) for name in model_names(self.model)}

    def require_price(self) -> None:
        """Raise ``UsageError`` where a limit in dollars cannot be kept; called before the first request of a run."""
        if self.budget.needs_price:
            require_price(model_names(self.model), self.prices)

    def asker(
        self,
        *,
        run: str,
        node: str,
        trial: int,
        attempt: int,
        role: ModelRole | None = None,
        asked_of: str | None = None,
        on_reply: Callable[[Address, ModelReply], None] | None = None,
        renewed: bool = False,
    ) -> "AttemptAsker":
        """Return the asker of one dialogue's place in the run.

        ``role`` says whose model answers, or ``asked_of`` by its name; ``on_reply`` is called with each reply that was paid for, not with recalled ones.
        ``renewed``: a person wanted this asked anew, so what is on record here may be of another request.
        """
        place = Address(run=run, node=node, trial=trial, attempt=attempt)
        return AttemptAsker(self, place, role, asked_of, on_reply, renewed)

    async def ask(
        self,
        address: Address,
        request: ModelRequest,
        *,
        on_reply: Callable[[Address, ModelReply], None] | None = None,
        complete: Callable[[ModelRequest], Awaitable[ModelReply]] | None = None,
        renewed: bool = False,
    ) -> ModelReply:
        """Return the recorded reply at this address, or ask for one and record it before it is used.

        ``complete`` sends the request in place of this gateway's own model: a worker does, with its own keys.

        Raises `BudgetStop`: A limit of the run, or (``LeafBudgetSpent``) of the leaf, would be passed. Raises `ProviderDown`: The provider
        has answered nobody for as long as is allowed. Raises `ModelError`: The model refuses this request, or fails at it while it answers
        others. Raises `RebuyNeeded`: Another request's reply is on record here: what this one is made of has changed since, and nobody has
        allowed to buy it and what follows again.
        """
        request = with_words(request, self.context.lines(root=address.node == "P0").text)
        model_name = name_for(self.model, request)
        digest = request.canonical_hash(model_name)
        recorded = self._recall(address, request, model_name)
        if recorded is None and not self.rebuy and not renewed and address not in self._met:
            self._keep_from_rebuying(address, request)
        self._met.add(address)
        if recorded is not None:
            return recorded

        async def send() -> ModelReply:
            reply = await self._send(address, request, digest, model_name, complete or self.model.complete)
            if on_reply is not None:
                on_reply(address, reply)
            return reply

        # After the ledger, so a resumed run replays what it paid for even with the budget used up or the provider down.
        reply = await (send() if self.outage is None else self.outage.call(send))
        # A model that answers without waiting would otherwise never let another leaf run. A cancellation may come here.
        await asyncio.sleep(0)
        return reply

    def _recall(self, address: Address, request: ModelRequest, model_name: str) -> ModelReply | None:
        if not self.ledger.holds(address):  # most places are new, and a leaf has a dozen of them
            return None
        # The name is a part of the hash. A run that goes on with another model keeps what the first one was paid for.
        names = dict.fromkeys((model_name, *self.names))
        for name in names:
            recorded = self.ledger.recall(address, request.canonical_hash(name))
            if recorded is not None:
                return recorded
        return self.ledger.recall_otherwise(address, request, names)

    def _keep_from_rebuying(self, address: Address, request: ModelRequest) -> None:
        # The filter of web results is exempt: it numbers what it has not judged yet, and finds its verdicts by their content.
        if (
            self.blocked is None
            and request.role != "filter"
            and self.ledger.holds(address)
            and not self._announced(address, request)
        ):
            lost = [*filter(is_paid, self.ledger.following(address))]
            if lost:
                why = f"would ask {address.node} something else than is on record, since what its request is made of has changed"
                self.blocked = Rebuy.of(address.run, why, lost).refusal()
        if self.blocked is not None:
            raise self.blocked

    def _announced(self, address: Address, request: ModelRequest) -> bool:
        """Whether this very request was sent here before and got no reply: too long, refused, or cut off."""
        if self.announce is None:
            return False
        names = (name_for(self.model, request), *self.names)
        places = [_place(address, request.canonical_hash(name)) for name in names]
        asked = self.announce.events(address.run, kinds=("call.asked",))
        return any(stored.event.model_dump(include={*_PLACE, "request_hash"}) in places for stored in asked)

    async def _send(
        self,
        address: Address,
        request: ModelRequest,
        digest: str,
        model_name: str,
        complete: Callable[[ModelRequest], Awaitable[ModelReply]],
    ) -> ModelReply:
        """Send a request once, within the limits of provider and budget, and put its reply on record."""
        names = names_for(self.model, request)
        price, longest = self._worst_price(names), max(self._longest.get(name, 0) for name in names)
        dated = with_day(request, self.context, self.claim, self.clock())
        worst_input = worst_input_tokens(dated)
        async with self.pace.slot(worst_input // 2):
            room = self._thinking_room(names, request.effort)
            hold = await self.budget.reserve(
                address.node,
                address.trial,
                address.stage,
                price=price,
                input_tokens=worst_input,
                output_tokens=(request.max_tokens or longest) + room,
            )
            sent, under_way = self._within(hold, dated, room), False
            room_on_disk = _room_on_disk(dated, hold.output_tokens)
            try:
                if self.writer is not None:
                    self.writer.expect(room_on_disk)
                # On disk before the request is sent, so that a kill cannot hide what it may have cost.
                self._append(
                    address.run,
                    ev.CallAsked(
                        **_place(address, digest),
                        model=model_name,
                        worst_usd=hold.usd if price is not None else None,
                        worst_tokens=hold.input_tokens + hold.output_tokens,
                    ),
                )
                await self._committed()
                if self.out_of_room is not None:
                    raise self.out_of_room
                under_way = True
                reply, cancelled = await self._answer(complete(sent))
            # Every exception, and cancellation: whatever ends a call, its reservation must go, or the budget never frees it.
            except BaseException as error:
                refused = isinstance(error, ModelError | UsageError) and not (
                    isinstance(error, ModelUnavailable) and error.billed
                )
                if under_way and not refused:  # also cancelled, or a bug: it may have been billed
                    self.budget.charge_worst(hold)
                else:
                    self.budget.settle(hold, usd=None, tokens=0, calls=0)
                    unbilled = ev.CallUnbilled(**_place(address, digest), reason=str(error)[:300])
                    self._append(address.run, unbilled)
                raise
            finally:
                if self.writer is not None:
                    self.writer.expect(-room_on_disk)
            if self.announce is not None:
                own = self._prices.get(model_name)
                reply = with_sound_usage(reply, dated, own, own_price=model_name in self.prices)
            # The reply is paid for: no cancellation may come between it and what writes it.
            self._record(address, dated, digest, reply)
            self.calls += 1
            usage = reply.usage
            self.budget.settle(
                hold, usd=reply.cost_usd, tokens=(usage.input_tokens or 0) + (usage.output_tokens or 0)
            )
        if cancelled is not None:
            raise cancelled
        await self._committed()  # with others: the next call need not wait for this one's commit
        return reply

    def _within(self, hold: Hold, request: ModelRequest, room: int) -> ModelRequest:
        """Return the request with a reply no longer than was reserved; ``room`` of it is for thoughts."""
        if not self.budget.bounded or hold.output_tokens == request.max_tokens:
            return request
        # Not a part of the hash: the same address must be found again when a resumed run has more to spend.
        fits = hold.output_tokens > room
        return replace(
            request,
            # The model's client adds the room for thoughts again.
            max_tokens=hold.output_tokens - room if fits else hold.output_tokens,
            effort=request.effort if fits else None,
        )

    def _record(self, address: Address, request: ModelRequest, digest: str, reply: ModelReply) -> None:
        if self.writer is None:
            self.ledger.record(address, request, digest, reply)
        else:
            self.writer.put(
                lambda store: ModelLedger(store).record(address, request, digest, reply), paid=True
            )

    async def _answer(self, call: Awaitable[ModelReply]) -> tuple[ModelReply, asyncio.CancelledError | None]:
        """Return the reply to a call that was sent, and a cancellation that had to wait for it.

        Where the disk is full every other call of the run is cancelled, but their replies are paid for.
        """
        sending = asyncio.ensure_future(call)
        try:
            return await asyncio.shield(sending), None
        except asyncio.CancelledError as error:
            if self.out_of_room is not None or (self.writer is not None and self.writer.full):
                with suppress(asyncio.CancelledError):  # one more cancellation ends the wait
                    await asyncio.wait([sending], timeout=_LAST_REPLIES)
            sending.cancel()
            await asyncio.wait([sending])
            if sending.cancelled() or sending.exception() is not None:
                raise
            return sending.result(), error

    def _thinking_room(self, names: Sequence[str], effort: str | None) -> int:
        """Tokens of thought that no model of these exceeds, where the budget is bounded."""
        if not self.budget.bounded or effort is None:
            return 0
        return max(thinking_room(effort, reasons=reasons(name)) for name in names)

    def _worst_price(self, names: Sequence[str]) -> Price | None:
        """The price that no model of these exceeds; None where one is unknown."""
        prices = [price for name in names if (price := self._prices.get(name)) is not None]
        if len(prices) < len(names):
            return None
        return Price(max(price.input for price in prices), max(price.output for price in prices))

    async def _committed(self) -> None:
        if self.writer is not None:
            await self.writer.committed()

    def _append(self, run_id: str, event: Event) -> None:
        if self.announce is None:
            return
        if self.writer is not None:
            self.writer.put(lambda store: store.append(run_id, event))
        else:
            self.announce.append(run_id, event)


def with_day(
    request: ModelRequest, context: KnownContext, claim: str, now: datetime | None = None
) -> ModelRequest:
    """Return the request with the day on which it is asked, and how many are left.

    Added here and not before the ledger is looked at: a reply of yesterday is found at its address by the same hash.
    """
    cutoff = Cutoff.parse(request.cutoff)
    statements = [node.statement for node in request.nodes[:1]]
    end = last_day_named([*statements, context.horizon.text, claim])
    return with_words(request, day_words(cutoff, cutoff.asked_on(now), end))


def _room_on_disk(request: ModelRequest, output_tokens: int) -> int:
    text = sum(len(message.content.encode()) for message in request.messages)
    return 65_536 + 2 * (text + 6 * (output_tokens or _USUAL_TOKENS))


#: What an event about a request says of its place, beside the hash of the request.
_PLACE = ("node", "trial", "attempt", "stage", "step", "retry")


def _place(address: Address, digest: str) -> dict[str, Any]:
    # Not asdict, which copies what it finds: each request comes by here.
    return {**{name: getattr(address, name) for name in _PLACE}, "request_hash": digest}


def require_price(names: Iterable[str], prices: Mapping[str, Sequence[float]]) -> None:
    """Raise ``UsageError`` for a model whose price nobody knows: a limit in dollars cannot be kept with it."""
    for name in names:
        if price_of(name, prices) is None:
            raise UsageError(
                f"the price of {name} is unknown, so a budget in dollars cannot be kept: state it with ",
                Option("price", f"{name}=IN,OUT"),
                " (US dollars per million input and output tokens), or leave the budget out",
            )


def run_gateway(
    store: Store,
    state: RunState,
    model: Model,
    *,
    on_outage: Callable[[bool, str, float], None] = lambda down, reason, seconds: None,
    timing: Timing | None = None,
    writer: BatchWriter | None = None,
    prompts: PromptSet = TODAY,
    rebuy: bool = True,
) -> ModelGateway:
    """Return the gateway of a run to its model, with the limits of its settings and what it has spent so far."""
    settings, ledger = state.settings, ModelLedger(store)
    free = model_names(model) == (OFFLINE,)
    timing = timing or Timing()
    context = settings.context.as_of(state.parsed_cutoff())
    if settings.options.get("grounder", {}).get("crowd") is False:
        context = replace(context, crowd=None)
    rates = settings.limits.get(model.name.partition("/")[0], {})
    pace = Pace(settings.concurrency, **rates, clock=timing.clock, sleep=timing.sleep)
    if isinstance(model, ReportsLimits):
        model.report_limits(pace.learn)
    where = f" at {settings.api_base}" if settings.api_base else ""
    return ModelGateway(
        model,
        ledger,
        Budget(
            BudgetLimits(usd=settings.budget_usd, tokens=settings.budget_tokens, calls=settings.budget_calls),
            leaf_limits=BudgetLimits(
                usd=settings.leaf_budget_usd,
                tokens=settings.leaf_budget_tokens,
                calls=settings.leaf_budget_calls,
            ),
            spent=lambda node: spending(store, state.run_id, node),
        ),
        names=state.models,
        prices=settings.prices,
        pace=pace,
        outage=Outage(
            f"{model.name}{where}", patience=settings.patience, pace=pace, on_change=on_outage, timing=timing
        ),
        announce=None if free else store,
        writer=writer,
        prompts=prompts,
        rebuy=rebuy or free,
        context=context,
        claim=state.tree.root.statement,
    )


def spending(store: Store, run_id: str, node: str | None = None) -> Spending:
    """Return what a run has spent, or one leaf in its trials; calls that were cut off by a kill are counted at their worst."""
    ledger = ModelLedger(store)
    usd, tokens, answered = ledger.spent(run_id, node)
    open_calls: dict[tuple[object, ...], list[ev.CallAsked]] = {}
    for stored in store.events(run_id, kinds=("call.asked", "call.unbilled")):
        event = stored.event
        assert isinstance(event, ev.CallAsked | ev.CallUnbilled)
        if node is not None and (event.node != node or event.trial == 0):
            continue
        key = tuple(getattr(event, name) for name in (*_PLACE, "request_hash"))
        if isinstance(event, ev.CallAsked):
            open_calls.setdefault(key, []).append(event)
        elif open_calls.get(key):
            open_calls[key].pop()
    if open_calls:
        for place, count in ledger.answered(run_id).items():
            if place in open_calls:
                del open_calls[place][:count]
    lost = [event for events in open_calls.values() for event in events]
    lost_usd = sum(event.worst_usd or 0.0 for event in lost)
    return Spending(
        usd=usd + lost_usd,
        tokens=tokens + sum(event.worst_tokens for event in lost),
        calls=answered + len(lost),
        unanswered=len(lost),
        unanswered_usd=lost_usd,
    )


@dataclass(frozen=True, slots=True)
class AttemptAsker:
    """The ``Asker`` of one agent.

    Agents know only (stage, step, retry); this adapter fills in (run, node, trial, attempt), so the reply is stored and
    replayed under its full ledger address.
    """

    gateway: ModelGateway
    place: Address
    role: ModelRole | None
    asked_of: str | None
    on_reply: Callable[[Address, ModelReply], None] | None
    renewed: bool

    @property
    def prompts(self) -> PromptSet:
        """What the agent renders with."""
        return self.gateway.prompts

    async def __call__(self, request: ModelRequest, *, stage: str, step: int, retry: int) -> ModelReply:
        """Return the model's reply at (run, node, trial, attempt, stage, step, retry)."""
        address = replace(self.place, stage=stage, step=step, retry=retry)
        # An agent may hand a request to another role (a reader, a judge); without a word it is its own.
        if request.role is None:
            request = replace(request, role=self.role, asked_of=self.asked_of)
        return await self.gateway.ask(address, request, on_reply=self.on_reply, renewed=self.renewed)
