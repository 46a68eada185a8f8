"""The proposition tree and what an analyst does to it: pure values, no input or output, no clock."""

from workbench.propositions.errors import (
    CycleError,
    DuplicateId,
    DuplicateStatement,
    EditConflict,
    IdMismatch,
    NotExpandable,
    OrphanNode,
    ProbabilityOutOfRange,
    TreeError,
    TreeFormatError,
    UnknownNode,
)
from workbench.propositions.graft import branch_of, graft
from workbench.propositions.ids import (
    ROOT,
    NodeId,
    child_id,
    child_ids,
    depth_of,
    is_id,
    is_under,
    natural_order,
    parent_of,
    parse_id,
    to_global,
    to_local,
)
from workbench.propositions.rule import Rule
from workbench.propositions.tree import Tree
from workbench.propositions.values import Belief, Override, Polarity, Proposition, check_probability

__all__ = [
    "ROOT",
    "Belief",
    "CycleError",
    "DuplicateId",
    "DuplicateStatement",
    "EditConflict",
    "IdMismatch",
    "NodeId",
    "NotExpandable",
    "OrphanNode",
    "Override",
    "Polarity",
    "ProbabilityOutOfRange",
    "Proposition",
    "Rule",
    "Tree",
    "TreeError",
    "TreeFormatError",
    "UnknownNode",
    "branch_of",
    "check_probability",
    "child_id",
    "child_ids",
    "depth_of",
    "graft",
    "is_id",
    "is_under",
    "natural_order",
    "parent_of",
    "parse_id",
    "to_global",
    "to_local",
]
