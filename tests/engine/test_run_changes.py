"""What changed between two runs of a claim: the parts sum to the change, and what stayed brings nothing."""

from contextlib import closing
from itertools import permutations
from math import fsum
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.errors import UsageError
from workbench.packages.package import adopt_tree
from workbench.propositions import Belief, Polarity, Rule, Tree
from workbench.store import Store
from workbench.synthesis import LinearRule, settle
from workbench.synthesis.rules.noisy_or import NoisyOrRule
from workbench.synthesis.whatif.evaluation import evaluate
from workbench.views.run_changes import change_lines, run_changes
from workbench.views.run_view import RunView, view

CLAIM = "A treaty is signed by 2027-03-01"
P = st.floats(0, 1)


def tree_of(p: list[float], rule: Rule | None = None, *, names: str = "ABC") -> Tree:
    ids = [f"P{place}" for place in range(1, len(p) + 1)]
    tree = Tree.root_only(CLAIM).expand(
        "P0",
        {id_: f"Driver {name} holds by 2027-03-01" for id_, name in zip(ids, names, strict=True)},
        dict.fromkeys(ids, Polarity.POSITIVE),
        "",
    )
    for id_, value in zip(ids, p, strict=True):
        tree = tree.with_belief(id_, Belief(p=value, key_factor="", report=""))
    weights = LinearRule(0.05, dict.fromkeys(ids, 0.9 / len(ids)))
    return settle(tree.with_rule("P0", rule or weights, Belief(p=0.5, key_factor="", report="")))


def runs_of(home: Path, *trees: Tree) -> list[RunView]:
    with closing(Store(home)) as store:
        ids = [
            adopt_tree(store, tree, cutoff="2026-01-01", package=f"sha256:{number:064d}")
            for number, tree in enumerate(trees)
        ]
        return [view(store, run_id) for run_id in ids]


OR = NoisyOrRule(0.1, {"P1": 0.4, "P2": 0.7, "P3": 0.2}, {})


@settings(max_examples=15)
@given(
    old=st.lists(P, min_size=3, max_size=3),
    new=st.lists(P, min_size=3, max_size=3),
    rules=st.tuples(st.sampled_from([None, OR]), st.sampled_from([None, OR])),
)
def test_the_parts_sum_to_the_change(
    tmp_path_factory: pytest.TempPathFactory,
    old: list[float],
    new: list[float],
    rules: tuple[Rule | None, Rule | None],
) -> None:
    first, second = runs_of(
        tmp_path_factory.mktemp("diff") / "home", tree_of(old, rules[0]), tree_of(new, rules[1])
    )
    document = run_changes(first, second)
    parts = document["parts"]
    total = fsum([parts["edits"], parts["rule"], *(row["total"] for row in parts["leaves"].values())])
    assert total == pytest.approx(document["after"] - document["before"], abs=1e-9)
    for node, row in parts["leaves"].items():
        if row["before"] == row["after"]:
            assert row["total"] == 0, node
    if rules[0] is rules[1]:
        assert parts["rule"] == pytest.approx(0, abs=1e-12)


def test_a_part_is_the_average_over_all_orders(tmp_path: Path) -> None:
    old, new = tree_of([0.2, 0.5, 0.9]), tree_of([0.6, 0.4, 0.9], OR)
    document = run_changes(*runs_of(tmp_path / "home", old, new))
    expected = dict.fromkeys(("rule", "P1", "P2"), 0.0)
    for order in permutations(expected):
        changed: set[str] = set()

        def root(changed: set[str] = changed) -> float:
            p = {id_: (new if id_ in changed else old)[id_].p or 0.0 for id_ in ("P1", "P2", "P3")}
            value = evaluate(new if "rule" in changed else old, p).root
            assert value is not None
            return value

        for name in order:
            before = root()
            changed.add(name)
            expected[name] += (root() - before) / 6
    parts = document["parts"]
    found = {"rule": parts["rule"], **{id_: parts["leaves"][id_]["total"] for id_ in ("P1", "P2")}}
    assert found == pytest.approx(expected, abs=1e-12) and document["orders"] == "all"


def test_a_driver_of_one_run_alone_belongs_to_the_rules_and_many_parts_still_sum(tmp_path: Path) -> None:
    names = "ABCDEFGHIJKLMN"
    old = tree_of([0.5] * 14, names=names)
    new = tree_of([0.1 * (place % 9) for place in range(14)], names="Z" + names[1:])
    document = run_changes(*runs_of(tmp_path / "home", old, new))
    parts = document["parts"]
    assert document["orders"] == "two" and len(parts["leaves"]) == 13
    total = fsum([parts["rule"], *(row["total"] for row in parts["leaves"].values())])
    assert total == pytest.approx(document["after"] - document["before"], abs=1e-9)
    assert "run" in change_lines(document)[0] and len(change_lines(document)) > 10


def test_two_claims_and_a_run_without_an_answer_are_refused(tmp_path: Path) -> None:
    other = Tree.root_only("It rains by 2027-03-01").with_belief(
        "P0", Belief(p=0.4, key_factor="", report="")
    )
    first, second = runs_of(tmp_path / "home", tree_of([0.2, 0.5, 0.9]), other)
    with pytest.raises(UsageError, match="different claims"):
        run_changes(first, second)
