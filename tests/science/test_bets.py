"""Bets: sized at their optimum, behind `returns` as paper P's and with costs, and a result's split into edge and luck."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import minimize_scalar

from tests.cli_science.runner import files, refused, run, run_json
from workbench.science.documents import POSITION_COLUMNS, BettingRules, position_rows
from workbench.science.errors import DomainError
from workbench.science.scoring.betting import Costs, SizedBet, size_bet, whole_dollar, with_costs
from workbench.science.scoring.market import crra_allocation, edge_and_luck, market_returns, payoffs
from workbench.science.tables import Events

INSIDE = st.floats(0.02, 0.98)
SOME = hnp.arrays(float, 6, elements=INSIDE)
OUTCOMES = hnp.arrays(np.int8, 6, elements=st.integers(0, 1))


@given(SOME, SOME, OUTCOMES, st.sampled_from([0.0, 0.25, 1.0, 3.0]), SOME)
def test_a_gain_is_edge_plus_luck(
    p: np.ndarray, q: np.ndarray, o: np.ndarray, g: float, belief: np.ndarray
) -> None:
    bets = whole_dollar(p, q, g)
    split = bets.split(o, belief)
    assert np.allclose(split.gain, split.edge + split.luck, atol=1e-9)
    assert np.allclose(split.gain + 1, payoffs(bets.on_yes, q, o), atol=1e-12)


@given(SOME, SOME, st.sampled_from([0.25, 1.0]), SOME)
def test_luck_is_nothing_on_average_and_has_its_deviation(
    p: np.ndarray, q: np.ndarray, g: float, belief: np.ndarray
) -> None:
    bets = whole_dollar(p, q, g)
    yes, no = bets.split(np.ones(6), belief), bets.split(np.zeros(6), belief)
    assert np.allclose(belief * yes.luck + (1 - belief) * no.luck, 0, atol=1e-9)
    variance = belief * yes.luck**2 + (1 - belief) * no.luck**2
    assert np.allclose(np.sqrt(variance), np.abs(yes.deviation), atol=1e-9)
    assert (yes.edge == no.edge).all()  # known before the outcome


def test_the_split_by_hand() -> None:
    """The module's worked numbers: 0.7 against 0.5 at log utility."""
    bets = whole_dollar(np.array([0.7, 0.7]), np.array([0.5, 0.5]), 1.0)
    split = bets.split(np.array([1.0, 0.0]), np.array([0.7, 0.7]))
    assert split.gain.tolist() == pytest.approx([0.4, -0.4])
    assert split.edge.tolist() == pytest.approx([0.16, 0.16])
    assert split.luck.tolist() == pytest.approx([0.24, -0.56])
    # sqrt(0.7 x 0.3) x 0.8 each; the two lucks sum to -0.32
    assert split.luck_z() == pytest.approx(-0.32 / (np.sqrt(0.21) * 0.8 * np.sqrt(2)))
    assert edge_and_luck([1.0], [1.0], [1], [0.5]).luck_z() is None


def test_luck_z_is_standard_normal_where_the_belief_is_true() -> None:
    rng = np.random.default_rng(0)
    z = []
    for _ in range(400):
        p, q = rng.uniform(0.1, 0.9, 80), rng.uniform(0.1, 0.9, 80)
        z.append(whole_dollar(p, q, 1.0).split((rng.random(80) < p).astype(float), p).luck_z())
    assert abs(np.mean(z)) < 0.2 and np.std(z) == pytest.approx(1.0, abs=0.12)


@given(SOME, SOME, st.floats(0, 0.1), st.floats(0, 1))
def test_costs_and_caps_bound_every_bet(p: np.ndarray, q: np.ndarray, fee: float, cap: float) -> None:
    no_ask = np.minimum(0.99, 1 - q + 0.03)
    bets = with_costs(p, q, no_ask, 0.5, Costs(fee=fee, cap=cap))
    assert (bets.stake <= cap).all()
    assert (np.minimum(bets.pays_yes, bets.pays_no) >= 1 - cap - 1e-12).all()  # no more is lost than staked
    for i, side in enumerate(bets.side):
        worth = {"yes": p[i] > q[i] + fee, "no": 1 - p[i] > no_ask[i] + fee, "none": True}[side]
        assert worth and (side != "none" or (p[i] <= q[i] + fee and 1 - p[i] <= no_ask[i] + fee) or cap == 0)
    dearer = with_costs(p, q, no_ask, 0.5, Costs(fee=fee + 0.01, cap=cap))
    expected = bets.split(np.ones(6), p).edge, dearer.split(np.ones(6), p).edge
    assert (expected[1] <= expected[0] + 1e-9).all()


def test_a_bet_with_costs_by_hand() -> None:
    """Kelly after a fee of 0.02: (0.7 - 0.52) / (1 - 0.52) = 0.375 of the dollar, 0.375 / 0.52 shares."""
    assert size_bet(0.7, 0.5, risk_aversion=1.0, fee=0.02).stake == pytest.approx(0.375)
    bets = with_costs(np.array([0.7]), np.array([0.5]), None, 1.0, Costs(fee=0.02))
    assert bets.pays_yes[0] == pytest.approx(1 - 0.375 + 0.375 / 0.52) and bets.pays_no[0] == pytest.approx(
        0.625
    )
    with pytest.raises(DomainError):
        Costs(fee=-0.1)


def test_the_position_log_adds_up() -> None:
    rng = np.random.default_rng(4)
    p, q = rng.uniform(0.1, 0.9, 30), rng.uniform(0.1, 0.9, 30)
    o = rng.integers(0, 2, 30).astype(float)
    p[3] = q[3]
    rules = BettingRules(levels=(0.0, 0.5), tie="abstain")
    rows = position_rows(Events.of(o, kind="market", crowd=q), {"m": p}, rules=rules)
    log = [dict(zip(POSITION_COLUMNS, row, strict=True)) for row in rows]
    assert log[29]["running_total"] == pytest.approx(
        market_returns(p, q, o, 0.0, tie="abstain").total_payoff - 30
    )
    assert [log[3][name] for name in ("side", "on_yes", "payoff", "stake")] == ["none", "", 1, 0]
    assert all(line["payoff"] - 1 == pytest.approx(line["expected"] + line["luck"]) for line in log)
    assert {line["side"] for line in log[30:]} == {"both"}


def test_returns_prints_edge_luck_and_an_interval_with_every_figure(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    truth, ids = rng.uniform(0.1, 0.9, 80).round(4), [f"e{i}" for i in range(80)]
    events = {
        "event_id": ids,
        "question_key": [f"q{i // 2}" for i in range(80)],
        "source": "s",
        "question_type": "market",
        "outcome": (rng.random(80) < truth).astype(int),
        "crowd": rng.uniform(0.1, 0.9, 80).round(3),
        "no": 0.9,
        "late": truth,
    }
    forecasts = {"method": "m", "event_id": ids, "variant": "forecast", "p": truth}
    words = ("returns", *files(tmp_path, events, forecasts))
    document = run_json(*words)
    entry = document["methods"]["m"]
    for level in ("0", "0.25", "0.5", "0.75", "1"):
        assert entry["average_return"][level] == pytest.approx(
            1 + entry["edge"][level] + entry["luck"][level]
        )
        assert abs(entry["luck_z"][level]) < 4  # the forecasts are the truth
        for figure in (
            "average_return",
            "sharpe",
            "sharpe_ddof0",
            "total_payoff",
            "edge",
            "luck",
        ):
            low, high = entry["intervals"][figure][level]
            assert low <= entry[figure][level] <= high, figure
    assert entry["intervals"]["brier"][0] <= entry["brier"] <= entry["intervals"]["brier"][1]
    assert entry["intervals"]["ece"] is None and entry["calibrated"]["ece"]["expected"] > 0
    sized = run_json(
        *words, "--set", "fee=0.01", "--set", "cap=0.2", "--set", "no_price=no", "--set", "edge_by=late"
    )["methods"]["m"]
    assert sized["staked"]["0"] <= 0.2 and sized["average_return"]["1"] < entry["average_return"]["1"]
    log = tmp_path / "log.csv"
    text = run(*words, "--set", f"log={log}").stdout
    assert "luck z" in text and "[" in text
    assert log.read_text().splitlines()[0].endswith("running_total,stake,expected,luck")
    assert "strictly between" in refused(*words, "--set", "no_price=outcome")
    assert "--tie" in refused(*words, "--tie", "perhaps")
    assert "a cap in [0, 1]" in refused(*words, "--set", "cap=2")
    assert "intervals" not in run_json(*words, "--set", "resamples=0")["methods"]["m"]


@pytest.mark.parametrize("bad", [([1.4], [0.6], [1], [1.2]), ([1.4], [0.6, 1], [1], [0.5]), ([], [], [], [])])
def test_what_cannot_be_split_is_refused(bad: tuple[list[float], ...]) -> None:
    with pytest.raises(DomainError):
        edge_and_luck(*bad)


def equivalent_allocation(bet: SizedBet) -> float:
    """Paper P's a_Y: the share on Yes that, with the rest on No at one minus the price, is this bet."""
    on_side = bet.stake + bet.price * (1 - bet.stake)
    return 1 - on_side if bet.side == "no" else on_side


@given(INSIDE, INSIDE, st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0]))
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


@given(INSIDE, INSIDE, st.floats(0.0, 0.1), st.floats(0.3, 3.0))
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
