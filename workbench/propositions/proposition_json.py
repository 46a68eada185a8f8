"""Write propositions as JSON and read them back, without loss; ``Tree.to_json`` and ``Tree.from_json`` call this."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from workbench.errors import UsageError
from workbench.propositions.errors import DuplicateId, TreeFormatError
from workbench.propositions.ids import NodeId, parent_of
from workbench.propositions.rule import Rule
from workbench.propositions.strict_json import read_strict
from workbench.propositions.tree_checks import check_parents
from workbench.propositions.values import Proposition

RuleReader = Callable[[Mapping[str, Any]], Rule]


def proposition_to_json(node: Proposition) -> dict[str, Any]:
    """Write one proposition as a plain JSON object."""
    data: dict[str, Any] = {
        "id": node.id,
        "parent": parent_of(node.id),
        "statement": node.statement,
        "children": list(node.children),
        "causality": node.causality,
        "polarities": {child: str(value) for child, value in node.polarities.items()},
        "belief": node.belief and node.belief.to_json(),
        "rule": node.rule and node.rule.to_json(),
        "pinned": node.pinned,
        "stale": node.stale,
        "refit_due": node.refit_due,
    }
    for name in ("analysis", "resolves_by", "reference_class", "combine"):
        if text := getattr(node, name):
            data[name] = text
    if node.model_belief is not None:
        # Absent rather than null: most nodes were never overridden.
        data["model_belief"] = node.model_belief.to_json()
    if node.override is not None:
        data["override"] = node.override.to_json()
    return data


def rows_from_json(data: object, rule_from_json: RuleReader | None) -> list[Proposition]:
    """Read the propositions of a stored tree ``{"nodes": [...]}``, in any order; ``Tree`` checks that they are one tree.

    Raises `TreeFormatError`: Not in that shape. Raises `TreeError`: In that shape, but an id twice, a cycle, an orphan, ...
    """
    rows = data.get("nodes") if isinstance(data, Mapping) and data.keys() == {"nodes"} else None
    if not isinstance(rows, list) or not rows:
        raise TreeFormatError('a tree is {"nodes": [...]} with at least one node')
    parents: dict[NodeId, NodeId | None] = {}
    for row in rows:
        if not isinstance(row, Mapping) or not isinstance(row.get("id"), str):
            raise TreeFormatError("a node is an object with the id of a proposition")
        node, parent = row["id"], row["parent"] if "parent" in row else parent_of(row["id"])
        if not isinstance(parent, str | None):
            raise TreeFormatError(f"parent of node {node[:40]} must be an id or null")
        if node in parents:
            raise DuplicateId(f"{node} is in the tree twice")
        parents[node] = parent
    # Before the propositions are made: a stated parent is not a field of Proposition, so this is its only check.
    check_parents(parents)
    children_of: dict[NodeId, list[NodeId]] = {}
    for node, parent in parents.items():
        if parent is not None:
            children_of.setdefault(parent, []).append(node)
    fields = [_fields(row, children_of.get(row["id"], [])) for row in rows]
    try:
        # All at once: of thousands it takes two thirds of the time.
        nodes = read_strict(list[Proposition], fields, what="a tree", context=rule_from_json)
    except UsageError:
        # One by one, for the refusal to name the one at fault.
        nodes = [
            read_strict(Proposition, data, what=f"node {data['id'][:40]}", context=rule_from_json)
            for data in fields
        ]
    for node in nodes:
        # here, since every later reader computes with it
        if node.rule is not None and (unknown := node.rule.unknown_children(node.children)):
            raise TreeFormatError(
                f"the rule of {node.id} names {', '.join(unknown)[:200]}, which it has not below it"
            )
    return nodes


def _fields(row: Mapping[str, Any], children: list[NodeId]) -> dict[str, Any]:
    # null and absent are the same in stored rows; children may be absent (CSV has none), then the parents say them
    data = {key: value for key, value in row.items() if value is not None and key != "parent"}
    data.setdefault("children", children)
    return data
