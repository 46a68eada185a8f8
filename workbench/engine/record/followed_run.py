"""What a review begins from: the run before it, its tree, and those of its leaves that carry over."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated, Any

import orjson

from workbench.agents.evidence.carried_values import CarriedLeaf
from workbench.propositions import Belief, NodeId, Tree
from workbench.propositions.strict_json import STRICT, ReadBy, read_strict
from workbench.synthesis import tree_from_json


def _read_tree(data: Any, _context: Any) -> Tree:
    return tree_from_json(data, missing="keep")


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowedRun:
    """The run before a review, as the review's log has it."""

    run: str
    #: As the review plans it: its propositions without beliefs; rules that carry over stand in it.
    tree: Annotated[Tree, ReadBy(_read_tree)]
    #: The leaves that carry over.
    leaves: dict[NodeId, CarriedLeaf] = field(default_factory=dict)
    #: What stood at inner nodes whose rules carry over: their words go on, their values are computed.
    beliefs: dict[NodeId, Belief] = field(default_factory=dict)

    __pydantic_config__ = STRICT

    @classmethod
    def of(
        cls, run: str, tree: Tree, leaves: Mapping[NodeId, CarriedLeaf], *, keep_rules: bool
    ) -> "FollowedRun":
        """Return what a review of a finished run begins from; ``keep_rules``: no synthesizer is asked again."""
        inner = [tree[node] for node in tree.inner()]
        return cls(
            run=run,
            tree=Tree(
                replace(node, belief=None, model_belief=None, rule=node.rule if keep_rules else None)
                for node in tree.propositions()
            ),
            leaves=dict(leaves),
            beliefs={node.id: node.belief for node in inner if keep_rules and node.belief is not None},
        )

    @classmethod
    def read(cls, data: object) -> "FollowedRun":
        """Return what `to_body` wrote; raises ``TreeFormatError`` for anything else."""
        return read_strict(cls, data, what="the run before a review")

    def to_body(self) -> bytes:
        """Return the body as which it is filed."""
        return orjson.dumps({**asdict(replace(self, tree=Tree.root_only("-"))), "tree": self.tree.to_json()})
