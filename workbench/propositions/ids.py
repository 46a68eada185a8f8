"""Ids of propositions: ``P0`` is the root, ``P1, P2, ...`` its children, ``P1.1, P1.2, ...`` theirs.

The id alone tells the parent and the depth, so no lookup can go astray (paper A, App. E, Fig. 16). Ids sort by number, not
by letter: P2 comes before P10.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from workbench.propositions.errors import IdMismatch

NodeId = str

ROOT: NodeId = "P0"

_NUMBER = re.compile(r"[1-9][0-9]*")
# [0-9] and not \d, which also takes the digits of other scripts.
_ID = re.compile(r"P0|P[1-9][0-9]*(?:\.[1-9][0-9]*)*")


def is_id(text: object) -> bool:
    """Whether the text is a well-formed id.

    >>> [is_id(x) for x in ("P0", "P10.2", "P0.1", "P1.", "p1", "P01")]
    [True, True, False, False, False, False]
    """
    return isinstance(text, str) and _ID.fullmatch(text) is not None


def require_id(text: object) -> str:
    """Return the text, if it is an id.

    Raises `IdMismatch`: It is not.
    """
    if not is_id(text):
        raise IdMismatch(f"{str(text)[:80]!r} is not a proposition id; ids look like P0, P1, P1.1")
    return str(text)


def parse_id(text: str) -> tuple[int, ...]:
    """Return the id's numbers, one per level below the root; sorts ids naturally.

    Raises `IdMismatch`: The text is not an id.

    >>> parse_id("P0"), parse_id("P10.2")
    ((), (10, 2))
    >>> sorted(["P10", "P2", "P1.1", "P1", "P0"], key=parse_id)
    ['P0', 'P1', 'P1.1', 'P2', 'P10']
    """
    if require_id(text) == ROOT:
        return ()
    return tuple(int(part) for part in text[1:].split("."))


def natural_order(ids: Iterable[str]) -> list[str]:
    """Ids in depth-first order, siblings by number."""
    return sorted(ids, key=parse_id)


def depth_of(node: NodeId) -> int:
    """Count the levels below the root: 0 for P0, 1 for P3, 2 for P3.1."""
    return 0 if node == ROOT else node.count(".") + 1


def parent_of(node: NodeId) -> NodeId | None:
    """The parent's id; None for the root.

    >>> parent_of("P1.10"), parent_of("P10"), parent_of("P0")
    ('P1', 'P0', None)
    """
    if node == ROOT:
        return None
    head, dot, _ = node.rpartition(".")
    return head if dot else ROOT


def child_id(parent: NodeId, number: int) -> NodeId:
    """Return the id of the parent's child with this number, from 1.

    >>> child_id("P0", 3), child_id("P1.2", 1)
    ('P3', 'P1.2.1')
    """
    if number < 1:
        raise IdMismatch(f"children are numbered from 1, not {number}")
    return f"P{number}" if parent == ROOT else f"{parent}.{number}"


def is_child_id(node: object, parent: NodeId) -> bool:
    """Whether the text is an id right under this (well-formed) parent; looks at its last number only.

    >>> is_child_id("P1.10", "P1"), is_child_id("P10", "P1"), is_child_id("P1.2.3", "P1"), is_child_id("P0", "P0")
    (True, False, False, False)
    """
    if not isinstance(node, str):
        return False
    start = "P" if parent == ROOT else parent + "."
    return node.startswith(start) and _NUMBER.fullmatch(node, len(start)) is not None


def child_ids(parent: NodeId, count: int) -> list[NodeId]:
    """Ids of the parent's first ``count`` children."""
    return [child_id(parent, number) for number in range(1, count + 1)]


def child_number(node: NodeId) -> int:
    """The node's number among its siblings."""
    if node == ROOT:
        raise IdMismatch("the root has no siblings")
    return int(node.rpartition(".")[2] if "." in node else node[1:])


def to_global(local: NodeId, root: NodeId) -> NodeId:
    """Return the id in the whole tree of a node that an analysis of ``root`` calls ``local``.

    A recursive analysis (Analytica^n) answers in ids of its own, where its proposition is P0.

    >>> to_global("P1", "P1.2"), to_global("P0", "P1.2"), to_global("P3.1", "P0")
    ('P1.2.1', 'P1.2', 'P3.1')
    """
    if root == ROOT or local == ROOT:
        return root if local == ROOT else local
    return f"{root}.{local[1:]}"


def is_under(node: NodeId, ancestor: NodeId) -> bool:
    """Whether the node lies strictly below the other one.

    >>> is_under("P1.2", "P1"), is_under("P10", "P1"), is_under("P10", "P0"), is_under("P1", "P1")
    (True, False, True, False)
    """
    if ancestor == ROOT:
        return node != ROOT
    return node.startswith(ancestor + ".")
