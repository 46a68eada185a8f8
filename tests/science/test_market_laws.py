"""Laws of bets and returns."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.science.errors import DomainError
from workbench.science.scoring.market import crra_allocation, market_returns, payoffs, sharpe, ties

INSIDE = st.floats(0.02, 0.98)


def utility(share: np.ndarray, p: float, q: float, gamma: float) -> np.ndarray:
    wealth_yes, wealth_no = share / q, (1 - share) / (1 - q)
    with np.errstate(divide="ignore"):
        if gamma == 1:
            return p * np.log(wealth_yes) + (1 - p) * np.log(wealth_no)
        return (p * wealth_yes ** (1 - gamma) + (1 - p) * wealth_no ** (1 - gamma)) / (1 - gamma)


@pytest.mark.parametrize("gamma", [0.0, 0.1, 0.25, 0.5, 0.75, 1.0])
@pytest.mark.parametrize(("p", "q"), [(0.7, 0.5), (0.1, 0.3), (0.95, 0.2), (0.45, 0.44)])
def test_no_other_allocation_does_better(p: float, q: float, gamma: float) -> None:
    """The optimum beats 10,000 random allocations in expected utility."""
    best = crra_allocation([p], [q], gamma)
    others = np.random.default_rng(0).random(10_000)
    top = utility(best, p, q, gamma)[0]
    assert (utility(others, p, q, gamma) <= top + 1e-12).all()


@given(INSIDE, INSIDE)
def test_ever_less_risk_aversion_goes_all_in(p: float, q: float) -> None:
    if abs(p - q) < 0.02:
        return
    limit = crra_allocation([p], [q], 0.0)[0]
    assert limit == float(p > q)
    assert crra_allocation([p], [q], 1e-3)[0] == pytest.approx(limit, abs=1e-6)
    assert crra_allocation([p], [q], 1e-300)[0] == limit  # stable however small


@given(INSIDE, INSIDE, st.floats(0.05, 1.0))
def test_sides_mirror_and_the_price_itself_is_bet_at_the_price(p: float, q: float, gamma: float) -> None:
    share = crra_allocation([p], [q], gamma)[0]
    assert 0 <= share <= 1
    assert crra_allocation([1 - p], [1 - q], gamma)[0] == pytest.approx(1 - share, abs=1e-9)
    assert crra_allocation([q], [q], gamma)[0] == pytest.approx(q, abs=1e-9)
    assert crra_allocation([p], [q], 1.0)[0] == pytest.approx(p, abs=1e-12)
    assert (share >= q - 1e-12) == (p >= q - 1e-12) or abs(p - q) < 1e-9
    # at the price, either outcome pays back the dollar
    for outcome in (0, 1):
        assert payoffs([q], [q], [outcome])[0] == pytest.approx(1)


def test_ties_by_all_four_rules() -> None:
    p, q, o = [0.36500000000000005, 0.6], [0.365, 0.5], [1, 1]
    assert ties(p, q).tolist() == [True, False]
    result = {tie: market_returns(p, q, o, 0.0, tie=tie) for tie in ("no", "yes", "half", "abstain")}  # type: ignore[arg-type]
    first = {tie: r.total_payoff - 2.0 for tie, r in result.items()}
    assert first == pytest.approx({"no": 0.0, "yes": 1 / 0.365, "half": 0.5 / 0.365, "abstain": 1.0})
    with pytest.raises(DomainError):
        crra_allocation(p, q, 0.0, tie="maybe")  # type: ignore[arg-type]


def test_sharpe_ratio() -> None:
    payoff = np.array([2.0, 0.5, 1.2])
    assert sharpe(payoff) == pytest.approx((payoff.mean() - 1) / payoff.std(ddof=1))
    assert sharpe(payoff, ddof=0) == pytest.approx((payoff.mean() - 1) / payoff.std())
    assert sharpe([1.0]) is None and sharpe([1.3, 1.3]) is None
    assert sharpe([1.0, 1.0 + 2e-16]) == 0.0


def test_a_long_shot_can_dominate() -> None:
    result = market_returns([0.01, 0.5], [0.0005, 0.6], [1, 0], 0.0)
    assert result.max_payoff == pytest.approx(2000) and result.average_return == pytest.approx(
        (2000 + 2.5) / 2
    )


def test_a_price_of_nothing_or_all_is_refused() -> None:
    for bad in ([0.0], [1.0], [float("nan")]):
        with pytest.raises(DomainError, match="strictly between"):
            market_returns([0.5], bad, [1], 0.5)
