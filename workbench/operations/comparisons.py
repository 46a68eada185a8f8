"""Methods against a reference, and what betting their forecasts against prices would have brought."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from workbench.formatting import counted, signed_figure, signed_interval
from workbench.operations.base import Home
from workbench.operations.blocks import Block, Table, columns
from workbench.operations.fields import Numbers, Words
from workbench.operations.forecast_files import ExamFiles, left_out, with_interval, write_csv


class Compare(ExamFiles):
    """Compare methods with a reference on the events both answered.

    Differences are in Brier Index points (above 0: better than the reference). Interval and p value come from one test, sign flips
    of whole clusters: events of one series in one stretch of time, and events asked on one day, share their luck. A verdict wants a p
    value of at most 0.05 after Holm's correction for all methods compared, a mixed model that agrees, 6 clusters and 6 days asked on.
    """

    short = ("events", "forecasts", "reference", "method", "calibrate")
    unlisted = ("exam", "ensemble", "unit")

    reference: str
    """A method, METHOD@VARIANT, or a baseline (crowd+prior_temporal, 0.5)."""
    pool: str = "logit-mean"
    """How trials are pooled."""
    calibrate: str = "none"
    """none, platt, platt-hier; for every method."""
    loo: str = "event"
    """What calibration leaves out: event, question."""
    baseline: Words = []
    """Add baselines, by comma."""
    ensemble: str = "none"
    """none, greedy: also the ensemble that grows by whoever helps most; chosen without the question it forecasts."""
    unit: Literal["question", "event", "both"] = "question"
    """What the paper's bootstrap (--json) draws."""
    resamples: int = 20_000
    """Bootstrap resamples."""
    seed: int = 20261121
    """Seed of the resampling."""

    def answer(self, home: Home) -> dict[str, Any]:
        """Return the paired test, the mixed model, the variance by parts and the sample sizes needed."""
        from workbench.science.documents import compare_document
        from workbench.science.recipe import Recipe

        events, forecasts, said = self.chosen(home)
        document = compare_document(
            events,
            forecasts,
            Recipe(pool=self.pool, calibrate=self.calibrate, loo=self.loo),
            self.reference,
            methods=self.method,
            variant=self.variant,
            baselines=self.baseline,
            unit=self.unit,
            resamples=self.resamples,
            seed=self.seed,
            ensemble=self.ensemble,
        )
        return document | said

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return a row for each method and part, what the variance is of, and the verdicts' conditions."""
        rows = []
        for name, parts in document["paired_test"].items():
            for part, test in parts.items():
                mixed = document["mixed_model"].get(name, {}).get(part)
                own = {
                    "name": name,
                    "part": part,
                    "BI": with_interval(test["method"], test["method_interval"]),
                    "against": signed_interval(test["difference"], test["interval"], 2),
                    "mixed": f"{signed_figure(mixed['difference'], 2)} ({mixed['se']:.2f})"
                    if mixed
                    else None,
                    "verdict": (test["verdict"] or "no verdict")
                    + (f" ({test['reason']})" if test["reason"] else ""),
                }
                rows.append({**test, **own})
        yield columns(
            rows, method="name", part="part", n="n", clusters="clusters", days_asked_on="days", BI="BI",
            **{f"against {document['reference']}": "against"}, p="p", p_holm="p_holm", mixed_model="mixed", verdict="verdict",
        )  # fmt: skip
        if anova := document["anova"]["complete"] or document["anova"]["all"]:
            yield (
                f"variance of 1 - |p - o|: method {anova['pct_method']:.1f}%, question {anova['pct_question']:.1f}%, "
                f"rest {anova['pct_residual']:.1f}% ({anova['M']} methods, {anova['Q']} questions)"
            )
        if ensemble := document.get("ensemble"):
            yield (
                f"greedy ensemble ({ensemble['how']}) on {counted(ensemble['events'], 'event')} of {counted(ensemble['questions'], 'question')}: Brier "
                f"{ensemble['brier']:.4f} without the question forecast; best single member, chosen alike, "
                f"{ensemble['best_single_brier']:.4f}; in-sample {ensemble['in_sample_brier']:.4f}, which flatters"
            )
            yield columns(ensemble["chosen"], members="members", questions="questions")
        yield document["multiple_comparisons"]
        yield from left_out(document)
        yield from (f"{name}: {hint['hint']}" for name, hint in document["sample_size"].items())


class Returns(ExamFiles):
    """Print the average return (1 breaks even) and Sharpe ratio of a dollar on every market event, split into edge and luck.

    Return = 1 + edge + luck: edge was expected when the bet was made, luck came with the outcome; luck z beyond 2 either way
    says that the expectations were off. With `fee`, `cap` or `no_price` bets are of one side, sized after costs, the rest kept.
    Behind the figures stand 95 % intervals: of average returns the paper's bootstrap over events (Prophet Arena, App. C.7), of luck with the
    bets fixed and outcomes at the prices' odds, of ratios over clusters.
    """

    short = ("events", "forecasts", "method", "risk_aversion")
    unlisted = ("variant", "price", "tie", "exam")

    pool: str = "mean"
    """How trials are pooled."""
    risk_aversion: Numbers = [0, 0.25, 0.5, 0.75, 1]
    """Levels by comma; 0 goes all in, 1 bets the forecast."""
    price: str = "crowd"
    """Column with the price of a Yes share."""
    tie: str = "no"
    """Bet at level 0 where forecast equals price: no, yes, half, abstain."""
    no_price: str = ""
    """Column with the price of a No share; one minus Yes without it."""
    fee: float | None = None
    """Dollars a share; bets are then sized after costs."""
    cap: float | None = None
    """Most of the dollar on one market; the rest is kept."""
    edge_by: str = ""
    """Column to measure edge by, such as a later price; own forecasts without it."""
    by: str = ""
    """Also within each value of this column."""
    baseline: Words = []
    """Add baselines: 0.5, crowd, outcome (perfect)."""
    log: Path | None = None
    """Write every position to this CSV."""

    def answer(self, home: Home) -> dict[str, Any]:
        """Return the figures of each method by level of risk aversion."""
        from workbench.science.comparing.mean_intervals import Resampling
        from workbench.science.documents import (
            POSITION_COLUMNS,
            BettingRules,
            market_forecasts,
            position_rows,
            returns_document,
        )
        from workbench.science.scoring.betting import Costs

        events, forecasts, said = self.chosen(home)
        values = market_forecasts(
            forecasts, methods=self.method, variant=self.variant, how=self.pool, baselines=self.baseline
        )
        unsized = self.fee is None and self.cap is None
        rules = BettingRules(
            price=self.price,
            levels=tuple(self.risk_aversion),
            tie=self.tie,
            costs=None if unsized else Costs(fee=self.fee or 0.0, cap=1.0 if self.cap is None else self.cap),
            no_price=self.no_price,
            belief=self.edge_by,
        )
        resampling = Resampling(resamples=self.resamples, seed=self.seed)
        document = returns_document(events, values, rules=rules, by=self.by, resampling=resampling)
        if self.log is not None:
            write_csv(self.log, POSITION_COLUMNS, position_rows(events, values, rules=rules))
        return document | said

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return a row for each method with the figures of every level."""
        names = {
            "average_return": "return",
            "sharpe": "sharpe",
            "edge": "edge",
            "luck": "luck",
            "luck_z": "luck z",
        }
        shown = [(figure, f"{level:g}") for figure in names for level in self.risk_aversion]
        rows = []
        for name, entry in document["methods"].items():
            bounds = entry.get("intervals", {})
            cells = [
                with_interval(entry[figure][key], bounds.get(figure, {}).get(key)) for figure, key in shown
            ]
            scores = [with_interval(entry["brier"], bounds.get("brier")), entry["ece"]]
            expected = entry["calibrated"]["ece"]["expected"]
            rows.append([name, entry["n"], entry["clusters"], *cells, *scores, expected, entry["ties"]])
        levels = [f"{names[figure]} {key}" for figure, key in shown]
        yield Table(["method", "n", "clusters", *levels, "brier", "ece", "ece if calibrated", "ties"], rows)
        yield from left_out(document)
