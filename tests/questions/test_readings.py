"""Claims as people type them: read, or asked about, or refused by the word that stands in the way; never misread."""

import hashlib
import json
import re
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxies.asof.clock import Cutoff
from tests.command_line import run_cli
from tests.questions.corpora import verdicts
from workbench.annotations.outcomes import known_outcome
from workbench.engine.new_run import new_run
from workbench.engine.record.fold import load_state
from workbench.engine.run_settings import with_preset
from workbench.errors import ClaimRefused, UsageError
from workbench.formatting import number, number_percent, plain_numbers
from workbench.models.model_options import OFFLINE
from workbench.offline.claim_coverage import UntreatableClaim, claim_to_ask, coverage, reading_document
from workbench.offline.claim_examples import EXAMPLE_CUTOFF, example_texts
from workbench.questions.canonical import canonical_claim
from workbench.questions.claims import Claim
from workbench.questions.decision import check
from workbench.questions.grammar import read_claim
from workbench.questions.readings.choice import ReadClaim, UnclearClaim, day_of, read_for_run
from workbench.questions.readings.read import read
from workbench.questions.readings.slots import stored_claim
from workbench.questions.readings.tokens import spelled
from workbench.store import Store
from workbench.views.reading_documents import reading_lines

ROOT = Path(__file__).resolve().parents[2]
#: The half that somebody wrote who had not seen the reader, frozen before it was run.
BLIND = "69fa17650d4b8d32c0b4f280342738687d86a9b40b926362b582cc4dc723dc70"
#: A second such half, written when the first had been used to mend the reader; what its first reading gave is in docs/use/claims.md.
FRESH = "cd7bcc87f2f981526292d5de9c38d27cfddfe002e5633bc53273709d3a300efd"
#: A fourth, by somebody else again.
FOURTH = "86670d780493a50ba9d97a13bb1490adf034d9a9c08016709d49096432eca530"
#: A fifth, by somebody else again, whose failures were read only after it had been scored.
FIFTH = "545eb77a94a4a8dac0f98399b04f8afc26db6c54cc45a15e1a6c0eaec7e3ae65"
#: A sixth, whose rows nobody had seen when it was opened at commit 6ff0c4c7.
SIXTH = "91e5db5a7bfdc04c05d9460ad000e9de1e89575f427ab6ab0ae29285aa6fcf2e"
JUNE = date(2018, 6, 30)
EARLIER = date(2018, 6, 29)


@cache
def halves() -> dict[str, tuple[verdicts.Verdict, ...]]:
    return {
        "own": tuple(verdicts.own_verdicts()),
        "blind": tuple(verdicts.blind_verdicts()),
        "fresh": tuple(verdicts.blind_verdicts(verdicts.HERE / "fresh.jsonl")),
        "fourth": tuple(verdicts.blind_verdicts(verdicts.HERE / "fourth.jsonl")),
        "fifth": tuple(verdicts.blind_verdicts(verdicts.HERE / "fifth.jsonl")),
        "held": tuple(verdicts.own_verdicts(verdicts.HERE / "held.tsv")),
        "practice": tuple(verdicts.own_verdicts(verdicts.HERE / "practice.tsv")),
        "phrased": tuple(verdicts.own_verdicts(verdicts.HERE / "phrased.tsv")),
    }


@pytest.mark.parametrize(
    ("half", "digest"),
    [("blind", BLIND), ("fresh", FRESH), ("fourth", FOURTH), ("fifth", FIFTH), ("sixth", SIXTH)],
)
def test_a_blind_half_is_as_it_was_written(half: str, digest: str) -> None:
    assert hashlib.sha256((verdicts.HERE / f"{half}.jsonl").read_bytes()).hexdigest() == digest


def test_a_word_that_says_nothing_is_named_and_the_rest_offered() -> None:
    found = read("the tech-obsessed Nasdaq closes above 8000 on 2018-07-31", JUNE)
    assert found.best is None and found.leftover == ("tech-obsessed",)
    assert [each.statement for each in found.others] == [
        "The NASDAQ Composite closes above 8,000 on 2018-07-31"
    ]
    assert "ignored: 'tech-obsessed'" in found.others[0].notes


def test_fewer_whole_months_than_a_claim_wants_are_refused() -> None:
    with pytest.raises(ClaimRefused, match="1 whole months lie between"):
        check(read_claim("the S&P 500 closes higher in at least 3 months from 2018-06-29 to 2018-08-15"), date(2018, 6, 29))  # fmt: skip


@pytest.mark.parametrize("level", [2.0, 3.0, 5.0])
def test_a_range_of_a_fall_is_the_mirror_of_a_rise(level: float) -> None:
    rises, falls = (
        read(f"WTI {verb} between {level}% and 7% by year end", JUNE).best for verb in ("gains", "drops")
    )
    assert rises is not None and falls is not None
    assert (rises.says.level, rises.says.upper) == (level, 7.0)
    assert (falls.says.level, falls.says.upper) == (-7.0, -level)


def accepted() -> dict[str, Claim]:
    """Every sentence of the tests and stored runs that the grammar accepts, and its claim."""
    found = {}
    for path in [
        *(ROOT / "tests").rglob("test_*claim*.py"),
        *(ROOT / "tests" / "offline").rglob("*.py"),
    ]:
        if path.stat().st_size < 1_000_000:
            for text in re.findall(
                r'"([^"\\\n]{12,200})"', path.read_text(encoding="utf-8", errors="replace")
            ):
                if re.search(r"\d{4}", text):
                    try:
                        found[text] = read_claim(text)
                    except (ClaimRefused, ValueError):
                        continue
    return found


def test_what_the_grammar_accepts_is_the_same_claim() -> None:
    """Law: stored runs resolve by it."""
    sentences = accepted()
    assert len(sentences) > 60
    for text, claim in sentences.items():
        best = read(text, JUNE).best
        assert best is not None and best.claim == claim and best.statement == claim.statement, text


def test_what_the_grammar_accepted_before_there_were_readings_is_the_same_claim() -> None:
    """Law: runs without a stored reading resolve by the claim of their time (every statement that commit 2ca7749 accepts in its own files, and claims made of those)."""
    lines = (verdicts.HERE / "accepted.tsv").read_text(encoding="utf-8").splitlines()[1:]
    assert len(lines) > 500
    for line in lines:
        text, _, statement = line.partition("\t")
        best = read(text, JUNE).best
        # In the style of numbers of that time.
        claim = read_claim(statement)
        assert read_claim(text).statement == claim.statement, text
        assert best is not None and best.claim is not None and best.statement == claim.statement, text


@given(st.decimals(min_value=0, max_value=9_999_999, places=3).map(float))
def test_a_number_reads_back_from_every_style(value: float) -> None:
    """Law: a stored sentence with "7 %" or "2900" is the claim of today's "7%" and "2,900", and a level may lie below zero."""
    for level in (value, -value):
        text = f"fred:T10Y2Y is above {number(level)} on 2026-12-31"
        for each in (text, plain_numbers(text)):
            claim = canonical_claim(each)
            assert claim is not None and claim.level == level
    size = round(1 + value, 3)
    text = f"The S&P 500 rises at least {number_percent(size)} from 2018-06-29 to 2018-12-31"
    for each in (text, plain_numbers(text), text.replace("%", " %"), text.replace("%", " percent")):
        claim = canonical_claim(each)
        assert claim is not None and claim.level == size and claim.statement == text


def test_a_reading_that_is_a_claim_reads_back_as_it() -> None:
    """Law: the sentence that is shown is the claim that is treated and stored."""
    for each in (*halves()["own"], *halves()["blind"]):
        for reading in each.readings.choices:
            if reading.claim is not None:
                bare = replace(reading.claim, notes=())
                assert read_claim(reading.statement) == bare, reading.statement
                again = json.loads(json.dumps(reading.document()))
                assert stored_claim(again) == bare


def test_thousands_with_a_dot_are_refused_with_how_to_write_them() -> None:
    notes = read("S&P 500 above 2.800 on 2018-12-31", JUNE).notes
    assert "write 2800 for 2.800 where thousands are meant" in notes


@pytest.mark.parametrize(
    "word", ["calls", "faster", "really", "yearly", "breach", "warnings", "newer", "regain", "losses"]
)
def test_a_word_of_its_own_is_not_mended_into_another(word: str) -> None:
    assert spelled(word) == word


def test_nothing_is_taken_for_read_while_a_word_is_left_over() -> None:
    left = [each for half in halves().values() for each in half if each.readings.leftover]
    assert left and not [verdicts.described(each) for each in left if each.readings.best]
    assert read("the VIX closes July above 20 and August", JUNE).best is None


@pytest.mark.parametrize(
    "text", ["S&P 500 makes {} new record highs in July", "S&P 500 closes {} % above its record high in July"]
)
def test_a_number_that_no_slot_takes_is_not_passed_over(text: str) -> None:
    assert all(read(text.format(number), JUNE).best is None for number in (2, 5, 17))


@pytest.mark.parametrize(
    "text",
    [
        "core CPI yoy hits 3% before 2% by 2019-06-30",  # of the growth, and not of the index
        "SPX gains 10% before gaining 20% by year end",
        "VIX reaches 30 before the S&P 500 reaches 3000 in 2018",
    ],
)
def test_two_of_which_neither_may_come_first_are_not_read_as_levels(text: str) -> None:
    assert not [each.statement for each in read(text, JUNE).choices if each.says.pattern.startswith("first")]


_STRENGTHS = {"falls past": "down", "weakens beyond": "down", "is weaker than": "down", "rises past": "up", "strengthens beyond": "up", "is stronger than": "up"}  # fmt: skip


@pytest.mark.parametrize("strength", _STRENGTHS)
@pytest.mark.parametrize(
    ("subject", "level", "quoted_the_other_way"),
    [
        ("the yen", "110 per dollar", True),
        ("the yen", "110 against the dollar", True),
        ("the Mexican peso", "20 per dollar", True),
        ("the peso", "20 per dollar", True),
        ("the lira", "5 to the dollar", True),
        ("the dollar", "110 yen", False),
        ("USD/JPY", "110", False),
        ("the euro", "1.20 dollars", False),
        ("the pound", "1.40", False),
        ("WTI", "60", False),
    ],
)
def test_what_weakens_past_a_level_is_beyond_it_and_a_currency_on_the_side_of_its_quotation(
    subject: str, level: str, quoted_the_other_way: bool, strength: str
) -> None:
    choices = read(f"{subject} {strength} {level} by December 2018", JUNE).choices
    up = (_STRENGTHS[strength] == "up") != quoted_the_other_way
    assert {each.says.side for each in choices} == {"above" if up else "below"}


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("returns less than -5%", "falls at least 5%"),
        ("returns at least -5%", "does not fall at least 5%"),
        ("moves -5%", "falls at least 5%"),
        ("moves +5%", "rises at least 5%"),
        ("crashes 20%", "falls at least 20%"),
    ],
)
def test_a_sign_and_a_crash_say_which_way_it_goes(text: str, statement: str) -> None:
    first = read(f"the S&P 500 {text} in 2018", JUNE).choices[0]
    assert first.statement == f"The S&P 500 {statement} from 2017-12-31 to 2018-12-31"


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("US unemployment improves in October 2018", "fred:UNRATE is lower on 2018-10-31 than on 2018-09-30"),
        ("US unemployment worsens in October 2018", "fred:UNRATE is higher on 2018-10-31 than on 2018-09-30"),
        ("US retail sales improve in October 2018", "US retail sales is higher on 2018-10-31 than on 2018-09-30"),
        ("Treasuries sell off by December 2018", "fred:DGS10 is higher on 2018-12-31 than the last value known"),
        ("the 10-year Treasury rallies past 2.5% by December 2018", "fred:DGS10 is below 2.5 at least once through 2018-12-31"),
        ("the 10-year Treasury yield rises past 2.5% by December 2018", "fred:DGS10 is above 2.5 at least once through 2018-12-31"),
        ("the Fed tightens in 2018", "fred:DFEDTARU is higher on 2018-12-31 than on 2017-12-31"),
        ("credit spreads tighten by December 2018", "The BAA-AAA spread is narrower on 2018-12-31 than the last value known"),
        ("the S&P 500 is beaten by the Nasdaq in 2018", "The S&P 500 underperforms the NASDAQ Composite from 2017-12-31 to 2018-12-31"),
    ],
)  # fmt: skip
def test_words_of_motion_say_what_the_series_does(text: str, statement: str) -> None:
    assert read(text, JUNE).choices[0].statement == statement


def test_inflation_that_falls_is_asked_about_since_prices_are_compared() -> None:
    readings = read("headline inflation eases in October 2018", JUNE)
    assert readings.best is None and any("inflation itself" in note for note in readings.notes)


def test_what_cannot_be_is_denied() -> None:
    reading = read("the S&P 500 cannot break above 2600 by December 2018", JUNE).best
    assert reading is not None and reading.claim is not None and reading.claim.never


def test_a_hole_is_named_and_the_rest_completed() -> None:
    found = read("WTI above 80", JUNE)
    assert found.best is None and found.missing == ("window",)
    assert found.matched == {"series": "WTI", "relation": "above", "level": "80"}
    assert {each.says.end for each in found.others} == {date(2018, 12, 31)}


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("WTI above 80 on 2018-12-31 unless OPEC cuts", "WTI crude oil is above 80 on 2018-12-31"),
        ("WTI crude will rise to by the end of September", "WTI crude oil is above LEVEL on 2018-09-30"),
        ("Ann is elected", "SERIES is above (or below) LEVEL on YYYY-MM-DD"),
        ("", "SERIES is above (or below) LEVEL on YYYY-MM-DD"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_given_a_form_filled_as_far_as_it_got(text: str, form: str) -> None:
    found = read(text, JUNE)
    assert not found.choices and found.form is not None and found.form.sentence == form
    assert found.document()["form"]["sentence"] == form


_OTHER_QUESTIONS = [
    ("Netflix adds 5 million subscribers in 2018", "NFLX"),
    ("Netflix has 200 million paying members in 2018", "NFLX"),
    ("Apple sells 60 million iPhones in 2018", "AAPL"),
    ("Tesla delivers 500k cars in Q3 2018", "TSLA"),
    ("Boeing deliveries above 700 in 2018", "BA"),
    ("Apple raises prices in 2018", "AAPL"),
    ("500 companies leave the S&P 500 in 2018", "S&P 500"),
    ("US oil production above 11 million barrels in 2018", "WTI"),
    ("the ECB raises rates in 2018", "federal funds"),
    ("the Bank of Japan raises its policy rate in 2018", "federal funds"),
    ("In Germany, unemployment falls below 5% in December 2018", "US unemployment"),
    ("inflation in the UK above 3% in December 2018", "US core CPI"),
    ("Chinese GDP grows 6% in 2018", "US real GDP"),
    ("Texas unemployment below 4% in December 2018", "US unemployment"),
    ("10-year gilt yield above 1.5% on 2018-12-31", "10-year Treasury"),
    ("natural gas storage below 3000 in October 2018", "natural gas"),
    ("Mexican silver above 20 on 2018-12-31", "silver"),
    ("bank stocks fall 10% in 2018", "S&P 500"),
    ("VIX above 1e999 on 2018-12-31", "finite"),
    ("VIX between 20 and 20 on 2018-12-31", "same"),
    ("WTI gains between 5% and 5% by 2018-12-31", "same"),
]


@pytest.mark.parametrize(("text", "names"), _OTHER_QUESTIONS)
def test_what_no_known_series_measures_is_refused_with_what_would_help(text: str, names: str) -> None:
    """Neither the readings nor the form answer another question, and a run by rule says why."""
    cutoff = Cutoff.parse("2018-06-30")
    found = read(text, day_of(cutoff))
    assert not found.choices and names in found.refusal
    assert found.form is not None and None in (found.form.series, found.form.level)
    lines = reading_lines(reading_document(found, cutoff, OFFLINE))
    assert f"Not possible: {found.refusal}" in lines and "Possible with --model PROVIDER/NAME" in lines
    with pytest.raises(ClaimRefused, match=re.escape(found.refusal)):
        claim_to_ask(found, cutoff, OFFLINE)
    assert claim_to_ask(found, cutoff, "openai/gpt").statement == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("the Fed raises rates in 2018", "fred:DFEDTARU is higher on 2018-12-31 than on 2017-12-31"),
        ("house prices rise 5% in 2018", "Case-Shiller home prices rises at least 5% from 2017-12-31 to 2018-12-31"),
        ("US unemployment below 4% on 2018-12-31", "fred:UNRATE is below 4 on 2018-12-31"),
        ("Germany's DAX above 12000 on 2018-12-31", "yahoo:^GDAXI closes above 12,000 on 2018-12-31"),
        ("US employers hire fewer than 170,000 workers in September 2018", "US nonfarm payrolls is below 170,000 on 2018-09-30"),
        ("French election aside, EUR/USD stays in 1.04-1.08 in September", "yahoo:EURUSD=X stays between 1.04 and 1.08 from 2018-08-31 to 2018-09-30"),
        ("the S&P 500 above 3% on 2018-12-31", "The S&P 500 rises at least 3% by 2018-12-31"),
        ("the S&P 500 below 3% on 2018-12-31", "The S&P 500 does not rise at least 3% by 2018-12-31"),
        ("the S&P 500 below -3% on 2018-12-31", "The S&P 500 falls at least 3% by 2018-12-31"),
        ("WTI above -5% on 2018-12-31", "WTI crude oil does not fall at least 5% by 2018-12-31"),
        ("WTI at -5% or more on 2018-12-31", "WTI crude oil falls at least 5% by 2018-12-31"),
    ],
)  # fmt: skip
def test_the_series_that_is_meant_and_a_percentage_of_a_price_are_offered(text: str, said: str) -> None:
    assert said in [each.statement for each in read(text, JUNE).choices]


@given(level=st.floats(1, 60), width=st.floats(-50, 50))
def test_a_stored_claim_has_levels_that_are_numbers_and_a_range_a_width(level: float, width: float) -> None:
    low, high = sorted((level, level + width))
    stored = {"decidable": True, "claim": {"pattern": "range", "series": "WTI", "end": "2018-12-31", "start": None, "strict": False}}  # fmt: skip
    for bounds in ((low, high), (level, level), (level, float("inf")), (float("nan"), high)):
        document = {**stored, "claim": {**stored["claim"], "level": bounds[0], "upper": bounds[1]}}  # type: ignore[dict-item]
        if bounds[0] < bounds[1] < float("inf"):
            claim = stored_claim(document)
            assert claim is not None and (claim.level, claim.upper) == bounds
        else:
            with pytest.raises(ClaimRefused):
                stored_claim(document)


def test_a_form_with_its_empty_slots_filled_is_read() -> None:
    """Law, of every text of the corpora that is not read; a text with a reading has no form."""
    unread = 0
    for each in (*halves()["blind"], *halves()["fresh"], *halves()["fourth"], *halves()["own"]):
        form = each.readings.form
        assert (form is None) == bool(each.readings.choices)
        if form is not None:
            unread += 1
            filled = form.sentence
            for slot, word in (("SERIES", "WTI"), ("above (or below)", "below"), ("LEVEL", "70"), ("YYYY-MM-DD", "2030-01-02")):  # fmt: skip
                filled = filled.replace(slot, word)
            assert read(filled, JUNE).choices, filled
    assert unread > 20


def test_a_rule_gets_the_canonical_sentence_and_a_model_what_was_typed() -> None:
    cutoff = Cutoff.parse("2018-09-30")
    readings = read("S&P drops 10% before Christmas", day_of(cutoff))
    with pytest.raises(UnclearClaim) as unclear:
        read_for_run(readings, key_free=True)
    assert "1) The S&P 500 falls at least 10% by 2018-12-24" in str(unclear.value)
    chosen = read_for_run(readings, key_free=True, number=2)
    assert chosen.statement == "The S&P 500 closes 10% or more below its last known close at least once through 2018-12-24"  # fmt: skip
    assert read_for_run(readings, key_free=True, first=True).statement.startswith("The S&P 500 falls")
    assert read_for_run(readings, key_free=True, ask=lambda of: 2) == chosen
    assert read_for_run(readings, key_free=False) == ReadClaim(statement=readings.text, read_as=None)
    by_model = read_for_run(readings, key_free=False, number=1)
    assert by_model.statement == readings.text and by_model.read_as is not None
    with pytest.raises(UsageError, match="no reading 9"):
        read_for_run(readings, key_free=True, number=9)


async def test_a_run_is_resolved_by_the_reading_that_it_was_asked_with(tmp_path: Path) -> None:
    cutoff = Cutoff.parse("2018-06-30")
    asked = read_for_run(
        read("SPX will be above 3000 by year end 2018", day_of(cutoff)), key_free=False, number=2
    )
    store = Store(tmp_path)
    run = new_run(
        store, asked.statement, cutoff, with_preset("product", model="openai/gpt"), read_as=asked.read_as
    )
    state = load_state(store, run)
    store.close()
    assert state.statement == "SPX will be above 3000 by year end 2018"
    claim = stored_claim(state.read_as)
    assert claim is not None and claim.pattern == "touch"
    known = await known_outcome(state.statement, cutoff, state.read_as)
    assert known is not None and not known.true and known.day == date(2018, 12, 31)
    assert await known_outcome(state.statement, cutoff) is None  # the grammar alone reads no such text


@pytest.mark.parametrize(
    ("text", "cutoff", "reason", "fix"),
    [
        ("ISM manufacturing above 55 in December 2018", "2018-06-30", "no source here holds", {"model": "PROVIDER/NAME"}),
        ("the S&P 500 crosses above its 200-day average in H2 2018", "2018-06-30", "cannot treat this relation yet", {"model": "PROVIDER/NAME"}),
        ("The VIX closes above 20 on 2018-12-31", "now", "already settled", {"cutoff": "2018-07-01"}),
        ("The VIX closes above 20 on 2018-12-31", "2019-06-30", "already settled", {"cutoff": "2018-07-01"}),
        ("The VIX closes above 20 on 2025-12-31", "2018-06-30", "more than two years", {"model": "PROVIDER/NAME"}),
        ("The VIX closes above 20 on 2012-12-31", "2012-06-30", "no value of the VIX is visible", {"model": "PROVIDER/NAME"}),
        ("The VIX closes above 20 on 2015-12-31", "2015-01-30", "two independent periods", {"cutoff": "2015-07-10"}),
        ("WTI crude oil closes above 80 on 2018-12-31", "2014-06-30", "more than two years", {"cutoff": "2016-12-31"}),
        ("The S&P 500 closes 5% or more below its 2018-09-28 close at least once through 2018-12-24", "2018-12-20", "has made it true", {"cutoff": "2018-09-28"}),
    ],
)  # fmt: skip
def test_what_cannot_be_treated_says_what_would_help(
    text: str, cutoff: str, reason: str, fix: dict[str, str]
) -> None:
    instant = Cutoff.parse(cutoff)
    readings = read(text, JUNE)
    document = reading_document(readings, instant, OFFLINE)
    assert not document["coverage"]["treatable"] and document["coverage"]["fix"] == fix
    assert reason in document["coverage"]["reason"]
    assert any(line.startswith("Not possible") for line in reading_lines(document))
    assert reading_document(readings, instant, "openai/gpt")["coverage"]["treatable"]
    if "cutoff" in fix:
        assert coverage(readings.best, Cutoff.parse(fix["cutoff"]), OFFLINE).treatable


def test_a_name_whose_unit_is_another_there_is_no_claim() -> None:
    """Housing starts are said in millions and stored in thousands; payrolls are talked of by their change."""
    for text in ("housing starts above 1.3 million in March 2019", "payrolls above 200k in March 2019"):
        assert all(each.claim is None for each in read(text, date(2018, 12, 1)).choices)


def test_the_day_before_the_first_usable_cutoff_it_is_refused() -> None:
    best = read("The VIX closes above 20 on 2015-12-31", JUNE).best
    assert coverage(best, Cutoff.parse("2015-07-10"), OFFLINE).treatable
    assert not coverage(best, Cutoff.parse("2015-07-09"), OFFLINE).treatable


@given(ahead=st.integers(2, 3000))
def test_a_cutoff_in_the_future_is_called_so(ahead: int) -> None:
    today = datetime.now(UTC).date()
    cutoff = Cutoff.parse(f"{today + timedelta(days=ahead)}")
    for text in (
        "The VIX closes above 20 on 2018-12-31",
        f"yahoo:AAPL closes above 20 on {today.year + 10}-12-31",
    ):
        found = coverage(read(text, day_of(cutoff)).best, cutoff, OFFLINE)
        assert not found.treatable and "in the future" in found.reason and found.fix == {"cutoff": "now"}


@pytest.mark.parametrize("reading", [1, 2])
def test_a_claim_is_covered_before_it_is_opened(reading: int) -> None:
    text, cutoff = "WTI above 80 by year end 2018", Cutoff.parse("2018-06-30")
    readings, late = read(text, day_of(cutoff)), Cutoff.parse("2019-02-01")
    assert claim_to_ask(readings, cutoff, OFFLINE, number=reading).reading == readings.choices[reading - 1]
    with pytest.raises(UntreatableClaim, match="can be asked with --cutoff 2018-07-01") as refused:
        claim_to_ask(read(text, day_of(late)), late, OFFLINE, number=reading)
    assert refused.value.document["coverage"]["fix"] == {"cutoff": "2018-07-01"}
    assert claim_to_ask(readings, late, "openai/gpt").statement == text


@pytest.mark.parametrize(
    ("text", "network", "words"),
    [
        ("gold closes above 1300 on 2018-12-31", "", ["come from yfinance over the network"]),
        ("gold closes above 1300 on 2018-12-31", "off", ["come from yfinance over the network", "WORKBENCH_NETWORK"]),
        ("The VIX closes above 20 on 2018-12-31", "off", []),
    ],
)  # fmt: skip
def test_a_series_that_a_network_brings_is_told_with_its_reading(
    text: str, network: str, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_NETWORK", network)
    document = reading_document(read(text, JUNE), Cutoff.parse("2018-06-30"), OFFLINE)
    assert document["coverage"]["treatable"]
    told = [line for line in reading_lines(document) if "network" in line.lower()]
    assert len(told) == bool(words) and all(word in told[0] for word in words)


def test_a_series_of_a_source_without_its_key_is_refused_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cutoff = Cutoff.parse("2018-06-30")
    readings = read("Fed cuts rates before Christmas", day_of(cutoff))
    monkeypatch.delenv("FRED_API_KEY", raising=False)
    document = reading_document(readings, cutoff, OFFLINE)
    assert "'fed' is read as fred:DFEDTARU, federal funds rate" in document["notes"]
    covered = document["coverage"]
    assert not covered["treatable"] and "set FRED_API_KEY" in covered["reason"]
    assert covered["fix"] == {"model": "PROVIDER/NAME"}
    with pytest.raises(UntreatableClaim, match="FRED_API_KEY"):
        claim_to_ask(readings, cutoff, OFFLINE)
    monkeypatch.setenv("FRED_API_KEY", "a-key-of-this-test")
    assert reading_document(readings, cutoff, OFFLINE)["coverage"]["treatable"]


@pytest.mark.parametrize(
    ("text", "aside"),
    [
        ("VIX above 20 on 2018-09-28, imho", "imho"),
        ("VIX above 20 on 2018-09-28, veteran traders say", "veteran traders say"),
        ("We'd put the odds at roughly 70% that VIX is above 20 on 2018-09-28", "We'd put the odds at roughly 70% that"),
        ("VIX, now in the mid-10s, is above 20 on 2018-09-28", "now in the mid-10s"),
        ("VIX above 20 on 2018-09-28, a level traders have not seen since 2016", "a level traders have not seen since 2016"),
    ],
)  # fmt: skip
def test_an_aside_is_named_and_the_claim_read_without_it(text: str, aside: str) -> None:
    best = read(text, EARLIER).best
    assert best is not None and best.statement == "The VIX closes above 20 on 2018-09-28"
    assert f"{aside!r} is an aside, and no part of the claim" in best.notes


@pytest.mark.parametrize(("today", "measured"), [(EARLIER, True), (JUNE, True), (date(2018, 6, 27), False)])
def test_the_close_of_a_weekday_is_the_last_one_only_on_that_day(today: date, measured: bool) -> None:
    found = read("WTI at least 5% above Friday's close at the end of September", today)
    assert (
        any(each.says.pattern == "change" and each.says.start is None for each in found.choices) is measured
    )


@pytest.mark.long  # each is treated as before a run
def test_the_document_has_every_example_with_its_readings(tmp_path: Path) -> None:
    examples = json.loads(run_cli(tmp_path, "claims", "--json").stdout)["claims"]
    assert [each["text"] for each in examples] == [
        text for texts in example_texts().values() for text in texts
    ]
    assert all(each["readings"] and each["answered"] for each in examples)


@pytest.mark.long
def test_the_command_prints_them_for_people(tmp_path: Path) -> None:
    assert "the S&P 500 closes 2018 higher" in run_cli(tmp_path, "claims").stdout


@pytest.mark.parametrize("text", [text for texts in example_texts().values() for text in texts])
def test_every_line_has_a_reading(text: str) -> None:
    found = read(text, day_of(Cutoff.parse(EXAMPLE_CUTOFF)))
    assert found.choices and not found.leftover, text
