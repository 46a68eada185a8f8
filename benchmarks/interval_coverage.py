"""How often the intervals hold the truth, and how often equal methods are told apart, in worlds where both are known.

``python -m benchmarks.interval_coverage`` prints the tables of docs/science/verdicts.md; seeded, some six minutes of one core. ``--worlds N``
draws another number. A world is a set of events in clusters; outcomes of a cluster share their luck to the degree given.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta

import numpy as np
from scipy.special import ndtr

from benchmarks.arguments import parse
from workbench.science.arrays import FloatArray, IntArray, logit, sigmoid
from workbench.science.comparing.clusters import clusters_of
from workbench.science.comparing.comparison import judge, mixed_comparisons, paired_comparisons
from workbench.science.comparing.mean_intervals import (
    Bounds,
    Resampling,
    loss_interval,
    rank_correlation_interval,
    share_interval,
    utility_intervals,
)
from workbench.science.comparing.return_intervals import return_intervals
from workbench.science.comparing.score_intervals import interval_card
from workbench.science.scoring.betting import whole_dollar
from workbench.science.scoring.market import returns_of
from workbench.science.scoring.scorecard import Difficulty, difficulty_of, scorecard
from workbench.science.scoring.utility import TaskValues, task_values
from workbench.science.table_cells import StrArray
from workbench.science.tables import Events

METRICS = ("brier", "brier_index", "abi", "metaculus_baseline", "log_loss", "accuracy")
LEVELS = {"0": 0.0, "1": 1.0}
RESAMPLING = Resampling(resamples=999)
SEED = 20261124
SURE = 0.6  # forecasts from here on are a class of a reliability diagram
_NOISE = 0.5  # of each forecaster's logit


@dataclass(frozen=True)
class Scenario:
    """A kind of exam: events by cluster, and how far outcomes of a cluster go together; or rolling windows of one series.

    With two ``types`` each second cluster is of another question type, three times as noisy; overall is the mean of the types.
    """

    name: str
    sizes: tuple[int, ...] = ()
    together: float = 0.0
    weeks: int = 0
    window: int = 0
    types: int = 1


SCENARIOS = (
    Scenario("20 independent", (1,) * 20),
    Scenario("50 independent", (1,) * 50),
    Scenario("200 independent", (1,) * 200),
    Scenario("8 independent", (1,) * 8),
    Scenario("20 questions of 3 dates", (3,) * 20, 0.8),
    Scenario("50 questions of 3 dates", (3,) * 50, 0.8),
    Scenario("one cluster of 10 beside 20 single", (10, *(1,) * 20), 0.8),
    Scenario("one cluster of 20 beside 50 single", (20, *(1,) * 50), 0.8),
    Scenario("50 questions of 3 dates, two types", (3,) * 50, 0.8, types=2),
    Scenario("4-week windows each week, 4 years", weeks=208, window=4),
    Scenario("13-week windows each week, 8 years", weeks=416, window=13),
)


#: Assets and dates of each exam of choices with payoffs.
CHOICES = ((20, 1), (50, 1), (200, 1), (20, 3), (50, 3))


@dataclass
class World:
    """One draw: forecasts of two equal methods, a price, outcomes, and what belongs together."""

    clusters: IntArray
    truth: FloatArray
    outcome: FloatArray
    forecasts: list[FloatArray]
    price: FloatArray
    kind: StrArray | str = "market"


def draw(scenario: Scenario, rng: np.random.Generator) -> World:
    """One world of a scenario."""
    if scenario.weeks:
        return _windows(scenario, rng)
    clusters = np.repeat(np.arange(len(scenario.sizes)), scenario.sizes)
    base = rng.normal(0.0, 1.5, len(scenario.sizes))[clusters]
    shared, own = rng.random(len(scenario.sizes))[clusters], rng.random(len(clusters))
    luck = np.where(rng.random(len(clusters)) < scenario.together, shared, own)
    truth = np.asarray(sigmoid(base))
    hard = np.arange(len(scenario.sizes)) % scenario.types == 1
    noise = (rng.normal(0.0, _NOISE, (3, len(scenario.sizes))) * np.where(hard, 3.0, 1.0))[:, clusters]
    a, b, price = (np.clip(sigmoid(base + each), 0.02, 0.98) for each in noise)
    kind = np.where(hard, "dataset", "market")[clusters]
    return World(clusters, truth, (luck < truth).astype(float), [a, b], price, kind)


def _windows(scenario: Scenario, rng: np.random.Generator) -> World:
    steps = rng.standard_normal(scenario.weeks + scenario.window)
    path = np.concatenate([[0.0], np.cumsum(steps)])
    outcome = (path[scenario.window :][: scenario.weeks] > path[: scenario.weeks]).astype(float)
    days = [date(2010, 1, 4) + timedelta(weeks=week) for week in range(scenario.weeks)]
    labels = clusters_of(
        np.arange(scenario.weeks).astype(str),
        series=["the index"] * scenario.weeks,
        start=[day.isoformat() for day in days],
        end=[(day + timedelta(weeks=scenario.window)).isoformat() for day in days],
    )
    truth = np.full(scenario.weeks, 0.5)
    a, b, price = (np.clip(sigmoid(each), 0.02, 0.98) for each in rng.normal(0, _NOISE, (3, scenario.weeks)))
    return World(np.unique(labels, return_inverse=True)[1], truth, outcome, [a, b], price)


@dataclass
class Coverage:
    """Of one quantity: in how many worlds its interval held the truth, and in how many there was none."""

    held: int = 0
    shown: int = 0
    worlds: int = 0

    def add(self, bounds: Bounds, truth: float) -> None:
        """Count one world."""
        self.worlds += 1
        if bounds is not None:
            self.shown += 1
            self.held += bounds[0] - 1e-12 <= truth <= bounds[1] + 1e-12

    @property
    def share(self) -> float:
        """Share of the intervals shown that held."""
        return self.held / self.shown if self.shown else float("nan")

    def __str__(self) -> str:
        if not self.shown:
            return "none"
        none = 1 - self.shown / self.worlds
        return f"{self.share:.1%}" + (f" ({none:.0%} without)" if none else "")


Table = dict[str, dict[str, Coverage]]


def difficulty_in(world: World, events: Events) -> Difficulty:
    """As `score --metrics abi` has it: of market events the price's own error, of others their effect among the methods."""
    priced = Events.of(world.outcome, kind=world.kind, crowd=world.price)
    return difficulty_of(priced, {str(n): p for n, p in enumerate([*world.forecasts, world.price])})


def numbers_of(world: World) -> FloatArray:
    """CRPS of a normal distribution about the first forecast's logit, for the number that the outcome is about: the truth's logit and luck."""
    said, came = logit(world.forecasts[0]), logit(world.truth) + np.where(world.outcome > 0.5, 1.0, -1.0)
    z = came - said
    return np.asarray(
        z * (2 * ndtr(z) - 1) + 2 * np.exp(-z * z / 2) / np.sqrt(2 * np.pi) - 1 / np.sqrt(np.pi)
    )


def _figures(world: World) -> dict[str, float]:
    """Scores, returns and correlation of the first method in one world."""
    p, o, events = world.forecasts[0], world.outcome, Events.of(world.outcome, kind=world.kind)
    card = scorecard(p, np.arange(len(p)), events, METRICS, difficulty_in(world, events))
    found = {metric: float(card[metric]["overall"] or 0.0) for metric in METRICS}
    sure = p >= SURE
    found |= {"crps": float(numbers_of(world).mean()), "share of Yes": float(o[sure].mean())}
    market = events.kind == "market"  # only these have a price
    p, o, price = p[market], o[market], world.price[market]
    for key, level in LEVELS.items():
        result = returns_of(whole_dollar(p, price, level).split(o, p).gain + 1.0)
        found[f"return {key}"] = result.average_return
        found[f"sharpe {key}"] = result.sharpe if result.sharpe is not None else 0.0
    return found


def true_figures(scenario: Scenario, rng: np.random.Generator) -> dict[str, float]:
    """The same of an exam without end, from 200,000 clusters or 1,000 series."""
    if scenario.weeks:
        worlds = [_windows(scenario, rng) for _ in range(1000)]
        whole = World(
            np.arange(1000 * scenario.weeks),
            np.concatenate([each.truth for each in worlds]),
            np.concatenate([each.outcome for each in worlds]),
            [np.concatenate([each.forecasts[0] for each in worlds])],
            np.concatenate([each.price for each in worlds]),
        )
        return _figures(whole)
    # Events weigh alike, and clusters of any size are of one kind.
    return _figures(draw(Scenario("", (1,) * 200_000, types=scenario.types), rng))


def _intervals(world: World) -> Iterator[tuple[str, Bounds]]:
    p, o = world.forecasts[0], world.outcome
    labels = world.clusters.astype(str)
    events = Events.of(o, kind=world.kind, question=labels)
    rows = np.arange(len(p))
    hard = difficulty_in(world, events)
    card = interval_card(
        p, rows, events, METRICS, scorecard(p, rows, events, METRICS, hard), hard, RESAMPLING
    )
    for metric in METRICS:
        yield metric, card[metric]["overall"]
    yield "crps", loss_interval(numbers_of(world), labels, most=np.inf, resampling=RESAMPLING)
    sure = p >= SURE
    yield "share of Yes", share_interval(o[sure], labels[sure]) if sure.any() else None
    market = events.kind == "market"
    p, o, price, labels = p[market], o[market], world.price[market], labels[market]
    splits = {key: whole_dollar(p, price, level).split(o, p) for key, level in LEVELS.items()}
    results = {key: returns_of(split.gain + 1.0) for key, split in splits.items()}
    figures = {
        "average_return": {key: each.average_return for key, each in results.items()},
        "sharpe": {key: each.sharpe for key, each in results.items()},
        "sharpe_ddof0": {key: each.sharpe_ddof0 for key, each in results.items()},
        "total_payoff": {key: each.total_payoff for key, each in results.items()},
        "luck": {key: float(split.luck.mean()) for key, split in splits.items()},
    }
    bounds = return_intervals(figures, splits, p, price, o, labels, RESAMPLING)
    for key in LEVELS:
        yield f"return {key}", bounds["average_return"][key]
        yield f"sharpe {key}", bounds["sharpe"][key]


@dataclass
class Errors:
    """Of verdicts on two methods: how often equal ones were told apart, and how often one that is better was found."""

    wrong: int = 0
    found: int = 0
    worlds: int = 0
    difference: Coverage = field(default_factory=Coverage)


def measure(scenario: Scenario, worlds: int, seed: int = SEED) -> tuple[dict[str, Coverage], Errors]:
    """Coverage of every interval and the errors of the verdict in so many worlds of a scenario."""
    rng = np.random.default_rng([seed, len(scenario.name), sum(scenario.sizes), scenario.weeks])
    truth = true_figures(scenario, rng)
    table = {name: Coverage() for name in truth} | {"rank correlation": Coverage()}
    errors = Errors()
    for _ in range(worlds):
        world = draw(scenario, rng)
        for name, bounds in _intervals(world):
            table[name].add(bounds, truth[name])
        # A column that has nothing to do with the scores, alike within a cluster.
        size = rng.normal(size=world.clusters.max() + 1)[world.clusters]
        scores = (world.forecasts[0] - world.outcome) ** 2
        table["rank correlation"].add(
            rank_correlation_interval(size, scores, world.clusters, resampling=RESAMPLING)[1], 0.0
        )
        _judge(world, rng, errors)
    return table, errors


def _judge(world: World, rng: np.random.Generator, errors: Errors) -> None:
    a, b = world.forecasts
    # Two thirds of the way to 0.5: a planted difference.
    poor = np.asarray(sigmoid(logit(a) / 3.0 + rng.normal(0, 0.2, len(a))))
    # Each cluster was asked on a day of its own.
    asked = [(date(2000, 1, 1) + timedelta(days=int(code))).isoformat() for code in world.clusters]
    events = Events.of(
        world.outcome, kind=world.kind, question=world.clusters.astype(str), forecast_due_date=asked
    )
    values = {"a": a, "b": b, "poor": poor}
    verdicts = {}
    for other in ("a", "poor"):
        two = {"b": b, other: values[other]}
        results = paired_comparisons(events, two, "b", resamples=RESAMPLING.resamples)
        verdicts[other] = judge(results, mixed_comparisons(events, two, "b"))[other]
    errors.worlds += 1
    errors.wrong += verdicts["a"].verdict in ("better", "worse")
    errors.found += verdicts["poor"].verdict == "worse"
    errors.difference.add(verdicts["a"].interval, 0.0)


def choices(size: int, dates: int, rng: np.random.Generator) -> tuple[TaskValues, IntArray]:
    """Choices between long and short of so many assets, on so many dates that share their luck; stakes differ, larger where one is surer."""
    base = np.repeat(rng.normal(0.0, 1.0, size), dates)
    shared, own = np.repeat(rng.random(size), dates), rng.random(size * dates)
    truth = np.asarray(sigmoid(base))
    first = np.where(rng.random(len(base)) < 0.8 * (dates > 1), shared, own) < truth
    p = np.asarray(sigmoid(base + rng.normal(0.0, _NOISE, len(base))))
    swing = np.exp(rng.normal(0.0, 0.8, len(base))) * (0.5 + truth) * np.where(first, 0.5, -0.5)
    pairs = np.stack([p, 1 - p], axis=1), np.stack([1 + swing, 1 - swing], axis=1)
    return task_values(*(list(each) for each in pairs)), np.repeat(np.arange(size), dates)


def measure_choices(size: int, dates: int, worlds: int, seed: int = SEED) -> dict[str, Coverage]:
    """Coverage of the intervals of accuracy, hard and soft utility."""
    rng = np.random.default_rng([seed, size, dates])
    whole, _ = choices(200_000, 1, rng)
    span = whole.most - whole.worst
    truth = {
        "accuracy": float(whole.right.mean()),
        "hard": float((whole.hard - whole.worst).sum() / span.sum()),
        "soft": float((whole.soft - whole.worst).sum() / span.sum()),
    }
    table = {name: Coverage() for name in truth}
    for _ in range(worlds):
        for name, bounds in utility_intervals(*choices(size, dates, rng), resampling=RESAMPLING).items():
            table[name].add(bounds, truth[name])
    return table


def print_choices(worlds: int) -> None:
    """The table of choices as Markdown."""
    print("| choices | accuracy | hard | soft |\n| --- | --- | --- | --- |")
    for size, dates in CHOICES:
        cells = measure_choices(size, dates, worlds).values()
        name = f"{size} independent" if dates == 1 else f"{size} assets of {dates} dates"
        print(f"| {name} | " + " | ".join(map(str, cells)) + " |")


def print_tables(worlds: int, scenarios: Sequence[Scenario]) -> None:
    """Both tables as Markdown."""
    measured = {scenario.name: measure(scenario, worlds) for scenario in scenarios}
    names = list(next(iter(measured.values()))[0])
    print(f"| exam ({worlds} worlds each; nominal 95 %) | " + " | ".join([*names, "difference"]) + " |")
    print("| --- " * (len(names) + 2) + "|")
    for exam, (table, errors) in measured.items():
        print(f"| {exam} | " + " | ".join(str(each) for each in [*table.values(), errors.difference]) + " |")
    print("")
    print("| exam | equal methods told apart (nominal at most 5 %) | a method that is worse found |")
    print("| --- | --- | --- |")
    for exam, (_, errors) in measured.items():
        print(f"| {exam} | {errors.wrong / errors.worlds:.1%} | {errors.found / errors.worlds:.0%} |")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=1000)
    options = parse(parser, worlds=2)
    print_tables(options.worlds, SCENARIOS[:1] if options.smoke else SCENARIOS)
    print("")
    print_choices(options.worlds)


if __name__ == "__main__":
    main()
