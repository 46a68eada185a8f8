"""Sized bets: paper P's formulas where there are no costs, the optimum where there are, and never more than the cap."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from workbench.science.errors import DomainError
from workbench.science.scoring.betting import SizedBet, size_bet
from workbench.science.scoring.market import crra_allocation

inside = st.floats(0.02, 0.98)


def equivalent_allocation(bet: SizedBet) -> float:
    """Paper P's a_Y: the share on Yes that, with the rest on No at one minus the price, is this bet."""
    on_side = bet.stake + bet.price * (1 - bet.stake)
    return 1 - on_side if bet.side == "no" else on_side


@given(inside, inside, st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0]))
def test_without_costs_it_is_paper_p_s_allocation(p: float, q: float, g: float) -> None:
    if abs(p - q) < 1e-6:
        return
    bet = size_bet(p, q, risk_aversion=g)
    paper = float(crra_allocation([p], [q], g)[0])
    assert equivalent_allocation(bet) == pytest.approx(paper, abs=1e-9)


def test_paper_p_s_numbers_at_0_half_and_1() -> None:
    """App. C.3: g = 0 goes all in, g = 1 bets p, g = 0.5 is q^-1 p^2 over both sides."""
    p, q = 0.7, 0.5
    expected = {0.0: 1.0, 0.5: p**2 / q / (p**2 / q + (1 - p) ** 2 / (1 - q)), 1.0: 0.7}
    for g, share in expected.items():
        assert equivalent_allocation(size_bet(p, q, risk_aversion=g)) == pytest.approx(share)


@given(inside, inside, st.floats(0.0, 0.1), st.floats(0.3, 3.0))
def test_no_other_stake_has_a_higher_expected_utility(p: float, q: float, fee: float, g: float) -> None:
    bet = size_bet(p, q, min(0.99, 1 - q + 0.02), risk_aversion=g, fee=fee)
    if bet.side == "none":
        assert p <= q + fee and 1 - p <= min(0.99, 1 - q + 0.02) + fee
        return
    chance = p if bet.side == "yes" else 1 - p

    def utility(stake: float) -> float:
        win, lose = 1 - stake + stake / bet.price, 1 - stake
        u = np.log if abs(g - 1) < 1e-12 else lambda w: w ** (1 - g) / (1 - g)
        return float(chance * u(win) + (1 - chance) * u(lose))

    best = minimize_scalar(lambda s: -utility(s), bounds=(0, 0.999999), method="bounded")
    assert utility(min(bet.stake, 0.999999)) >= -best.fun - 1e-9


@pytest.mark.parametrize(
    "bad",
    [
        lambda: size_bet(1.2, 0.5, risk_aversion=1),
        lambda: size_bet(0.5, 0.0, risk_aversion=1),
        lambda: size_bet(0.5, 0.5, risk_aversion=-1),
    ],
)
def test_what_cannot_be_bet_is_refused(bad: object) -> None:
    with pytest.raises(DomainError):
        bad()  # type: ignore[operator]
