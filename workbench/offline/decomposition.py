"""Which propositions bear on a claim: a reference class and supporting claims, two levels deep, handed over one level a round.

Every child supports its parent: were it known to be true, the parent would be the more likely. Thresholds are
chosen so that a child has come true about as often as its parent (within 0.1 of its base rate) in the history that
is visible at the cutoff; otherwise an average of children would move the level of the parent for no reason.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from workbench.forecasts.leaf_models import LeafEstimate
from workbench.models.base import Message, NodeRef
from workbench.offline.supporting_claims import SupportingClaims
from workbench.questions.claims import Claim
from workbench.questions.decision import Rows, appraise, check
from workbench.questions.errors import ClaimRefused

NEAR = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A claim in the plan: why it supports its parent, its base rate at the cutoff, what is below it."""

    claim: Claim
    why: str
    base_rate: float
    children: tuple["Branch", ...] = ()


class Planner:
    """Decomposes claims over the rows that are visible at a cutoff.

    Parameters
    ----------
    rows : mapping of embedded identifier to rows
        Visible rows of every series that a child may be about.
    last_day : date
        Last day visible at the cutoff.
    """

    def __init__(self, rows: Mapping[str, Rows], last_day: date) -> None:
        self.rows = rows
        self.last_day = last_day
        self._bases: dict[Claim, float | None] = {}
        self._used: set[str] = set()

    def plan(self, claim: Claim) -> Branch:
        """Return the claim with its children and grandchildren; no two statements are equal."""
        # In full, since the claim's own record is its first leaf.
        base = treat(claim, self.rows, self.last_day).base_rate
        self._used = {claim.statement}
        root = Branch(claim=claim, why="", base_rate=base)
        if claim.reference:
            return root
        return replace(root, children=self._children(claim, base))

    def base_rate(self, claim: Claim) -> float | None:
        """Return the base rate of a claim, or None if it cannot be decided at this cutoff; computed once per claim."""
        if claim not in self._bases:
            try:
                check(claim, self.last_day)
                appraisal = appraise(claim, self.rows, self.last_day, only_base=True)
                self._bases[claim] = appraisal.base_rate
            except ClaimRefused:
                # A candidate out of reach (a series not yet published, a window past the data) is passed over, not an error
                # of the plan.
                self._bases[claim] = None
        return self._bases[claim]

    # --- the two levels --------------------------------------------------------------------------------------

    def _children(self, claim: Claim, base: float) -> tuple[Branch, ...]:
        rungs = SupportingClaims(claim, self.rows, self.last_day)
        reference = claim.as_reference()
        self._used.add(reference.statement)
        branches = [
            Branch(claim=reference, why="the same event, judged by its own record alone", base_rate=base)
        ]
        picked: list[tuple[Branch, list[tuple[str, list[Claim]]]]] = []
        for child in rungs.children():
            branch = self._pick(child.why, child.candidates, base)
            if branch is not None:
                picked.append((branch, child.below))
        # Only after all children are picked, so that no grandchild takes a statement that the upper level would have used.
        branches += [self._grown(branch, below) for branch, below in picked]
        return tuple(branches)

    def _grown(self, branch: Branch, below: list[tuple[str, list[Claim]]]) -> Branch:
        if not below:
            return branch
        used_before = set(self._used)
        reference = branch.claim.as_reference()
        self._used.add(reference.statement)
        inner = [
            Branch(
                claim=reference,
                why="the same event, judged by its own record alone",
                base_rate=branch.base_rate,
            )
        ]
        for why, candidates in below:
            picked = self._pick(why, candidates, branch.base_rate)
            if picked is not None:
                inner.append(picked)
        if len(inner) < 3:  # a reference and one more say too little to be worth a level
            self._used = used_before
            return branch
        return replace(branch, children=tuple(inner))

    def _pick(self, why: str, candidates: Iterable[Claim], parent_base: float) -> Branch | None:
        """The first candidate whose base rate is near the parent's, else the nearest one; None if none can be asked.

        What is picked has been through all that its notebook will compute: a base rate alone does not show that the models
        have enough to go by, and a leaf that fails cannot be chosen anew.
        """
        best: Branch | None = None
        for claim in candidates:
            if claim.statement in self._used:
                continue
            base = self.base_rate(claim)
            if base is None or (
                best is not None and _gap(base, parent_base) >= _gap(best.base_rate, parent_base)
            ):
                continue
            try:
                treat(claim, self.rows, self.last_day)
            except ClaimRefused:
                break  # the others differ in their threshold alone, and have no longer a history
            best = Branch(claim=claim, why=why, base_rate=base)
            if _gap(base, parent_base) <= NEAR:
                break
        if best is not None:
            self._used.add(best.claim.statement)
        return best


def treat(claim: Claim, rows: Mapping[str, Rows], last_day: date) -> LeafEstimate:
    """Return what the notebook of a claim will compute, simulated paths apart, which it can do without.

    Raises
    ------
    ClaimRefused
        The claim cannot be asked at this cutoff, the visible values have decided it, or too few are visible.
    """
    check(claim, last_day)
    return appraise(claim, rows, last_day, simulated=False)


def _gap(base: float, parent_base: float) -> float:
    return abs(base - parent_base)


def leaves(branch: Branch) -> Sequence[Branch]:
    """Return the branches without children, left to right."""
    return [branch] if not branch.children else [leaf for child in branch.children for leaf in leaves(child)]


END = "<END_OF_ANALYSIS>"
_WANTED = re.compile(r"\babout (\d+)\b")


def analysis_reply(plan: Branch, nodes: Sequence[NodeRef], messages: Sequence[Message]) -> str:
    """Return the reply of the next round: the children of every planned inner node that is in the tree but not expanded.

    Parameters
    ----------
    plan : Branch
        The planned tree; its root is the first node.
    nodes : sequence of NodeRef
        The tree as it stands, root first.
    messages : sequence of Message
        The dialogue; how many leaves are wanted is read from it, where it says so.
    """
    tree = {node.id: node.statement for node in nodes}
    root = nodes[0].id
    wanted = _wanted(messages)
    groups = []
    leaves = sum(1 for node in tree if not _children(tree, node))
    for node, branch in _inner(plan, tree, root):
        branches = branch.children
        if wanted is not None:  # a tree may end somewhat above the wanted number, not far above
            branches = branches[: max(2, 2 * wanted - leaves + 1)]
        leaves += len(branches) - 1
        groups.append(_group(node, branches))
    if not groups:
        return f"Every leaf can be decided from one series by its own notebook.\n\n{END}"
    words = (
        _words(plan)
        if len(tree) == 1
        else "The propositions that rest on others themselves are split once more."
    )
    return f"{words}\n\n```json\n{json.dumps(groups, indent=2, ensure_ascii=False)}\n```"


def _words(plan: Branch) -> str:
    notes = "".join(f" Note: {note}." for note in plan.claim.notes)
    return (
        f"Read as: {plan.claim.statement}.{notes} Like windows of the visible past came true in {plan.base_rate:.1%}. "
        "The first child is the reference class; the others are claims of other kinds that support it, each with a "
        "threshold that has come true about as often."
    )


def _inner(plan: Branch, tree: Mapping[str, str], root: str) -> list[tuple[str, Branch]]:
    """Planned inner nodes that stand in the tree without children."""
    planned = []
    # By statement: planned branches carry no ids.
    by_statement = {branch.claim.statement: branch for branch in (plan, *plan.children)}
    for node, statement in tree.items():
        branch = plan if node == root else by_statement.get(statement)
        if branch is not None and branch.children and not _children(tree, node):
            planned.append((node, branch))
    return planned


def _children(tree: Mapping[str, str], node: str) -> list[str]:
    return [other for other in tree if other != node and _is_child(other, node)]


def _is_child(other: str, node: str) -> bool:
    if node == "P0":
        return other != "P0" and "." not in other
    return other.startswith(f"{node}.") and "." not in other[len(node) + 1 :]


def _group(node: str, branches: Sequence[Branch]) -> dict[str, object]:
    ids = [f"P{n}" if node == "P0" else f"{node}.{n}" for n in range(1, len(branches) + 1)]
    return {
        "parent": node,
        "children": {name: child.claim.statement for name, child in zip(ids, branches, strict=True)},
        "causality": "; ".join(
            f"({name}, Positive) {child.why}" for name, child in zip(ids, branches, strict=True)
        ),
    }


def _wanted(messages: Sequence[Message]) -> int | None:
    for message in reversed(messages):
        match = _WANTED.search(message.content) if message.role == "user" else None
        if match:
            return int(match[1])
    return None
