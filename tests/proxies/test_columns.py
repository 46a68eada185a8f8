"""Rows as columns: nothing lost, nothing rounded, and the kernel's frame equals the frame of the rows."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxies.fetch.columns import rows_of, to_columns

FILE = Path(__file__).resolve().parents[2] / "kernels" / "analyst" / "call_api.py"
spec = importlib.util.spec_from_file_location("call_api_of_columns", FILE)
assert spec is not None and spec.loader is not None
kernel = importlib.util.module_from_spec(spec)
spec.loader.exec_module(kernel)


def framed(data: Any) -> pd.DataFrame:
    made = to_columns(data)
    assert made is not None
    return kernel._frame(json.loads(made.told), b"".join(made.body))


def test_a_frame_of_columns_equals_the_frame_of_rows() -> None:
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


@pytest.mark.parametrize(
    "data", [[], {}, {"a": 1}, "text", None, [1, 2], {"rows": [], "b": [{"c": 1}]}, [{}, 1]]
)
def test_what_has_no_rows_has_no_columns(data: Any) -> None:
    assert rows_of(data) is None and to_columns(data) is None


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from("abc"),
            st.none() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3) | st.booleans(),
        ),
        min_size=1,
        max_size=8,
    )
)  # fmt: skip
@settings(max_examples=200, deadline=None)
def test_every_value_comes_back_as_it_was(rows: list[dict[str, Any]]) -> None:
    table = framed(rows)
    assert len(table) == len(rows) and set(table.columns) == {name for row in rows for name in row}
    for at, row in enumerate(rows):
        for name in table.columns:
            got, was = table[name].iloc[at], row.get(name)
            assert (pd.isna(got) and was is None) or got == was


NUMBERS = st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
COLUMN = st.sampled_from(
    [
        st.integers(-(2**63), 2**63 - 1),
        st.integers(2**53 - 2, 2**53 + 2) | st.floats(-10, 10),
        st.integers(2**63, 2**64 - 1),
        st.floats(allow_nan=False, allow_infinity=False),
        st.booleans(),
        st.text(max_size=3),
        st.sampled_from(["AAPL", "MSFT"]),
        st.lists(st.integers(), max_size=2),
        NUMBERS | st.text(max_size=2) | st.booleans(),
        st.nothing(),
    ]
)


@st.composite
def tables(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Rows as vendors give them: the same names in each, a kind per column, holes in some."""
    kinds = {
        name: draw(COLUMN) | (st.none() if draw(st.booleans()) else st.nothing()) for name in draw(NAMES)
    }
    kinds = {name: st.none() if kind.is_empty else kind for name, kind in kinds.items()}
    rows = draw(st.lists(st.fixed_dictionaries(kinds), min_size=1, max_size=12))
    if draw(st.booleans()):  # the order of names within a row says nothing
        rows[-1] = dict(reversed(rows[-1].items()))
    return rows


NAMES = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=5, unique=True)


@given(tables())
@settings(max_examples=300, deadline=None)
def test_the_frame_of_columns_is_the_frame_of_the_json_rows(rows: list[dict[str, Any]]) -> None:
    """The same columns in the same order, the same dtypes, the same values."""
    table, rows_route = framed(rows), pd.DataFrame(json.loads(json.dumps(rows)))
    pd.testing.assert_frame_equal(table, rows_route, check_exact=True)
