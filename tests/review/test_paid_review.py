"""A model that charges looks at a watched claim: its price is said first, nothing is bought without a yes or above the budget."""

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.openai_server import OpenAIServer, Policy
from workbench.engine import run_settings
from workbench.engine.record.fold import load_state
from workbench.reviews.claim_review import Doors, mark_told, review
from workbench.reviews.review_request import ReviewRequest
from workbench.store import ModelLedger, Store
from workbench.store import events as ev

CUTOFF = "2018-06-27"


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(Policy()) as running:
        yield running


@pytest.fixture
def store(
    tmp_path: Path, watched_claim: Path, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Store]:
    # A run keeps its grounder; here one that was made without a model goes on as if a model had read its data.
    monkeypatch.setattr(run_settings, "CHANGEABLE", {*run_settings.CHANGEABLE, "grounder"})
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    with closing(Store(Path(shutil.copytree(watched_claim, tmp_path / "home")))) as opened:
        (run_id,) = opened.run_ids()
        # From now on a paid model judges: the drivers whose data change are asked of it.
        changes = {"model": "openai/gpt-4o-mini", "api_base": server.url, "grounder": "zero-shot"}
        opened.append(run_id, ev.RunChanged(changes=changes))
        yield opened


def look_after(store: Store, *, agrees: bool = False, **asked: Any) -> tuple[dict[str, Any], list[str]]:
    prices: list[str] = []

    def agree(line: str) -> bool:
        prices.append(line)
        return agrees

    doors = Doors(environ={"OPENAI_API_KEY": "sk-test"}, agrees=agree)
    document = asyncio.run(review(store, ReviewRequest(cutoff=CUTOFF, **asked), doors))
    mark_told(store, document)
    (row,) = document["claims"]
    return row, prices


def test_the_price_comes_first_and_a_no_buys_nothing(store: Store, server: OpenAIServer) -> None:
    row, prices = look_after(store)
    assert (row["status"], row["exit"], row["review"]) == ("priced", 2, None)
    assert len(prices) == 1 and "about $" in prices[0] and "ew data for 1 of 2 drivers" in prices[0]
    assert not server.asked and len(store.run_ids()) == 1


def test_a_budget_below_the_price_buys_nothing(store: Store, server: OpenAIServer) -> None:
    row, prices = look_after(store, budget_usd=1e-7)
    assert (row["status"], row["exit"]) == ("priced", 3) and "over the budget" in row["words"]
    assert not prices and not server.asked


def test_within_the_budget_only_what_changed_is_asked(store: Store, server: OpenAIServer) -> None:
    row, _ = look_after(store, budget_usd=1.0)
    assert row["status"] == "reviewed", row["words"]
    assert {asked.node for asked in server.asked} == {"P2"}
    with closing(Store(store.home)) as again:
        state = load_state(again, row["review"])
        rows = ModelLedger(again).attempts(row["review"])
    assert state.settings.budget_usd == 1.0 and row["cost_usd"] > 0 and {each.node for each in rows} == {"P2"}
    assert row["changes"]["parts"]["leaves"]["P2"]["how"] == "asked"
    count = len(server.asked)
    again_row, _ = look_after(store, budget_usd=1.0)
    assert again_row["status"] == "same" and len(server.asked) == count


def test_a_budget_that_is_used_up_stops_it_and_what_was_paid_stays(
    store: Store, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The price is a forecast: where the answers cost more, the run stops, and a later review goes on with it."""
    monkeypatch.setattr("workbench.reviews.claim_review.price_words", lambda price: "about $0.00")
    priced, _ = look_after(store, changed=True)
    assert priced["status"] == "changed"
    monkeypatch.setattr("workbench.reviews.claim_review.forecast_of", lambda *_, **__: Cheap())
    row, _ = look_after(store, budget_usd=1e-9)
    assert (row["status"], row["exit"]) == ("stopped", 3), row["words"]
    paid = len(server.asked)
    with closing(Store(store.home)) as again:
        again.append(row["review"], ev.RunChanged(changes={"budget_usd": 1.0}))
    later, _ = look_after(store, budget_usd=1.0)
    assert later["status"] == "reviewed" and later["review"] == row["review"]
    keys = [asked.key() for asked in server.asked]
    assert len(set(keys)) == len(keys) >= paid


class Cheap:
    """A forecast that says next to nothing."""

    cost_usd = 1e-12
    model_calls = 1

    def range_of(self, value: float) -> tuple[float, float]:
        return value, value
