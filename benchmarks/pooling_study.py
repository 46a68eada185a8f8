"""Which pooling and calibration is best under true leave-one-question-out, and by how much.

Run: ``python -m benchmarks.pooling_study [--data FOLDER] [--resamples 5000]``

Every candidate predicts each question from fits that saw none of its dates (a question asked in both tranches is one
question here). Penalties are set beforehand, not tuned; the candidate called *picked* chooses, for each held-out question,
the recipe with the best leave-one-out score on the other questions, so its figure pays for the choice.
"""

import argparse
import os
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np

from benchmarks.arguments import parse
from workbench.science.arrays import FloatArray, codes_of, logit, sigmoid
from workbench.science.calibrating.calibration import leave_out_platt
from workbench.science.calibrating.logistic import leave_out_logistic
from workbench.science.comparing.bootstrap import StratifiedIndex, stratified_index
from workbench.science.pooling.pool import pool
from workbench.science.pooling.shrinkage import trial_logits
from workbench.science.pooling.tuning import choose_leave_out
from workbench.science.recipe import Recipe, prepare
from workbench.science.scoring.scorecard import scorecard
from workbench.science.tables import Events, Forecasts, read_events, read_forecasts

REFERENCE = "logit mean + hierarchical Platt"
SEES_THE_FUTURE = "pro-high-brave-c1-t1-clairvoyant"  # its date filter was off: left out of every stack


class Study:
    """The events, one fold label per question, and what the recipes share."""

    def __init__(self, events: Events) -> None:
        self.events = events
        identity = np.char.add(np.char.add(events.source, "/"), events.text("source_question_id"))
        self.fold = codes_of(identity)[0]
        self.outcome = events.outcome
        self.prior = events.probability(
            "prior_temporal"
        )  # the crowd on market events, leak-free on the others
        self.market = (events.kind == "market").astype(float)
        self.sources = np.unique(events.source)
        self.dummies = (events.source[:, None] == self.sources[None, :]).astype(float)

    def hier(self, p: FloatArray) -> FloatArray:
        return leave_out_platt(p, self.outcome, self.events.source, self.fold)

    def flat(self, p: FloatArray) -> FloatArray:
        return leave_out_platt(p, self.outcome, None, self.fold)

    def shrunk(self, trials: FloatArray) -> FloatArray:
        """Shrinkage to the leak-free prior and hierarchical Platt, nested: both leave the same question out."""
        return choose_leave_out(trial_logits(trials), self.prior, self.outcome, self.fold).forecasts(
            self.hier
        )

    def columns(
        self, z: FloatArray, *, prior: bool, slopes: bool
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Features, penalties and centres of a hierarchical map from logits ``z``."""
        n = len(z)
        features, penalty, centre = [z, np.ones(n)], [0.0, 0.0], [1.0, 0.0]
        for dummy in self.dummies.T:
            features.append(dummy)
            penalty.append(1.0)
            centre.append(0.0)
        if prior:
            z0 = logit(self.prior)
            features += [z0 * self.market, z0 * (1 - self.market)]
            penalty += [1.0, 1.0]
            centre += [0.0, 0.0]
        if slopes:
            features.append(z * (self.market - 0.5))
            penalty.append(1.0)
            centre.append(0.0)
            for dummy in self.dummies.T:
                features.append(z * dummy)
                penalty.append(4.0)
                centre.append(0.0)
        return np.column_stack(features), np.array(penalty), np.array(centre)

    def mapped(self, z: FloatArray, *, prior: bool, slopes: bool) -> FloatArray:
        x, penalty, centre = self.columns(z, prior=prior, slopes=slopes)
        return leave_out_logistic(x, self.outcome, self.fold, penalty=penalty, centre=centre)

    def stacked(self, logits: FloatArray, *, strength: float, prior: bool) -> FloatArray:
        """Weights per method, pulled toward equal ones that sum to the usual slope; offsets per source."""
        methods = logits.shape[1]
        rest, penalty, centre = self.columns(np.zeros(len(logits)), prior=prior, slopes=False)
        x = np.column_stack([logits, rest[:, 1:]])
        penalties = np.r_[np.full(methods, strength), penalty[1:]]
        return leave_out_logistic(
            x,
            self.outcome,
            self.fold,
            penalty=penalties,
            centre=np.r_[np.full(methods, 1.3 / methods), centre[1:]],
        )


def recipes(study: Study) -> dict[str, Callable[[FloatArray], FloatArray]]:
    """Recipes for one method's trials."""
    return {
        "mean, uncalibrated": lambda t: pool(t, "mean"),
        "logit mean, uncalibrated": lambda t: pool(t, "logit-mean"),
        "logit mean + global Platt": lambda t: study.flat(pool(t, "logit-mean")),
        REFERENCE: lambda t: study.hier(pool(t, "logit-mean")),
        "mean + hierarchical Platt": lambda t: study.hier(pool(t, "mean")),
        "median + hierarchical Platt": lambda t: study.hier(pool(t, "median")),
        "shrink to prior + hierarchical Platt": study.shrunk,
        "hierarchical Platt with slopes": lambda t: study.mapped(
            logit(pool(t, "mean")), prior=False, slopes=True
        ),
        "hierarchical Platt + prior": lambda t: study.mapped(
            logit(pool(t, "mean")), prior=True, slopes=False
        ),
        "hierarchical Platt + prior + slopes": lambda t: study.mapped(
            logit(pool(t, "mean")), prior=True, slopes=True
        ),
    }


def picked(study: Study, candidates: list[FloatArray]) -> FloatArray:
    """For each question, the candidate that scores best on the other questions."""
    briers = np.array([(p - study.outcome) ** 2 for p in candidates])
    kind = study.market[None, :]
    weights = (
        kind / study.market.sum() + (1 - kind) / (1 - study.market).sum()
    )  # both types count alike, as overall
    losses = briers * weights
    held_out = np.array([np.bincount(study.fold, weights=row) for row in losses])
    best = np.argmin(losses.sum(axis=1)[:, None] - held_out, axis=0)[study.fold]
    chosen: FloatArray = np.array(candidates)[best, np.arange(len(best))]
    return chosen


def complete(trials: Forecasts) -> list[str]:
    return [m for m in trials.methods if np.isfinite(trials.trials(m)).any(axis=1).all()]


def run(
    study: Study, trials: Forecasts, published: Forecasts
) -> tuple[dict[str, dict[str, FloatArray]], dict[str, FloatArray]]:
    """Forecasts per method and recipe, and the stacks over methods."""
    single: dict[str, dict[str, FloatArray]] = {}
    for method in complete(trials):
        matrix = trials.trials(method)
        forecasts = {name: recipe(matrix) for name, recipe in recipes(study).items()}
        forecasts["picked"] = picked(study, list(forecasts.values()))
        single[method] = forecasts
    honest = [m for m in single if m != SEES_THE_FUTURE]
    own = np.column_stack([logit(single[m]["mean, uncalibrated"]) for m in honest])
    external = [m for m in published.methods if m.startswith("fb-")]
    others = np.column_stack([logit(published.variant(m, "forecast")) for m in external])
    everyone = np.column_stack([own, others])
    stacks = {
        f"mean of {own.shape[1]} methods + hierarchical Platt": study.hier(sigmoid(own.mean(axis=1))),
        f"mean of {own.shape[1]} methods + prior + slopes": study.mapped(
            own.mean(axis=1), prior=True, slopes=True
        ),
        f"stack of {own.shape[1]} methods": study.stacked(own, strength=20.0, prior=False),
        f"stack of {own.shape[1]} methods + prior": study.stacked(own, strength=20.0, prior=True),
        f"mean of {everyone.shape[1]} with the external two + hierarchical Platt": study.hier(
            sigmoid(everyone.mean(axis=1))
        ),
        f"stack of {everyone.shape[1]} with the external two": study.stacked(
            everyone, strength=20.0, prior=False
        ),
    }
    stacks["picked among the above"] = picked(study, list(stacks.values()))
    pair = ("pro-high-brave-c1-p1-t1", "pro-high-brave-c1-t1")
    stacks["both full systems with the crowd + hierarchical Platt"] = study.hier(
        sigmoid(np.mean([logit(single[m]["mean, uncalibrated"]) for m in pair], axis=0))
    )
    groups = [chosen for size in (2, 3) for chosen in combinations(range(everyone.shape[1]), size)]
    pooled = [study.hier(sigmoid(everyone[:, list(chosen)].mean(axis=1))) for chosen in groups]
    stacks[f"picked among all {len(groups)} pairs and triples"] = picked(study, pooled)
    names = [*honest, *external]
    best = max(range(len(groups)), key=lambda i: overall(study, pooled[i]))
    members = ", ".join(names[m].removeprefix("pro-high-") for m in groups[best])
    stacks[f"best of them in hindsight ({members}): not to be had"] = pooled[best]
    return single, stacks


def overall(study: Study, p: FloatArray) -> float:
    brier = (p - study.outcome) ** 2
    return float(np.mean([100 * (1 - np.sqrt(brier[study.market == kind].mean())) for kind in (0.0, 1.0)]))


def compared(study: Study, columns: dict[str, FloatArray], resamples: int) -> StratifiedIndex:
    briers = np.column_stack([(p - study.outcome) ** 2 for p in columns.values()])
    return stratified_index(
        briers, tuple(columns), study.events.kind, clusters=study.fold, resamples=resamples, seed=20261121
    )


def line(table: StratifiedIndex, name: str, reference: str) -> str:
    parts = {
        part: table.estimates[part][table.names.index(name)] for part in ("market", "dataset", "overall")
    }
    gap = table.pair(name, reference, "overall")
    market, dataset = table.pair(name, reference, "market"), table.pair(name, reference, "dataset")
    return (
        f"| {name} | {parts['market']:.2f} | {parts['dataset']:.2f} | {parts['overall']:.2f} | "
        f"{gap.difference:+.2f} [{gap.low:+.2f}, {gap.high:+.2f}] | {market.difference:+.2f} | {dataset.difference:+.2f} |"
    )


def protocols(events: Events, trials: Forecasts) -> None:
    """The same recipe under four ways of keeping the held-out event apart: what each flatters itself by."""
    ways = {
        "in-sample (as published)": Recipe(
            pool="shrink-prior",
            prior="prior_temporal",
            tune="as-published",
            calibrate="platt-hier",
            loo="none",
        ),
        "in-sample shrinkage, one event out": Recipe(
            pool="shrink-prior",
            prior="prior_temporal",
            tune="as-published",
            calibrate="platt-hier",
            loo="event",
        ),
        "one event out, nested": Recipe(
            pool="shrink-prior",
            prior="prior_temporal",
            tune="loo-event",
            ddof=0,
            calibrate="platt-hier",
            loo="event",
        ),
        "one question out, nested": Recipe(
            pool="shrink-prior",
            prior="prior_temporal",
            tune="loo-question",
            ddof=0,
            calibrate="platt-hier",
            loo="question",
        ),
    }
    print("## Shrinkage to the prior + hierarchical Platt, dataset events, by protocol\n")
    print("| method | " + " | ".join(ways) + " |\n|---|" + "---|" * len(ways))
    result = []
    for method in trials.methods:
        ready = [prepare(trials.trials(method), events, recipe) for recipe in ways.values()]
        cards = [scorecard(r.p, r.rows, events, ["brier_index"])["brier_index"] for r in ready]
        result.append([float(card["dataset"] or np.nan) for card in cards])
        print(f"| {method} | " + " | ".join(f"{value:.2f}" for value in result[-1]) + " |")
    print("| mean | " + " | ".join(f"{value:.2f}" for value in np.mean(result, axis=0)) + " |\n")


HEAD = "| recipe | market | dataset | overall | overall against reference [95 %] | market | dataset |\n|---|---|---|---|---|---|---|"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("WORKBENCH_TEST_DATA") or default))
    parser.add_argument("--resamples", type=int, default=5000)
    args = parse(parser, resamples=20)
    folder = args.data / "forecastbench"
    if not folder.is_dir():
        raise SystemExit(f"no real data in {args.data}: set WORKBENCH_TEST_DATA")
    events = read_events(folder / "events.csv.gz")
    trials, published = (
        read_forecasts(folder / name, events) for name in ("trials_dev.csv.gz", "published_dev.csv.gz")
    )
    study = Study(events)
    print(
        f"{len(events)} events, {study.fold.max() + 1} questions; {args.resamples} resamples of questions\n"
    )
    protocols(events, trials)
    single, stacks = run(study, trials, published)
    honest = [m for m in single if m != SEES_THE_FUTURE]

    print("## Brier Index overall, by method\n")
    names = list(next(iter(single.values())))
    print("| method | " + " | ".join(names) + " |\n|---|" + "---|" * len(names))
    tables = {method: compared(study, forecasts, args.resamples) for method, forecasts in single.items()}
    for method, table in tables.items():
        print(f"| {method} | " + " | ".join(f"{value:.2f}" for value in table.estimates["overall"]) + " |")

    print(f"\n## Mean over the {len(honest)} methods that cannot see the future, against {REFERENCE}\n")
    print("| recipe | overall | against reference [95 %] | methods it helps |\n|---|---|---|---|")
    position = names.index(REFERENCE)
    for i, name in enumerate(names):
        gaps = np.mean(
            [
                tables[m].resampled["overall"][:, i] - tables[m].resampled["overall"][:, position]
                for m in honest
            ],
            axis=0,
        )
        gap = np.mean(
            [tables[m].estimates["overall"][i] - tables[m].estimates["overall"][position] for m in honest]
        )
        level = np.mean([tables[m].estimates["overall"][i] for m in honest])
        low, high = np.quantile(gaps, [0.025, 0.975])
        helped = sum(
            tables[m].estimates["overall"][i] > tables[m].estimates["overall"][position] for m in honest
        )
        print(f"| {name} | {level:.2f} | {gap:+.2f} [{low:+.2f}, {high:+.2f}] | {helped} of {len(honest)} |")

    best = max(honest, key=lambda m: tables[m].estimates["overall"][position])
    print(f"\n## The best single method under the reference recipe: {best}\n\n{HEAD}")
    for name in names:
        print(line(tables[best], name, REFERENCE))

    print(f"\n## Pools over methods, against {REFERENCE} of {best}\n\n{HEAD}")
    table = compared(study, {REFERENCE: single[best][REFERENCE], **stacks}, args.resamples)
    for name in table.names:
        print(line(table, name, REFERENCE))


if __name__ == "__main__":
    main()
