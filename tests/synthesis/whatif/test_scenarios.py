import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.propositions.strategies import probabilities
from tests.synthesis.exchange.test_export import mixed_trees
from tests.synthesis.strategies import linear_trees
from workbench.propositions import Belief, Override, Polarity, Tree, TreeFormatError
from workbench.synthesis import (
    LinearRule,
    SensitivityError,
    VanillaRule,
    evaluate,
    resynthesize,
    settle,
)
from workbench.synthesis.whatif.edits import (
    AddChild,
    Edit,
    Pin,
    RemoveNode,
    Restate,
    SetPolarity,
    SetReport,
    SetRule,
    SetValue,
    Unpin,
    full_plan,
    play,
)
from workbench.synthesis.whatif.scenarios import ScenarioRecord, ScenarioSet, compare, mix


def three_levels(rule: object = None) -> Tree:
    tree = Tree.root_only("r").expand("P0", {"P1": "a", "P2": "b"}).expand("P2", {"P2.1": "c", "P2.2": "d"})
    for leaf, p in {"P1": 0.9, "P2.1": 0.5, "P2.2": 0.7}.items():
        tree = tree.with_belief(leaf, Belief(p=p))
    tree = tree.with_rule("P2", rule or LinearRule(0.0, {"P2.1": 0.5, "P2.2": 0.5}), Belief(p=0.6))  # type: ignore[arg-type]
    return settle(tree.with_rule("P0", LinearRule(0.0, {"P1": 0.5, "P2": 0.4})))


@st.composite
def edits_of(draw: st.DrawFn, tree: Tree) -> Edit:
    node = draw(st.sampled_from(tree.ids()))
    said = {tree[other].statement for other in tree}
    new = st.integers(0, 10**9).map("new {}".format).filter(lambda text: text not in said)
    kind = draw(
        st.sampled_from(["set", "pin", "unpin", "add", "remove", "report", "restate", "rule", "polarity"])
    )
    if kind == "pin" and tree[node].p is not None:
        return Pin(node=node)
    if kind == "unpin":
        return Unpin(node=node)
    if kind == "add":
        return AddChild(node=node, statement=draw(new), p=draw(st.none() | probabilities))
    if kind == "remove" and node != "P0":
        return RemoveNode(node=node)
    if kind == "report" and tree[node].belief is not None:
        return SetReport(node=node, report="other words")
    if kind == "restate":
        return Restate(node=node, statement=draw(new), keep_belief=draw(st.booleans()))
    if kind == "polarity" and node != "P0":
        return SetPolarity(node=node, polarity=draw(st.sampled_from(Polarity)))
    if kind == "rule" and tree[node].children:
        weights = {child: draw(st.floats(-1, 1)) for child in tree[node].children}
        return SetRule(node=node, rule=LinearRule(0.0, weights).to_json())
    return SetValue(node=node, p=draw(probabilities))


@given(st.one_of(linear_trees(10), mixed_trees(8)), st.data())
@settings(max_examples=120)
def test_any_edits_equal_a_full_evaluation_and_undo_is_exact(tree: Tree, data: st.DataObject) -> None:
    before = tree.to_json()
    book = ScenarioSet.fold([(1, ScenarioRecord(action="open", scenario="s", author="a", at="t"))])
    trees = [tree]
    seq = 1
    for _ in range(data.draw(st.integers(1, 6))):
        edit = data.draw(edits_of(trees[-1]))
        record = ScenarioRecord(action="edit", scenario="s", author="a", at="t", base_seq=seq, edit=edit)
        seq += 1
        book = book.apply(record, seq)
        now = play(tree, book["s"].edits).tree
        assert now == play(trees[-1], [edit]).tree
        assert {node: now[node].p for node in now} == evaluate(now).values
        trees.append(now)
    for expected in reversed(trees[:-1]):
        seq += 1
        undo = ScenarioRecord(action="undo", scenario="s", author="a", at="t", base_seq=book["s"].seq)
        book = book.apply(undo, seq)
        assert play(tree, book["s"].edits).tree == expected
    for expected in trees[1:]:
        seq += 1
        redo = ScenarioRecord(action="redo", scenario="s", author="a", at="t", base_seq=book["s"].seq)
        book = book.apply(redo, seq)
        assert play(tree, book["s"].edits).tree == expected
    assert tree.to_json() == before


def test_a_vanilla_node_on_the_path_turns_stale_with_what_lies_above() -> None:
    tree = three_levels(VanillaRule())
    assert tree.root.p == pytest.approx(0.69)
    answer = resynthesize(tree, {"P2.1": 0.0})
    assert answer.after is None and answer.stale == ("P0", "P2")
    assert {c.id: c.after for c in answer.changed} == {"P0": None, "P2": None, "P2.1": 0.0}
    same = resynthesize(tree, {"P2.1": 0.5})
    assert same.after == tree.root.p and same.stale == ()
    beside = resynthesize(tree, {"P1": 0.0})
    assert beside.after == pytest.approx(0.24) and beside.stale == ()
    pinned = resynthesize(answer.tree, {"P2": 0.5})
    assert pinned.after == pytest.approx(0.65) and pinned.stale == ()


def test_a_removed_child_drops_out_and_an_added_one_waits_for_a_weight() -> None:
    tree = three_levels()
    gone = play(tree, [RemoveNode(node="P2.1")])
    assert gone.tree["P2"].p == pytest.approx(0.35) and gone.tree["P2"].refit_due and gone.stale == ()
    assert [c.id for c in gone.changed] == ["P0", "P2", "P2.1"] and gone.changed[-1].after is None
    added = play(tree, [AddChild(node="P2", statement="e", polarity=Polarity.NEGATIVE, p=0.5)])
    assert added.after == tree.root.p and [c.id for c in added.changed] == ["P2.3"]
    weighed = play(
        added.tree, [SetRule(node="P2", rule={"name": "linear", "intercept": 0.1, "weights": {"P2.3": -0.1}})]
    )
    assert weighed.tree["P2"].p == pytest.approx(0.05) and not weighed.tree["P2"].refit_due
    ungrounded = play(tree, [AddChild(node="P2", statement="e")])
    assert ungrounded.after is None and set(ungrounded.stale) == {"P0", "P2"}


def test_scenarios_side_by_side_and_their_mix() -> None:
    tree = three_levels()
    soft = play(tree, [SetValue(node="P2.1", p=1.0)]).tree
    hard = play(tree, [SetValue(node="P2.1", p=0.0), SetValue(node="P1", p=0.5)]).tree
    rows = compare(tree, {"soft": soft, "hard": hard})
    assert [row["id"] for row in rows] == ["P0", "P1", "P2", "P2.1"]
    assert rows[0]["scenarios"] == {"soft": pytest.approx(0.79), "hard": pytest.approx(0.39)}
    assert rows[1] == {
        "id": "P1",
        "statement": "a",
        "base": 0.9,
        "scenarios": {"soft": 0.9, "hard": 0.5},
    }
    mixture = mix(tree, {"soft": (0.3, soft), "hard": (0.2, hard)})
    assert mixture.weights == {"soft": 0.3, "hard": 0.2, "base": pytest.approx(0.5)}
    assert mixture.root == pytest.approx(0.3 * 0.79 + 0.2 * 0.39 + 0.5 * 0.69)
    assert [row["id"] for row in compare(tree, {"same": tree})] == ["P0"]
    stale = play(three_levels(VanillaRule()), [SetValue(node="P2.1", p=0.0)]).tree
    assert mix(tree, {"stale": (0.5, stale)}).root is None
    for bad in ({"a": (0.7, soft), "b": (0.7, hard)}, {"a": (-0.1, soft)}, {"base": (0.5, soft)}):
        with pytest.raises(SensitivityError):
            mix(tree, bad)


def test_an_override_stands_beside_the_models_value_until_it_expires() -> None:
    note = Override(
        author="Ann",
        reason="the survey is broken",
        at="2018-07-01T09:00:00+00:00",
        expires="2018-08-01T00:00:00+00:00",
    )
    edits = [SetValue(node="P2", p=0.1, override=note)]
    held = play(three_levels(), edits).tree
    assert (
        held["P2"].override == note
        and held["P2"].model_belief is not None
        and held["P2"].model_belief.p == 0.6
    )
    assert play(three_levels(), edits, "2018-07-31T23:59:59+00:00").tree == held
    over = play(three_levels(), edits, "2018-08-01T00:00:00+00:00")
    assert (
        over.after == pytest.approx(0.69) and over.tree["P2"].override is None and not over.tree["P2"].pinned
    )
    assert over.tree == three_levels()
    for bad in ("soon", "2018-08-01T00:00:00"):
        with pytest.raises(TreeFormatError):
            play(three_levels(), edits, bad)


def test_a_full_resynthesis_asks_exactly_the_ancestors() -> None:
    tree = three_levels()
    assert full_plan(tree, [SetValue(node="P2.1", p=0.0)]) == ("P2", "P0")
    assert full_plan(tree, [SetValue(node="P1", p=0.0)]) == ("P0",)
    pinned = play(tree, [SetValue(node="P2", p=0.3)])
    assert full_plan(pinned.tree, [SetValue(node="P2.1", p=0.0)]) == ()
    assert full_plan(pinned.tree, [SetValue(node="P2", p=0.3)]) == ("P0",)
    gone = [RemoveNode(node="P2.1")]
    assert full_plan(play(tree, gone).tree, gone) == ("P2", "P0")
    grown = [AddChild(node="P1", statement="e")]
    assert full_plan(play(tree, grown).tree, grown) == ("P1", "P0")


def test_a_report_changes_no_number_and_needs_a_value() -> None:
    tree = three_levels()
    answer = play(tree, [SetReport(node="P2.1", report="new text", key_factor="new factor")])
    assert answer.after == tree.root.p and answer.tree["P2.1"].belief == Belief(
        p=0.5, report="new text", key_factor="new factor"
    )
    with pytest.raises(TreeFormatError, match="no value"):
        play(Tree.root_only("r"), [SetReport(node="P0", report="x")])
    with pytest.raises(TreeFormatError, match="no drivers below it"):
        play(tree, [SetRule(node="P1", rule={"name": "vanilla"})])
