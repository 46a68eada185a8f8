"""`CALL_API.frame`: the frame of the rows, with dates and text numbers parsed and nothing else changed."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

FILE = Path(__file__).resolve().parents[2] / "kernels" / "analyst" / "call_api.py"
spec = importlib.util.spec_from_file_location("call_api_of_frames", FILE)
assert spec is not None and spec.loader is not None
kernel = importlib.util.module_from_spec(spec)
spec.loader.exec_module(kernel)


class Answered(kernel.CallApi):  # type: ignore[misc,name-defined]
    """The kernel's own class with an answer in place of the socket."""

    def __init__(self, data: Any) -> None:
        super().__init__(None)
        self._data = json.loads(json.dumps(data))

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        return {"data": self._data, "meta": {}}


def framed(data: Any) -> pd.DataFrame:
    table = Answered(data).frame("x")
    assert isinstance(table, pd.DataFrame)
    return table


def test_a_frame_equals_the_frame_of_its_rows() -> None:
    rows = [
        {"name": "a", "n": 1, "x": 1.5, "gap": None, "maybe": "t", "yes": True, "many": [1, 2]},
        {"name": "b", "n": 2**60, "x": 2, "gap": 3, "maybe": None, "yes": False, "many": []},
        {"name": "a", "n": -3, "x": 0.1, "gap": 4.25, "maybe": "t", "yes": True, "many": [3]},
    ]
    pd.testing.assert_frame_equal(framed(rows), pd.DataFrame(rows))


def test_dates_and_values_are_parsed_and_odd_ones_left() -> None:
    rows = [{"date": "2018-06-29", "filing_date": "soon", "value": "1.5"}] * 3
    table = framed({"count": 3, "observations": rows})
    assert table["date"].dt.year.tolist() == [2018] * 3
    assert table["filing_date"].tolist() == ["soon"] * 3 and table["value"].tolist() == [1.5] * 3
    missing = framed([{"date": "2018-06-29", "value": "."}, {"date": None, "value": "2"}])
    assert missing["date"].isna().tolist() == [False, True] and missing["value"].isna().tolist() == [
        True,
        False,
    ]
    assert framed([{"date": 20180629, "value": 1}])["date"].tolist() == [20180629]


@pytest.mark.parametrize(
    ("data", "shape"),
    [([], (0, 0)), ({"a": 1}, (1, 1)), ({"rows": [], "b": [{"c": 1}]}, (0, 0)), ({"n": 1, "b": [{"c": 1}] * 3}, (3, 1))],
)  # fmt: skip
def test_the_rows_are_the_list_or_the_list_in_an_object(data: Any, shape: tuple[int, int]) -> None:
    assert framed(data).shape == shape


VALUES = st.none() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(max_size=3) | st.booleans()  # fmt: skip


@given(st.lists(st.dictionaries(st.sampled_from("abc"), VALUES), min_size=1, max_size=8))
@settings(max_examples=100, deadline=None)
def test_columns_that_hold_no_dates_come_as_they_are(rows: list[dict[str, Any]]) -> None:
    pd.testing.assert_frame_equal(framed(rows), pd.DataFrame(json.loads(json.dumps(rows))), check_exact=True)


def test_nested_answers_have_a_column_for_each_of_their_figures() -> None:
    bars = {
        "timestamp": [1704897000, 1704983400],
        "indicators": {"quote": [{"close": [1.0, 2.0]}], "adjclose": [{"adjclose": [0.9, 1.9]}]},
    }
    chart = framed(
        {"chart": {"result": [{"meta": {"exchangeTimezoneName": "America/New_York"}, **bars}], "error": None}}
    )
    assert chart["close"].tolist() == [1.0, 2.0] and chart["adjclose"].tolist() == [0.9, 1.9]
    assert str(chart["timestamp"].iloc[0]) == "2024-01-10 09:30:00-05:00"
    lines = {
        "timeseries": {
            "result": [
                {
                    "meta": {},
                    "timestamp": [1],
                    "q": [{"line": "q", "asOfDate": "2020-03-31", "reportedValue": {"raw": 5.0}}],
                }
            ]
        }
    }
    assert framed(lines).to_dict("list") == {
        "line": ["q"],
        "asOfDate": [pd.Timestamp("2020-03-31")],
        "reportedValue.raw": [5.0],
    }
    docs = {
        "series": {
            "docs": [{"series_code": "S", "period": ["2019", "2020"], "value": [1.0, "NA"]}],
            "num_found": 1,
        }
    }
    assert framed(docs)[["series_code", "period", "value"]].values.tolist() == [
        ["S", "2019", 1.0],
        ["S", "2020", "NA"],
    ]
    trend = {
        "interest_over_time": {
            "timeline_data": [
                {
                    "timestamp": "1",
                    "values": [
                        {"query": "a", "value": "<1", "extracted_value": 0},
                        {"query": "b", "value": "7", "extracted_value": 7},
                    ],
                }
            ]
        }
    }
    assert framed(trend)["extracted_value"].tolist() == [0, 7] and framed(trend)["query"].tolist() == [
        "a",
        "b",
    ]
    candles = framed(
        {"ticker": "T", "candlesticks": [{"end_period_ts": 1, "price": {"open": 1, "close": 2}, "volume": 3}]}
    )
    assert candles["price.close"].tolist() == [2] and candles["volume"].tolist() == [3]
    metrics = {
        "company": {"ticker": "A"},
        "metrics": [{"name": "m", "values": [{"x": "2022-03-26", "y": 1.0}, {"x": "2022-06-25", "y": 2.0}]}],
    }
    assert framed(metrics)[["name", "y"]].values.tolist() == [["m", 1.0], ["m", 2.0]]
