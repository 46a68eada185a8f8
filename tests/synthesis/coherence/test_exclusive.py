import pytest

from workbench.synthesis.coherence.exclusive import check_ranges, find_exclusive, forecast_findings, read_band

CUT = {
    "low": "The S&P 500 closes below 2,600 on 2018-12-31",
    "middle": "The S&P 500 closes between 2600 and 2800 on 2018-12-31.",
    "high": "The S&P 500 closes at or above 2,800 on 2018-12-31",
}


def test_a_question_cut_in_three_is_one_cover() -> None:
    assert find_exclusive(CUT) == [(("low", "middle", "high"), True)]
    assert check_ranges({"low": 0.2, "middle": 0.3, "high": 0.505}, CUT) == []
    (finding,) = check_ranges({"low": 0.2, "middle": 0.3, "high": 0.6}, CUT)
    assert finding.kind == "exclusive" and finding.gap == pytest.approx(0.1)
    (short,) = check_ranges({"low": 0.2, "middle": 0.1, "high": 0.6}, CUT)
    assert short.gap == pytest.approx(-0.1)


def test_other_dates_quantities_and_overlaps_are_no_group() -> None:
    assert find_exclusive({"a": CUT["low"], "b": CUT["high"].replace("12-31", "09-28")}) == []
    assert find_exclusive({"a": CUT["low"], "b": CUT["high"].replace("S&P 500", "NASDAQ")}) == []
    assert find_exclusive({"a": "It closes above 20", "b": "It closes above 25"}) == []
    both_hold = {"a": "It closes at or above 20", "b": "It closes at or below 20"}
    assert find_exclusive(both_hold) == []


def test_nested_thresholds_share_the_cover_with_their_own_rest() -> None:
    texts = {
        "over20": "It closes above 20 today",
        "over25": "It closes above 25 today",
        "upto20": "It closes at or below 20 today",
        "upto25": "It closes at or below 25 today",
    }
    found = dict(find_exclusive(texts))
    assert found[("upto20", "over20")] and found[("upto25", "over25")]


@pytest.mark.parametrize(
    "text",
    [
        "It does not close above 20 today",
        "It closes above 20 at least once through 2018-12-31",
        "It closes above 20 by 2018-12-31",
        "It stays below 20 in May",
        "It closes above 20 and below 30 today",
        "It closes between 30 and 20 today",
        "It closes higher than it did",
    ],
)
def test_what_can_be_passed_on_the_way_or_is_negated_is_left_alone(text: str) -> None:
    assert read_band("a", text) is None


def test_a_finding_is_told_once() -> None:
    texts = {"a": "The VIX closes above 20 on 2018-12-31", "b": "The VIX closes below 20 on 2018-12-31"}
    (finding,) = forecast_findings({"a": 0.7, "b": 0.7}, texts)
    assert set(finding.ids) == {"a", "b"}
    (stated,) = forecast_findings({"x": 0.7, "y": 0.7}, {"x": "Ann wins", "y": "Bob wins"}, [["x", "y"]])
    assert stated.kind == "exclusive" and stated.gap == pytest.approx(0.4)


def test_ranges_open_at_either_end_may_sum_to_less_than_one() -> None:
    below, middle, above = "Gold closes below 10", "Gold closes between 10 and 20", "Gold closes above 20"
    for pair in ((below, middle), (middle, above)):
        texts = dict(zip("ab", pair, strict=True))
        assert find_exclusive(texts) == [(("a", "b"), False)]
        assert check_ranges({"a": 0.2, "b": 0.3}, texts) == []
        assert [finding.gap for finding in check_ranges({"a": 0.6, "b": 0.5}, texts)] == [pytest.approx(0.1)]
