"""Recompute the ancestors of edited propositions and nothing else, without a model call. Paper A, section 4.1 and D.7."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from workbench.propositions import NodeId, Proposition, Tree, check_probability, depth_of, parent_of
from workbench.synthesis.whatif.evaluation import clamp, follows_children, with_value


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One proposition's value before and after; None where there is none, or no longer."""

    id: NodeId
    before: float | None
    after: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """The effect of an edit; the engine, the page and the command line show it."""

    #: before, after: The root's value; ``after`` is None when a node without a function lies on the path.
    before: float | None
    after: float | None
    #: The edited nodes and the ancestors that moved, in natural order.
    changed: tuple[Change, ...]
    #: Ancestors whose value is out of date until a full resynthesis.
    stale: tuple[NodeId, ...]
    #: Ancestors whose raw value left [0, 1] and is held at the bound.
    saturated: tuple[NodeId, ...]
    #: Raw value per recomputed ancestor.
    raw: Mapping[NodeId, float]
    #: The tree after the edit; the one before is untouched.
    tree: Tree

    def to_json(self) -> dict[str, Any]:
        """Return the document of ``workbench whatif --json`` for a numeric edit."""
        return {
            "before": self.before,
            "after": self.after,
            "changed": [asdict(change) for change in self.changed],
            "stale": list(self.stale),
            "saturated": list(self.saturated),
            "model_calls": 0,
        }


def resynthesize(tree: Tree, edits: Mapping[NodeId, float]) -> WhatIf:
    """Set soft truth values and recompute the ancestors.

    An edited inner node is pinned: it stops following its children, and edits below it move nothing above it.

    Raises `UnknownNode, ProbabilityOutOfRange`.

    >>> from workbench.propositions import Belief, Tree
    >>> from workbench.synthesis import LinearRule, settle
    >>> tree = Tree.root_only("Rates are cut").expand("P0", {"P1": "Growth slows", "P2": "Jobs are lost"})
    >>> tree = tree.with_belief("P1", Belief(p=0.8)).with_belief("P2", Belief(p=0.5))
    >>> tree = settle(tree.with_rule("P0", LinearRule(0.0, {"P1": 0.5, "P2": 0.2})))
    >>> answer = resynthesize(tree, {"P2": 0.0})
    >>> answer.before, answer.after, [change.id for change in answer.changed]
    (0.5, 0.4, ['P0', 'P2'])
    """
    ready = {node: check_probability(p, of=f"p of {tree[node].id}") for node, p in edits.items()}
    after = tree
    for node, p in ready.items():
        after = after.set_p(node, p)
    return refresh(tree, after, ready)


def refresh(before: Tree, after: Tree, touched: Iterable[NodeId]) -> WhatIf:
    """Recompute the ancestors of the touched nodes of an edited tree.

    ``touched`` names what the edit changed: a node with a new value, or the parent whose children or rule changed. Such a
    parent is itself recomputed.
    """
    edited = set(touched)
    due = _upwards(after, edited)
    fresh: dict[NodeId, Proposition] = {}
    stale: list[NodeId] = []
    raw: dict[NodeId, float] = {}
    saturated: list[NodeId] = []
    for node_id in due:
        node = after[node_id]
        if not node.children or node.pinned:
            continue
        below = {}
        for child in node.children:
            below[child] = (fresh[child] if child in fresh else after[child]).p
        if not follows_children(node):
            # An edited node is exempt: the edit itself gave it its value, or marked it stale.
            moved = any(child not in before or before[child].p != p for child, p in below.items())
            if node.belief is not None and (node.stale or (moved and node_id not in edited)):
                fresh[node_id] = replace(node, stale=True)
                stale.append(node_id)
        elif None in below.values():
            if node.belief is not None:
                fresh[node_id] = replace(node, stale=True)
                stale.append(node_id)
        else:
            assert node.rule is not None
            raw[node_id] = value = node.rule.evaluate(below)  # type: ignore[arg-type]
            fresh[node_id] = with_value(node, clamp(value))
            if value < -1e-12 or value > 1 + 1e-12:
                saturated.append(node_id)
    result = after.with_propositions(fresh.values()) if fresh else after
    changes = []
    for node_id in result.in_order({*edited, *fresh}):
        old = before[node_id].p if node_id in before else None
        new = result[node_id].p
        if node_id in edited or old != new:
            changes.append(Change(id=node_id, before=old, after=new))
    return WhatIf(
        before=before.root.p,
        after=result.root.p,
        changed=tuple(changes),
        stale=result.in_order(stale),
        saturated=result.in_order(saturated),
        raw=raw,
        tree=result,
    )


def _upwards(tree: Tree, edited: Iterable[NodeId]) -> list[NodeId]:
    due: set[NodeId] = set()
    for start in edited:
        node = parent_of(start)
        while node is not None and node not in due:
            due.add(node)
            if tree[node].pinned:  # it hides what lies below from what lies above
                break
            node = parent_of(node)
    return sorted(due.union(edited), key=depth_of, reverse=True)
