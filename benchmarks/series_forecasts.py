"""What the forecaster of series is worth on some fifty series: CRPS, calibration, and claims beside their base rate.

    python -m benchmarks.series_forecasts [--cutoffs 20] [--seconds 3600] [--store out/series_forecasts.jsonl] [--csv FILE] [--only NAME]

Daily, monthly and quarterly series: those embedded, those of the data folder (WORKBENCH_TEST_DATA), and transformations of them. At past cutoffs,
evenly spread over the last twenty years of each, the ensemble forecasts from the values before the cutoff alone. Horizons are
steps after the last known value (of a daily series 5, 21 and 63 sessions). Rivals: climatology (every past change over as many steps, on
the scale of the series, what a base rate is to a claim), the walk without drift, and each member alone, unweighted and uncalibrated.

Claims on the same paths: higher than now; above its median of five years; touches one deviation of such windows above, and one
below; mean of the window above its mean of the last year. Their base rate is the share of past windows that would do it from
where the series stands: stronger than the unconditional one beside the product's answers. Intervals draw calendar years of cutoffs, since
series of one year share its luck. Each (series, horizon) is one line of the store and is not forecast again, under the same code;
after ``--seconds`` the tables are made of what is there.
"""

import argparse
import csv
import json
import os
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.arguments import parse
from proxies.vendors.embedded import series_rows
from workbench.forecasts.ensemble import Ensemble
from workbench.forecasts.members.scaled_past import ScaledPast
from workbench.forecasts.series.series_history import History
from workbench.forecasts.series_paths import Calendar, Frequency
from workbench.science.arrays import FloatArray
from workbench.science.scoring.crps import crps_of_draws, pit_of_draws
from workbench.source_hash import source_hash

COUNTRIES = (
    "Australia", "Brazil", "Canada", "China", "Denmark", "Euro", "India", "Japan", "Mexico", "New Zealand", "Norway", "Singapore",
    "South Africa", "South Korea", "Sweden", "Switzerland", "Thailand", "United Kingdom",
)  # fmt: skip
STEPS: Mapping[Frequency, tuple[int, ...]] = {
    "weekday": (5, 21, 63),
    "month": (1, 3, 6),
    "quarter": (1, 2, 4),
}
#: Steps that are three months.
THREE_MONTHS: Mapping[str, int] = {"weekday": 63, "month": 3, "quarter": 1}
CLAIMS = ("higher than now", "above its five-year median", "touches a deviation above", "touches a deviation below", "mean above last year's")  # fmt: skip
YEARS = 20
Series = Mapping[str, tuple[Frequency, pd.Series]]


def embedded(name: str) -> pd.Series:
    rows = series_rows(None, name)
    return pd.Series({pd.Timestamp(row["date"]): float(row["value"]) for row in rows}).sort_index()


def column(folder: Path, file: str, name: str, **where: str) -> pd.Series:
    table = pd.read_csv(folder / file)
    for key, value in where.items():
        table = table[table[key] == value]
    days = pd.to_datetime(table[table.columns[0]])
    values = pd.Series(table[name].to_numpy(dtype=float), index=days).dropna().sort_index()
    return values[values != 0.0]


def all_series(folder: Path | None) -> Series:
    """Every series by name, with its frequency; those of the data folder where there is one."""
    stocks = {name: embedded(name) for name in ("SP500", "NASDAQ")}
    yields = {name: embedded(name) for name in ("AAA", "BAA")}
    core = embedded("CORE_CPI")
    daily: dict[str, pd.Series] = {
        **stocks,
        "NASDAQ / SP500": (stocks["NASDAQ"] / stocks["SP500"]).dropna(),
        **{f"{name} volatility": 100 * np.log(each).diff().rolling(21).std().dropna() * 252**0.5 for name, each in stocks.items()},
    }  # fmt: skip
    monthly = {**yields, "BAA - AAA": (yields["BAA"] - yields["AAA"]).round(10), "core CPI": core, "core inflation": 100 * core.pct_change(12).dropna()}  # fmt: skip
    quarterly: dict[str, pd.Series] = {}
    if folder is None:
        daily |= {"VIX": embedded("VIX"), "WTI": embedded("WTI")}
    else:
        oil = {name: column(folder, f"{file}_daily.csv", "Price") for name, file in (("WTI", "wti"), ("Brent", "brent"), ("Henry Hub", "henry_hub"))}  # fmt: skip
        vix = column(folder, "vix_daily.csv", "CLOSE")
        daily |= {**oil, "VIX": vix, "Brent - WTI": (oil["Brent"] - oil["WTI"]).dropna().round(10)}
        shiller = {name: column(folder, "sp500_shiller_monthly.csv", name) for name in ("SP500", "Dividend", "Long Interest Rate", "PE10")}  # fmt: skip
        cpi = column(folder, "cpi_us_monthly.csv", "Index")
        rate = column(folder, "us10y_monthly.csv", "Rate")
        gold = column(folder, "gold_monthly.csv", "Price")["1971":]
        monthly |= {
            f"Shiller {name}": each["1945":] for name, each in shiller.items() if name != "Long Interest Rate"
        }
        monthly |= {"CPI": cpi["1945":], "inflation": 100 * cpi.pct_change(12).dropna()["1945":]}
        monthly |= {"ten-year yield": rate, "gold": gold, "gold / SP500": (gold / shiller["SP500"]).dropna()}
        monthly |= {f"USD in {name}": column(folder, "fx_monthly.csv", "Exchange rate", Country=name) for name in COUNTRIES}  # fmt: skip
        monthly |= {f"{name}, month's mean": each.resample("MS").mean().dropna() for name, each in {**oil, "VIX": vix}.items()}  # fmt: skip
        gdp = {
            name: column(folder, "gdp_us_quarterly.csv", f"level-{name}") for name in ("current", "chained")
        }
        quarterly = {
            "GDP": gdp["current"],
            "real GDP": gdp["chained"],
            "real growth": 100 * gdp["chained"].pct_change(4).dropna(),
            **{f"{name}, quarter's mean": each.resample("QS").mean().dropna() for name, each in (("CPI", cpi["1945":]), ("ten-year yield", rate), ("gold", gold))},
        }  # fmt: skip
    frequencies: tuple[tuple[Frequency, dict[str, pd.Series]], ...] = (
        ("weekday", daily),
        ("month", monthly),
        ("quarter", quarterly),
    )
    return {name: (frequency, each) for frequency, part in frequencies for name, each in part.items()}


def climatology(past: ScaledPast, steps: int) -> FloatArray:
    """Every past window's changes, from the last value on; shape (windows, steps), on the scale."""
    windows = np.lib.stride_tricks.sliding_window_view(past.x, steps + 1)
    return np.asarray(past.x[-1] + windows[:, 1:] - windows[:, :1])


def claims_of(past: ScaledPast, steps: int, paths: FloatArray) -> FloatArray:
    """Whether each path, on the scale, makes each of the claims true; shape (paths, claims)."""
    year = max(round(past.calendar.steps_a_year), 1)
    changes = past.x[steps:] - past.x[:-steps]
    deviation = float(changes.std())
    last = float(past.x[-1])
    return np.column_stack(
        [
            paths[:, -1] > last,
            paths[:, -1] > np.median(past.x[-5 * year :]),
            paths.max(axis=1) >= last + deviation,
            paths.min(axis=1) <= last - deviation,
            paths.mean(axis=1) > past.x[-year:].mean(),
        ]
    )


def at_cutoff(history: History, count: int, steps: int, calendar: Calendar, paths: int) -> dict[str, Any]:
    """Every forecaster's scores at the cutoff after ``count`` values."""
    known = History(days=history.days[:count], values=history.values[:count])
    came = history.values[count : count + steps]
    past = ScaledPast.of(known, calendar)
    # The stamps of the calendar, as many as asked: real ones may differ by a holiday.
    horizon = (known.days[-1] + np.timedelta64(int(steps * 366 / calendar.steps_a_year) + 9, "D")).item()
    stamps = calendar.stamps(known.days[-1].item(), horizon)[:steps]
    end = stamps[-1].item()
    pool = Ensemble(each=paths).paths(known, end, calendar)
    alone = Ensemble(each=paths, learned=False).paths(known, end, calendar)
    windows = climatology(past, steps)
    last, outcome = past.unscaled(windows[:, -1]), float(came[-1])
    scaled = np.log(came) if past.logarithmic and (came > 0).all() else came if not past.logarithmic else None
    row: dict[str, Any] = {
        "day": str(known.days[-1]),
        "size": max(float(np.abs(np.diff(known.values)).mean()), 1e-12),
        "crps": {
            "pool": crps_of_draws(pool.values[:, -1], outcome, pool.weights),
            "climatology": crps_of_draws(last, outcome),
            **{
                name: crps_of_draws(alone.values[alone.drawn_by == alone.members.index(name), -1], outcome)
                for name in alone.members
            },
        },
        "pit": {
            "pool": pit_of_draws(pool.values[:, -1], outcome, pool.weights),
            "climatology": pit_of_draws(last, outcome),
        },
    }
    if scaled is not None:
        drawn = np.log(pool.values) if past.logarithmic else pool.values
        row["claims"] = {
            "p": np.clip(pool.weights @ claims_of(past, steps, drawn), 0.01, 0.99).tolist(),
            "base": np.clip(claims_of(past, steps, windows).mean(axis=0), 0.01, 0.99).tolist(),
            "outcome": claims_of(past, steps, np.asarray(scaled)[None]).astype(float)[0].tolist(),
        }
    return row


def positions(history: History, steps: int, calendar: Calendar, cutoffs: int) -> list[int]:
    """Numbers of values known at the cutoffs: ten years of them at least, or a third of the series, where it is shorter."""
    count, year = len(history), calendar.steps_a_year
    first = max(min(int(10 * year), count // 2), int(count - YEARS * year), 60)
    last = count - steps
    if last <= first:
        return []
    return sorted({round(first + (last - first) * place / max(cutoffs - 1, 1)) for place in range(cutoffs)})


def index_gain(rows: Sequence[tuple[str, float, float, float]], resamples: int = 2000) -> tuple[float, float, float, float, float]:  # fmt: skip
    """Brier Index of (year, p, base, outcome), of the base rate, and the difference with its interval over years."""
    years, codes = np.unique([row[0] for row in rows], return_inverse=True)
    p, base, outcome = (np.array([row[place] for row in rows]) for place in (1, 2, 3))
    sums = np.array(
        [np.bincount(codes, weights=each) for each in ((p - outcome) ** 2, (base - outcome) ** 2, np.ones(len(p)))]
    )  # fmt: skip
    drawn = np.random.default_rng(7).multinomial(len(years), np.full(len(years), 1 / len(years)), resamples)

    def gain(weights: np.ndarray) -> FloatArray:
        totals = weights @ sums.T
        return np.asarray(
            100 * (np.sqrt(totals[..., 1] / totals[..., 2]) - np.sqrt(totals[..., 0] / totals[..., 2]))
        )

    low, high = np.quantile(gain(drawn), [0.025, 0.975])
    own, rival = (100 * (1 - np.sqrt(each.mean())) for each in ((p - outcome) ** 2, (base - outcome) ** 2))
    return float(own), float(rival), float(gain(np.ones(len(years)))), float(low), float(high)


def line(cells: Sequence[object]) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def show(results: Sequence[Mapping[str, Any]]) -> None:
    """Print the tables: by frequency and horizon, PIT histograms, claims."""
    groups: dict[tuple[str, int], list[Mapping[str, Any]]] = defaultdict(list)
    for result in results:
        groups[result["frequency"], result["steps"]].append(result)
    print(line(["steps ahead", "series", "n", "against climatology", "against the walk", "best single member", "against it", "50 %", "80 %", "90 %"]))  # fmt: skip
    print("|---" * 10 + "|")
    for (frequency, steps), part in groups.items():
        rows = [row for result in part for row in result["rows"]]
        # In units of the series' usual step, so that no series decides the mean.
        means: dict[str, list[float]] = defaultdict(list)
        for row in rows:
            for name, value in row["crps"].items():
                means[name].append(value / row["size"])
        whole = {name: float(np.mean(values)) for name, values in means.items() if len(values) == len(rows)}
        best = min(
            (name for name in whole if name not in ("pool", "climatology")), key=lambda name: whole[name]
        )
        pit = np.array([row["pit"]["pool"] for row in rows])
        held = [f"{np.mean(np.abs(pit - 0.5) <= share / 2):.0%}" for share in (0.5, 0.8, 0.9)]
        gains = [
            f"{100 * (1 - whole['pool'] / whole[name]):+.1f} %" for name in ("climatology", "walk", best)
        ]
        print(
            line([f"{steps} ({frequency})", len(part), len(rows), gains[0], gains[1], best, gains[2], *held])
        )
    print("\nPIT, share in each tenth (%):")
    for (frequency, steps), part in groups.items():
        pit = np.array([row["pit"]["pool"] for result in part for row in result["rows"]])
        counts = np.histogram(pit, bins=10, range=(0, 1))[0]
        print(f"{steps:3d} {frequency:8}", " ".join(f"{100 * count / len(pit):5.1f}" for count in counts))
    print("\n" + line(["claims", "n", "forecaster", "base rate", "difference [95 %]"]))
    print("|---" * 5 + "|")
    for (frequency, steps), part in groups.items():
        rated = _claim_rows(part)
        if rated:
            print(line([f"{steps} ({frequency})", len(rated), *_gain(rated)]))
    at_three = [each for each in results if THREE_MONTHS[each["frequency"]] == each["steps"]]
    for place, name in enumerate(CLAIMS):
        if rated := _claim_rows(at_three, place):
            print(line([f"3 months, {name}", len(rated), *_gain(rated)]))
    if rated := _claim_rows(at_three):
        print(line([f"3 months, all {len(at_three)} series", len(rated), *_gain(rated)]))


def _claim_rows(results: Sequence[Mapping[str, Any]], place: int | None = None) -> list[tuple[str, float, float, float]]:  # fmt: skip
    return [
        (row["day"][:4], *(float(row["claims"][name][each]) for name in ("p", "base", "outcome")))
        for result in results
        for row in result["rows"]
        if "claims" in row
        for each in (range(len(CLAIMS)) if place is None else [place])
    ]


def _gain(rows: Sequence[tuple[str, float, float, float]]) -> list[str]:
    own, base, gain, low, high = index_gain(rows)
    return [f"{own:.1f}", f"{base:.1f}", f"{gain:+.1f} [{low:+.1f}, {high:+.1f}]"]


def main() -> None:
    """Forecast what the store does not hold yet, and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cutoffs", type=int, default=20)
    parser.add_argument("--paths", type=int, default=300, help="of each member")
    parser.add_argument("--seconds", type=float, default=3600.0, help="begin no new series after so many")
    parser.add_argument("--store", type=Path, default=Path("out/series_forecasts.jsonl"))
    parser.add_argument("--csv", type=Path, help="a row per series and horizon")
    parser.add_argument("--only", default="", help="series whose name holds this")
    options = parse(parser, cutoffs=2, paths=50, seconds=20.0, only="BAA - AAA", store=Path(os.devnull))
    folder = (
        Path(os.environ.get("WORKBENCH_TEST_DATA", Path(__file__).parents[2] / "shared" / "data")) / "series"
    )
    begun, key = (
        time.monotonic(),
        f"{source_hash('workbench.forecasts')[:12]} {options.cutoffs} {options.paths}",
    )
    results = [each for each in stored(options.store) if each["key"] == key and options.only in each["name"]]
    done = {(each["name"], each["steps"]) for each in results}
    options.store.parent.mkdir(parents=True, exist_ok=True)
    series = all_series(folder if folder.is_dir() else None)
    # Three months first: the horizon that goals are set for.
    due = [(name, steps) for name, (frequency, _) in series.items() for steps in STEPS[frequency]]
    due.sort(key=lambda each: each[1] != THREE_MONTHS[series[each[0]][0]])
    for name, steps in due:
        if (name, steps) in done or options.only not in name or time.monotonic() - begun > options.seconds:
            continue
        frequency, values = series[name]
        history, calendar = (
            History.of(values.index.to_numpy(), values.to_numpy()),
            Calendar(frequency=frequency),
        )
        rows = [
            at_cutoff(history, count, steps, calendar, options.paths)
            for count in positions(history, steps, calendar, options.cutoffs)
        ]
        if rows:
            results.append({"key": key, "name": name, "frequency": frequency, "steps": steps, "rows": rows})
            with options.store.open("a") as file:
                file.write(json.dumps(results[-1]) + "\n")
    show(sorted(results, key=lambda each: (list(STEPS).index(each["frequency"]), each["steps"])))
    if options.csv:
        with options.csv.open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(
                [
                    "series",
                    "frequency",
                    "steps",
                    "n",
                    "crps",
                    "climatology",
                    "walk",
                    "best member",
                    "its crps",
                ]
            )
            for each in results:
                rows = each["rows"]
                always = set.intersection(*(set(row["crps"]) for row in rows))
                means = {name: float(np.mean([row["crps"][name] for row in rows])) for name in always}
                best = min(always - {"pool", "climatology"}, key=lambda name: (means[name], name))
                scores = [means[name] for name in ("pool", "climatology", "walk")]
                table.writerow(
                    [each["name"], each["frequency"], each["steps"], len(rows), *scores, best, means[best]]
                )


def stored(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a store; half a line, of a kill, is none."""
    results = []
    for text in path.read_text().splitlines() if path.exists() else []:
        try:
            results.append(json.loads(text))
        except ValueError:
            continue
    return results


if __name__ == "__main__":
    main()
