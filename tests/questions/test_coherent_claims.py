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
