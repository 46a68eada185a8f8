"""What questions that share a day cost: type I error of verdicts, coverage, calibration fits and calibration errors, in known worlds.

``python -m benchmarks.shared_days`` prints three tables, seeded; ``--smoke`` draws few worlds. *Before* counts clusters by series alone.

1. Equal methods, one leaning up and one down, on series whose outcomes share a factor of the day: how often there is a verdict, how often
   the interval of the difference holds 0 and that of the Brier score its expectation.
2. ``calibrate fit`` on few questions of a calibrated forecaster: mean change of the Brier score on new events, and how often it fits.
3. The calibration error of a calibrated forecaster with three dates a question beside what is printed as "if calibrated".
"""

import argparse
from dataclasses import dataclass, replace
from datetime import date, timedelta

import numpy as np
from scipy.special import ndtr

from benchmarks.arguments import parse
from workbench.errors import UsageError
from workbench.science.arrays import FloatArray, sigmoid
from workbench.science.calibrating.calibration import fit_platt
from workbench.science.comparing.clusters import event_clusters
from workbench.science.comparing.comparison import judge, mixed_comparisons, paired_comparisons
from workbench.science.comparing.mean_intervals import Bounds, Resampling, loss_interval
from workbench.science.comparing.paired import NOT_SHOWN
from workbench.science.documents.calibration_documents import calibration_document
from workbench.science.errors import TooFewError
from workbench.science.scoring.calibration_error import calibrated_error, calibration_error
from workbench.science.tables import Events, Forecasts

SEED = 20261128
RESAMPLING = Resampling(resamples=999)


@dataclass(frozen=True, slots=True)
class Market:
    """Questions of many series asked on some days: what a day's outcomes share, how far two equal methods lean apart, by how many logits."""

    days: int
    series: int
    shared: float = 0.3
    lean: float = 0.4
    #: Days from one day asked on to the next; windows run 30 days.
    apart: int = 31


MARKETS = (
    *(Market(days, n, shared, 0.4) for shared in (0.3, 0.5) for days in (1, 6, 12, 24) for n in (8, 50)),
    Market(12, 20, 0.3, 0.0),
    Market(24, 20, 0.3, 0.4, apart=7),
)


@dataclass
class Count:
    """Of some worlds: those with a verdict, and those whose interval, where there was one, held the truth."""

    worlds: int = 0
    verdicts: int = 0
    shown: int = 0
    covered: int = 0
    brier_shown: int = 0
    brier_covered: int = 0

    def add(self, verdict: str | None, interval: Bounds, brier: Bounds, truth: float) -> None:
        """Count one world."""
        self.worlds += 1
        self.verdicts += verdict in ("better", "worse")
        if interval is not None:
            self.shown += 1
            self.covered += interval[0] <= 0.0 <= interval[1]
        if brier is not None:
            self.brier_shown += 1
            self.brier_covered += brier[0] <= truth <= brier[1]


def draw_market(market: Market, rng: np.random.Generator) -> tuple[Events, dict[str, FloatArray], FloatArray]:
    """Events of a market, the forecasts of both methods, and the true probabilities."""
    size = (market.days, market.series)
    base = rng.normal(0.0, 0.8, size)
    truth = np.asarray(sigmoid(base))
    # One walk of the market: windows that overlap share their part of it.
    steps = rng.normal(size=market.days * market.apart + 31)
    starts = np.arange(market.days) * market.apart
    factor = np.array([steps[start : start + 30].sum() / np.sqrt(30) for start in starts])
    luck = np.sqrt(market.shared) * factor[:, None] + np.sqrt(1.0 - market.shared) * rng.normal(size=size)
    asked = [(date(2020, 1, 6) + timedelta(days=int(start))) for start in starts]
    events = Events.of(
        (ndtr(luck) < truth).astype(float).ravel(),
        series=np.tile([f"s{k}" for k in range(market.series)], market.days),
        forecast_due_date=np.repeat([day.isoformat() for day in asked], market.series),
        resolution_date=np.repeat([(day + timedelta(days=29)).isoformat() for day in asked], market.series),
    )
    noise = rng.normal(0.0, 0.5, (2, *size))
    values = {
        name: np.asarray(sigmoid(base + lean + each)).ravel()
        for name, lean, each in zip(("up", "down"), (market.lean, -market.lean), noise, strict=True)
    }
    return events, values, truth.ravel()


def measure_market(market: Market, worlds: int) -> dict[str, Count]:
    """Counts by series alone (``before``) and as the commands count (``after``)."""
    rng = np.random.default_rng([SEED, market.days, market.series])
    counts = {"before": Count(), "after": Count()}
    expected = expected_brier(market)
    for _ in range(worlds):
        events, values, _ = draw_market(market, rng)
        undated = replace(events, frame=events.frame.drop(columns=["forecast_due_date", "resolution_date"]))
        if (
            market.days > 1
        ):  # as it was: a series in a block of three windows, whatever else was asked on the day
            block = np.arange(len(events)) // market.series * market.apart // 90
            series = [f"{name} in {part}" for name, part in zip(events.text("series"), block, strict=True)]
            undated = replace(undated, frame=undated.frame.assign(series=series))
        mixed = mixed_comparisons(events, values, "down")
        for name, table in (("before", undated), ("after", events)):
            results = paired_comparisons(table, values, "down", resamples=RESAMPLING.resamples)
            if name == "before":
                results = {
                    method: {part: replace(test, verdict=NOT_SHOWN) for part, test in parts.items()}
                    for method, parts in results.items()
                }
            test = judge(results, mixed)["up"]
            losses = (values["up"] - events.outcome) ** 2
            brier = loss_interval(losses, event_clusters(table), resampling=RESAMPLING)
            counts[name].add(test.verdict, test.interval, brier, expected)
    return counts


def expected_brier(market: Market, draws: int = 400_000) -> float:
    """Expected Brier score of either method."""
    rng = np.random.default_rng(SEED)
    base = rng.normal(0.0, 0.8, draws)
    p, truth = sigmoid(base + market.lean + rng.normal(0.0, 0.5, draws)), sigmoid(base)
    return float(np.mean((p - truth) ** 2 + truth * (1.0 - truth)))


def dated_questions(
    questions: int, dates: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Forecasts of a calibrated forecaster, outcomes and questions: dates of one question share 0.8 of their luck."""
    truth, shared = np.asarray(sigmoid(rng.normal(0.0, 1.2, questions))), rng.random(questions)
    outcomes = [
        np.where(rng.random(questions) < 0.8, shared, rng.random(questions)) < truth for _ in range(dates)
    ]
    return (
        np.tile(truth, dates),
        np.concatenate(outcomes).astype(float),
        np.tile(np.arange(questions), dates),
    )


def measure_errors(questions: int, worlds: int, dates: int = 3) -> dict[str, float]:
    """Mean calibration error beside what is printed for a calibrated forecaster, events apart (``before``) and by question."""
    rng = np.random.default_rng([SEED, questions])
    rows = []
    for _ in range(worlds):
        p, o, question = dated_questions(questions, dates, rng)
        error = calibration_error(p, o)
        apart, together = (calibrated_error(p, own, draws=200) for own in (None, question))
        rows.append((error, apart.expected, together.expected, error > apart.high, error > together.high))
    mean = np.mean(rows, axis=0).tolist()
    return dict(zip(("error", "before", "after", "above_before", "above_after"), mean, strict=True))


def measure_fits(questions: int, dates: int, worlds: int) -> dict[str, float]:
    """Mean change of the Brier score on new events by the fit as it was (any ten forecasts, free slope) and as it is, and how often it fits."""
    rng = np.random.default_rng([SEED, questions, dates])
    changes: dict[str, list[float]] = {"before": [], "after": []}
    fitted = 0
    for _ in range(worlds):
        p, o, question = dated_questions(questions, dates, rng)
        new = np.clip(sigmoid(rng.normal(0.0, 1.2, 4000)), 0.01, 0.99)
        try:
            changes["before"].append(float(np.mean((fit_platt(p, o).apply(new) - new) ** 2)))
        except TooFewError:
            changes["before"].append(0.0)
        events = Events.of(o, question=question.astype(str))
        forecasts = Forecasts.of(events, {"m": {"forecast": p}}, keyed_by="variant")
        try:
            model, _ = calibration_document(events, forecasts, "m")
        except UsageError:
            changes["after"].append(0.0)
            continue
        fitted += 1
        changes["after"].append(float(np.mean((model.apply(new) - new) ** 2)))
    return {name: float(np.mean(column)) for name, column in changes.items()} | {"fitted": fitted / worlds}


def main() -> None:
    """Print the three tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--worlds", type=int, default=400)
    options = parse(parser, worlds=3)
    markets = MARKETS[2:3] if options.smoke else MARKETS
    print(
        "days  series  shared  lean  apart | verdicts before  after | difference covered before  after | Brier before  after"
    )
    for market in markets:
        before, after = measure_market(market, options.worlds).values()
        print(
            f"{market.days:4}  {market.series:6}  {market.shared:6}  {market.lean:4}  {market.apart:5} | "
            f"{before.verdicts / before.worlds:15.1%} {after.verdicts / after.worlds:6.1%} | "
            f"{_share(before.covered, before.shown):>25} {_share(after.covered, after.shown):>6} | "
            f"{_share(before.brier_covered, before.brier_shown):>12} {_share(after.brier_covered, after.brier_shown):>6}"
        )
    print("\nquestions  dates | change of Brier on new events before    after | fitted now")
    for questions, dates in ((50, 3),) if options.smoke else ((10, 1), (20, 3), (50, 1), (50, 3), (200, 1)):
        row = measure_fits(questions, dates, options.worlds)
        print(
            f"{questions:9}  {dates:5} | {row['before']:+35.4f} {row['after']:+8.4f} | {row['fitted']:10.1%}"
        )
    print("\nquestions x 3 dates | mean ECE | if calibrated before  after | above its 95 % before  after")
    for questions in (20,) if options.smoke else (8, 20, 50):
        row = measure_errors(questions, options.worlds)
        print(
            f"{questions:19} | {row['error']:8.3f} | {row['before']:20.3f} {row['after']:6.3f} | "
            f"{row['above_before']:20.1%} {row['above_after']:6.1%}"
        )


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "none"


if __name__ == "__main__":
    main()
