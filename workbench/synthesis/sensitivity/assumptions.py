"""The assumption PA of logic rules as a driver of the root: its row of the tornado, and the rule with another value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from workbench.propositions import ROOT, NodeId, Tree, check_probability
from workbench.synthesis.errors import RuleFormatError
from workbench.synthesis.rules.formula import ASSUMPTION
from workbench.synthesis.rules.logic import LogicRule
from workbench.synthesis.rules.pooled import PooledRule, drivers_rule
from workbench.synthesis.sensitivity.paths import TornadoRow, path_weights
from workbench.synthesis.whatif.evaluation import clamp, evaluate, follows_children, root_if


def assumption_id(node: NodeId) -> str:
    """Return the name of a node's assumption: ``PA`` for the claim's own, ``P2.PA`` for that of P2."""
    return ASSUMPTION if node == ROOT else f"{node}.{ASSUMPTION}"


def assumed_by(name: str) -> NodeId | None:
    """Return the node whose assumption this names, or None for anything else.

    >>> assumed_by("PA"), assumed_by("P2.1.PA"), assumed_by("P2")
    ('P0', 'P2.1', None)
    """
    if name == ASSUMPTION:
        return ROOT
    node, dot, last = name.rpartition(".")
    return node if dot and last == ASSUMPTION else None


def assumption_rows(tree: Tree) -> list[TornadoRow]:
    """Return a row for every assumption behind a value, like those of :func:`tornado` for leaves (paper A, 4.1)."""
    nodes = [node for node in map(tree.__getitem__, tree.inner()) if assumption_of(tree, node.id) is not None]
    if not nodes:  # as in most trees, and the rest looks at every proposition
        return []
    evaluation = evaluate(tree)
    weights = path_weights(tree, evaluation=evaluation)
    rows = []
    for node in nodes:
        rule, p = drivers_rule(node.rule), assumption_of(tree, node.id)
        if (
            not isinstance(rule, LogicRule)
            or rule.assumption is None
            or p is None
            or not follows_children(node)
        ):
            continue
        below = {child: evaluation.values[child] for child in node.children}
        if None in below.values():
            continue
        values: list[float] = []
        ends: list[float] = []
        for end in (0.0, 1.0):
            at_end = replace(rule, assumption=replace(rule.assumption, probability=end))
            whole = replace(node.rule, rule=at_end) if isinstance(node.rule, PooledRule) else at_end
            values.append(clamp(whole.evaluate(below)))  # type: ignore[arg-type]
            root = root_if(tree, node.id, values[-1], evaluation)
            ends += [] if root is None else [root]
        above = weights[node.id]
        weight = None if above is None else above * (values[1] - values[0])
        rows.append(
            TornadoRow(
                id=assumption_id(node.id),
                path_weight=weight,
                p=p,
                low=min(ends) if len(ends) == 2 else None,
                high=max(ends) if len(ends) == 2 else None,
                contribution=None if weight is None else weight * p,
            )
        )
    return rows


def assumption_of(tree: Tree, node: NodeId) -> float | None:
    """Return the probability of a node's assumption PA, None where its value follows from none."""
    rule = drivers_rule(tree[node].rule)
    if not isinstance(rule, LogicRule) or rule.assumption is None or ASSUMPTION not in rule.parsed.variables:
        return None
    return rule.assumption.probability


def assumption_detail(tree: Tree, name: str) -> str:
    """Return an assumption's text; the statement of a proposition where the name is one's."""
    node = assumed_by(name)
    if node is None:
        return tree[name].statement
    rule = drivers_rule(tree[node].rule)
    return rule.assumption.detail if isinstance(rule, LogicRule) and rule.assumption is not None else ""


def assume(rule: Mapping[str, Any], node: NodeId, p: float) -> dict[str, Any]:
    """Set another probability of the assumption in a rule's JSON.

    Raises `RuleFormatError`: The rule has no assumption. Raises `ProbabilityOutOfRange`.
    """
    assumption = rule.get("assumption")
    if not isinstance(assumption, Mapping):
        raise RuleFormatError(f"the rule of {node} has no assumption {ASSUMPTION} to set")
    probability = check_probability(p, of=assumption_id(node))
    return {**rule, "assumption": {**assumption, "probability": probability}}
