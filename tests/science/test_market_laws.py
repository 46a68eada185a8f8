"""Laws of bets, of their returns and of the rules by which outcomes pay; paper A's rule by hand."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli_science.runner import files, refused, run, run_json
from workbench.science.errors import DomainError, UnknownName
from workbench.science.scoring.market import crra_allocation, market_returns, payoffs, sharpe, ties
from workbench.science.scoring.payoffs import RULES, payoff_rule

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


PAPER = RULES["analytica-paper"]
PRICE = st.floats(0.01, 0.99)


def test_the_paper_s_code_by_hand() -> None:
    """5 % over days / 252, commission 0.02 on the price, gain at most +100 %, short = 1 - gain."""
    long, short = PAPER.market([0.48, 0.78, 0.30], [1, 1, 0], [126, 252, 0])
    assert long.tolist() == pytest.approx([2 / 1.05**0.5, 1.25 / 1.05, 0.0])
    assert short.tolist() == pytest.approx([0.0, 0.75 / 1.05, 2.0])
    long, short = PAPER.asset([100.0, 100.0, 100.0], [110.0, 350.0, 50.0], [252, 0, 0])
    assert long.tolist() == pytest.approx([1.08 / 1.05, 2.0, 0.48])
    assert short.tolist() == pytest.approx([0.92 / 1.05, 0.0, 1.52])


@given(PRICE, st.sampled_from([0, 1]), st.floats(0, 1000))
def test_long_and_short_share_two_dollars_and_neither_is_below_nothing(q: float, o: int, days: float) -> None:
    long, short = PAPER.market([q], [o], days)
    assert long[0] + short[0] == pytest.approx(2 / 1.05 ** (days / 252))
    assert long[0] >= 0 and short[0] >= -1e-12
    assert (long[0] > short[0]) == (o == 1 and q + 0.02 < 1)


@given(PRICE, st.floats(0, 500), st.floats(0, 500))
def test_later_is_worth_less(q: float, a: float, b: float) -> None:
    near, far = PAPER.market([q], [1], min(a, b))[0][0], PAPER.market([q], [1], max(a, b))[0][0]
    assert far <= near


@given(PRICE)
def test_the_plain_rule_is_a_share_for_its_price(q: float) -> None:
    long, _ = RULES["plain"].market([q, q], [1, 0], 300)
    assert long.tolist() == pytest.approx([1 / q, 0.0])


def test_what_has_no_payoff_is_refused() -> None:
    for bad in (
        lambda: PAPER.market([1.0], [1]),
        lambda: PAPER.asset([0.0], [1.0]),
        lambda: PAPER.market([0.5], [1], -1),
    ):
        with pytest.raises(DomainError):
            bad()
    with pytest.raises(UnknownName, match="analytica-paper"):
        payoff_rule("none")
    assert np.isfinite(PAPER.market([0.5], [0])[1]).all()


def test_score_prints_utility_under_a_rule(tmp_path: Path) -> None:
    """Two markets at 0.48 and 0.78, both yes, long 2 and 1.25, short 0 and 0.75; 0.9 and 0.4 are believed."""
    events = {
        "event_id": ["a", "b"], "question_key": ["a", "b"], "source": "s",
        "question_type": "market", "outcome": 1, "crowd": [0.48, 0.78],
    }  # fmt: skip
    own = {"method": "m", "event_id": ["a", "b"], "variant": "forecast", "p": [0.9, 0.4]}
    words = ("score", *files(tmp_path, events, own), "--set", "utility=analytica-paper")
    scores = run_json(*words)["methods"]["m"]["utility"]
    assert (scores["accuracy"], scores["hard"], scores["soft"]) == pytest.approx((0.5, 0.5, 0.65))
    # pooled: (1.8 + 0.4 x 0.5) / (2 + 0.5) and (2 + 0) / 2.5
    assert (scores["soft_pooled"], scores["hard_pooled"]) == pytest.approx((0.8, 0.8))
    assert "utility (analytica-paper)" in run(*words).stdout
    assert "payoff rule" in refused(*words[:-1], "utility=none")
