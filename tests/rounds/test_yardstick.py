"""The yardstick of the loop: forecasters of known skill, whose truth is known, show what pooling, stopping early and drivers are worth.

Every forecast is judged by what it is expected to lose against the truth, so that no luck of outcomes is in the figures.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from benchmarks.tournament import ROWS, compared, law
from tests.command_line import run_cli, run_ok
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.skilled_forecasters import Skill, World, draw, excess_brier, excess_log, shifted
from workbench.agents.base import FRAMINGS
from workbench.agents.conversation import LoopLimits, Spent
from workbench.engine.leaves.aggregation import Aggregation
from workbench.questions.formats.format_registry import OWN

KEY = {"OPENAI_API_KEY": "sk-none"}


def forecast(home: Path, world: World, *words: str, **policy: Any) -> tuple[list[dict[str, Any]], int]:
    """Rows of a round over a world's events, and the calls that it took."""
    (home / "q.json").write_text(json.dumps({"format": OWN, "questions": world.questions()}))
    run_ok(home, "questions", "import", "q.json", "--as", "s")
    with OpenAIServer(world.forecasters(**policy)) as server:
        model = (
            "--model",
            "openai/x",
            "--set",
            f"api_base={server.url}",
            "--contexts",
            "none",
            "--set",
            "raw=true",
        )
        done = run_cli(home, "tournament", "run", "s", *model, *words, "--json", **KEY)
    assert done.returncode == 0 and not server.unread, done.stderr + "".join(server.unread)
    return json.loads(done.stdout)["forecasts"], len(server.asked)


def truth_of(world: World, row: dict[str, Any]) -> float:
    return world.truth(int(row["event"].removeprefix("event")))


@pytest.mark.parametrize("samples", [0.0, 0.5, 1.0])
def test_five_samples_pooled_are_never_below_a_single_one(tmp_path: Path, samples: float) -> None:
    world = World(seed=3, events=6, skills={"direct": Skill(sd=1.0, samples=samples, models=0.0)})
    rows, calls = forecast(tmp_path, world, "--set", "quick=zero-shot", "--trials", "5", "--promote", "0")
    assert calls == 30
    gains = []
    for row in rows:
        truth = truth_of(world, row)
        single = fmean(excess_log(p, truth) for p in row["trials"])
        gains.append(single - excess_log(row["p"], truth))
        # for every question: a log score is concave in the logit, of which the pool is the mean
        assert gains[-1] >= -1e-9, row
    pooled = fmean(excess_brier(row["p"], truth_of(world, row)) for row in rows)
    alone = fmean(excess_brier(p, truth_of(world, row)) for row in rows for p in row["trials"])
    assert pooled <= alone + 1e-9
    # and it is worth something exactly where the samples do not share their error
    assert (fmean(gains) > 0.01) == (samples < 1), gains


#: Errors of samples, of models, and how much harder some questions are: what the laws below are stated at.
STATED = World(
    seed=7,
    events=1500,
    difficulty=0.8,
    skills={"direct": Skill(samples=0.6, models=0.3), "driver": Skill(samples=0.6, models=0.3)},
)


def mean_excess(forecasts: Iterable[float]) -> float:
    """Mean excess Brier score of forecasts of the stated world's events, in order."""
    return fmean(excess_brier(p, STATED.truth(event)) for event, p in enumerate(forecasts))


def test_a_leaf_that_stops_where_its_probability_stands_loses_little_and_asks_half() -> None:
    """What a loop has not looked up yet shrinks with every step, on some questions faster than on others."""

    def read(event: int, step: int) -> float:
        unread = draw("unread", event) * (0.3 if event % 2 else 0.7) ** step
        return shifted(STATED.truth(event), STATED.error("direct", ("event", event), (), "x", 0) + unread)

    def steps_taken(event: int, limits: LoopLimits) -> int:
        spent = Spent(steps=1)
        while not spent.passed(limits):
            spent.state_again(read(event, spent.steps - 1), read(event, spent.steps))
            spent.steps += 1
        return spent.steps

    taken = [steps_taken(event, LoopLimits(steps=10, still=2)) for event in range(STATED.events)]
    stopped = mean_excess(read(event, count - 1) for event, count in enumerate(taken))
    fixed = {
        count: mean_excess(read(event, count - 1) for event in range(STATED.events)) for count in (5, 10)
    }
    assert fmean(taken) < 5  # calls a leaf
    assert stopped - fixed[10] <= 0.001  # of a Brier score
    assert stopped <= fixed[5]


@pytest.mark.parametrize(("shared", "lean"), [(0.6, 0.3), (0.4, 0.6)])
def test_framings_that_lean_either_way_cost_next_to_nothing_and_pay_where_they_part_errors(
    shared: float, lean: float
) -> None:
    """``lean`` in logits: how far "No first" and "Yes first" push a forecast; ``shared``: what samples of different framings share."""
    leans = {"outside": 0.0, "no_first": -lean, "yes_first": lean}
    framed = replace(STATED, skills={"direct": Skill(samples=shared, models=0.3)})

    def pool(world: World, event: int, turned: Sequence[float]) -> float:
        return Aggregation().combine([shifted(world.direct(event, sample=n), turn) for n, turn in enumerate(turned)])  # fmt: skip

    turned = [leans[FRAMINGS[n % 3]] for n in range(5)]
    free = mean_excess(pool(STATED, event, [0.0] * 5) for event in range(STATED.events))
    in_turn = mean_excess(pool(framed, event, turned) for event in range(STATED.events))
    assert in_turn - free <= 0.001
    assert shared == 0.6 or in_turn < free


def test_another_model_is_worth_more_than_further_samples_of_one() -> None:
    pool = Aggregation().combine
    own = mean_excess(
        pool([STATED.direct(event, sample=n) for n in range(4)]) for event in range(STATED.events)
    )
    mixed = mean_excess(
        pool([STATED.direct(event, model, n) for model in "xy" for n in range(2)]) for event in range(STATED.events)
    )  # fmt: skip
    assert mixed < own


@pytest.mark.parametrize("weak", [1.0, 1.5])
def test_drivers_and_direct_pooled_are_not_below_a_single_forecast(weak: float) -> None:
    """Also where the drivers are known less well than the claim, since both errors are only partly the same."""
    world = replace(STATED, skills={**STATED.skills, "driver": Skill(sd=0.8 * weak, samples=0.6, models=0.3)})
    events = range(world.events)
    direct = mean_excess(world.direct(event) for event in events)
    both = mean_excess(Aggregation().combine([world.direct(event), world.from_drivers(event)]) for event in events)  # fmt: skip
    assert both < direct


def test_a_round_with_trees_is_not_below_a_single_forecast(tmp_path: Path) -> None:
    world = World(seed=5, events=6, skills={"weights": Skill(sd=0.4)})
    rows, _ = forecast(tmp_path, world, "--promote", "6", "--set", "tree_grounder=zero-shot")
    assert all(row["tree"] is not None for row in rows)
    single = fmean(excess_brier(p, truth_of(world, row)) for row in rows for p in row["trials"])
    assert fmean(excess_brier(row["p"], truth_of(world, row)) for row in rows) <= single
    # the server plays the world: what a tree says is what its drivers and weights come to
    assert fmean(abs(row["tree"] - truth_of(world, row)) for row in rows) < 0.15


def test_choices_and_numbers_are_blurred_around_their_truth(tmp_path: Path) -> None:
    sure = {"choice": Skill(sd=0.0), "number": Skill(sd=0.0)}
    world = World(seed=2, choices=2, numbers=2, skills=sure)
    rows, calls = forecast(tmp_path, world, "--set", "quick=zero-shot", "--trials", "1", "--promote", "0")
    assert calls == 4
    for row in rows:
        name, _, detail = row["event"].partition("#")
        place = int(name[-1])
        truth = world.shares(place)[detail] if name.startswith("choice") else 1 - world.number(place).cdf(float(detail))  # fmt: skip
        assert row["p"] == pytest.approx(truth, abs=0.05), row


def test_the_quick_preset_costs_no_more_than_the_public_recipe_by_a_fifth_and_is_not_below_it() -> None:
    world = World(seed=4, events=4, news=0.7)
    came = compared(world, ROWS[:1])
    assert not law(came)
    # the law can fail: the same forecasts at twice the price, or with the errors of who knows no news
    assert law({**came, "quick": replace(came["quick"], tokens_out=2 * came["quick"].tokens_out)})
    assert law({**came, "quick": replace(came["quick"], brier=1.0)})
