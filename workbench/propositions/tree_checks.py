"""Check that a set of propositions is one tree; ``Tree`` runs these checks when it is made from rows and when it grows."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.propositions.errors import (
    CycleError,
    DuplicateStatement,
    IdMismatch,
    OrphanNode,
    TreeFormatError,
    UnknownNode,
)
from workbench.propositions.ids import ROOT, NodeId, is_child_id, natural_order, parent_of, require_id
from workbench.propositions.values import Proposition
from workbench.terminal import shown_line


def normal_statement(statement: str) -> str:
    """Normalize case, spaces and the last full stop: equal results are one statement said twice.

    >>> normal_statement("  The VIX  closes above 20. ")
    'the vix closes above 20'
    """
    return " ".join(statement.split()).rstrip(".").casefold()


def check_statement(node: NodeId, statement: object) -> str:
    """Clean the statement to one line, as screens show it: a model's reply or a stranger's tree may hold what steers a terminal.

    Raises `TreeFormatError`: Empty, or no text.
    """
    if not isinstance(statement, str) or not statement.strip():
        raise TreeFormatError(f"{node} needs a statement")
    return shown_line(statement).strip()


def check_parents(parents: Mapping[NodeId, NodeId | None]) -> None:
    """Check stated parents: one root, every parent in the tree, no cycle, ids that lie under their parent.

    Raises `CycleError, OrphanNode, IdMismatch`.
    """
    misplaced = False
    for start, parent in parents.items():
        # a node right under a well-formed parent is well-formed: no need to read a long id from its start
        if parent is None or not is_child_id(start, parent):
            require_id(start)
            misplaced = misplaced or parent != parent_of(start)
        if parent is not None and parent not in parents:
            raise OrphanNode(f"{start} hangs under {parent}, which is not in the tree")
    if misplaced:
        _refuse_misplaced(parents)
    if ROOT not in parents:
        raise OrphanNode("the tree has no root P0")


def _refuse_misplaced(parents: Mapping[NodeId, NodeId | None]) -> None:
    """Name the fault among parents of which one at least is not its child's by the id."""
    # Cycles before ids: no cycle has ids that fit, so the check below would call every cycle a mere mismatch. Nodes on a
    # finished trail are not walked again, which keeps a long chain linear.
    cleared: set[NodeId] = set()
    for start in parents:
        trail: dict[NodeId, None] = {}
        node: NodeId | None = start
        while node is not None and node not in cleared:
            if node in trail:
                loop = [*list(trail)[list(trail).index(node) :], node]
                raise CycleError(f"these nodes lie under each other: {' -> '.join(loop)}")
            trail[node] = None
            node = parents[node]
        cleared.update(trail)
    for start, parent in parents.items():
        if parent != parent_of(start):
            raise IdMismatch(
                f"{start} cannot hang under {parent}: by its id its parent is {parent_of(start)}"
            )


def check_nodes(nodes: Mapping[NodeId, Proposition]) -> dict[str, NodeId]:
    """Check that the propositions are one tree; return the index of their statements.

    Raises `TreeError`: Of the kind that fits: see ``workbench.propositions.errors``.
    """
    parents: dict[NodeId, NodeId | None] = {node: parent_of(node) for node in nodes}
    check_parents(parents)
    n_children = 0
    for node, proposition in nodes.items():
        if proposition.id != node:
            raise IdMismatch(f"the proposition kept as {node} calls itself {proposition.id}")
        n_children += len(proposition.children)
        if len(set(proposition.children)) != len(proposition.children):
            raise IdMismatch(f"{node} lists a child twice")
        for child in proposition.children:
            if child not in nodes:
                raise UnknownNode(child, nodes)
            if parents[child] != node:
                what = CycleError if child in (node, ROOT) or node.startswith(child + ".") else IdMismatch
                raise what(f"{node} lists {child} as its child, whose place is under {parents[child]}")
        stray = proposition.polarities.keys() - set(proposition.children)
        if stray:
            raise IdMismatch(f"{node} has a polarity for {', '.join(sorted(stray))}, not its child")
    # Every listed child lies under its parent and none twice, so a smaller count can only mean that some are not listed.
    if n_children != len(nodes) - 1:
        children = {child for proposition in nodes.values() for child in proposition.children}
        lost = natural_order(nodes.keys() - children - {ROOT})
        raise OrphanNode(f"{', '.join(lost)} not listed by the parent")
    return statement_index(nodes)


def statement_index(nodes: Mapping[NodeId, Proposition]) -> dict[str, NodeId]:
    """Index the nodes by normal statement.

    Raises `DuplicateStatement`: Two propositions say the same.
    """
    index: dict[str, NodeId] = {}
    for node, proposition in nodes.items():
        add_statement(index, node, proposition.statement)
    return index


def add_statement(index: dict[str, NodeId], node: NodeId, statement: str) -> None:
    """Enter one statement into the index.

    Raises `DuplicateStatement`: Another proposition says the same.
    """
    other = index.setdefault(normal_statement(statement), node)
    if other != node:
        raise DuplicateStatement(f"{node} repeats {other}: {statement.strip()!r}")
