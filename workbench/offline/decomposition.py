"""Decompose a claim into drivers, two levels deep, handed over one level a round."""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from workbench.formatting import percent, signed_figure
from workbench.models.base import Message, NodeRef
from workbench.offline.claim_forecast import past_outcomes, refuse_later_rows
from workbench.offline.co_movement import CoMovement, co_movement
from workbench.offline.driver_candidates import DriverCandidates, DriverKind
from workbench.offline.report_records import OutcomeRecord
from workbench.propositions import child_id, parent_of
from workbench.questions.claims import Claim
from workbench.questions.decision import Rows, appraise, check
from workbench.questions.errors import ClaimRefused

NEAR = 0.1
#: How many related series may be named; how far base rates may lie apart.
_MOST_RELATED, _COMPARABLE = 2, 0.3
#: Above this correlation a driver is its parent in other words.
_THE_SAME = 0.98


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A claim in the plan: its reason and strength as a driver, its base rate at the cutoff, the branches below it."""

    claim: Claim
    why: str
    base_rate: float
    strength: float = 0.0
    children: tuple["Branch", ...] = ()


class Planner:
    """Decomposes claims over the rows that are visible at a cutoff.

    Raises `LookAhead`: A row is of after that day.
    """

    def __init__(self, rows: Mapping[str, Rows], last_day: date) -> None:
        refuse_later_rows(rows, last_day)
        self.rows = rows
        self.last_day = last_day
        self._records: dict[Claim, OutcomeRecord | None] = {}
        self._used: set[str] = set()

    def plan(self, claim: Claim) -> Branch:
        """Return the claim with its drivers and theirs; no two statements are equal."""
        check(claim, self.last_day)
        base = appraise(claim, self.rows, self.last_day).base_rate
        self._used = {claim.statement}
        root = Branch(claim=claim, why="", base_rate=base)
        drivers = DriverCandidates(claim, self.rows, self.last_day)
        of_series = [branch for kind in drivers.own() if (branch := self._pick(kind, claim)) is not None]
        grown = [self._grown(branch, claim) for branch in of_series]
        # A series that stands below a driver already is not named beside it.
        named = {below.claim.series for branch in grown for below in branch.children}
        others = [
            *self._strongest(drivers.related(), claim, named)[:_MOST_RELATED],
            *self._strongest(drivers.releases(), claim, named)[:1],
        ]
        if grown == of_series and others:
            others[0] = self._grown(others[0], claim)
        return replace(root, children=(*grown, *others))

    def _record(self, claim: Claim) -> OutcomeRecord | None:
        """Compute past outcomes of a claim, once; None if it cannot be decided at this cutoff."""
        if claim not in self._records:
            try:
                check(claim, self.last_day)
                self._records[claim] = past_outcomes(claim, self.rows, self.last_day)
            except ClaimRefused:
                # A candidate out of reach (a series not yet published, a window past the data) is passed over, not an error
                # of the plan.
                self._records[claim] = None
        return self._records[claim]

    # --- choosing --------------------------------------------------------------------------------------------

    def _strongest(self, kinds: Iterable[DriverKind], claim: Claim, named: Collection[str]) -> list[Branch]:
        picked = (self._pick(kind, claim) for kind in kinds if kind.series not in named)
        return sorted((branch for branch in picked if branch), key=lambda branch: -branch.strength)

    def _direction(self, kind: DriverKind, claim: Claim) -> bool:
        parent = self._record(claim)
        for candidate in kind.candidates(True):
            if candidate.statement not in self._used and parent and (driver := self._record(candidate)):
                return co_movement(parent, driver).strength > 0
        return True

    def _grown(self, branch: Branch, root: Claim) -> Branch:
        """Give a branch drivers of its own, where it spans the root's whole window; one alone would say too little."""
        if branch.claim.end != root.end:
            return branch
        used_before = set(self._used)
        kinds = DriverCandidates(branch.claim, self.rows, self.last_day).below()
        inner = [
            branch_below
            for branch_below in (self._pick(kind, branch.claim) for kind in kinds)
            if branch_below is not None
        ]
        if len(inner) < 2:
            self._used = used_before
            return branch
        return replace(branch, children=tuple(inner))

    def _pick(self, kind: DriverKind, parent: Claim) -> Branch | None:
        """Pick the first candidate with a base rate near the parent's, else the nearest one; None if none can be asked."""
        own = self._record(parent)
        if own is None:
            return None
        best: Branch | None = None
        gap, linked = _COMPARABLE, False
        for claim in kind.candidates(self._direction(kind, parent)):
            record = None if claim.statement in self._used else self._record(claim)
            if record is None:
                continue
            away = abs(record.base_rate - own.base_rate)
            if best is not None and away >= gap:
                continue
            together = co_movement(own, record)
            if together.correlation > _THE_SAME:
                continue
            # Of one candidate alone: the best of many would look linked by chance.
            gap, linked = away, together.linked()
            why = _reason_of(kind, together)
            best = Branch(claim=claim, why=why, base_rate=record.base_rate, strength=together.strength)
            if away <= NEAR:
                break
        if best is None or gap > _COMPARABLE or not linked:
            return None
        self._used.add(best.claim.statement)
        return best


def _reason_of(kind: DriverKind, together: CoMovement) -> str:
    first, second = together.halves
    return (
        f"{kind.role}: the claim came true in {percent(together.with_driver)} of the past windows in which this did, and in "
        f"{percent(together.without_driver)} of the others (correlation {signed_figure(together.correlation, 2)}; "
        f"{signed_figure(first, 2)} and {signed_figure(second, 2)} in the two halves of the past)"
    )


def leaves(branch: Branch) -> Sequence[Branch]:
    """Return the branches without children, left to right."""
    return [branch] if not branch.children else [leaf for child in branch.children for leaf in leaves(child)]


END = "<END_OF_ANALYSIS>"
_WANTED = re.compile(r"\babout (\d+)\b")


def analysis_reply(plan: Branch, nodes: Sequence[NodeRef], messages: Sequence[Message]) -> str:
    """Return the reply of the next round: the children of every planned inner node that is in the tree but not expanded."""
    tree = {node.id: node.statement for node in nodes}
    root = nodes[0].id
    wanted = _wanted_children(messages)
    groups = []
    leaves = len(tree.keys() - set(map(parent_of, tree)))
    for node, branch in _inner(plan, tree, root):
        branches = branch.children
        if wanted is not None:  # a tree may end somewhat above the wanted number, not far above
            branches = branches[: max(2, 2 * wanted - leaves + 1)]
        leaves += len(branches) - 1
        groups.append(_group(node, branches))
    if not groups and len(tree) == 1:
        end = {"expansions": [], "end": True, "alone": _alone_words(plan)}
        return f"```json\n{json.dumps(end, ensure_ascii=False)}\n```"
    if not groups:
        return f"Every leaf can be decided from one series by its own notebook.\n\n{END}"
    words = (
        _plan_words(plan)
        if len(tree) == 1
        else "The propositions that rest on others themselves are split once more."
    )
    return f"{words}\n\n```json\n{json.dumps(groups, indent=2, ensure_ascii=False)}\n```"


def _plan_words(plan: Branch) -> str:
    series = {plan.claim.series, plan.claim.other}
    outside = any(child.claim.series not in series for child in plan.children)
    return (
        f"{_read_words(plan)} Each driver has a measured link to the claim: in past windows the claim came true more often where "
        "the driver did, beyond chance and in both halves of the past. Its threshold has come true about as often as the claim."
        f"{'' if outside else ' No driver from another series was found.'}"
    )


def _alone_words(plan: Branch) -> str:
    return f"{_read_words(plan)} No driver was found: nothing that was tried went with the claim in past windows beyond chance."


def _read_words(plan: Branch) -> str:
    notes = "".join(f" Note: {note}." for note in plan.claim.remarks)
    return f"Read as: {plan.claim.statement}.{notes} The claim came true in {percent(plan.base_rate)} of past windows."


def _inner(plan: Branch, tree: Mapping[str, str], root: str) -> list[tuple[str, Branch]]:
    planned = []
    # By statement: planned branches carry no ids.
    by_statement = {branch.claim.statement: branch for branch in (plan, *plan.children)}
    parents = set(map(parent_of, tree))
    for node, statement in tree.items():
        branch = plan if node == root else by_statement.get(statement)
        if branch is not None and branch.children and node not in parents:
            planned.append((node, branch))
    return planned


def _group(node: str, branches: Sequence[Branch]) -> dict[str, object]:
    named = {child_id(node, number): child for number, child in enumerate(branches, 1)}
    return {
        "parent": node,
        "children": {name: child.claim.statement for name, child in named.items()},
        "causality": "; ".join(f"({name}, Positive) {child.why}" for name, child in named.items()),
    }


def _wanted_children(messages: Sequence[Message]) -> int | None:
    found = [_WANTED.search(message.content) for message in messages if message.role == "user"]
    return next((int(match[1]) for match in reversed(found) if match), None)
