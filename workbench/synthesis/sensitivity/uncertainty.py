"""Propagate the leaves' uncertainty to the root (paper A, sections 3, 4.2 and A.1)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import fsum, sqrt
from typing import Any, Literal

from workbench.errors import Option
from workbench.propositions import NodeId, Tree, check_probability
from workbench.synthesis.errors import SensitivityError
from workbench.synthesis.sensitivity.paths import path_weights
from workbench.synthesis.whatif.evaluation import evaluate, follows_children, reachable_ranges

Method = Literal["auto", "first-order", "monte-carlo"]
Pair = frozenset[NodeId]


@dataclass(frozen=True, slots=True, kw_only=True)
class RootUncertainty:
    """The root's distribution."""

    #: Expected root value.
    mean: float
    #: variance, sd: Of the root value, from the leaves' errors.
    variance: float
    sd: float
    #: low, high: Central 90 % interval, inside [0, 1]; by the normal approximation unless simulated.
    low: float
    high: float
    method: str
    #: Per leaf its part of the variance by path weights: squared path weight times variance, plus half of each covariance it takes part
    #: in; they sum to the first-order variance.
    shares: Mapping[NodeId, float]

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)


def deviations(values: Sequence[float]) -> float:
    """Sum the squared deviations of values from their mean; 0.0 without any."""
    mean = fsum(values) / len(values) if values else 0.0
    return fsum((value - mean) ** 2 for value in values)


def trial_moments(trials: Mapping[NodeId, Sequence[float]]) -> dict[NodeId, float]:
    """Compute the error variance of each leaf's value, from its independent trials."""
    variances = {}
    for leaf, values in trials.items():
        for value in values:
            check_probability(value, of=f"a trial of {leaf}")
        if (count := len(values)) > 1:
            variances[leaf] = deviations(values) / (count - 1) / count
    return variances


def source_correlation(sources: Mapping[NodeId, Collection[str]]) -> dict[Pair, float]:
    """Correlate the errors of leaves that share sources: ``|A & B| / sqrt(|A| |B|)``.

    That is the exact correlation of two errors that are sums of independent errors, one per source, all of one size; so the
    matrix is always a valid one.
    """
    correlation = {}
    named = [(leaf, set(read)) for leaf, read in sources.items() if read]
    for place, (first, first_sources) in enumerate(named):
        for second, second_sources in named[place + 1 :]:
            common = len(first_sources & second_sources)
            if common:
                correlation[frozenset((first, second))] = common / sqrt(
                    len(first_sources) * len(second_sources)
                )
    return correlation


def root_uncertainty(
    tree: Tree,
    variances: Mapping[NodeId, float],
    correlation: Mapping[Pair, float] | None = None,
    *,
    method: Method = "auto",
    samples: int = 20_000,
    seed: int = 0,
) -> RootUncertainty:
    """Propagate the leaves' variances to the root.

    `variances`: Error variance per leaf, at most p(1 - p); a leaf not named is taken as certain.

    Raises `SensitivityError`: No root value, a variance or correlation that cannot be.
    """
    evaluation = evaluate(tree)
    if evaluation.root is None:
        raise SensitivityError(
            "the claim has no value: finish the run first, or ask the model again with ",
            Option("full", True),
        )
    pairs = _checked(tree, variances, correlation or {}, evaluation.values)
    weights = path_weights(tree, evaluation=evaluation)
    shares = _shares(variances, pairs, weights)
    # Errors that cancel (correlation -1) may leave a rounded sum below 0.
    variance = max(0.0, fsum(shares.values()))
    linear = is_linear(tree)
    if method == "first-order" or (linear and method != "monte-carlo"):
        # 1.6448... below is the 95 % point of the standard normal distribution: 5 % are left out on each side.
        sd = sqrt(variance)
        return RootUncertainty(
            mean=evaluation.root,
            variance=variance,
            sd=sd,
            low=max(0.0, evaluation.root - 1.6448536269514722 * sd),
            high=min(1.0, evaluation.root + 1.6448536269514722 * sd),
            method="exact" if linear else "first-order",
            shares=shares,
        )
    from workbench.synthesis.sensitivity.sampling import beta_columns, summary

    means = {leaf: evaluation.values[leaf] for leaf in variances}
    columns = beta_columns(means, variances, pairs, samples=samples, seed=seed)  # type: ignore[arg-type]
    return RootUncertainty(**summary(tree, columns), method="monte-carlo", shares=shares)


def is_linear(tree: Tree) -> bool:
    """Whether the root is a linear function of the leaves everywhere: linear rules only, none of which can leave [0, 1].

    What lies below a pinned node does not count. A rule's range is taken over its children's reachable ranges.
    """
    spans = reachable_ranges(tree, raw=True)
    stack = [tree.root.id]
    while stack:
        node = tree[stack.pop()]
        if not node.children or node.pinned:
            continue
        if follows_children(node):
            if node.rule is None or not node.rule.affine:
                return False
            low, high = spans[node.id]
            if low < -1e-12 or high > 1 + 1e-12:
                return False
            stack.extend(node.children)
    return True


def _shares(
    variances: Mapping[NodeId, float], pairs: Mapping[Pair, float], weights: Mapping[NodeId, float | None]
) -> dict[NodeId, float]:
    # No weight (below a node without a function): the error does not reach the root until the model is asked again.
    effect = {leaf: (weights[leaf] or 0.0) * sqrt(variance) for leaf, variance in variances.items()}
    shares = {leaf: value**2 for leaf, value in effect.items()}
    for pair, rho in pairs.items():
        first, second = pair
        common = rho * effect[first] * effect[second]  # 2 w w cov, half to each
        shares[first] += common
        shares[second] += common
    return shares


def _checked(
    tree: Tree,
    variances: Mapping[NodeId, float],
    correlation: Mapping[Pair, float],
    values: Mapping[NodeId, float | None],
) -> dict[Pair, float]:
    for leaf, variance in variances.items():
        p = values[tree[leaf].id]
        if tree[leaf].children or p is None:
            raise SensitivityError(f"{leaf} must have a value and no drivers below it to have a variance")
        if not 0.0 <= variance <= p * (1 - p) + 1e-12:
            raise SensitivityError(
                f"the variance of {leaf} is {variance:g}; at p = {p:g} it must lie between 0 and {p * (1 - p):g}"
            )
    for pair, rho in correlation.items():
        if len(pair) != 2 or not -1.0 <= rho <= 1.0:
            raise SensitivityError(
                f"a correlation needs two drivers and a number in [-1, 1], not {set(pair)}: {rho:g}"
            )
    # A leaf without a variance has no error that could correlate.
    return {pair: rho for pair, rho in correlation.items() if pair <= variances.keys()}
