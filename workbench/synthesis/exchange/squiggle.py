"""The tree as a Squiggle program: one variable per proposition, in an order in which each is defined before it is used."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from workbench.propositions import NodeId, Rule, Tree
from workbench.synthesis.errors import NotRepresentable
from workbench.synthesis.rules.linear import AffineRule
from workbench.synthesis.whatif.evaluation import follows_children

#: A rule that is no weighted sum is written row by row of its table; more children make a line nobody reads.
TABLE_CHILDREN = 8
_CLAMP = "clamp(x) = if x < 0 then 0 else if x > 1 then 1 else x"


def squiggle(tree: Tree, variances: Mapping[NodeId, float] | None = None) -> tuple[str, tuple[str, ...]]:
    """Return the program, whose value is the root's, and one line per thing that had to be changed.

    Parameters
    ----------
    tree : Tree
    variances : mapping, optional
        Error variance of leaves; such a leaf is a Beta with its p as the mean, the others are plain numbers.

    Raises
    ------
    NotRepresentable
        A proposition without a value, or a rule that is not affine in each child alone (of more than eight children,
        that is no weighted sum).
    """
    held = [node for node in tree.inner() if follows_children(tree[node]) and _leaves_unit(tree[node].rule)]
    spread = dict(variances or {})
    notes = []
    if held and spread:
        # `clamp` compares numbers; a distribution would be cut off by truncate(), which moves its mean.
        notes.append(
            f"drivers are plain numbers: {', '.join(held)} can leave 0 to 1 and is held at the bound"
        )
        spread = {}
    lines = [_CLAMP, ""] if held else []
    for node in reversed(tree.ids()):  # parents come first in a tree, and in Squiggle children have to
        if _below_pinned(tree, node):
            continue
        lines.append(f"// {node}: {' '.join(tree[node].statement.split())}")
        lines.append(f"{_variable(node)} = {_value(tree, node, spread, clamped=node in held)}")
    return "\n".join([*lines, "", _variable(tree.root.id), ""]), tuple(notes)


def _variable(node: NodeId) -> str:
    # A variable begins with a small letter and holds no dots.
    return node.replace(".", "_").lower()


def _below_pinned(tree: Tree, node: NodeId) -> bool:
    return any(not follows_children(tree[above]) for above in tree.ancestors(node))


def _leaves_unit(rule: Rule | None) -> bool:
    if rule is None:
        return False
    low, high = rule.reachable()
    return low < -1e-9 or high > 1 + 1e-9


def _value(tree: Tree, node: NodeId, variances: Mapping[NodeId, float], *, clamped: bool) -> str:
    proposition = tree[node]
    if follows_children(proposition) and proposition.rule is not None:
        text = _expression(node, proposition.rule)
        return f"clamp({text})" if clamped else text
    if proposition.p is None:
        raise NotRepresentable(f"{node} has no value: finish the run first, or export json")
    variance = variances.get(node, 0.0)
    # A Beta with this mean has a variance below p(1 - p).
    if 0.0 < variance < proposition.p * (1 - proposition.p):
        return f"beta({{mean: {proposition.p!r}, stdev: {variance**0.5!r}}})"
    return repr(proposition.p)


def _expression(node: NodeId, rule: Rule) -> str:
    if isinstance(rule, AffineRule):
        terms = [
            _signed(rule.intercept),
            *(f"{_signed(w)} * {_variable(child)}" for child, w in rule.weights.items()),
        ]
        return " + ".join(terms)
    children = rule.named_children()
    if not rule.multilinear or len(children) > TABLE_CHILDREN:
        raise NotRepresentable(
            f"the {rule.name} rule of {node} is no formula that Squiggle could hold; export json or problog"
        )
    terms = []
    for row in product((0.0, 1.0), repeat=len(children)):
        share = rule.evaluate(dict(zip(children, row, strict=True)))
        if share:
            factors = [
                _variable(child) if true else f"(1 - {_variable(child)})"
                for child, true in zip(children, row, strict=True)
            ]
            terms.append(" * ".join([*([] if share == 1.0 else [_signed(share)]), *factors]))
    return " + ".join(terms) or "0"


def _signed(value: float) -> str:
    # Squiggle reads "a + -0.2 * b", but people do not.
    return f"({value!r})" if value < 0 else repr(value)
