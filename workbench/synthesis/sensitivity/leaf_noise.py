"""Disturb the leaves at random, to see how much a synthesis rule amplifies their errors: ``workbench noise`` (paper A, section 5.3)."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum
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


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseStudy:
    """The root over many disturbed copies of one tree."""

    #: Undisturbed.
    root: float
    #: Of every draw, in order.
    values: tuple[float, ...]
    #: mean, sd: Of the values (ddof 1).
    mean: float
    sd: float
    #: 5, 25, 50, 75 and 95 percent points, by linear interpolation.
    quantiles: Mapping[str, float]

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "root": self.root,
            "mean": self.mean,
            "sd": self.sd,
            "quantiles": dict(self.quantiles),
            "values": list(self.values),
        }


def noise_study(tree: Tree, kind: Noise, level: float, *, draws: int, seed: int) -> NoiseStudy:
    """Compute the root under noise at the leaves, ``draws`` times; the same for the same seed, and its first draws for fewer.

    Raises `SensitivityError`: Fewer than 2 draws, no root value, or a node without a function, which noise below it could not move.
    """
    if draws < 2:
        raise SensitivityError(f"a distribution needs at least 2 draws, not {draws}")
    if tree.root.p is None:
        raise SensitivityError("the claim has no value yet: finish the run first")
    require_functions(tree)
    sources = random.Random(seed)
    values = []
    for _ in range(draws):
        root = inject_noise(tree, kind, level, seed=sources.getrandbits(63)).root.p
        assert root is not None
        values.append(root)
    mean = fsum(values) / draws
    ordered = sorted(values)
    return NoiseStudy(
        root=tree.root.p,
        values=tuple(values),
        mean=mean,
        sd=(fsum((value - mean) ** 2 for value in values) / (draws - 1)) ** 0.5,
        quantiles={str(percent): _quantile(ordered, percent / 100) for percent in (5, 25, 50, 75, 95)},
    )


def require_functions(tree: Tree) -> None:
    """Raise `SensitivityError` for a tree with a node that is no function of its children: noise below it would not move it."""
    deaf = [node for node in tree.inner() if not follows_children(tree[node]) and not tree[node].pinned]
    if deaf:
        raise SensitivityError(
            f"{', '.join(deaf)} has no function, so noise below it cannot reach the claim: analyze with another ",
            Option("rule"),
        )


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


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
