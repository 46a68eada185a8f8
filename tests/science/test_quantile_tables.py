"""Forecasts of numbers, by quantiles or draws: read strictly, scored by CRPS as another library does, apart from probabilities."""

from pathlib import Path

import numpy as np
import pytest
import scoringrules
from hypothesis import given
from hypothesis import strategies as st

from workbench.science.documents import quantile_document
from workbench.science.errors import DomainError, TableError
from workbench.science.quantile_tables import NumericTargets, QuantileForecasts, read_quantiles, read_targets
from workbench.science.scoring.crps import (
    crps_of_draws,
    crps_of_quantiles,
    interval_coverage,
    pit_of_draws,
)
from workbench.science.tables import read_events, read_forecasts

VALUES = "event_id,value,low,high,open_high,unit\nq,3.5,0,10,,m\nr,,0,10,,m\ns,12,0,10,open,m\n"
SHARES = (0.1, 0.5, 0.9)


def quantile_file(tmp_path: Path, *rows: str) -> Path:
    path = tmp_path / "quantiles.csv"
    path.write_text("\n".join(["method,event_id,share,value", *rows, ""]))
    return path


@pytest.fixture
def targets(tmp_path: Path) -> NumericTargets:
    path = tmp_path / "values.csv"
    path.write_text(VALUES)
    return read_targets(path)


def read(tmp_path: Path, targets: NumericTargets, *rows: str) -> QuantileForecasts:
    return read_quantiles(quantile_file(tmp_path, *rows), targets)


def forecast(method: str, target: str, *values: float) -> list[str]:
    return [f"{method},{target},{share},{value}" for share, value in zip(SHARES, values, strict=True)]


def test_crps_is_that_of_scoringrules_and_counts_an_open_end_as_its_edge(
    tmp_path: Path, targets: NumericTargets
) -> None:
    rows = [*forecast("a", "q", 2, 3, 5), *forecast("b", "q", 1, 4, 9), *forecast("a", "s", 4, 9, 30)]
    document = quantile_document(targets, read(tmp_path, targets, *rows))
    theirs = [
        float(scoringrules.crps_quantile(np.array(y), np.array(q, dtype=float), np.array(SHARES)))
        for y, q in ((3.5, (2, 3, 5)), (10.0, (4, 9, 10)))  # 12 and 30 count as the open end
    ]
    a, b = document["methods"]["a"], document["methods"]["b"]
    assert [row["crps"] for row in a["values"]] == pytest.approx(theirs)
    assert a["crps"]["m"]["mean"] == pytest.approx(np.mean(theirs))
    assert a["crps_percent"]["mean"] == pytest.approx(10 * np.mean(theirs))
    assert (a["n"], a["missing"], b["n"], b["missing"]) == (2, 0, 1, 1)
    assert document["numbers"] == 2 and document["not_come"] == 1
    assert set(a["coverage"]) == {"0.5", "0.8"}  # shares from 0.1 to 0.9 say nothing of a 90 % band
    assert sum(a["pit"]) == 2


def test_units_are_never_averaged(tmp_path: Path) -> None:
    path = tmp_path / "values.csv"
    path.write_text("event_id,value,unit\nq,3.5,m\nr,1000,USD\n")
    targets = read_targets(path)
    rows = [*forecast("a", "q", 2, 3, 5), *forecast("a", "r", 900, 990, 1100)]
    entry = quantile_document(targets, read(tmp_path, targets, *rows))["methods"]["a"]
    assert set(entry["crps"]) == {"m", "USD"} and entry["crps_percent"] is None


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        (forecast("a", "q", 3, 2, 5), "row 2, column 'value': the forecast of 'q' by 'a' crosses: 2 at 0.5"),
        (forecast("a", "q", 2, 3, 50), "50 lies beyond 10, a closed end"),
        (forecast("a", "q", -2, 3, 5), "-2 lies beyond 0, a closed end"),
        ([*forecast("a", "q", 2, 3, 5), *forecast("a", "r", 2, 3, 5)[:2]], "no quantile at 0.9, which others have"),
        (forecast("a", "x", 2, 3, 5), "'x' is no number that"),
        (["a,q,0.1,1", "a,q,0.9,2"], "2 quantiles are no distribution"),
        (["a,q,0,1", "a,q,0.5,2", "a,q,0.9,3"], "0 does not lie between 0 and 1"),
        ([*forecast("a", "q", 2, 3, 5), "a,q,0.5,3"], "appears twice"),
        (["a,q,0.1,", "a,q,0.5,2", "a,q,0.9,3"], "a number is needed"),
        (["a,q,0.1,inf", "a,q,0.5,inf", "a,q,0.9,inf"], "'inf' is not a number"),
    ],
)  # fmt: skip
def test_a_bad_forecast_is_one_line(
    tmp_path: Path, targets: NumericTargets, rows: list[str], line: str
) -> None:
    with pytest.raises(TableError) as caught:
        read(tmp_path, targets, *rows)
    assert line in str(caught.value) and "\n" not in str(caught.value)


def test_order_of_rows_changes_nothing(tmp_path: Path, targets: NumericTargets) -> None:
    rows = [*forecast("b", "s", 1, 2, 3), *forecast("a", "q", 2, 3, 5), *forecast("b", "q", 1, 4, 9)]
    first, other = (read(tmp_path, targets, *each) for each in (rows, rows[::-1]))
    assert list(first.methods) == ["b", "a"]
    for name, forecasts in first.methods.items():
        assert {row: list(q) for row, q in forecasts.items()} == {
            row: list(q) for row, q in other.methods[name].items()
        }


def test_a_value_beyond_a_closed_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "values.csv"
    path.write_text("event_id,value,low,high,open_high\nq,12,0,10,\n")
    with pytest.raises(TableError, match="12 lies beyond 10"):
        read_targets(path)


def test_neither_kind_of_file_is_read_as_the_other(tmp_path: Path, targets: NumericTargets) -> None:
    events = tmp_path / "events.csv"
    events.write_text("event_id,question_key,source,question_type,outcome\nq,q,own,dataset,1\n")
    with pytest.raises(TableError, match="column 'p'"):
        read_forecasts(quantile_file(tmp_path, *forecast("a", "q", 2, 3, 5)), read_events(events))
    probabilities = tmp_path / "p.csv"
    probabilities.write_text("method,event_id,trial,p\na,q,1,0.5\n")
    with pytest.raises(TableError, match="column 'share'"):
        read_quantiles(probabilities, targets)
    with pytest.raises(TableError, match="column 'value'"):
        read_targets(events)


NUMBERS = st.integers(-400, 400).map(lambda k: k / 8)
DRAWS = st.lists(NUMBERS, min_size=1, max_size=30)


@given(DRAWS, NUMBERS)
def test_the_crps_of_draws_is_that_of_scoringrules(draws: list[float], y: float) -> None:
    theirs = scoringrules.crps_ensemble(np.array(y), np.array(draws), estimator="nrg")
    assert crps_of_draws(draws, y) == pytest.approx(float(theirs), abs=1e-9)


@given(st.lists(st.tuples(NUMBERS, st.integers(1, 5)), min_size=1, max_size=12), NUMBERS)
def test_a_weight_is_as_good_as_a_repetition(pairs: list[tuple[float, int]], y: float) -> None:
    values, weights = zip(*pairs, strict=True)
    repeated = [value for value, count in pairs for _ in range(count)]
    assert crps_of_draws(values, y, weights) == pytest.approx(crps_of_draws(repeated, y), abs=1e-9)
    assert pit_of_draws(values, y, weights) == pytest.approx(pit_of_draws(repeated, y), abs=1e-9)


@given(st.lists(NUMBERS, min_size=1, max_size=19), NUMBERS)
def test_the_crps_of_quantiles_is_that_of_scoringrules(values: list[float], y: float) -> None:
    quantiles = np.sort(values)
    levels = np.arange(1, len(values) + 1) / (len(values) + 1)
    theirs = scoringrules.crps_quantile(np.array(y), quantiles, levels)
    assert crps_of_quantiles(levels, quantiles, y) == pytest.approx(float(theirs), abs=1e-9)


def test_many_quantiles_score_as_the_draws_they_are_of() -> None:
    draws = np.random.default_rng(5).standard_normal(4000)
    levels = np.arange(1, 200) / 200
    quantiles = np.quantile(draws, levels)
    for y in (-2.0, 0.1, 3.0):
        assert crps_of_quantiles(levels, quantiles, y) == pytest.approx(crps_of_draws(draws, y), rel=0.03)


@pytest.mark.parametrize(
    ("draws", "weights"),
    [([], None), ([1.0], [1.0, 2.0]), ([1.0], [-1.0]), ([1.0], [0.0]), ([float("nan")], None)],
)
def test_what_is_no_distribution_is_refused(draws: list[float], weights: list[float] | None) -> None:
    with pytest.raises(DomainError):
        crps_of_draws(draws, 1.0, weights)


def test_levels_and_outcomes_out_of_range_are_refused() -> None:
    for levels in ([0.0], [1.0], [0.5, 0.6]):
        with pytest.raises(DomainError):
            crps_of_quantiles(levels, [1.0], 1.0)
    with pytest.raises(DomainError):
        pit_of_draws([1.0], float("inf"))
    with pytest.raises(DomainError):
        interval_coverage([], 0.9)
