"""What changed between two runs of a claim, exactly: how much of the change of its chance each driver and the rules brought."""

from collections.abc import Mapping, Sequence
from math import fsum
from typing import Any

from workbench.errors import UsageError
from workbench.formatting import percent, point_change
from workbench.propositions import NodeId, Tree
from workbench.synthesis.whatif.evaluation import evaluate
from workbench.views.answer import MOST_IN_ALL_ORDERS, average_over_orders
from workbench.views.run_overview import claim_key
from workbench.views.run_view import RunView

#: What is no driver of both runs: rules, weights, and drivers that only one of the trees has.
RULE = "rule"


def run_changes(before: RunView, after: RunView) -> dict[str, Any]:
    """Return what changed from one run to another of the same claim: ``workbench diff``.

    ``parts`` sum to ``after`` less ``before``: ``rule`` (rules, weights, and drivers that only one run has), ``edits`` (always 0: edits
    of a finished run are kept in scenarios and change no run), and per driver with evidence in both, under its id in the later
    run, ``total`` and ``spread``, the standard deviation of its trials where there are several, in shares of 1. A part is the
    average, over all orders in which the parts change, of what it adds (``orders`` ``all``; ``two`` where they are too many:
    one order and its reverse).

    Raises
    ------
    UsageError
        The runs are of two claims, or one has no answer.
    """
    if claim_key(before.statement) != claim_key(after.statement):
        raise UsageError(
            f"runs {before.run_id} and {after.run_id} are of two claims: a change is between answers to one"
        )
    for run in (before, after):
        if run.tree.root.p is None:
            raise UsageError(f"run {run.run_id} has no answer yet")
    pairs = _leaves_of_both(before.tree, after.tree)
    moved = [(old, new) for old, new in pairs if before.tree[old].p != after.tree[new].p]
    parts: list[NodeId] = [new for _, new in moved]
    value = _MixedRoot(before.tree, after.tree, pairs)
    names = [RULE, *parts]
    shares = average_over_orders(names, value)
    return {
        "runs": [before.run_id, after.run_id],
        "claim": after.statement,
        "before": before.tree.root.p,
        "after": after.tree.root.p,
        "orders": "all" if len(names) <= MOST_IN_ALL_ORDERS else "two",
        "parts": {
            "edits": 0.0,
            "rule": shares[RULE],
            "leaves": {
                new: {
                    "statement": after.tree[new].statement,
                    "before": before.tree[old].p,
                    "after": after.tree[new].p,
                    "total": shares.get(new, 0.0),
                    "spread": _trial_spread(after, new),
                }
                for old, new in pairs
            },
        },
    }


def _leaves_of_both(before: Tree, after: Tree) -> list[tuple[NodeId, NodeId]]:
    """The leaves that both trees have, by their statements; a claim that was answered without drivers is its own leaf."""
    known = {
        claim_key(before[leaf].statement): leaf for leaf in before.leaves() if before[leaf].p is not None
    }
    return [
        (known[key], leaf)
        for leaf in after.leaves()
        if after[leaf].p is not None and (key := claim_key(after[leaf].statement)) in known
    ]


class _MixedRoot:
    """The root's chance with some parts as they are in the later run, and the others as in the earlier one."""

    def __init__(self, before: Tree, after: Tree, pairs: Sequence[tuple[NodeId, NodeId]]) -> None:
        self._before, self._after, self._pairs = before, after, pairs

    def __call__(self, changed: frozenset[str]) -> float:
        later = RULE in changed
        p: dict[NodeId, float] = {}
        for old, new in self._pairs:
            value = self._after[new].p if new in changed else self._before[old].p
            assert value is not None, "a leaf of both has a value"
            p[new if later else old] = value
        root = evaluate(self._after if later else self._before, p).root
        assert root is not None, "both runs have an answer"
        return root


def _trial_spread(run: RunView, node: NodeId) -> float | None:
    values = [trial.belief.p for trial in run.state.trials_of(node) if trial.belief is not None]
    if len(values) < 2:
        return None
    mean = fsum(values) / len(values)
    return float((fsum((each - mean) ** 2 for each in values) / (len(values) - 1)) ** 0.5)


def change_lines(document: Mapping[str, Any]) -> list[str]:
    """Return the change between two runs as lines, the largest part first."""
    first, second = document["runs"]
    lines = [
        f"{percent(document['before'])} to {percent(document['after'])} "
        f"({point_change(document['before'], document['after'])}), run {first} to run {second}"
    ]
    rows = [
        (row["total"], f"{node}  {percent(row['before'])} to {percent(row['after'])}  {row['statement']}")
        for node, row in document["parts"]["leaves"].items()
    ]
    rows.append((document["parts"]["rule"], "rules, weights, and drivers that only one run has"))
    still = sum(not total for total, _ in rows)
    lines += [
        f"{point_change(0.0, total):>9}  {words}"
        for total, words in sorted(rows, key=lambda row: -abs(row[0]))
        if total
    ]
    return [*lines, *([f"{'':9}  {still} parts without a change"] if still else [])]
