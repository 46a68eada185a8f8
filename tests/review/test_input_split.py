"""The split of a computed change: it sums to the change, and what did not happen brought nothing."""

import hashlib
import random
from datetime import date, timedelta
from math import fsum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.agents.evidence.answer_content import answer_content, row_changes
from workbench.views.input_split import input_split

START = date(2018, 1, 1)
VALUES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=6)


def rows_of(values: list[float]) -> dict[str, Any]:
    return {
        "X": [
            {"date": (START + timedelta(days=day)).isoformat(), "value": value}
            for day, value in enumerate(values)
        ]
    }


def any_chance(known: Any) -> float:
    """A forecaster like no other: what it says of an input tells nothing of what it says of the next."""
    # 0 and -0 are one value, and written alike
    words = repr([(row["date"], row["value"] + 0.0) for row in known["X"]]).encode()
    return int.from_bytes(hashlib.sha256(words).digest()[:6], "big") / 2**48


@given(before=VALUES, revised=VALUES, new=st.lists(st.floats(-1e6, 1e6), max_size=4))
def test_the_parts_sum_to_the_change(before: list[float], revised: list[float], new: list[float]) -> None:
    later = [*revised[: len(before)], *before[len(revised) :], *new]
    split = input_split(rows_of(before), rows_of(later), any_chance)
    change = any_chance(rows_of(later)) - any_chance(rows_of(before))
    assert fsum(split.values()) == pytest.approx(change, abs=1e-9)
    if later[: len(before)] == before:
        assert split["revisions"] == pytest.approx(0, abs=1e-12)
    if not new:
        assert split["rows"] == pytest.approx(0, abs=1e-12)
        assert split["time"] == pytest.approx(0, abs=1e-12)


def test_standing_still_is_the_shorter_horizon() -> None:
    """Worked by hand for the chance 'last value / 100 + rows / 10': the new day brings 0.1, its value 0.05, the revision 0.02."""

    def chance(known: Any) -> float:
        rows = known["X"]
        return float(rows[-1]["value"]) / 100 + len(rows) / 10

    split = input_split(rows_of([10.0, 20.0]), rows_of([10.0, 22.0, 27.0]), chance)
    # rows: TRV 27-20, TVR and VTR 27-22, in hundredths; revisions: TRV 0, TVR and VTR 2
    assert split == pytest.approx(
        {"rows": (0.07 + 2 * 0.05) / 3, "revisions": (0 + 2 * 0.02) / 3, "time": 0.1}
    )


@given(values=VALUES, seed=st.integers(0, 10))
def test_order_and_spelling_change_nothing(values: list[float], seed: int) -> None:
    rows = rows_of(values)["X"]
    shuffled = [{"value": f"{row['value']!r}", "date": row["date"]} for row in rows]
    random.Random(seed).shuffle(shuffled)
    assert answer_content({"rows": rows}) == answer_content({"rows": shuffled})
    changes = row_changes(rows, shuffled)
    assert changes is not None and changes[:3] == (0, 0, 0)


def test_columns_keep_their_order() -> None:
    assert answer_content({"t": [1, 2], "v": [3, 4]}) != answer_content({"t": [1, 2], "v": [4, 3]})
    assert answer_content("1_000") != answer_content(1000)
    assert answer_content(["nan"]) == answer_content(["nan"])


def test_rows_are_counted_by_day() -> None:
    before, after = rows_of([1, 2, 3])["X"], rows_of([1, 5, 3, 4])["X"]
    assert row_changes(before, after) == (1, 1, 0, "2018-01-04")
    assert row_changes({"a": 1}, after) is None
