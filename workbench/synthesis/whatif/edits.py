"""An analyst's edits: what each changes in a tree, and the numbers that follow. Every screen makes `Edit` and calls `play`.

An edit is a plain record: it can be stored, replayed, and undone by leaving it out. No model is called here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime
from typing import Any, ClassVar

from workbench.propositions import (
    Belief,
    NodeId,
    Polarity,
    Tree,
    TreeFormatError,
    check_probability,
    depth_of,
    natural_order,
    parent_of,
)
from workbench.propositions.strict_json import STRICT, StoredId, read_strict
from workbench.propositions.values import Override, check_range
from workbench.synthesis.rules.rule_registry import rule_from_json
from workbench.synthesis.whatif.evaluation import is_saturated, refresh


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """One change of a tree by a person. A kind says how it changes the tree, and where numbers move because of it."""

    __pydantic_config__ = STRICT

    kind: ClassVar[str]
    node: StoredId

    def __post_init__(self) -> None:
        p = getattr(self, "p", None)
        if p is not None:
            object.__setattr__(self, "p", check_probability(p, of=f"p of {self.node}"))

    def applied(self, tree: Tree) -> Tree:
        """Return the tree with this change alone; raises ``TreeError`` or ``RuleError`` where it does not fit."""
        raise NotImplementedError

    @property
    def recomputed(self) -> NodeId:
        """The proposition that is recomputed first, then its ancestors."""
        return self.node

    @property
    def asked_from(self) -> NodeId | None:
        """The lowest proposition that a full resynthesis asks about; what the analyst said of the node itself stands."""
        return parent_of(self.node)

    def to_json(self) -> dict[str, Any]:
        """Write the edit as a plain JSON object with its kind; fields that are None or False are left out.

        >>> SetValue(node="P2.1", p=0.0).to_json()
        {'kind': 'set', 'node': 'P2.1', 'p': 0.0}
        """
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        # By identity: 0.0 == False, and a p of 0 must be stored.
        stated = {name: value for name, value in values.items() if value is not None and value is not False}
        return {
            "kind": self.kind,
            **{name: _JSON.get(type(value), lambda x: x)(value) for name, value in stated.items()},
        }


_JSON: dict[type, Any] = {Override: Override.to_json, Polarity: str}


@dataclass(frozen=True, slots=True, kw_only=True)
class SetValue(Edit):
    """A soft truth value of the analyst's, or a range with its middle; ``override`` has the author, reason and expiry.

    An inner node is pinned.
    """

    kind: ClassVar[str] = "set"
    p: float
    override: Override | None = None
    #: low, high: The ends of a range; None where p is one number.
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        Edit.__post_init__(self)
        check_range(self.low, self.p, self.high, of=f"p of {self.node}")

    def applied(self, tree: Tree) -> Tree:
        """Set the value."""
        return tree.set_p(self.node, self.p, low=self.low, high=self.high, override=self.override)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin(Edit):
    """Hold an inner node at the value it has."""

    kind: ClassVar[str] = "pin"

    def applied(self, tree: Tree) -> Tree:
        """Set the value that the node has."""
        return tree.pin(self.node)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpin(Edit):
    """Give a node back to the model: a leaf to its grounding, an inner node to its children."""

    kind: ClassVar[str] = "unpin"

    def applied(self, tree: Tree) -> Tree:
        """Restore the model's value."""
        return tree.unpin(self.node)

    @property
    def asked_from(self) -> NodeId:
        """The node itself, which the model answers for again."""
        return self.node


@dataclass(frozen=True, slots=True, kw_only=True)
class AddChild(Edit):
    """A new proposition under a node, with a value if there is one; it has no weight until the rule gives it one."""

    kind: ClassVar[str] = "add"
    statement: str
    polarity: Polarity | None = None
    child: StoredId | None = None
    p: float | None = None

    def applied(self, tree: Tree) -> Tree:
        """Hang the child under the node."""
        after = tree.add_child(self.node, self.statement, polarity=self.polarity, child=self.child)
        return after if self.p is None else after.set_p(self.new_child(tree, after), self.p)

    def new_child(self, before: Tree, after: Tree) -> NodeId:
        """Return the id that the child was given."""
        (child,) = set(after[self.node].children) - set(before[self.node].children)
        return child

    @property
    def asked_from(self) -> NodeId:
        """The node itself, whose rule has a child more."""
        return self.node


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveNode(Edit):
    """A branch taken out; the parent's rule keeps its other coefficients."""

    kind: ClassVar[str] = "remove"

    def applied(self, tree: Tree) -> Tree:
        """Cut the branch off."""
        return tree.remove_node(self.node)

    @property
    def recomputed(self) -> NodeId:
        """The parent; the claim itself is not removed."""
        return parent_of(self.node) or self.node


@dataclass(frozen=True, slots=True, kw_only=True)
class Restate(Edit):
    """Other words for a proposition; its value turns stale unless only the wording changed (``keep_belief``)."""

    kind: ClassVar[str] = "restate"
    statement: str
    keep_belief: bool = False

    def applied(self, tree: Tree) -> Tree:
        """Put the node into other words."""
        return tree.restate(self.node, self.statement, keep_belief=self.keep_belief)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetPolarity(Edit):
    """The polarity of a proposition, for or against its parent; a parent's rule that contradicts it is turned."""

    kind: ClassVar[str] = "polarity"
    polarity: Polarity

    def applied(self, tree: Tree) -> Tree:
        """State the polarity, and turn the parent's rule where the proposition moved it the other way until now.

        Without a function the parent is out of date until a synthesis; a rule that cannot be turned stays, due to be remade.
        """
        after = tree.with_polarity(self.node, self.polarity)
        node = after[self.recomputed]
        rule = node.rule
        if rule is None:
            return after
        if not rule.numeric:
            late = replace(node, stale=node.belief is not None and not node.pinned)
            return after.with_propositions([late])
        slope = 0.0
        if self.node in rule.named_children():
            # In the middle, where no factor of the others is 0.
            slope = rule.derivative(dict.fromkeys(node.children, 0.5)).get(self.node, 0.0)
        if slope and (slope > 0) != (self.polarity is Polarity.POSITIVE):
            after = after.with_propositions([replace(node, rule=rule.turned(self.node) or rule)])
        return after

    @property
    def recomputed(self) -> NodeId:
        """The parent; the claim itself speaks for nothing."""
        return parent_of(self.node) or self.node


@dataclass(frozen=True, slots=True, kw_only=True)
class SetReport(Edit):
    """Another text and key factor at a proposition that has a value."""

    kind: ClassVar[str] = "report"
    report: str
    key_factor: str = ""

    def applied(self, tree: Tree) -> Tree:
        """Replace the words, not the value."""
        old = tree[self.node]
        if old.belief is None:
            raise TreeFormatError(f"{self.node} has no value yet, so no report to change")
        words = replace(old.belief, report=self.report, key_factor=self.key_factor or old.belief.key_factor)
        return tree.with_propositions([replace(old, belief=words)])


@dataclass(frozen=True, slots=True, kw_only=True)
class SetRule(Edit):
    """A synthesis rule at an inner node, as JSON: the analyst's, or a full resynthesis's.

    ``p`` is the value stated with a rule that has no function (vanilla); other rules compute theirs.
    """

    kind: ClassVar[str] = "rule"
    rule: Mapping[str, Any]
    p: float | None = None

    def applied(self, tree: Tree) -> Tree:
        """Read the rule and give it to the node."""
        node = tree[self.node]
        if not node.children:
            raise TreeFormatError(f"{self.node} has no drivers below it: a rule needs them")
        rule = rule_from_json(self.rule)
        if unknown := rule.unknown_children(node.children):
            raise TreeFormatError(
                f"the rule of {self.node} names {', '.join(unknown)[:200]}, which it has not below it"
            )
        belief = None
        if self.p is not None and not rule.numeric:
            belief = replace(node.belief or Belief(p=self.p), p=self.p, source="model")
        return tree.with_rule(self.node, rule, belief)


_KINDS: dict[str, type[Edit]] = {
    kind.kind: kind
    for kind in (SetValue, Pin, Unpin, AddChild, RemoveNode, Restate, SetPolarity, SetReport, SetRule)
}


def edit_from_json(data: Mapping[str, Any]) -> Edit:
    """Read an edit as ``Edit.to_json`` writes it.

    Raises `TreeFormatError, ProbabilityOutOfRange, IdMismatch`.
    """
    if not isinstance(data, Mapping) or not isinstance(data.get("kind"), str) or data["kind"] not in _KINDS:
        raise TreeFormatError(f"an edit is an object with a kind, one of {', '.join(_KINDS)}")
    body = {key: value for key, value in data.items() if key != "kind"}
    return read_strict(_KINDS[data["kind"]], body, what=f"the {data['kind']} edit")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One proposition's value before and after; None where there is none, or no longer."""

    id: NodeId
    before: float | None
    after: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """The effect of edits; the engine, the page and the command line show it."""

    #: before, after: The root's value; ``after`` is None when a node without a function lies on the path.
    before: float | None
    after: float | None
    #: The edited nodes and the ancestors that moved, in natural order; those taken out come last.
    changed: tuple[Change, ...]
    #: Propositions whose value is out of date until a full resynthesis.
    stale: tuple[NodeId, ...]
    #: Ancestors held at a bound, each with the raw value that its rule gives.
    saturated: Mapping[NodeId, float]
    #: The tree after the edits; the one before is untouched.
    tree: Tree

    @classmethod
    def between(
        cls,
        before: Tree,
        after: Tree,
        *,
        edited: Collection[NodeId],
        candidates: Iterable[NodeId],
        raw: Mapping[NodeId, float] | None = None,
    ) -> WhatIf:
        """Compare two trees at the candidates: what was edited is listed, and what moved; ``raw`` are values that rules gave."""
        changes = []
        looked_at = set(candidates)
        for node in (*after.in_order(looked_at), *before.in_order(looked_at.difference(after))):
            old, new = before.p_of(node), after.p_of(node)
            if node in edited or old != new:
                changes.append(Change(id=node, before=old, after=new))
        return cls(
            before=before.root.p,
            after=after.root.p,
            changed=tuple(changes),
            stale=after.stale(),
            saturated={node: value for node, value in (raw or {}).items() if is_saturated(value)},
            tree=after,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the document of ``workbench whatif --json`` for a numeric edit."""
        return {
            "before": self.before,
            "after": self.after,
            "changed": [asdict(change) for change in self.changed],
            "stale": list(self.stale),
            "saturated": natural_order(self.saturated),
            "model_calls": 0,
        }


def play(tree: Tree, edits: Iterable[Edit], until: str | None = None) -> WhatIf:
    """Apply edits one after another and recompute the ancestors of what they changed; the base is untouched.

    Paper A, sections 4.1 and D.7.

    ``until``: an instant (ISO 8601); overrides that have expired by then are taken back. None keeps them all.

    Raises `TreeError, RuleError`: An edit does not fit the tree as it then is.

    >>> from workbench.propositions import Belief, Tree
    >>> from workbench.synthesis import LinearRule, settle
    >>> tree = Tree.root_only("Rates are cut").expand("P0", {"P1": "Growth slows", "P2": "Jobs are lost"})
    >>> tree = tree.with_belief("P1", Belief(p=0.8)).with_belief("P2", Belief(p=0.5))
    >>> tree = settle(tree.with_rule("P0", LinearRule(0.0, {"P1": 0.5, "P2": 0.2})))
    >>> answer = play(tree, [SetValue(node="P2", p=0.0)])
    >>> answer.before, answer.after, [change.id for change in answer.changed]
    (0.5, 0.4, ['P0', 'P2'])
    """
    edits = list(edits)
    now = tree
    edited: set[NodeId] = set()
    moved: set[NodeId] = set()
    raw: dict[NodeId, float] = {}
    for edit in edits:
        after = edit.applied(now)
        edited.add(edit.new_child(now, after) if isinstance(edit, AddChild) else edit.node)
        if isinstance(edit, RemoveNode):
            moved.update(now.below(edit.node))
        step = refresh(now, after, [edit.recomputed])
        now = step.tree
        moved |= step.moved
        raw |= step.raw
    # Only after all edits is it known which overrides still stand. They are taken back, not left out: a later pin or report
    # may refer to the value they set.
    if until is not None and (over := expired(now, until)):
        return play(tree, [*edits, *(Unpin(node=node) for node in over)])
    return WhatIf.between(tree, now, edited=edited, candidates=moved | edited, raw=raw)


def resynthesize(tree: Tree, values: Mapping[NodeId, float]) -> WhatIf:
    """Play these values alone: an edited inner node is pinned, and edits below it move nothing above it.

    Raises `UnknownNode, ProbabilityOutOfRange`.
    """
    return play(tree, [SetValue(node=tree[node].id, p=p) for node, p in values.items()])


def expired(tree: Tree, now: str) -> list[NodeId]:
    """Return the nodes whose override has expired at ``now``.

    Raises `TreeFormatError`: A text that is no time, or a time without an offset.
    """
    instant = _moment(now)
    return [
        node.id
        for node in tree.propositions()
        if (override := node.override) and override.expires and _moment(override.expires) <= instant
    ]


def _moment(text: str) -> datetime:
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise TreeFormatError(f"{text!r} is no time; write 2018-07-01T00:00:00+00:00") from None
    if instant.tzinfo is None:
        raise TreeFormatError(f"{text!r} needs an offset from UTC, such as +00:00")
    return instant


def full_plan(tree: Tree, edits: Iterable[Edit]) -> tuple[NodeId, ...]:
    """Return the nodes that a full resynthesis asks about: the ancestors of the edited ones up to a pinned node, deepest first.

    ``tree`` is the tree after the edits (``play(...).tree``): whatever it marks stale or due for a refit is asked as well.
    """
    starts = [edit.asked_from for edit in edits]
    starts += [node.id for node in tree.propositions() if node.children and (node.stale or node.refit_due)]
    due: set[NodeId] = set()
    for node in starts:
        # A later edit may have removed the node; its ancestors follow from the id and are due all the same.
        while node is not None and node not in due and not (node in tree and tree[node].pinned):
            if node in tree and tree[node].children:
                due.add(node)
            node = parent_of(node)
    return tuple(sorted(tree.in_order(due), key=depth_of, reverse=True))
