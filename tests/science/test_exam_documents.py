"""A model's exam: the interval of its gain covers the true gain, and the sentence says no more than the interval."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import norm

from workbench.science.arrays import FloatArray
from workbench.science.comparing.mean_intervals import share_interval
from workbench.science.documents.exam_documents import exam_document, exam_sentence
from workbench.science.documents.record_documents import BASE_RATE, PastTable

_YEARS, _SERIES = 24, 7


class Scripted(NamedTuple):
    """A forecaster of known skill: the share of the way from the base rate to the true probability that it goes, and its noise."""

    skill: float
    noise: float


def _forecasts(who: Scripted, n: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray, FloatArray]:
    """True probabilities, base rates and the forecaster's probabilities of questions, drawn as an exam draws them."""
    base = rng.beta(4, 4, n)
    true = expit(np.log(base / (1 - base)) + rng.normal(0.0, 0.8, n))
    stated = base + who.skill * (true - base) + rng.normal(0.0, who.noise, n)
    return true, base, np.clip(stated, 0.01, 0.99)


def true_gain(who: Scripted, rng: np.random.Generator) -> float:
    """The gain on the base rate that an endless exam would show, in Brier Index points."""
    true, base, stated = _forecasts(who, 1_000_000, rng)
    noise = (true * (1 - true)).mean()
    return float(
        100 * (np.sqrt(((base - true) ** 2).mean() + noise) - np.sqrt(((stated - true) ** 2).mean() + noise))
    )


def simulated_exam(who: Scripted, n: int, rng: np.random.Generator) -> PastTable:
    """An exam on walks: windows of one series that overlap share the days that decide them."""
    days = 365 * _YEARS
    walks = np.cumsum(rng.normal(size=(_SERIES, days + 200)), axis=1)
    series, first, length = (
        rng.integers(_SERIES, size=n),
        rng.integers(days, size=n),
        rng.choice([30, 91, 182], size=n),
    )
    luck = norm.cdf((walks[series, first + length] - walks[series, first]) / np.sqrt(length))
    true, base, stated = _forecasts(who, n, rng)
    start = np.datetime64("1995-01-01")
    return PastTable(
        forecast=stated,
        outcome=(luck < true).astype(float),
        rivals={BASE_RATE: base},
        series=np.array([f"s{number}" for number in series]),
        first_day=(start + first).astype(str),
        last_day=(start + first + length).astype(str),
    )


FORECASTERS = {
    "of skill": Scripted(0.6, 0.05),
    "the base rate itself, shaken": Scripted(0.0, 0.05),
    "noise": Scripted(0.2, 0.3),
}


def coverage(who: Scripted, exams: int, *, n: int = 80, seed: int = 20261124) -> float:
    """Share of simulated exams whose interval of the gain holds the true gain."""
    rng = np.random.default_rng(seed)
    truth, inside = true_gain(who, rng), 0
    for _ in range(exams):
        gain = exam_document(simulated_exam(who, n, rng), np.full(n, np.nan))["gain_over_base"]
        inside += gain["low"] <= truth <= gain["high"]
    return inside / exams


@pytest.mark.long
@pytest.mark.parametrize("name", FORECASTERS)
def test_in_200_simulated_exams_the_interval_covers_the_truth_in_90_to_98_of_100(name: str) -> None:
    assert 0.90 <= coverage(FORECASTERS[name], 200) <= 0.98


def _document(seed: int, skill: float = 0.6, n: int = 80) -> dict[str, object]:
    rng = np.random.default_rng(seed)
    table = simulated_exam(Scripted(skill, 0.05), n, rng)
    rival = np.where(rng.random(n) < 0.3, np.nan, table.rivals[BASE_RATE])
    return exam_document(table, rival, table.series)


@settings(max_examples=10)
@given(seed=st.integers(0, 10**6), skill=st.sampled_from([-0.5, 0.0, 1.0]))
def test_the_sentence_says_above_or_below_only_where_zero_lies_outside_the_interval(
    seed: int, skill: float
) -> None:
    document = _document(seed, skill, n=40)
    said, gain = exam_sentence("x", document), document["gain_over_base"]
    assert isinstance(gain, dict)
    assert ("points above the base rate" in said) == (gain["low"] is not None and gain["low"] > 0)
    assert ("points below the base rate" in said) == (gain["high"] is not None and gain["high"] < 0)


def test_each_gain_is_of_the_questions_that_both_answered() -> None:
    document = _document(1)
    assert document["gain_over_forecaster"]["n"] < document["gain_over_base"]["n"] == document["n"] == 80  # type: ignore[index]
    assert sum(row["n"] for row in document["by_group"]) == 80  # type: ignore[attr-defined]


def test_a_model_that_remembers_more_than_half_of_the_sample_gets_no_verdict() -> None:
    document = _document(1)
    half = {"n": 10, "remembered": 5, "right": 5, "share": 0.5}
    more = {"n": 10, "remembered": 6, "right": 3, "share": 0.6}
    assert exam_sentence("x", {**document, "recall": half}).startswith("on these 80 questions x is")
    assert exam_sentence("x", {**document, "recall": more}).startswith(
        "no verdict: x says of 6 of 10 questions"
    )


def test_worked_number_the_gain_is_the_difference_of_the_two_indices() -> None:
    days = np.array([f"20{year:02}-01-01" for year in range(8)])
    table = PastTable(
        forecast=np.array([0.8, 0.2] * 4),
        outcome=np.array([1.0, 0.0] * 4),
        rivals={BASE_RATE: np.array([0.6, 0.4] * 4)},
        series=np.array(["VIX"] * 8),
        first_day=days,
        last_day=days,
    )
    document = exam_document(table, np.full(8, np.nan))
    # 100 (1 - 0.2) and 100 (1 - 0.4)
    assert (round(document["brier_index"], 9), round(document["base_rate"], 9)) == (80.0, 60.0)
    assert round(document["gain_over_base"]["value"], 9) == 20.0
    assert document["forecaster"] is None
    assert "too few of them can be compared with the key-free forecaster" in exam_sentence("x", document)


def test_below_six_clusters_nothing_is_told() -> None:
    document = _document(3, n=5)
    assert "too few" in exam_sentence("x", document)
    assert document["brier_index_low"] is None


def test_the_bars_of_a_record_are_over_its_clusters() -> None:
    """Eight answers on one series within a month are one cluster, hence no bar; a class of seven series has the share's interval."""
    far, near = np.repeat("VIX", 8), np.array([f"s{number}" for number in range(7)])
    first = np.array(
        [f"2020-03-{day:02}" for day in range(1, 9)] + [f"2020-{month:02}-09" for month in range(4, 11)]
    )
    table = PastTable(
        forecast=np.repeat([0.9, 0.1], [8, 7]),
        outcome=np.array([1.0, 0.0] * 4 + [0.0] * 6 + [1.0]),
        rivals={BASE_RATE: np.full(15, 0.5)},
        series=np.concatenate([far, near]),
        first_day=first,
        last_day=np.array(["2020-04-01"] * 8 + [f"2020-{month:02}-20" for month in range(4, 11)]),
    )
    low, high = exam_document(table, np.full(15, np.nan))["reliability"]
    assert (high["n"], high["low"], high["high"]) == (8, None, None)
    assert [low["low"], low["high"]] == share_interval(table.outcome[8:], near)
