"""The proposition tree: an immutable value; every edit gives a new one and leaves the old as it was.

Nothing here recurses, so a chain of thousands of nodes is as good as a bush. An edit shares what it does not touch: a new value
in ten thousand nodes costs what it costs in ten (``shared_dict``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from workbench.propositions import tree_checks as checks
from workbench.propositions.errors import (
    DuplicateId,
    IdMismatch,
    NotExpandable,
    TreeError,
    UnknownNode,
)
from workbench.propositions.ids import (
    ROOT,
    NodeId,
    child_id,
    child_number,
    depth_of,
    natural_order,
    parent_of,
    require_id,
    to_global,
)
from workbench.propositions.proposition_json import RuleReader, proposition_to_json, rows_from_json
from workbench.propositions.rule import Polarity, Rule
from workbench.propositions.shared_dict import SharedDict
from workbench.propositions.values import Belief, Override, Proposition


class Tree:
    """Propositions under one root, immutable.

    >>> tree = Tree.root_only("Rates fall this year").expand("P0", {"P2": "Growth slows", "P1": "Inflation slows"})
    >>> tree.ids(), tree["P2"].statement, tree.leaves()
    (('P0', 'P1', 'P2'), 'Growth slows', ('P1', 'P2'))
    """

    __slots__ = ("_leaves", "_nodes", "_order", "_statements")

    _nodes: SharedDict[NodeId, Proposition]
    _order: tuple[NodeId, ...] | None
    _leaves: tuple[NodeId, ...] | None
    _statements: dict[str, NodeId] | None

    def __init__(self, propositions: Iterable[Proposition]):
        """Make a tree of ready propositions, in any order.

        Raises `TreeError`: They are not one tree.
        """
        nodes: dict[NodeId, Proposition] = {}
        for proposition in propositions:
            if proposition.id in nodes:
                raise DuplicateId(f"{proposition.id} is in the tree twice")
            statement = checks.check_statement(proposition.id, proposition.statement)
            if not proposition.statement.isprintable():
                proposition = replace(proposition, statement=statement)
            if len(proposition.children) > 1:
                # Whatever order rows come in, ids() must be in natural order: in_order's two ways give the same only then.
                ordered = tuple(sorted(map(require_id, proposition.children), key=_sibling_order))
                if ordered != proposition.children:
                    proposition = replace(proposition, children=ordered)
            nodes[proposition.id] = proposition
        self._statements = checks.check_nodes(nodes)
        self._nodes = SharedDict(nodes)
        self._order = self._leaves = None

    @classmethod
    def root_only(cls, statement: str) -> Tree:
        """A tree of one proposition, P0."""
        return cls([Proposition(id=ROOT, statement=checks.check_statement(ROOT, statement))])

    @classmethod
    def _from(cls, nodes: SharedDict[NodeId, Proposition], like: Tree, *, same_shape: bool) -> Tree:
        tree = cls.__new__(cls)
        tree._nodes = nodes
        # Propositions are shared, and so are order and index while ids and words stay; else they are made when first asked.
        tree._order = like._order if same_shape else None
        tree._leaves = like._leaves if same_shape else None
        tree._statements = like._statements if same_shape else None
        return tree

    # -- reading

    def __getitem__(self, node: NodeId) -> Proposition:
        try:
            return self._nodes[node]
        except KeyError:
            raise UnknownNode(node, self._nodes) from None

    def p_of(self, node: NodeId) -> float | None:
        """The value in effect; None without one, and for a node that is not in the tree."""
        return self._nodes[node].p if node in self._nodes else None

    def __contains__(self, node: object) -> bool:
        return node in self._nodes

    def __len__(self) -> int:
        return len(self._nodes)

    def __iter__(self) -> Iterator[NodeId]:
        return iter(self.ids())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        return self._nodes.as_dict() == other._nodes.as_dict()

    # Compared by content, but the propositions hold mappings, which have no hash.
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Tree of {len(self)} propositions, {len(self.leaves())} leaves: {self.root.statement!r}>"

    @property
    def root(self) -> Proposition:
        """The proposition the analysis is about."""
        return self._nodes[ROOT]

    @property
    def depth(self) -> int:
        """Levels below the root; 0 for a root alone."""
        return max(map(depth_of, self._nodes))

    def ids(self) -> tuple[NodeId, ...]:
        """All ids, depth first, siblings in natural order."""
        if self._order is None:
            order: list[NodeId] = []
            stack, nodes = [ROOT], self._nodes.as_dict()
            while stack:
                node = stack.pop()
                order.append(node)
                stack.extend(reversed(nodes[node].children))
            self._order = tuple(order)
        return self._order

    def propositions(self) -> list[Proposition]:
        """All propositions, in the order of :meth:`ids`."""
        nodes = self._nodes.as_dict()
        return [nodes[node] for node in self.ids()]

    def leaves(self) -> tuple[NodeId, ...]:
        """Ids without children, in the order of :meth:`ids`; a root alone is a leaf."""
        if self._leaves is None:
            nodes = self._nodes.as_dict()
            self._leaves = tuple(node for node in self.ids() if not nodes[node].children)
        return self._leaves

    def inner(self) -> tuple[NodeId, ...]:
        """Ids with children, the root among them, in the order of :meth:`ids`."""
        nodes = self._nodes.as_dict()
        return tuple(node for node in self.ids() if nodes[node].children)

    def stale(self) -> tuple[NodeId, ...]:
        """Ids whose value is out of date, in the order of :meth:`ids`."""
        return self.in_order(node for node, value in self._nodes.as_dict().items() if value.stale)

    def parent(self, node: NodeId) -> NodeId | None:
        """The parent's id; None for the root."""
        return parent_of(self[node].id)

    def ancestors(self, node: NodeId) -> tuple[NodeId, ...]:
        """Ids from the parent up to the root."""
        path: list[NodeId] = []
        parent = self.parent(node)
        while parent is not None:
            path.append(parent)
            parent = parent_of(parent)
        return tuple(path)

    def children(self, node: NodeId) -> tuple[Proposition, ...]:
        """The propositions right below, in natural order."""
        return tuple(self._nodes[child] for child in self[node].children)

    def below(self, node: NodeId) -> tuple[NodeId, ...]:
        """Ids of the whole branch under the node, without it, depth first."""
        branch: list[NodeId] = []
        stack = list(reversed(self[node].children))
        while stack:
            branch.append(stack.pop())
            stack.extend(reversed(self._nodes[branch[-1]].children))
        return tuple(branch)

    def in_order(self, ids: Iterable[NodeId]) -> tuple[NodeId, ...]:
        """Those of the ids that are in the tree, in the order of :meth:`ids`."""
        wanted = {node for node in ids if node in self._nodes}
        if sum(map(len, wanted)) < len(self._nodes):  # few short ids: cheaper to sort than to walk the tree
            return tuple(natural_order(wanted))
        return tuple(node for node in self.ids() if node in wanted)

    # -- growing and cutting

    def expand(
        self,
        parent: NodeId,
        children: Mapping[NodeId, str],
        polarities: Mapping[NodeId, Polarity] | None = None,
        causality: str = "",
    ) -> Tree:
        """Add children under an ungrounded leaf.

        Raises `UnknownNode, NotExpandable, IdMismatch, DuplicateId, DuplicateStatement`.
        """
        node = self[parent]
        if node.children:
            raise NotExpandable(f"{parent} has children already: {', '.join(node.children)}")
        if node.belief is not None:
            raise NotExpandable(f"{parent} has its value already; use add_child to hang a driver under it")
        if not children:
            raise NotExpandable(f"{parent} needs at least one child")
        return self._hang(node, children, polarities or {}, causality=causality)

    def add_child(
        self, parent: NodeId, statement: str, *, polarity: Polarity | None = None, child: NodeId | None = None
    ) -> Tree:
        """Add one more proposition under a node, which keeps its value.

        A rule gives the new child weight 0 and is due to be remade; a node without a function turns stale.
        The id is the next free one unless given.
        """
        node = self[parent]
        if child is None:
            child = child_id(parent, max(map(child_number, node.children), default=0) + 1)
        polarities = {} if polarity is None else {child: polarity}
        tree = self._hang(node, {child: statement}, polarities, causality=node.causality)
        rule = node.rule and node.rule.with_child(child)
        # A weight of 0 leaves a computed value right. A value that was stated for the old children has no such weight.
        voiceless = rule is not None and not rule.numeric
        return tree._with(replace(tree[parent], rule=rule, refit_due=True, stale=node.stale or voiceless))

    def _hang(
        self,
        above: Proposition,
        children: Mapping[NodeId, str],
        polarities: Mapping[NodeId, Polarity],
        *,
        causality: str,
    ) -> Tree:
        index = self._statement_index()
        nodes = self._nodes.copy()
        for child, statement in children.items():
            require_id(child)
            if child in nodes:
                raise DuplicateId(f"{child} is in the tree already")
            if parent_of(child) != above.id:
                raise IdMismatch(
                    f"{child} cannot hang under {above.id}; its children are {child_id(above.id, 1)}, ..."
                )
            statement = checks.check_statement(child, statement)
            checks.add_statement(index, child, statement)
            nodes[child] = Proposition(id=child, statement=statement)
        stray = polarities.keys() - children.keys()
        if stray:
            raise IdMismatch(
                f"a polarity for {', '.join(sorted(stray))}, which is not among the children of {above.id}"
            )
        nodes[above.id] = replace(
            above,
            children=tuple(sorted((*above.children, *children), key=_sibling_order)),
            polarities={
                **above.polarities,
                **{child: Polarity(value) for child, value in polarities.items()},
            },
            causality=causality,
        )
        tree = Tree._from(nodes, self, same_shape=False)
        tree._statements = index
        return tree

    def remove_node(self, node: NodeId) -> Tree:
        """Remove the node and the branch below it.

        The parent's rule keeps its other coefficients and is due to be remade; without a function it turns stale. A
        parent that loses its last child keeps its value as a leaf.
        """
        gone = {node, *self.below(node)}
        parent = self.parent(node)
        if parent is None:
            raise TreeError("the claim itself cannot be removed")
        nodes = SharedDict({key: value for key, value in self._nodes.items() if key not in gone})
        above = nodes[parent]
        children = tuple(child for child in above.children if child != node)
        rule = above.rule.without(node) if above.rule is not None and children else None
        lost = bool(children) and (rule is None or not rule.numeric)
        nodes[parent] = replace(
            above,
            children=children,
            polarities={child: value for child, value in above.polarities.items() if child != node},
            rule=rule,
            pinned=above.pinned and bool(children),
            stale=above.stale or (lost and not above.pinned and above.belief is not None),
            refit_due=True,
        )
        return Tree._from(nodes, self, same_shape=False)

    def graft(self, node: NodeId, branch: Tree) -> Tree:
        """Replace an ungrounded leaf by an analysis of it, whose ids are local (P0 is the leaf).

        The leaf keeps its statement; the branch's values and notes come along. A recursive analysis (Analytica^n, paper A,
        section 4.4 and A.2) answers in ids of its own, so that it cannot see the rest of the tree.

        Raises
        ------
        NotExpandable
            The node has children or a value, or the branch's rules name local ids (graft before synthesis).
        DuplicateStatement
            The branch says what another proposition of the tree says already.
        """
        leaf = self[node]
        if leaf.children or leaf.belief is not None:
            raise NotExpandable(
                f"{node} must have neither a value nor drivers below it to hang an analysis under it"
            )
        if any(proposition.rule is not None for proposition in branch.propositions()):
            raise NotExpandable(
                f"graft the analysis of {node} before it is synthesized: its rules name its local ids"
            )
        # The branch is in tree order, so its first proposition is its P0, the leaf itself.
        top, *rest = [
            replace(
                proposition,
                id=to_global(proposition.id, node),
                children=tuple(to_global(child, node) for child in proposition.children),
                polarities={to_global(child, node): value for child, value in proposition.polarities.items()},
            )
            for proposition in branch.propositions()
        ]
        others = (proposition for proposition in self.propositions() if proposition.id != node)
        # the analysis below does not know the words of the one above on the leaf
        top = replace(
            top,
            statement=leaf.statement,
            resolves_by=top.resolves_by or leaf.resolves_by,
            reference_class=top.reference_class or leaf.reference_class,
        )
        return Tree([*others, top, *rest])

    def annotate(self, node: NodeId, **words: str) -> Tree:
        """Set the analyzer's words on a node (analysis, resolves_by, reference_class, combine); empty ones stay as they were."""
        stated: dict[str, Any] = {name: text for name, text in words.items() if text}
        return self._with(replace(self[node], **stated))

    def restate(self, node: NodeId, statement: str, *, keep_belief: bool = False) -> Tree:
        """Put a node into other words.

        A belief was about the old words, so it turns stale, and the parent's rule is due to be remade, unless
        ``keep_belief`` says that only the wording changed.
        """
        old = self[node]
        statement = checks.check_statement(node, statement)
        index = self._statement_index()
        # Its own old words do not count as a repetition: a restatement may differ in case alone.
        index.pop(checks.normal_statement(old.statement), None)
        checks.add_statement(index, node, statement)
        other_sense = not keep_belief
        changed = [
            replace(
                old,
                statement=statement,
                stale=old.stale or (other_sense and old.belief is not None),
                refit_due=old.refit_due or (other_sense and old.rule is not None),
            )
        ]
        parent = self.parent(node)
        if parent is not None and not keep_belief:
            changed.append(replace(self._nodes[parent], refit_due=self._nodes[parent].rule is not None))
        tree = self._with(*changed)
        tree._statements = index
        return tree

    def with_polarity(self, node: NodeId, polarity: Polarity) -> Tree:
        """Set another stated polarity of a node; its parent's rule is due to be remade, and stays as it is.

        Raises `TreeError`: The root, which speaks for nothing.
        """
        parent = self.parent(node)
        if parent is None:
            raise TreeError("the claim has no polarity: there is nothing above it to speak for")
        above = self[parent]
        return self._with(
            replace(
                above,
                polarities={**above.polarities, node: polarity},
                refit_due=above.refit_due or above.rule is not None,
            )
        )

    # -- values

    def with_belief(self, node: NodeId, belief: Belief) -> Tree:
        """Set a grounding's value at a node; an analyst's value in effect stays in effect."""
        old = self[node]
        # A model's later answer must not undo an override; it waits beside it for unpin.
        if belief.source == "model" and old.belief is not None and old.belief.source == "analyst":
            return self._with(replace(old, model_belief=belief))
        return self._with(replace(old, belief=belief, stale=False))

    def with_rule(self, node: NodeId, rule: Rule | None, belief: Belief | None = None) -> Tree:
        """Set a synthesis at an inner node: the rule and, unless it is pinned, the value."""
        old = replace(self[node], rule=rule, refit_due=False)
        if belief is None:
            return self._with(old)
        return self._with(old).with_belief(node, belief)

    def set_p(
        self,
        node: NodeId,
        p: float,
        *,
        low: float | None = None,
        high: float | None = None,
        override: Override | None = None,
    ) -> Tree:
        """Set an analyst's value or range at a node, the model's stays beside it; an inner node is pinned."""
        old = self[node]
        # A second override keeps the value under the first one, not the first one: unpin goes back to the model's.
        model_belief = (
            old.model_belief if old.belief is None or old.belief.source == "analyst" else old.belief
        )
        # Report and key factor stay readable under the new number; the p here is replaced on the next line.
        words = model_belief if model_belief is not None else Belief(p=0.0)
        belief = replace(words, p=p, low=low, high=high, source="analyst")
        return self._with(
            replace(
                old,
                belief=belief,
                model_belief=model_belief,
                override=override,
                pinned=bool(old.children),
                stale=False,
            )
        )

    def pin(self, node: NodeId) -> Tree:
        """Hold an inner node at the value it has."""
        old = self[node]
        if old.p is None:
            raise TreeError(f"{node} has no value to hold; set one")
        return self.set_p(node, old.p, override=old.override)

    def unpin(self, node: NodeId) -> Tree:
        """Restore the model's value; an inner node then follows its children again.

        An inner value so restored is as old as the pin: resynthesize to bring it up to date.
        """
        old = self[node]
        if old.belief is None or old.belief.source != "analyst":
            return self._with(replace(old, pinned=False))
        return self._with(
            replace(old, belief=old.model_belief, model_belief=None, override=None, pinned=False)
        )

    def with_propositions(self, changed: Iterable[Proposition]) -> Tree:
        """Replace some propositions' values, children and statements unchanged."""
        ready = list(changed)
        for new in ready:
            old = self[new.id]
            if old.children != new.children or old.statement != new.statement:
                raise TreeError(
                    f"{new.id}: use expand, remove_node or restate to change the shape or the words"
                )
        return self._with(*ready)

    def _statement_index(self) -> dict[str, NodeId]:
        return dict(checks.statement_index(self._nodes) if self._statements is None else self._statements)

    def _with(self, *changed: Proposition) -> Tree:
        nodes = self._nodes.copy()
        for new in changed:
            nodes[new.id] = new
        return Tree._from(nodes, self, same_shape=True)

    # -- storing

    def to_json(self) -> dict[str, Any]:
        """Write the tree as one JSON object; :meth:`from_json` gives back an equal tree."""
        return {"nodes": [proposition_to_json(node) for node in self.propositions()]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], *, rule_from_json: RuleReader | None = None) -> Tree:
        """Read a stored tree. One that holds rules needs their reader: ``workbench.synthesis.tree_from_json`` brings it."""
        return cls(rows_from_json(data, rule_from_json))


def _sibling_order(node: NodeId) -> tuple[int, NodeId]:
    # The root has no number. It can stand among children only in a tree that is about to be refused as a cycle.
    return (0, node) if node == ROOT else (child_number(node), node)
