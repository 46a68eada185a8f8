"""List every number of a note with all its digits, so that a reader of a printed page can recompute it."""

from collections.abc import Iterable, Mapping
from typing import Any

from workbench.engine.record.state import RunState
from workbench.propositions import NodeId
from workbench.whatif.band import Band, past_windows
from workbench.whatif.run_sensitivity import leaf_trials

#: What a row of the tornado says of a driver, by the names of the note.
_EFFECTS = {
    "p": "p",
    "claim at least": "low",
    "at most": "high",
    "path weight": "path_weight",
    "contribution": "contribution",
}


def full_figures(
    state: RunState,
    nodes: Iterable[NodeId],
    sensitivity: Mapping[str, Any] | None,
    base_rate: float | None,
    band: Band | None,
    scenarios: Mapping[str, Any] | None,
) -> list[tuple[str, str]]:
    """Return pairs of a figure's name and its numbers, written so that they read back as the same floats."""
    tree, trials, windows = state.tree, leaf_trials(state), past_windows(state.tree)
    figures: dict[str, Mapping[str, Any]] = {"base rate": {"p": base_rate}}
    if band is not None:
        figures["band"] = {"from": band.low, "to": band.high, "spread of": band.repeats}
    moves: dict[str, dict[str, Any]] = {}
    if sensitivity is not None:
        low, high = sensitivity["reachable"]
        figures["reachable"] = {"from": low, "to": high}
        moves = {
            row["id"]: {name: row[field] for name, field in _EFFECTS.items()}
            for row in sensitivity["tornado"]
        }
    for node in nodes:
        p, rule = tree[node].p, tree[node].rule
        repeated = len(trials.get(node, ())) > 1
        figures[node] = {
            **moves.get(node, {"p": p}),
            "trials": trials[node] if repeated else None,
            "rule": rule.to_json() if rule is not None and rule.numeric else None,
            "by chance": windows[node].band(p or 0.0) if node in windows and not repeated else None,
        }
        assumption = "PA" if node == tree.root.id else f"{node}.PA"
        if assumption in moves:
            figures[assumption] = moves[assumption]
    if scenarios is not None:
        for row in scenarios["scenarios"]:
            figures[f"scenario {row['name']}"] = {"claim": row["root"], "held": row["probability"]}
        figures["scenarios mixed"] = {"claim": scenarios["mix"] and scenarios["mix"]["root"]}
    written = ((name, _written(values)[1:-1]) for name, values in figures.items())
    return [(name, words) for name, words in written if words]


def _written(value: Any) -> str:
    """Write a value with all digits; what holds several stands in brackets."""
    if isinstance(value, Mapping):
        named = {
            name: item for name, item in value.items() if item is not None and not isinstance(item, bool)
        }
        return f"({', '.join(f'{name} {_written(item)}' for name, item in named.items())})"
    if isinstance(value, list | tuple):
        return f"({', '.join(map(_written, value))})"
    return value if isinstance(value, str) else repr(value)
