"""The tree read as a Bayes net: one binary variable per proposition, the children its parents (paper A, App. B)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, get_args

from workbench.propositions import NodeId, Proposition, Rule, Tree
from workbench.propositions.rule import Normaliser
from workbench.synthesis.errors import NotRepresentable
from workbench.synthesis.whatif.evaluation import evaluate, follows_children

OnMisfit = Literal["refuse", "project"]

# A table of 65,536 rows; each further parent doubles it.
TABLE_PARENTS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """One proposition as a binary variable of the net."""

    id: NodeId
    #: The id as other programs take it: P1.2 becomes P1_2.
    name: str
    statement: str
    #: For a variable without parents (leaf, pinned node, node without a function).
    prior: float | None
    #: For the others: strict, so that it is the table's row for every assignment of 0 and 1 to the parents.
    rule: Rule | None
    #: Ids.
    parents: tuple[NodeId, ...]

    def table(self) -> list[float]:
        """Return P(true) per assignment of the parents, the last parent changing fastest, false before true.

        Raises `NotRepresentable`: More than 16 parents: the table would not fit.
        """
        if self.rule is None:
            assert self.prior is not None
            return [self.prior]
        if len(self.parents) > TABLE_PARENTS:
            raise NotRepresentable(
                f"{self.id} has {len(self.parents)} children, a table of 2^{len(self.parents)} rows; export json or problog"
            )
        rows = product((0.0, 1.0), repeat=len(self.parents))
        return [_unit(self.rule.evaluate(dict(zip(self.parents, row, strict=True)))) for row in rows]


@dataclass(frozen=True, slots=True)
class BayesNet:
    """The tree as a Bayes net."""

    #: Depth first; what lies below a pinned node is left out, it has no say.
    variables: tuple[Variable, ...]
    #: What was changed or left out, one line each.
    notes: tuple[str, ...]

    def marginals(self) -> dict[NodeId, float]:
        """Return P(true) of every variable, exact: in a tree the parents of a variable are independent."""
        marginals: dict[NodeId, float] = {}
        for variable in reversed(self.variables):
            if variable.rule is None:
                assert variable.prior is not None
                marginals[variable.id] = variable.prior
            else:
                # Multilinear and independent parents: the expected row is the rule at the parents' marginals.
                marginals[variable.id] = _unit(variable.rule.evaluate(marginals))
        return marginals


def bayes_net(tree: Tree, misfit: OnMisfit = "refuse", normalise: Normaliser = "scale") -> BayesNet:
    """Read a valued tree as a Bayes net.

    Raises `NotRepresentable`: A value is missing, or a rule is no table and ``misfit`` is "refuse".
    """
    if misfit not in get_args(OnMisfit):
        raise NotRepresentable(f"misfit is refuse or project, not {misfit!r}")
    evaluation = evaluate(tree)
    variables: list[Variable] = []
    gaps = False
    notes: list[str] = []
    stack = [tree.root.id]
    while stack:
        node = tree[stack.pop()]
        rule, prior = None, None
        if follows_children(node):
            rule, gap = _tabular(node, misfit, normalise)
            if gap is not None:
                gaps = True
                notes.append(f"{node.id}: rule projected, its table differs by at most {gap:.4g}")
            stack.extend(reversed(node.children))
        else:
            prior = evaluation.values[node.id]
            if prior is None:
                raise NotRepresentable(f"{node.id} has no value yet, which an export needs")
            if node.children:
                why = "held by an analyst" if node.pinned else "without a function"
                notes.append(
                    f"{node.id} is {why}: a plain prior, the {len(tree.below(node.id))} drivers below are left out"
                )
        variables.append(
            Variable(
                id=node.id,
                name=node.id.replace(".", "_"),
                statement=node.statement,
                prior=prior,
                rule=rule,
                parents=node.children if rule is not None else (),
            )
        )
    if gaps and evaluation.root is not None:
        claim = BayesNet(tuple(variables), ()).marginals()[tree.root.id]
        notes.append(f"the net's claim is {claim:.6g}, the tree's {evaluation.root:.6g}")
    return BayesNet(tuple(variables), tuple(notes))


def _tabular(node: Proposition, misfit: OnMisfit, normalise: Normaliser) -> tuple[Rule, float | None]:
    rule = node.rule
    assert rule is not None
    problem = rule.table_problem()
    if problem is None:
        return rule, None
    nearest = rule.projected(normalise) if misfit == "project" else None
    if nearest is None:
        way_out = "; ask for the projection" if rule.projected(normalise) is not None else ""
        raise NotRepresentable(f"{node.id} is no Bayes net table: {problem}{way_out}")
    return nearest


def _unit(value: Any) -> float:
    return min(1.0, max(0.0, float(value)))
