"""Check whether a set of forecasts hangs together, whatever comes true."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from workbench.science.arrays import FloatArray
from workbench.science.errors import DomainError
from workbench.science.table_cells import StrArray


def _probability(beliefs: Mapping[str, float], outcome: str) -> float:
    if outcome not in beliefs:
        raise DomainError(f"there is no probability for {outcome!r}")
    p = float(beliefs[outcome])
    if not 0.0 <= p <= 1.0:
        raise DomainError(f"the probability of {outcome!r}, {p:g}, is not in [0, 1]")
    return p


def chain_score(beliefs: Mapping[str, float], chain: Sequence[str], *, tolerance: float = 1e-9) -> float:
    """Share of the steps of a logical chain whose probabilities do not fall, in [0, 1]; 1 is consistent.

    Each of the outcomes of ``chain`` implies the next: "above 220" stands before "above 200". A fall of at most
    ``tolerance`` is none. Fewer than 2 outcomes, or one without a belief, is a `DomainError`. Source: Prophet Arena,
    App. D.4, eq. 9.
    """
    if len(chain) < 2:
        raise DomainError("a chain needs at least 2 outcomes")
    values = np.array([_probability(beliefs, outcome) for outcome in chain])
    return float((np.diff(values) >= -tolerance).mean())


def logical_chain_score(beliefs: Mapping[str, float], chains: Sequence[Sequence[str]]) -> float:
    """Mean `chain_score` of an event's maximal chains; 1 is consistent. Average it over events that have a chain.

    Source: Prophet Arena, App. D.4.
    """
    if not chains:
        raise DomainError("an event without a chain has no score: leave it out")
    return float(np.mean([chain_score(beliefs, chain) for chain in chains]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Exclusion:
    """The sum of mutually exclusive outcomes against 1."""

    consistent: bool
    gap: float
    """Sum minus 1: above 0 the beliefs promise more than can happen."""


def mutual_exclusion(
    beliefs: Mapping[str, float], outcomes: Sequence[str], *, tolerance: float = 0.01
) -> Exclusion:
    """Check whether the outcomes of which exactly one can happen sum to 1, and return the signed gap.

    ``outcomes`` is a maximal set, at least 2. The paper does not say how large a gap is still consistent; 0.01 is
    ours. Source: Prophet Arena, App. D.4, eq. 10.
    """
    if len(outcomes) < 2:
        raise DomainError("mutual exclusion needs at least 2 outcomes")
    gap = float(sum(_probability(beliefs, outcome) for outcome in outcomes) - 1.0)
    return Exclusion(consistent=abs(gap) <= tolerance + 1e-12, gap=gap)


def consistency_scores(
    p: FloatArray, outcome_set: StrArray, set_size: FloatArray, set_step: FloatArray
) -> dict[str, float | int | None]:
    """Both consistency scores of a method over all its events.

    ``exclusive`` is the share of exclusive sets, each with all its outcomes forecast, that sum to 1 within 0.01, ``gap`` their mean
    distance from 1, ``chain`` the mean chain score; None without such a set. ``exclusive_sets`` and ``chains`` count them. Of each event
    ``outcome_set`` is "" where it is in none, ``set_size`` how many outcomes its set has, and ``set_step`` its place in a chain in which
    each outcome implies the next, ``nan`` for exclusive ones. Source: Prophet Arena, App. D.4 (Table 9).

    >>> nan = float("nan")
    >>> scores = consistency_scores(np.array([0.6, 0.5, 0.2, 0.3]), np.array(["a", "a", "b", "b"]), np.full(4, 2.0),
    ...                             np.array([nan, nan, 1.0, 2.0]))
    >>> scores["exclusive"], round(scores["gap"], 6), scores["chain"]
    (0.0, 0.1, 1.0)
    """
    exclusions: list[Exclusion] = []
    chains: list[float] = []
    for name in np.unique(outcome_set[outcome_set != ""]):
        rows = np.flatnonzero(outcome_set == name)
        beliefs = {str(row): float(p[row]) for row in rows}
        if np.isfinite(set_step[rows]).all():
            if len(rows) > 1:
                order = rows[np.argsort(set_step[rows], kind="stable")]
                chains.append(logical_chain_score(beliefs, [[str(row) for row in order]]))
        elif len(rows) == set_size[rows[0]]:
            exclusions.append(mutual_exclusion(beliefs, list(beliefs)))
    return {
        "exclusive": float(np.mean([exclusion.consistent for exclusion in exclusions]))
        if exclusions
        else None,
        "gap": float(np.mean([abs(exclusion.gap) for exclusion in exclusions])) if exclusions else None,
        "exclusive_sets": len(exclusions),
        "chain": float(np.mean(chains)) if chains else None,
        "chains": len(chains),
    }
