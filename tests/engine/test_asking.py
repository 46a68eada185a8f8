"""A run asks its model through the ledger and under its budget: nothing twice, and nothing after the limit."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.models import ScriptedModel
from workbench.engine.run.asking import Budget, ModelGateway
from workbench.errors import BudgetStop
from workbench.models.base import Message, ModelReply, ModelRequest
from workbench.store import ModelLedger, Store

RUN = "20180630-120000-a1b2"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(tmp_path)
    yield opened
    opened.close()


def priced(cost: float | None) -> ModelReply:
    return ModelReply(text="yes", model="m", cost_usd=cost)


def request(step: int) -> ModelRequest:
    return ModelRequest(
        messages=(Message(role="user", content=f"{step}"),), stage="step", cutoff="2018-06-30"
    )


def gateway(store: Store, model: ScriptedModel, budget: Budget) -> ModelGateway:
    return ModelGateway(model=model, ledger=ModelLedger(store), budget=budget)


@given(cents=st.lists(st.integers(0, 100), min_size=1, max_size=30), limit=st.integers(1, 300))
def test_the_call_after_the_limit_is_reached_is_not_made(cents: list[int], limit: int) -> None:
    """In quarters of a cent, which are exact as floats: reaching the limit is the end, a hair below it is not."""
    budget = Budget(limit=limit / 4)
    spent = 0
    for cent in cents:
        if spent >= limit:
            with pytest.raises(BudgetStop, match="used up"):
                budget.check()
            return
        budget.check()
        budget.add(priced(cent / 4))
        spent += cent


async def test_a_known_price_stops_a_run_at_its_limit_and_keeps_what_was_paid(store: Store) -> None:
    model = ScriptedModel([priced(0.25), priced(0.25)])
    ask = gateway(store, model, Budget(limit=0.5)).asker(run=RUN, node="P1", trial=1, attempt=1)
    for step in range(2):
        await ask(request(step), stage="step", step=step, retry=0)
    with pytest.raises(BudgetStop, match=r"the budget of \$0.5 is used up \(\$0.5000 spent\)"):
        await ask(request(2), stage="step", step=2, retry=0)
    assert len(model.requests) == ModelLedger(store).count(RUN) == 2
    assert ModelLedger(store).cost(RUN) == 0.5


async def test_a_reply_of_the_ledger_costs_nothing_also_when_the_budget_is_used_up(store: Store) -> None:
    first = gateway(store, ScriptedModel([priced(0.5)]), Budget(limit=0.5))
    place = {"stage": "step", "step": 0, "retry": 0}
    reply = await first.asker(run=RUN, node="P1", trial=1, attempt=1)(request(0), **place)  # type: ignore[arg-type]
    model = ScriptedModel()
    later = gateway(store, model, Budget(limit=0.5, spent=0.5))
    again = await later.asker(run=RUN, node="P1", trial=1, attempt=1)(request(0), **place)  # type: ignore[arg-type]
    assert again == reply and not model.requests and later.calls == 0


async def test_an_unknown_price_stops_a_run_under_a_budget_and_no_other(store: Store) -> None:
    place = {"stage": "step", "step": 0, "retry": 0}
    bounded = gateway(store, ScriptedModel([priced(None)]), Budget(limit=5.0))
    with pytest.raises(BudgetStop, match="unknown"):
        await bounded.asker(run=RUN, node="P1", trial=1, attempt=1)(request(0), **place)  # type: ignore[arg-type]
    assert ModelLedger(store).count(RUN) == 1  # it is paid for, so it is on the record
    free = gateway(store, ScriptedModel([priced(None)]), Budget(limit=None))
    await free.asker(run=RUN, node="P2", trial=1, attempt=1)(request(0), **place)  # type: ignore[arg-type]
    assert ModelLedger(store).count(RUN) == 2
