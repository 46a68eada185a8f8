"""Whether both tails of positive levels that return to a mean hold what they say.

    python -m benchmarks.level_tails [--cutoffs 40] [--only NAME]

Twenty series: volatilities, rates, spreads and ratios of the data folder (WORKBENCH_TEST_DATA) and embedded ones, and simulated ones, whose
logarithm returns to a mean with even shocks, with shocks that leap up, and with clustered ones, or whose square root does. At cutoffs spread
evenly over what follows the first third, the ensemble forecasts from what was known alone; counted is how often a value one, three and six
months later lay below the 1 and 5 % quantiles and above the 95 and 99 % ones, as a ratio to what they say: 1 is right.
"""

import argparse
import os
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.arguments import parse
from benchmarks.series_forecasts import column, embedded
from workbench.forecasts.ensemble import Ensemble
from workbench.forecasts.series.series_history import History
from workbench.forecasts.series_paths import Calendar
from workbench.science.arrays import FloatArray

SHARES = (0.01, 0.05, 0.95, 0.99)


def simulated(kind: str, half_life: float, seed: int) -> pd.Series:
    """Return thirty years of months of a level about 3."""
    rng, count = np.random.default_rng(seed), 360
    left = 0.5 ** (1.0 / half_life)
    shocks = rng.standard_normal(count)
    if kind == "leaping":
        shocks = 0.6 * shocks + 0.8 * (rng.exponential(size=count) - 1.0)
    values, level, spread = np.empty(count), 0.0, 1.0
    for month, shock in enumerate(shocks.tolist()):
        if kind == "clustered":
            spread = np.sqrt(0.1 + 0.9 * spread**2 * (0.75 + 0.25 * shock**2))
        size = 0.15 * spread
        if kind == "square root":
            size *= max(np.exp(level), 0.05) ** -0.5
        level = left * level + size * shock
        values[month] = 3.0 * np.exp(level)
    return pd.Series(values, index=pd.date_range("1988-01-01", periods=count, freq="MS"))


def all_series(folder: Path) -> dict[str, pd.Series]:
    """Every series by name; those of the folder where there is one."""
    yields = {name: embedded(name) for name in ("AAA", "BAA")}
    found = {**yields, "BAA - AAA": (yields["BAA"] - yields["AAA"]).round(10)}
    for name in ("SP500", "NASDAQ"):
        returns = 100 * np.log(embedded(name)).diff()
        found[f"{name} volatility"] = (returns.rolling(21).std() * 252**0.5).dropna()
    found["VIX"] = column(folder, "vix_daily.csv", "CLOSE") if folder.is_dir() else embedded("VIX")
    if folder.is_dir():
        found["VIX, month's mean"] = found["VIX"].resample("MS").mean().dropna()
        found["ten-year yield"] = column(folder, "us10y_monthly.csv", "Rate")
        found |= {name: column(folder, "sp500_shiller_monthly.csv", name)["1920":] for name in ("Long Interest Rate", "PE10")}  # fmt: skip
        gas, oil = (column(folder, f"{name}_daily.csv", "Price").resample("MS").mean() for name in ("henry_hub", "wti"))  # fmt: skip
        found |= {"Henry Hub, month's mean": gas.dropna(), "gas / oil": (gas / oil).dropna()}
    kinds = ("even", "leaping", "clustered", "square root")
    places = ((kind, half_life) for kind in kinds for half_life in (3.0, 9.0))
    return found | {f"{kind}, half in {half_life:g} months": simulated(kind, half_life, 40 + place) for place, (kind, half_life) in enumerate(places)}  # fmt: skip


def beyond(values: pd.Series, cutoffs: int) -> tuple[FloatArray, FloatArray]:
    """Whether what came lay beyond each of `SHARES`, shape (forecasts, horizons, 4), and the share of the past below the last value."""
    history = History.of(values.index.to_numpy().astype("datetime64[D]"), values.to_numpy(dtype=float))
    calendar = Calendar.of(history)
    steps = np.array([21, 63, 126] if calendar.steps_a_year > 100 else [1, 3, 6])
    ensemble, rows, begun = Ensemble(each=400), [], []
    for count in np.linspace(max(len(values) // 3, 120), len(values) - steps[-1], cutoffs).astype(int).tolist():  # fmt: skip
        known = History(days=history.days[:count], values=history.values[:count])
        ahead = history.days[count + int(steps[-1]) - 1].item()
        paths = ensemble.paths(known, ahead, calendar)
        places = np.minimum(steps, len(paths.days)) - 1
        quantiles = paths.quantiles(list(SHARES))[:, places].T
        came = history.values[count + steps - 1][:, None]
        rows.append(np.where(np.array(SHARES) < 0.5, came < quantiles, came > quantiles))
        begun.append((known.values < known.values[-1]).mean())
    return np.array(rows, dtype=float), np.array(begun)


def main() -> None:
    """Print the ratio of what came beyond each quantile to what it says, by series and over all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cutoffs", type=int, default=40)
    parser.add_argument("--only", default="", help="series whose name holds this")
    options = parse(parser, cutoffs=2, only="even, half in 3")
    data = Path(os.environ.get("WORKBENCH_TEST_DATA", Path(__file__).parents[2] / "shared" / "data"))
    series = {name: each for name, each in all_series(data / "series").items() if options.only in name}
    print("| series | below 1 % | below 5 % | above 95 % | above 99 % |\n" + "| --- " * 5 + "|")
    found = []
    for name, values in series.items():
        found.append(beyond(values, options.cutoffs))
        print(_line(name, found[-1][0].mean(axis=(0, 1))), flush=True)
    rows, begun = (np.concatenate(part) for part in zip(*found, strict=True))
    for place, name in enumerate(("one month", "three months", "six months")):
        print(_line(f"all, {name}", rows[:, place].mean(axis=0)))
    for name, chosen in (("low", begun < 0.25), ("high", begun > 0.75)):
        if chosen.any():
            print(_line(f"all begun {name}, in a quarter of the past", rows[chosen].mean(axis=(0, 1))))
    print(_line("all", rows.mean(axis=(0, 1))))


def _line(name: str, shares: FloatArray) -> str:
    stated = np.minimum(SHARES, 1.0 - np.array(SHARES))
    return f"| {name} | " + " | ".join(f"{each:.2f}" for each in shares / stated) + " |"


if __name__ == "__main__":
    main()
