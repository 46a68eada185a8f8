"""workbench backtest: claims at past cutoffs, with what was known there; killed in the middle it goes on."""

from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path

import pytest

from tests.backtests.test_claim_record import open_base_rate
from tests.offline.embedded import full_rows
from workbench.backtests import claim_backtest
from workbench.backtests.claim_backtest import (
    AskedClaim,
    BacktestPlan,
    ForecastFile,
    backtest_document,
    perform,
    run_backtest,
)
from workbench.backtests.claim_record import known_rows
from workbench.backtests.claim_templates import ClaimTemplate, Span, read_templates
from workbench.backtests.known_rows import KnownRows
from workbench.backtests.walk_forward import Forecast
from workbench.errors import UsageError
from workbench.questions.claims import Claim
from workbench.questions.decision import Rows, value_series
from workbench.questions.errors import LookAhead

pytestmark = pytest.mark.long

THREE_MONTHS = Span(months=3)
MEDIAN = ClaimTemplate(text="The VIX closes above {median} on {end}", family="VIX", horizon=THREE_MONTHS)
HIGHER = ClaimTemplate(
    text="The S&P 500 closes higher on {end} than on {start}", family="index", horizon=THREE_MONTHS
)
COMPANIONS = ("AAA", "BAA", "SP500", "VIX", "WTI")


@pytest.fixture
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """A forecaster that costs nothing in place of the tree."""
    monkeypatch.setattr(claim_backtest, "FORECASTERS", {"tree": open_base_rate, "paths": open_base_rate})


def plan(*templates: ClaimTemplate, first: str = "2015-03-31", last: str = "2018-09-30") -> BacktestPlan:
    return BacktestPlan(templates=templates, first=date.fromisoformat(first), last=date.fromisoformat(last))


def test_a_median_is_that_of_what_was_known_at_the_cutoff() -> None:
    last_day = date(2016, 6, 29)
    rows = known_rows(COMPANIONS, "now", None).as_of(last_day)
    claim = MEDIAN.filled(last_day, rows)
    values = sorted(row["value"] for row in full_rows("VIX") if row["date"] <= "2016-06-29")
    assert claim.level == pytest.approx((values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2)
    assert claim.end == date(2016, 9, 29)
    # the median of all rows is another
    everything = value_series("VIX", known_rows(COMPANIONS, "now", None).all())
    assert claim.level != pytest.approx(float(everything.median()), abs=0.005)


def test_places_are_reckoned_and_written_days_move() -> None:
    last_day, rows = date(2016, 6, 29), known_rows(COMPANIONS, "now", None).as_of(date(2016, 6, 29))
    last = rows["WTI"][-1]["value"]
    touch = ClaimTemplate(text="WTI touches {last*1.1} by {end}", family="x", horizon=Span(days=14))
    assert touch.filled(last_day, rows).level == pytest.approx(1.1 * last)
    dated = ClaimTemplate(text="The S&P 500 closes higher on 2018-12-31 than on 2018-06-29", family="x")
    claim = dated.filled(last_day, rows)
    assert (claim.start, claim.end) == (last_day, last_day + timedelta(days=185))


def test_days_that_are_counted_move_with_the_cutoff() -> None:
    last_day, rows = date(2016, 6, 29), known_rows(COMPANIONS, "now", None).as_of(date(2016, 6, 29))
    falls = ClaimTemplate(text="The S&P 500 falls 3 % on the way within 1 month", family="x")
    claim = falls.filled(last_day, rows)
    assert (claim.pattern, claim.level, claim.start, claim.end) == ("drawdown", -3, None, date(2016, 7, 29))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("The VIX closes above 20 on 2018-12-31", "has no length of time"),
        ("Something happens", "names no series"),
    ],
)
def test_a_claim_that_cannot_be_asked_again_is_refused_at_once(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read_templates(text, None)


def test_a_file_of_claims_names_its_bad_line(tmp_path: Path) -> None:
    file = tmp_path / "claims.csv"
    file.write_text(
        "claim,family,horizon\nThe VIX closes above {median} on {end},fear,1w\nThe VIX is nice,,\n"
    )
    with pytest.raises(UsageError, match=r"claims\.csv, line 3"):
        read_templates(str(file), THREE_MONTHS)
    file.write_text("claim,family,horizon\nThe VIX closes above {median} on {end},fear,1w\n")
    (template,) = read_templates(str(file), THREE_MONTHS)
    assert (template.family, template.horizon) == ("fear", Span(days=7))


@pytest.mark.usefixtures("cheap")
def test_what_was_done_is_not_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = plan(MEDIAN, HIGHER)
    whole = run_backtest(asked, ForecastFile(tmp_path / "whole"))
    assert len(whole) == 2 * len(asked.cutoffs()) == 30
    file = ForecastFile(tmp_path / "cut")
    done: list[date] = []

    def stops(job: claim_backtest.BacktestJob) -> list[AskedClaim]:
        if len(done) == 4:
            raise KeyboardInterrupt
        done.append(job.cutoff)
        return perform(job)

    monkeypatch.setattr(claim_backtest, "perform", stops)
    with pytest.raises(KeyboardInterrupt):
        run_backtest(asked, file)
    # and the last line was cut in the middle of its write
    file.path.write_bytes(file.path.read_bytes()[:-40])
    assert len(file.read()) == 7
    again: list[date] = []
    monkeypatch.setattr(claim_backtest, "perform", lambda job: again.append(job.cutoff) or perform(job))
    assert run_backtest(asked, file) == whole
    assert len(again) == len(asked.cutoffs()) - 3
    assert run_backtest(asked, file) == whole and len(again) == len(asked.cutoffs()) - 3


@pytest.mark.usefixtures("cheap")
def test_families_are_judged_together(tmp_path: Path) -> None:
    asked = plan(MEDIAN, HIGHER, first="2015-12-31", last="2018-12-31")
    document = backtest_document(asked, run_backtest(asked, ForecastFile(tmp_path)))
    tests = [record["against"]["base rate"] for record in document["families"].values()]
    assert set(document["families"]) == {"VIX", "index"} and document["overall"]["n"] == 24
    assert min(test["p_holm"] for test in tests) >= min(1.0, 2 * min(test["p"] for test in tests)) - 1e-12
    # the last windows end after the data do
    assert sum(document["left_out"].values()) == 2
    assert "24 forecasts on 12 past dates (" in document["overall"]["line"]


def test_weights_fitted_on_all_rows_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted look-ahead: a weight between two models, chosen by what came after the cutoffs as well."""

    class Weighted:
        name = "weighted"

        def __init__(self, weight: float) -> None:
            self.weight = weight

        def forecast(self, claim: Claim, rows: Mapping[str, Rows], last_day: date) -> Forecast:
            base = open_base_rate(KnownRows({})).forecast(claim, rows, last_day).base_rate
            rising = value_series("VIX", rows).diff().iloc[-1] > 0
            return Forecast(self.weight * base + (1 - self.weight) * (0.8 if rising else 0.2), base)

    def on_all_rows(known: KnownRows) -> Weighted:
        return Weighted(min(1.0, float(value_series("VIX", known.all()).diff().abs().mean())))

    monkeypatch.setattr(claim_backtest, "FORECASTERS", {"tree": on_all_rows})
    with pytest.raises(LookAhead, match="another future"):
        run_backtest(plan(MEDIAN), ForecastFile(tmp_path / "all"))
    assert not (tmp_path / "all").exists()
    # its control: the same forecaster with a weight that no row has chosen
    monkeypatch.setattr(claim_backtest, "FORECASTERS", {"tree": lambda known: Weighted(0.5)})
    assert len(run_backtest(plan(MEDIAN, last="2015-12-31"), ForecastFile(tmp_path / "fixed"))) == 4
