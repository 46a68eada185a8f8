"""Seconds, memory and growth of the forecasting science, beside the seconds of the authors' code on like machines.

Run: ``python -m benchmarks.forecasting [--data FOLDER] [--largest 1000000]``

Real events (791) where the data lie, else as many synthetic ones; then synthetic events at 23,150 (the number paper B
scored) and 1,000,000. Every row: the CPU seconds of the best of a few runs on one core (so that other load on the machine does not
count), the peak of newly allocated memory, and the
ratio to the authors' time where there is one (README of the data: 2 cores, one used).
"""

import argparse
import os
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.arguments import parse
from workbench.science.arrays import FloatArray, sigmoid
from workbench.science.calibrating.calibration import leave_out_platt
from workbench.science.comparing.bootstrap import stratified_index
from workbench.science.pooling.pool import pool_logit_mean, pool_mean, pool_median
from workbench.science.pooling.shrinkage import trial_logits
from workbench.science.pooling.tuning import tune_in_sample, tune_leave_out
from workbench.science.scoring.calibration_error import calibration_error
from workbench.science.scoring.scores import brier_index

RESAMPLES = 5000
METHODS = 18

#: Seconds of the authors' code on 791 events: the middle of the printed range.
AUTHORS = {
    "hierarchical Platt, leave one event out": 3.8,
    "global Platt, leave one event out": 1.75,
    "(f, c) grid, in-sample": 1.75,
    "bootstrap of 18 methods, 5,000 resamples": 0.08 * METHODS,
    "7 poolings of one method": 2.1,
}


@dataclass(frozen=True)
class Problem:
    trials: FloatArray
    prior: FloatArray
    outcome: FloatArray
    source: np.ndarray
    question: np.ndarray
    kind: np.ndarray
    briers: FloatArray


def synthetic(events: int, seed: int = 0) -> Problem:
    rng = np.random.default_rng(seed)
    truth = rng.normal(-0.5, 1.8, events)
    outcome = (rng.random(events) < sigmoid(truth)).astype(float)
    trials = sigmoid(0.9 * truth[:, None] + rng.normal(0, 0.7, (events, 5)))
    source = rng.integers(0, 9, events)
    noise = rng.normal(0, 0.15, (events, METHODS))
    briers = (np.clip(sigmoid(truth)[:, None] + noise, 0, 1) - outcome[:, None]) ** 2
    return Problem(
        trials=trials,
        prior=np.clip(rng.random(events), 0.05, 0.95),
        outcome=outcome,
        source=source.astype(str),
        question=(np.arange(events) // 2).astype(np.int64),
        kind=np.where(source < 4, "market", "dataset"),
        briers=briers,
    )


def real(folder: Path) -> Problem:
    from workbench.science.tables import read_events, read_forecasts

    events = read_events(folder / "events.csv.gz")
    trials = read_forecasts(folder / "trials_dev.csv.gz", events)
    published = read_forecasts(folder / "published_dev.csv.gz", events)
    columns = [(published.variant(m, "forecast") - events.outcome) ** 2 for m in published.methods]
    briers = np.column_stack([np.where(np.isfinite(c), c, 0.25) for c in columns])
    return Problem(
        trials=trials.trials("pro-high-brave-c0-t1"),
        prior=events.probability("prior_static"),
        outcome=events.outcome,
        source=events.source,
        question=events.question,
        kind=events.kind,
        briers=briers,
    )


def jobs(problem: Problem) -> dict[str, Callable[[], object]]:
    p = pool_logit_mean(problem.trials)
    logits = trial_logits(problem.trials, ddof=0)
    return {
        "hierarchical Platt, leave one event out": lambda: leave_out_platt(
            p, problem.outcome, problem.source
        ),
        "hierarchical Platt, leave one question out": lambda: leave_out_platt(
            p, problem.outcome, problem.source, problem.question
        ),
        "global Platt, leave one event out": lambda: leave_out_platt(p, problem.outcome),
        "(f, c) grid, in-sample": lambda: tune_in_sample(logits, problem.prior, problem.outcome),
        "(f, c) grid, leave one question out": lambda: tune_leave_out(
            logits, problem.prior, problem.outcome, problem.question
        ),
        "bootstrap of 18 methods, 5,000 resamples": lambda: stratified_index(
            problem.briers, tuple(map(str, range(METHODS))), problem.kind, resamples=RESAMPLES
        ),
        "7 poolings of one method": lambda: (
            pool_mean(problem.trials),
            pool_logit_mean(problem.trials),
            pool_median(problem.trials),
            tune_in_sample(trial_logits(problem.trials, ddof=0), 0.5, problem.outcome),
            tune_in_sample(trial_logits(problem.trials, ddof=0), problem.prior, problem.outcome),
            tune_leave_out(trial_logits(problem.trials), problem.prior, problem.outcome),
            trial_logits(problem.trials),
        ),
        "Brier Index and ECE": lambda: (
            brier_index(p, problem.outcome),
            calibration_error(p, problem.outcome),
        ),
    }


def seconds(job: Callable[[], object]) -> float:
    best, spent = float("inf"), 0.0
    for _ in range(5):
        start = time.process_time()
        job()
        took = time.process_time() - start
        best, spent = min(best, took), spent + took
        if spent > 3.0:
            break
    return best


def megabytes(job: Callable[[], object]) -> float:
    tracemalloc.start()
    try:
        job()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("WORKBENCH_TEST_DATA") or default))
    parser.add_argument("--largest", type=int, default=1_000_000, help="events of the largest problem")
    args = parse(parser, largest=80)
    folder = args.data / "forecastbench"
    if args.smoke:
        problems = {size: synthetic(size) for size in (20, 40, args.largest)}
    else:
        print("791 real events" if folder.is_dir() else "no real data: 791 synthetic events")
        small = real(folder) if folder.is_dir() else synthetic(791)
        problems = {791: small, 23_150: synthetic(23_150), args.largest: synthetic(args.largest)}
    sizes = list(problems)
    header = [f"{size:,} events: s" for size in sizes]
    print("| job | " + " | ".join(header) + " | peak MB | growth (events^k) | authors, 791: s | ratio |")
    print("|---|" + "---|" * (len(sizes) + 4))
    todo = {size: jobs(problem) for size, problem in problems.items()}
    for name in todo[sizes[0]]:
        times = [seconds(todo[size][name]) for size in sizes]
        peak = megabytes(todo[sizes[1]][name]), megabytes(todo[sizes[-1]][name])
        growth = np.log(times[-1] / times[1]) / np.log(sizes[-1] / sizes[1])
        theirs = AUTHORS.get(name)
        ratio = f"{theirs:.2f} | {theirs / times[0]:.0f}x" if theirs else "- | -"
        shown = " | ".join(f"{t:.4f}" if t < 1 else f"{t:.1f}" for t in times)
        print(f"| {name} | {shown} | {peak[0]:.0f}, {peak[1]:.0f} | {growth:.2f} | {ratio} |", flush=True)


if __name__ == "__main__":
    main()
