"""Compare a full resynthesis with the rules and texts before it, weight by weight and text by text."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.propositions import NodeId, Proposition, Tree, natural_order
from workbench.synthesis.rules.linear import INTERCEPT
from workbench.synthesis.whatif.edits import Edit, SetReport, SetRule
from workbench.whatif.stored_reports import without_records


@dataclass(frozen=True, slots=True)
class RuleChange:
    """A proposition that the synthesizer was asked about again."""

    #: before, after: As it stood with the edits, and with the synthesizer's answer.
    before: Proposition
    after: Proposition
    #: One row per number, ``intercept`` first, then the children in natural order; None where a rule has no such number.
    weights: list[dict[str, Any]]

    @classmethod
    def between(cls, old: Tree, new: Tree, node: NodeId) -> "RuleChange":
        """Compare a proposition in two trees; both have the same children there."""
        before, after = _weights(old, node), _weights(new, node)
        names = [name for name in (INTERCEPT,) if name in before or name in after]
        names += natural_order((before.keys() | after.keys()) - {INTERCEPT})
        return cls(
            old[node],
            new[node],
            [
                {
                    "name": name,
                    "statement": new[name].statement if name in new else "",
                    "before": before.get(name),
                    "after": after.get(name),
                }
                for name in names
            ],
        )

    def edits(self) -> tuple[tuple[SetReport, ...], SetRule]:
        """Return the edits that keep the answer: its words, where there is a value to hold them, and its rule."""
        belief, rule = self.after.belief, self.after.rule
        assert belief is not None
        assert rule is not None
        words: tuple[SetReport, ...] = ()
        if self.before.belief is not None:
            words = (SetReport(node=self.after.id, report=belief.report, key_factor=belief.key_factor),)
        # Only a rule without a function needs the value beside it; the others give theirs from the children.
        return words, SetRule(node=self.after.id, rule=rule.to_json(), p=None if rule.numeric else belief.p)

    def to_json(self) -> dict[str, Any]:
        """Return one row of ``asked_again`` of ``workbench whatif --full --json``."""
        return {
            "id": self.after.id,
            "statement": self.after.statement,
            "p": {"before": self.before.p, "after": self.after.p},
            "rule": {"before": equation(self.before), "after": equation(self.after)},
            "weights": self.weights,
            "key_factor": {"before": key_factor(self.before), "after": key_factor(self.after)},
            "report": {"before": report(self.before), "after": report(self.after)},
        }


def kept_edits(changes: tuple[RuleChange, ...]) -> tuple[Edit, ...]:
    """Return the edits that keep the synthesizer's answer: all words first, then the rules, children before parents."""
    # What stands before the last rule is not asked for again (`full_resynthesis.plan_full`), so words come before.
    edits = [change.edits() for change in changes]
    return (*(word for words, _ in edits for word in words), *(rule for _, rule in edits))


def _weights(tree: Tree, node: NodeId) -> Mapping[str, float]:
    rule = tree[node].rule
    if rule is None or not rule.numeric:
        return {}
    # An affine rule has the same weights at every point, so any value stands in for one that is missing.
    values = {child.id: 0.5 if child.p is None else child.p for child in tree.children(node)}
    return rule.coefficients(values)


def equation(node: Proposition) -> str:
    """Return a proposition's rule as one line; empty where it has none."""
    return "" if node.rule is None else node.rule.equation()


def key_factor(node: Proposition) -> str:
    """Return a proposition's key factor; empty where nobody has stated one."""
    return "" if node.belief is None else node.belief.key_factor


def report(node: Proposition) -> str:
    """Return a proposition's text without the lines that are for programs; empty where there is none."""
    return "" if node.belief is None else without_records(node.belief.report).strip()
