"""How far a leaf's number may be off by chance where it rests on past windows of a series, and how two leaves err together.

The key-free analyst and the statistical grounder put the outcome of every past week's window into their reports, as one JSON line.
A share of few windows is a rough figure: that is all the uncertainty a leaf without repeated trials has on record.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from math import sqrt
from typing import Any

from workbench.formatting import percent
from workbench.propositions import NodeId, Tree
from workbench.questions.series_leaf import RECORD
from workbench.synthesis.sensitivity.uncertainty import Pair

_BEGIN = re.compile(r'^\{"record": ?"' + re.escape(RECORD) + '"', re.MULTILINE)
#: Leaves of one tree whose errors are held against each other, each with each.
MOST_LEAVES = 300
#: Weeks of a record that are read: a century.
_MOST_WEEKS = 5_300


@dataclass(frozen=True, slots=True, kw_only=True)
class PastWindows:
    """The past outcomes of one leaf.

    Parameters
    ----------
    first : int
        Day of the first window, as an ordinal number; the others follow week by week.
    known, true : int
        A bit per week, the first week the highest: whether the outcome is known, and whether it was true.
    weeks : int
    effective : float
        How many separate windows they count as, at least 1: windows of half a year, one a week, overlap.
    """

    first: int
    known: int
    true: int
    weeks: int
    effective: float

    def variance(self, p: float) -> float:
        """Return the variance of a share near ``p`` of that many separate windows."""
        return p * (1 - p) / self.effective

    def band(self, p: float) -> tuple[float, float]:
        """Return between what a share near ``p`` may lie by chance alone, its central 90 %."""
        half = 1.6449 * sqrt(self.variance(p))
        return max(0.0, p - half), min(1.0, p + half)

    def to_json(self, p: float) -> dict[str, Any]:
        """Return the band of a share near ``p`` as JSON values, with its sentence."""
        low, high = self.band(p)
        return {"effective_windows": self.effective, "low": low, "high": high, "line": self.line(p)}

    def line(self, p: float) -> str:
        """Return the band as a sentence."""
        low, high = self.band(p)
        return (
            f"Rests on {self.effective:.1f} separate past windows: chance alone may move it between {percent(low)} and"
            f" {percent(high)} (central 90 %)"
        )


def past_windows(tree: Tree, leaves: Iterable[NodeId] | None = None) -> dict[NodeId, PastWindows]:
    """Return the past windows of each leaf, or of those named, whose report has a record of its own statement and its own p.

    A leaf that was set by hand, or pooled with another forecast, no longer rests on its windows alone and is left out.
    """
    windows = {}
    for leaf in tree.leaves() if leaves is None else leaves:
        belief = tree[leaf].belief
        if belief is None or tree[leaf].override is not None or '"record"' not in belief.report:
            continue
        records = [
            record
            for match in _BEGIN.finditer(belief.report)
            if (record := _read(belief.report, match.start(), tree[leaf].statement, belief.p)) is not None
        ]
        if records:
            windows[leaf] = records[-1]
    return windows


def _read(report: str, start: int, statement: str, p: float) -> PastWindows | None:
    try:
        data, _ = json.JSONDecoder().raw_decode(report, start)
        if data["statement"] != statement or abs(float(data["p"]) - p) > 1e-9:
            return None
        bits, effective = str(data["bits"]), float(data["effective_windows"])
        first = date.fromisoformat(data["weeks_from"]).toordinal()
    # A model may have written a line that looks like one: half a record says nothing.
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if len(bits) > _MOST_WEEKS or not re.fullmatch("[01x]+", bits) or not 1 <= effective <= len(bits):
        return None
    return PastWindows(
        first=first,
        known=int(bits.replace("0", "1").replace("x", "0"), 2),
        true=int(bits.replace("x", "0"), 2),
        weeks=len(bits),
        effective=effective,
    )


def window_correlation(windows: Mapping[NodeId, PastWindows]) -> dict[Pair, float]:
    """Return how the errors of leaves go together, in [-1, 1]: the correlation of their past outcomes, week by week.

    Over the weeks that two leaves share, out of all that each has: leaves with the same past err together, leaves with no common
    week apart. So every pair is an inner product of unit vectors, and the whole a matrix of correlations that can be.
    """
    named = list(windows.items())
    correlation: dict[Pair, float] = {}
    for place, (first, left) in enumerate(named):
        for second, right in named[place + 1 :]:
            value = _together(left, right)
            if value:
                correlation[frozenset((first, second))] = value
    return correlation


def _together(left: PastWindows, right: PastWindows) -> float:
    later, rest = divmod((right.first + 7 * right.weeks) - (left.first + 7 * left.weeks), 7)
    # Weeks that end on different days of the week, or that one begins after the other's end, are not shared.
    if rest or later >= right.weeks or -later >= left.weeks:
        return 0.0
    # The lowest bit of each is its last week. Who ends earlier is shifted up, so that equal bits are equal weeks.
    up_left, up_right = max(0, later), max(0, -later)
    known_left, true_left = left.known << up_left, left.true << up_left
    known_right, true_right = right.known << up_right, right.true << up_right
    common = known_left & known_right
    share_left, share_right = _share(left), _share(right)
    norm = sqrt(_spread(left, share_left) * _spread(right, share_right))
    if norm == 0:  # always true, or never: nothing that could go along with anything
        return 0.0
    product = (
        (true_left & true_right).bit_count()
        - share_left * (true_right & common).bit_count()
        - share_right * (true_left & common).bit_count()
        + share_left * share_right * common.bit_count()
    )
    return max(-1.0, min(1.0, product / norm))


def _share(windows: PastWindows) -> float:
    return windows.true.bit_count() / max(1, windows.known.bit_count())


def _spread(windows: PastWindows, share: float) -> float:
    return windows.known.bit_count() * share * (1 - share)
