"""What the planner chooses can be grounded: every leaf's models run, at the edges of history too, without a warning."""

from datetime import date, timedelta

import pytest

from tests.offline.embedded import visible_rows
from tests.offline.inprocess import analyst, ground
from workbench.models.base import NodeRef
from workbench.offline.decomposition import Planner, leaves
from workbench.questions.decision import appraise, check, settle
from workbench.questions.errors import ClaimRefused
from workbench.questions.grammar import read_claim

NAMES = ("SP500", "NASDAQ", "VIX", "WTI", "AAA", "BAA")


def planned(claim_text: str, last_day: date) -> int:
    """Plan a claim, run the models of each leaf, and return how many there are; 0 for a claim that is refused."""
    rows = {name: visible_rows(name, last_day) for name in NAMES}
    try:
        claim = read_claim(claim_text)
        check(claim, last_day)
        plan = Planner(rows, last_day).plan(settle(claim, rows))
    except ClaimRefused:
        return 0
    chosen = leaves(plan)
    for leaf in chosen:
        found = appraise(leaf.claim, rows, last_day)
        assert 0 <= found.base_rate <= 1 and found.windows > 1, leaf.claim.statement
    return len(chosen)


@pytest.mark.long
@pytest.mark.parametrize(
    ("text", "last_day", "days"),
    [
        ("The VIX is above 15 on {end}", date(2014, 3, 30), 10),  # 58 values are visible
        (
            "The S&P 500 closes higher on {end} than the last value known",
            date(2018, 12, 27),
            4,
        ),  # one session to go
        (
            "WTI closes higher on {end} than the last value known",
            date(1999, 3, 30),
            7,
        ),  # the indices began in January
        ("Realised volatility of the VIX by {end} is above 80 %", date(2018, 12, 27), 4),
        (
            "NASDAQ outperforms the S&P 500 by {end}",
            date(2001, 9, 16),
            7,
        ),  # the exchange had closed unforeseen
        # drivers that would end before the window begins are passed over
        ("The S&P 500 closes at a new high at least once from 2018-12-30 to {end}", date(2018, 6, 28), 186),
    ],
)
def test_every_planned_leaf_estimates(text: str, last_day: date, days: int) -> None:
    assert planned(text.format(end=last_day + timedelta(days=days)), last_day) >= 1


async def test_a_leaf_of_a_short_history_says_that_there_are_no_like_windows() -> None:
    leaf = await ground(
        analyst(), NodeRef(id="P1", statement="The VIX is above 15 on 2014-04-09"), "2014-03-31"
    )
    assert 0 < leaf.p < 1
    assert "too few past windows" in "\n".join(leaf.printed)
