"""The papers' claims on known ground: each study is a table of estimates with intervals, and a verdict by its interval.

Differences are paired: both arms of a study see the same worlds and the same errors. Batches are independent, so each is a cluster
of the paired test: it gives the interval of every mean, and a claim is ``supported`` where it shows a difference on the claim's
side, ``contradicted`` where it shows one on the other, else ``no difference shown``. The claims of a study are one family.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, get_args

import numpy as np

from workbench.science.arrays import FloatArray, logit, sigmoid
from workbench.science.comparing.paired import holm, paired_test
from workbench.science.errors import UnknownName
from workbench.science.simulator.worlds import (
    GrounderErrors,
    LeafNoise,
    World,
    crowd_prices,
    linear_reading,
    make_world,
)

#: What a verdict of the paired test is to a claim; the others keep their words.
_VERDICTS = {"better": "supported", "worse": "contradicted"}

_BATCHES = 40
_ROWS = 400
#: What a study gives: what it measures, the batches behind each estimate by its setting, and its claims: statement, source, and
#: paired differences per batch, above 0 for it.
Parts = tuple[str, dict[str, FloatArray], list[tuple[str, str, FloatArray]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A mean over batches with its 95 percent interval; ``setting`` says of what."""

    setting: str
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyClaim:
    """A statement of a paper, the difference it is about (above 0 speaks for it), and what came out."""

    statement: str
    source: str
    estimate: Estimate
    p_holm: float
    verdict: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """A study's table and claims."""

    name: str
    measure: str
    estimates: tuple[Estimate, ...]
    claims: tuple[StudyClaim, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain JSON object."""
        return {**asdict(self), "summary": list(self.summary())}

    def summary(self) -> tuple[str, ...]:
        """How many claims are supported, and a line for each that is not, for those who read no tables."""
        open_claims = [claim for claim in self.claims if claim.verdict != "supported"]
        return (
            f"{len(self.claims) - len(open_claims)} of {len(self.claims)} claims are supported in these worlds, p after Holm's correction for all of them",
            *(
                f"not supported ({claim.verdict}): {claim.statement} ({claim.source})"
                for claim in open_claims
            ),
        )


def estimate_of(batches: FloatArray, setting: str) -> Estimate:
    """Mean of independent batches with the interval of the paired test.

    >>> estimate_of(np.zeros(6), "x")
    Estimate(setting='x', value=0.0, low=0.0, high=0.0)
    """
    test = paired_test(batches)
    return Estimate(setting=setting, value=test.estimate, low=test.low, high=test.high)


def claims_of(*rows: tuple[str, str, FloatArray]) -> tuple[StudyClaim, ...]:
    """Judge statements, each with its source and its paired differences per batch, above 0 for it: one family, by Holm's correction."""
    tests = [paired_test(differences) for _, _, differences in rows]
    raised = holm({str(place): test.p for place, test in enumerate(tests)}).values()
    return tuple(
        StudyClaim(
            statement=statement,
            source=source,
            estimate=estimate_of(differences, "difference"),
            p_holm=p_holm,
            verdict=_VERDICTS.get(verdict := str(test.verdict), verdict),
        )
        for (statement, source, differences), p_holm, test in (
            (row, p, replace(test, p_holm=p).judged(comparisons=len(rows)))
            for row, p, test in zip(rows, raised, tests, strict=True)
        )
    )


def _root_errors(
    world: World, errors: GrounderErrors, seed: int, *, reading: World | None = None, spread: float = 2.0
) -> FloatArray:
    """Errors of the root under flawed leaves, read by the world's own rules or another's, shape (batches, rows)."""
    batches = []
    for batch in range(_BATCHES):
        rng = np.random.default_rng([seed, batch])
        truths = world.draw_truths(_ROWS, rng, spread=spread)
        batches.append((reading or world).truth(errors.apply(truths, rng)) - world.truth(truths))
    return np.array(batches)


def noise_study(seed: int) -> Parts:
    """Linear against logic under noise at the leaves (paper A, section 5.3 and Fig. 5; 4.3 on sensitivities).

    Two questions that the paper's figure does not tell apart: does a linear world amplify noise less than a logic world of the
    same shape (each read by its own rules), and does the best linear reading of a logic world beat its true rules once leaves
    are noisy?
    """
    linear, logic = make_world("linear", seed=seed), make_world("logic", seed=seed)
    reading = linear_reading(logic, logic.draw_truths(4000, np.random.default_rng(seed)))
    values, claims = {}, []
    for noise in get_args(LeafNoise):
        for level in (0.1, 0.2, 0.3, 0.5):
            errors, where = GrounderErrors(noise=noise, level=level), f"{noise} {level:g}"
            a, b, c = (
                (_root_errors(world, errors, seed, reading=how) ** 2).mean(axis=1)
                for world, how in ((linear, linear), (logic, logic), (logic, reading))
            )
            values[f"{where}: linear world, its rules"] = a
            values[f"{where}: logic world, its rules"] = b
            values[f"{where}: logic world, best linear reading"] = c
            less = f"{where}: noise moves the claim of a linear world less than that of a logic world"
            claims.append((less, "paper A, 5.3", b - a))
            better = f"{where}: a linear reading of a logic world errs less than its true rules"
            claims.append((better, "paper A, 4.3 and Table 2", b - c))
    return "mean squared error of the claim", values, claims


def leaves_study(seed: int) -> Parts:
    """Variance of the root against the number of leaves, independent and correlated (paper A, sections 3 and 4.2).

    With weights w and errors of variance s² and correlation r the root's variance is s² (r (sum w)² + (1 - r) sum w²): more leaves
    lower the second part alone.
    """
    values, claims, in_proportion = {}, [], []
    for correlation in (0.0, 0.3):
        variance = {}
        for depth in (1, 2, 3):
            world = make_world("linear", branching=4, depth=depth, seed=seed)
            errors = GrounderErrors(sd=0.15, correlation=correlation)
            # near 0.5, so that the ends of [0, 1] cut hardly any error off
            variance[4**depth] = _root_errors(world, errors, seed, spread=30.0).var(axis=1, ddof=1)
            values[f"{4**depth} drivers, correlation {correlation:g}"] = variance[4**depth]
        lower = f"correlation {correlation:g}: 64 drivers give a lower variance than 4"
        claims.append((lower, "paper A, 4.2", variance[4] - variance[64]))
        if correlation > 0:
            shares = f"correlation {correlation:g}: 64 drivers lower the variance in proportion to their number (to within 10%)"
            in_proportion.append(
                (shares, "paper A, 5.3 read as 1/n", variance[4] * 4 / 64 * 1.1 - variance[64])
            )
    return "variance of the claim", values, claims + in_proportion


def depth_study(seed: int) -> Parts:
    """Bias of the root against depth (paper A, sections 3 and 4.4): it is the path-weighted bias of the leaves.

    Depth by itself takes no bias away: where the leaves of a deeper tree are as biased, so is the root. Depth helps as far as
    finer leaves are easier, here by a factor of bias a level.
    """
    bias, shrink, depths = 0.1, 0.6, (1, 2, 3, 4)
    values, claims = {}, []
    for level_factor, setting, words in (
        (1.0, "drivers as biased at every depth", "drivers as biased"),
        (shrink, f"bias of a driver x {shrink:g} a level", f"drivers easier by {shrink:g} a level"),
    ):
        roots = []
        for depth in depths:
            world = make_world("linear", branching=2, depth=depth, seed=seed)
            errors = GrounderErrors(bias=bias * level_factor ** (depth - 1), sd=0.1)
            roots.append(_root_errors(world, errors, seed, spread=60.0).mean(axis=1))
            values[f"depth {depth}: {setting}"] = roots[-1]
        lower = f"depth {depths[-1]} has a lower bias of the claim than depth {depths[0]}, {words}"
        claims.append((lower, "paper A, 4.4", roots[0] - roots[-1]))
    by_depth = dict(sorted(values.items(), key=lambda item: item[0].partition(":")[0]))
    return "mean error of the claim", by_depth, claims


def crowd_study(seed: int) -> Parts:
    """A crowd beside five trials of an agent: Brier score of either alone and pooled (paper B, App. C.7 and D.4).

    The agent's trials share an error (the same sources) and have one each; the crowd's error is its own.
    """
    world = make_world("linear", seed=seed)
    single, pooled, crowd, both, _ = names = (
        "one trial", "5 trials, logit mean", "crowd", "trials and crowd, logit mean", "truth itself",
    )  # fmt: skip
    values = {name: np.empty(_BATCHES) for name in names}
    for batch in range(_BATCHES):
        rng = np.random.default_rng([seed, batch])
        truth = world.truth(world.draw_truths(_ROWS, rng, spread=0.6))
        outcome = (rng.random(_ROWS) < truth).astype(float)
        shared = 0.5 * rng.normal(size=(_ROWS, 1))
        logits = logit(truth)[:, None] + shared + 0.8 * rng.normal(size=(_ROWS, 5))
        price, mean = crowd_prices(truth, rng, sd=0.6), logits.mean(axis=1)
        forecasts = (sigmoid(logits[:, 0]), sigmoid(mean), price, sigmoid((mean + logit(price)) / 2), truth)
        for name, p in zip(names, forecasts, strict=True):
            values[name][batch] = ((p - outcome) ** 2).mean()
    return "Brier score", values, [
        ("pooling trials lowers the Brier score", "paper B, D.4", values[single] - values[pooled]),
        ("agent and crowd together beat the crowd alone", "paper B, C.7", values[crowd] - values[both]),
        ("agent and crowd together beat the agent alone", "paper B, C.7", values[pooled] - values[both]),
    ]  # fmt: skip


#: Study name -> function that runs it with a seed.
STUDIES: Mapping[str, Callable[[int], Parts]] = {
    "noise": noise_study,
    "leaves": leaves_study,
    "depth": depth_study,
    "crowd": crowd_study,
}


def run_study(name: str, *, seed: int = 0) -> Study:
    """Run a study by name; raises `UnknownName` with the known ones."""
    if name not in STUDIES:
        raise UnknownName("study", name, STUDIES)
    measure, values, claims = STUDIES[name](seed)
    return Study(
        name=name,
        measure=measure,
        estimates=tuple(estimate_of(batches, setting) for setting, batches in values.items()),
        claims=claims_of(*claims),
    )
