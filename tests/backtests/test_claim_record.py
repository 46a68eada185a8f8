"""The record beside an answer: rows known at each past cutoff, outcomes known at the answer's own, and no look ahead."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import date, timedelta

import pytest

from proxies.asof.clock import Cutoff
from workbench.backtests.claim_record import claim_record, known_rows, open_paths, past_table
from workbench.backtests.known_rows import KnownRows, check_rows
from workbench.backtests.past_claims import earlier_days, moved_claim
from workbench.backtests.walk_forward import Forecast, past_forecast
from workbench.blocking import run_blocking
from workbench.offline.visible_past import broker_history
from workbench.questions.claims import Claim
from workbench.questions.decision import Rows, base_rate, value_series
from workbench.questions.errors import ClaimRefused, LookAhead
from workbench.questions.grammar import read_claim
from workbench.questions.series.value_states import KnownRow
from workbench.science.documents import record_document

pytestmark = pytest.mark.long

CUTOFF = Cutoff.parse("2018-06-30")
LAST = date(2018, 6, 29)
HIGHER = "The S&P 500 closes higher on 2018-12-31 than on 2018-06-29"
NAMES = ("AAA", "BAA", "CORE_CPI", "NASDAQ", "SP500", "VIX", "WTI")


class BaseRate:
    """A forecaster that costs nothing: the base rate, a little nearer to the middle."""

    name = "base rate"

    def forecast(self, claim: Claim, rows: Mapping[str, Rows], last_day: date) -> Forecast:
        base = base_rate(claim, rows, last_day)
        return Forecast(0.1 + 0.8 * base, base)


def open_base_rate(known: KnownRows) -> BaseRate:
    return BaseRate()


@pytest.fixture(scope="module")
def known() -> KnownRows:
    return known_rows(NAMES, "2018-06-30", None)


@pytest.mark.parametrize("name", NAMES)
def test_a_past_cutoff_shows_what_the_broker_shows(known: KnownRows, name: str) -> None:
    observe = broker_history(None)
    for day in ("2015-03-04", "2015-03-05", "2016-02-29"):
        last_day = date.fromisoformat(day)
        seen = run_blocking(observe(name, Cutoff.parse(str(last_day + timedelta(days=1)))))
        shown = [(row["date"], row["value"]) for row in known.as_of(last_day)[name]]
        assert shown == [(row["date"], row["value"]) for row in seen]


def test_the_record_counts_its_cutoffs_and_compares_with_each_rival() -> None:
    document = claim_record(HIGHER, CUTOFF, open_forecaster=open_base_rate, most=20)
    record = document["record"]
    # of 20 drawn cutoffs the earliest has too few separate windows behind it for any share
    assert record["n"] == 19 and sum(document["left_out"].values()) == 1 and record["clusters"] < 19
    assert set(record["against"]) == {"base rate", "driftless walk", "always 0.5"}
    assert record["against"]["always 0.5"]["brier_index"] == 50.0
    # nothing of after the answer's cutoff: the last window had come to its end by then
    assert max(row["end"] for row in document["rows"]) <= "2018-06-29"
    line = document["line"]
    assert line.startswith(f"Tested on 19 past dates ({record['clusters']} independent)")
    assert "no better than the base rate. Use the base rate." in line and "Brier Index −" in line
    row = document["rows"][-1]
    # scored by hand: where the index stood on the two days
    closes = value_series("SP500", known_rows(("SP500",), "2018-06-30", None).all())
    start, end = (float(closes[:each].iloc[-1]) for each in (row["last_day"], row["end"]))
    assert row["outcome"] == float(end > start)


def test_two_processes_give_what_one_gives() -> None:
    one, two = (
        claim_record(
            "VIX above 20 on 2018-09-28", CUTOFF, open_forecaster=open_base_rate, most=8, processes=count
        )
        for count in (1, 2)
    )
    assert one == two and one["record"]["n"] == 8


def test_a_short_history_gives_as_many_cutoffs_as_it_reaches() -> None:
    document = claim_record(
        "VIX above 20 on 2016-06-30", Cutoff.parse("2016-03-01"), open_forecaster=open_base_rate
    )
    assert document["record"] is None or document["record"]["n"] < 20
    assert "Use the base rate." in document["line"]


def test_a_forecaster_that_knows_the_outcome_is_better_than_the_base_rate(known: KnownRows) -> None:
    """The record is able to say so: the control of 'no skill shown'."""

    class Prophet(BaseRate):
        def forecast(self, claim: Claim, rows: Mapping[str, Rows], last_day: date) -> Forecast:
            base = super().forecast(claim, rows, last_day).base_rate
            closes = value_series("SP500", known.all())
            up = float(closes[: str(claim.end)].iloc[-1]) > float(closes[: str(claim.start)].iloc[-1])
            return Forecast(0.5 + (0.3 if up else -0.3), base)

    claim, now = read_claim(HIGHER), known.as_of(LAST)
    past = [
        past_forecast(moved_claim(claim, LAST, day, now, known.as_of(day)), known, day, Prophet())
        # the first years have too few separate windows behind them
        for day in earlier_days(claim, LAST, date(2003, 1, 2), most=30)
    ]
    record = record_document(past_table(past))
    assert record["skill"] == "better"
    assert f"30 past dates ({record['clusters']} independent)" in record["line"]
    assert "did better than the base rate" in record["line"] and "Brier Index +" in record["line"]


def test_claims_move_with_their_cutoff(known: KnownRows) -> None:
    now = known.as_of(LAST)
    past_day = LAST - timedelta(days=7 * 52)
    past = known.as_of(past_day)
    moved = moved_claim(read_claim(HIGHER), LAST, past_day, now, past)
    assert (moved.start, moved.end) == (past_day, date(2018, 12, 31) - timedelta(days=7 * 52))
    level = read_claim("The S&P 500 is above 2800 on 2018-12-31")
    moved = moved_claim(level, LAST, past_day, now, past)
    assert moved.level == pytest.approx(
        2800 / now["SP500"][-1]["value"] * past["SP500"][-1]["value"], abs=1e-3
    )
    fear = moved_claim(read_claim("VIX above 20 on 2018-12-31"), LAST, past_day, now, past)
    assert fear.level == 20.0
    spread = moved_claim(
        read_claim("The BAA-AAA spread is above 1 on 2018-11-30"),
        LAST,
        date(2018, 2, 28),
        now,
        known.as_of(date(2018, 2, 28)),
    )
    assert spread.end == date(2018, 7, 31) and spread.level == 1.0


def test_a_level_above_a_negative_value_stays_above_it_at_an_earlier_cutoff() -> None:
    """WTI futures closed at -37.63 on 20 April 2020 and at 18.27 the session before (CME): 20 dollars above is no share of either."""
    now, past = ({"yahoo:CL=F": [{"date": "2020-04-17", "value": value}]} for value in (-37.63, 18.27))
    days = date(2020, 4, 20), date(2020, 4, 17)
    touch = read_claim("yahoo:CL=F touches 2.37 by 2020-06-30")
    assert moved_claim(touch, *days, now, past).level == 58.27
    assert moved_claim(replace(touch, level=38.27), *reversed(days), past, now).level == -17.63
    points = read_claim("yahoo:CL=F rises by at least 20 points by 2020-06-30")
    assert moved_claim(points, *days, now, past).level == 20.0


# --- planted look-ahead ---------------------------------------------------------------------------------------------


def without_lag(known: KnownRows, name: str) -> KnownRows:
    """A world in which every value is known on the day that it belongs to."""
    return KnownRows({name: tuple(replace(row, known=row.date) for row in known.series[name])})


def test_a_release_lag_of_zero_is_refused(known: KnownRows) -> None:
    observe = broker_history(None)
    for name in ("WTI", "CORE_CPI", "BAA"):
        with pytest.raises(LookAhead, match="otherwise than the broker cuts it"):
            run_blocking(check_rows(without_lag(known, name), observe))
    run_blocking(check_rows(KnownRows({name: known.series[name] for name in ("SP500", "WTI")}), observe))


def test_a_row_of_after_the_cutoff_is_refused(known: KnownRows) -> None:
    later = KnownRow(date="2015-03-10", value=2000.0, known="2015-03-02")
    rows = tuple(row for row in known.series["SP500"] if row.date < "2015-03-03")
    with pytest.raises(LookAhead, match="has a value of 2015-03-10"):
        past_forecast(
            read_claim("The S&P 500 closes higher on 2015-04-30 than on 2015-03-02"),
            KnownRows({"SP500": (*rows, later)}),
            date(2015, 3, 4),
            BaseRate(),
        )


def test_what_cannot_be_asked_is_refused() -> None:
    for text, cutoff in (("Something good happens", "2018-06-30"), (HIGHER, "2019-06-30")):
        with pytest.raises(ClaimRefused):
            claim_record(text, Cutoff.parse(cutoff), open_forecaster=open_paths, most=2)
