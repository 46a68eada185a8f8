"""What was forecast of a claim directly, by model, beside what its drivers come to: the same words on every screen."""

from collections.abc import Mapping
from typing import Any

from workbench.engine.record.state import RunState
from workbench.formatting import counted, percent
from workbench.propositions import ROOT
from workbench.views.answer import pooled_of


def direct_forecasts(state: RunState) -> dict[str, Any] | None:
    """Return the claim's direct forecasts and what they are pooled with; None where there are none, or of one model alone.

    ``tree`` and ``tree_weight`` are None where the claim has no drivers, or a value that no rule computes.
    """
    settings, root = state.settings, state.tree.root
    beside_tree = bool(root.children)
    if not (settings.direct if beside_tree else settings.direct_models) or ROOT not in state.pooled:
        return None
    trials = {
        number: trial.belief.p
        for number in range(1, settings.trials_at(ROOT) + 1)
        if (trial := state.trial(ROOT, number)).belief is not None
    }
    by_model = settings.by_model(trials)
    drivers = {child.id: child.p for child in state.tree.children(ROOT) if child.p is not None}
    whole = len(drivers) == len(root.children)
    pooled = pooled_of(root, drivers) if beside_tree and whole else None
    return {
        "p": state.pooled[ROOT],
        "forecasts": [*trials.values()],
        "by_model": {
            model: settings.pooled(
                ROOT, {n: p for n, p in trials.items() if settings.direct_model(n) == model}
            )
            for model in by_model
        },
        "tree": pooled.tree if pooled else None,
        "tree_weight": pooled.tree_weight if pooled else None,
    }


def direct_lines(document: Mapping[str, Any] | None) -> list[str]:
    """Return the lines about direct forecasts: what each was, and what each model came to."""
    if document is None:
        return []
    each = ", ".join(percent(p) for p in document["forecasts"])
    lines = [
        f"{counted(len(document['forecasts']), 'direct forecast')}: {each}; together {percent(document['p'])}."
    ]
    if len(document["by_model"]) > 1:
        models = ", ".join(f"{model} {percent(p)}" for model, p in document["by_model"].items())
        lines.append(f"By model: {models}.")
    return lines
