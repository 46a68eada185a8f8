"""What the tree asks of a synthesis rule; the rules themselves live in ``workbench.synthesis``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from workbench.propositions.ids import NodeId


@runtime_checkable
class Rule(Protocol):
    """How a proposition's soft truth value follows from its children's; a plain value, compared by content."""

    @property
    def name(self) -> str:
        """Name under which the registry knows the rule: linear, logic, ..."""

    @property
    def numeric(self) -> bool:
        """False where there is no function to evaluate (vanilla): only a full resynthesis gives a number."""

    @property
    def multilinear(self) -> bool:
        """Whether the value is affine in each child with the others held still."""

    def evaluate(self, p: Mapping[NodeId, float]) -> float:
        """Raw value at the children's p; may leave [0, 1]."""

    def derivative(self, p: Mapping[NodeId, float]) -> Mapping[NodeId, float]:
        """Partial derivative by each child at this point."""

    def reachable(self, box: Mapping[NodeId, tuple[float, float]] | None = None) -> tuple[float, float]:
        """Least and greatest raw value while each child stays in its interval (default [0, 1])."""

    def without(self, child: NodeId) -> Rule | None:
        """The rule after a child is gone, other coefficients kept; None when nothing is left."""

    def with_child(self, child: NodeId) -> Rule:
        """The rule after a child is added, with no say until it is given one."""

    def to_json(self) -> dict[str, Any]:
        """The rule as CONTRACTS spells it."""
