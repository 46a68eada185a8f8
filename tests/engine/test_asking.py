"""A run asks its model through the ledger and under its budget: nothing twice, and nothing past a limit."""

import asyncio
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.models import ScriptedModel
from workbench.engine.access.budget import FLOORS, Budget, BudgetLimits, LeafBudgetSpent, Spending
from workbench.engine.access.model_gateway import ModelGateway, spending
from workbench.errors import BudgetStop, UsageError
from workbench.models.base import Message, ModelReply, ModelRequest, Usage
from workbench.models.costs import (
    CACHED_IN_FULL,
    ESTIMATED,
    Price,
    price_of,
    with_sound_usage,
    worst_input_tokens,
)
from workbench.models.errors import ModelRefused, ModelUnavailable
from workbench.store import ModelLedger, Store

# A stream beside the runs: unlike one of those it needs no event that begins it.
RUN = "study:s"
PRICES = {"scripted": [1.0, 10.0]}  # US dollars per million tokens


def reply(tokens_in: int = 100, tokens_out: int = 50, **more: Any) -> ModelReply:
    return ModelReply(
        text="yes", model="m", usage=Usage(input_tokens=tokens_in, output_tokens=tokens_out), **more
    )


def request(step: int, **more: Any) -> ModelRequest:
    return ModelRequest(
        messages=(Message(role="user", content=f"{step}"),), stage="step", cutoff="2018-06-30", **more
    )


def gateway(store: Store, model: ScriptedModel, budget: Budget, **more: Any) -> ModelGateway:
    return ModelGateway(
        model=model, ledger=ModelLedger(store), budget=budget, prices=PRICES, announce=store, **more
    )


def place(step: int) -> dict[str, Any]:
    return {"stage": "step", "step": step, "retry": 0}


class Provider(ScriptedModel):
    """Answers after some turns of the loop with as many tokens as it is allowed to, or fewer; keeps count."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.draw = random.Random(seed)
        self.tokens = self.calls = 0
        self.usd = 0.0
        self.limits_sent: list[int] = []

    async def complete(self, request: ModelRequest) -> ModelReply:
        assert request.max_tokens is not None
        self.limits_sent.append(request.max_tokens)
        for _ in range(self.draw.randrange(5)):
            await asyncio.sleep(0)
        share = self.draw.choice([0.02, 0.1, 0.5, 1.0])
        usage = Usage(
            input_tokens=self.draw.randrange(1, worst_input_tokens(request) + 1),
            output_tokens=max(1, int(share * request.max_tokens)),
        )
        assert usage.input_tokens is not None and usage.output_tokens is not None
        self.calls += 1
        self.tokens += usage.input_tokens + usage.output_tokens
        self.usd += usage.input_tokens * 1e-6 + usage.output_tokens * 1e-5
        return ModelReply(text="yes", model="m", usage=usage)


LIMITS: list[Callable[[int], BudgetLimits]] = [
    lambda size: BudgetLimits(usd=size * 0.004),
    lambda size: BudgetLimits(tokens=size * 400),
    lambda size: BudgetLimits(calls=size),
    lambda size: BudgetLimits(usd=size * 0.004, tokens=size * 400, calls=size),
]


@settings(max_examples=50)  # a store and up to 120 calls each
@given(seed=st.integers(0, 10_000), size=st.integers(1, 60), kind=st.integers(0, 3), side=st.integers(1, 20))
def test_no_limit_is_passed_by_calls_side_by_side(
    tmp_path_factory: pytest.TempPathFactory, seed: int, size: int, kind: int, side: int
) -> None:
    limits = LIMITS[kind](size)
    store = Store(tmp_path_factory.mktemp("budget"), durable=False)
    provider = Provider(seed)

    async def leaf(number: int, asking: ModelGateway) -> None:
        ask = asking.asker(run=RUN, node=f"P{number}", trial=1, attempt=1)
        for step in range(6):
            await ask(request(step), **place(step))

    async def run() -> None:
        asking = gateway(store, provider, Budget(limits))
        ended = await asyncio.gather(*(leaf(n, asking) for n in range(1, side + 1)), return_exceptions=True)
        assert all(end is None or isinstance(end, BudgetStop) for end in ended)

    try:
        asyncio.run(run())
    finally:
        store.close()
    assert provider.usd <= (limits.usd or provider.usd) + 1e-9
    assert provider.tokens <= (limits.tokens or provider.tokens)
    assert provider.calls <= (limits.calls or provider.calls)
    assert all(sent >= FLOORS["step"] for sent in provider.limits_sent)


async def test_a_reply_is_shortened_to_what_fits_and_found_again_with_more_to_spend(store: Store) -> None:
    """The shortened limit is no part of the address: a resumed run must not buy the reply again."""
    model = ScriptedModel([reply()])
    tight = gateway(store, model, Budget(BudgetLimits(tokens=2000)))
    first = await tight.asker(run=RUN, node="P1", trial=1, attempt=1)(request(0), **place(0))
    (sent,) = model.requests
    assert sent.max_tokens is not None and FLOORS["step"] <= sent.max_tokens < 2000
    rich = gateway(store, ScriptedModel(), Budget(BudgetLimits(tokens=10**6)))
    assert await rich.asker(run=RUN, node="P1", trial=1, attempt=1)(request(0), **place(0)) == first


async def test_the_limit_of_a_leaf_stops_that_leaf_alone(store: Store) -> None:
    model = ScriptedModel([reply(), reply()])
    asking = gateway(store, model, Budget(leaf_limits=BudgetLimits(calls=1)))
    for node in ("P1", "P2"):
        await asking.asker(run=RUN, node=node, trial=1, attempt=1)(request(0), **place(0))
    with pytest.raises(LeafBudgetSpent, match="driver P1"):
        await asking.asker(run=RUN, node="P1", trial=1, attempt=1)(request(1), **place(1))


async def test_a_reply_of_the_ledger_costs_nothing_also_when_the_budget_is_used_up(store: Store) -> None:
    first = gateway(store, ScriptedModel([reply()]), Budget(BudgetLimits(calls=1)))
    answer = await first.asker(run=RUN, node="P1", trial=1, attempt=1)(request(0), **place(0))
    model = ScriptedModel()
    later = gateway(store, model, Budget(BudgetLimits(calls=1), spent=lambda node: Spending(calls=1)))
    again = await later.asker(run=RUN, node="P1", trial=1, attempt=1)(request(0), **place(0))
    assert again == answer and not model.requests and later.calls == 0


async def test_another_model_keeps_what_the_first_was_paid_for(store: Store) -> None:
    first = gateway(store, ScriptedModel([reply()]), Budget())
    answer = await first.asker(run=RUN, node="P1", trial=1, attempt=1)(request(0), **place(0))
    other = ScriptedModel(name="other")
    later = gateway(store, other, Budget(), names=("scripted",))
    assert await later.asker(run=RUN, node="P1", trial=1, attempt=1)(request(0), **place(0)) == answer
    assert not other.requests


def test_an_unknown_price_is_refused_before_the_first_call_and_a_stated_one_is_taken(store: Store) -> None:
    model = ScriptedModel()
    unknown = ModelGateway(model, ModelLedger(store), Budget(BudgetLimits(usd=5.0)))
    with pytest.raises(UsageError, match=r"--price scripted=IN,OUT"):
        unknown.require_price()
    gateway(store, model, Budget(BudgetLimits(usd=5.0))).require_price()
    ModelGateway(model, ModelLedger(store), Budget(BudgetLimits(tokens=5))).require_price()


async def test_a_call_that_was_cut_off_is_charged_at_its_worst_in_the_next_sitting(store: Store) -> None:
    hang = asyncio.Event()

    class Silent(ScriptedModel):
        async def complete(self, request: ModelRequest) -> ModelReply:
            self.requests.append(request)
            hang.set()
            await asyncio.Event().wait()
            raise AssertionError

    asking = gateway(store, Silent(), Budget(BudgetLimits(usd=1.0)))
    task = asyncio.ensure_future(asking.asker(run=RUN, node="P1", trial=1, attempt=1)(request(0), **place(0)))
    await hang.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    lost = spending(store, RUN)
    assert lost.unanswered == lost.calls == 1 and lost.tokens > 0
    assert lost.usd == lost.unanswered_usd == pytest.approx(asking.budget.run.usd) and lost.usd > 0
    # Asked again and answered, the first is still lost: the provider may have billed both.
    again = gateway(store, ScriptedModel([reply()]), Budget(BudgetLimits(usd=1.0), spent=lambda node: lost))
    await again.asker(run=RUN, node="P1", trial=1, attempt=1)(request(0), **place(0))
    after = spending(store, RUN)
    assert (after.unanswered, after.calls) == (1, 2)
    assert after.usd == pytest.approx(lost.usd + 100e-6 + 50e-5)


@pytest.mark.parametrize(
    ("error", "unanswered"),
    [
        (ModelRefused("no"), 0),
        (ModelUnavailable("busy", rate_limited=True), 0),
        (ModelUnavailable("silent", billed=True), 1),
    ],
)
async def test_what_was_refused_costs_nothing_and_what_was_lost_its_worst(
    store: Store, error: Exception, unanswered: int
) -> None:
    asking = gateway(store, ScriptedModel([error]), Budget(BudgetLimits(usd=1.0)))
    with pytest.raises(type(error)):
        await asking.asker(run=RUN, node="P1", trial=1, attempt=1)(request(0), **place(0))
    spent = spending(store, RUN)
    assert (spent.unanswered, spent.calls) == (unanswered, unanswered)
    assert (spent.usd > 0) == (unanswered > 0) and not asking.budget.run.held
    assert asking.budget.run.usd == pytest.approx(spent.usd)


@pytest.mark.parametrize(
    "usage",
    [
        Usage(),
        Usage(input_tokens=0, output_tokens=0),
        Usage(input_tokens=-5, output_tokens=-7),
        Usage(input_tokens=10),
    ],
)
def test_usage_that_cannot_be_is_estimated_and_flagged(usage: Usage) -> None:
    """A limit that believed it would never be reached."""
    raw = ModelReply(text="the quick brown fox " * 20, model="m", usage=usage, cost_usd=0.0)
    sound = with_sound_usage(raw, request(0), Price(1e-6, 1e-5))
    assert ESTIMATED in sound.notes
    assert (sound.usage.input_tokens or 0) > 0 and 40 <= (sound.usage.output_tokens or 0) <= 200
    assert sound.cost_usd is not None and sound.cost_usd > 0


def test_usage_that_can_be_stays_as_it_was_reported() -> None:
    raw = ModelReply(text="yes", model="m", usage=Usage(input_tokens=3, output_tokens=1), cost_usd=0.25)
    assert with_sound_usage(raw, request(0), Price(1.0, 1.0)) == raw
    silent = ModelReply(text="", model="m", usage=Usage(input_tokens=3, output_tokens=0), cost_usd=0.1)
    assert with_sound_usage(silent, request(0), None) == silent
    own = with_sound_usage(raw, request(0), Price(2.0, 1.0), own_price=True)
    assert own.cost_usd == 7.0


def test_cached_input_has_a_price_of_its_own_or_is_priced_in_full_and_that_is_said() -> None:
    usage = Usage(input_tokens=1000, output_tokens=10, cached_tokens=800)
    raw = ModelReply(text="yes", model="m", usage=usage, cost_usd=None)
    stated = price_of("openai/mine", {"openai/mine": [2.0, 10.0, 0.5]})
    # 200 x 2 + 800 x 0.5 + 10 x 10 = 900 millionths of a dollar
    assert with_sound_usage(raw, request(0), stated).cost_usd == pytest.approx(900e-6)
    assert with_sound_usage(raw, request(0), stated).notes == ()
    full = with_sound_usage(raw, request(0), price_of("openai/mine", {"openai/mine": [2.0, 10.0]}))
    assert full.cost_usd == pytest.approx(2100e-6)
    assert full.notes == (CACHED_IN_FULL,)
