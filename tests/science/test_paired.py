"""The paired test and its clusters: exact where it says so, rarely wrong under the null, silent where there is too little."""

from collections.abc import Callable
from datetime import date, timedelta
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.science.comparing import paired
from workbench.science.comparing.clusters import (
    MIN_CLUSTERS,
    cluster_count,
    clusters_of,
    day_count,
    event_clusters,
    series_clusters,
    time_blocks,
    widest_way,
)
from workbench.science.comparing.comparison import judge, mixed_comparisons, paired_comparisons
from workbench.science.comparing.mixed import IndexContrast
from workbench.science.comparing.paired import PairedVerdict, paired_test, paired_tests
from workbench.science.errors import DomainError
from workbench.science.tables import Events


def equal_methods(rng: np.random.Generator, n: int, runs: int) -> np.ndarray:
    """Brier differences of two methods that are wrong alike, a column for each study."""
    truth = rng.uniform(0.1, 0.9, (n, runs))
    outcome = (rng.uniform(size=(n, runs)) < truth).astype(float)
    a, b = np.clip(truth + 0.15 * rng.standard_normal((2, n, runs)), 0.01, 0.99)
    return np.asarray((b - outcome) ** 2 - (a - outcome) ** 2)


# --- the test itself ---------------------------------------------------------------------------------------------------------


def brute(differences: np.ndarray, weights: np.ndarray, value: float) -> float:
    """Share of all sign patterns under which the mean about ``value`` lies as far off as the one seen."""
    off = weights * (differences - value)
    means = np.array([np.dot(signs, off) for signs in product((1, -1), repeat=len(off))])
    return float((np.abs(means) >= abs(off.sum()) - 1e-12).mean())


@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(0.1, 3)), min_size=2, max_size=8), st.floats(0.5, 0.99))
def test_interval_and_p_are_those_of_all_sign_patterns(rows: list[tuple[float, float]], level: float) -> None:
    differences, weights = np.round(np.array(rows).T, 3)
    test = paired_test(differences, weights=weights, level=level)
    assert test.p == pytest.approx(brute(differences, weights, 0.0))
    assert test.p >= 2.0 ** (1 - len(rows)) and test.low <= test.estimate + 1e-9
    if len(rows) < MIN_CLUSTERS:
        assert (test.low, test.high) == (-np.inf, np.inf) and test.interval is None
        return
    # one test for both: a value strictly inside is not rejected, one strictly outside is
    for end, step in ((test.low, 1e-6), (test.high, -1e-6)):
        if np.isfinite(end):
            assert brute(differences, weights, end - step) <= 1 - level + 1e-9
            inside = end + step
            if test.low < inside < test.high:
                assert brute(differences, weights, inside) > 1 - level - 1e-9


def test_nothing_and_ties_speak_for_no_difference() -> None:
    assert paired_test(np.zeros(30)).p == 1.0 and paired_test(np.zeros(30)).verdict == "no difference shown"
    assert paired_test([0.0] * 7 + [1.0]).p == 1.0
    half = paired_test([1.0, -1.0] * 10)
    assert half.p == 1.0 and half.low < 0 < half.high
    for bad in ([], [float("nan")], np.zeros((2, 2, 2))):
        with pytest.raises(DomainError):
            paired_test(bad)
    with pytest.raises(DomainError):
        paired_test([1.0, 2.0], ["a"])
    with pytest.raises(DomainError):
        paired_test([1.0, 2.0], weights=[1.0, 0.0])


def test_drawn_patterns_tell_what_all_of_them_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    table = rng.normal(0.3, 1.0, (16, 3))
    exact = paired_tests(table)
    monkeypatch.setattr(paired, "EXACT", 2)
    for drawn, whole in zip(paired_tests(table), exact, strict=True):
        assert drawn.p == pytest.approx(whole.p, abs=0.015)
        assert (drawn.low, drawn.high) == pytest.approx((whole.low, whole.high), abs=0.06)
    # of B patterns no p below 1 / (B + 1), and the same seed gives the same test
    sure = paired_test(np.ones(40), resamples=99)
    assert sure.p == 0.01 and sure == paired_test(np.ones(40), resamples=99)


def test_events_of_a_cluster_are_one_observation() -> None:
    rng = np.random.default_rng(2)
    own = rng.normal(0.2, 1.0, 12)
    twice = np.repeat(np.arange(12), 5)
    together, alone = paired_test(own[twice], twice), paired_test(own)
    assert (together.estimate, together.p) == pytest.approx((alone.estimate, alone.p))
    assert (together.n, together.clusters, alone.n) == (60, 12, 12)


# --- how often it is wrong ----------------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("n", [2, 3, 4, 8, 16])
def test_two_equal_methods_are_rarely_told_apart(n: int) -> None:
    rng = np.random.default_rng(n)
    found = [test for _ in range(12) for test in paired_tests(equal_methods(rng, n, 100))]
    wrong = [test for test in found if test.verdict in ("better", "worse")]
    assert len(wrong) / len(found) <= 0.06
    assert all(test.verdict == "too few to tell" for test in found) == (n < MIN_CLUSTERS)
    assert min(test.p for test in found) >= 2.0 ** (1 - n)
    assert all((test.p <= 0.05) == (not test.low <= 0 <= test.high) for test in found)


@pytest.mark.long
def test_a_verdict_over_several_methods_is_rarely_wrong_and_finds_what_is_there() -> None:
    """The whole way of a study: Holm over three arms, the mixed model beside it."""
    rng = np.random.default_rng(7)
    wrong = right = 0
    for _ in range(40):
        truth = rng.uniform(0.1, 0.9, 12)
        outcome = (rng.uniform(size=12) < truth).astype(float)
        days = [f"2020-{month:02}-01" for month in range(1, 13)]
        events = Events.of(outcome, kind=np.repeat(["market", "dataset"], 6), forecast_due_date=days)
        values = {f"m{k}": np.clip(truth + 0.15 * rng.standard_normal(12), 0.01, 0.99) for k in range(4)}
        values["poor"] = 1 - 0.9 * outcome - 0.05 * rng.random(12)
        tests = judge(
            paired_comparisons(events, values, "m0"), mixed_comparisons(events, values, "m0"), part="overall"
        )
        right += tests.pop("poor").verdict == "worse"
        wrong += any(test.verdict in ("better", "worse") for test in tests.values())
    assert wrong <= 5 and right > 32  # 2 of 40 wrongly by chance alone


def rolling(rng: np.random.Generator, weeks: int, window: int, runs: int) -> np.ndarray:
    """Brier differences of "always 60 %" above "always 40 %" on weekly claims "higher in ``window`` weeks", a column for each study."""
    path = np.vstack([np.zeros(runs), np.cumsum(rng.standard_normal((weeks + window, runs)), axis=0)])
    outcome = (path[window : window + weeks] > path[:weeks]).astype(float)
    return np.asarray((0.4 - outcome) ** 2 - (0.6 - outcome) ** 2)


def weekly_clusters(weeks: int, window: int) -> np.ndarray:
    days = [date(2020, 1, 6) + timedelta(weeks=week) for week in range(weeks)]
    return clusters_of(
        np.arange(weeks).astype(str),
        series=["the index"] * weeks,
        start=[day.isoformat() for day in days],
        end=[(day + timedelta(weeks=window)).isoformat() for day in days],
    )


def covered(differences: Callable[[], np.ndarray], clusters: np.ndarray, batches: int) -> float:
    tests = [test for _ in range(batches) for test in paired_tests(differences(), clusters)]
    return float(np.mean([test.low <= 0 <= test.high for test in tests]))


@pytest.mark.long
@pytest.mark.parametrize("n", [6, 8, 16, 30])
def test_intervals_cover_zero_as_often_as_they_say(n: int) -> None:
    rng, batches = np.random.default_rng(n), 6 if n > 8 else 12
    assert covered(lambda: equal_methods(rng, n, 100), np.arange(n), batches) >= 0.93
    # rolling windows of one series: a block is three times the longest of them, here of four weeks and a day
    weeks = n * 3 * 29 // 7
    clusters = weekly_clusters(weeks, 4)
    assert len(set(clusters.tolist())) == n
    assert covered(lambda: rolling(rng, weeks, 4, 100), clusters, batches) >= 0.93
    if n == 16:  # each claim a cluster of its own, as `score --own` had it
        assert covered(lambda: rolling(rng, weeks, 4, 100), np.arange(weeks), 1) < 0.85


# --- clusters -----------------------------------------------------------------------------------------------------------------


def test_windows_that_overlap_do_not_chain_and_a_question_is_never_parted() -> None:
    start = [(date(2020, 1, 1) + timedelta(days=7 * k)).isoformat() for k in range(104)]
    end = [(date(2020, 1, 1) + timedelta(days=7 * k + 27)).isoformat() for k in range(104)]
    labels = clusters_of([f"q{k}" for k in range(104)], series=["s"] * 104, start=start, end=end)
    # 28 days a window, 84 a block, 721 days from the first start to the last
    assert len(set(labels.tolist())) == 721 // 84 + 1
    one = clusters_of(["q"] * 104, series=["s"] * 104, start=start, end=end)
    assert len(set(one.tolist())) == 1
    two = clusters_of([f"q{k}" for k in range(104)], series=["s", "t"] * 52, start=start, end=end)
    assert len(set(two.tolist())) == 18


def test_without_days_a_series_is_one_cluster_and_without_a_series_a_question() -> None:
    questions = ["a", "a", "b", "c"]
    assert len(set(clusters_of(questions).tolist())) == 3
    days = ["2020-01-01", "2020-02-01", "2024-01-01", "2026-01-01"]
    assert len(set(clusters_of(questions, start=days, end=days).tolist())) == 3
    series = ["s", "s", "s", ""]
    assert clusters_of(questions, series=series).tolist() == ["s 0", "s 0", "s 0", "c 0"]
    for bad in ("", "soon"):
        labels = clusters_of(questions, series=series, start=[*days[:2], bad, days[3]], end=days)
        assert len(set(labels.tolist())) == 2
    with pytest.raises(DomainError):
        clusters_of(questions, series=["s"])


def test_the_columns_of_a_file_tell_the_clusters() -> None:
    days = {"forecast_due_date": ["2025-10-26"] * 3, "resolution_date": ["2025-11-02"] * 3}
    own = {"question": ["a", "b", "c"], "source": "fred"}
    ids = Events.of([1, 0, 1], source_question_id=["DGS10", "DGS10", ""], **own, **days)
    assert series_clusters(ids).tolist() == ["fred/DGS10 0", "fred/DGS10 0", "c 0"]
    assert event_clusters(ids)[:, 1].tolist() == ["0", "0", "0"] and cluster_count(event_clusters(ids)) == 1
    assert event_clusters(Events.of([1, 0, 1], series="x", **own, **days)).tolist() == ["x 0"] * 3


def asked(days: list[str], series: int, *, column: str = "forecast_due_date", window: int = 20) -> Events:
    """Events on so many series, all asked on each of these days."""
    end = [(date.fromisoformat(day) + timedelta(days=window)).isoformat() for day in days]
    return Events.of(
        np.arange(len(days) * series) % 2,
        series=np.tile([f"s{k}" for k in range(series)], len(days)),
        resolution_date=np.repeat(end, series),
        **{column: np.repeat(days, series)},
    )


MONTHS = [f"20{year}-{month:02}-01" for year in (20, 21) for month in range(1, 13)]


@given(st.integers(1, 24), st.integers(2, 9), st.sampled_from(["forecast_due_date", "forecast_date"]))
def test_there_are_no_more_clusters_than_days_nor_than_series_and_stretches(
    days: int, series: int, column: str
) -> None:
    events = asked(MONTHS[:days], series, column=column)
    labels = event_clusters(events)
    assert day_count(events) == days
    assert cluster_count(labels) == min(days, len(set(series_clusters(events).tolist())))
    results = paired_comparisons(
        events, {"m": np.linspace(0.1, 0.9, len(events)), "half": np.full(len(events), 0.5)}, "half"
    )
    test = results["m"]["overall"]
    assert (test.days, test.clusters) == (days, cluster_count(labels))
    assert (test.verdict is None) == (days < MIN_CLUSTERS) == (test.interval is None)


def test_without_a_day_there_is_a_figure_and_no_verdict() -> None:
    outcome = np.tile([1.0, 0.0], 10)
    values = {"good": np.where(outcome == 1, 0.9, 0.1), "half": np.full(20, 0.5)}
    for columns, verdict in (
        ({}, None),
        ({"forecast_due_date": ""}, None),
        ({"forecast_due_date": "2025-10-26"}, None),
        ({"forecast_date": np.array(MONTHS[:20])}, "better"),
        ({"forecast_due_date": "", "forecast_date": np.array(MONTHS[:20])}, "better"),
    ):
        test = paired_comparisons(Events.of(outcome, **columns), values, "half")["good"]["overall"]
        assert (
            test.verdict == verdict
            and test.estimate == pytest.approx(40)
            and bool(test.reason) == (not verdict)
        )


def test_overlapping_windows_are_one_stretch_and_others_their_own() -> None:
    starts = [date(2024, 9, 1) + timedelta(days=9 * k) for k in range(8)]

    def blocks(window: int, **most: int) -> int:
        ends = [(day + timedelta(days=window)).isoformat() for day in starts]
        return len(set(time_blocks([day.isoformat() for day in starts], ends, **most).tolist()))

    assert blocks(60) == 1  # one autumn
    assert blocks(7) == 8  # each over before the next is asked
    assert blocks(7, at_least=10) == 8
    # Windows longer than a group tie neighbours together: no more than six groups.
    assert blocks(60, at_least=5) == 5 and blocks(60, at_least=10) == 6
    rolling = [date(2020, 1, 1) + timedelta(days=7 * k) for k in range(104)]
    ends = [(day + timedelta(days=27)).isoformat() for day in rolling]
    many = time_blocks([day.isoformat() for day in rolling], ends)
    assert len(set(many.tolist())) == 721 // 84 + 1


@given(st.integers(2, 8), st.integers(2, 8), st.integers(0, 99))
def test_luck_that_all_of_a_day_share_is_seen_whatever_the_series_say(
    series: int, days: int, seed: int
) -> None:
    """Where every residual of a day is alike, days carry all the variance; where those of a series are, the series do."""
    own = np.random.default_rng(seed).normal(size=max(series, days))
    labels = np.array([[f"s{k}", f"d{day}"] for day in range(days) for k in range(series)])
    by_day = np.repeat(own[:days] - own[:days].mean(), series)
    by_series = np.tile(own[:series] - own[:series].mean(), days)
    assert widest_way(labels, by_day)[0] == 1 and widest_way(labels, by_series)[0] == 0
    # Nested clusters add nothing: each event its own series.
    alone = labels.copy()
    alone[:, 0] = np.arange(len(labels))
    assert widest_way(alone, by_day) == (1, pytest.approx(1.0))


# --- verdicts -----------------------------------------------------------------------------------------------------------------


def test_a_verdict_is_withheld_where_too_few_or_the_mixed_model_disagrees() -> None:
    test = PairedVerdict(n=30, clusters=30, estimate=2.0, low=1.0, high=3.0, p=0.001)
    other = PairedVerdict(n=30, clusters=30, estimate=0.1, low=-1.0, high=1.0, p=0.8)

    def contrast(low: float, high: float) -> dict[str, IndexContrast]:
        return {"overall": IndexContrast(difference=(low + high) / 2, error=1.0, low=low, high=high)}

    results = {"m": {"overall": test}, "n": {"overall": other}}
    both = judge(results, {"m": contrast(0.5, 3.0), "n": contrast(-1, 1)})
    assert both["m"].verdict == "better" and both["m"].p_holm == 0.002
    assert both["n"].verdict == "no difference shown" and both["n"].reason == ""
    for disagreeing in ({"m": contrast(-0.1, 4.0)}, {"m": contrast(-3.0, -1.0)}, {}):
        held = judge(results, disagreeing)["m"]
        assert held.verdict == "no difference shown" and "mixed model" in held.reason
    few = judge({"m": {"overall": PairedVerdict(n=9, clusters=5, estimate=2.0, low=1, high=3, p=0.0625)}}, {})
    assert few["m"].verdict == "too few to tell" and few["m"].interval is None
    # six clusters can show one difference (p 1/32) and never two of two
    six = PairedVerdict(n=6, clusters=6, estimate=2.0, low=1.0, high=3.0, p=1 / 32)
    assert six.judged().verdict == "better"
    assert six.judged(comparisons=2).verdict == "too few to tell"
