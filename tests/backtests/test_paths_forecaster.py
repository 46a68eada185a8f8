"""The forecaster of paths at a past cutoff: the share of the ensemble's paths, from the rows known then alone."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import date

import pytest

from workbench.backtests.claim_record import PathsForecaster, known_rows, open_paths
from workbench.backtests.known_rows import KnownRows, LookAhead
from workbench.backtests.walk_forward import Forecast, past_forecast, refuse_later_knowledge
from workbench.forecasts.ensemble import Ensemble
from workbench.forecasts.reading import chance
from workbench.forecasts.series.series_history import History
from workbench.forecasts.series_paths import Calendar
from workbench.questions.claims import Claim
from workbench.questions.decision import Rows, base_rate, settle, value_series
from workbench.questions.errors import ClaimRefused
from workbench.questions.grammar import read_claim
from workbench.questions.series.claim_paths import ClaimPaths
from workbench.questions.series.readings_of_claims import claim_reading

LAST = date(2016, 3, 31)
ABOVE = read_claim("The VIX is above 15 on 2016-04-14")


@pytest.fixture(scope="module")
def known() -> KnownRows:
    return known_rows(("VIX",), "2016-07-01", None)


def test_its_chance_is_the_share_of_the_ensembles_paths(known: KnownRows) -> None:
    rows = known.as_of(LAST)
    series = value_series("VIX", rows)
    history = History.of(series.index.to_numpy(), series.to_numpy())
    paths = Ensemble().paths(history, ABOVE.end, Calendar.of(history))
    forecaster = PathsForecaster()
    found = forecaster.forecast(ABOVE, rows, LAST)
    assert found == Forecast(
        chance(claim_reading(settle(ABOVE, rows)), paths).p, base_rate(ABOVE, rows, LAST)
    )
    assert 0.05 < found.p < 0.95
    higher = forecaster.forecast(replace(ABOVE, level=18.0), rows, LAST).p
    below = forecaster.forecast(read_claim("The VIX is at or below 15 on 2016-04-14"), rows, LAST).p
    assert higher < found.p and found.p + below == pytest.approx(1.0)


def test_a_past_forecast_is_resolved_from_later_rows_and_a_decided_claim_is_refused(known: KnownRows) -> None:
    past = past_forecast(ABOVE, known, LAST, PathsForecaster())
    close = next(row["value"] for row in known.all()["VIX"] if row["date"] == "2016-04-14")
    assert (past.outcome, past.end) == (float(close > 15), "2016-04-14")
    touched = read_claim("The VIX rises 5 % from its 2016-01-04 close by 2016-04-14")
    with pytest.raises(ClaimRefused, match="2016-01-0"):
        past_forecast(touched, known, LAST, PathsForecaster())


def test_it_rests_on_nothing_that_became_known_later(known: KnownRows) -> None:
    refuse_later_knowledge(open_paths, known, ABOVE, LAST)

    class Hindsight(PathsForecaster):
        """The control: weights are learned, and paths drawn, from all rows."""

        def __init__(self, world: KnownRows) -> None:
            super().__init__()
            self.world = world

        def forecast(self, claim: Claim, rows: Mapping[str, Rows], last_day: date) -> Forecast:
            later = replace(claim, end=date(2016, 7, 14))
            return super().forecast(later, self.world.all(), date(2016, 6, 30))

    with pytest.raises(LookAhead, match="another future"):
        refuse_later_knowledge(Hindsight, known, ABOVE, LAST)


def test_one_series_beats_another_or_is_beaten_whoever_is_named_first() -> None:
    """Two series are read from paths that are drawn together."""
    names, last = ("NASDAQ", "SP500"), date(2002, 6, 28)
    rows = known_rows(names, "2018-06-30", None).as_of(last)
    asked = [
        read_claim(f"{one} outperforms {other} from 2002-06-28 to 2002-09-30")
        for one, other in (("NASDAQ", "the S&P 500"), ("the S&P 500", "NASDAQ"))
    ]
    beats, beaten = (ClaimPaths().chance(claim, rows) for claim in asked)
    assert beats + beaten == pytest.approx(1.0, abs=1e-9) and 0.2 < beats < 0.8
