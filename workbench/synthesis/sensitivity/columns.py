"""The root for many assignments of leaf values at once, as numpy arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.propositions import ROOT, NodeId, Rule, Tree
from workbench.synthesis.rules.ablations import AverageRule, RandomRule
from workbench.synthesis.rules.decision import diagram_of
from workbench.synthesis.rules.formula import AND, fold
from workbench.synthesis.rules.linear import LinearRule
from workbench.synthesis.rules.logic import LogicRule
from workbench.synthesis.rules.noisy_or import NoisyOrRule
from workbench.synthesis.whatif.evaluation import evaluate, follows_children

Column = NDArray[np.float64]


def rule_columns(rule: Rule, p: Mapping[NodeId, Column]) -> Column:
    """The rule's raw value for every row of the children's columns; without a length where no child has a say."""
    if isinstance(rule, (LinearRule, AverageRule, RandomRule)):
        total: Any = np.full(len(next(iter(p.values()))) if p else 1, rule.intercept)
        for child, weight in rule.weights.items():
            total = total + weight * p[child]
        return np.asarray(total, dtype=np.float64)
    if isinstance(rule, NoisyOrRule):
        return np.asarray(rule.evaluate(p), dtype=np.float64)
    if isinstance(rule, LogicRule):
        given = rule.inputs(p)
        if rule.exact and rule.parsed.repeats:
            value: Any = diagram_of(rule.parsed.program).probability(given)
        elif rule.norm == "minmax":
            value = fold(
                rule.parsed.program,
                given.__getitem__,
                lambda a: 1.0 - a,
                lambda operator, a, b: np.minimum(a, b) if operator == AND else np.maximum(a, b),
            )
        else:
            value = fold(
                rule.parsed.program,
                given.__getitem__,
                lambda a: 1.0 - a,
                lambda operator, a, b: a * b if operator == AND else a + b - a * b,
            )
        return np.asarray(value, dtype=np.float64)
    rows = zip(*(p[child] for child in p), strict=True)
    return np.asarray([rule.evaluate(dict(zip(p, row, strict=True))) for row in rows], dtype=np.float64)


def root_columns(
    tree: Tree, leaves: Mapping[NodeId, Column], rules: Mapping[NodeId, Any] | None = None
) -> Column:
    """The root's value for every row.

    Parameters
    ----------
    tree : Tree
        A tree whose root has a value.
    leaves : mapping
        Per leaf that varies, its values, all of one length; the others keep theirs.
    rules : mapping, optional
        Per inner node a function from the children's columns to the node's, in place of its rule.
    """
    here = evaluate(tree)
    length = len(next(iter(leaves.values()))) if leaves else 1
    columns: dict[NodeId, Column] = {}
    for node_id in reversed(tree.ids()):
        node = tree[node_id]
        if node_id in leaves and not node.pinned:
            columns[node_id] = leaves[node_id]
        elif follows_children(node):
            assert node.rule is not None
            below = {child: columns.pop(child) for child in node.children}
            made = rules[node_id](below) if rules and node_id in rules else rule_columns(node.rule, below)
            columns[node_id] = np.atleast_1d(np.clip(made, 0.0, 1.0))  # a constant formula has no length
        else:
            for child in node.children:
                columns.pop(child, None)
            value = here.values[node_id]
            columns[node_id] = np.full(length, np.nan if value is None else value)
    return np.broadcast_to(columns[ROOT], (length,)) if len(columns[ROOT]) != length else columns[ROOT]
