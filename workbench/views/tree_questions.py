"""Answers about a run's tree, as JSON: sensitivity, scenarios, coherence, decisions, noise and refits.

What a tree alone can answer is in ``workbench.whatif.tree_documents``, which the what-ifs below use too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from workbench.engine.record.state import RunState
from workbench.store import utc_now
from workbench.synthesis.coherence.option_sets import analyzed_options, decide, option_probabilities
from workbench.whatif.run_edits import require_grounded
from workbench.whatif.tree_documents import scenario_table

if TYPE_CHECKING:
    pass


def scenarios(state: RunState, names: Sequence[str] = ()) -> dict[str, Any]:
    """Return the saved scenarios side by side, all or those named, and their mix: ``workbench scenarios``."""
    return scenario_table(state.tree, state.scenarios, names, now=utc_now())


def decision(states: Sequence[RunState], threshold: float | None = None) -> dict[str, Any]:
    """Return probabilities of exclusive options that sum to 1, and the one to take: ``workbench decide``.

    One run stands against its negation. Of two options the first is taken when it is above the threshold (that of the first
    run's preset unless given); of more, the likeliest. Raises ``UsageError`` for a run whose root has no probability.
    """
    for state in states:
        require_grounded(state)
    names = [state.statement for state in states]
    if len(states) == 1:
        names.append(f"not: {names[0]}")
    analyzed = analyzed_options(names) if len(states) == 1 else tuple(names)
    roots = {name: state.tree.root.p or 0.0 for name, state in zip(names, states, strict=False)}
    shares = option_probabilities(names, {name: roots[name] for name in analyzed})
    limit = states[0].settings.threshold if threshold is None else threshold
    if len(names) == 2:
        choice = names[0] if decide(shares[names[0]], limit) else names[1]
    else:
        choice = max(names, key=lambda name: shares[name])
    return {
        "options": [{"option": name, "p": roots.get(name), "probability": shares[name]} for name in names],
        "threshold": limit,
        "decision": choice,
    }
