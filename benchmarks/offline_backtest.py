"""What the root of the key-free tree was worth: claims at quarterly cutoffs, scored against what happened.

Run: ``python -m benchmarks.offline_backtest [--first 2003-03-31] [--every 3] [--ahead 3m|7d] [--resamples 5000]``

Claims on the S&P 500, WTI, VIX and the BAA-AAA spread go through the product's own grammar, see only what the broker
shows at the cutoff, and are resolved from the full series. The root is the forecast of the paths, as a test holds it; so no kernel runs.
Beside it stand always-0.5, a walk without drift, and the base rate known at the cutoff. Intervals are by a block
bootstrap over cutoffs (blocks of a year): claims of one cutoff, and windows that overlap, are not independent.
"""

import argparse
import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import numpy as np

from benchmarks.arguments import parse
from proxies.asof.clock import Cutoff
from proxies.broker import ProxySettings, open_broker
from proxies.ledger import Address, MemoryLedger
from workbench.backtests.walk_forward import driftless_chance
from workbench.questions.decision import appraise, check, resolve
from workbench.questions.errors import ClaimRefused
from workbench.questions.grammar import read_claim
from workbench.questions.series.claim_paths import ClaimPaths
from workbench.science.arrays import FloatArray
from workbench.science.comparing.bootstrap import index_means, opposite_share
from workbench.science.comparing.paired import holm

Rows = Sequence[Mapping[str, Any]]
SOURCES = ("SP500", "WTI", "VIX", "BAA", "AAA")


@dataclass(frozen=True)
class Answer:
    family: str
    cutoff: date
    root: float
    base: float
    walk: float
    outcome: float

    @property
    def chances(self) -> tuple[float, ...]:
        """In the order of `METHODS`."""
        return self.root, self.base, self.walk, 0.5


METHODS = ("root", "base rate", "walk", "always 0.5")
#: What the root is compared with, by place in `METHODS`.
RIVALS = (1, 2)
#: Lines over several families; the base rate is a straw man for the 200-day average, whose state decides.
ALL, WITHOUT_AVERAGE = "all", "all but the 200-day average"


def claims(rows: Mapping[str, Rows], cutoff: date, end: date) -> dict[str, str]:
    """Claims asked at a cutoff, by family; starts are the last visible days."""
    last = {name: str(part[-1]["date"])[:10] for name, part in rows.items() if part}
    claims = {
        "S&P 500 higher": f"The S&P 500 closes higher on {end} than on {last['SP500']}",
        "S&P 500 up 5 %": f"The S&P 500 rises 5 % from {last['SP500']} to {end}",
        "S&P 500 falls 5 % on the way": f"The S&P 500 falls 5 % from its {last['SP500']} close before {end}",
        "S&P 500 above its 200-day average": f"The S&P 500 closes above its 200-day average on {end}",
        "WTI higher": f"WTI closes higher on {end} than on {last['WTI']}",
        "WTI up 10 %": f"WTI rises 10 % from {last['WTI']} to {end}",
        "BAA-AAA spread wider": f"The BAA-AAA spread widens by {end}",
        "BAA-AAA spread above 1": f"The BAA-AAA spread is above 1 on {end}",
    }
    if "VIX" in last:
        claims["VIX above 15"] = f"The VIX is above 15 on {end}"
        claims["VIX lower"] = f"The VIX closes lower on {end} than on {last['VIX']}"
    return claims


def ahead(day: date, span: str) -> date:
    """The day so many days (``7d``) or months (``3m``) later."""
    number = int(span[:-1])
    return day + timedelta(days=number) if span.endswith("d") else later(day, number)


def later(day: date, months: int) -> date:
    count = day.year * 12 + day.month - 1 + months
    return date(count // 12, count % 12 + 1, min(day.day, 28))


class Window:
    """The broker's view of the embedded series."""

    def __init__(self) -> None:
        self.broker = open_broker(ProxySettings.from_environment({}))
        self.step = 0

    async def rows(self, cutoff: str) -> dict[str, Rows]:
        session = self.broker.session(Cutoff.parse(cutoff), MemoryLedger())
        found: dict[str, Rows] = {}
        for name in SOURCES:
            self.step += 1
            at = Address(run="backtest", node="P0", trial=1, attempt=1, stage="cell", step=self.step, retry=0)
            found[name] = (await session.call("embedded/series/observations", {"series_id": name}, at)).data
        return {name: part for name, part in found.items() if part}


async def answers(first: date, every: int, span: str) -> tuple[list[Answer], dict[str, int]]:
    window, forecasts = Window(), ClaimPaths()
    everything = await window.rows("live")
    result: list[Answer] = []
    refused: dict[str, int] = defaultdict(int)
    cutoff = first
    while ahead(cutoff, span) <= date(2018, 12, 28):
        end, last_day = ahead(cutoff, span), cutoff - timedelta(days=1)
        visible = await window.rows(cutoff.isoformat())
        assert all(str(part[-1]["date"])[:10] < cutoff.isoformat() for part in visible.values())
        for family, text in claims(visible, cutoff, end).items():
            try:
                claim = read_claim(text)
                check(claim, last_day)
                windows = appraise(claim, visible, last_day)
                outcome = resolve(claim, everything, visible)
            except ClaimRefused as why:
                refused[f"{family}: {str(why)[:60]}"] += 1
                continue
            root, walk = forecasts.chance(claim, visible), driftless_chance(claim, visible)
            result.append(Answer(family, cutoff, root, windows.base_rate, walk, float(outcome)))
        cutoff = later(cutoff, every)
    await window.broker.aclose()
    return result, refused


def table(result: list[Answer], *, block: int, resamples: int, seed: int = 20261121) -> list[list[str]]:
    """Brier Index of each method, per family and over all, and the root's paired differences."""
    cutoffs = sorted({a.cutoff for a in result})
    place = {cutoff: i for i, cutoff in enumerate(cutoffs)}
    lines = []
    families = list(dict.fromkeys(a.family for a in result))
    totals = {ALL: set(families), WITHOUT_AVERAGE: {each for each in families if "average" not in each}}
    for family in [*families, *totals]:
        part = [a for a in result if a.family in totals.get(family, {family})]
        position = np.array([place[a.cutoff] for a in part])
        o = np.array([a.outcome for a in part])
        briers = (np.array([a.chances for a in part]) - o[:, None]) ** 2
        first, last = int(position.min()), int(position.max())
        size = np.bincount(position - first, minlength=last - first + 1).astype(float)
        sums = np.column_stack(
            [np.bincount(position - first, weights=c, minlength=len(size)) for c in briers.T]
        )
        counts = block_counts(len(size), min(block, len(size)), resamples=resamples, seed=seed)
        drawn = index_means((counts @ sums) / (counts @ size)[:, None])
        own = index_means(briers.mean(axis=0))
        shown = [family, str(len(part)), f"{o.mean():.2f}", *[f"{value:.1f}" for value in own]]
        for rival in RIVALS:
            shown.append(difference(own[0] - own[rival], drawn[:, 0] - drawn[:, rival]))
        lines.append(shown)
    return lines


def block_counts(cutoffs: int, block: int, *, resamples: int, seed: int) -> FloatArray:
    """How often each cutoff is drawn when blocks of neighbours are: (resamples, cutoffs), rows sum to ``cutoffs``."""
    from arch.bootstrap import CircularBlockBootstrap

    drawn = CircularBlockBootstrap(block, np.arange(cutoffs), seed=np.random.default_rng(seed))
    rows = [np.bincount(data[0][0], minlength=cutoffs) for data in drawn.bootstrap(resamples)]
    return np.array(rows, dtype=np.float64)


def difference(gap: float, drawn: FloatArray) -> str:
    low, high = np.quantile(drawn, [0.025, 0.975])
    return f"{gap:+.1f} [{low:+.1f}, {high:+.1f}] p {min(1.0, 2 * opposite_share(gap, drawn)):.3f}"


def below_base_rate(lines: list[list[str]]) -> list[str]:
    """Families in which the root is below the base rate after Holm's correction for their number."""
    cells = {line[0]: line[3 + len(METHODS)] for line in lines if line[0] not in (ALL, WITHOUT_AVERAGE)}
    p = holm({family: float(cell.rpartition(" ")[2]) for family, cell in cells.items()})
    return [family for family, cell in cells.items() if cell.startswith("-") and p[family] < 0.05]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=date.fromisoformat, default=date(2003, 3, 31))
    parser.add_argument("--every", type=int, default=3, help="months between cutoffs")
    parser.add_argument("--ahead", default="3m", help="from cutoff to resolution, in months or days: 3m, 7d")
    parser.add_argument("--resamples", type=int, default=5000)
    args = parse(parser, first=date(2018, 6, 30), every=12, resamples=50)
    result, refused = asyncio.run(answers(args.first, args.every, args.ahead))
    cutoffs = sorted({a.cutoff for a in result})
    print(
        f"{len(result)} (claim, cutoff) pairs, {len(cutoffs)} cutoffs {cutoffs[0]} to {cutoffs[-1]}, "
        f"{args.ahead} ahead\n"
    )
    against = (f"against {METHODS[rival]} [95 %]" for rival in RIVALS)
    print("| " + " | ".join(["claims", "n", "Yes", *METHODS, *against]) + " |")
    print("|---" * (3 + len(METHODS) + len(RIVALS)) + "|")
    year = max(1, 12 // args.every)
    lines = table(result, block=year, resamples=args.resamples)
    for line in lines:
        print("| " + " | ".join(line) + " |")
    print(f"\nbelow the base rate after Holm: {', '.join(below_base_rate(lines)) or 'none'}")
    for why, count in sorted(refused.items()):
        print(f"\nnot asked {count} times: {why}")


if __name__ == "__main__":
    main()
