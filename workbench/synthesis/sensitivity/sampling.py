"""Draw random leaf values with given means, variances and correlations, and the root's distribution over them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import ndtr
from scipy.stats import beta

from workbench.propositions import NodeId, Tree
from workbench.synthesis.errors import SensitivityError
from workbench.synthesis.sensitivity.columns import Column, root_columns


def beta_shape(mean: float, variance: float) -> tuple[float, float]:
    """Return the parameters of the Beta distribution with this mean and variance.

    Raises `SensitivityError`: The variance is not below mean (1 - mean), or is 0.
    """
    room = mean * (1 - mean)
    if not 0 < variance < room:
        raise SensitivityError(f"no Beta has mean {mean:g} and variance {variance:g}")
    size = room / variance - 1
    return mean * size, (1 - mean) * size


def beta_columns(
    means: Mapping[NodeId, float],
    variances: Mapping[NodeId, float],
    pairs: Mapping[frozenset[NodeId], float],
    *,
    samples: int,
    seed: int,
) -> dict[NodeId, Column]:
    """Draw values per leaf: Beta with its mean and variance, joined by a Gaussian copula.

    A leaf without variance is constant, one with all the variance its mean allows is 0 or 1. The copula's correlations are
    the stated ones; those of the Beta values come out slightly smaller for skewed leaves.

    Raises `SensitivityError`: The correlations contradict each other.
    """
    leaves = list(means)
    place = {leaf: index for index, leaf in enumerate(leaves)}
    matrix = np.eye(len(leaves))
    for pair, rho in pairs.items():
        first, second = pair
        matrix[place[first], place[second]] = matrix[place[second], place[first]] = rho
    # Not Cholesky: leaves with the very same sources correlate by 1, and that matrix is singular. Its eigenvalues of 0
    # may come out slightly negative, hence the tolerance and the clip.
    values, vectors = np.linalg.eigh(matrix)
    if leaves and values.min() < -1e-9:
        raise SensitivityError("these correlations cannot all hold at once")
    root = vectors * np.sqrt(np.clip(values, 0, None))
    normal = np.random.default_rng(seed).standard_normal((samples, len(leaves))) @ root.T
    uniform = ndtr(normal)
    columns = {}
    for leaf in leaves:
        mean, variance, u = means[leaf], variances[leaf], uniform[:, place[leaf]]
        room = mean * (1 - mean)
        if variance <= 1e-18:
            columns[leaf] = np.full(samples, mean)
        elif variance >= room * (1 - 1e-9):
            columns[leaf] = (u > 1 - mean).astype(np.float64)
        else:
            columns[leaf] = np.asarray(beta.ppf(u, *beta_shape(mean, variance)), dtype=np.float64)
    return columns


def range_band(
    tree: Tree, ranges: Mapping[NodeId, tuple[float, float]], *, samples: int = 20_000, seed: int = 0
) -> dict[str, Any]:
    """Propagate the analyst's ranges to the root by simulation.

    Each value is drawn from the uniform distribution between its ends, ``low + (high - low) * U(0, 1)``, each independent of the others;
    the root is recomputed for every draw. That is the distribution of a quantity of which only bounds are known. Source: JCGM 101:2008
    (Supplement 1 to the GUM), 6.4.2 for the distribution and 5.9 for the propagation.

    Returns
    -------
    dict
        ``mean``, ``variance`` and ``sd`` of the root, ``low`` and ``high``: its central 90%.

    Raises
    ------
    SensitivityError
        The root has no value.
    """
    if tree.root.p is None:
        raise SensitivityError("the claim has no value, so a range moves nothing")
    uniform = np.random.default_rng(seed).random((samples, len(ranges)))
    columns = {
        node: low + (high - low) * uniform[:, place]
        for place, (node, (low, high)) in enumerate(ranges.items())
    }
    return summary(tree, columns)


def summary(tree: Tree, columns: Mapping[NodeId, Column]) -> dict[str, Any]:
    """Compute mean, variance, sd and central 90% interval of the root over the rows."""
    root = root_columns(tree, columns)
    variance = float(root.var(ddof=1)) if len(root) > 1 else 0.0
    low, high = np.quantile(root, [0.05, 0.95])
    return {
        "mean": float(root.mean()),
        "variance": variance,
        "sd": variance**0.5,
        "low": float(low),
        "high": float(high),
    }
