"""A rule with its synthesizer, and a synthesizer whose rule nobody registers."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from workbench.agents.registry import no_options
from workbench.propositions import Belief
from workbench.synthesis import Rule, checked_value


@dataclass(frozen=True, slots=True)
class GeometricRule(Rule):
    """The geometric mean of the children."""

    name: ClassVar[str] = "stranger-geometric"

    children: tuple[str, ...]

    def named_children(self) -> tuple[str, ...]:
        return self.children

    def evaluate(self, p: Mapping[str, float]) -> float:
        return prod(p[child] for child in self.children) ** (1 / len(self.children))

    def equation(self) -> str:
        return f"({' × '.join(self.children)})^(1/{len(self.children)})"


@dataclass(frozen=True, slots=True)
class UnregisteredRule(GeometricRule):
    name: ClassVar[str] = "stranger-unregistered"


class GeometricSynthesizer:
    stages = ()
    rule = GeometricRule

    def __init__(self, settings, options):
        no_options("this synthesizer", options)

    async def synthesize(self, node, children, *, cutoff, ask):
        rule = self.rule(tuple(child.id for child in children))
        p = {child.id: child.p for child in children}
        value = checked_value(rule, list(p), node.polarities, p)
        return rule, Belief(p=value, key_factor="geometric mean", report="No model weighed the reasons.")


class UnregisteredSynthesizer(GeometricSynthesizer):
    rule = UnregisteredRule
