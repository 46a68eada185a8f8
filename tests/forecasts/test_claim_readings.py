"""A claim and its reading come out alike: the forecaster's function is the resolver's."""

from dataclasses import replace
from datetime import date, timedelta

import numpy as np
import pytest

from tests.offline.embedded import full_rows, visible_rows
from workbench.forecasts.reading import chance, decide
from workbench.forecasts.series_paths import Calendar, Paths
from workbench.questions.decision import Rows, claim_history, decided, resolve, series_of, settle
from workbench.questions.grammar import read_claim
from workbench.questions.series.readings_of_claims import claim_reading

NAMES = ("SP500", "NASDAQ", "VIX", "WTI", "CORE_CPI", "AAA", "BAA")
PATTERNS = [
    "{s} closes higher on {end} than on {start}",
    "{s} closes no higher on {end} than on {start}",
    "{s} closes lower on {end} than the last value known",
    "{s} closes above {level} on {end}",
    "{s} closes at or below {level} on {end}",
    "{s} closes between {level} and {upper} on {end}",
    "{s} closes at least 2 % below its 200-day average on {end}",
    "{s} closes above its 200-day average on {end}",
    "{s} rises 2 % from {start} to {end}",
    "{s} does not fall 2 % from {start} to {end}",
    "{s} falls 2 % by {end}",
    "{s} touches {level} by {end}",
    "{s} never touches {level} by {end}",
    "{s} falls 3 % from its {start} close by {end}",
    "{s} never closes 3 % or more below its {start} close through {end}",
    "{s} rises 3 % from its {start} close by {end}",
    "Realised volatility of {s} from {start} to {end} is above 15 %",
    "Realised volatility of {s} from {start} to {end} is at most 15 %",
    "{s} outperforms {other} from {start} to {end}",
    "{s} underperforms {other} by {end}",
]
MONTHLY = [
    "The BAA-AAA spread is no wider on {end} than on {start}",
    "The BAA-AAA spread widens by {end}",
    "BAA yield below 5 on {end}",
    "core CPI rises at least 1 % from {start} to {end}",
    "AAA yield rises 2 % from {start} to {end}",
]


@pytest.mark.parametrize("cutoff", [date(2016, 2, 8), date(2018, 6, 30)])
@pytest.mark.parametrize("pattern", PATTERNS + MONTHLY)
def test_a_reading_comes_out_as_its_claim(pattern: str, cutoff: date) -> None:
    everything: dict[str, Rows] = {name: full_rows(name) for name in NAMES}
    last_day = cutoff - timedelta(days=1)
    seen: dict[str, Rows] = {name: visible_rows(name, last_day) for name in NAMES}
    for name, other in (("S&P 500", "NASDAQ"), ("WTI", "the S&P 500"), ("VIX", "WTI")):
        if name == "VIX" and "performs" in pattern:
            continue  # a measure of volatility earns no return
        value = float(seen[{"S&P 500": "SP500"}.get(name, name)][-1]["value"])
        for factor, ahead in ((0.97, 10), (1.02, 60), (1.0, 150)):
            statement = pattern.format(
                s=name, other=other, start=cutoff - timedelta(days=60 if pattern in MONTHLY else 10), end=cutoff + timedelta(days=ahead),
                level=round(value * factor, 1), upper=round(value * factor * 1.05, 1),
            )  # fmt: skip
            claim = settle(read_claim(statement), seen)
            monthly = claim.about.monthly
            if monthly and ahead < 60:
                continue
            calendar = Calendar(frequency="month" if monthly else "session")
            known = claim_history(claim, seen)
            start = claim.start or known.days[-1].item()
            whole = claim_history(claim, everything)
            reading = replace(claim_reading(claim), start=start)
            outcome = decide(reading, whole, calendar)
            assert outcome is not None
            assert outcome.true == resolve(claim, everything, seen), statement
            before = decided(claim, series_of(claim, seen)[0])
            early = decide(claim_reading(claim), known, calendar)
            assert (early is None) == (before is None), statement
            assert early is None or before is None or (early.true, early.day) == (before.true, before.day)
            # The real future as the one path gives what happened.
            days = whole.days > known.days[-1]
            path = Paths.of(whole.values[None, days], whole.days[days], known=known, calendar=calendar)
            assert chance(claim_reading(claim), path).p == float(np.bool_(outcome.true))
