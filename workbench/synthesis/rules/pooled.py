"""A claim that was forecast twice, by its drivers and directly: both probabilities as one, in logit space."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from workbench.propositions import Belief, NodeId, Polarity, Rule, RuleLimits
from workbench.propositions.rule import Column
from workbench.propositions.values import NEAREST, logit
from workbench.synthesis.errors import RuleFormatError
from workbench.synthesis.rules.equation_text import size

#: Weight of the drivers while the own record is too short to say another.
EVEN = 0.5


def together(direct: float | None, tree: float | None, tree_weight: float) -> float | None:
    """The direct forecast and the tree of an event, weighted in logit space; the one that there is where the other is missing.

    >>> together(0.2, None, 0.5), together(0.3, 0.3, 0.9), round(together(0.2, 0.8, 0.5), 6)
    (0.2, 0.3, 0.5)
    """
    if direct is None or tree is None or direct == tree:
        return tree if direct is None else direct
    mean = (1.0 - tree_weight) * logit(direct) + tree_weight * logit(tree)
    return 1.0 / (1.0 + math.exp(-mean))


@dataclass(frozen=True, slots=True)
class PooledRule(Rule):
    """``logit p = tree_weight * logit(rule) + (1 - tree_weight) * logit(direct)``.

    Parameters
    ----------
    rule : Rule
        How the drivers make the tree's probability, which is held within [0, 1].
    direct : float
        What the claim was forecast at without them, in [0, 1]; no edit of a driver moves it.
    tree_weight : float
        In [0, 1].

    Examples
    --------
    >>> from workbench.synthesis import LinearRule
    >>> rule = PooledRule(LinearRule(0.0, {"P1": 1.0}), 0.2, 0.5)
    >>> round(rule.evaluate({"P1": 0.8}), 6), rule.tree({"P1": 0.8})
    (0.5, 0.8)
    """

    name: ClassVar[str] = "pooled"

    rule: Rule
    direct: float
    tree_weight: float

    def __post_init__(self) -> None:
        if isinstance(self.rule, PooledRule):
            raise RuleFormatError("a pooled rule holds the rule of the drivers, which is not pooled itself")
        for what, value in (("direct forecast", self.direct), ("weight of the tree", self.tree_weight)):
            # Not "value < 0 or value > 1": every comparison with NaN is false.
            if not 0.0 <= value <= 1.0:
                raise RuleFormatError(f"the {what} of a pooled rule lies in [0, 1], not {value:g}")

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read the rule and the rule of the drivers inside."""
        from workbench.synthesis.rules.rule_registry import rule_from_json  # it reads this one too

        body = {key: value for key, value in data.items() if key != "name"}
        numbers = {key: body.pop(key, None) for key in ("direct", "tree_weight")}
        if body.keys() != {"rule"} or not all(type(value) in (int, float) for value in numbers.values()):
            raise RuleFormatError("a pooled rule has a rule, and the numbers direct and tree_weight")
        return cls(rule_from_json(body["rule"]), **{key: float(value) for key, value in numbers.items()})

    def to_json(self) -> dict[str, Any]:
        """JSON object, with that of the drivers' rule inside."""
        return {
            "name": self.name,
            "rule": self.rule.to_json(),
            "direct": self.direct,
            "tree_weight": self.tree_weight,
        }

    @property
    def numeric(self) -> bool:
        """Whether the drivers' rule is."""
        return self.rule.numeric

    def named_children(self) -> tuple[NodeId, ...]:
        """Those of the drivers' rule."""
        return self.rule.named_children()

    def tree(self, p: Mapping[NodeId, float]) -> float:
        """Return the probability by the drivers alone, held within [0, 1]."""
        return min(1.0, max(0.0, self.rule.evaluate(p)))

    def pooled(self, tree: float) -> float:
        """Return the probability for one of the drivers."""
        value = together(self.direct, tree, self.tree_weight)
        assert value is not None
        return value

    def evaluate(self, p: Mapping[NodeId, float]) -> float:
        """Value in [0, 1]."""
        return self.pooled(self.tree(p))

    def derivative(self, p: Mapping[NodeId, float]) -> dict[NodeId, float]:
        """Slopes by the chain rule; 0 where the tree is held at a bound."""
        tree, value = self.tree(p), self.evaluate(p)
        inside = NEAREST < tree < 1.0 - NEAREST
        slope = self.tree_weight * value * (1.0 - value) / (tree * (1.0 - tree)) if inside else 0.0
        return {child: slope * own for child, own in self.rule.derivative(p).items()}

    def reachable(self, box: Mapping[NodeId, tuple[float, float]] | None = None) -> tuple[float, float]:
        """Least and greatest value: they are the tree's, pooled, as pooling keeps their order."""
        low, high = self.rule.reachable(box)
        return self.pooled(max(0.0, min(1.0, low))), self.pooled(max(0.0, min(1.0, high)))

    def columns(self, p: Mapping[NodeId, Column]) -> Column:
        """Values of arrays."""
        return self._pooled_columns(self.rule.columns(p))

    def _pooled_columns(self, tree: Column) -> Column:
        import numpy as np

        held = np.clip(np.asarray(tree, dtype=float), NEAREST, 1.0 - NEAREST)
        mean = self.tree_weight * np.log(held / (1.0 - held)) + (1.0 - self.tree_weight) * logit(self.direct)
        return 1.0 / (1.0 + np.exp(-mean))

    def equation(self) -> str:
        """Write ``sigmoid(0.50 × logit(0.02 + 0.50 × P1) + 0.50 × logit(0.62))``."""
        parts = ((self.tree_weight, self.rule.equation()), (1.0 - self.tree_weight, size(self.direct)))
        return f"sigmoid({' + '.join(f'{size(weight)} × logit({part})' for weight, part in parts)})"

    def coefficients(self, p: Mapping[NodeId, float]) -> dict[str, float]:
        """Those of the drivers' rule."""
        return self.rule.coefficients(p)

    def structure(self) -> str | None:
        """That of the drivers' rule."""
        return self.rule.structure()

    def warnings(self) -> list[str]:
        """Those of the drivers' rule."""
        return self.rule.warnings()

    def validate(
        self,
        children: Sequence[NodeId],
        polarities: Mapping[NodeId, Polarity] | None = None,
        limits: RuleLimits | None = None,
    ) -> None:
        """Check the drivers' rule."""
        self.rule.validate(children, polarities, limits)

    def without(self, child: NodeId) -> PooledRule | None:
        """Remove this child from the drivers' rule."""
        return self._of(self.rule.without(child))

    def with_child(self, child: NodeId) -> PooledRule:
        """Add a child to the drivers' rule."""
        return replace(self, rule=self.rule.with_child(child))

    def turned(self, child: NodeId) -> PooledRule | None:
        """Turn a child's sign in the drivers' rule."""
        return self._of(self.rule.turned(child))

    def _of(self, rule: Rule | None) -> PooledRule | None:
        return None if rule is None else replace(self, rule=rule)

    def dependence_bounds(self, p: Mapping[NodeId, float]) -> tuple[float, float] | None:
        """Bounds of the drivers' rule, pooled."""
        bounds = self.rule.dependence_bounds(p)
        return None if bounds is None else (self.pooled(bounds[0]), self.pooled(bounds[1]))


def drivers_rule(rule: Rule | None) -> Rule | None:
    """Return the rule of a node's drivers alone, whether or not a direct forecast is pooled with them."""
    return rule.rule if isinstance(rule, PooledRule) else rule


def rule_of_drivers(data: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a rule's JSON that is the rule of the drivers alone: the whole, or what a pooled rule holds."""
    inner = data.get("rule")
    if data.get("name") != PooledRule.name or not isinstance(inner, dict):
        return data
    own: dict[str, Any] = dict(inner)  # to be written to, and it may be somebody's request
    data["rule"] = own
    return own


def pooled_again(before: Rule | None, rule: Rule, belief: Belief) -> tuple[Rule, Belief]:
    """Return a new rule of a node's drivers and its value, pooled with the direct forecast that its rule held before, if any."""
    if not isinstance(before, PooledRule):
        return rule, belief
    pooled = replace(before, rule=rule)
    return pooled, replace(belief, p=pooled.pooled(belief.p))
