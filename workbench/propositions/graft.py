"""Hanging an analysis of a leaf where the leaf stands (recursive analysis, paper A, section 4.4 and A.2)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.propositions.errors import NotExpandable
from workbench.propositions.ids import ROOT, NodeId, to_global, to_local

if TYPE_CHECKING:
    from workbench.propositions.tree import Tree


def graft(tree: Tree, node: NodeId, branch: Tree) -> Tree:
    """The tree with ``branch``, in local ids, in place of the leaf ``node``.

    Raises
    ------
    NotExpandable
        The node has children or a value, or the branch's rules name local ids (graft before synthesis).
    DuplicateStatement
        The branch says what another proposition of the tree says already.
    """
    from workbench.propositions.tree import Tree

    old = tree[node]
    if old.children or old.belief is not None:
        raise NotExpandable(f"{node} must be an ungrounded leaf to hang an analysis under it")
    if any(proposition.rule is not None for proposition in branch.propositions()):
        raise NotExpandable(
            f"graft the analysis of {node} before it is synthesized: its rules name its local ids"
        )
    moved = []
    for proposition in branch.propositions():
        moved.append(
            replace(
                proposition,
                id=to_global(proposition.id, node),
                children=tuple(to_global(child, node) for child in proposition.children),
                polarities={to_global(child, node): value for child, value in proposition.polarities.items()},
            )
        )
    top = replace(moved[0], statement=old.statement)
    return Tree([*(p for p in tree.propositions() if p.id != node), top, *moved[1:]])


def branch_of(tree: Tree, node: NodeId) -> Tree:
    """The branch at ``node`` as a tree of its own, in local ids, unsynthesized.

    What a recursive analysis, which must not see the rest (context locality), is given or gave.
    """
    from workbench.propositions.tree import Tree

    taken = []
    for old in (tree[node], *(tree[below] for below in tree.below(node))):
        taken.append(
            replace(
                old,
                id=to_local(old.id, node),
                children=tuple(to_local(child, node) for child in old.children),
                polarities={to_local(child, node): value for child, value in old.polarities.items()},
                rule=None,
                belief=None if old.children else old.belief,
                model_belief=None if old.children else old.model_belief,
                override=None if old.children else old.override,
                pinned=False,
                stale=False,
                refit_due=False,
            )
        )
    assert taken[0].id == ROOT
    return Tree(taken)
