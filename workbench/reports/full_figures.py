"""List every number of a note with all its digits, so that a reader of a printed page can recompute it."""

from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

from workbench.propositions import NodeId, Tree
from workbench.whatif.band import Band


def full_figures(
    tree: Tree,
    nodes: Iterable[NodeId],
    *,
    tornado: Sequence[Mapping[str, Any]] = (),
    reachable: tuple[float, float] | None = None,
    base_rate: float | None = None,
    band: Band | None = None,
    scenarios: Mapping[str, Any] | None = None,
    trials: Mapping[NodeId, Sequence[float]] | None = None,
    by_chance: Mapping[NodeId, tuple[float, float]] | None = None,
) -> list[tuple[str, str]]:
    """Return pairs of a figure's name and its numbers, written so that they read back as the same floats."""
    rows: list[tuple[str, str]] = []
    if base_rate is not None:
        rows.append(("base rate", repr(base_rate)))
    if band is not None:
        rows.append((f"band, spread of {band.repeats}", f"{band.low!r} to {band.high!r}"))
    if reachable is not None:
        rows.append(("reachable", f"{reachable[0]!r} to {reachable[1]!r}"))
    moves = {row["id"]: row for row in tornado}
    for node in nodes:
        assumed = "PA" if node == tree.root.id else f"{node}.PA"
        figures = _proposition(tree, node, moves.get(node), (trials or {}).get(node, ()))
        if by_chance and node in by_chance and len((trials or {}).get(node, ())) < 2:
            figures += "; by chance {!r} to {!r}".format(*by_chance[node])
        rows.append((node, figures))
        if assumed in moves:
            rows.append((assumed, _effect(moves[assumed])))
    if scenarios is not None:
        rows += [
            (f"scenario {row['name']}", _named_values({"claim": row["root"], "held": row["probability"]}))
            for row in scenarios["scenarios"]
        ]
        if scenarios["mix"] is not None:
            rows.append(("scenarios mixed", _named_values({"claim": scenarios["mix"]["root"]})))
    return rows


def _proposition(tree: Tree, node: NodeId, move: Mapping[str, Any] | None, trials: Sequence[float]) -> str:
    rule = tree[node].rule
    parts = [_named_values({"p": tree[node].p})] if move is None else [_effect(move)]
    if len(trials) > 1:
        parts.append(f"trials {', '.join(map(repr, trials))}")
    if rule is not None and rule.numeric:
        parts.append(f"rule {_named_values(rule.to_json())}")
    return "; ".join(parts)


def _effect(row: Mapping[str, Any]) -> str:
    """Write a row of the tornado: the claim's least and greatest probability, path weight and contribution."""
    named = {
        "p": row["p"],
        "claim at least": row["low"],
        "at most": row["high"],
        "path weight": row["path_weight"],
        "contribution": row["contribution"],
    }
    return _named_values(named)


def _named_values(values: Mapping[str, Any]) -> str:
    """Write names and values with all digits; nested mappings go in brackets."""
    parts = []
    for name, value in values.items():
        if isinstance(value, Mapping):
            parts.append(f"{name} ({_named_values(value)})")
        elif isinstance(value, Real) and not isinstance(value, bool):
            parts.append(f"{name} {value!r}")
        elif value is not None and not isinstance(value, bool):
            parts.append(f"{name} {value}")
    return ", ".join(parts) or "no value"
