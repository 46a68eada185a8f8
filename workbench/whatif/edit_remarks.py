"""Remarks on edits of a tree's shape that may surprise their author: for the terminal and for the page."""

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.errors import Option, sentence
from workbench.formatting import point_change
from workbench.propositions import NodeId, Tree, parent_of
from workbench.synthesis import LinearRule
from workbench.synthesis.rules.pooled import drivers_rule
from workbench.synthesis.whatif.edits import AddChild, Edit, RemoveNode, SetPolarity, play

#: What asks the synthesizer for a new rule.
_ASK = Option("full", True)


@dataclass(frozen=True, slots=True)
class EditRemark:
    """One sentence about an edit; ``weights`` are those of its siblings scaled to the former sum, where that is a way out."""

    node: NodeId
    line: str
    weights: dict[NodeId, float]


def edit_remarks(base: Tree, edits: Sequence[Edit]) -> list[EditRemark]:
    """Return remarks on removed, added and turned propositions: their worth, their weight, their parent's rule.

    A removed proposition leaves its parent's other weights as they are, so it counts as false; an added one has weight 0 until
    somebody gives it another (paper A, section 3.4: structure edits wait for a resynthesis).

    Raises `TreeError, RuleError`: An edit does not fit the tree as it then is.
    """
    if not any(isinstance(edit, RemoveNode | AddChild | SetPolarity) for edit in edits):
        return []  # the usual case, and each step of a drag: no second and third look at the whole tree
    remarks = []
    after = play(base, edits).tree
    now = base
    for edit in edits:
        step = play(now, [edit]).tree
        if isinstance(edit, RemoveNode):
            remarks.append(_removed(now, step, edit.node))
        elif isinstance(edit, AddChild) and edit.node in after:
            (child,) = set(step[edit.node].children) - set(now[edit.node].children)
            rule = drivers_rule(after[edit.node].rule)
            if child in after and isinstance(rule, LinearRule) and not rule.weights.get(child):
                idle = f"{child} has weight 0, so it moves nothing: give it one, "
                remarks.append(EditRemark(child, sentence(idle, Option("weight", f"{child}=0.2")), {}))
        elif isinstance(edit, SetPolarity):
            remarks.append(_turned(now, step, edit.node))
        now = step
    return remarks


def _turned(before: Tree, after: Tree, node: NodeId) -> EditRemark:
    parent = parent_of(node)
    assert parent is not None
    old, new = before[parent].rule, after[parent].rule
    if new is None:
        return EditRemark(node, f"{parent} has no rule yet: the synthesizer will be told", {})
    if not new.numeric:
        line = f"{parent} has no formula that could be turned at {node}: ask for a new rule, "
    elif old != new:
        line = f"the rule of {parent} is turned at {node}: {new.equation()}; to ask for a new one: "
    else:
        line = f"the rule of {parent} stays as it was: {new.equation()}; to ask for a new one: "
    return EditRemark(node, sentence(line, _ASK), {})


def _removed(before: Tree, after: Tree, node: NodeId) -> EditRemark:
    old, new = before.root.p, after.root.p
    worth = "" if old is None or new is None else f", worth {point_change(old, new)}"
    line = f"{node} drops out{worth}; the other weights stay as they were, as if it were false"
    parent = parent_of(node)
    assert parent is not None
    rule = drivers_rule(before[parent].rule)
    if not isinstance(rule, LinearRule) or node not in rule.weights:
        return EditRemark(node, line, {})
    left = {child: weight for child, weight in rule.weights.items() if child != node and child in after}
    size = sum(map(abs, left.values()))
    scale = 1 + abs(rule.weights[node]) / size if size else 0.0
    weights = {child: round(weight * scale, 6) for child, weight in left.items()}
    if not weights or any(abs(weight) > 1 for weight in weights.values()):
        return EditRemark(node, line, {})
    options = [part for child, w in weights.items() for part in (" ", Option("weight", f"{child}={w:g}"))]
    advice = sentence(f"{line}. To share its weight out:", *options, "; to ask for a new rule: ", _ASK)
    return EditRemark(node, advice, weights)
