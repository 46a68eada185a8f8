"""Scenarios side by side, and their probability-weighted mix, as ``workbench scenarios`` shows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import fsum
from typing import Any

from workbench.propositions import NodeId, Tree
from workbench.synthesis.errors import SensitivityError

TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedNode:
    """One proposition in the base and in every scenario; None if it has no value there, or does not exist."""

    id: NodeId
    statement: str
    base: float | None
    values: Mapping[str, float | None]

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {"id": self.id, "statement": self.statement, "base": self.base, "scenarios": dict(self.values)}


def compare(base: Tree, scenarios: Mapping[str, Tree], *, everything: bool = False) -> list[ComparedNode]:
    """Lay scenarios side by side, the root first, then all that differs anywhere (or ``everything``), in tree order."""
    ids: dict[NodeId, None] = dict.fromkeys(base.ids())
    for tree in scenarios.values():
        ids.update(dict.fromkeys(tree.ids()))
    rows = []
    for node in ids:
        home = base if node in base else next(tree for tree in scenarios.values() if node in tree)
        base_p = base[node].p if node in base else None
        values = {name: tree[node].p if node in tree else None for name, tree in scenarios.items()}
        if everything or node == base.root.id or any(value != base_p for value in values.values()):
            rows.append(ComparedNode(id=node, statement=home[node].statement, base=base_p, values=values))
    return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixture:
    """A probability-weighted mix of scenarios."""

    #: Per scenario; what they leave of 1 stands under ``base``.
    weights: Mapping[str, float]
    #: Per proposition of the base the weighted mean; None where a scenario that counts has no value.
    values: Mapping[NodeId, float | None]
    #: The root's.
    root: float | None


def mix(base: Tree, scenarios: Mapping[str, tuple[float, Tree]]) -> Mixture:
    """Average over scenarios, each with its probability; the base takes the rest.

    Raises `SensitivityError`: A probability outside [0, 1], more than 1 together, or a scenario named base.
    """
    weights = {name: weight for name, (weight, _) in scenarios.items()}
    total = fsum(weights.values())
    if any(not 0 <= weight <= 1 for weight in weights.values()) or total > 1 + TOLERANCE:
        raise SensitivityError(
            f"the scenarios' probabilities must lie in [0, 1] and sum to at most 1, not {total:g}"
        )
    if "base" in weights:
        raise SensitivityError("no scenario may be called base: that is the tree without edits")
    trees = {name: tree for name, (_, tree) in scenarios.items()}
    rest = max(0.0, 1.0 - total)
    if rest > TOLERANCE:
        weights["base"], trees["base"] = rest, base
    values: dict[NodeId, float | None] = {}
    for node in base.ids():
        parts = [
            (weight, trees[name][node].p if node in trees[name] else None)
            for name, weight in weights.items()
            if weight > 0
        ]
        terms = [weight * p for weight, p in parts if p is not None]
        values[node] = min(1.0, max(0.0, fsum(terms))) if len(terms) == len(parts) else None
    return Mixture(weights=weights, values=values, root=values[base.root.id])
