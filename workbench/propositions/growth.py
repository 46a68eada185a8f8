"""Choose the leaf to analyze next: recursion to a depth, sequential expansion to a number of leaves, cutting back to one.

The engine asks here while it plans a run. Paper A, sections 4.4 and 5.3: a leaf becomes the root of an analysis of its own, in
local ids, which ``Tree.graft`` hangs in its place; each analysis sees one proposition only.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from workbench.propositions.errors import TreeError
from workbench.propositions.ids import ROOT, NodeId, depth_of
from workbench.propositions.tree import Tree


def recursion_round(tree: Tree, done: Collection[NodeId] = ()) -> tuple[NodeId, ...]:
    """The leaves that the next level of Analytica^n analyzes, all at once: ungrounded and not tried before.

    Depth 1 is the analysis of the root; each further depth analyzes every leaf there is then.
    """
    return tuple(leaf for leaf in tree.leaves() if tree[leaf].belief is None and leaf not in done)


def next_leaf(tree: Tree, target: int, done: Collection[NodeId] = ()) -> NodeId | None:
    """The leaf that sequential expansion analyzes next, or None when the target is reached or nothing is left.

    The shallowest comes first, then tree order, so the tree stays even.
    """
    if target < 1:
        raise TreeError(f"the leaf target must be at least 1, not {target}")
    if len(tree.leaves()) >= target:
        return None
    open_leaves = recursion_round(tree, done)
    return min(open_leaves, key=depth_of) if open_leaves else None


def next_leaves(tree: Tree, target: int, most: int, done: Collection[NodeId] = ()) -> tuple[NodeId, ...]:
    """Return the leaves that sequential expansion is sure to analyze next, whatever it finds: those may go side by side.

    ``most`` is how many leaves one analysis may give. The first is ``next_leaf``'s; the k-th is sure as long as those before
    it cannot reach the target alone, and none of them can give a leaf as shallow as it.
    """
    first = next_leaf(tree, target, done)
    if first is None:
        return ()
    gain = max(1, most - 1)  # the leaf itself becomes an inner node
    sure = -(-(target - len(tree.leaves())) // gain)
    level = [leaf for leaf in recursion_round(tree, done) if depth_of(leaf) == depth_of(first)]
    return tuple(level[:sure])


def trim(tree: Tree, most: int, last: Collection[NodeId]) -> Tree:
    """Cut the tree back to at most ``most`` leaves by taking out nodes of the last round, the latest first.

    `last`: Ids the last round added; only these go, and never a parent's only child.

    Raises `TreeError`: The other nodes alone are more than ``most``.
    """
    for node in reversed(tree.in_order(last)):
        if len(tree.leaves()) <= most:
            break
        # Children come after their parents in tree order, so reversed they go first and their parent may become a leaf.
        parent = tree.parent(node) if node in tree else None
        if parent is not None and tree[node].is_leaf and len(tree[parent].children) > 1:
            tree = _without(tree, node)
    if len(tree.leaves()) > most:
        raise TreeError(
            f"the tree has {len(tree.leaves())} leaves; its last round cannot be cut back to {most}"
        )
    return tree


def _without(tree: Tree, node: NodeId) -> Tree:
    parent = tree.parent(node) or ROOT
    # remove_node always asks for a refit, but a parent that was never synthesized has nothing to remake.
    fresh = tree[parent].rule is None and not tree[parent].refit_due
    cut = tree.remove_node(node)
    return cut.with_propositions([replace(cut[parent], refit_due=False)]) if fresh else cut
