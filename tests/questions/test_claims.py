"""The grammar reads what people write, reads its own sentences back, and refuses the rest in one sentence."""

from dataclasses import replace
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.questions.canonical import canonical_claim
from workbench.questions.claims import BY_READING, Claim
from workbench.questions.errors import ClaimRefused
from workbench.questions.grammar import read_claim
from workbench.questions.series.series_registry import series_named


def test_a_refusal_says_what_can_be_done_and_how_to_set_a_real_model() -> None:
    with pytest.raises(ClaimRefused, match=r"--model .*--api-base"):
        read_claim("Will it rain tomorrow?")


def test_by_is_read_as_a_touch_and_said_so() -> None:
    claim = read_claim("The S&P 500 closes above 2900 by 2018-12-31")
    assert claim.pattern == "touch"
    assert any("by" in note for note in claim.notes)


days = st.dates(date(2015, 1, 1), date(2018, 6, 1))
levels = st.integers(1, 5000).map(lambda n: n / 4)
daily = st.sampled_from(["SP500", "NASDAQ", "WTI", "VIX"])
anything = st.sampled_from(["SP500", "NASDAQ", "WTI", "VIX", "SPREAD", "AAA", "BAA", "CORE_CPI"])
sides = st.sampled_from(["above", "below"])


@st.composite
def claims(draw: st.DrawFn) -> Claim:
    """Claims of every pattern that make sense."""
    pattern = draw(
        st.sampled_from(
            ["compare", "level", "average", "range", "change", "touch", "drawdown", "volatility", "relative", *BY_READING]
        )
    )  # fmt: skip
    series = draw(anything if pattern in ("compare", "level", "range", "change", "touch") else daily)
    start = draw(days)
    end = start + timedelta(days=draw(st.integers(2, 300)))
    side = draw(sides)
    claim = Claim(pattern=pattern, series=series, end=end, side=side, reference=draw(st.booleans()))
    if pattern in ("compare", "change", "drawdown", "volatility", "relative", *BY_READING):
        claim = replace(claim, start=draw(st.sampled_from([start, None])))
    if pattern in ("compare", "level"):
        claim = replace(claim, strict=draw(st.booleans()))
    if pattern in ("level", "touch", "volatility"):
        claim = replace(claim, level=draw(levels))
    if pattern == "range":
        low = draw(levels)
        claim = replace(claim, level=low, upper=low + 3, side="above", strict=False)
    if pattern == "change":
        level = draw(st.integers(1, 60)) * draw(st.sampled_from([1, -1]))
        claim = replace(claim, level=float(level), strict=(side == "above") != (level > 0))
    if pattern == "drawdown":
        percent = float(draw(st.integers(1, 60)))
        claim = replace(claim, level=percent if side == "above" else -percent)
    if pattern == "first":
        level = draw(levels)
        claim = replace(
            claim, level=level + (3 if side == "above" else 0), upper=level + (0 if side == "above" else 3)
        )
    if pattern == "first_move":
        up, down = draw(st.integers(1, 60)), -draw(st.integers(1, 60))
        claim = replace(
            claim, level=float(up if side == "above" else down), upper=float(down if side == "above" else up)
        )
    if pattern in ("touch", "drawdown", "first", "first_move"):
        claim = replace(claim, strict=False, never=draw(st.booleans()))
    if pattern == "touch":
        claim = replace(claim, strict=draw(st.booleans())) if draw(st.booleans()) else replace(claim, side="toward")  # fmt: skip
    if pattern == "average":
        level = draw(st.sampled_from([None, 1.0, 2.5]))
        claim = replace(claim, level=level, strict=level is None)
    if pattern == "volatility":
        claim = replace(claim, strict=side == "above")
    if pattern == "relative":
        claim = replace(claim, series="NASDAQ", other="WTI", strict=draw(st.just(True)))
    size = float(draw(st.integers(1, 60)))
    if pattern in ("mean", "highest", "lowest"):
        claim = replace(claim, level=draw(levels), strict=draw(st.booleans()))
    if pattern in ("count", "streak"):
        every = draw(st.sampled_from([None, "week", "month"]))
        claim = replace(claim, times=draw(st.integers(2, 30)), every=every)
    if pattern == "count":
        level = draw(st.none() | levels)
        claim = replace(claim, level=level, strict=level is None or draw(st.booleans()))
    if pattern in ("points", "step"):
        claim = replace(claim, level=size if side == "above" else -size)
    if pattern == "points":
        claim = replace(claim, strict=False)
    if pattern == "step":
        claim = replace(claim, strict=draw(st.booleans()), every=draw(st.sampled_from([None, "week", "month"])), never=draw(st.booleans()))  # fmt: skip
    if pattern == "move":
        claim = replace(
            claim, level=size, side="above", strict=draw(st.booleans()), never=draw(st.booleans())
        )
    if pattern == "peak":
        claim = replace(claim, level=-size, side="below", strict=False, never=draw(st.booleans()))
    if pattern == "record":
        claim = replace(claim, times=draw(st.sampled_from([1, 4, 52])), never=draw(st.booleans()))
    return claim


@given(claims())
def test_reads_its_own_sentences_back(claim: Claim) -> None:
    assert read_claim(claim.statement) == claim


@pytest.mark.parametrize("series", ["SP500", "WTI", "CORE_CPI"])
@pytest.mark.parametrize("words", ["is above {}% on 2018-12-31", "closes at or below {}% at least once through 2018-12-31"])  # fmt: skip
def test_no_percentage_becomes_a_level_of_a_price_or_an_index(series: str, words: str) -> None:
    said = f"{series_named(series).article} {words.format(9)}"
    with pytest.raises(ClaimRefused):
        canonical_claim(said)
    assert canonical_claim(said.replace("%", "")) is not None
