"""A tree as JSON and back, without loss."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from workbench.propositions.checks import check_parents
from workbench.propositions.errors import DuplicateId, TreeFormatError
from workbench.propositions.ids import parent_of
from workbench.propositions.rule import Rule
from workbench.propositions.tree import Tree
from workbench.propositions.values import Belief, Override, Polarity, Proposition, check_keys, check_kinds

_OPTIONAL = {
    "parent", "children", "causality", "polarities", "belief", "model_belief", "override", "rule", "pinned", "stale",
    "refit_due",
}  # fmt: skip


def proposition_to_json(node: Proposition) -> dict[str, Any]:
    """One proposition as a plain JSON object."""
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
    if node.model_belief is not None:
        data["model_belief"] = node.model_belief.to_json()
    if node.override is not None:
        data["override"] = node.override.to_json()
    return data


def tree_to_json(tree: Tree) -> dict[str, Any]:
    """The tree as one JSON object: ``{"nodes": [...]}``, depth first."""
    return {"nodes": [proposition_to_json(node) for node in tree.propositions()]}


def tree_from_json(
    data: Mapping[str, Any], *, rule_from_json: Callable[[Mapping[str, Any]], Rule] | None
) -> Tree:
    """Read what :func:`tree_to_json` wrote.

    Raises
    ------
    TreeFormatError
        Not in that shape.
    TreeError
        In that shape, but not one tree: a cycle, an orphan, an id twice, ...
    """
    check_keys(data, {"nodes"}, set(), what="a tree")
    rows = data["nodes"]
    if not isinstance(rows, Sequence) or isinstance(rows, str) or not rows:
        raise TreeFormatError("a tree's nodes must be a list of at least one node")
    parents: dict[str, str | None] = {}
    for row in rows:
        check_keys(row, {"id", "statement"}, _OPTIONAL, what="a node")
        _check_row(row)
        if row["id"] in parents:
            raise DuplicateId(f"{row['id']} is in the tree twice")
        parents[row["id"]] = row["parent"] if "parent" in row else parent_of(str(row["id"]))
    check_parents(parents)
    listed: dict[str, list[str]] = {}
    for node, parent in parents.items():
        if parent is not None:
            listed.setdefault(parent, []).append(node)
    return Tree(_proposition(row, listed.get(row["id"], []), rule_from_json) for row in rows)


def _check_row(row: Mapping[str, Any]) -> None:
    check_kinds(row, str, "id", what="a node")
    what = f"node {row['id'][:40]}"
    check_kinds(row, str, "statement", what=what)
    check_kinds(row, (str, type(None)), "parent", "causality", what=what)
    check_kinds(row, (list, type(None)), "children", what=what)
    check_kinds(row, (dict, type(None)), "polarities", what=what)
    check_kinds(row, bool, "pinned", "stale", "refit_due", what=what)
    if not all(isinstance(child, str) for child in row.get("children") or ()):
        raise TreeFormatError(f"children of {what} must be ids, not {str(row['children'])[:80]!r}")


def _proposition(
    row: Mapping[str, Any], children: list[str], rule_from_json: Callable[[Mapping[str, Any]], Rule] | None
) -> Proposition:
    node = row["id"]
    rule = None
    if row.get("rule") is not None:
        if rule_from_json is None:
            raise TreeFormatError(
                f"{node} holds a rule: read this tree with workbench.synthesis.tree_from_json"
            )
        rule = rule_from_json(row["rule"])
    try:
        polarities = {child: Polarity(value) for child, value in (row.get("polarities") or {}).items()}
    except ValueError:
        raise TreeFormatError(
            f"{node}: a polarity is Positive or Negative, not {row['polarities']!r}"
        ) from None
    belief, model = row.get("belief"), row.get("model_belief")
    return Proposition(
        id=node,
        statement=row["statement"],
        children=tuple(row["children"] if row.get("children") is not None else children),
        causality=row.get("causality") or "",
        polarities=polarities,
        belief=Belief.from_json(belief) if belief is not None else None,
        model_belief=Belief.from_json(model) if model is not None else None,
        override=Override.from_json(row["override"]) if row.get("override") is not None else None,
        rule=rule,
        pinned=bool(row.get("pinned", False)),
        stale=bool(row.get("stale", False)),
        refit_due=bool(row.get("refit_due", False)),
    )
