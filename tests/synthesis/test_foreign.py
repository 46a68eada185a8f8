"""Whatever a file or a model brings: a value, or one clear line."""

import copy
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.errors import UsageError
from workbench.synthesis import rule_from_json, tree_from_json
from workbench.synthesis.exchange.tree_formats import import_tree
from workbench.synthesis.whatif.edits import edit_from_json
from workbench.synthesis.whatif.scenarios import ScenarioRecord

anything: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=True)
    | st.sampled_from(["", "P0", "P1", "P1.1", "Positive", "linear", "logic", "vanilla", "2018-01-01"])
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "p", "name", "P1", "weights", "kind"]), inner, max_size=3)
    ),
    max_leaves=5,
)

TREE = {
    "nodes": [
        {
            "id": "P0",
            "parent": None,
            "statement": "root",
            "children": ["P1", "P2"],
            "causality": "note",
            "polarities": {"P1": "Positive"},
            "belief": {"p": 0.5, "key_factor": "", "report": "", "source": "analyst"},
            "model_belief": {"p": 0.4},
            "override": {"author": "a", "reason": "b", "at": "c", "expires": None},
            "rule": {"name": "linear", "intercept": 0.0, "weights": {"P1": 0.5, "P2": 0.1}},
            "pinned": True,
        },
        {"id": "P1", "parent": "P0", "statement": "one", "belief": {"p": 0.5}},
        {
            "id": "P2",
            "parent": "P0",
            "statement": "two",
            "children": ["P2.1"],
            "rule": {"name": "logic", "formula": "P2.1"},
        },
        {"id": "P2.1", "statement": "three"},
    ]
}
RULES = [
    {"name": "linear", "intercept": 0.0, "weights": {"P1": 0.5}, "semantics": "free"},
    {
        "name": "logic",
        "formula": "P1 AND PA",
        "assumption": {"detail": "d", "probability": 0.5},
        "norm": "minmax",
        "naive": True,
    },
    {"name": "noisy-or", "leak": 0.1, "weights": {"P1": 0.5}, "inhibitors": {"P2": 0.1}},
    {"name": "average", "children": ["P1", "P2"], "negated": ["P1"]},
    {"name": "random", "weights": {"P1": 0.5}, "seed": 3, "intercept": 0.5},
    {"name": "vanilla"},
]
EDITS = [
    {"kind": "set", "node": "P1", "p": 0.5, "override": {"author": "a", "reason": "b", "at": "c"}},
    {"kind": "add", "node": "P1", "statement": "s", "polarity": "Negative", "child": "P1.1", "p": 0.5},
    {"kind": "restate", "node": "P1", "statement": "s", "keep_belief": True},
    {"kind": "report", "node": "P1", "report": "r", "key_factor": "k"},
    {"kind": "rule", "node": "P1", "rule": {"name": "vanilla"}},
]
RECORD = {
    "action": "edit",
    "scenario": "s",
    "author": "a",
    "at": "t",
    "base_seq": 1,
    "edit": EDITS[0],
    "rationale": "",
    "probability": None,
}


def places(data: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [at, *(place for key, value in inner for place in places(value, (*at, key)))]


@st.composite
def spoiled(draw: st.DrawFn, good: Any) -> Any:
    data = copy.deepcopy(good)
    at = draw(st.sampled_from(places(data)))
    if not at:
        return draw(anything)
    holder = data
    for key in at[:-1]:
        holder = holder[key]
    if draw(st.booleans()):
        holder[at[-1]] = draw(anything)
    else:
        del holder[at[-1]]
    return data


def read(reader: Any, data: Any) -> None:
    try:
        reader(data)
    except UsageError as error:
        assert str(error) and "\n" not in str(error)


@given(spoiled(TREE))
@settings(max_examples=120)
def test_trees(data: Any) -> None:
    read(tree_from_json, data)
    read(import_tree, json.dumps(data))


@given(st.sampled_from(RULES).flatmap(spoiled))
@settings(max_examples=120)
def test_rules(data: Any) -> None:
    read(rule_from_json, data)


@given(st.sampled_from(EDITS).flatmap(spoiled))
@settings(max_examples=120)
def test_edits(data: Any) -> None:
    read(edit_from_json, data)


@given(spoiled(RECORD))
@settings(max_examples=100)
def test_records(data: Any) -> None:
    read(ScenarioRecord.from_json, data)


@given(st.text(max_size=40))
def test_any_text_is_a_tree_or_refused(text: str) -> None:
    read(import_tree, text)
    read(lambda x: import_tree(x, "csv"), "id,statement,p,rule\n" + text)


def test_the_good_ones_are_good() -> None:
    tree_from_json(TREE)
    for rule in RULES:
        rule_from_json(rule)
    for edit in EDITS:
        edit_from_json(edit)
    ScenarioRecord.from_json(RECORD)
