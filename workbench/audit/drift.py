"""Compare the probabilities of re-run proofs with those on record."""

from collections.abc import Sequence
from typing import Any

import orjson

from workbench.engine.proof_check import ProofCheck
from workbench.engine.record.state import RunState
from workbench.propositions import ROOT, NodeId
from workbench.synthesis import resynthesize


def rerun_probability(printed: Sequence[str]) -> float | None:
    """Return the probability that a re-run's own output ends with: the last line that is a JSON object with a ``p``.

    None for notebooks that print no such line: their conclusion is the model's, read from the recorded reply.

    >>> rerun_probability(["p is near", '{"p": 0.61, "base_rate": 0.5}'])
    0.61
    """
    for line in reversed(printed):
        try:
            record = orjson.loads(line)
        except ValueError:
            continue
        p = record.get("p") if isinstance(record, dict) else None
        if isinstance(p, int | float) and not isinstance(p, bool) and 0.0 <= p <= 1.0:
            return float(p)
    return None


def drift(state: RunState, checks: Sequence[ProofCheck], *, rerun: bool) -> dict[str, Any]:
    """Return the p that follows from the proofs as they were just checked, by the stored rules, and its distance to the record.

    A re-run that prints its own p counts with that; any other trial counts with the conclusion that was read again. ``p`` and
    ``drift`` are None where the records differ, since nothing is concluded from those, or where a rule has no formula.
    """
    nodes = list(dict.fromkeys(check.node for check in checks))
    target = nodes[0] if len(nodes) == 1 and len(state.tree) > 1 else ROOT
    recorded = state.tree[target].p
    nothing: dict[str, Any] = {
        "node": target,
        "p": None,
        "recorded_p": recorded,
        "drift": None,
        "drifting": [],
    }
    if not rerun or recorded is None:
        return nothing
    again: dict[NodeId, dict[int, float]] = {}
    for check in checks:
        belief = state.trial(check.node, check.trial).belief
        assert belief is not None, "only concluded trials are checked"
        p = rerun_probability(check.outcome.printed)
        # A model may round what its cells printed: only a re-run that printed something else than before has drifted.
        outcome = check.outcome
        differences = (*outcome.differing, *outcome.unrepeatable, *outcome.advisory)
        moved = p is not None and any(item.check == "rerun" for item in differences)
        again.setdefault(check.node, {})[check.trial] = p if moved and p is not None else belief.p
    values = {
        node: state.settings.pooled(node, trials, dead=_dead(state, node))
        for node, trials in again.items()
        if not state.tree[node].children  # a direct forecast of the claim prints nothing that could drift
    }
    moved_leaves = {node: p for node, p in values.items() if p != state.tree[node].p}
    if target != ROOT:
        after: float | None = values[target]
    else:
        after = recorded if not moved_leaves else resynthesize(state.tree, moved_leaves).after
    return {
        "node": target,
        "p": after,
        "recorded_p": recorded,
        "drift": None if after is None else after - recorded,
        "drifting": [
            {"node": node, "p": p, "recorded_p": state.tree[node].p} for node, p in moved_leaves.items()
        ],
    }


def _dead(state: RunState, node: NodeId) -> int:
    return sum(trial.belief is None for (leaf, _), trial in state.trials.items() if leaf == node)
