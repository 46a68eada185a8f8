"""What the statistical grounder is worth: ForecastBench-like questions on real series, beside the base rate and paper B's forms.

    python -m benchmarks.statistical [--first 2006] [--last 2025] [--every 6] [--resamples 5000]

"Will it be higher on R than on F?", as ForecastBench asks it of FRED, Yahoo and DBnomics: 4 daily and 9 monthly series of the data folder
(WORKBENCH_TEST_DATA), forecast dates half a year apart, R one week, four weeks and 13 weeks later (monthly series: 1, 3 and 6 months). The
past is what was published by then: a day's lag for the VIX, eight days for energy prices, 15 days after the month's end for months.
ForecastBench's own FRED and Yahoo questions cannot be scored here, since their series are not in the folder. Intervals draw forecast dates:
questions of one date share the market's move.
"""

import argparse
import csv
import os
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import numpy as np

from benchmarks.arguments import parse
from workbench.questions.series.known_series import month_end
from workbench.questions.series.series_estimate import SeriesEstimate, estimate_leaf
from workbench.questions.series.series_leaf import read_series_leaf
from workbench.science.comparing.bootstrap import percentile_interval, resampled_means

Rows = list[dict[str, str | float]]
#: File, column, days until a value is known, and the source whose settings paper B would take.
DAILY = {
    "VIX": ("vix_daily.csv", "CLOSE", 1, "yfinance"),
    "WTI": ("wti_daily.csv", "Price", 8, "fred"),
    "Brent": ("brent_daily.csv", "Price", 8, "fred"),
    "HenryHub": ("henry_hub_daily.csv", "Price", 8, "fred"),
}
MONTHLY = {
    "gold": ("gold_monthly.csv", "Price", ""),
    "US10Y": ("us10y_monthly.csv", "Rate", ""),
    "CPI": ("cpi_us_monthly.csv", "Index", ""),
    "EURO": ("fx_monthly.csv", "Exchange rate", "Euro"),
    "UK": ("fx_monthly.csv", "Exchange rate", "United Kingdom"),
    "JAPAN": ("fx_monthly.csv", "Exchange rate", "Japan"),
    "CANADA": ("fx_monthly.csv", "Exchange rate", "Canada"),
    "BRAZIL": ("fx_monthly.csv", "Exchange rate", "Brazil"),
    "INDIA": ("fx_monthly.csv", "Exchange rate", "India"),
}
METHODS = ("always 0.5", "base rate", "forecaster", "paper (hybrid)", "safe-linear", "KNN")


@dataclass(frozen=True)
class Question:
    """One question with every method's forecast."""

    kind: str
    series: str
    asked: date
    horizon: int
    outcome: float
    p: dict[str, float]


def read(folder: Path, file: str, column: str, country: str = "") -> Rows:
    with (folder / "series" / file).open(encoding="utf-8") as lines:
        table = list(csv.DictReader(lines))
    day = "DATE" if "DATE" in table[0] else "Date"
    rows = [row for row in table if not country or row["Country"] == country]
    return [{"date": (row[day] + "-01")[:10], "value": float(row[column])} for row in rows if row[column]]


def forecasts(sentence: str, rows: Rows, visible: date) -> tuple[SeriesEstimate, dict[str, float]]:
    leaf = read_series_leaf(sentence)
    ours = estimate_leaf(leaf, sentence, [rows], visible)
    paper = estimate_leaf(leaf, sentence, [rows], visible, "paper")
    base = 0.5 if ours.base_rate is None else ours.base_rate
    p = {"always 0.5": 0.5, "base rate": base, "forecaster": ours.p, "paper (hybrid)": paper.models["hybrid"]}
    return ours, {**p, "safe-linear": paper.comparators["safe-linear"], "KNN": paper.comparators["KNN"]}


def value_on(rows: Rows, day: date) -> float | None:
    at = [row for row in rows if str(row["date"]) <= day.isoformat()]
    fresh = at and day - date.fromisoformat(str(at[-1]["date"])) <= timedelta(days=5)
    return float(at[-1]["value"]) if fresh else None


def daily_questions(name: str, rows: Rows, lag: int, source: str, dates: list[date]) -> list[Question]:
    questions = []
    for asked in dates:
        visible = asked - timedelta(days=lag)
        past = [row for row in rows if str(row["date"]) <= visible.isoformat()]
        for horizon in (7, 28, 91):
            end = asked + timedelta(days=horizon)
            while end.weekday() > 4:
                end += timedelta(days=1)
            last, first = value_on(rows, end), value_on(rows, asked)
            if last is None or first is None or not past:
                continue
            sentence = f"{source}/{name.upper()} is higher on {end} than on {asked}"
            _, p = forecasts(sentence, past, visible)
            outcome = float(last > first)
            questions.append(Question("daily", name, asked, horizon, outcome, p))
    return questions


def monthly_questions(name: str, rows: Rows, dates: list[date]) -> list[Question]:
    questions = []
    for asked in dates:
        past = [
            row
            for row in rows
            if month_end(date.fromisoformat(str(row["date"]))) + timedelta(days=15) <= asked
        ]
        for months in (1, 3, 6):
            year, month = divmod(asked.year * 12 + asked.month - 1 + months, 12)
            target = date(year, month + 1, 1).isoformat()
            values = [float(row["value"]) for row in rows if row["date"] == target]
            if not values or len(past) < 60:
                continue
            sentence = (
                f"fred/{name.upper()} is higher on {month_end(date.fromisoformat(target))} than on {asked}"
            )
            ours, p = forecasts(sentence, past, asked)
            outcome = float(values[0] > ours.reference)
            questions.append(Question("monthly", name, asked, 30 * months, outcome, p))
    return questions


def table(title: str, questions: list[Question], resamples: int) -> None:
    errors = np.array([[(q.p[m] - q.outcome) ** 2 for m in METHODS] for q in questions])
    gaps = errors - errors[:, [METHODS.index("base rate")]]
    clusters = np.array([q.asked.isoformat() for q in questions])
    means = resampled_means(np.hstack([errors, gaps]), clusters=clusters, resamples=resamples)
    yes = np.mean([q.outcome for q in questions])
    print(f"\n{title}: {len(questions)} questions, {len(set(clusters))} dates, {yes:.0%} yes")
    print("| method | Brier | 95 % | minus base rate | 95 % |\n| --- | --- | --- | --- | --- |")
    for k, method in enumerate(METHODS):
        brier = percentile_interval(errors[:, k].mean(), means[:, k])
        gap = percentile_interval(gaps[:, k].mean(), means[:, len(METHODS) + k])
        print(
            f"| {method} | {errors[:, k].mean():.4f} | {brier.low:.4f} to {brier.high:.4f} | "
            f"{gaps[:, k].mean():+.4f} | {gap.low:+.4f} to {gap.high:+.4f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--first", type=int, default=2006)
    parser.add_argument("--last", type=int, default=2025)
    parser.add_argument("--every", type=int, default=6, help="months between forecast dates")
    parser.add_argument("--resamples", type=int, default=5000)
    parser.add_argument("--only", help="names of series, joined by commas; all without it")
    options = parse(parser, first=2016, last=2016, resamples=50, only="VIX")
    folder = Path(os.environ.get("WORKBENCH_TEST_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not (folder / "series").is_dir():
        print("no data folder (WORKBENCH_TEST_DATA): nothing to measure")
        return
    steps = range(0, 12 * (options.last - options.first + 1), options.every)
    # The 24th, as far from the turn of a month as the sources' releases allow.
    dates = [date(options.first + step // 12, step % 12 + 1, 24) for step in steps]
    questions: list[Question] = []
    only = set(options.only.split(",")) if options.only else {*DAILY, *MONTHLY}
    for name, (file, column, lag, source) in DAILY.items():
        if name not in only:
            continue
        questions += daily_questions(name, read(folder, file, column), lag, source, dates)
    for name, (file, column, country) in MONTHLY.items():
        if name not in only:
            continue
        questions += monthly_questions(name, read(folder, file, column, country), dates)
    parts = [
        (f"All {kind} series", [q for q in questions if q.kind == kind]) for kind in ("daily", "monthly")
    ]
    parts += [(name, [q for q in questions if q.series == name]) for name in (*DAILY, "CPI")]
    for title, part in parts:
        if part:
            table(title, part, options.resamples)


if __name__ == "__main__":
    main()
