"""A claim that the visible values have decided has no probability: forecaster and resolver look at one window.

The law is held against futures, not against the code: a claim is open at a cutoff as long as some future makes it true and
another false, and only then may it have a p.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest

from tests.offline.embedded import full_rows, visible_rows
from tests.offline.inprocess import analyst, ground
from workbench.forecasts.trading_days import exchange_holidays
from workbench.models.base import NodeRef
from workbench.offline.decomposition import Planner
from workbench.questions.claims import BY_READING, UNDECIDED, Claim, Pattern, amount
from workbench.questions.decision import (
    appraise,
    check,
    decided,
    resolve,
    settle,
    value_series,
)
from workbench.questions.errors import ClaimRefused
from workbench.questions.grammar import read_claim
from workbench.questions.series.embedded_series import SERIES
from workbench.questions.series.series_estimate import estimate_leaf
from workbench.questions.series.series_leaf import read_series_leaf

Rows = list[dict[str, Any]]

DAILY = (
    "{s} closes higher on {end} than on {start}",
    "{s} closes no higher on {end} than on {start}",
    "{s} closes lower on {end} than the last value known",
    "{s} closes above {level} on {end}",
    "{s} closes at or below {level} on {end}",
    "{s} closes between {level} and {upper} on {end}",
    "{s} closes above its 200-day average on {end}",
    "{s} closes at least 2 % below its 200-day average on {end}",
    "{s} rises 2 % from {start} to {end}",
    "{s} does not fall 2 % from {start} to {end}",
    "{s} falls 2 % by {end}",
    "{s} touches {level} by {end}",
    "{s} never touches {level} by {end}",
    "{s} closes at or below {level} at least once through {end}",
    "{s} falls 3 % from its {start} close by {end}",
    "{s} never closes 3 % or more below its {start} close through {end}",
    "{s} rises 3 % from its {start} close by {end}",
    "{s} never closes 3 % or more above its {start} close through {end}",
    "{s} falls 3 % from its last known close by {end}",
    "Realised volatility of {s} from {start} to {end} is above {vol} %",
    "Realised volatility of {s} from {start} to {end} is at most {vol} %",
    "Realised volatility of {s} by {end} is above {vol} %",
)
RELATIVE = (
    "NASDAQ outperforms {s} from {start} to {end}",
    "NASDAQ does not outperform {s} from {start} to {end}",
    "NASDAQ outperforms {s} by {end}",
)
MONTHLY = (
    "{s} is higher on {end} than on {start}",
    "{s} is no higher on {end} than the last value known",
    "{s} is above {level} on {end}",
    "{s} is between {level} and {upper} on {end}",
    "{s} rises 1 % from {start} to {end}",
    "{s} does not rise 1 % by {end}",
)


@dataclass(frozen=True)
class World:
    """Rows of some series as they came out, and a window in them; ``lags`` are days until a value is published."""

    name: str
    series: str
    rows: Mapping[str, Rows]
    start: date
    end: date
    lags: Mapping[str, int]

    def seen(self, last_day: date) -> dict[str, Rows]:
        """What was visible at the end of a day."""
        known = {name: (last_day - timedelta(days=lag)).isoformat() for name, lag in self.lags.items()}
        return {
            name: [row for row in part if row["date"] <= known.get(name, last_day.isoformat())]
            for name, part in self.rows.items()
        }

    def claims(self) -> Iterator[Claim]:
        """Every sentence about the series, with levels on both sides of its value at the start."""
        before = value_series(self.series, self.seen(self.start))
        near, busy = float(before.iloc[-1]), 5 if self.series == "VIX" else 1
        about = SERIES[self.series]
        for sentence in MONTHLY if about.monthly else (*DAILY, *(() if self.series == "VIX" else RELATIVE)):
            for factor, vol in (
                ((0.97, 3 * busy), (1.03, 25 * busy))
                if "{level}" in sentence or "{vol}" in sentence
                else ((1, 1),)
            ):
                words = {"level": round(near * factor, 2), "upper": round(near * factor * 1.1, 2), "vol": vol}
                yield read_claim(sentence.format(s=about.article, start=self.start, end=self.end, **words))

    def cutoffs(self, claim: Claim) -> list[date]:
        """Last visible days: before the start, on it, day by day to the end; fewer where the way does not count."""
        first = self.start - timedelta(days=3)
        every = [first + timedelta(days=n) for n in range((self.end - first).days + 1)]
        # Friday, Saturday and Sunday show the same.
        path = claim.pattern in ("drawdown", "volatility")
        return [day for day in every if day.weekday() < 5] if path else every[:: len(every) // 3]


def sessions(after: date, through: date) -> list[date]:
    closed = set(exchange_holidays(after.year, through.year).astype(object))
    days = (after + timedelta(days=n) for n in range(1, (through - after).days + 1))
    return [day for day in days if day.weekday() < 5 and day not in closed]


def synthetic(seed: int, start: date, *, volatility: float, closed: Collection[date]) -> World:
    rng = np.random.default_rng(seed)
    days = [day for day in sessions(date(2017, 1, 31), date(2018, 3, 30)) if day not in closed]
    rows = {
        name: [
            {"date": day.isoformat(), "value": float(value)}
            for day, value in zip(
                days, 100 * np.exp(np.cumsum(volatility * rng.standard_normal(len(days)))), strict=True
            )
        ]
        for name in ("SP500", "NASDAQ")
    }
    return World(f"synthetic {seed}", "SP500", rows, start, date(2018, 3, 6), {})


def embedded(series: str, start: date, end: date) -> World:
    monthly = SERIES[series].monthly
    # As the broker's lags, a value's month counted in where it is one.
    lags = {"WTI": 7, "CORE_CPI": 75, "AAA": 35, "BAA": 35}
    since = "2000" if monthly else "2017-02"
    names = {*SERIES[series].sources, *(() if monthly else ("NASDAQ",))}
    rows = {name: [row for row in full_rows(name) if row["date"] >= since] for name in names}
    return World(f"{series} {start}", series, rows, start, end, lags)


WORLDS = [
    # An unforeseen closure inside the window, and a start on a Saturday.
    synthetic(3, date(2018, 2, 24), volatility=0.015, closed=(date(2018, 2, 27), date(2018, 2, 28))),
    embedded("SP500", date(2018, 1, 31), date(2018, 2, 8)),
    embedded("VIX", date(2018, 2, 1), date(2018, 2, 8)),
    embedded("WTI", date(2018, 11, 2), date(2018, 11, 16)),
    embedded("SPREAD", date(2018, 1, 31), date(2018, 5, 31)),
    embedded("CORE_CPI", date(2018, 1, 31), date(2018, 5, 31)),
]
each_world = pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)


def futures(claim: Claim, seen: Mapping[str, Rows]) -> Iterator[dict[str, Rows]]:
    """What may still come: the claim's first series leaps, falls, stays, swings or ends in the claim's range; others stay."""
    first = claim.sources[0]
    ends = [1e3, 1e-3, 1.0]
    if claim.pattern == "range":
        other = 0.0 if len(claim.about.sources) == 1 else seen[claim.about.sources[1]][-1]["value"]
        ends.append((other + (amount(claim) + (claim.upper or 0)) / 2) / seen[first][-1]["value"])
    for middle in (1.0, 1e3, 1e-3):
        for end in ends:
            yield {
                name: [*part, *_to_come(part, claim, *((middle, end) if name == first else (1.0, 1.0)))]
                for name, part in seen.items()
            }


def outcomes(claim: Claim, seen: Mapping[str, Rows]) -> set[bool]:
    """How the claim may still come out."""
    found: set[bool] = set()
    for future in futures(claim, seen):
        found.add(resolve(claim, future, seen))
        if len(found) == 2:
            break
    return found


def _to_come(part: Rows, claim: Claim, middle: float, end: float) -> Rows:
    last = date.fromisoformat(part[-1]["date"])
    if claim.about.monthly:
        months = pd.date_range(last + timedelta(days=1), claim.end, freq="MS")
        days = [day.date() for day in months]
    else:
        days = sessions(last, claim.end)
    factors = [*[middle] * (len(days) - 1), end]
    return [
        {"date": day.isoformat(), "value": part[-1]["value"] * factor}
        for day, factor in zip(days, factors, strict=False)
    ]


def test_every_pattern_of_the_grammar_is_held_to_the_law_on_both_sides() -> None:
    claims = [claim for world in WORLDS for claim in world.claims()]
    # The others are read off the values by the function that forecasts them (tests/questions/test_readings.py).
    modelled = set(get_args(Pattern)) - {*BY_READING, *UNDECIDED}
    assert {claim.pattern for claim in claims} == modelled
    for pattern in modelled - {"range"}:
        assert len({(claim.side, claim.never) for claim in claims if claim.pattern == pattern}) > 1, pattern


@pytest.mark.long
@each_world
def test_a_p_is_given_only_while_the_claim_can_go_either_way(world: World) -> None:
    """The real future is appended day by day; what was once settled stays so, as it came out."""
    seen_at = cache(world.seen)
    settled: dict[Claim, bool] = {}
    for claim in world.claims():
        for last_day in world.cutoffs(claim):
            seen, at = seen_at(last_day), f"{last_day}: {claim.statement}"
            if claim.end <= last_day or not (claim.about.monthly or sessions(last_day, claim.end)):
                with pytest.raises(ClaimRefused, match="already settled"):
                    check(claim, last_day)
                continue
            check(claim, last_day)
            try:
                own = settle(claim, seen)
            except ClaimRefused as refusal:  # a yield's change in percent is read against its start
                assert "not visible yet" in str(refusal)
                continue
            decision = decided(own, value_series(own.series, seen))
            if decision is None:
                assert 0 <= appraise(claim, seen, last_day).base_rate <= 1
                assert claim not in settled, at
                assert outcomes(own, seen) == {True, False}, at
                continue
            with pytest.raises(ClaimRefused, match=f"already settled .* value of {decision.day}"):
                appraise(claim, seen, last_day)
            assert resolve(claim, world.rows, seen) == decision.true, at
            if claim not in settled:
                settled[claim] = decision.true
                assert outcomes(own, seen) == {decision.true}, at
            row = {"date": decision.day.isoformat(), "value": decision.value}
            assert row in seen[claim.series] and row["date"] > str(claim.start), at
            assert settled[claim] == decision.true, at
    # Only a daily way can be decided before its end; there both a claim and its opposite have been.
    assert set(settled.values()) == (set() if SERIES[world.series].monthly else {True, False})


@pytest.mark.parametrize(
    ("cutoff", "statement", "day"),
    [
        ("2018-12-28", "The S&P 500 falls 15 % from its 2018-09-20 close before 2018-12-31", "2018-12-20"),
        ("2018-06-30", "The VIX rises 100 % from its 2018-01-26 close before 2018-12-31", "2018-02-05"),
        ("2018-06-30", "The S&P 500 falls 5 % from its 2018-01-26 close before 2018-07-10", "2018-02-05"),
        (
            "2018-06-30",
            "The S&P 500 does not fall 5 % from its 2018-01-26 close before 2018-12-31",
            "2018-02-05",
        ),
    ],
)
async def test_a_settled_claim_is_refused_with_its_row_before_a_run_and_is_0_or_1_as_a_leaf(
    cutoff: str, statement: str, day: str
) -> None:
    model, last_day = analyst(), date.fromisoformat(cutoff) - timedelta(days=1)
    rows = {name: visible_rows(name, last_day) for name in ("SP500", "VIX")}
    settled = f"already settled at the cutoff: the value of {day} "
    with pytest.raises(ClaimRefused, match=settled):
        await model.preflight(statement, cutoff, stages=["linear"], free_rules=[])
    grounded = await ground(model, NodeRef(id="P1", statement=statement), cutoff)
    assert json.loads(grounded.printed[-1].splitlines()[-1])["decided"]["day"] == day
    assert f"The value of {day}, " in grounded.report and "decides the statement" in grounded.report
    with pytest.raises(ClaimRefused, match=settled):
        Planner(rows, last_day).plan(read_claim(statement))
    leaf = read_series_leaf(statement)
    visible = [rows[ref.id] for ref in leaf.refs]
    estimate = estimate_leaf(leaf, statement, visible, last_day)
    assert grounded.p == estimate.p
    assert estimate.p in (0.0, 1.0) and estimate.record["decided"]["day"] == day
    # A start on the last visible day leaves it open again.
    moved = re.sub(r"its \S+ close before \S+", f"its {last_day} close before 2018-12-31", statement)
    await model.preflight(moved, cutoff, stages=["linear"], free_rules=[])


def test_a_leaf_about_a_series_by_its_id_is_decided_by_its_rows() -> None:
    statement = "yfinance/SPY falls 5 % from its 2018-01-26 close before 2018-12-31"
    last_day = date(2018, 6, 29)
    leaf, rows = read_series_leaf(statement), [visible_rows("SP500", last_day)]
    assert estimate_leaf(leaf, statement, rows, last_day).p == 1.0


async def test_a_claim_without_a_start_is_resolved_from_the_last_value_that_could_be_seen() -> None:
    """WTI is published a week late: at the cutoff its last value was 63.67 of 11-01, while that of 11-08 was 60.71."""
    last_day = date(2018, 11, 8)
    full = {"WTI": list(full_rows("WTI"))}
    seen = {"WTI": visible_rows("WTI", last_day)}
    assert seen["WTI"][-1]["date"] == "2018-11-01"
    claim = read_claim("WTI falls 3 % by 2018-11-09")
    assert resolve(claim, full, seen)
    assert not resolve(claim, full, {"WTI": [row for row in full["WTI"] if row["date"] <= str(last_day)]})
