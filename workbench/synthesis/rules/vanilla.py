"""The vanilla rule: the model names a number, and there is no function behind it (paper A, section 4.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

from workbench.propositions import NodeId
from workbench.synthesis.errors import NoFunction


@dataclass(frozen=True, slots=True)
class VanillaRule:
    """A value the model stated: it stands until something below changes, then only the model can say it anew."""

    name: ClassVar[str] = "vanilla"
    numeric: ClassVar[bool] = False
    multilinear: ClassVar[bool] = False

    def evaluate(self, p: Mapping[NodeId, float]) -> NoReturn:
        """Raise NoFunction."""
        raise NoFunction("a vanilla node has no function: ask the model again with --full")

    def derivative(self, p: Mapping[NodeId, float]) -> NoReturn:
        """Raise NoFunction."""
        raise NoFunction("a vanilla node has no derivative: ask the model again with --full")

    def reachable(self, box: Mapping[NodeId, tuple[float, float]] | None = None) -> tuple[float, float]:
        """All of [0, 1]."""
        return 0.0, 1.0

    def without(self, child: NodeId) -> VanillaRule:
        """The same rule."""
        return self

    def with_child(self, child: NodeId) -> VanillaRule:
        """The same rule."""
        return self

    def to_json(self) -> dict[str, Any]:
        """JSON object of CONTRACTS."""
        return {"name": self.name}
