"""The root over a grid of two leaves' values, the others held at theirs: a two-way sensitivity analysis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.propositions import NodeId, Tree
from workbench.synthesis.errors import SensitivityError
from workbench.synthesis.sensitivity.columns import root_columns


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoWay:
    """The root for every pair of values: ``roots[row][column]`` with ``first`` at the row's value, ``second`` at the column's.

    ``values`` are those of both leaves, from 0 to 1 in equal steps.
    """

    first: NodeId
    second: NodeId
    values: tuple[float, ...]
    roots: tuple[tuple[float, ...], ...]

    def to_json(self) -> dict[str, Any]:
        """The document of ``workbench sensitivity --two A,B --json``."""
        return {
            "first": self.first,
            "second": self.second,
            "values": list(self.values),
            "roots": [list(row) for row in self.roots],
        }


def two_way(tree: Tree, first: NodeId, second: NodeId, steps: int = 11) -> TwoWay:
    """Return the root over ``steps`` by ``steps`` values of two leaves.

    Raises
    ------
    SensitivityError
        One of them is no leaf, both are the same, or the root has no value.
    UnknownNode
    """
    for node in (first, second):
        if tree[node].children:
            raise SensitivityError(f"{node} has drivers below it: name two at the end of the tree")
    if first == second:
        raise SensitivityError("name two different drivers")
    if tree.root.p is None:
        raise SensitivityError("the claim has no value yet")
    values = np.linspace(0.0, 1.0, steps)
    rows, columns = np.repeat(values, steps), np.tile(values, steps)
    roots = root_columns(tree, {first: rows, second: columns}).reshape(steps, steps)
    return TwoWay(
        first=first,
        second=second,
        values=tuple(values.tolist()),
        roots=tuple(tuple(row) for row in roots.tolist()),
    )
