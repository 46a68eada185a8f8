"""What offline/analyst's leaf models were worth: claims at quarterly cutoffs, scored against what happened.

Run: ``python -m benchmarks.offline_backtest [--first 2003-03-31] [--every 3] [--months 3] [--resamples 5000]``

Claims on the S&P 500, WTI, VIX and the BAA-AAA spread go through the product's own grammar, see only what the broker
shows at the cutoff, and are resolved from the full series. No kernel runs: a test holds the notebooks' numbers equal to
these models. Beside the forecast stand always-0.5 and the base rate known at the cutoff. Intervals are by a block
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
from workbench.questions.decision import appraise, check, resolve
from workbench.questions.errors import ClaimRefused
from workbench.questions.grammar import read_claim
from workbench.science.arrays import FloatArray
from workbench.science.comparing.bootstrap import index_means, opposite_share

Rows = Sequence[Mapping[str, Any]]
SOURCES = ("SP500", "WTI", "VIX", "BAA", "AAA")


@dataclass(frozen=True)
class Answer:
    family: str
    cutoff: date
    p: float
    base: float
    outcome: float


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


async def answers(first: date, every: int, months: int) -> tuple[list[Answer], dict[str, int]]:
    window = Window()
    everything = await window.rows("live")
    result: list[Answer] = []
    refused: dict[str, int] = defaultdict(int)
    cutoff = first
    while later(cutoff, months) <= date(2018, 12, 28):
        end, last_day = later(cutoff, months), cutoff - timedelta(days=1)
        visible = await window.rows(cutoff.isoformat())
        assert all(str(part[-1]["date"])[:10] < cutoff.isoformat() for part in visible.values())
        for family, text in claims(visible, cutoff, end).items():
            try:
                claim = read_claim(text)
                check(claim, last_day)
                estimate = appraise(claim, visible, last_day)
                outcome = resolve(claim, everything, visible)
            except ClaimRefused as why:
                refused[f"{family}: {str(why)[:60]}"] += 1
                continue
            result.append(Answer(family, cutoff, estimate.p, estimate.base_rate, float(outcome)))
        cutoff = later(cutoff, every)
    await window.broker.aclose()
    return result, refused


def table(result: list[Answer], *, block: int, resamples: int, seed: int = 20261121) -> list[list[str]]:
    """Brier Index of the models, of 0.5 and of the base rate, per family and over all, with paired differences."""
    cutoffs = sorted({a.cutoff for a in result})
    place = {cutoff: i for i, cutoff in enumerate(cutoffs)}
    lines = []
    for family in [*dict.fromkeys(a.family for a in result), "all"]:
        part = [a for a in result if family in (a.family, "all")]
        position = np.array([place[a.cutoff] for a in part])
        o = np.array([a.outcome for a in part])
        briers = np.column_stack(
            [[(a.p - a.outcome) ** 2 for a in part], [(a.base - a.outcome) ** 2 for a in part]]
        )
        briers = np.column_stack([briers, (0.5 - o) ** 2])
        first, last = int(position.min()), int(position.max())
        size = np.bincount(position - first, minlength=last - first + 1).astype(float)
        sums = np.column_stack(
            [np.bincount(position - first, weights=c, minlength=len(size)) for c in briers.T]
        )
        counts = block_counts(len(size), min(block, len(size)), resamples=resamples, seed=seed)
        drawn = index_means((counts @ sums) / (counts @ size)[:, None])
        own = index_means(briers.mean(axis=0))
        shown = [family, str(len(part)), f"{o.mean():.2f}", *[f"{value:.1f}" for value in own]]
        for rival in (1, 2):
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
    return f"{gap:+.1f} [{low:+.1f}, {high:+.1f}] p {min(1.0, 2 * opposite_share(gap, drawn)):.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=date.fromisoformat, default=date(2003, 3, 31))
    parser.add_argument("--every", type=int, default=3, help="months between cutoffs")
    parser.add_argument("--months", type=int, default=3, help="months from cutoff to resolution")
    parser.add_argument("--resamples", type=int, default=5000)
    args = parse(parser, first=date(2018, 6, 30), every=12, resamples=50)
    result, refused = asyncio.run(answers(args.first, args.every, args.months))
    cutoffs = sorted({a.cutoff for a in result})
    print(
        f"{len(result)} (claim, cutoff) pairs, {len(cutoffs)} cutoffs {cutoffs[0]} to {cutoffs[-1]}, "
        f"{args.months} months ahead\n"
    )
    print(
        "| claims | n | Yes | models | base rate | always 0.5 | against base rate [95 %] | against 0.5 [95 %] |"
    )
    print("|---|---|---|---|---|---|---|---|")
    year = max(1, 12 // args.every)
    for line in table(result, block=year, resamples=args.resamples):
        print("| " + " | ".join(line) + " |")
    for why, count in sorted(refused.items()):
        print(f"\nnot asked {count} times: {why}")


if __name__ == "__main__":
    main()
