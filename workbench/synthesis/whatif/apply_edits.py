"""Apply an analyst's edits to a tree: a list of them, a scenario, overrides until they expire; and plan a full resynthesis.

The engine calls this for ``workbench whatif`` and ``scenarios``, the page for every edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from workbench.propositions import Belief, NodeId, Polarity, Tree, TreeFormatError, depth_of, parent_of
from workbench.propositions.edits import (
    AddChild,
    Edit,
    Pin,
    RemoveNode,
    Restate,
    SetPolarity,
    SetReport,
    SetRule,
    SetValue,
    Unpin,
)
from workbench.propositions.scenario_set import Scenario
from workbench.synthesis.rules.rule_registry import rule_from_json
from workbench.synthesis.whatif.resynthesis import Change, WhatIf, refresh


def play(tree: Tree, edits: Iterable[Edit]) -> WhatIf:
    """Apply edits one after another, each with its numeric resynthesis; the base is untouched.

    The answer compares the last tree with the first: ``changed`` lists what was edited and what moved, ``stale`` what now
    waits for a full resynthesis.

    Raises `TreeError, RuleError`: An edit does not fit the tree as it then is.
    """
    now = tree
    touched: dict[NodeId, None] = {}
    raw: dict[NodeId, float] = {}
    saturated: set[NodeId] = set()
    for edit in edits:
        step, named = _step(now, edit)
        touched.update(dict.fromkeys(named))
        raw.update(step.raw)
        # A later edit may bring a node back inside [0, 1].
        saturated = (saturated - step.raw.keys()) | set(step.saturated)
        now = step.tree
    changes = []
    for node in [*now.ids(), *(old for old in tree.ids() if old not in now)]:
        before = tree[node].p if node in tree else None
        after = now[node].p if node in now else None
        if node in touched or before != after:
            changes.append(Change(id=node, before=before, after=after))
    return WhatIf(
        before=tree.root.p,
        after=now.root.p,
        changed=tuple(changes),
        stale=tuple(node for node in now.ids() if now[node].stale),
        saturated=now.in_order(saturated),
        raw=raw,
        tree=now,
    )


def _step(tree: Tree, edit: Edit) -> tuple[WhatIf, list[NodeId]]:
    node = edit.node
    if isinstance(edit, SetValue):
        after = tree.set_p(node, edit.p, low=edit.low, high=edit.high, override=edit.override)
    elif isinstance(edit, Pin):
        after = tree.pin(node)
    elif isinstance(edit, Unpin):
        after = tree.unpin(node)
    elif isinstance(edit, AddChild):
        after = tree.add_child(node, edit.statement, polarity=edit.polarity, child=edit.child)
        (child,) = set(after[node].children) - set(tree[node].children)
        if edit.p is not None:
            after = after.set_p(child, edit.p)
        return refresh(tree, after, [node]), [child]
    elif isinstance(edit, RemoveNode):
        after = tree.remove_node(node)
        parent = parent_of(node)
        assert parent is not None
        return refresh(tree, after, [parent]), [node]
    elif isinstance(edit, Restate):
        after = tree.restate(node, edit.statement, keep_belief=edit.keep_belief)
    elif isinstance(edit, SetPolarity):
        return _turn(tree, edit), [node]
    elif isinstance(edit, SetReport):
        old = tree[node]
        if old.belief is None:
            raise TreeFormatError(f"{node} has no value yet, so no report to change")
        words = replace(old.belief, report=edit.report, key_factor=edit.key_factor or old.belief.key_factor)
        after = tree.with_propositions([replace(old, belief=words)])
    else:
        assert isinstance(edit, SetRule)
        if not tree[node].children:
            raise TreeFormatError(f"{node} has no drivers below it: a rule needs them")
        rule = rule_from_json(edit.rule)
        if unknown := rule.unknown_children(tree[node].children):
            raise TreeFormatError(
                f"the rule of {node} names {', '.join(unknown)[:200]}, which it has not below it"
            )
        belief = None
        if edit.p is not None and not rule.numeric:
            words = tree[node].belief or Belief(p=edit.p)
            belief = replace(words, p=edit.p, source="model")
        after = tree.with_rule(node, rule, belief)
    return refresh(tree, after, [node]), [node]


def _turn(tree: Tree, edit: SetPolarity) -> WhatIf:
    """State a polarity, and turn the parent's rule where the proposition moved it the other way until now.

    Without a function the parent is out of date until a synthesis; a rule that cannot be turned stays, due to be remade.
    """
    after = tree.with_polarity(edit.node, edit.polarity)
    parent = parent_of(edit.node)
    assert parent is not None
    node = after[parent]
    rule = node.rule
    if rule is None:
        return refresh(tree, after, [])
    if not rule.numeric:
        late = replace(node, stale=node.belief is not None and not node.pinned)
        return refresh(tree, after.with_propositions([late]), [parent])
    slope = 0.0
    if edit.node in rule.named_children():
        # In the middle, where no factor of the others is 0.
        slope = rule.derivative(dict.fromkeys(node.children, 0.5)).get(edit.node, 0.0)
    if slope and (slope > 0) != (edit.polarity is Polarity.POSITIVE):
        after = after.with_propositions([replace(node, rule=rule.turned(edit.node) or rule)])
    return refresh(tree, after, [parent])


def scenario_tree(base: Tree, scenario: Scenario, now: str | None = None) -> WhatIf:
    """Apply the scenario's edits to the base tree; with ``now`` (see :func:`expired`) expired overrides are taken back."""
    return play_until(base, scenario.edits, now)


def play_until(base: Tree, edits: Iterable[Edit], now: str | None) -> WhatIf:
    """Apply edits as :func:`play` does, then take back the overrides that have expired at ``now``; None keeps them all."""
    applied = list(edits)
    answer = play(base, applied)
    # Only after all edits is it known which overrides still stand. They are taken back, not left out: a later pin or
    # report may refer to the value they set.
    expired_nodes = [] if now is None else expired(answer.tree, now)
    return play(base, [*applied, *(Unpin(node=node) for node in expired_nodes)]) if expired_nodes else answer


def expired(tree: Tree, now: str) -> list[NodeId]:
    """Return the nodes whose override has expired at ``now``.

    Raises `TreeFormatError`: A text that is no time, or a time without an offset.
    """
    instant = _moment_of_edit(now)
    return [
        node.id
        for node in tree.propositions()
        if node.override is not None
        and node.override.expires is not None
        and _moment_of_edit(node.override.expires) <= instant
    ]


def _moment_of_edit(text: str) -> datetime:
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise TreeFormatError(f"{text!r} is no time; write 2018-07-01T00:00:00+00:00") from None
    if instant.tzinfo is None:
        raise TreeFormatError(f"{text!r} needs an offset from UTC, such as +00:00")
    return instant


@dataclass(frozen=True, slots=True, kw_only=True)
class FullPlan:
    """The propositions that a full resynthesis asks the model for, children before parents; one call each."""

    nodes: tuple[NodeId, ...]

    @property
    def calls(self) -> int:
        """Number of model calls, retries aside."""
        return len(self.nodes)


def full_plan(tree: Tree, edits: Iterable[Edit]) -> FullPlan:
    """Return the nodes that a full resynthesis asks about: the ancestors of the edited ones up to a pinned node, deepest first.

    ``tree`` is the tree after the edits (``play(...).tree``): whatever it marks stale or due for a refit is asked as well.
    """
    due: set[NodeId] = set()
    for edit in edits:
        start: NodeId | None = edit.node
        # What the analyst said about the node itself stands, so asking begins above it; a new child or an unpinned node is
        # asked about at the node. Restated and removed ones mark their parents as due for a refit, see below.
        if isinstance(edit, (SetValue, Pin, SetRule, SetReport, Restate, RemoveNode, SetPolarity)):
            start = parent_of(edit.node)
        _climb(tree, start, due)
    for node in tree.propositions():
        if node.children and (node.stale or node.refit_due):
            _climb(tree, node.id, due)
    return FullPlan(nodes=tuple(sorted(tree.in_order(due), key=depth_of, reverse=True)))


def _climb(tree: Tree, start: NodeId | None, due: set[NodeId]) -> None:
    node = start
    while node is not None and node not in due:
        # A later edit may have removed the node; its ancestors follow from the id and are due all the same.
        if node in tree:
            if tree[node].pinned:
                return
            if tree[node].children:
                due.add(node)
        node = parent_of(node)
