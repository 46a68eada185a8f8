"""Disturb the leaves at random, to see how much a synthesis rule amplifies their errors: ``workbench noise`` (paper A, section 5.3)."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, get_args

from workbench.errors import Option
from workbench.propositions import NodeId, Tree, check_probability
from workbench.synthesis.errors import SensitivityError
from workbench.synthesis.whatif.evaluation import follows_children, settle

Noise = Literal["normal", "uncertain", "reverse"]


def noisy_values(values: Mapping[NodeId, float], kind: Noise, level: float, seed: int) -> dict[NodeId, float]:
    """Disturb soft truth values, the same for the same seed, whatever the order of the ids.

    Raises `SensitivityError, ProbabilityOutOfRange`.
    """
    if kind not in get_args(Noise):
        raise SensitivityError(f"noise is one of {', '.join(get_args(Noise))}, not {kind!r}")
    check_probability(level, of="the noise level")
    noisy = {}
    for node, p in values.items():
        source = random.Random(f"{seed}:{kind}:{node}")  # one stream per leaf: more noise keeps the same draw
        if kind == "normal":
            noisy[node] = min(1.0, max(0.0, p + level * source.gauss(0.0, 1.0)))
        else:
            hit = source.random() < level
            noisy[node] = p if not hit else 0.5 if kind == "uncertain" else 1.0 - p
    return noisy


def noise_study(tree: Tree, kind: Noise, level: float, *, draws: int, seed: int) -> dict[str, Any]:
    """Compute the root under noise at the leaves, ``draws`` times; the same for the same seed, and its first draws for fewer.

    Returns
    -------
    dict
        ``root`` undisturbed; of the draws ``values`` in order, ``mean``, ``sd`` (ddof 1), and ``quantiles`` by percent (linear).

    Raises
    ------
    SensitivityError
        Fewer than 2 draws, no root value, or a node without a function, which noise below it could not move.
    """
    if draws < 2:
        raise SensitivityError(f"a distribution needs at least 2 draws, not {draws}")
    if tree.root.p is None:
        raise SensitivityError("the claim has no value yet: finish the run first")
    require_functions(tree)
    # one disturbed tree does without numpy
    import numpy as np

    from workbench.synthesis.sensitivity.columns import root_columns

    sources = random.Random(seed)
    grounded = {leaf: p for leaf in tree.leaves() if (p := tree[leaf].p) is not None}
    rows = [noisy_values(grounded, kind, level, sources.getrandbits(63)) for _ in range(draws)]
    values = root_columns(tree, {leaf: np.array([row[leaf] for row in rows]) for leaf in grounded})
    percents = (5, 25, 50, 75, 95)
    return {
        "root": tree.root.p,
        "mean": float(values.mean()),
        "sd": float(values.std(ddof=1)),
        "quantiles": {
            str(p): float(q) for p, q in zip(percents, np.percentile(values, percents), strict=True)
        },
        "values": values.tolist(),
    }


def require_functions(tree: Tree) -> None:
    """Raise `SensitivityError` for a tree with a node that is no function of its children: noise below it would not move it."""
    deaf = [node for node in tree.inner() if not follows_children(tree[node]) and not tree[node].pinned]
    if deaf:
        raise SensitivityError(
            f"{', '.join(deaf)} has no function, so noise below it cannot reach the claim: analyze with another ",
            Option("rule"),
        )


def inject_noise(tree: Tree, kind: Noise, level: float, *, seed: int) -> Tree:
    """Disturb the leaves and recompute everything computable above them; the words stay."""
    grounded = {leaf: tree[leaf].p for leaf in tree.leaves()}
    values = noisy_values({leaf: p for leaf, p in grounded.items() if p is not None}, kind, level, seed)
    changed = []
    for leaf, p in values.items():
        belief = tree[leaf].belief
        assert belief is not None
        changed.append(replace(tree[leaf], belief=replace(belief, p=p)))
    return settle(tree.with_propositions(changed)) if changed else tree
