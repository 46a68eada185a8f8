"""A formula's value, operator by operator, every copy of a variable on its own.

That is exact if no variable is repeated; ``exact_logic`` brings the others to that form.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from workbench.propositions import NodeId
from workbench.synthesis.rules.formula import AND, Program, fold

Norm = Literal["product", "minmax"]


def combine(norm: Norm, operator: str, a: Any, b: Any) -> Any:
    """Compute one AND or OR: ab and a + b - ab for independent parts, Goedel's min and max for ``minmax``."""
    if norm == "minmax":
        return min(a, b) if operator == AND else max(a, b)
    return a * b if operator == AND else a + b - a * b


def value_of(program: Program, p: Mapping[NodeId, Any], norm: Norm = "product") -> Any:
    """Compute the formula's value; numbers, or numpy arrays for the product norm."""
    return fold(program, p.__getitem__, lambda a: 1.0 - a, lambda op, a, b: combine(norm, op, a, b))
