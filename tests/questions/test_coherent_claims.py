"""Laws of claims on random series, levels, cutoffs and days, as the grammar's sentences are answered: they cannot contradict each other."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache, partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.offline.embedded import full_rows, visible_rows
from workbench.forecasts.ensemble import Ensemble
from workbench.questions.decision import Rows, claim_history, resolve
from workbench.questions.grammar import read_claim
from workbench.questions.series import claim_paths
from workbench.questions.series.claim_paths import ClaimPaths

NAMES = {"The S&P 500": "SP500", "NASDAQ": "NASDAQ", "WTI": "WTI", "The VIX": "VIX"}
LOWEST, HIGHEST = 0.02, 0.98

pytestmark = pytest.mark.usefixtures("_cheap")


@pytest.fixture(scope="module")
def _cheap() -> object:
    """A sixtieth of the paths, with equal weights: the laws hold of any."""
    patch = pytest.MonkeyPatch()
    patch.setattr(claim_paths, "Ensemble", partial(Ensemble, learned=False, each=40))
    yield patch
    patch.undo()


seen = lru_cache(visible_rows)


@dataclass(frozen=True)
class Asked:
    """A series at a cutoff, with a day ahead and a level near its last value."""

    name: str
    last_day: date
    day: date
    level: float
    upper: float

    @property
    def rows(self) -> dict[str, Rows]:
        """What was known of every series."""
        return {key: seen(key, self.last_day) for key in (*NAMES.values(), "AAA", "BAA", "CORE_CPI")}

    @property
    def p(self) -> Callable[[str], float]:
        """Answers sentences, from one object as a run does."""
        forecaster, rows = ClaimPaths(), self.rows
        return lambda text: forecaster.chance(read_claim(text), rows)


@st.composite
def asked(draw: st.DrawFn) -> Asked:
    name = draw(st.sampled_from(sorted(NAMES)))
    last_day = date(2016, 1, 4) + timedelta(days=draw(st.integers(0, 880)))
    day = last_day + timedelta(days=draw(st.integers(5, 150)))
    scale = 0.3 if name == "The VIX" else 0.08
    level = round(float(seen(NAMES[name], last_day)[-1]["value"]) * (1 + scale * draw(st.floats(-1, 1))), 2)
    upper = round(level * (1 + scale * draw(st.floats(0.05, 0.8))), 2)
    return Asked(name, last_day, day, level, upper)


laws = settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@given(asked())
@laws
def test_levels_complements_ranges_and_touches(case: Asked) -> None:
    p, name, on, by = case.p, case.name, f"on {case.day}", f"by {case.day}"
    above, higher = (p(f"{name} closes above {level} {on}") for level in (case.level, case.upper))
    assert higher <= above
    for level, chance in ((case.level, above), (case.upper, higher)):
        assert chance + p(f"{name} closes at or below {level} {on}") == pytest.approx(1.0, abs=1e-12)
    at_least, between = (
        p(f"{name} closes at or above {case.level} {on}"),
        p(f"{name} closes between {case.level} and {case.upper} {on}"),
    )
    if all(LOWEST < each < HIGHEST for each in (at_least, higher, between)):  # held within these bounds
        assert between == pytest.approx(at_least - higher, abs=1e-12)
    last = float(case.rows[NAMES[name]][-1]["value"])
    for level in (case.level, case.upper):
        if level != last:
            side = "above" if level > last else "below"
            touch = p(f"{name} touches {level} {by}")
            assert touch >= p(f"{name} closes at or {side} {level} {on}")
            assert touch + p(f"{name} never touches {level} {by}") == pytest.approx(1.0, abs=1e-12)


@given(asked(), st.lists(st.integers(1, 15), min_size=2, max_size=4, unique=True))
@laws
def test_growth_is_monotone_and_a_fall_on_the_way_is_likelier_than_one_at_the_end(
    case: Asked, percents: list[int]
) -> None:
    p, name = case.p, case.name
    rises = [p(f"{name} rises at least {each} % by {case.day}") for each in sorted(percents)]
    assert rises == sorted(rises, reverse=True)
    start = case.rows[NAMES[name]][-1]["date"]
    falls = [p(f"{name} falls {each} % from its {start} close by {case.day}") for each in sorted(percents)]
    assert falls == sorted(falls, reverse=True)
    for each, fall in zip(sorted(percents), falls, strict=True):
        assert fall >= p(f"{name} falls at least {each} % from {start} to {case.day}")


@given(asked(), st.lists(st.integers(1, 12), min_size=2, max_size=3, unique=True))
@laws
def test_a_fall_from_the_peak_a_fall_in_a_day_and_days_in_a_row_are_coherent(
    case: Asked, sizes: list[int]
) -> None:
    p, name, end = case.p, case.name, case.day
    start = case.rows[NAMES[name]][-1]["date"]
    sizes = sorted(sizes)
    peaks = [p(f"{name} closes {each} % or more below its highest close of the window through {end}") for each in sizes]  # fmt: skip
    days = [p(f"{name} falls by at least {each} % on at least one day through {end}") for each in sizes]
    rows = [p(f"{name} closes lower on at least {each} consecutive days through {end}") for each in sizes]
    assert all(each == sorted(each, reverse=True) for each in (peaks, days, rows))
    for size, peak, day, row in zip(sizes, peaks, days, rows, strict=True):
        # The last known close is one of the window's, and a fall in a day is one from the close before.
        assert peak >= p(f"{name} falls {size} % from its {start} close by {end}")
        assert peak >= day
        assert row <= p(f"{name} closes lower on at least {size} days through {end}")
        for text, chance in ((f"{name} never closes {size} % or more below its highest close of the window through {end}", peak), (f"{name} does not fall by at least {size} % on at least one day through {end}", day)):  # fmt: skip
            assert chance + p(text) == pytest.approx(1.0, abs=1e-12)


@given(asked(), st.lists(st.integers(2, 60), min_size=2, max_size=2, unique=True))
@laws
def test_a_high_of_more_weeks_is_no_likelier_and_one_of_all_time_the_least(
    case: Asked, weeks: list[int]
) -> None:
    p, name, end = case.p, case.name, case.day
    few, many = sorted(weeks)
    for word in ("high", "low"):
        chances = [p(f"{name} closes at a new {span}{word} at least once through {end}") for span in (f"{few}-week ", f"{many}-week ", "")]  # fmt: skip
        assert chances == sorted(chances, reverse=True)
        never = p(f"{name} never closes at a new {few}-week {word} at least once through {end}")
        assert chances[0] + never == pytest.approx(1.0, abs=1e-12)


@given(asked())
@laws
def test_one_series_beats_the_other_or_is_beaten_and_a_spread_widens_or_does_not(case: Asked) -> None:
    p, end = case.p, case.day
    for first, second in (("NASDAQ", "The S&P 500"), ("WTI", "NASDAQ")):
        beats, beaten = (
            p(f"{first} outperforms {second} by {end}"),
            p(f"{second} outperforms {first} by {end}"),
        )
        assert beats + beaten == pytest.approx(1.0, abs=1e-9)
        assert p(f"{first} underperforms {second} by {end}") == pytest.approx(beaten, abs=1e-12)
    month = (end.replace(day=1) + timedelta(days=40)).replace(day=28)
    start = case.rows["BAA"][-1]["date"]
    wider = p(f"The BAA-AAA spread is wider on {month} than on {start}")
    assert wider + p(f"The BAA-AAA spread is no wider on {month} than on {start}") == pytest.approx(
        1.0, abs=1e-12
    )
    levels = [p(f"The BAA-AAA spread is above {level} on {month}") for level in (0.5, 0.8, 1.1)]
    grows = [
        p(f"core CPI rises at least {each} % from {case.rows['CORE_CPI'][-1]['date']} to {month}")
        for each in (0.2, 0.6, 1.5)
    ]
    assert levels == sorted(levels, reverse=True) and grows == sorted(grows, reverse=True)


@given(asked(), st.integers(10, 90), st.integers(1, 10))
@laws
def test_what_has_happened_is_0_or_1_and_comes_out_so(case: Asked, ago: int, percent: int) -> None:
    rows, key = case.rows, NAMES[case.name]
    start = date.fromisoformat(rows[key][-ago]["date"])
    text = f"{case.name} falls {percent} % from its {start} close by {case.day}"
    claim, values = read_claim(text), claim_history(read_claim(text), rows).values[-ago:]
    fallen = bool((values[1:] <= values[0] * (1 - percent / 100)).any())
    chance = case.p(text)
    assert (chance == 1.0) == fallen and chance + case.p(f"{case.name} never closes {percent} % or more below its {start} close through {case.day}") == pytest.approx(1.0)  # fmt: skip
    assert not fallen or resolve(claim, {key: full_rows(key)}, rows)
