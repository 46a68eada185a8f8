"""Errors of proposition trees: each is the caller's mistake, and its one line says how to mend it.

TreeError(UsageError, ValueError)
├── UnknownNode(KeyError)       no proposition has this id; the message lists the nearest ones
├── IdMismatch                  an id that is malformed, or does not lie under its parent
├── DuplicateId                 an id that is used twice
├── DuplicateStatement          a statement that is used twice
├── OrphanNode                  a node whose parent is not in the tree, or no single root
├── CycleError                  a node that is its own ancestor
├── NotExpandable               children for a node that has some, or that is grounded already
├── ProbabilityOutOfRange       a soft truth value outside [0, 1]
├── TreeFormatError             a stored tree that cannot be read
└── EditConflict                an edit made against an older state
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from workbench.errors import UsageError


class TreeError(UsageError, ValueError):
    """The base of this room's errors."""

    __str__ = Exception.__str__


class UnknownNode(TreeError, KeyError):
    """No proposition has this id."""

    __str__ = Exception.__str__

    def __init__(self, node: str, known: Iterable[str]):
        ids = list(known)
        near = get_close_matches(str(node), ids, n=5, cutoff=0.5) or ids[:5]
        super().__init__(f"no driver {node!r} in this tree; nearest: {', '.join(near)}")
        self.node = node
        self.nearest = tuple(near)

    def __reduce__(self) -> tuple[type[UnknownNode], tuple[str, tuple[str, ...]]]:
        return type(self), (self.node, self.nearest)


class IdMismatch(TreeError):
    """An id that is malformed or does not lie under its parent."""


class DuplicateId(TreeError):
    """Two propositions with one id."""


class DuplicateStatement(TreeError):
    """Two propositions with one statement."""


class OrphanNode(TreeError):
    """A node outside the one tree that starts at P0."""


class CycleError(TreeError):
    """A node that would be its own ancestor."""


class NotExpandable(TreeError):
    """A node that cannot take children."""


class ProbabilityOutOfRange(TreeError):
    """A soft truth value outside [0, 1], or not a number."""


class TreeFormatError(TreeError):
    """A stored tree, belief or edit that cannot be read."""


class EditConflict(TreeError):
    """An edit made against an older state of the tree or the scenario."""
