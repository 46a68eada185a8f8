"""Claims of the grammar by the paths of their series: coherent, bounded, and drawn once."""

from datetime import date

import pytest

from tests.offline.embedded import visible_rows
from workbench.forecasts.ensemble import Ensemble
from workbench.forecasts.past_windows import P_MAX, P_MIN
from workbench.questions.errors import ClaimRefused
from workbench.questions.grammar import read_claim
from workbench.questions.series.claim_paths import ClaimPaths

LAST = date(2018, 6, 29)
ROWS = {"VIX": visible_rows("VIX", LAST)}


def test_claims_on_one_series_come_from_the_same_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[date] = []
    own = Ensemble.paths
    monkeypatch.setattr(
        Ensemble, "paths", lambda self, *rest: (drawn.append(rest[1]), own(self, *rest))[1], raising=True
    )
    forecasts = ClaimPaths()

    def p(text: str) -> float:
        return forecasts.chance(read_claim(text), ROWS)

    above, at_most = p("VIX above 15 on 2018-07-13"), p("VIX at or below 15 on 2018-07-13")
    assert above + at_most == pytest.approx(1.0, abs=1e-12)
    assert p("VIX touches 18 by 2018-07-13") >= p("VIX at or above 18 on 2018-07-13")
    assert p("VIX above 15 on 2018-07-13") - p("VIX above 20 on 2018-07-13") == pytest.approx(
        p("VIX between 15.0001 and 20 on 2018-07-13"), abs=0.01
    )
    assert drawn == [date(2018, 7, 13)]


def test_what_no_path_does_is_not_held_impossible() -> None:
    forecasts = ClaimPaths()
    assert forecasts.chance(read_claim("VIX above 500 on 2018-07-13"), ROWS) == P_MIN
    assert forecasts.chance(read_claim("VIX above 0.1 on 2018-07-13"), ROWS) == P_MAX


def test_a_short_history_is_refused_in_one_line() -> None:
    rows = {"VIX": ROWS["VIX"][:5]}
    with pytest.raises(ClaimRefused, match="choose a later cutoff"):
        ClaimPaths().chance(read_claim("VIX above 15 on 2018-07-13"), rows)
