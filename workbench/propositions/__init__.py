"""The proposition tree: pure values, no input or output, no clock."""

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
from workbench.propositions.ids import (
    ROOT,
    NodeId,
    child_id,
    depth_of,
    is_id,
    natural_order,
    parent_of,
    parse_id,
    to_global,
)
from workbench.propositions.rule import Polarity, Rule, RuleLimits
from workbench.propositions.tree import Tree
from workbench.propositions.values import Belief, Override, Proposition, check_probability

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
    "RuleLimits",
    "Tree",
    "TreeError",
    "TreeFormatError",
    "UnknownNode",
    "check_probability",
    "child_id",
    "depth_of",
    "is_id",
    "natural_order",
    "parent_of",
    "parse_id",
    "to_global",
]
