"""Whether the band of a chance holds the chance that is true of a simulated world, and how many claims have none.

    python -m benchmarks.chance_bands [--histories 240] [--seed 0] [--equal]

Histories of 12 years: a price, a level and a spread that return to their mean. Claims a week, four and twelve weeks ahead; what is true of each is counted on 5,000
futures. Each member draws as many paths as in an answer, and without ``--equal`` the members' weights are learned, as there (half a second a history).
"""

import argparse
from collections import defaultdict
from collections.abc import Mapping
from datetime import date

import numpy as np
from scipy.signal import lfilter

from benchmarks.arguments import parse
from workbench.forecasts.chance_error import chance_error
from workbench.forecasts.ensemble import Ensemble
from workbench.forecasts.past_windows import TooLittleHistory, reading_windows
from workbench.forecasts.reading import Reading, chance
from workbench.forecasts.series.series_history import History
from workbench.forecasts.series_paths import Calendar, Paths
from workbench.science.arrays import FloatArray

CALENDAR = Calendar(frequency="weekday")
LAST_DAY = date(2018, 6, 29)
DAYS = CALENDAR.stamps(date(2005, 1, 1), LAST_DAY)[-252 * 12 :]
AHEAD = CALENDAR.stamps(LAST_DAY, date(2018, 12, 31))[:60]
KINDS = ("higher", "level", "average", "spread")
STEPS = (5, 20, 60)
FUTURES = 5_000
#: What is left of a level after a day: half-lives of two and of nine months.
KEPT = {"level": 0.985, "spread": 0.996}


def world(kind: str, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Return a past, and 5,000 futures that may follow it, both as values."""
    if kind not in KEPT:
        x = np.cumsum(0.0003 + 0.01 * rng.standard_normal(len(DAYS)))
        return 100 * np.exp(x), 100 * np.exp(x[-1] + np.cumsum(0.0003 + 0.01 * rng.standard_normal((FUTURES, 60)), axis=1))  # fmt: skip
    keep = KEPT[kind]
    x = 0.05 * lfilter([1.0], [1.0, -keep], rng.standard_normal(len(DAYS) + 2000))[2000:]
    shocks = 0.05 * rng.standard_normal((FUTURES, 60))
    ahead = lfilter([1.0], [1.0, -keep], shocks, axis=1) + x[-1] * keep ** np.arange(1, 61)
    return (100 * np.exp(x), 100 * np.exp(ahead)) if kind == "level" else (3 + x, 3 + ahead)


def claim_of(kind: str, steps: int) -> Reading:
    """Return the claim of a kind that ends so many steps ahead."""
    end = AHEAD[steps - 1].item()
    if kind == "higher":
        return Reading(series=("X",), transformation="change", comparison="above", level=0.0, end=end)
    if kind == "average":
        return Reading(series=("X",), transformation="average_gap", lag=200, comparison="above", level=0.0, end=end)  # fmt: skip
    return Reading(series=("X",), comparison="above", level=100.0 if kind == "level" else 3.0, end=end)


def is_refused(asked: Reading, kind: str, known: History) -> bool:
    """Whether a claim has no band, because too few separate windows of its kind are known."""
    try:
        reading_windows(asked, known, LAST_DAY, "none" if kind in KEPT else "growth")
    except TooLittleHistory:
        return True
    return False


def held_by_band(kind: str, ensemble: Ensemble, histories: int, first: int = 0) -> Mapping[str, FloatArray]:
    """Return whether each of several bands held the true chance, by name, and ``refused``; each of shape (histories, steps).

    ``members alone`` and ``counted windows`` are the controls: what the members disagree about, and that with a share of so many windows.
    """
    held: dict[str, list[list[bool]]] = defaultdict(list)
    for seed in range(first, first + histories):
        values, futures = world(kind, np.random.default_rng(seed))
        known = History.of(DAYS, values)
        paths = ensemble.paths(known, AHEAD[-1].item(), CALENDAR)
        truth = Paths.of(futures, AHEAD, known=known, calendar=CALENDAR)
        rows: dict[str, list[bool]] = defaultdict(list)
        for steps in STEPS:
            asked = claim_of(kind, steps)
            answer, true = chance(asked, paths), chance(asked, truth).p
            error = chance_error(answer, asked, paths, ensemble)
            members = float(np.std(list(answer.by_member.values())))
            share = np.hypot(members, np.sqrt(answer.p * (1 - answer.p) / (len(DAYS) / steps)))
            for name, sd in (("band", error), ("members alone", members), ("counted windows", share)):
                rows[name].append(abs(answer.p - true) <= 1.6449 * sd + 1e-3)
            rows["refused"].append(is_refused(asked, kind, known))
        for name, row in rows.items():
            held[name].append(row)
    return {name: np.array(rows, dtype=np.float64) for name, rows in held.items()}


def main() -> None:
    """Print the share held of the bands that are given, and of claims that are refused one."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--histories", type=int, default=240)
    parser.add_argument("--seed", type=int, default=0, help="of the first history; the next ones count on")
    parser.add_argument("--equal", action="store_true", help="equal weights, nothing learned")
    options = parse(parser, histories=1, equal=True)
    ensemble = Ensemble(learned=not options.equal)
    print("| claim | " + " | ".join(f"{steps // 5} weeks, held | refused" for steps in STEPS) + " |")
    print("|---" * (1 + 2 * len(STEPS)) + "|")
    for kind in KINDS:
        shares = held_by_band(kind, ensemble, options.histories, options.seed)
        given = 1.0 - shares["refused"]
        held = (shares["band"] * given).sum(axis=0) / np.maximum(given.sum(axis=0), 1.0)
        cells = (f"{each:.0%} | {1 - part:.0%}" for each, part in zip(held, given.mean(axis=0), strict=True))
        print(f"| {kind} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
