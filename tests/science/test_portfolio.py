"""Stakes on bets that hang together: the closed forms where there are some, and no better portfolio anywhere."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.science.errors import DomainError
from workbench.science.scoring.betting import size_bet
from workbench.science.scoring.portfolio import bucket_probabilities, size_portfolio

INSIDE = st.floats(0.05, 0.95)


def options_optimum(p: np.ndarray, ask: np.ndarray, g: float) -> np.ndarray:
    """The closed form for exclusive options: the best p / price are bet on while that lies above what a kept dollar is worth."""
    chosen: list[int] = []
    reserve = 1.0
    for place in np.argsort(-p / ask, kind="stable"):
        if p[place] / ask[place] <= reserve or ask[chosen].sum() + ask[place] >= 1:
            break
        chosen.append(int(place))
        reserve = (1 - p[chosen].sum()) / (1 - ask[chosen].sum())
    stakes = np.zeros(len(p))
    if chosen:
        growth = (p[chosen] / (ask[chosen] * reserve)) ** (1 / g) - 1
        stakes[chosen] = ask[chosen] * growth / (1 + (ask[chosen] * growth).sum())
    return stakes


@settings(max_examples=40)
@given(st.lists(st.floats(0.05, 1.0), min_size=2, max_size=4), st.floats(0.4, 3.0), st.integers(0, 99))
def test_exclusive_options_have_the_closed_form(weights: list[float], g: float, seed: int) -> None:
    p = np.array(weights) / sum(weights)
    asks = np.random.default_rng(seed).dirichlet(np.full(len(p), 3.0)) * 1.05
    if (asks >= 0.99).any() or (asks < 0.02).any():
        return
    wanted = options_optimum(p, asks, g)
    found = size_portfolio(p, np.diag(1 / asks), risk_aversion=g)

    def utility(stakes: np.ndarray) -> float:
        wealth = 1 - stakes.sum() + stakes / asks
        return float(p @ (np.log(wealth) if abs(g - 1) < 1e-12 else wealth ** (1 - g) / (1 - g)))

    assert utility(found.stakes) == pytest.approx(utility(wanted), abs=1e-6)
    assert np.allclose(found.stakes, wanted, atol=5e-3)


@settings(max_examples=40)
@given(INSIDE, INSIDE, st.floats(0.4, 3.0), st.floats(0.0, 0.5))
def test_one_market_is_size_bet(p: float, q: float, g: float, cap: float) -> None:
    bet = size_bet(p, q, 1 - q + 0.02, risk_aversion=g, cap=cap)
    found = size_portfolio([p, 1 - p], [[1 / q, 0.0], [0.0, 1 / (1 - q + 0.02)]], risk_aversion=g, cap=cap)
    own = {"yes": [bet.stake, 0.0], "no": [0.0, bet.stake], "none": [0.0, 0.0]}[bet.side]
    assert np.allclose(found.stakes, own, atol=2e-3)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from([0.5, 1.0, 2.0]), st.floats(0.05, 1.0))
def test_no_other_portfolio_of_nested_bets_is_worth_more(seed: int, g: float, cap: float) -> None:
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(4))
    above = np.cumsum(shares[::-1])[::-1][1:]
    asks = np.clip(above + rng.normal(0, 0.1, 3), 0.05, 0.95)
    pays = np.array([[1 / asks[k] if state > k else 0.0 for state in range(4)] for k in range(3)])
    found = size_portfolio(shares, pays, risk_aversion=g, cap=cap)
    assert (found.stakes >= 0).all() and found.stakes.sum() <= cap + 1e-9

    def utility(stakes: np.ndarray) -> float:
        wealth = np.maximum(1 - stakes.sum() + stakes @ pays, 1e-9)
        return float(shares @ (np.log(wealth) if g == 1 else (wealth ** (1 - g) - 1) / (1 - g)))

    for _ in range(60):
        other = np.maximum(0, found.stakes + rng.normal(size=3) * rng.choice([0.3, 0.03]))
        if other.sum() <= cap:
            assert utility(other) <= utility(found.stakes) + 1e-6
    assert (
        found.expected >= found.certain - 1e-9 >= -1e-9
    )  # never worse than the kept dollar; risk costs something


def test_a_hedge_by_hand() -> None:
    """Above 3 at 0.5 and not above 4 at 0.5, both believed 0.6, and 0.2 between: staking half on each cannot lose."""
    pays = [[0.0, 2.0, 2.0], [2.0, 2.0, 0.0]]
    found = size_portfolio([0.4, 0.2, 0.4], pays, risk_aversion=1.0)
    assert found.stakes.tolist() == pytest.approx([0.5, 0.5], abs=1e-3)
    assert found.wealth.tolist() == pytest.approx([1.0, 2.0, 1.0], abs=1e-3) and found.worst > -1e-3
    assert found.expected == pytest.approx(0.2, abs=1e-3)
    assert found.certain == pytest.approx(2**0.2 - 1, abs=1e-3)  # exp(0.2 log 2)


def test_without_risk_aversion_the_best_bet_takes_the_cap() -> None:
    assert size_portfolio([0.7, 0.3], [[2, 0], [0, 2]], risk_aversion=0, cap=0.3).stakes.tolist() == [0.3, 0]
    assert size_portfolio([0.5, 0.5], [[2, 0], [0, 2]], risk_aversion=0).stakes.sum() == 0  # no edge at all


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_buckets_are_a_distribution_and_mend_only_what_contradicts(above: list[float]) -> None:
    shares, mended = bucket_probabilities(above)
    assert (shares >= 0).all() and shares.sum() == pytest.approx(1)
    rises = max((b - a for a, b in pairwise(above)), default=0.0)
    assert mended >= rises / 2 - 1e-9  # two levels that contradict each other each give way, at best by half
    if rises <= 0:
        assert mended < 1e-9
        assert np.allclose(np.cumsum(shares[::-1])[::-1][1:], above, atol=1e-9)
    once = np.cumsum(shares[::-1])[::-1][1:]
    assert bucket_probabilities(np.clip(once, 0, 1))[1] < 1e-9


@pytest.mark.parametrize(
    "bad",
    [
        lambda: size_portfolio([0.5, 0.4], [[2, 0]], risk_aversion=1),
        lambda: size_portfolio([0.5, 0.5], [[2, 0, 0]], risk_aversion=1),
        lambda: size_portfolio([0.5, 0.5], [[2, -1]], risk_aversion=1),
        lambda: size_portfolio([0.5, 0.5], [[2, 0]], risk_aversion=-1),
        lambda: size_portfolio([0.5, 0.5], [[2, 0]], risk_aversion=1, cap=2),
        lambda: bucket_probabilities([1.2]),
    ],
)
def test_what_cannot_be_sized_is_refused(bad: object) -> None:
    with pytest.raises(DomainError):
        bad()  # type: ignore[operator]
