"""Split the change between two runs of a claim, exactly, into the parts of each driver and of the rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from workbench.errors import UsageError
from workbench.formatting import counted, percent, point_change
from workbench.propositions import NodeId, Proposition, Tree
from workbench.synthesis.sensitivity.uncertainty import deviations
from workbench.synthesis.whatif.evaluation import evaluate
from workbench.views.answer import MOST_IN_ALL_ORDERS, average_over_orders
from workbench.views.kept_changes import split_words
from workbench.views.run_overview import claim_key

if TYPE_CHECKING:
    from workbench.views.input_split import RunSplits
    from workbench.views.run_view import RunView

#: What is no driver of both runs: rules, weights, and drivers that only one of the trees has.
RULE = "rule"


def run_changes(before: RunView, after: RunView, splits: RunSplits | None = None) -> dict[str, Any]:
    """Return the change from one run to another of the same claim: ``workbench diff``.

    ``parts`` sum to ``after`` less ``before``: ``rule`` (rules, weights, and drivers that only one run has), ``edits`` (always 0: edits
    of a finished run are kept in scenarios and change no run), and per driver with evidence in both, under its id in the later
    run, ``total`` and ``spread``, the standard deviation of its trials where there are several, in shares of 1. A part is the
    average, over all orders in which the parts change, of what it adds (``orders`` ``all``; ``two`` where they are too many:
    one order and its reverse). With ``splits`` a driver that a deterministic forecaster decides has ``rows``, ``revisions`` and
    ``time`` as well, which sum to its ``total``, and ``split`` is the same of the whole change; a model's driver was asked again.

    Raises `UsageError`: The runs are of two claims, or one has no answer.
    """
    if claim_key(before.statement) != claim_key(after.statement):
        raise UsageError(
            f"runs {before.run_id} and {after.run_id} are about different claims: name two runs of one claim"
        )
    for run in (before, after):
        if run.tree.root.p is None:
            raise UsageError(f"run {run.run_id} has no answer yet")
    pairs = _leaves_of_both(before.tree, after.tree)
    moved = [(old, new) for old, new in pairs if before.tree[old].p != after.tree[new].p]
    parts: list[NodeId] = [new for _, new in moved]
    names = [RULE, *parts]
    shares = average_over_orders(names, partial(_mixed_root, before.tree, after.tree, pairs))
    return {
        "runs": [before.run_id, after.run_id],
        "claim": after.statement,
        "before": before.tree.root.p,
        "after": after.tree.root.p,
        "split": _whole_split(splits, before, after),
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
                    "how": how_it_came(after, new),
                    "spread": _trial_spread(after, new),
                    **_split_share(splits, before.tree[old], after.tree[new], shares.get(new, 0.0)),
                }
                for old, new in pairs
            },
        },
    }


def how_it_came(run: RunView, node: NodeId) -> str:
    """Tell how a driver came to its value in a run: ``carried`` over, ``computed`` from rows, or ``asked`` of a model."""
    if run.state.follows is not None and node in run.state.follows.leaves:
        return "carried"
    return "computed" if run.state.settings.stays_here else "asked"


def _whole_split(splits: RunSplits | None, before: RunView, after: RunView) -> dict[str, float] | None:
    first, last = before.tree.root.p, after.tree.root.p
    if splits is None or first is None or last is None:
        return None
    return splits.of(after.statement, first, last)


def _split_share(
    splits: RunSplits | None, old: Proposition, new: Proposition, total: float
) -> dict[str, float]:
    if splits is None or old.p is None or new.p is None or old.p == new.p:
        return {}
    split = splits.of(new.statement, old.p, new.p)
    # The claim moves with a driver in proportion: what of the driver's own change a part brought, it brought of the claim's.
    return {} if split is None else {name: total * part / (new.p - old.p) for name, part in split.items()}


def _leaves_of_both(before: Tree, after: Tree) -> list[tuple[NodeId, NodeId]]:
    """Pair the leaves of two trees by their statements; a claim that was answered without drivers is its own leaf."""
    earlier = {
        claim_key(before[leaf].statement): leaf for leaf in before.leaves() if before[leaf].p is not None
    }
    return [
        (earlier[key], leaf)
        for leaf in after.leaves()
        if after[leaf].p is not None and (key := claim_key(after[leaf].statement)) in earlier
    ]


def _mixed_root(
    before: Tree, after: Tree, pairs: Sequence[tuple[NodeId, NodeId]], changed: frozenset[str]
) -> float:
    """Return the root's probability with the ``changed`` parts of the later run and the others of the earlier one."""
    later = RULE in changed
    p: dict[NodeId, float] = {}
    for old, new in pairs:
        value = after[new].p if new in changed else before[old].p
        assert value is not None, "a leaf of both has a value"
        p[new if later else old] = value
    root = evaluate(after if later else before, p).root
    assert root is not None, "both runs have an answer"
    return root


def _trial_spread(run: RunView, node: NodeId) -> float | None:
    values = [trial.belief.p for trial in run.state.trials_of(node) if trial.belief is not None]
    if len(values) < 2:
        return None
    return float((deviations(values) / (len(values) - 1)) ** 0.5)


def change_lines(document: Mapping[str, Any]) -> list[str]:
    """Return the change between two runs as lines, the largest part first."""
    first, second = document["runs"]
    lines = [
        f"{percent(document['before'])} to {percent(document['after'])} "
        f"({point_change(document['before'], document['after'])}), run {first} to run {second}"
    ]
    if document.get("split"):
        lines.append(f"in all: {split_words(document['split'])}")
    rows = [
        (
            row["total"],
            f"{node}  {percent(row['before'])} to {percent(row['after'])}{_how_words(row)}  {row['statement']}",
        )
        for node, row in document["parts"]["leaves"].items()
    ]
    rows.append((document["parts"]["rule"], "rules, weights, and drivers of only one run"))
    still = sum(not total for total, _ in rows)
    lines += [
        f"{point_change(0.0, total):>13}  {words}"
        for total, words in sorted(rows, key=lambda row: -abs(row[0]))
        if total
    ]
    return [*lines, *([f"{'':13}  {counted(still, 'part')} without a change"] if still else [])]


def _how_words(row: Mapping[str, Any]) -> str:
    if "rows" in row:
        return f" ({split_words(row)})"
    if row.get("how") == "asked":
        spread = row["spread"]
        return (
            " (asked again)"
            if spread is None
            else f" (asked again, standard deviation of the trials {100 * spread:.1f} points)"
        )
    return " (carried over)" if row.get("how") == "carried" else ""
