"""The papers' claims on known ground: each study is a table of estimates with intervals, and a verdict by its interval.

Differences are paired: both arms of a study see the same worlds and the same errors. Batches are independent, so each is a cluster
of the paired test: it gives the interval of every mean, and a claim is ``supported`` where it shows a difference on the claim's
side, ``contradicted`` where it shows one on the other, else ``no difference shown``. The claims of a study are one family.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from workbench.science.arrays import FloatArray, logit, sigmoid
from workbench.science.comparing.paired import holm, paired_test
from workbench.science.errors import UnknownName
from workbench.science.simulator.errors import GrounderErrors, LeafNoise, crowd_prices
from workbench.science.simulator.worlds import World, linear_reading, make_world

Verdict = Literal["supported", "contradicted", "no difference shown", "too few to tell"]
_VERDICTS: Mapping[str, Verdict] = {
    "better": "supported",
    "worse": "contradicted",
    "no difference shown": "no difference shown",
    "too few to tell": "too few to tell",
}

_BATCHES = 40
_ROWS = 400
_CORRELATIONS = (0.0, 0.3)
_DEPTHS = (1, 2, 3, 4)


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
    verdict: Verdict


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
    tests = {statement: paired_test(differences) for statement, _, differences in rows}
    raised = holm({statement: test.p for statement, test in tests.items()})
    claims = []
    for statement, source, _ in rows:
        test = replace(tests[statement], p_holm=raised[statement]).judged(comparisons=len(rows))
        estimate = Estimate(setting="difference", value=test.estimate, low=test.low, high=test.high)
        assert test.verdict is not None  # simulated studies have batches, and no days
        verdict = _VERDICTS[test.verdict]
        claims.append(
            StudyClaim(
                statement=statement,
                source=source,
                estimate=estimate,
                p_holm=raised[statement],
                verdict=verdict,
            )
        )
    return tuple(claims)


def _root_error(world: World, reading: World, errors: GrounderErrors, rng: np.random.Generator) -> float:
    truths = world.draw_truths(_ROWS, rng)
    said = errors.apply(truths, rng)
    return float(((reading.truth(said) - world.truth(truths)) ** 2).mean())


def _batches(measure: Callable[[int], float], batches: int) -> FloatArray:
    return np.array([measure(batch) for batch in range(batches)])


def noise_study(
    *,
    levels: Sequence[float] = (0.1, 0.2, 0.3, 0.5),
    batches: int = _BATCHES,
    seed: int = 0,
) -> Study:
    """Linear against logic under noise at the leaves (paper A, section 5.3 and Fig. 5; 4.3 on sensitivities).

    Two questions that the paper's figure does not tell apart: does a linear world amplify noise less than a logic world of the
    same shape (each read by its own rules), and does the best linear reading of a logic world beat its true rules once leaves
    are noisy?
    """
    linear = make_world("linear", branching=3, depth=2, seed=seed)
    logic = make_world("logic", branching=3, depth=2, seed=seed)
    reading = linear_reading(logic, logic.draw_truths(4000, np.random.default_rng(seed)))
    estimates: list[Estimate] = []
    claims: list[tuple[str, str, FloatArray]] = []
    noises: tuple[LeafNoise, ...] = ("normal", "uncertain", "reverse")
    for noise in noises:
        for level in levels:
            errors = GrounderErrors(noise=noise, level=level)

            def measure(own: World, how: World, errors: GrounderErrors = errors) -> FloatArray:
                return _batches(
                    lambda batch: _root_error(own, how, errors, np.random.default_rng([seed, batch])),
                    batches,
                )

            a, b, c = measure(linear, linear), measure(logic, logic), measure(logic, reading)
            where = f"{noise} {level:g}"
            estimates += [
                estimate_of(a, f"{where}: linear world, its rules"),
                estimate_of(b, f"{where}: logic world, its rules"),
                estimate_of(c, f"{where}: logic world, best linear reading"),
            ]
            claims.append(
                (
                    f"{where}: noise moves the claim of a linear world less than that of a logic world",
                    "paper A, 5.3",
                    b - a,
                )
            )
            claims.append(
                (
                    f"{where}: a linear reading of a logic world errs less than its true rules",
                    "paper A, 4.3 and Table 2",
                    b - c,
                )
            )
    return Study(
        name="noise",
        measure="mean squared error of the claim",
        estimates=tuple(estimates),
        claims=claims_of(*claims),
    )


def leaves_study(
    *,
    counts: Sequence[int] = (4, 16, 64),
    sd: float = 0.15,
    batches: int = _BATCHES,
    seed: int = 0,
) -> Study:
    """Variance of the root against the number of leaves, independent and correlated (paper A, sections 3 and 4.2).

    With weights w and errors of variance s² and correlation r the root's variance is s² (r (sum w)² + (1 - r) sum w²): more leaves
    lower the second part alone.
    """
    estimates, values = [], {}
    for correlation in _CORRELATIONS:
        for count in counts:
            depth = round(np.log(count) / np.log(4))
            world = make_world("linear", branching=4, depth=depth, seed=seed)
            errors = GrounderErrors(sd=sd, correlation=correlation)

            def variance(batch: int, world: World = world, errors: GrounderErrors = errors) -> float:
                rng = np.random.default_rng([seed, batch])
                # near 0.5, so that the ends of [0, 1] cut hardly any error off
                truths = world.draw_truths(_ROWS, rng, spread=30.0)
                return float((world.truth(errors.apply(truths, rng)) - world.truth(truths)).var(ddof=1))

            values[correlation, len(world.leaves)] = batch_values = _batches(variance, batches)
            estimates.append(
                estimate_of(batch_values, f"{len(world.leaves)} drivers, correlation {correlation:g}")
            )
    few, many = min(counts), max(counts)
    claims = [
        (
            f"correlation {correlation:g}: {many} drivers give a lower variance than {few}",
            "paper A, 4.2",
            values[correlation, few] - values[correlation, many],
        )
        for correlation in _CORRELATIONS
    ]
    claims += [
        (
            f"correlation {correlation:g}: {many} drivers lower the variance in proportion to their number (to within 10%)",
            "paper A, 5.3 read as 1/n",
            values[correlation, few] * few / many * 1.1 - values[correlation, many],
        )
        for correlation in _CORRELATIONS
        if correlation > 0
    ]
    return Study(
        name="leaves", measure="variance of the claim", estimates=tuple(estimates), claims=claims_of(*claims)
    )


def depth_study(
    *,
    bias: float = 0.1,
    shrink: float = 0.6,
    batches: int = _BATCHES,
    seed: int = 0,
) -> Study:
    """Bias of the root against depth (paper A, sections 3 and 4.4): it is the path-weighted bias of the leaves.

    Depth by itself takes no bias away: where the leaves of a deeper tree are as biased, so is the root. Depth helps as far as
    finer leaves are easier, here by a factor ``shrink`` of bias a level.
    """
    estimates: list[Estimate] = []
    constant: dict[int, FloatArray] = {}
    falling: dict[int, FloatArray] = {}
    for depth in _DEPTHS:
        world = make_world("linear", branching=2, depth=depth, seed=seed)
        for table, leaf_bias, words in (
            (constant, bias, "drivers as biased at every depth"),
            (falling, bias * shrink ** (depth - 1), f"bias of a driver x {shrink:g} a level"),
        ):
            errors = GrounderErrors(bias=leaf_bias, sd=0.1)

            def root_bias(batch: int, world: World = world, errors: GrounderErrors = errors) -> float:
                rng = np.random.default_rng([seed, batch])
                truths = world.draw_truths(_ROWS, rng, spread=60.0)
                return float((world.truth(errors.apply(truths, rng)) - world.truth(truths)).mean())

            table[depth] = _batches(root_bias, batches)
            estimates.append(estimate_of(table[depth], f"depth {depth}: {words}"))
    first, last = _DEPTHS[0], _DEPTHS[-1]
    claims = claims_of(
        (
            f"depth {last} has a lower bias of the claim than depth {first}, drivers as biased",
            "paper A, 4.4",
            constant[first] - constant[last],
        ),
        (
            f"depth {last} has a lower bias of the claim than depth {first}, drivers easier by {shrink:g} a level",
            "paper A, 4.4",
            falling[first] - falling[last],
        ),
    )
    return Study(name="depth", measure="mean error of the claim", estimates=tuple(estimates), claims=claims)


def crowd_study(*, trials: int = 5, batches: int = _BATCHES, seed: int = 0) -> Study:
    """A crowd beside K trials of an agent: Brier score of either alone and pooled (paper B, App. C.7 and D.4).

    The agent's trials share an error (the same sources) and have one each; the crowd's error is its own.
    """
    world = make_world("linear", branching=3, depth=2, seed=seed)

    def scores(batch: int) -> dict[str, float]:
        rng = np.random.default_rng([seed, batch])
        truth = world.truth(world.draw_truths(_ROWS, rng, spread=0.6))
        outcome = (rng.random(_ROWS) < truth).astype(float)
        shared = 0.5 * rng.normal(size=(_ROWS, 1))
        logits = logit(truth)[:, None] + shared + 0.8 * rng.normal(size=(_ROWS, trials))
        price = crowd_prices(truth, rng, sd=0.6)
        said = {
            "one trial": sigmoid(logits[:, 0]),
            f"{trials} trials, logit mean": sigmoid(logits.mean(axis=1)),
            "crowd": price,
            "trials and crowd, logit mean": sigmoid((logits.mean(axis=1) + logit(price)) / 2),
            "truth itself": truth,
        }
        return {name: float(((p - outcome) ** 2).mean()) for name, p in said.items()}

    rows_of = [scores(batch) for batch in range(batches)]
    table = {name: np.array([row[name] for row in rows_of]) for name in rows_of[0]}
    pooled, single = table[f"{trials} trials, logit mean"], table["one trial"]
    both, price = table["trials and crowd, logit mean"], table["crowd"]
    claims = claims_of(
        ("pooling trials lowers the Brier score", "paper B, D.4", single - pooled),
        ("agent and crowd together beat the crowd alone", "paper B, C.7", price - both),
        ("agent and crowd together beat the agent alone", "paper B, C.7", pooled - both),
    )
    return Study(
        name="crowd",
        measure="Brier score",
        estimates=tuple(estimate_of(values, name) for name, values in table.items()),
        claims=claims,
    )


#: Study name -> function that runs it; keywords are its settings.
STUDIES: Mapping[str, Callable[..., Study]] = {
    "noise": noise_study,
    "leaves": leaves_study,
    "depth": depth_study,
    "crowd": crowd_study,
}


def run_study(name: str, *, seed: int = 0) -> Study:
    """Run a study by name; raises `UnknownName` with the known ones."""
    if name not in STUDIES:
        raise UnknownName("study", name, STUDIES)
    return STUDIES[name](seed=seed)
