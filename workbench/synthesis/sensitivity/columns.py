"""Compute the root for many assignments of leaf values at once, as numpy arrays; simulations of uncertainty call it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from workbench.propositions import ROOT, NodeId, Tree
from workbench.synthesis.whatif.evaluation import evaluate, follows_children

Column = NDArray[np.float64]


def root_columns(tree: Tree, leaves: Mapping[NodeId, Column]) -> Column:
    """Compute the root's value for every row; ``leaves`` may hold columns of pinned nodes too."""
    evaluation = evaluate(tree)
    length = len(next(iter(leaves.values()))) if leaves else 1
    columns: dict[NodeId, Column] = {}
    for node_id in reversed(tree.ids()):
        node = tree[node_id]
        if node_id in leaves:
            columns[node_id] = leaves[node_id]
            for child in node.children:  # of a node that is held: nobody reads them
                columns.pop(child, None)
        elif follows_children(node):
            assert node.rule is not None
            # pop: a child's column is read once, so only the columns not yet used are held in memory.
            below = {child: columns.pop(child) for child in node.children}
            raw = np.asarray(node.rule.columns(below), dtype=np.float64)
            columns[node_id] = np.atleast_1d(np.clip(raw, 0.0, 1.0))  # a constant formula has no length
        else:
            for child in node.children:
                columns.pop(child, None)
            value = evaluation.values[node_id]
            # NaN never reaches the root: the root has a value, so a node without one lies below one that does not
            # read its children.
            # a view: of 10,000 leaves that stand still no row is stored
            columns[node_id] = np.broadcast_to(np.float64(np.nan if value is None else value), (length,))
    return np.broadcast_to(columns[ROOT], (length,)) if len(columns[ROOT]) != length else columns[ROOT]
