"""Values of a dollar under the payoff rules: paper A's code by hand, and what any rule must keep."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli_science.runner import files, refused, run, run_json
from workbench.science.errors import DomainError, UnknownName
from workbench.science.scoring.payoffs import RULES, payoff_rule

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
