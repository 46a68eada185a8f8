"""The checks of a conclusion on reports that a generator writes: none of the honest ones is flagged, and 95 % of the slips are found.

The checks were tuned on the first seeds; the figures that count are those of seed 9, which was run once they were done.
"""

from collections import Counter

import pytest

from tests.fakes.made_reports import SLIPS, honest_reports, slipped_reports
from tests.fakes.score_reports import findings_of
from workbench.agents.findings.conclusion_checks import ASKED_NO_DATA

TUNED, FRESH = 1, 9
SAMPLES = [
    pytest.param(TUNED, 140, id="tuned, a few"),
    pytest.param(FRESH, 140, id="fresh, a few"),
    pytest.param(TUNED, 2000, id="tuned", marks=pytest.mark.long),
    pytest.param(FRESH, 2000, id="fresh", marks=pytest.mark.long),
]


def flagged_by(row: dict[str, object]) -> list[str]:
    """The reports name no way to their data, which is another check's business."""
    return [item.words for item in findings_of(row)[0] if item.check != ASKED_NO_DATA]


@pytest.mark.parametrize("seed, count", SAMPLES)
def test_no_honest_report_is_flagged(seed: int, count: int) -> None:
    flagged = [
        (row["reply"], words)
        for report in honest_reports(seed, count)
        if (words := flagged_by(row := report.row()))
    ]
    assert not flagged, flagged[:3]


@pytest.mark.parametrize("seed, count", SAMPLES)
def test_slips_are_found(seed: int, count: int) -> None:
    planted: Counter[str] = Counter()
    found: Counter[str] = Counter()
    for name, report in slipped_reports(seed, count):
        planted[name] += 1
        found[name] += bool(flagged_by(report.row()))
    assert set(planted) == set(SLIPS)
    shares = {name: found[name] / planted[name] for name in SLIPS}
    # A few are by chance what other figures make: of 140 the share may be a little less.
    assert found.total() / planted.total() >= (0.95 if count > 1000 else 0.92), shares
    assert min(shares.values()) >= (0.8 if count > 1000 else 0.7), shares
