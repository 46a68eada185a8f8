import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.propositions import (
    ROOT,
    IdMismatch,
    child_id,
    depth_of,
    is_id,
    natural_order,
    parent_of,
    parse_id,
    to_global,
)
from workbench.propositions.ids import child_ids, is_under

ids = st.lists(st.integers(1, 30), max_size=6).map(
    lambda parts: "P" + ".".join(map(str, parts)) if parts else ROOT
)


@pytest.mark.parametrize(
    "text", ["", "P", "p1", "P01", "P1.0", "P1..2", "P1.", "P-1", "P1 ", "P1.02", "Q1", "P0.1", None, 3]
)
def test_what_is_no_id_is_refused(text: object) -> None:
    assert not is_id(text)
    with pytest.raises(IdMismatch, match="not a proposition id"):
        parse_id(text)  # type: ignore[arg-type]


@given(ids, st.integers(1, 99))
def test_a_child_lies_under_its_parent(parent: str, number: int) -> None:
    child = child_id(parent, number)
    assert parent_of(child) == parent
    assert depth_of(child) == depth_of(parent) + 1
    assert is_under(child, parent) and not is_under(parent, child)


@given(st.lists(ids, max_size=12))
def test_order_is_natural_and_depth_first(some: list[str]) -> None:
    ordered = natural_order(some)
    assert [parse_id(x) for x in ordered] == sorted(map(parse_id, some))


def test_p10_is_not_under_p1_and_comes_after_p2() -> None:
    assert not is_under("P10", "P1")
    assert not is_under("P1.10", "P1.1")
    assert natural_order(["P10", "P1.1", "P2", "P1", "P0"]) == ["P0", "P1", "P1.1", "P2", "P10"]
    assert child_ids(ROOT, 2) == ["P1", "P2"]


@given(ids, ids)
def test_a_local_id_keeps_its_depth_under_the_grafted_root(local: str, root: str) -> None:
    whole = to_global(local, root)
    assert whole.removeprefix(root + ".") == local[1:] or ROOT in (local, root)
    assert whole == root or is_under(whole, root)
    assert depth_of(whole) == depth_of(local) + depth_of(root)


def test_worked_mapping_of_a_recursive_analysis() -> None:
    assert to_global("P1", "P1.2") == "P1.2.1"
    with pytest.raises(IdMismatch):
        child_id("P0", 0)
