"""The same numbers a second way: numpy, scipy, statsmodels and closed forms against `exceed`, calibration, bootstrap.

Nothing of the product's arithmetic is used on the other side: series models are written
from their formulas, and the bootstrap is enumerated instead of drawn.
"""

import itertools
from datetime import date, timedelta

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats
from scipy.optimize import minimize
from scipy.special import expit
from scipy.special import logit as scipy_logit

from workbench.forecasts.series.exceedance import exceedance, make_model
from workbench.forecasts.series.series_history import History
from workbench.science.calibrating.calibration import SLOPE_PENALTY, fit_calibration
from workbench.science.comparing.bootstrap import stratified_index

FIRST = date(2012, 1, 2)


def series(seed: int, n: int = 2500) -> tuple[list[date], np.ndarray]:
    rng = np.random.default_rng(seed)
    days = [FIRST + timedelta(days=step) for step in range(n)]
    season = 4 * np.sin(np.arange(n) / 365.25 * 2 * np.pi)
    return days, 50 + season + np.cumsum(rng.normal(0, 0.15, n)) * 0.5 + rng.normal(0, 1.0, n)


def of_year(day: date) -> int:
    """Day of a year without 29 February, which counts as the 28th."""
    plain = day.replace(day=28) if (day.month, day.day) == (2, 29) else day
    return plain.replace(year=2013).timetuple().tm_yday


def season_share(
    days: list[date], y: np.ndarray, target: date, level: float, *, window: int, oldest: int | None
) -> float:
    """App. I.1 by a loop over days."""
    last, near = days[-1], []
    for day, value in zip(days, y.tolist(), strict=True):
        gap = abs(of_year(day) - of_year(target))
        if min(gap, 365 - gap) <= window and (oldest is None or (last - day).days + 1 < oldest):
            near.append(value)
    return (sum(value > level for value in near) + 1) / (len(near) + 2)


def line_chance(days: list[date], y: np.ndarray, target: date, level: float, window: int = 30) -> float:
    """App. I.2 with statsmodels' least squares and scipy's normal; the residuals' deviation of the population."""
    x = np.array([day.toordinal() for day in days[-window:]], dtype=float)
    fit = sm.OLS(y[-window:], sm.add_constant(x - x[-1])).fit()
    mean = float(fit.params @ [1.0, target.toordinal() - x[-1]])
    return float(stats.norm.sf(level, mean, np.sqrt((fit.resid**2).mean())))


@pytest.mark.parametrize("seed", range(3))
def test_exceed_is_the_formulas_of_paper_b_written_again(seed: int) -> None:
    days, y = series(seed)
    history = History.of(np.array(days, dtype="datetime64[D]"), y)
    for steps, level in ((1, float(y[-1])), (20, 51.0), (90, 48.5)):
        target = days[-1] + timedelta(days=steps)

        def ours(name: str, target: date = target, level: float = level) -> float:
            cutoff = days[-1] + timedelta(days=1)
            return float(
                exceedance(make_model(name), history, cutoff=cutoff, targets=[target], levels=[level])[0, 0]
            )

        line = line_chance(days, y, target, level)
        prior = season_share(days, y, target, level, window=7, oldest=365 * 5)
        wanted = {
            "knn": season_share(days, y, target, level, window=10, oldest=None),
            "linear": line,
            "safe-linear": 0.5 * line + 0.25,
            "prior-year": prior,
            "hybrid": 0.5 * (0.5 * line + 0.25) + 0.5 * prior,
        }
        for name, p in wanted.items():
            assert ours(name) == pytest.approx(p, abs=1e-9), (name, steps)


@pytest.mark.parametrize("seed", range(4))
def test_calibration_along_several_factors_is_the_penalised_likelihood_at_its_optimum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 150
    p = rng.uniform(0.03, 0.97, n)
    factors = {"source": rng.choice(list("abc"), n), "horizon": rng.choice(["week", "month"], n), "topic": rng.choice(list("xyzw"), n)}  # fmt: skip
    shift = np.where(factors["source"] == "a", 0.8, 0.0)
    y = (rng.random(n) < expit(0.7 * scipy_logit(p) - 0.2 + shift)).astype(float)
    ours = fit_calibration(p, y, factors, penalty=0.6)
    names = [(factor, str(group)) for factor, labels in factors.items() for group in np.unique(labels)]
    offsets = np.array([(factors[factor] == group).astype(float) for factor, group in names])

    def loss(v: np.ndarray) -> float:
        z = v[0] * scipy_logit(p) + v[1] + v[2:] @ offsets
        return float(
            np.logaddexp(0, -z)[y == 1].sum()
            + np.logaddexp(0, z)[y == 0].sum()
            + 0.6 * (v[2:] ** 2).sum()
            + SLOPE_PENALTY * (v[0] - 1) ** 2
        )

    found = minimize(loss, np.zeros(2 + len(names)), method="BFGS", options={"gtol": 1e-9, "maxiter": 5000})
    mine = [ours.slope, ours.offset, *(ours.deltas[factor][group] for factor, group in names)]
    assert mine == pytest.approx(found.x.tolist(), abs=2e-5) and loss(np.array(mine)) <= found.fun + 1e-9
    z = found.x[0] * scipy_logit(p) + found.x[1] + found.x[2:] @ offsets
    assert ours.apply(p, factors) == pytest.approx(expit(z), abs=1e-5)


def test_the_bootstrap_of_paper_b_is_the_enumerated_one() -> None:
    """Five market and four dataset questions: all 5⁵ x 4⁴ resamples of whole questions, with the root after each mean."""
    rng = np.random.default_rng(8)
    kind = np.repeat(["market", "dataset"], [5, 8])
    question = np.array([*"abcde", *"ffgghhii"])
    scores = rng.uniform(0, 0.6, (13, 2))
    scores[:, 0] *= 0.8

    def all_resamples(rows: np.ndarray) -> np.ndarray:
        names = sorted(set(question[rows].tolist()))
        blocks = [scores[rows][question[rows] == name] for name in names]
        return np.array([
            100 * (1 - np.sqrt(np.concatenate([blocks[k] for k in draw]).mean(axis=0)))
            for draw in itertools.product(range(len(names)), repeat=len(names))
        ])  # fmt: skip

    market, dataset = (all_resamples(np.flatnonzero(kind == part)) for part in ("market", "dataset"))
    ours = stratified_index(scores, ("a", "b"), kind, clusters=question, resamples=60_000, seed=1)
    gaps = {
        "market": market[:, 0] - market[:, 1],
        "dataset": dataset[:, 0] - dataset[:, 1],
        "overall": (
            ((market[:, 0] - market[:, 1])[:, None] + (dataset[:, 0] - dataset[:, 1])[None, :]) / 2
        ).ravel(),
    }
    for part, gap in gaps.items():
        pair = ours.pair("a", "b", part)
        assert pair.error == pytest.approx(gap.std(), rel=0.02), part
        drawn = ours.resampled[part][:, 0] - ours.resampled[part][:, 1]
        for share in (0.1, 0.25, 0.5, 0.75, 0.9):
            # a step function: the share below a level is what has to agree, a hair beside its atoms
            level = np.quantile(gap, share) + 1e-9
            assert (drawn <= level).mean() == pytest.approx((gap <= level).mean(), abs=0.01), (part, share)
        opposite = float((gap <= 0).mean() if pair.difference > 0 else (gap >= 0).mean())
        assert pair.p_one_sided == pytest.approx(max(opposite, 2.0**-pair.units), abs=0.006), part
