"""The vanilla rule: the model names a number, and there is no function behind it (paper A, section 4.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NoReturn

from workbench.errors import Option
from workbench.propositions import NodeId, Rule
from workbench.synthesis.errors import NoFunction


@dataclass(frozen=True, slots=True)
class VanillaRule(Rule):
    """A value the model stated: it stands until something below changes, then only the model can say it anew."""

    name: ClassVar[str] = "vanilla"
    numeric: ClassVar[bool] = False

    def named_children(self) -> tuple[NodeId, ...]:
        """Return none: there is no function."""
        return ()

    def equation(self) -> str:
        """Say that there is none."""
        return "judged by the model, no formula"

    def evaluate(self, p: Mapping[NodeId, float]) -> NoReturn:
        """Raise NoFunction."""
        raise NoFunction("a vanilla rule has no function: ask the model again with ", Option("full", True))

    def derivative(self, p: Mapping[NodeId, float]) -> NoReturn:
        """Raise NoFunction."""
        raise NoFunction("a vanilla rule has no derivative: ask the model again with ", Option("full", True))

    def reachable(self, box: Mapping[NodeId, tuple[float, float]] | None = None) -> tuple[float, float]:
        """Return all of [0, 1]."""
        return 0.0, 1.0

    def table_problem(self) -> str:
        """Say that there is no function to make a table of."""
        return "is judged by the model, so there is no table"
