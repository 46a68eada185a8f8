"""Stored JSON: whatever it may not hold is one clear line."""

from typing import Any

import pytest

from workbench.errors import UsageError
from workbench.propositions import Tree, TreeFormatError
from workbench.synthesis import rule_from_json, tree_from_json
from workbench.synthesis.whatif.edits import SetRule, edit_from_json, play
from workbench.synthesis.whatif.scenarios import ScenarioRecord


@pytest.mark.parametrize(
    ("reader", "data", "says"),
    [
        (
            edit_from_json,
            {"kind": "add", "node": "P1", "statement": "s", "p": float("nan")},
            "p of the add edit must be",
        ),
        (
            edit_from_json,
            {"kind": "set", "node": "P1", "p": "0.5"},
            "p of the set edit must be a valid number, not '0.5'",
        ),
        (edit_from_json, {"kind": "set", "node": "P1"}, "the set edit lacks p"),
        (edit_from_json, {"kind": "set", "node": "p1", "p": 0.5}, "is not a proposition id"),
        (edit_from_json, {"kind": "pin", "node": "P1", "a\nb" * 999: 1}, "unknown keys: a ba ba b"),
        (
            edit_from_json,
            {"kind": "set", "node": "P1", "p": 0.5, "override": {"author": "a", "reason": "b"}},
            "override of the set edit lacks at",
        ),
        (edit_from_json, {"kind": "report", "node": "P1", "report": b"bytes \xff"}, "is not plain JSON"),
        (
            ScenarioRecord.from_json,
            {"action": "edit", "scenario": "s", "author": "a", "at": "t", "edit": {"kind": "fly"}},
            "edit of a scenario record: an edit is an object with a kind",
        ),
        (
            rule_from_json,
            {"name": "linear", "intercept": 0, "weights": {"P01": 0.5}},
            "'P01' is not a proposition id",
        ),
        (
            tree_from_json,
            {"nodes": [{"id": "P0", "statement": "s", "belief": {"p": 2}}]},
            "belief of node P0: p must lie",
        ),
        (
            tree_from_json,
            {"nodes": [{"id": "P0", "statement": "s", "rule": {"name": "x"}}]},
            "rule of node P0: no rule",
        ),
        (tree_from_json, {"nodes": {}}, 'a tree is {"nodes": [...]}'),
        (tree_from_json, {"nodes": [{"id": "P0", "statement": "\ud800"}]}, "node P0"),
    ],
)
def test_a_fault_is_one_line_with_its_place(reader: Any, data: Any, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        reader(data)
    assert says in str(caught.value) and "\n" not in str(caught.value) and len(str(caught.value)) < 400


def test_a_tree_with_rules_needs_their_reader() -> None:
    with pytest.raises(TreeFormatError, match=r"workbench\.synthesis\.tree_from_json"):
        Tree.from_json({"nodes": [{"id": "P0", "statement": "s", "rule": {"name": "vanilla"}}]})


def test_deep_and_circular_values_are_refused_not_crashed_on() -> None:
    deep: Any = {}
    for _ in range(100_000):
        deep = {"x": deep}
    circular: dict[str, Any] = {}
    circular["x"] = circular
    for bad in (deep, circular):
        with pytest.raises(UsageError):
            edit_from_json({"kind": "rule", "node": "P1", "rule": bad})
        with pytest.raises(UsageError):
            rule_from_json({"name": "linear", "intercept": 0, "weights": bad})


def test_a_rule_that_names_what_is_not_below_its_node_is_refused_in_trees_and_edits() -> None:
    rows = [
        {"id": "P0", "statement": "a", "rule": {"name": "logic", "formula": "P1 AND P9"}},
        {"id": "P1", "statement": "b", "belief": {"p": 0.5}},
    ]
    with pytest.raises(TreeFormatError, match="the rule of P0 names P9, which it has not below it"):
        tree_from_json({"nodes": rows})
    rows[0]["rule"] = {"name": "logic", "formula": "P1"}
    tree = tree_from_json({"nodes": rows})
    stray = SetRule(node="P0", rule={"name": "linear", "intercept": 0.0, "weights": {"P1": 0.5, "P7": 0.5}})
    with pytest.raises(TreeFormatError, match="names P7"):
        play(tree, [stray])
