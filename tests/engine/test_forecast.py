"""The range of a forecast holds what runs do take; its error is said at the end."""

from types import SimpleNamespace
from typing import Any

import pytest

from proxies.asof.clock import Cutoff
from workbench.engine.expected_cost import analysis_calls, cost_line, error_line, forecast, forecast_of
from workbench.engine.run_settings import RunSettings, with_preset
from workbench.models.costs import forecast_cost
from workbench.propositions import Tree

PRICES = {"openai/x": [1.0, 4.0]}


def planned(tree: Tree, settings: RunSettings) -> Any:
    """As much of a run's state as a forecast reads."""
    return SimpleNamespace(
        tree=tree, settings=settings, news=None, parsed_cutoff=lambda: Cutoff.parse("2018-06-30")
    )


def test_more_leaves_make_the_range_narrower_and_a_free_model_has_none() -> None:
    few, many = (forecast_cost("openai/x", leaves=n, inner=1, prices=PRICES).spread for n in (1, 100))
    assert many < few
    assert forecast_cost("offline/analyst", leaves=9, inner=3).spread == 1.0


def test_every_role_is_forecast_at_its_own_price() -> None:
    """Two leaves and one inner node; 7.9 calls a leaf to the grounder's model, one to the synthesizer's."""
    roles = {"grounder": "openai/dear", "synthesizer": "openai/x", "analyzer": "openai/unpriced"}
    prices = PRICES | {"openai/dear": [10.0, 40.0]}
    mixed = forecast_cost("openai/unpriced", leaves=2, inner=1, prices=prices, roles=roles)
    dear = forecast_cost("openai/dear", leaves=2, inner=0, prices=prices)
    cheap = forecast_cost("openai/x", leaves=0, inner=1, prices=prices)
    assert mixed.cost_usd is not None and dear.cost_usd is not None and cheap.cost_usd is not None
    assert abs(mixed.cost_usd - (dear.cost_usd + cheap.cost_usd)) < 1e-12
    assert mixed.input_tokens == dear.input_tokens + cheap.input_tokens
    # By hand: each leaf asks 7.9 times, first 1,900 and then 1,000 + 680 tokens more each time, 7.9 x 1,900 + 1,680 x 7.9 x 6.9 / 2 =
    # 60,798.4, at $10; 2 x 7.9 replies of 1,000 at $40; 6,000 at $1, 1,000 at $4.
    assert abs(mixed.cost_usd - (121_596.8 * 1e-5 + 15_800 * 4e-5 + 0.006 + 0.004)) < 1e-9
    # With a price of its own for what comes out of the cache, all but 1,900 + 6.9 x 1,680 tokens of a leaf's input have that price.
    cached = forecast_cost("openai/x", leaves=2, inner=0, prices={"openai/x": [10.0, 40.0, 1.0]})
    assert cached.cost_usd is not None
    fresh = 2 * (1_900 + 6.9 * 1_680)
    assert abs(cached.cost_usd - (fresh * 1e-5 + (121_596.8 - fresh) * 1e-6 + 15_800 * 4e-5)) < 1e-9
    # Replies of half the length, and the calls of a grounder whose definition says how many they are.
    short = forecast_cost("openai/x", leaves=2, inner=0, prices=PRICES, reply_tokens=500)
    assert short.output_tokens == 7_900
    once = forecast_cost("openai/x", leaves=2, inner=0, prices=PRICES, grounder="belief", calls_per_leaf=1)
    assert (once.model_calls, once.input_tokens, once.output_tokens) == (2, 9_800, 2_000)
    # One price that nobody knows makes the sum unknown; a role that is free leaves the other's price.
    assert forecast_cost("openai/x", leaves=2, inner=1, prices=PRICES, roles=roles).cost_usd is None
    free = forecast_cost("openai/x", leaves=2, inner=1, prices=PRICES, roles={"grounder": "offline/analyst"})
    assert free.cost_usd == cheap.cost_usd and free.model_calls == 11


EVENT, FIGURE, SERIES, OPEN = (
    "Ann Chair resigns by 2025-06-30", "Retail sales grow by 3 % in 2025", "The S&P 500 closes above 2700 on 2018-09-28",
    "The programme is a success in 2025",
)  # fmt: skip


def calls_of(*statements: str, **settings: Any) -> int:
    leaves = {f"P{n}": statement for n, statement in enumerate(statements, 1)}
    tree = Tree.root_only("It holds").expand("P0", leaves)
    run = with_preset(settings.pop("preset", "product"), model="openai/x", prices=PRICES, **settings)
    state: Any = planned(tree, run)
    return forecast(state).model_calls


def test_auto_is_priced_by_what_it_would_choose() -> None:
    assert calls_of(SERIES, grounder="auto") == 1, "its series asks no model; the rule does"
    assert calls_of(EVENT, grounder="auto") == 1 + 6 and calls_of(FIGURE, grounder="auto") == 1 + 8
    # where the rules leave it open a model is asked first
    assert calls_of(OPEN, grounder="auto") == 1 + 8 + 1
    named = {"grounder": {"ground_with": {"P1": "deep_research"}}}
    assert calls_of(SERIES, grounder="auto", options=named) == 1 + 18
    # a grounder that knows its calls says so, in a run as in a study
    assert calls_of(OPEN, grounder="zero-shot") == 2


def test_best_counts_its_prior_its_trials_and_what_their_framings_add() -> None:
    assert calls_of(EVENT, preset="best") == 3 * 6 + 1 + 1
    plain, framed = (
        forecast_of(with_preset("best", model="openai/x", framings=framings), leaves=3, inner=1).input_tokens
        for framings in ((), ("outside", "no_first"))
    )
    assert framed > plain
    # before a tree stands, its rounds and their critic are to come
    best, product = (analysis_calls(with_preset(name), 3) for name in ("best", "product"))
    assert best == {"analyze": 3, "critic": 3} and product == {"analyze": 3, "critic": 0}


@pytest.mark.parametrize(
    "grounder", ["auto", "notebook", "search", "belief", "statistical", "zero-shot", "deep_research"]
)
@pytest.mark.parametrize("statement", [SERIES, EVENT, "The VIX closes above 20 on 2018-12-31"])
def test_every_grounder_is_priced_without_data(grounder: str, statement: str) -> None:
    tree = Tree.root_only("It holds").expand("P0", {"P1": statement})
    cost = forecast_of(
        with_preset("product", model="openai/x", prices=PRICES, grounder=grounder),
        leaves=[tree["P1"]],
        inner=1,
        cutoff=Cutoff.parse("2018-06-30"),
    )
    assert cost.model_calls >= 1


def test_the_lines_name_the_range_and_the_error() -> None:
    tree = Tree.root_only("It holds").expand("P0", {"P1": "One part holds", "P2": "The other part holds"})
    state: Any = planned(tree, RunSettings(model="openai/x", prices=PRICES))
    line = cost_line(state)
    assert "about 17 calls to openai/x (" in line and " to " in line and "$" in line
    ended = error_line(state, 36, 0.5)
    assert ended is not None and "forecast 18 calls for the tree, 36 were made (+100%)" in ended
    offline: Any = planned(tree, RunSettings())
    assert error_line(offline, 32, 0.0) is None
