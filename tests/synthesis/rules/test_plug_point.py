"""A stranger's rule, unpacked on sys.path with an entry point as pip would install it, is as good as a built-in one."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.synthesis.exchange.test_export import problog_root
from workbench.errors import UsageError
from workbench.propositions import Belief, Polarity, Tree
from workbench.synthesis import (
    LinearRule,
    NotRepresentable,
    RuleFormatError,
    UninstalledRule,
    UnknownChild,
    UnknownRule,
    checked_value,
    play,
    resynthesize,
    rule_from_json,
    rule_names,
    settle,
    tree_from_json,
)
from workbench.synthesis.coherence.findings import check_tree
from workbench.synthesis.exchange.bayes_net import bayes_net
from workbench.synthesis.exchange.tree_formats import export_tree, import_tree
from workbench.synthesis.rules import rule_registry as registry
from workbench.synthesis.sensitivity.paths import tornado
from workbench.synthesis.sensitivity.rule_refits import refit_spread
from workbench.synthesis.sensitivity.uncertainty import root_uncertainty
from workbench.synthesis.whatif.edits import SetRule
from workbench.synthesis.whatif.evaluation import reachable_ranges

SHORT = """\
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from workbench.synthesis import Rule


@dataclass(frozen=True, slots=True)
class WeakestLink(Rule):
    '''As likely as its least likely child, times a factor.'''

    name: ClassVar[str] = "weakest-link"

    children: tuple[str, ...]
    factor: float = 1.0

    def named_children(self) -> tuple[str, ...]:
        return self.children

    def evaluate(self, p: Mapping[str, float]) -> float:
        return self.factor * min(p[child] for child in self.children)

    def equation(self) -> str:
        return f"{self.factor:g} × min({', '.join(self.children)})"


@dataclass(frozen=True, slots=True)
class ButNot(Rule):
    '''True if the first is true and the second is not.'''

    name: ClassVar[str] = "but-not"
    multilinear: ClassVar[bool] = True

    first: str
    second: str

    def named_children(self) -> tuple[str, ...]:
        return (self.first, self.second)

    def evaluate(self, p: Mapping[str, float]) -> float:
        return p[self.first] * (1 - p[self.second])

    def equation(self) -> str:
        return f"{self.first} × (1 − {self.second})"
"""
HOSTILE = """
from workbench.synthesis import Rule


class Loud(Rule):
    name = "loud"

    @classmethod
    def from_json(cls, data):
        raise KeyError("boom\\non two lines")

    def named_children(self):
        return ()

    def evaluate(self, p):
        return 0.5

    def equation(self):
        return ""


not_a_rule = {"name": "dict"}
"""
POINTS = {
    "weakest-link": "stranger_rules:WeakestLink",
    "but-not": "stranger_rules:ButNot",
    "loud": "hostile_rules:Loud",
    "absent": "no_such_module:Rule",
    "dict": "hostile_rules:not_a_rule",
    "linear": "hostile_rules:Loud",
}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "stranger_rules.py").write_text(SHORT, encoding="utf-8")
    (tmp_path / "hostile_rules.py").write_text(HOSTILE, encoding="utf-8")
    info = tmp_path / "stranger_rules-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger-rules\nVersion: 1.0\n")
    lines = "\n".join(f"{name} = {value}" for name, value in POINTS.items())
    (info / "entry_points.txt").write_text(f"[{registry.RULES}]\n{lines}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(registry, "_loaded", {})
    yield
    for module in ("stranger_rules", "hostile_rules"):
        sys.modules.pop(module, None)


def two(rule: dict[str, object]) -> Tree:
    tree = Tree.root_only("r").expand("P0", {"P1": "a", "P2": "b"}, {"P1": Polarity.POSITIVE})
    tree = tree.with_belief("P1", Belief(p=0.6)).with_belief("P2", Belief(p=0.3))
    return settle(tree.with_rule("P0", rule_from_json(rule)))


WEAKEST = {"name": "weakest-link", "children": ["P1", "P2"], "factor": 0.5}
BUT_NOT = {"name": "but-not", "first": "P1", "second": "P2"}


@pytest.mark.usefixtures("package")
def test_a_strangers_rule_computes_stores_and_comes_back() -> None:
    assert {"weakest-link", "linear", "noisy-or"} <= set(rule_names())
    tree = two(WEAKEST)
    assert tree.root.p == 0.15 and tree.root.rule is not None
    assert tree.root.rule.to_json() == WEAKEST and tree.root.rule.equation() == "0.5 × min(P1, P2)"
    assert tree_from_json(json.loads(json.dumps(tree.to_json()))) == tree
    for form in ("json", "csv"):
        assert import_tree(export_tree(tree, form).text) == tree
    assert resynthesize(tree, {"P2": 0.5}).after == 0.25
    rule = {**WEAKEST, "factor": 1.0}
    assert play(tree, [SetRule(node="P0", rule=rule)]).after == 0.3


@pytest.mark.usefixtures("package")
def test_every_analysis_takes_a_rule_that_has_only_the_defaults() -> None:
    tree = two(WEAKEST)
    assert {row.id: row.path_weight for row in tornado(tree)} == {"P2": pytest.approx(0.5), "P1": 0.0}
    assert [(row.id, row.low, row.high) for row in tornado(tree)] == [("P2", 0.0, 0.3), ("P1", 0.0, 0.15)]
    assert reachable_ranges(tree)["P0"] == (0.0, 1.0)
    spread = root_uncertainty(tree, {"P2": 0.01}, samples=2_000)
    assert spread.method == "monte-carlo" and spread.mean == pytest.approx(0.15, abs=0.01)
    assert check_tree(tree) == []
    refits = refit_spread(
        [rule_from_json({**WEAKEST, "factor": x}) for x in (0.4, 0.6)], {"P1": 0.6, "P2": 0.3}
    )
    assert refits.value.mean == pytest.approx(0.15) and refits.coefficients["P2"].mean == pytest.approx(0.5)
    with pytest.raises(NotRepresentable, match="P0 is no Bayes net table: is not affine"):
        bayes_net(tree, "project")
    gone = tree.remove_node("P2")
    assert gone.root.rule is None and gone.root.stale


@pytest.mark.usefixtures("package")
def test_a_strangers_multilinear_rule_is_a_table_in_both_formats() -> None:
    tree = two(BUT_NOT)
    assert bayes_net(tree).marginals()["P0"] == tree.root.p == pytest.approx(0.42)
    text = export_tree(tree, "problog").text
    assert "1::p0 :- p1, \\+p2." in text and text.count("p0 :-") == 4
    assert problog_root(text) == pytest.approx(0.42, abs=1e-9)
    assert reachable_ranges(tree)["P0"] == (0.0, 1.0)
    assert tree.root.rule is not None
    assert tree.root.rule.derivative({"P1": 0.6, "P2": 0.3}) == pytest.approx({"P1": 0.7, "P2": -0.6})
    columns = tree.root.rule.columns({"P1": np.array([0.0, 1.0]), "P2": np.array([0.2, 0.2])})
    assert np.asarray(columns).tolist() == [0.0, 0.8]


@pytest.mark.usefixtures("package")
def test_a_rule_that_names_no_child_of_its_node_is_refused_at_creation() -> None:
    rule = rule_from_json(WEAKEST)
    assert checked_value(rule, ("P1", "P2"), {}, {"P1": 0.6, "P2": 0.3}) == 0.15
    with pytest.raises(UnknownChild, match="P2; the children are P1"):
        checked_value(rule, ("P1",), {}, {"P1": 0.6, "P2": 0.3})


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize(
    ("data", "error", "says"),
    [
        ({"name": "weakest-link"}, RuleFormatError, "lacks children"),
        (
            {**WEAKEST, "factor": "1"},
            RuleFormatError,
            "factor of the weakest-link rule must be a valid number",
        ),
        ({**WEAKEST, "factor": float("nan")}, RuleFormatError, "factor of the weakest-link rule"),
        ({**WEAKEST, "colour": 1}, RuleFormatError, "unknown keys: colour"),
        ({"name": "loud"}, RuleFormatError, "cannot be read: KeyError"),
        (
            {"name": "absent"},
            UnknownRule,
            "of the package stranger-rules 1.0 does not load: ModuleNotFoundError",
        ),
        ({"name": "dict"}, UnknownRule, "no class derived from Rule"),
        ({"name": "weakest"}, UnknownRule, "no rule named 'weakest' is installed; there are absent, average"),
    ],
)
def test_whatever_a_package_does_is_one_line(
    data: dict[str, object], error: type[UsageError], says: str
) -> None:
    with pytest.raises(error, match=says) as caught:
        rule_from_json(data)
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("package")
def test_a_stranger_does_not_take_the_place_of_a_built_in_rule() -> None:
    data = {"name": "linear", "intercept": 0.0, "weights": {"P1": 0.5}}
    assert rule_from_json(data) == LinearRule(0.0, {"P1": 0.5})


def test_a_tree_whose_rule_is_not_installed_is_read_and_shown_but_not_computed() -> None:
    stored = {**WEAKEST, "package": "stranger-rules", "deep": {"x": [1, None]}}
    rows = [
        {"id": "P0", "statement": "r", "belief": {"p": 0.15}, "rule": stored},
        {"id": "P1", "statement": "a", "belief": {"p": 0.6}},
        {"id": "P2", "statement": "b", "belief": {"p": 0.3}},
    ]
    with pytest.raises(UnknownRule, match=r"'weakest-link' is installed.*pip install stranger-rules$"):
        tree_from_json({"nodes": rows})
    tree = tree_from_json({"nodes": rows}, missing="keep")
    rule = tree.root.rule
    assert isinstance(rule, UninstalledRule) and rule.name == "weakest-link" and not rule.numeric
    assert tree.root.p == 0.15 == settle(tree).root.p and rule.to_json() == stored
    assert tree_from_json(json.loads(json.dumps(tree.to_json())), missing="keep") == tree
    assert rule.equation() == "the rule weakest-link is not installed"
    assert tornado(tree)[0].path_weight is None
    for attempt in (
        lambda: rule.evaluate({"P1": 0.6, "P2": 0.3}),
        lambda: rule.derivative({}),
        lambda: tree.remove_node("P2"),
        lambda: tree.add_child("P0", "c"),
    ):
        with pytest.raises(UnknownRule, match="pip install stranger-rules"):
            attempt()
    net = bayes_net(tree)
    assert net.marginals() == {"P0": 0.15} and "P0 is without a function" in net.notes[0]


@pytest.mark.parametrize("package", ["x; rm -rf /", "-r evil", "a b", 3, None])
def test_what_a_file_calls_a_package_is_printed_only_if_it_is_a_name(package: object) -> None:
    with pytest.raises(UnknownRule) as caught:
        rule_from_json({"name": "weakest-link", "package": package})
    assert "pip install" not in str(caught.value)
