"""Disturbing the leaves, to see how much a synthesis rule amplifies it (paper A, section 5.3; FEATURES A19)."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, get_args

from workbench.propositions import NodeId, Tree, check_probability
from workbench.synthesis.errors import SensitivityError
from workbench.synthesis.evaluation import settle

Noise = Literal["normal", "uncertain", "reverse"]


def noisy_values(values: Mapping[NodeId, float], kind: Noise, level: float, seed: int) -> dict[NodeId, float]:
    """Disturbed soft truth values, the same for the same seed, whatever the order of the ids.

    Parameters
    ----------
    values : mapping
    kind : {"normal", "uncertain", "reverse"}
        ``normal``: p + N(0, level), held inside [0, 1]; ``uncertain``: 0.5 with probability level; ``reverse``: 1 - p with
        probability level.
    level : float
        In [0, 1]; 0 changes nothing.
    seed : int

    Raises
    ------
    SensitivityError, ProbabilityOutOfRange
    """
    if kind not in get_args(Noise):
        raise SensitivityError(f"noise is one of {', '.join(get_args(Noise))}, not {kind!r}")
    check_probability(level, of="the noise level")
    found = {}
    for node, p in values.items():
        source = random.Random(f"{seed}:{kind}:{node}")  # one stream per leaf: more noise keeps the same draw
        if kind == "normal":
            found[node] = min(1.0, max(0.0, p + level * source.gauss(0.0, 1.0)))
        else:
            hit = source.random() < level
            found[node] = p if not hit else 0.5 if kind == "uncertain" else 1.0 - p
    return found


def inject_noise(tree: Tree, kind: Noise, level: float, *, seed: int) -> Tree:
    """The tree with disturbed leaves and everything computable above them recomputed; the words stay."""
    grounded = {leaf: tree[leaf].p for leaf in tree.leaves()}
    values = noisy_values({leaf: p for leaf, p in grounded.items() if p is not None}, kind, level, seed)
    changed = []
    for leaf, p in values.items():
        belief = tree[leaf].belief
        assert belief is not None
        changed.append(replace(tree[leaf], belief=replace(belief, p=p)))
    return settle(tree.with_propositions(changed)) if changed else tree
